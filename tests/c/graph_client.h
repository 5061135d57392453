/* Host side of worker_graph: sends a loopback and passes its answer to a function. */
#ifndef TESTS_GRAPH_CLIENT_H
#define TESTS_GRAPH_CLIENT_H

#include "graph_protocol.h"
#include "host.h"

/* Called once for each submitted loopback; `data` is 0 unless the result is SUCCESS. */
typedef void (*graph_loopback_done)(doca_error_t result, union doca_data cookie, uint64_t data);

/* Stored in the task until completion: at most 32 bytes. */
struct graph_call {
	union doca_data cookie;
	graph_loopback_done done;
};

static inline void graph_completed(struct doca_urom_worker_cmd_task *task,
				   union doca_data task_data, union doca_data ctx_data)
{
	const struct graph_call call =
		*(struct graph_call *)doca_urom_worker_cmd_task_get_user_data(task);
	doca_error_t result = doca_task_get_status(doca_urom_worker_cmd_task_as_task(task));
	struct graph_notification answer = {0};
	const void *bytes;
	size_t length;

	(void)task_data;
	(void)ctx_data;
	/* The answer of a failed command is undefined. */
	if (result == DOCA_SUCCESS) {
		bytes = answer_of(task, &length);
		if (bytes == NULL || length != sizeof(answer))
			result = DOCA_ERROR_INVALID_VALUE;
		else
			memcpy(&answer, bytes, sizeof(answer));
		if (result == DOCA_SUCCESS && answer.type != GRAPH_LOOPBACK)
			result = DOCA_ERROR_INVALID_VALUE;
	}
	/* Released first, so that the function can reuse the task. */
	MUST(doca_urom_worker_cmd_task_release(task));
	call.done(result, call.cookie, result == DOCA_SUCCESS ? answer.data : 0);
}

/* Sends a loopback of `data`. After an error `done` is not called. */
static inline doca_error_t graph_task_loopback(struct doca_urom_worker *worker, uint64_t plugin,
					       uint64_t data, union doca_data cookie,
					       graph_loopback_done done)
{
	const struct graph_command command = {.type = GRAPH_LOOPBACK, .data = data};
	struct doca_urom_worker_cmd_task *task;
	struct graph_call *call;
	void *bytes;
	doca_error_t code = new_command(worker, plugin, sizeof(command), &task, &bytes);

	if (code != DOCA_SUCCESS)
		return code;
	memcpy(bytes, &command, sizeof(command));
	call = doca_urom_worker_cmd_task_get_user_data(task);
	call->cookie = cookie;
	call->done = done;
	return submit(task, graph_completed);
}

#endif /* TESTS_GRAPH_CLIENT_H */
