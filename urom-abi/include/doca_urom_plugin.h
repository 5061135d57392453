/*
 * The interface between a DOCA UROM worker and a plugin, in C.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * This header is this project's own statement of the interface. It has the names, sizes and offsets of DOCA's header of
 * the same name, so a plugin or a test compiled against either works with the other, and it needs nothing but gcc or
 * clang: no DOCA, no UCX. `urom-abi/tests/c_layout.rs` holds it against the Rust structures.
 *
 * Rules that the types cannot say:
 *  - Calls of one plugin come from one worker thread and never overlap: open, addr (twice), any mix of worker_cmd,
 *    progress and notif_pack, then close.
 *  - Both descriptors are single blocks from malloc() or calloc(). The plugin frees the commands it takes off the list,
 *    the worker frees the notifications it finds in the list.
 *  - Every command gets exactly one notification, now or later, which repeats its type, urom_context and dest_id.
 */
#ifndef DOCA_UROM_PLUGIN_H_
#define DOCA_UROM_PLUGIN_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Version ---------------------------------------------------------------------------------------------------- */

/* The release this header describes, unless the compiler's command line names another. */
#ifndef DOCA_VERSION_MAJOR
#define DOCA_VERSION_MAJOR 2
#define DOCA_VERSION_MINOR 7
#define DOCA_VERSION_PATCH 0
#endif

#define DOCA_VERSION_CALC_EXACT(major, minor, patch) \
	((size_t)(((size_t)(major) << 24) | ((size_t)(minor) << 16) | (size_t)(patch)))
#define DOCA_VERSION_EXACT DOCA_VERSION_CALC_EXACT(DOCA_VERSION_MAJOR, DOCA_VERSION_MINOR, DOCA_VERSION_PATCH)

/* The first member of a versioned structure, its initialisation, and reading it. */
#define DOCA_STRUCT_START size_t __doca_api_version
#define DOCA_STRUCT_CTOR(object) ((object).__doca_api_version = DOCA_VERSION_EXACT)
#define DOCA_STRUCT_GET_VERSION(object) ((object)->__doca_api_version)
#define DOCA_STRUCT_CTOR_LIST_START .__doca_api_version = DOCA_VERSION_EXACT

/* ---- Codes ------------------------------------------------------------------------------------------------------ */

/* 32 bits wide. A value that is not listed may come from a newer DOCA. */
typedef enum doca_error {
	DOCA_SUCCESS = 0,
	DOCA_ERROR_UNKNOWN = 1,
	DOCA_ERROR_NOT_PERMITTED = 2,
	DOCA_ERROR_IN_USE = 3,
	DOCA_ERROR_NOT_SUPPORTED = 4,
	DOCA_ERROR_AGAIN = 5,
	DOCA_ERROR_INVALID_VALUE = 6,
	DOCA_ERROR_NO_MEMORY = 7,
	DOCA_ERROR_INITIALIZATION = 8,
	DOCA_ERROR_TIME_OUT = 9,
	DOCA_ERROR_SHUTDOWN = 10,
	DOCA_ERROR_CONNECTION_RESET = 11,
	DOCA_ERROR_CONNECTION_ABORTED = 12,
	DOCA_ERROR_CONNECTION_INPROGRESS = 13,
	DOCA_ERROR_NOT_CONNECTED = 14,
	DOCA_ERROR_NO_LOCK = 15,
	DOCA_ERROR_NOT_FOUND = 16,
	DOCA_ERROR_IO_FAILED = 17,
	DOCA_ERROR_BAD_STATE = 18,
	DOCA_ERROR_UNSUPPORTED_VERSION = 19,
	DOCA_ERROR_OPERATING_SYSTEM = 20,
	DOCA_ERROR_DRIVER = 21,
	DOCA_ERROR_UNEXPECTED = 22,
	DOCA_ERROR_ALREADY_EXIST = 23,
	DOCA_ERROR_FULL = 24,
	DOCA_ERROR_EMPTY = 25,
	DOCA_ERROR_IN_PROGRESS = 26,
	DOCA_ERROR_TOO_BIG = 27,
	DOCA_ERROR_AUTHENTICATION = 28,
	DOCA_ERROR_BAD_CONFIG = 29,
	DOCA_ERROR_SKIPPED = 30
} doca_error_t;

/* ---- The list --------------------------------------------------------------------------------------------------- */

/* UCX's <ucs/datastruct/list.h> has the same under the same names. Whoever needs both includes UCX's first. */
#ifndef UCS_LIST_H_
#define UCS_LIST_H_

/* A link of a circular list, or its head. An empty head points at itself. Nothing here locks. */
typedef struct ucs_list_link {
	struct ucs_list_link *prev;
	struct ucs_list_link *next;
} ucs_list_link_t;

/* The structure of type `type` whose member `member` is at `link`. */
#define ucs_container_of(link, type, member) ((type *)((char *)(link)-offsetof(type, member)))

/* Makes `head` an empty list. */
static inline void ucs_list_head_init(ucs_list_link_t *head)
{
	head->prev = head;
	head->next = head;
}

static inline int ucs_list_is_empty(const ucs_list_link_t *head)
{
	return head->next == head;
}

/* Hangs `link` between two neighbours. */
static inline void ucs_list_insert_replace(ucs_list_link_t *prev, ucs_list_link_t *next, ucs_list_link_t *link)
{
	link->prev = prev;
	link->next = next;
	prev->next = link;
	next->prev = link;
}

static inline void ucs_list_insert_after(ucs_list_link_t *pos, ucs_list_link_t *link)
{
	ucs_list_insert_replace(pos, pos->next, link);
}

static inline void ucs_list_insert_before(ucs_list_link_t *pos, ucs_list_link_t *link)
{
	ucs_list_insert_replace(pos->prev, pos, link);
}

static inline void ucs_list_add_head(ucs_list_link_t *head, ucs_list_link_t *link)
{
	ucs_list_insert_after(head, link);
}

static inline void ucs_list_add_tail(ucs_list_link_t *head, ucs_list_link_t *link)
{
	ucs_list_insert_before(head, link);
}

/* Takes `link` out; its own pointers stay as they are. */
static inline void ucs_list_del(ucs_list_link_t *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
}

/* Hangs everything in `from` behind what is in `head`. `from` must be initialised again before it is used. */
static inline void ucs_list_splice_tail(ucs_list_link_t *head, ucs_list_link_t *from)
{
	if (ucs_list_is_empty(from))
		return;
	from->next->prev = head->prev;
	head->prev->next = from->next;
	from->prev->next = head;
	head->prev = from->prev;
}

/* Takes the first link off a list that is not empty. */
static inline ucs_list_link_t *ucs_list_pop_head(ucs_list_link_t *head)
{
	ucs_list_link_t *link = head->next;

	ucs_list_del(link);
	return link;
}

#define ucs_list_extract_head(head, type, member) ucs_container_of(ucs_list_pop_head(head), type, member)

#define ucs_list_head(head, type, member) ucs_container_of((head)->next, type, member)

#endif /* UCS_LIST_H_ */

/* ---- Commands and notifications --------------------------------------------------------------------------------- */

/* Room for a plugin's name and its NUL: the file's name without ".so". */
#define DOCA_UROM_PLUGIN_NAME_MAX_LEN 48

/* What a service tells a host about a plugin. */
struct doca_urom_service_plugin_info {
	uint64_t id;		/* one bit of a mask, never 0 */
	uint64_t version;	/* what urom_plugin_get_version() stored */
	char plugin_name[DOCA_UROM_PLUGIN_NAME_MAX_LEN];
};

/* A command: this header and `len` bytes of the plugin's own. */
struct urom_worker_cmd {
	uint64_t type;		/* the plugin's id */
	uint64_t urom_context;	/* the host library's token, to be repeated */
	uint64_t len;		/* bytes in plugin_cmd */
	uint8_t plugin_cmd[];
};

/* A command in a worker's list. */
struct urom_worker_cmd_desc {
	ucs_list_link_t entry;
	uint64_t dest_id;	/* the connection it came in on */
	struct urom_worker_cmd worker_cmd;
};

/* A notification: this header and `len` bytes of the plugin's own. */
struct urom_worker_notify {
	uint64_t type;		/* as in the command */
	uint64_t urom_context;	/* as in the command */
	uint64_t len;		/* bytes in plugin_notif */
	doca_error_t status;	/* becomes the status of the host's task */
	uint32_t reserved;	/* 0 */
	uint8_t plugin_notif[];
};

/* A notification in a worker's list. */
struct urom_worker_notif_desc {
	ucs_list_link_t entry;
	uint64_t dest_id;	/* as in the command */
	struct urom_worker_notify worker_notif;
};

/* ---- Methods ---------------------------------------------------------------------------------------------------- */

struct urom_worker_ctx;

/* What a plugin does for a worker; urom_plugin_get_iface() fills all of it. */
struct urom_plugin_iface {
	DOCA_STRUCT_START;
	/* Makes the plugin's state and stores it in ctx->plugin_ctx. After a failure nothing else is called. */
	doca_error_t (*open)(struct urom_worker_ctx *ctx);
	/* Releases the state; does nothing when plugin_ctx is NULL. */
	void (*close)(struct urom_worker_ctx *ctx);
	/*
	 * Copies the plugin's network address. *addr_len is the room on entry and the length on return. With too little
	 * room: DOCA_ERROR_INVALID_VALUE, the length, and nothing copied.
	 */
	doca_error_t (*addr)(struct urom_worker_ctx *ctx, void *addr, size_t *addr_len);
	/* Takes commands off the list and begins them. What it leaves there stays the worker's. */
	doca_error_t (*worker_cmd)(struct urom_worker_ctx *ctx, ucs_list_link_t *cmd_list);
	/* Advances commands and appends finished notifications. DOCA_ERROR_EMPTY when there was none. */
	doca_error_t (*progress)(struct urom_worker_ctx *ctx, ucs_list_link_t *notif_list);
	/* Writes header and notification. *packed_notif_len is the room on entry and the bytes written on return. */
	doca_error_t (*notif_pack)(struct urom_worker_notify *notif, size_t *packed_notif_len, void *packed_notif);
};

/*
 * What a worker knows of its domains. What these return is the worker's memory and valid while the domain exists.
 * `domain_id` is the id of a member of the domain. DOCA_ERROR_NOT_FOUND when there is no such thing.
 */
struct urom_domain_lookups_iface {
	doca_error_t (*addr_lookup)(struct urom_worker_ctx *ctx, uint64_t domain_id, void **addr);
	doca_error_t (*seg_lookup)(struct urom_worker_ctx *ctx, uint64_t domain_id, uint64_t va, int *seg);
	doca_error_t (*memh_lookup)(struct urom_worker_ctx *ctx, uint64_t domain_id, int seg, size_t *len, void **memh);
	doca_error_t (*mkey_lookup)(struct urom_worker_ctx *ctx, uint64_t domain_id, int seg, size_t *len, void **rkey);
};

/* One plugin in one worker. It stays where it is from before open() until after close(). */
struct urom_worker_ctx {
	struct urom_plugin_iface iface;
	struct urom_domain_lookups_iface domain_iface;
	void *plugin_ctx;	/* NULL before open() */
};

static inline doca_error_t doca_urom_worker_domain_addr_lookup(struct urom_worker_ctx *ctx, uint64_t domain_id,
							       void **addr)
{
	return ctx->domain_iface.addr_lookup(ctx, domain_id, addr);
}

static inline doca_error_t doca_urom_worker_domain_seg_lookup(struct urom_worker_ctx *ctx, uint64_t domain_id,
							      uint64_t va, int *seg)
{
	return ctx->domain_iface.seg_lookup(ctx, domain_id, va, seg);
}

static inline doca_error_t doca_urom_worker_domain_memh_lookup(struct urom_worker_ctx *ctx, uint64_t domain_id, int seg,
							       size_t *len, void **memh)
{
	return ctx->domain_iface.memh_lookup(ctx, domain_id, seg, len, memh);
}

static inline doca_error_t doca_urom_worker_domain_mkey_lookup(struct urom_worker_ctx *ctx, uint64_t domain_id, int seg,
							       size_t *len, void **rkey)
{
	return ctx->domain_iface.mkey_lookup(ctx, domain_id, seg, len, rkey);
}

/* What a plugin exports, under exactly these names. NULL gives DOCA_ERROR_INVALID_VALUE. */
doca_error_t urom_plugin_get_iface(struct urom_plugin_iface *iface);
doca_error_t urom_plugin_get_version(uint64_t *version);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_UROM_PLUGIN_H_ */
