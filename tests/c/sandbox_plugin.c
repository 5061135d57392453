/*
 * The sandbox plugin in C: sends and receives tagged messages between a domain's workers with its
 * own UCX.
 *
 * A command that UCX does not complete at once becomes an operation, which owns the command and its
 * answer. So commands do not block each other, a message may arrive before its receive, and a
 * stopped worker leaves nothing behind.
 */
#include <time.h>

#include "plugin.h"
#include "sandbox_memory.h"
#include "sandbox_peers.h"
#include "sandbox_protocol.h"
#include "ucx.h"

DOCA_LOG_REGISTER(TESTS::SANDBOX);

/* Longest answer: the largest message limit. */
#define MOST_INLINE ((UINT64_C(1) << 24) - 1)
/* Time for messages to leave when the worker stops. */
#define LEAVE_NANOSECONDS INT64_C(500000000)

struct sandbox {
	ucp_context_h context;
	ucp_worker_h worker;
	struct memories memories;
	ucs_list_link_t peers;
	ucs_list_link_t running; /* operations */
	ucs_list_link_t answers; /* for the next progress() */
};

struct operation {
	ucs_list_link_t entry;
	struct sandbox *sandbox;
	struct urom_worker_cmd_desc *descriptor;
	struct sandbox_command command;
	struct urom_worker_notif_desc *answer;
	void *request; /* UCX's, unless it was done at once */
};

static struct sandbox_notification *notification_of(const struct operation *operation)
{
	return (struct sandbox_notification *)operation->answer->worker_notif.plugin_notif;
}

/* ---- Operations ---- */

static struct operation *begin(struct sandbox *sandbox, struct urom_worker_cmd_desc *descriptor)
{
	struct operation *operation = malloc(sizeof(*operation));

	if (operation == NULL)
		return NULL;
	*operation = (struct operation){
		.sandbox = sandbox,
		.descriptor = descriptor,
		.answer = answer_to(descriptor, sizeof(struct sandbox_notification)),
	};
	if (operation->answer == NULL) {
		free(operation);
		return NULL;
	}
	ucs_list_add_tail(&sandbox->running, &operation->entry);
	return operation;
}

static void discard(struct operation *operation)
{
	ucs_list_del(&operation->entry);
	free(operation->descriptor);
	free(operation->answer);
	free(operation);
}

static void finish(struct operation *operation, doca_error_t status)
{
	operation->answer->worker_notif.status = status;
	ucs_list_add_tail(&operation->sandbox->answers, &operation->answer->entry);
	operation->answer = NULL;
	discard(operation);
}

/* ---- Memory ---- */

#ifdef SANDBOX_BELIEVES_ITS_HOSTS
/* Like DOCA's sample: passes any bytes to UCX, which crashes on an invalid exported handle. */
#define FEATURES (UCP_FEATURE_TAG | UCP_FEATURE_EXPORTED_MEMH)
#else
#define FEATURES UCP_FEATURE_TAG
#endif

static doca_error_t mem_map(struct operation *operation)
{
	struct sandbox *sandbox = operation->sandbox;

#ifdef SANDBOX_BELIEVES_ITS_HOSTS
	if (operation->command.mem_map.exported_memh_buffer_len != 0)
		return memory_import(&sandbox->memories, sandbox->context,
				     operation->descriptor->dest_id, &operation->command.mem_map,
				     operation->descriptor->worker_cmd.plugin_cmd +
					     sizeof(struct sandbox_command),
				     &notification_of(operation)->mem_mapped.memh_id);
#endif
	return memory_map(&sandbox->memories, sandbox->context, operation->descriptor->dest_id,
			  &operation->command.mem_map,
			  &notification_of(operation)->mem_mapped.memh_id);
}

/* ---- Send ---- */

/* The sender may now reuse the data, even if it was not received. */
static void sent(struct operation *operation, ucs_status_t status)
{
	notification_of(operation)->tag_sent.status = (int8_t)status;
	finish(operation, DOCA_SUCCESS);
}

static void send_completed(void *request, ucs_status_t status, void *user_data)
{
	ucp_request_free(request);
	sent(user_data, status);
}

static doca_error_t tag_send(struct urom_worker_ctx *ctx, struct operation *operation)
{
	const struct sandbox_tag_send *send = &operation->command.tag_send;
	ucp_request_param_t params = {
		.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
		.cb.send = send_completed,
		.user_data = operation,
	};
	void *bytes = operation->descriptor->worker_cmd.plugin_cmd + sizeof(struct sandbox_command);
	const struct memory *memory;
	ucp_ep_h endpoint;
	doca_error_t code = find_peer(ctx, &operation->sandbox->peers, operation->sandbox->worker,
				      send->dest, &endpoint);

	if (code != DOCA_SUCCESS)
		return code;
	if (send->memh_id != 0) {
		memory = memory_find(&operation->sandbox->memories, operation->descriptor->dest_id,
				     send->memh_id, send->buffer, send->count, &bytes);
		if (memory == NULL)
			return DOCA_ERROR_INVALID_VALUE;
		params.op_attr_mask |= UCP_OP_ATTR_FIELD_MEMH;
		params.memh = memory->handle;
	}
	operation->request = ucp_tag_send_nbx(endpoint, bytes, send->count, send->tag, &params);
	/* UCX calls the callback only for a request. */
	if (!UCS_PTR_IS_PTR(operation->request))
		sent(operation, UCS_PTR_STATUS(operation->request));
	return DOCA_ERROR_IN_PROGRESS;
}

/* ---- Receive ---- */

static void received(struct operation *operation, ucs_status_t status,
		     const ucp_tag_recv_info_t *info)
{
	struct sandbox_tag_received *answer = &notification_of(operation)->tag_received;

	answer->status = (int8_t)status;
	if (status == UCS_OK) {
		answer->count = info->length;
		answer->sender_tag = info->sender_tag;
	}
	/* After an error, UCX may return a length that exceeds the buffer. */
	if (answer->buffer != 0)
		operation->answer->worker_notif.len =
			sizeof(struct sandbox_notification) + answer->count;
	finish(operation, DOCA_SUCCESS);
}

static void receive_completed(void *request, ucs_status_t status, const ucp_tag_recv_info_t *info,
			      void *user_data)
{
	received(user_data, status, info);
	ucp_request_free(request);
}

static doca_error_t allocate_answer(struct operation *operation, uint64_t count)
{
	struct urom_worker_notif_desc *larger;

	if (count > MOST_INLINE)
		return DOCA_ERROR_TOO_BIG;
	larger =
		answer_with_tail(operation->descriptor, sizeof(struct sandbox_notification), count);
	if (larger == NULL)
		return DOCA_ERROR_NO_MEMORY;
	memcpy(larger->worker_notif.plugin_notif, notification_of(operation),
	       sizeof(struct sandbox_notification));
	free(operation->answer);
	operation->answer = larger;
	/* Nonzero: the bytes follow the answer. */
	notification_of(operation)->tag_received.buffer = 1;
	return DOCA_SUCCESS;
}

static doca_error_t tag_recv(struct operation *operation)
{
	const struct sandbox_tag_recv *receive = &operation->command.tag_recv;
	ucp_tag_recv_info_t info = {0};
	ucp_request_param_t params = {
		.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
				UCP_OP_ATTR_FIELD_RECV_INFO,
		.cb.recv = receive_completed,
		.user_data = operation,
		.recv_info.tag_info = &info,
	};
	const struct memory *memory;
	doca_error_t code;
	void *bytes;

	if (receive->memh_id != 0) {
		memory = memory_find(&operation->sandbox->memories, operation->descriptor->dest_id,
				     receive->memh_id, receive->buffer, receive->count, &bytes);
		if (memory == NULL)
			return DOCA_ERROR_INVALID_VALUE;
		params.op_attr_mask |= UCP_OP_ATTR_FIELD_MEMH;
		params.memh = memory->handle;
	} else {
		code = allocate_answer(operation, receive->count);
		if (code != DOCA_SUCCESS)
			return code;
		bytes = notification_of(operation) + 1;
	}
	operation->request = ucp_tag_recv_nbx(operation->sandbox->worker, bytes, receive->count,
					      receive->tag, receive->tag_mask, &params);
	/* The message had already arrived: UCX fills in `info` and does not call the callback. */
	if (!UCS_PTR_IS_PTR(operation->request))
		received(operation, UCS_PTR_STATUS(operation->request), &info);
	return DOCA_ERROR_IN_PROGRESS;
}

/* ---- Commands ---- */

/* Runs a command. IN_PROGRESS: the operation has ended or will end by itself. */
static doca_error_t run(struct urom_worker_ctx *ctx, struct operation *operation)
{
	const struct urom_worker_cmd *bytes = &operation->descriptor->worker_cmd;
	struct sandbox_command *command = &operation->command;
	uint64_t inline_length = 0;

	if (bytes->len < sizeof(*command))
		return DOCA_ERROR_INVALID_VALUE;
	memcpy(command, bytes->plugin_cmd, sizeof(*command));
	if (command->type > SANDBOX_TAG_RECV)
		return DOCA_ERROR_INVALID_VALUE;
	notification_of(operation)->type = command->type;
	notification_of(operation)->context = command->context;
	if (command->type == SANDBOX_MEM_MAP)
		inline_length = command->mem_map.exported_memh_buffer_len;
	else if (command->type == SANDBOX_TAG_SEND && command->tag_send.memh_id == 0)
		inline_length = command->tag_send.count;
	/* The payload must match the lengths in the command. */
	if (bytes->len - sizeof(*command) != inline_length)
		return DOCA_ERROR_INVALID_VALUE;
	switch (command->type) {
	case SANDBOX_MEM_MAP:
		return mem_map(operation);
	case SANDBOX_TAG_SEND:
		return tag_send(ctx, operation);
	default:
		return tag_recv(operation);
	}
}

static doca_error_t sandbox_worker_cmd(struct urom_worker_ctx *ctx, ucs_list_link_t *cmd_list)
{
	while (!ucs_list_is_empty(cmd_list)) {
		struct urom_worker_cmd_desc *descriptor = first_command(cmd_list);
		struct operation *operation = begin(ctx->plugin_ctx, descriptor);
		doca_error_t code;

		if (operation == NULL)
			return DOCA_ERROR_NO_MEMORY;
		ucs_list_del(&descriptor->entry);
		code = run(ctx, operation);
		if (code != DOCA_ERROR_IN_PROGRESS) {
			if (code != DOCA_SUCCESS)
				DOCA_LOG_ERR("a command of type %zu failed with %s",
					     (size_t)operation->command.type,
					     doca_error_get_name(code));
			finish(operation, code);
		}
	}
	return DOCA_SUCCESS;
}

static doca_error_t sandbox_progress(struct urom_worker_ctx *ctx, ucs_list_link_t *notif_list)
{
	struct sandbox *sandbox = ctx->plugin_ctx;

	ucp_worker_progress(sandbox->worker);
	return hand_over(&sandbox->answers, notif_list);
}

/* ---- Open, close, address ---- */

static doca_error_t sandbox_open(struct urom_worker_ctx *ctx)
{
	const ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES,
				     .features = FEATURES};
	const ucp_worker_params_t worker_params = {
		.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
		.thread_mode = UCS_THREAD_MODE_SINGLE,
	};
	struct sandbox *sandbox = calloc(1, sizeof(*sandbox));

	if (sandbox == NULL)
		return DOCA_ERROR_NO_MEMORY;
	ucs_list_head_init(&sandbox->memories.list);
	ucs_list_head_init(&sandbox->peers);
	ucs_list_head_init(&sandbox->running);
	ucs_list_head_init(&sandbox->answers);
	if (ucp_init(&params, NULL, &sandbox->context) != UCS_OK) {
		free(sandbox);
		return DOCA_ERROR_DRIVER;
	}
	if (ucp_worker_create(sandbox->context, &worker_params, &sandbox->worker) != UCS_OK) {
		ucp_cleanup(sandbox->context);
		free(sandbox);
		return DOCA_ERROR_DRIVER;
	}
	ctx->plugin_ctx = sandbox;
	return DOCA_SUCCESS;
}

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/* Flushes sent messages, for a limited time. */
static void let_leave(const struct sandbox *sandbox)
{
	const ucp_request_param_t params = {0};
	const int64_t end = now() + LEAVE_NANOSECONDS;
	void *request = ucp_worker_flush_nbx(sandbox->worker, &params);

	if (!UCS_PTR_IS_PTR(request))
		return;
	while (ucp_request_check_status(request) == UCS_INPROGRESS && now() < end)
		ucp_worker_progress(sandbox->worker);
	/* UCX frees an unfinished request after its completion. */
	ucp_request_free(request);
}

static void sandbox_close(struct urom_worker_ctx *ctx)
{
	struct sandbox *sandbox = ctx->plugin_ctx;
	ucs_list_link_t *entry, *next;

	if (sandbox == NULL)
		return;
	let_leave(sandbox);
	/* A cancelled receive ends inside the call; sends end with the UCX worker. Their answers
	 * are discarded. */
	for (entry = sandbox->running.next; entry != &sandbox->running; entry = next) {
		struct operation *operation = (struct operation *)entry;

		next = entry->next;
		if (operation->command.type == SANDBOX_TAG_RECV)
			ucp_request_cancel(sandbox->worker, operation->request);
	}
	ucp_worker_destroy(sandbox->worker);
	while (!ucs_list_is_empty(&sandbox->running))
		discard((struct operation *)sandbox->running.next);
	free_peers(&sandbox->peers);
	memory_unmap_all(&sandbox->memories, sandbox->context);
	ucp_cleanup(sandbox->context);
	free_answers(&sandbox->answers);
	free(sandbox);
	ctx->plugin_ctx = NULL;
}

static doca_error_t sandbox_addr(struct urom_worker_ctx *ctx, void *addr, size_t *addr_len)
{
	struct sandbox *sandbox = ctx->plugin_ctx;

	return own_address(sandbox->worker, addr, addr_len);
}

EXPORT_PLUGIN(sandbox, SANDBOX_VERSION, pack_answer)
