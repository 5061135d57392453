/* A test plugin. A command's first word selects its behaviour, including misbehaviour. */
#include "plugin.h"

#ifndef VERSION
#define VERSION 7
#endif

enum op {
	ECHO,              /* answer with the command's own bytes */
	BIG,               /* answer with as many bytes as the second word says */
	HOLD,              /* answer when told to */
	RELEASE,           /* answer everything that is held, then this */
	TWICE,             /* answer, and answer again */
	FAIL_TAKEN,        /* take the command, answer it, and return an error */
	FAIL_LEFT,         /* leave the command on the list, and return an error */
	STATUS,            /* answer with the second word as status */
	PACK_FAILS,        /* answer, and fail to pack that */
	FORGE,             /* answer the next slot's command too */
	GETENV,            /* answer with the value of the variable named behind the first word */
	PID,               /* answer with the process id */
	LOOKUPS,           /* answer with the codes of the four look-ups */
	SLACK,             /* answer with the 16 bytes behind the command */
	CRASH,             /* die */
	HANG,              /* never return */
	PACKS_TOO_LITTLE,  /* answer, and say that 8 bytes were packed */
	RELEASE_LATE,      /* answer what is held 1000 calls of progress later */
	WRONG_CONTEXT,     /* answer with a context that is not a command's */
	WRONG_DESTINATION, /* answer with a destination that is not a host's */
	POLLS,             /* answer with how often progress was called */
	FAULT,             /* do what sanitizers report, each its own */
	FORK,              /* answer with the id of a process that stays, but not for ever */
};

struct state {
	ucs_list_link_t ready, held;
	int release_in;
	uint64_t polls;
};

static void trace(const char *what)
{
	const char *path = getenv("UROM_TRACE_FILE");
	FILE *file = path ? fopen(path, "a") : NULL;
	if (!file)
		return;
	fprintf(file, "%s %s\n", NAME, what);
	fclose(file);
}

#ifdef LOADING_HANGS
/* Hangs in processes with this variable. */
__attribute__((constructor)) static void load(void)
{
	while (getenv("UROM_LOADING_HANGS"))
		pause();
}
#endif

static doca_error_t plugin_open(struct urom_worker_ctx *ctx)
{
	trace("open");
#ifdef OPEN_FAILS
	/* A plugin that fails to open is not closed, so it must not keep anything. */
	return OPEN_FAILS;
#endif
	struct state *state = calloc(1, sizeof(*state));
	ucs_list_head_init(&state->ready);
	ucs_list_head_init(&state->held);
	ctx->plugin_ctx = state;
#ifdef OPEN_HANGS
	for (;;)
		pause();
#endif
	return DOCA_SUCCESS;
}

static void drain(ucs_list_link_t *list)
{
	while (!ucs_list_is_empty(list)) {
		ucs_list_link_t *entry = list->next;
		ucs_list_del(entry);
		free(entry);
	}
}

static void plugin_close(struct urom_worker_ctx *ctx)
{
	struct state *state = ctx->plugin_ctx;
	trace("close");
#ifdef CLOSE_HANGS
	for (;;)
		pause();
#endif
	drain(&state->ready);
	drain(&state->held);
	free(state);
	ctx->plugin_ctx = NULL;
}

static doca_error_t plugin_addr(struct urom_worker_ctx *ctx, void *addr, size_t *len)
{
	static const char address[] = "an address of this plugin";
	(void)ctx;
	if (*len < sizeof(address)) {
		*len = sizeof(address);
		return DOCA_ERROR_INVALID_VALUE;
	}
	memcpy(addr, address, sizeof(address));
	*len = sizeof(address);
	return DOCA_SUCCESS;
}

static struct urom_worker_notif_desc *answer(struct urom_worker_cmd_desc *cmd, const void *bytes,
					     size_t len)
{
	struct urom_worker_notif_desc *n = calloc(1, sizeof(*n) + len + 1);
	n->dest_id = cmd->dest_id;
	n->worker_notif.type = cmd->worker_cmd.type;
	n->worker_notif.urom_context = cmd->worker_cmd.urom_context;
	n->worker_notif.len = len;
	n->worker_notif.reserved = 0xdead;
	if (bytes)
		memcpy(n->worker_notif.plugin_notif, bytes, len);
	return n;
}

#define BLOCK 20

static char *block;

static void *overwrite(void *unused)
{
	/* Volatile, to call the C library's memset, which sanitizers replace. */
	volatile size_t len = BLOCK + 1;
	memset(block, 0, len);
	return unused;
}

static doca_error_t run(struct urom_worker_ctx *ctx, struct state *state,
			struct urom_worker_cmd_desc *cmd)
{
	uint64_t words[2] = {0, 0};
	doca_error_t result = DOCA_SUCCESS;
	struct urom_worker_notif_desc *n = NULL;

	memcpy(words, cmd->worker_cmd.plugin_cmd,
	       cmd->worker_cmd.len < sizeof(words) ? cmd->worker_cmd.len : sizeof(words));
	switch (words[0]) {
	case BIG:
		n = answer(cmd, NULL, words[1]);
		break;
	case HOLD:
		ucs_list_add_tail(
			&state->held,
			&answer(cmd, cmd->worker_cmd.plugin_cmd, cmd->worker_cmd.len)->entry);
		break;
	case RELEASE:
		while (!ucs_list_is_empty(&state->held)) {
			ucs_list_link_t *entry = state->held.next;
			ucs_list_del(entry);
			ucs_list_add_tail(&state->ready, entry);
		}
		n = answer(cmd, cmd->worker_cmd.plugin_cmd, cmd->worker_cmd.len);
		break;
	case RELEASE_LATE:
		state->release_in = 1000;
		n = answer(cmd, cmd->worker_cmd.plugin_cmd, cmd->worker_cmd.len);
		break;
	case TWICE:
		ucs_list_add_tail(
			&state->ready,
			&answer(cmd, cmd->worker_cmd.plugin_cmd, cmd->worker_cmd.len)->entry);
		n = answer(cmd, cmd->worker_cmd.plugin_cmd, cmd->worker_cmd.len);
		break;
	case FAIL_TAKEN:
		n = answer(cmd, cmd->worker_cmd.plugin_cmd, cmd->worker_cmd.len);
		n->worker_notif.status = DOCA_ERROR_DRIVER;
		result = DOCA_ERROR_DRIVER;
		break;
	case STATUS:
		n = answer(cmd, cmd->worker_cmd.plugin_cmd, cmd->worker_cmd.len);
		n->worker_notif.status = words[1];
		break;
	case PACK_FAILS:
		n = answer(cmd, cmd->worker_cmd.plugin_cmd, cmd->worker_cmd.len);
		n->worker_notif.reserved = 0xfa11;
		break;
	case PACKS_TOO_LITTLE:
		n = answer(cmd, cmd->worker_cmd.plugin_cmd, cmd->worker_cmd.len);
		n->worker_notif.reserved = 0xfa12;
		break;
	case FORGE:
		n = answer(cmd, cmd->worker_cmd.plugin_cmd, cmd->worker_cmd.len);
		n->worker_notif.urom_context += UINT64_C(1) << 32;
		ucs_list_add_tail(&state->ready, &n->entry);
		n = answer(cmd, cmd->worker_cmd.plugin_cmd, cmd->worker_cmd.len);
		n->dest_id += 1;
		ucs_list_add_tail(&state->ready, &n->entry);
		n = answer(cmd, cmd->worker_cmd.plugin_cmd, cmd->worker_cmd.len);
		break;
	case WRONG_CONTEXT:
		n = answer(cmd, cmd->worker_cmd.plugin_cmd, cmd->worker_cmd.len);
		n->worker_notif.urom_context = 0xabcd;
		break;
	case WRONG_DESTINATION:
		n = answer(cmd, cmd->worker_cmd.plugin_cmd, cmd->worker_cmd.len);
		n->dest_id = 10000;
		break;
	case GETENV: {
		/* The worker appends zeros to a command. */
		const char *value = getenv((const char *)cmd->worker_cmd.plugin_cmd + 8);
		n = answer(cmd, value ? value : "", value ? strlen(value) : 0);
		break;
	}
	case PID:
		words[0] = getpid();
		n = answer(cmd, words, 8);
		break;
	case POLLS:
		n = answer(cmd, &state->polls, 8);
		break;
	case LOOKUPS: {
		doca_error_t codes[4];
		void *p;
		int seg;
		size_t len;
		codes[0] = ctx->domain_iface.addr_lookup(ctx, 1, &p);
		codes[1] = ctx->domain_iface.seg_lookup(ctx, 1, 4096, &seg);
		codes[2] = ctx->domain_iface.memh_lookup(ctx, 1, 0, &len, &p);
		codes[3] = ctx->domain_iface.mkey_lookup(ctx, 1, 0, &len, NULL);
		n = answer(cmd, codes, sizeof(codes));
		break;
	}
	case SLACK:
		n = answer(cmd, cmd->worker_cmd.plugin_cmd + cmd->worker_cmd.len, 16);
		break;
	case CRASH:
		abort();
	case FAULT: {
		/* One byte too many, and two concurrent writers: harmless without a sanitizer. */
		pthread_t writers[2];
		block = malloc(BLOCK);
		for (int i = 0; i < 2; i++)
			pthread_create(&writers[i], NULL, overwrite, NULL);
		for (int i = 0; i < 2; i++)
			pthread_join(writers[i], NULL);
		free(block);
		n = answer(cmd, NULL, 0);
		break;
	}
	case FORK:
		words[0] = fork();
		if (words[0] == 0) {
			sleep(30);
			_exit(0);
		}
		n = answer(cmd, words, 8);
		break;
	case HANG:
		for (;;)
			pause();
	default:
		n = answer(cmd, cmd->worker_cmd.plugin_cmd, cmd->worker_cmd.len);
	}
	if (n)
		ucs_list_add_tail(&state->ready, &n->entry);
	return result;
}

static doca_error_t plugin_cmd(struct urom_worker_ctx *ctx, ucs_list_link_t *list)
{
	struct state *state = ctx->plugin_ctx;
	while (!ucs_list_is_empty(list)) {
		struct urom_worker_cmd_desc *cmd = (struct urom_worker_cmd_desc *)list->next;
		doca_error_t result;
		if (cmd->worker_cmd.len >= 8 &&
		    *(uint64_t *)cmd->worker_cmd.plugin_cmd == FAIL_LEFT)
			return DOCA_ERROR_NO_MEMORY;
		ucs_list_del(&cmd->entry);
		result = run(ctx, state, cmd);
		free(cmd);
		if (result != DOCA_SUCCESS)
			return result;
	}
	return DOCA_SUCCESS;
}

static doca_error_t plugin_progress(struct urom_worker_ctx *ctx, ucs_list_link_t *list)
{
	struct state *state = ctx->plugin_ctx;
	state->polls++;
	if (state->release_in && --state->release_in == 0) {
		while (!ucs_list_is_empty(&state->held)) {
			ucs_list_link_t *entry = state->held.next;
			ucs_list_del(entry);
			ucs_list_add_tail(&state->ready, entry);
		}
	}
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
	if (notif->reserved == 0xfa11)
		return DOCA_ERROR_DRIVER;
	if (notif->reserved == 0xfa12) {
		*len = 8;
		return DOCA_SUCCESS;
	}
	/* Like the C samples, this assumes sufficient capacity. */
	memcpy(packed, notif, sizeof(*notif) + notif->len);
	*len = sizeof(*notif) + notif->len;
	return DOCA_SUCCESS;
}

doca_error_t urom_plugin_get_version(uint64_t *version)
{
	if (!version)
		return DOCA_ERROR_INVALID_VALUE;
	*version = VERSION;
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
