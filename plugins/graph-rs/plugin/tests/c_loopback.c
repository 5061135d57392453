/*
 * A loopback plugin in C for the test kit. -DTIMES sets the number of answers to each command.
 */
#include <stdlib.h>
#include <string.h>

#include <doca_urom_plugin.h>

#ifndef TIMES
#define TIMES 1
#endif

struct loopback {
	ucs_list_link_t answers; /* for the next progress() */
};

static doca_error_t loopback_open(struct urom_worker_ctx *ctx)
{
	struct loopback *loopback = malloc(sizeof(*loopback));

	if (loopback == NULL)
		return DOCA_ERROR_NO_MEMORY;
	ucs_list_head_init(&loopback->answers);
	ctx->plugin_ctx = loopback;
	return DOCA_SUCCESS;
}

static void loopback_close(struct urom_worker_ctx *ctx)
{
	free(ctx->plugin_ctx);
	ctx->plugin_ctx = NULL;
}

static doca_error_t loopback_addr(struct urom_worker_ctx *ctx, void *addr, size_t *addr_len)
{
	(void)ctx;
	(void)addr;
	*addr_len = 0;
	return DOCA_SUCCESS;
}

static doca_error_t loopback_worker_cmd(struct urom_worker_ctx *ctx, ucs_list_link_t *cmd_list)
{
	struct loopback *loopback = ctx->plugin_ctx;

	while (!ucs_list_is_empty(cmd_list)) {
		struct urom_worker_cmd_desc *command =
			ucs_list_extract_head(cmd_list, struct urom_worker_cmd_desc, entry);
		uint64_t length = command->worker_cmd.len;
		int times;

		for (times = 0; times < TIMES; times++) {
			struct urom_worker_notif_desc *answer = calloc(1, sizeof(*answer) + length);

			if (answer == NULL)
				abort();
			answer->dest_id = command->dest_id;
			answer->worker_notif.type = command->worker_cmd.type;
			answer->worker_notif.urom_context = command->worker_cmd.urom_context;
			answer->worker_notif.len = length;
			memcpy(answer->worker_notif.plugin_notif, command->worker_cmd.plugin_cmd,
			       length);
			ucs_list_add_tail(&loopback->answers, &answer->entry);
		}
		free(command);
	}
	return DOCA_SUCCESS;
}

static doca_error_t loopback_progress(struct urom_worker_ctx *ctx, ucs_list_link_t *notif_list)
{
	struct loopback *loopback = ctx->plugin_ctx;

	if (ucs_list_is_empty(&loopback->answers))
		return DOCA_ERROR_EMPTY;
	while (!ucs_list_is_empty(&loopback->answers)) {
		struct urom_worker_notif_desc *answer = ucs_list_extract_head(
			&loopback->answers, struct urom_worker_notif_desc, entry);

		ucs_list_add_tail(notif_list, &answer->entry);
	}
	return DOCA_SUCCESS;
}

static doca_error_t loopback_pack(struct urom_worker_notify *notif, size_t *packed_len,
				  void *packed)
{
	size_t whole = sizeof(*notif) + notif->len;

	if (*packed_len < whole)
		return DOCA_ERROR_INVALID_VALUE;
	memcpy(packed, notif, whole);
	*packed_len = whole;
	return DOCA_SUCCESS;
}

doca_error_t urom_plugin_get_version(uint64_t *version)
{
	*version = 1;
	return DOCA_SUCCESS;
}

doca_error_t urom_plugin_get_iface(struct urom_plugin_iface *iface)
{
	DOCA_STRUCT_CTOR(*iface);
	iface->open = loopback_open;
	iface->close = loopback_close;
	iface->addr = loopback_addr;
	iface->worker_cmd = loopback_worker_cmd;
	iface->progress = loopback_progress;
	iface->notif_pack = loopback_pack;
	/* Like a plugin built against a longer interface. */
	memset(iface + 1, 0, 16 * sizeof(void *));
	return DOCA_SUCCESS;
}
