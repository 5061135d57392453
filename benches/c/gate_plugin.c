/*
 * The worker's side of a gate: a worker polls a plugin that owes an answer once a turn. The command
 * is a loopback with the gate's address as data; its answer ends the gate. callgrind collects the
 * instructions of the worker's thread between two waits.
 */
#include "gate.h"
#include "graph_protocol.h"
#include "plugin.h"

struct gated {
	struct gate *gate;
	ucs_list_link_t answers;
};

static doca_error_t gate_open(struct urom_worker_ctx *ctx)
{
	struct gated *gated = calloc(1, sizeof(*gated));

	if (gated == NULL)
		return DOCA_ERROR_NO_MEMORY;
	ucs_list_head_init(&gated->answers);
	ctx->plugin_ctx = gated;
	return DOCA_SUCCESS;
}

static void gate_close(struct urom_worker_ctx *ctx)
{
	struct gated *gated = ctx->plugin_ctx;

	free_answers(&gated->answers);
	free(gated);
}

static doca_error_t gate_addr(struct urom_worker_ctx *ctx, void *addr, size_t *addr_len)
{
	(void)ctx;
	(void)addr;
	*addr_len = 0;
	return DOCA_SUCCESS;
}

static doca_error_t gate_worker_cmd(struct urom_worker_ctx *ctx, ucs_list_link_t *cmd_list)
{
	struct gated *gated = ctx->plugin_ctx;
	struct urom_worker_cmd_desc *command = first_command(cmd_list);
	struct graph_command loopback;
	struct urom_worker_notif_desc *answer;

	answer = answer_to(command, sizeof(struct graph_notification));
	if (answer == NULL)
		return DOCA_ERROR_NO_MEMORY;
	memcpy(&loopback, command->worker_cmd.plugin_cmd, sizeof(loopback));
	memcpy(answer->worker_notif.plugin_notif, &loopback, sizeof(loopback));
	ucs_list_add_tail(&gated->answers, &answer->entry);
	ucs_list_del(&command->entry);
	free(command);
	gated->gate = (struct gate *)(uintptr_t)loopback.data;
	gated->gate->turns = 1;
	gate_collect();
	return DOCA_SUCCESS;
}

static doca_error_t gate_progress(struct urom_worker_ctx *ctx, ucs_list_link_t *notif_list)
{
	struct gated *gated = ctx->plugin_ctx;
	struct gate *gate = gated->gate;

	if (gate == NULL)
		return DOCA_ERROR_EMPTY;
	if (--gate->turns != 0)
		return DOCA_ERROR_EMPTY;
	gate_collect();
	sem_post(&gate->host);
	gate_wait(&gate->worker);
	if (gate->turns == 0) {
		gated->gate = NULL;
		return hand_over(&gated->answers, notif_list);
	}
	gate_collect();
	return DOCA_ERROR_EMPTY;
}

EXPORT_PLUGIN(gate, GRAPH_VERSION, pack_answer)
