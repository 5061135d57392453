/*
 * A minimal worker in C: checks a plugin against the rules of doca_urom_plugin.h. It uses only that
 * header and the layout of the plugin's messages. Usage: c_driver graph|faulty PLUGIN.so. Prints
 * the first broken rule and exits with 1.
 *
 * Commands are in blocks of exactly their size, so that valgrind detects a read past their end.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <doca_urom_plugin.h>

#define CHECK(rule)                                                                        \
	do {                                                                               \
		if (!(rule)) {                                                             \
			fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #rule); \
			exit(1);                                                           \
		}                                                                          \
	} while (0)

#define PLUGIN_ID 0x20
/* The header of a Rust plugin's address. */
#define FRAME_LEN 16
#define IFACE_CAPACITY 256
#define MAX_MESSAGE 256

/* A command to send and its expected notification. The notification's length is the plugin's
 * for all. */
struct exchange {
	uint64_t dest_id;
	uint64_t token;
	const void *command;
	size_t command_len;
	doca_error_t status;
	const void *notification;
	unsigned int answers;
};

static doca_error_t (*get_iface)(struct urom_plugin_iface *iface);
static doca_error_t (*get_version)(uint64_t *version);
static struct urom_worker_ctx *ctx;

static void *symbol(void *library, const char *name)
{
	void *address = dlsym(library, name);

	if (address == NULL) {
		fprintf(stderr, "%s: %s\n", name, dlerror());
		exit(1);
	}
	return address;
}

static void load(const char *path)
{
	/* Never unloaded, as in a worker. */
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (library == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	*(void **)&get_iface = symbol(library, "urom_plugin_get_iface");
	*(void **)&get_version = symbol(library, "urom_plugin_get_version");
}

static doca_error_t no_address(struct urom_worker_ctx *c, uint64_t id, void **addr)
{
	(void)c, (void)id, (void)addr;
	return DOCA_ERROR_NOT_FOUND;
}

static doca_error_t no_segment(struct urom_worker_ctx *c, uint64_t id, uint64_t va, int *seg)
{
	(void)c, (void)id, (void)va, (void)seg;
	return DOCA_ERROR_NOT_FOUND;
}

static doca_error_t no_memory(struct urom_worker_ctx *c, uint64_t id, int seg, size_t *len,
			      void **handle)
{
	(void)c, (void)id, (void)seg, (void)len, (void)handle;
	return DOCA_ERROR_NOT_FOUND;
}

/* Reads version and interface, and prepares an unopened context. */
static void prepare(void)
{
	/* A longer buffer shows that the plugin writes only the structure. */
	unsigned char *buffer = malloc(IFACE_CAPACITY);
	uint64_t version = 0;
	size_t i;

	CHECK(buffer != NULL);
	CHECK(get_version(NULL) == DOCA_ERROR_INVALID_VALUE);
	CHECK(get_version(&version) == DOCA_SUCCESS && version == 1);
	CHECK(get_iface(NULL) == DOCA_ERROR_INVALID_VALUE);
	memset(buffer, 0xee, IFACE_CAPACITY);
	CHECK(get_iface((struct urom_plugin_iface *)buffer) == DOCA_SUCCESS);
	for (i = sizeof(struct urom_plugin_iface); i < IFACE_CAPACITY; i++)
		CHECK(buffer[i] == 0xee);

	ctx = calloc(1, sizeof(*ctx));
	CHECK(ctx != NULL);
	memcpy(&ctx->iface, buffer, sizeof(ctx->iface));
	free(buffer);
	CHECK(DOCA_STRUCT_GET_VERSION(&ctx->iface) == DOCA_VERSION_EXACT);
	CHECK(ctx->iface.open != NULL && ctx->iface.close != NULL && ctx->iface.addr != NULL);
	CHECK(ctx->iface.worker_cmd != NULL && ctx->iface.progress != NULL &&
	      ctx->iface.notif_pack != NULL);
	ctx->domain_iface.addr_lookup = no_address;
	ctx->domain_iface.seg_lookup = no_segment;
	ctx->domain_iface.memh_lookup = no_memory;
	ctx->domain_iface.mkey_lookup = no_memory;
}

/* NULL arguments and unopened contexts are refused. */
static void check_null(void)
{
	struct urom_worker_notify header = {.type = PLUGIN_ID};
	unsigned char buffer[sizeof(header)];
	ucs_list_link_t list;
	size_t len = sizeof(buffer);

	ucs_list_head_init(&list);
	CHECK(ctx->iface.open(NULL) == DOCA_ERROR_INVALID_VALUE);
	ctx->iface.close(NULL);
	ctx->iface.close(ctx);
	CHECK(ctx->iface.addr(NULL, NULL, &len) == DOCA_ERROR_INVALID_VALUE);
	CHECK(ctx->iface.addr(ctx, NULL, &len) == DOCA_ERROR_INVALID_VALUE);
	CHECK(ctx->iface.worker_cmd(NULL, &list) == DOCA_ERROR_INVALID_VALUE);
	CHECK(ctx->iface.worker_cmd(ctx, &list) == DOCA_ERROR_INVALID_VALUE);
	CHECK(ctx->iface.progress(NULL, &list) == DOCA_ERROR_INVALID_VALUE);
	CHECK(ctx->iface.progress(ctx, &list) == DOCA_ERROR_INVALID_VALUE);
	CHECK(ctx->iface.notif_pack(NULL, &len, buffer) == DOCA_ERROR_INVALID_VALUE);
	CHECK(ctx->iface.notif_pack(&header, NULL, buffer) == DOCA_ERROR_INVALID_VALUE);
	CHECK(ctx->iface.notif_pack(&header, &len, NULL) == DOCA_ERROR_INVALID_VALUE);

	CHECK(ctx->iface.open(ctx) == DOCA_SUCCESS && ctx->plugin_ctx != NULL);
	CHECK(ctx->iface.addr(ctx, NULL, NULL) == DOCA_ERROR_INVALID_VALUE);
	CHECK(ctx->iface.worker_cmd(ctx, NULL) == DOCA_ERROR_INVALID_VALUE);
	CHECK(ctx->iface.progress(ctx, NULL) == DOCA_ERROR_INVALID_VALUE);
	CHECK(ctx->iface.worker_cmd(ctx, &list) == DOCA_SUCCESS);
	CHECK(ctx->iface.progress(ctx, &list) == DOCA_ERROR_EMPTY && ucs_list_is_empty(&list));
}

/* Reads the length, then the bytes, twice. These plugins lack an address, so the result is only
 * the frame with the address's length for the kit at the other end. */
static void check_address(void)
{
	unsigned char first[FRAME_LEN], again[FRAME_LEN + 1];
	size_t len;
	int i;

	for (i = 0; i < 2; i++) {
		len = 0;
		CHECK(ctx->iface.addr(ctx, NULL, &len) == DOCA_ERROR_INVALID_VALUE &&
		      len == FRAME_LEN);
		memset(again, 0xee, sizeof(again));
		len = FRAME_LEN - 1;
		CHECK(ctx->iface.addr(ctx, again, &len) == DOCA_ERROR_INVALID_VALUE &&
		      len == FRAME_LEN);
		CHECK(again[0] == 0xee);
		len = sizeof(again);
		CHECK(ctx->iface.addr(ctx, again, &len) == DOCA_SUCCESS && len == FRAME_LEN);
		CHECK(again[FRAME_LEN] == 0xee);
		if (i == 0)
			memcpy(first, again, FRAME_LEN);
		CHECK(memcmp(first, again, FRAME_LEN) == 0);
	}
}

static void queue(ucs_list_link_t *list, const struct exchange *exchange)
{
	struct urom_worker_cmd_desc *desc = malloc(sizeof(*desc) + exchange->command_len);

	CHECK(desc != NULL);
	desc->dest_id = exchange->dest_id;
	desc->worker_cmd.type = PLUGIN_ID;
	desc->worker_cmd.urom_context = exchange->token;
	desc->worker_cmd.len = exchange->command_len;
	if (exchange->command_len > 0)
		memcpy(desc->worker_cmd.plugin_cmd, exchange->command, exchange->command_len);
	ucs_list_add_tail(list, &desc->entry);
}

static void submit(const struct exchange *exchanges, size_t count)
{
	ucs_list_link_t list;
	size_t i;

	ucs_list_head_init(&list);
	for (i = 0; i < count; i++)
		queue(&list, &exchanges[i]);
	CHECK(ctx->iface.worker_cmd(ctx, &list) == DOCA_SUCCESS);
	CHECK(ucs_list_is_empty(&list));
}

/* Packs into buffers that are too short, exact and longer. */
static void check_packing(struct urom_worker_notif_desc *desc, size_t len)
{
	struct urom_worker_notify *notif = &desc->worker_notif;
	size_t whole = sizeof(*notif) + len;
	unsigned char *buffer = malloc(whole);
	size_t packed;

	CHECK(buffer != NULL);
	memset(buffer, 0xee, whole);
	packed = whole - 1;
	CHECK(ctx->iface.notif_pack(notif, &packed, buffer) == DOCA_ERROR_INVALID_VALUE &&
	      packed == whole);
	CHECK(buffer[0] == 0xee && buffer[whole - 1] == 0xee);
	packed = 0;
	CHECK(ctx->iface.notif_pack(notif, &packed, NULL) == DOCA_ERROR_INVALID_VALUE &&
	      packed == whole);
	packed = whole;
	CHECK(ctx->iface.notif_pack(notif, &packed, buffer) == DOCA_SUCCESS && packed == whole);
	CHECK(memcmp(buffer, notif, whole) == 0);
	packed = MAX_MESSAGE;
	CHECK(ctx->iface.notif_pack(notif, &packed, buffer) == DOCA_SUCCESS && packed == whole);
	free(buffer);
}

static struct exchange *find(struct exchange *exchanges, size_t count, uint64_t token)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (exchanges[i].token == token)
			return &exchanges[i];
	return NULL;
}

/* Collects until every exchange has exactly one notification. */
static void collect(struct exchange *exchanges, size_t count, size_t notification_len)
{
	size_t answered = 0;
	int calls;

	for (calls = 0; calls < 1000 && answered < count; calls++) {
		ucs_list_link_t list;
		doca_error_t code;

		ucs_list_head_init(&list);
		code = ctx->iface.progress(ctx, &list);
		CHECK(code == (ucs_list_is_empty(&list) ? DOCA_ERROR_EMPTY : DOCA_SUCCESS));
		while (!ucs_list_is_empty(&list)) {
			struct urom_worker_notif_desc *desc =
				ucs_list_extract_head(&list, struct urom_worker_notif_desc, entry);
			const struct urom_worker_notify *notif = &desc->worker_notif;
			struct exchange *exchange = find(exchanges, count, notif->urom_context);

			CHECK(exchange != NULL && exchange->answers == 0);
			exchange->answers++;
			answered++;
			CHECK(desc->dest_id == exchange->dest_id);
			CHECK(notif->type == PLUGIN_ID && notif->reserved == 0);
			CHECK(notif->status == exchange->status);
			CHECK(notif->len == notification_len);
			CHECK(memcmp(notif->plugin_notif, exchange->notification,
				     notification_len) == 0);
			check_packing(desc, notification_len);
			free(desc);
		}
	}
	CHECK(answered == count);
}

static void check_idle(void)
{
	ucs_list_link_t list;

	ucs_list_head_init(&list);
	CHECK(ctx->iface.progress(ctx, &list) == DOCA_ERROR_EMPTY && ucs_list_is_empty(&list));
}

static void close_twice(void)
{
	ctx->iface.close(ctx);
	CHECK(ctx->plugin_ctx == NULL);
	ctx->iface.close(ctx);
}

/* ---- The graph plugin ---- */

struct graph_message {
	uint64_t type;
	uint64_t data;
};

static void drive_graph(void)
{
	static const struct graph_message three = {0, 3}, wide = {0, 0xfedcba9876543210},
					  unknown = {9, 3};
	static const struct graph_message zero = {0, 0}, unknown_zero = {9, 0};
	static const uint64_t longer[3] = {0, 3, 0};
	struct exchange exchanges[] = {
		{1, 0x1234, &three, sizeof(three), DOCA_SUCCESS, &three, 0},
		{2, UINT64_MAX, &wide, sizeof(wide), DOCA_SUCCESS, &wide, 0},
		{1, 11, &three, sizeof(three) - 1, DOCA_ERROR_INVALID_VALUE, &zero, 0},
		{3, 12, longer, sizeof(longer), DOCA_ERROR_INVALID_VALUE, &zero, 0},
		{2, 13, &unknown, sizeof(unknown), DOCA_ERROR_INVALID_VALUE, &unknown_zero, 0},
		{1, 14, NULL, 0, DOCA_ERROR_INVALID_VALUE, &zero, 0},
		{1, 15, &three, 3, DOCA_ERROR_INVALID_VALUE, &zero, 0},
		{UINT64_MAX, 0, &three, sizeof(three), DOCA_SUCCESS, &three, 0},
	};
	size_t count = sizeof(exchanges) / sizeof(exchanges[0]);

	check_null();
	check_address();
	submit(exchanges, count);
	collect(exchanges, count, sizeof(struct graph_message));
	check_idle();

	/* Answered, but not collected before the worker closes. */
	submit(exchanges, count);
	close_twice();

	/* Reopen. */
	CHECK(ctx->iface.open(ctx) == DOCA_SUCCESS);
	exchanges[0].answers = 0;
	submit(exchanges, 1);
	collect(exchanges, 1, sizeof(struct graph_message));
	close_twice();
}

/* ---- The faulty plugin ---- */

enum { ECHO, PANIC, FAIL, HANG, YIELD };
enum { DONE, ECHOED };

struct faulty_command {
	uint64_t type;
	union {
		uint64_t echo;
		uint32_t fail;
		struct {
			uint32_t times;
			uint64_t value;
		} yield;
		uint8_t env[32];
	};
};

struct faulty_notification {
	uint64_t type;
	union {
		uint64_t echoed;
		uint64_t cpus[16];
	};
};

static void drive_faulty(void)
{
	static const struct faulty_command panics = {.type = PANIC}, hangs = {.type = HANG};
	static const struct faulty_command fails = {.type = FAIL, .fail = DOCA_ERROR_NOT_FOUND};
	static const struct faulty_command fails_oddly = {.type = FAIL, .fail = DOCA_SUCCESS};
	static const struct faulty_command yields = {.type = YIELD,
						     .yield = {.times = 3, .value = 5}};
	static const struct faulty_command echo = {.type = ECHO, .echo = 7};
	static const struct faulty_notification done = {.type = DONE};
	static const struct faulty_notification five = {.type = ECHOED, .echoed = 5};
	static const struct faulty_notification seven = {.type = ECHOED, .echoed = 7};
	static const struct faulty_notification no_echo = {.type = ECHOED};
	struct exchange exchanges[] = {
		{1, 1, &panics, sizeof(panics), DOCA_ERROR_UNEXPECTED, &done, 0},
		{2, 2, &fails, sizeof(fails), DOCA_ERROR_NOT_FOUND, &done, 0},
		{1, 3, &fails_oddly, sizeof(fails_oddly), DOCA_ERROR_UNEXPECTED, &done, 0},
		{1, 4, &yields, sizeof(yields), DOCA_SUCCESS, &five, 0},
		{3, 5, &echo, sizeof(echo) - 8, DOCA_ERROR_INVALID_VALUE, &no_echo, 0},
		{1, 6, &echo, sizeof(echo), DOCA_SUCCESS, &seven, 0},
	};
	struct exchange pending[] = {
		{1, 101, &hangs, sizeof(hangs), DOCA_SUCCESS, NULL, 0},
		{2, 102, &yields, sizeof(yields), DOCA_SUCCESS, NULL, 0},
		{3, 103, &hangs, sizeof(hangs), DOCA_SUCCESS, NULL, 0},
	};

	CHECK(ctx->iface.open(ctx) == DOCA_SUCCESS && ctx->plugin_ctx != NULL);
	submit(pending, 3);
	close_twice();

	CHECK(ctx->iface.open(ctx) == DOCA_SUCCESS && ctx->plugin_ctx != NULL);
	submit(&pending[0], 1);
	submit(exchanges, 6);
	collect(exchanges, 6, sizeof(struct faulty_notification));
	check_idle();
	submit(&pending[2], 1);
	check_idle();
	close_twice();
}

int main(int argc, char **argv)
{
	bool graph = argc == 3 && strcmp(argv[1], "graph") == 0;
	bool faulty = argc == 3 && strcmp(argv[1], "faulty") == 0;

	if (!graph && !faulty) {
		fprintf(stderr, "usage: c_driver graph|faulty PLUGIN.so\n");
		return 2;
	}
	load(argv[2]);
	prepare();
	if (graph)
		drive_graph();
	else
		drive_faulty();
	free(ctx);
	printf("%s: every rule holds\n", argv[1]);
	return 0;
}
