/* A test plugin that runs a command's look-ups, also on its own threads, and returns their results. */
#include <pthread.h>
#include <stdatomic.h>
#include "plugin.h"

enum op {
	OWN,    /* its own address */
	ADDR,   /* the address of member a */
	SEG,    /* the segment of member a at b */
	MEMH,   /* length, sum and first bytes of the memory handle of member a, segment b */
	MKEY,   /* the same of the key */
	KEEP,   /* keep what MKEY finds */
	KEPT,   /* length, sum and first bytes of what is kept */
	NULLS,  /* the codes of look-ups without a context or a target */
	HUNT,   /* look up member a from 4 threads */
	RETURN, /* stop that: how often it was found, how often not, and how often it was wrong */
};

struct words {
	uint64_t op, a, b;
};
struct state {
	ucs_list_link_t ready;
	void *kept;
	size_t kept_len;
};

static struct urom_worker_ctx *hunter;
static uint64_t quarry;
static atomic_int hunting;
static atomic_ulong found, missed, wrong;
static pthread_t threads[4];

static doca_error_t plugin_open(struct urom_worker_ctx *ctx)
{
	struct state *state = calloc(1, sizeof(*state));
	void *p;
	ucs_list_head_init(&state->ready);
	ctx->plugin_ctx = state;
	/* Look-ups are valid already in open. */
	return ctx->domain_iface.addr_lookup(ctx, 0, &p) == DOCA_ERROR_NOT_FOUND
		       ? DOCA_SUCCESS
		       : DOCA_ERROR_DRIVER;
}

static void plugin_close(struct urom_worker_ctx *ctx)
{
	struct state *state = ctx->plugin_ctx;
	while (!ucs_list_is_empty(&state->ready)) {
		ucs_list_link_t *entry = state->ready.next;
		ucs_list_del(entry);
		free(entry);
	}
	free(state);
}

static size_t own_address(struct urom_worker_ctx *ctx, char *text, size_t size)
{
	/* Different for each plugin and worker. */
	return snprintf(text, size, "%s in process %ld at %p", NAME, (long)getpid(), (void *)ctx) +
	       1;
}

static doca_error_t plugin_addr(struct urom_worker_ctx *ctx, void *addr, size_t *len)
{
	char text[128];
	size_t needed = own_address(ctx, text, sizeof(text));
#ifdef UNREACHABLE
	needed = 0;
#endif
	if (*len < needed) {
		*len = needed;
		return DOCA_ERROR_INVALID_VALUE;
	}
	memcpy(addr, text, needed);
	*len = needed;
	return DOCA_SUCCESS;
}

static uint64_t sum(const unsigned char *bytes, size_t len)
{
	uint64_t total = 0;
	for (size_t at = 0; at < len; at++)
		total = total * 31 + bytes[at];
	return total;
}

static void *hunt(void *unused)
{
	(void)unused;
	while (atomic_load(&hunting)) {
		void *p;
		size_t len;
		int seg;
		doca_error_t code = hunter->domain_iface.addr_lookup(hunter, quarry, &p);
		if (code == DOCA_SUCCESS)
			atomic_fetch_add(strncmp(p, "seeker in process ", 18) ? &wrong : &found, 1);
		else
			atomic_fetch_add(code == DOCA_ERROR_NOT_FOUND ? &missed : &wrong, 1);
		code = hunter->domain_iface.seg_lookup(hunter, quarry, 0x10010, &seg);
		if (code != DOCA_ERROR_NOT_FOUND && (code != DOCA_SUCCESS || seg != 0))
			atomic_fetch_add(&wrong, 1);
		code = hunter->domain_iface.mkey_lookup(hunter, quarry, 0, &len, &p);
		if (code != DOCA_ERROR_NOT_FOUND &&
		    (code != DOCA_SUCCESS || len != 8 || memcmp(p, "the key", 8)))
			atomic_fetch_add(&wrong, 1);
	}
	return NULL;
}

static size_t handle(doca_error_t code, const void *bytes, size_t len, unsigned char *out)
{
	uint64_t words[2] = {len, 0};
	if (code != DOCA_SUCCESS)
		return 0;
	words[1] = sum(bytes, len);
	memcpy(out, words, 16);
	memcpy(out + 16, bytes, len < 64 ? len : 64);
	return 16 + (len < 64 ? len : 64);
}

static doca_error_t run(struct urom_worker_ctx *ctx, const struct words *w, unsigned char *out,
			size_t *len)
{
	struct state *state = ctx->plugin_ctx;
	doca_error_t code = DOCA_SUCCESS;
	void *p = NULL;
	size_t n = 0;
	int seg = -1;

	*len = 0;
	switch (w->op) {
	case OWN:
		*len = own_address(ctx, (char *)out, 128);
		break;
	case ADDR:
		code = ctx->domain_iface.addr_lookup(ctx, w->a, &p);
		if (code == DOCA_SUCCESS)
			*len = strlen(strcpy((char *)out, p)) + 1;
		break;
	case SEG:
		code = ctx->domain_iface.seg_lookup(ctx, w->a, w->b, &seg);
		memcpy(out, &seg, 4);
		*len = 4;
		break;
	case MEMH:
		code = ctx->domain_iface.memh_lookup(ctx, w->a, (int)w->b, &n, &p);
		*len = handle(code, p, n, out);
		break;
	case MKEY:
	case KEEP:
		code = ctx->domain_iface.mkey_lookup(ctx, w->a, (int)w->b, &n, &p);
		*len = handle(code, p, n, out);
		if (w->op == KEEP && code == DOCA_SUCCESS) {
			state->kept = p;
			state->kept_len = n;
		}
		break;
	case KEPT:
		*len = handle(DOCA_SUCCESS, state->kept, state->kept_len, out);
		break;
	case NULLS: {
		doca_error_t codes[] = {
			ctx->domain_iface.addr_lookup(NULL, w->a, &p),
			ctx->domain_iface.addr_lookup(ctx, w->a, NULL),
			ctx->domain_iface.seg_lookup(NULL, w->a, w->b, &seg),
			ctx->domain_iface.seg_lookup(ctx, w->a, w->b, NULL),
			ctx->domain_iface.memh_lookup(NULL, w->a, 0, &n, &p),
			ctx->domain_iface.memh_lookup(ctx, w->a, 0, NULL, &p),
			ctx->domain_iface.memh_lookup(ctx, w->a, 0, &n, NULL),
			ctx->domain_iface.memh_lookup(ctx, w->a, -1, &n, &p),
			ctx->domain_iface.mkey_lookup(NULL, w->a, 0, &n, &p),
			ctx->domain_iface.mkey_lookup(ctx, w->a, 0, NULL, &p),
			ctx->domain_iface.mkey_lookup(ctx, w->a, 0, &n, NULL),
			ctx->domain_iface.mkey_lookup(ctx, w->a, -2147483647 - 1, &n, &p),
		};
		memcpy(out, codes, sizeof(codes));
		*len = sizeof(codes);
		break;
	}
	case HUNT:
		hunter = ctx;
		quarry = w->a;
		atomic_store(&hunting, 1);
		for (int i = 0; i < 4; i++)
			pthread_create(&threads[i], NULL, hunt, NULL);
		break;
	case RETURN: {
		atomic_store(&hunting, 0);
		for (int i = 0; i < 4; i++)
			pthread_join(threads[i], NULL);
		uint64_t counts[3] = {atomic_exchange(&found, 0), atomic_exchange(&missed, 0),
				      atomic_exchange(&wrong, 0)};
		memcpy(out, counts, sizeof(counts));
		*len = sizeof(counts);
		break;
	}
	}
	return code;
}

static doca_error_t plugin_cmd(struct urom_worker_ctx *ctx, ucs_list_link_t *list)
{
	struct state *state = ctx->plugin_ctx;
	while (!ucs_list_is_empty(list)) {
		struct urom_worker_cmd_desc *cmd = (struct urom_worker_cmd_desc *)list->next;
		struct urom_worker_notif_desc *n = calloc(1, sizeof(*n) + 256);
		struct words words = {0, 0, 0};
		size_t len;
		ucs_list_del(&cmd->entry);
		len = cmd->worker_cmd.len < sizeof(words) ? cmd->worker_cmd.len : sizeof(words);
		memcpy(&words, cmd->worker_cmd.plugin_cmd, len);
		n->dest_id = cmd->dest_id;
		n->worker_notif.type = cmd->worker_cmd.type;
		n->worker_notif.urom_context = cmd->worker_cmd.urom_context;
		n->worker_notif.status = run(ctx, &words, n->worker_notif.plugin_notif, &len);
		n->worker_notif.len = len;
		ucs_list_add_tail(&state->ready, &n->entry);
		free(cmd);
	}
	return DOCA_SUCCESS;
}

static doca_error_t plugin_progress(struct urom_worker_ctx *ctx, ucs_list_link_t *list)
{
	struct state *state = ctx->plugin_ctx;
	if (ucs_list_is_empty(&state->ready))
		return DOCA_ERROR_EMPTY;
	while (!ucs_list_is_empty(&state->ready)) {
		ucs_list_link_t *entry = state->ready.next;
		ucs_list_del(entry);
		ucs_list_add_tail(list, entry);
	}
	return DOCA_SUCCESS;
}

static doca_error_t plugin_pack(struct urom_worker_notify *notif, size_t *len, void *packed)
{
	memcpy(packed, notif, sizeof(*notif) + notif->len);
	*len = sizeof(*notif) + notif->len;
	return DOCA_SUCCESS;
}

doca_error_t urom_plugin_get_version(uint64_t *version)
{
	if (!version)
		return DOCA_ERROR_INVALID_VALUE;
	*version = 7;
	return DOCA_SUCCESS;
}

doca_error_t urom_plugin_get_iface(struct urom_plugin_iface *iface)
{
	struct urom_plugin_iface all = {
		0x0300003a, plugin_open,     plugin_close, plugin_addr,
		plugin_cmd, plugin_progress, plugin_pack,
	};
	if (!iface)
		return DOCA_ERROR_INVALID_VALUE;
	*iface = all;
	return DOCA_SUCCESS;
}
