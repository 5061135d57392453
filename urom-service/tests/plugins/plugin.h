/* The plugin interface, written down for these tests from its documented layout. */
#include <stdint.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct link { struct link *prev, *next; };
typedef uint32_t doca_error_t;
struct cmd_desc { struct link entry; uint64_t dest_id; uint64_t type, context, len; unsigned char body[]; };
struct notify { uint64_t type, context, len; uint32_t status, reserved; unsigned char body[]; };
struct notif_desc { struct link entry; uint64_t dest_id; struct notify notif; };
struct ctx;
struct iface {
	uint64_t version;
	doca_error_t (*open)(struct ctx *);
	void (*close)(struct ctx *);
	doca_error_t (*addr)(struct ctx *, void *, size_t *);
	doca_error_t (*worker_cmd)(struct ctx *, struct link *);
	doca_error_t (*progress)(struct ctx *, struct link *);
	doca_error_t (*notif_pack)(struct notify *, size_t *, void *);
};
struct ctx {
	struct iface iface;
	doca_error_t (*addr_lookup)(struct ctx *, uint64_t, void **);
	doca_error_t (*seg_lookup)(struct ctx *, uint64_t, uint64_t, int *);
	doca_error_t (*memh_lookup)(struct ctx *, uint64_t, int, size_t *, void **);
	doca_error_t (*mkey_lookup)(struct ctx *, uint64_t, int, size_t *, void **);
	void *plugin_ctx;
};

enum { OK = 0, INVALID_VALUE = 6, NO_MEMORY = 7, NOT_FOUND = 16, DRIVER = 21, EMPTY = 25, AGAIN = 5 };

static inline void list_init(struct link *head) { head->prev = head->next = head; }
static inline int list_empty(struct link *head) { return head->next == head; }
static inline void list_del(struct link *e) { e->prev->next = e->next; e->next->prev = e->prev; }
static inline void list_add_tail(struct link *head, struct link *e)
{
	e->prev = head->prev;
	e->next = head;
	head->prev->next = e;
	head->prev = e;
}
