/* A plugin that does what the first word of a command says, so that a test can ask for every kind of misbehaviour. */
#include "plugin.h"

enum op {
	ECHO,         /* answer with the command's own bytes */
	BIG,          /* answer with as many bytes as the second word says */
	HOLD,         /* answer when told to */
	RELEASE,      /* answer everything that is held, then this */
	TWICE,        /* answer, and answer again */
	FAIL_TAKEN,   /* take the command, answer it, and return an error */
	FAIL_LEFT,    /* leave the command on the list, and return an error */
	STATUS,       /* answer with the second word as status */
	PACK_FAILS,   /* answer, and fail to pack that */
	FORGE,        /* answer the next slot's command too */
	GETENV,       /* answer with the value of the variable named behind the first word */
	PID,          /* answer with the process id */
	LOOKUPS,      /* answer with the codes of the four look-ups */
	SLACK,        /* answer with the 16 bytes behind the command */
	CRASH,        /* die */
	HANG,         /* never return */
	PACKS_TOO_LITTLE, /* answer, and say that 8 bytes were packed */
	RELEASE_LATE, /* answer what is held 1000 calls of progress later */
};

struct state { struct link ready, held; int release_in; };

static void trace(const char *what)
{
	const char *path = getenv("TRACE_FILE");
	FILE *file = path ? fopen(path, "a") : NULL;
	if (!file)
		return;
	fprintf(file, "%s %s\n", NAME, what);
	fclose(file);
}

static doca_error_t plugin_open(struct ctx *ctx)
{
	struct state *state = calloc(1, sizeof(*state));
	trace("open");
	list_init(&state->ready);
	list_init(&state->held);
	ctx->plugin_ctx = state;
#ifdef OPEN_FAILS
	return OPEN_FAILS;
#endif
#ifdef OPEN_HANGS
	for (;;)
		pause();
#endif
	return OK;
}

static void drain(struct link *list)
{
	while (!list_empty(list)) {
		struct link *entry = list->next;
		list_del(entry);
		free(entry);
	}
}

static void plugin_close(struct ctx *ctx)
{
	struct state *state = ctx->plugin_ctx;
	trace("close");
	drain(&state->ready);
	drain(&state->held);
	free(state);
	ctx->plugin_ctx = NULL;
}

static doca_error_t plugin_addr(struct ctx *ctx, void *addr, size_t *len)
{
	static const char address[] = "an address of this plugin";
	(void)ctx;
	if (*len < sizeof(address)) {
		*len = sizeof(address);
		return INVALID_VALUE;
	}
	memcpy(addr, address, sizeof(address));
	*len = sizeof(address);
	return OK;
}

static struct notif_desc *answer(struct cmd_desc *cmd, const void *bytes, size_t len)
{
	struct notif_desc *n = calloc(1, sizeof(*n) + len + 1);
	n->dest_id = cmd->dest_id;
	n->notif.type = cmd->type;
	n->notif.context = cmd->context;
	n->notif.len = len;
	n->notif.reserved = 0xdead;
	if (bytes)
		memcpy(n->notif.body, bytes, len);
	return n;
}

static doca_error_t run(struct ctx *ctx, struct state *state, struct cmd_desc *cmd)
{
	uint64_t words[2] = {0, 0};
	doca_error_t result = OK;
	struct notif_desc *n = NULL;

	memcpy(words, cmd->body, cmd->len < sizeof(words) ? cmd->len : sizeof(words));
	switch (words[0]) {
	case BIG:
		n = answer(cmd, NULL, words[1]);
		break;
	case HOLD:
		list_add_tail(&state->held, &answer(cmd, cmd->body, cmd->len)->entry);
		break;
	case RELEASE:
		while (!list_empty(&state->held)) {
			struct link *entry = state->held.next;
			list_del(entry);
			list_add_tail(&state->ready, entry);
		}
		n = answer(cmd, cmd->body, cmd->len);
		break;
	case RELEASE_LATE:
		state->release_in = 1000;
		n = answer(cmd, cmd->body, cmd->len);
		break;
	case TWICE:
		list_add_tail(&state->ready, &answer(cmd, cmd->body, cmd->len)->entry);
		n = answer(cmd, cmd->body, cmd->len);
		break;
	case FAIL_TAKEN:
		n = answer(cmd, cmd->body, cmd->len);
		n->notif.status = DRIVER;
		result = DRIVER;
		break;
	case STATUS:
		n = answer(cmd, cmd->body, cmd->len);
		n->notif.status = words[1];
		break;
	case PACK_FAILS:
		n = answer(cmd, cmd->body, cmd->len);
		n->notif.reserved = 0xfa11;
		break;
	case PACKS_TOO_LITTLE:
		n = answer(cmd, cmd->body, cmd->len);
		n->notif.reserved = 0xfa12;
		break;
	case FORGE:
		n = answer(cmd, cmd->body, cmd->len);
		n->notif.context += UINT64_C(1) << 32;
		list_add_tail(&state->ready, &n->entry);
		n = answer(cmd, cmd->body, cmd->len);
		n->dest_id += 1;
		list_add_tail(&state->ready, &n->entry);
		n = answer(cmd, cmd->body, cmd->len);
		break;
	case GETENV: {
		const char *value = getenv((const char *)cmd->body + 8); /* the worker leaves zeros behind a command */
		n = answer(cmd, value ? value : "", value ? strlen(value) : 0);
		break;
	}
	case PID:
		words[0] = getpid();
		n = answer(cmd, words, 8);
		break;
	case LOOKUPS: {
		doca_error_t codes[4];
		void *p;
		int seg;
		size_t len;
		codes[0] = ctx->addr_lookup(ctx, 1, &p);
		codes[1] = ctx->seg_lookup(ctx, 1, 4096, &seg);
		codes[2] = ctx->memh_lookup(ctx, 1, 0, &len, &p);
		codes[3] = ctx->mkey_lookup(ctx, 1, 0, &len, NULL);
		n = answer(cmd, codes, sizeof(codes));
		break;
	}
	case SLACK:
		n = answer(cmd, cmd->body + cmd->len, 16);
		break;
	case CRASH:
		abort();
	case HANG:
		for (;;)
			pause();
	default:
		n = answer(cmd, cmd->body, cmd->len);
	}
	if (n)
		list_add_tail(&state->ready, &n->entry);
	return result;
}

static doca_error_t plugin_cmd(struct ctx *ctx, struct link *list)
{
	struct state *state = ctx->plugin_ctx;
	while (!list_empty(list)) {
		struct cmd_desc *cmd = (struct cmd_desc *)list->next;
		doca_error_t result;
		if (cmd->len >= 8 && *(uint64_t *)cmd->body == FAIL_LEFT)
			return NO_MEMORY;
		list_del(&cmd->entry);
		result = run(ctx, state, cmd);
		free(cmd);
		if (result != OK)
			return result;
	}
	return OK;
}

static doca_error_t plugin_progress(struct ctx *ctx, struct link *list)
{
	struct state *state = ctx->plugin_ctx;
	if (state->release_in && --state->release_in == 0) {
		while (!list_empty(&state->held)) {
			struct link *entry = state->held.next;
			list_del(entry);
			list_add_tail(&state->ready, entry);
		}
	}
	if (list_empty(&state->ready))
		return EMPTY;
	while (!list_empty(&state->ready)) {
		struct link *entry = state->ready.next;
		list_del(entry);
		list_add_tail(list, entry);
	}
	return OK;
}

static doca_error_t plugin_pack(struct notify *notif, size_t *len, void *packed)
{
	if (notif->reserved == 0xfa11)
		return DRIVER;
	if (notif->reserved == 0xfa12) {
		*len = 8;
		return OK;
	}
	/* Like the C samples, this believes that there is room. */
	memcpy(packed, notif, sizeof(*notif) + notif->len);
	*len = sizeof(*notif) + notif->len;
	return OK;
}

doca_error_t urom_plugin_get_version(uint64_t *version)
{
	if (!version)
		return INVALID_VALUE;
	*version = 7;
	return OK;
}

doca_error_t urom_plugin_get_iface(struct iface *iface)
{
	struct iface all = {
		0x0300003a, plugin_open, plugin_close, plugin_addr, plugin_cmd, plugin_progress, plugin_pack,
	};
	if (!iface)
		return INVALID_VALUE;
	*iface = all;
	return OK;
}
