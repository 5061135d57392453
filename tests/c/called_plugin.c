/*
 * The graph plugin in C with an extension table: `call` answers a loopback with its data plus one.
 * Macros change the table and the answers.
 */
#include <urom_plugin_extension.h>

#include "graph_plugin.c"

static const struct urom_worker_services *services;

static void attach(struct urom_worker_ctx *ctx, const struct urom_worker_services *given)
{
	(void)ctx;
	services = given;
}

static uint32_t called(struct urom_worker_ctx *ctx, struct urom_command_call *call)
{
	struct graph_command loopback;
	struct graph_notification answer = {.type = GRAPH_LOOPBACK};

	(void)ctx;
#ifdef CALL_GIVES
	(void)loopback;
	call->answer_len = sizeof(answer);
	return CALL_GIVES;
#endif
	if (call->command_len != sizeof(loopback) || call->answer_capacity < sizeof(answer))
		return UROM_CALLED_DECLINED;
	memcpy(&loopback, call->command, sizeof(loopback));
	answer.data = loopback.data + 1;
	memcpy(call->answer, &answer, sizeof(answer));
	call->answer_len = sizeof(answer);
#ifdef LONG_ANSWER
	call->answer_len = call->answer_capacity + 1;
#endif
#ifdef FAILS
	call->status = DOCA_ERROR_NOT_FOUND;
	services->explain(ctx, call->dest_id, call->urom_context, FAILS, strlen(FAILS));
#endif
	return UROM_CALLED_ANSWERED;
}

#ifndef NO_CALL
#define NO_CALL 0
#endif
#ifndef TABLE_SIZE
#define TABLE_SIZE sizeof(urom_plugin_extension)
#endif

const struct urom_plugin_extension urom_plugin_extension = {
	.size = TABLE_SIZE,
	.attach = attach,
	.call = NO_CALL ? NULL : called,
};
