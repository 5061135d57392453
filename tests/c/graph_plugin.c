/* The graph plugin in C: answers a loopback with its data. */
#include <stdatomic.h>

#include "graph_protocol.h"
#include "plugin.h"

DOCA_LOG_REGISTER(TESTS::GRAPH);

struct graph {
	ucs_list_link_t answers; /* for the next progress() */
};

static doca_error_t graph_open(struct urom_worker_ctx *ctx)
{
	struct graph *graph = malloc(sizeof(*graph));

	if (graph == NULL)
		return DOCA_ERROR_NO_MEMORY;
	ucs_list_head_init(&graph->answers);
	ctx->plugin_ctx = graph;
	return DOCA_SUCCESS;
}

static void graph_close(struct urom_worker_ctx *ctx)
{
	struct graph *graph = ctx->plugin_ctx;

	if (graph == NULL)
		return;
	free_answers(&graph->answers);
	free(graph);
	ctx->plugin_ctx = NULL;
}

/* This plugin does not have peers. */
static doca_error_t graph_addr(struct urom_worker_ctx *ctx, void *addr, size_t *addr_len)
{
	(void)ctx;
	(void)addr;
	*addr_len = 0;
	return DOCA_SUCCESS;
}

/* `command` may be malformed. */
static doca_error_t loopback(const struct urom_worker_cmd *command,
			     struct graph_notification *answer)
{
	struct graph_command loopback;

	if (command->len != sizeof(loopback)) {
		DOCA_LOG_ERR("a command has %zu bytes, not %zu", (size_t)command->len,
			     sizeof(loopback));
		return DOCA_ERROR_INVALID_VALUE;
	}
	memcpy(&loopback, command->plugin_cmd, sizeof(loopback));
	if (loopback.type != GRAPH_LOOPBACK) {
		DOCA_LOG_ERR("no command has type %zu", (size_t)loopback.type);
		return DOCA_ERROR_INVALID_VALUE;
	}
#ifdef COUNTS_ARRIVALS
	/* The host is in this process; the data is the address of its counter. */
	atomic_fetch_add((atomic_uint *)(uintptr_t)loopback.data, 1);
#endif
	answer->type = GRAPH_LOOPBACK;
	answer->data = loopback.data;
	return DOCA_SUCCESS;
}

static doca_error_t graph_worker_cmd(struct urom_worker_ctx *ctx, ucs_list_link_t *cmd_list)
{
	struct graph *graph = ctx->plugin_ctx;

	while (!ucs_list_is_empty(cmd_list)) {
		struct urom_worker_cmd_desc *command = first_command(cmd_list);
		struct urom_worker_notif_desc *answer =
			answer_to(command, sizeof(struct graph_notification));

		if (answer == NULL)
			return DOCA_ERROR_NO_MEMORY;
		answer->worker_notif.status =
			loopback(&command->worker_cmd,
				 (struct graph_notification *)answer->worker_notif.plugin_notif);
		ucs_list_add_tail(&graph->answers, &answer->entry);
		ucs_list_del(&command->entry);
		free(command);
	}
	return DOCA_SUCCESS;
}

static doca_error_t graph_progress(struct urom_worker_ctx *ctx, ucs_list_link_t *notif_list)
{
	struct graph *graph = ctx->plugin_ctx;

	return hand_over(&graph->answers, notif_list);
}

EXPORT_PLUGIN(graph, GRAPH_VERSION, pack_answer)
