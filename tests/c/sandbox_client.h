/* Host side of worker_sandbox: sends its three commands and passes their answers to functions. */
#ifndef TESTS_SANDBOX_CLIENT_H
#define TESTS_SANDBOX_CLIENT_H

#include "host.h"
#include "sandbox_protocol.h"

/*
 * Called once for each submitted command with its `context`. The values after `context` are 0
 * unless the result is SUCCESS. `status` is UCX's.
 */
typedef void (*sandbox_mem_map_done)(doca_error_t result, union doca_data cookie, uint64_t context,
				     uint64_t memh_id);
typedef void (*sandbox_tag_send_done)(doca_error_t result, union doca_data cookie, uint64_t context,
				      int status);
/* `buffer` has `count` bytes and is valid during the call; NULL if they are in registered
 * memory. */
typedef void (*sandbox_tag_recv_done)(doca_error_t result, union doca_data cookie, uint64_t context,
				      const void *buffer, uint64_t count, uint64_t sender_tag,
				      int status);

/* Stored in the task until completion. */
struct sandbox_call {
	union doca_data cookie;
	uint64_t context;
	union {
		sandbox_mem_map_done mem_map;
		sandbox_tag_send_done tag_send;
		sandbox_tag_recv_done tag_recv;
	} done;
};

_Static_assert(sizeof(struct sandbox_call) <= 32, "a task has 32 bytes for its owner");

/* Returns a task's call and result. If the result is SUCCESS, the notification was copied, and more
 * bytes may follow it. */
static inline doca_error_t sandbox_answer(struct doca_urom_worker_cmd_task *task,
					  struct sandbox_call *call,
					  struct sandbox_notification *answer, const void **more,
					  size_t *more_length)
{
	doca_error_t result = doca_task_get_status(doca_urom_worker_cmd_task_as_task(task));
	const unsigned char *bytes;
	size_t length;

	memcpy(call, doca_urom_worker_cmd_task_get_user_data(task), sizeof(*call));
	memset(answer, 0, sizeof(*answer));
	*more = NULL;
	*more_length = 0;
	if (result != DOCA_SUCCESS)
		return result;
	bytes = answer_of(task, &length);
	if (bytes == NULL || length < sizeof(*answer))
		return DOCA_ERROR_INVALID_VALUE;
	memcpy(answer, bytes, sizeof(*answer));
	*more = bytes + sizeof(*answer);
	*more_length = length - sizeof(*answer);
	return answer->context == call->context ? DOCA_SUCCESS : DOCA_ERROR_INVALID_VALUE;
}

static inline void sandbox_mem_map_completed(struct doca_urom_worker_cmd_task *task,
					     union doca_data task_data, union doca_data ctx_data)
{
	struct sandbox_notification answer;
	struct sandbox_call call;
	const void *more;
	size_t length;
	doca_error_t result = sandbox_answer(task, &call, &answer, &more, &length);

	(void)task_data;
	(void)ctx_data;
	/* Some plugins answer with the type of a send. */
	if (result == DOCA_SUCCESS && (answer.type > SANDBOX_TAG_SEND || length != 0))
		result = DOCA_ERROR_INVALID_VALUE;
	MUST(doca_urom_worker_cmd_task_release(task));
	call.done.mem_map(result, call.cookie, call.context,
			  result == DOCA_SUCCESS ? answer.mem_mapped.memh_id : 0);
}

static inline void sandbox_tag_send_completed(struct doca_urom_worker_cmd_task *task,
					      union doca_data task_data, union doca_data ctx_data)
{
	struct sandbox_notification answer;
	struct sandbox_call call;
	const void *more;
	size_t length;
	doca_error_t result = sandbox_answer(task, &call, &answer, &more, &length);

	(void)task_data;
	(void)ctx_data;
	if (result == DOCA_SUCCESS && (answer.type != SANDBOX_TAG_SEND || length != 0))
		result = DOCA_ERROR_INVALID_VALUE;
	MUST(doca_urom_worker_cmd_task_release(task));
	call.done.tag_send(result, call.cookie, call.context,
			   result == DOCA_SUCCESS ? answer.tag_sent.status : 0);
}

static inline void sandbox_tag_recv_completed(struct doca_urom_worker_cmd_task *task,
					      union doca_data task_data, union doca_data ctx_data)
{
	struct sandbox_notification answer;
	const struct sandbox_tag_received *came = &answer.tag_received;
	struct sandbox_call call;
	const void *more;
	size_t length;
	doca_error_t result = sandbox_answer(task, &call, &answer, &more, &length);

	(void)task_data;
	(void)ctx_data;
	if (result == DOCA_SUCCESS &&
	    (answer.type != SANDBOX_TAG_RECV || length != (came->buffer != 0 ? came->count : 0)))
		result = DOCA_ERROR_INVALID_VALUE;
	if (result == DOCA_SUCCESS)
		call.done.tag_recv(result, call.cookie, call.context,
				   came->buffer != 0 ? more : NULL, came->count, came->sender_tag,
				   came->status);
	else
		call.done.tag_recv(result, call.cookie, call.context, NULL, 0, 0, 0);
	/* Released last: the task owns the bytes. */
	MUST(doca_urom_worker_cmd_task_release(task));
}

static inline doca_error_t sandbox_submit(struct doca_urom_worker *worker, uint64_t plugin,
					  const struct sandbox_command *command, const void *more,
					  size_t length, const struct sandbox_call *call,
					  doca_urom_worker_cmd_task_completion_cb_t done)
{
	struct doca_urom_worker_cmd_task *task;
	unsigned char *to;
	void *bytes;
	doca_error_t code;

	if (length > SIZE_MAX - sizeof(*command))
		return DOCA_ERROR_TOO_BIG;
	code = new_command(worker, plugin, sizeof(*command) + length, &task, &bytes);
	if (code != DOCA_SUCCESS)
		return code;
	to = bytes;
	memcpy(to, command, sizeof(*command));
	if (length != 0)
		memcpy(to + sizeof(*command), more, length);
	memcpy(doca_urom_worker_cmd_task_get_user_data(task), call, sizeof(*call));
	return submit(task, done);
}

/* Registers memory of the plugin, or of the host by an exported handle of `exported_length`
 * bytes. */
static inline doca_error_t sandbox_task_mem_map(struct doca_urom_worker *worker, uint64_t plugin,
						union doca_data cookie, uint64_t context,
						struct sandbox_map_params params,
						const void *exported, size_t exported_length,
						sandbox_mem_map_done done)
{
	const struct sandbox_command command = {
		.type = SANDBOX_MEM_MAP,
		.context = context,
		.mem_map = {.params = params, .exported_memh_buffer_len = exported_length},
	};
	const struct sandbox_call call = {
		.cookie = cookie, .context = context, .done.mem_map = done};

	return sandbox_submit(worker, plugin, &command, exported, exported_length, &call,
			      sandbox_mem_map_completed);
}

/* Sends `count` bytes at `buffer` to a domain member. With a nonzero `memh_id` they are in
 * registered memory. */
static inline doca_error_t sandbox_task_tag_send(struct doca_urom_worker *worker, uint64_t plugin,
						 union doca_data cookie, uint64_t context,
						 uint64_t dest, const void *buffer, uint64_t count,
						 uint64_t tag, uint64_t memh_id,
						 sandbox_tag_send_done done)
{
	const struct sandbox_command command = {
		.type = SANDBOX_TAG_SEND,
		.context = context,
		.tag_send = {.dest = dest,
			     .buffer = (uintptr_t)buffer,
			     .count = count,
			     .tag = tag,
			     .memh_id = memh_id},
	};
	const struct sandbox_call call = {
		.cookie = cookie, .context = context, .done.tag_send = done};

	return sandbox_submit(worker, plugin, &command, buffer, memh_id == 0 ? count : 0, &call,
			      sandbox_tag_send_completed);
}

/* Receives into the answer, or to `buffer` in registered memory if `memh_id` is not 0. */
static inline doca_error_t sandbox_task_tag_recv(struct doca_urom_worker *worker, uint64_t plugin,
						 union doca_data cookie, uint64_t context,
						 uint64_t buffer, uint64_t count, uint64_t tag,
						 uint64_t tag_mask, uint64_t memh_id,
						 sandbox_tag_recv_done done)
{
	const struct sandbox_command command = {
		.type = SANDBOX_TAG_RECV,
		.context = context,
		.tag_recv = {.buffer = buffer,
			     .count = count,
			     .tag = tag,
			     .tag_mask = tag_mask,
			     .memh_id = memh_id},
	};
	const struct sandbox_call call = {
		.cookie = cookie, .context = context, .done.tag_recv = done};

	return sandbox_submit(worker, plugin, &command, NULL, 0, &call, sandbox_tag_recv_completed);
}

#endif /* TESTS_SANDBOX_CLIENT_H */
