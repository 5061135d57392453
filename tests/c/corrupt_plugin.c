/*
 * A plugin that answers loopbacks and, on request, corrupts the lists it shares with its worker.
 * Its worker's process may crash or loop forever.
 */
#include <stdio.h>

#include "plugin.h"

enum corrupt {
	CORRUPT_NOTHING,        /* answers with the data */
	CORRUPT_NULL,           /* nothing follows the list's head */
	CORRUPT_WILD,           /* something follows it that is not a memory */
	CORRUPT_CIRCLE,         /* an answer follows itself */
	CORRUPT_FREED,          /* an answer is on the list that was freed */
	CORRUPT_TWICE,          /* an answer is on the list twice */
	CORRUPT_COMMAND_FREED,  /* a command is on the list that was freed */
	CORRUPT_COMMAND_CIRCLE, /* a command follows itself */
};

struct words {
	uint64_t how;
	uint64_t data;
};

struct state {
	ucs_list_link_t answers;
	uint64_t how; /* what to do to the list of answers next */
};

static doca_error_t corrupt_open(struct urom_worker_ctx *ctx)
{
	struct state *state = calloc(1, sizeof(*state));

	if (state == NULL)
		return DOCA_ERROR_NO_MEMORY;
	ucs_list_head_init(&state->answers);
	ctx->plugin_ctx = state;
	return DOCA_SUCCESS;
}

static void corrupt_close(struct urom_worker_ctx *ctx)
{
	struct state *state = ctx->plugin_ctx;

	if (state == NULL)
		return;
	free_answers(&state->answers);
	free(state);
	ctx->plugin_ctx = NULL;
}

static doca_error_t corrupt_addr(struct urom_worker_ctx *ctx, void *addr, size_t *addr_len)
{
	(void)ctx;
	(void)addr;
	*addr_len = 0;
	return DOCA_SUCCESS;
}

static doca_error_t corrupt_worker_cmd(struct urom_worker_ctx *ctx, ucs_list_link_t *cmd_list)
{
	struct state *state = ctx->plugin_ctx;

	while (!ucs_list_is_empty(cmd_list)) {
		struct urom_worker_cmd_desc *command = first_command(cmd_list);
		struct urom_worker_notif_desc *answer = answer_to(command, sizeof(struct words));
		struct words words = {0, 0};

		if (answer == NULL)
			return DOCA_ERROR_NO_MEMORY;
		if (command->worker_cmd.len == sizeof(words))
			memcpy(&words, command->worker_cmd.plugin_cmd, sizeof(words));
		memcpy(answer->worker_notif.plugin_notif, &words, sizeof(words));
		ucs_list_add_tail(&state->answers, &answer->entry);
		state->how = words.how;
		if (words.how != CORRUPT_NOTHING)
			fprintf(stderr, "corrupts a list: %u\n", (unsigned)words.how);
		if (words.how == CORRUPT_COMMAND_FREED) {
			free(command);
			return DOCA_SUCCESS;
		}
		if (words.how == CORRUPT_COMMAND_CIRCLE) {
			command->entry.next = &command->entry;
			return DOCA_SUCCESS;
		}
		ucs_list_del(&command->entry);
		free(command);
	}
	return DOCA_SUCCESS;
}

static doca_error_t corrupt_progress(struct urom_worker_ctx *ctx, ucs_list_link_t *notif_list)
{
	struct state *state = ctx->plugin_ctx;
	uint64_t how = state->how;
	ucs_list_link_t *last = state->answers.prev;
	doca_error_t result = hand_over(&state->answers, notif_list);

	if (result != DOCA_SUCCESS)
		return result;
	state->how = CORRUPT_NOTHING;
	switch (how) {
	case CORRUPT_NULL:
		notif_list->next = NULL;
		break;
	case CORRUPT_WILD:
		notif_list->next = (ucs_list_link_t *)16;
		break;
	case CORRUPT_CIRCLE:
		last->next = last;
		break;
	case CORRUPT_FREED:
		free(last);
		break;
	case CORRUPT_TWICE:
		ucs_list_add_tail(notif_list, last);
		break;
	default:
		break;
	}
	return DOCA_SUCCESS;
}

EXPORT_PLUGIN(corrupt, 1, pack_answer)
