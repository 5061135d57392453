/*
 * A plugin that sums integer vectors over a domain's workers by cross-GVMI, like UCC's: it imports
 * each host's source and destination, exchanges remote keys, reads the sources and writes the
 * destinations. One thread does all of this work; only this thread uses UCX.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "allreduce_protocol.h"
#include "plugin.h"
#include "sandbox_peers.h"
#include "ucx.h"

DOCA_LOG_REGISTER(TESTS::ALLREDUCE);

#define MOST_RANKS 8
#define MOST_KEY 256

struct plugin {
	struct urom_worker_ctx *ctx;
	ucp_context_h context;
	ucp_worker_h worker;
	ucs_list_link_t peers;
	ucp_ep_h host;
	uint64_t rank, size;
	unsigned char address[1024];
	size_t address_length;

	pthread_t thread;
	atomic_bool ends;
	pthread_mutex_t mutex; /* of both lists */
	ucs_list_link_t commands;
	ucs_list_link_t answers;
};

struct offer {
	uint64_t src, dst;
	unsigned char src_key[MOST_KEY], dst_key[MOST_KEY];
};

/* ---- UCX ---- */

static ucs_status_t wait_for(struct plugin *plugin, void *request)
{
	ucs_status_t status;

	if (!UCS_PTR_IS_PTR(request))
		return UCS_PTR_STATUS(request);
	while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS)
		if (ucp_worker_progress(plugin->worker) == 0)
			sched_yield();
	ucp_request_free(request);
	return status;
}

static ucs_status_t endpoint_to(struct plugin *plugin, uint64_t rank, ucp_ep_h *endpoint)
{
	doca_error_t code = find_peer(plugin->ctx, &plugin->peers, plugin->worker, rank, endpoint);

	return code == DOCA_SUCCESS ? UCS_OK : UCS_ERR_UNREACHABLE;
}

/* All-gathers blocks. The tag is the sender's rank. */
static ucs_status_t allgather(struct plugin *plugin, const void *mine, void *all, size_t length)
{
	const ucp_request_param_t params = {0};
	void *sends[MOST_RANKS] = {0};
	ucs_status_t status = UCS_OK, ended;

	memcpy((char *)all + plugin->rank * length, mine, length);
	for (uint64_t rank = 0; rank < plugin->size && status == UCS_OK; rank++) {
		ucp_ep_h endpoint;

		if (rank == plugin->rank)
			continue;
		status = endpoint_to(plugin, rank, &endpoint);
		if (status == UCS_OK)
			sends[rank] =
				ucp_tag_send_nbx(endpoint, mine, length, plugin->rank, &params);
	}
	for (uint64_t rank = 0; rank < plugin->size && status == UCS_OK; rank++)
		if (rank != plugin->rank)
			status = wait_for(plugin, ucp_tag_recv_nbx(plugin->worker,
								   (char *)all + rank * length,
								   length, rank, 0xffff, &params));
	for (uint64_t rank = 0; rank < plugin->size; rank++) {
		ended = wait_for(plugin, sends[rank]);
		status = status == UCS_OK ? ended : status;
	}
	return status;
}

static ucs_status_t import(struct plugin *plugin, const void *packed, ucp_mem_h *memh)
{
	const ucp_mem_map_params_t params = {
		.field_mask = UCP_MEM_MAP_PARAM_FIELD_EXPORTED_MEMH_BUFFER,
		.exported_memh_buffer = packed,
	};

	return ucp_mem_map(plugin->context, &params, memh);
}

static ucs_status_t pack_key(struct plugin *plugin, ucp_mem_h memh, unsigned char *key)
{
	size_t length;
	void *packed;
	ucs_status_t status = ucp_rkey_pack(plugin->context, memh, &packed, &length);

	if (status != UCS_OK)
		return status;
	if (length <= MOST_KEY)
		memcpy(key, packed, length);
	ucp_rkey_buffer_release(packed);
	return length <= MOST_KEY ? UCS_OK : UCS_ERR_BUFFER_TOO_SMALL;
}

/* ---- The sum ---- */

static ucs_status_t move(struct plugin *plugin, uint64_t rank, void *bytes, size_t length,
			 uint64_t remote, const unsigned char *key, bool writes)
{
	const ucp_request_param_t params = {0};
	ucp_rkey_h rkey;
	ucp_ep_h endpoint;
	ucs_status_t status = endpoint_to(plugin, rank, &endpoint);

	if (status == UCS_OK)
		status = ucp_ep_rkey_unpack(endpoint, key, &rkey);
	if (status != UCS_OK)
		return status;
	if (writes)
		status = wait_for(plugin,
				  ucp_put_nbx(endpoint, bytes, length, remote, rkey, &params));
	else
		status = wait_for(plugin,
				  ucp_get_nbx(endpoint, bytes, length, remote, rkey, &params));
	if (status == UCS_OK)
		status = wait_for(plugin, ucp_ep_flush_nbx(endpoint, &params));
	ucp_rkey_destroy(rkey);
	return status;
}

/* Computes this rank's part of the vector and writes it to all hosts. */
static ucs_status_t sum_part(struct plugin *plugin, const struct offer *offers, uint64_t count)
{
	const uint64_t begin = count * plugin->rank / plugin->size;
	const uint64_t end = count * (plugin->rank + 1) / plugin->size;
	const size_t length = (end - begin) * sizeof(int32_t), offset = begin * sizeof(int32_t);
	const struct offer *own = &offers[plugin->rank];
	int32_t *sum, *part;
	ucs_status_t status = UCS_OK;

	if (length == 0)
		return UCS_OK;
	sum = malloc(length);
	part = malloc(length);
	if (sum == NULL || part == NULL)
		status = UCS_ERR_NO_MEMORY;
	else
		/* The host's memory is mapped here at the host's address. */
		memcpy(sum, (const char *)(uintptr_t)own->src + offset, length);
	for (uint64_t rank = 0; rank < plugin->size && status == UCS_OK; rank++) {
		if (rank == plugin->rank)
			continue;
		status = move(plugin, rank, part, length, offers[rank].src + offset,
			      offers[rank].src_key, false);
		for (uint64_t at = 0; at < end - begin && status == UCS_OK; at++)
			sum[at] += part[at];
	}
	for (uint64_t rank = 0; rank < plugin->size && status == UCS_OK; rank++) {
		if (rank == plugin->rank)
			memcpy((char *)(uintptr_t)own->dst + offset, sum, length);
		else
			status = move(plugin, rank, sum, length, offers[rank].dst + offset,
				      offers[rank].dst_key, true);
	}
	free(sum);
	free(part);
	return status;
}

static ucs_status_t allreduce(struct plugin *plugin, const struct allreduce_args *args,
			      const struct allreduce_keys *keys)
{
	struct offer mine = {.src = args->src.address, .dst = args->dst.address};
	struct offer all[MOST_RANKS];
	unsigned char here[MOST_RANKS], own = 1;
	ucp_mem_h src, dst;
	ucs_status_t status = import(plugin, keys->keys, &src);

	if (status != UCS_OK)
		return status;
	status = import(plugin, keys->keys + keys->src_len, &dst);
	if (status != UCS_OK) {
		ucp_mem_unmap(plugin->context, src);
		return status;
	}
	status = pack_key(plugin, src, mine.src_key);
	if (status == UCS_OK)
		status = pack_key(plugin, dst, mine.dst_key);
	if (status == UCS_OK)
		status = allgather(plugin, &mine, all, sizeof(mine));
	if (status == UCS_OK)
		status = sum_part(plugin, all, args->src.count);
	/* A barrier: other workers may still use this memory. */
	if (status == UCS_OK)
		status = allgather(plugin, &own, here, sizeof(own));
	ucp_mem_unmap(plugin->context, src);
	ucp_mem_unmap(plugin->context, dst);
	return status;
}

/* ---- Commands (worker thread) ---- */

/* Writes to the domain buffer of this worker's host. */
static ucs_status_t handshake(struct plugin *plugin, uint64_t va)
{
	const uint64_t handshake = plugin->rank + 100;
	ucs_status_t status;
	size_t length;
	ucp_mem_h memh;
	void *packed;
	int seg;

	if (doca_urom_worker_domain_seg_lookup(plugin->ctx, plugin->rank, va, &seg) !=
		    DOCA_SUCCESS ||
	    doca_urom_worker_domain_memh_lookup(plugin->ctx, plugin->rank, seg, &length, &packed) !=
		    DOCA_SUCCESS)
		return UCS_ERR_INVALID_PARAM;
	status = import(plugin, packed, &memh);
	if (status != UCS_OK)
		return status;
	memcpy((void *)(uintptr_t)va, &handshake, sizeof(handshake));
	return ucp_mem_unmap(plugin->context, memh);
}

static ucs_status_t create_context(struct plugin *plugin, const struct allreduce_command *command)
{
	uint64_t ranks[MOST_RANKS];
	ucs_status_t status;

	if (command->context_create.size < 1 || command->context_create.size > MOST_RANKS ||
	    command->worker_id >= (uint64_t)command->context_create.size ||
	    command->context_create.stride != 1)
		return UCS_ERR_INVALID_PARAM;
	plugin->rank = command->worker_id;
	plugin->size = (uint64_t)command->context_create.size;
	status = handshake(plugin, command->context_create.base_va);
	if (status == UCS_OK)
		status = allgather(plugin, &plugin->rank, ranks, sizeof(ranks[0]));
	for (uint64_t rank = 0; rank < plugin->size && status == UCS_OK; rank++)
		if (ranks[rank] != rank)
			status = UCS_ERR_INVALID_PARAM;
	return status;
}

static ucs_status_t open_channel(struct plugin *plugin, const void *address)
{
	const ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
					.address = address};

	return ucp_ep_create(plugin->worker, &params, &plugin->host);
}

static ucs_status_t run(struct plugin *plugin, const struct allreduce_command *command,
			const unsigned char *bytes, size_t length,
			struct allreduce_notification *answer)
{
	struct allreduce_args args;
	struct allreduce_keys keys;
	ucs_status_t status;

	switch (command->type) {
	case ALLREDUCE_LIB_CREATE:
		return length == ALLREDUCE_LIB_PARAMS ? UCS_OK : UCS_ERR_INVALID_PARAM;
	case ALLREDUCE_LIB_DESTROY:
		return UCS_OK;
	case ALLREDUCE_CONTEXT_CREATE:
		answer->context = (uintptr_t)plugin;
		return create_context(plugin, command);
	case ALLREDUCE_TEAM_CREATE:
		answer->team = (uintptr_t)plugin;
		return command->team_create.context == (uintptr_t)plugin ? UCS_OK
									 : UCS_ERR_INVALID_PARAM;
	case ALLREDUCE_DATA_CHANNEL:
		if (length != command->data_channel.addr_len)
			return UCS_ERR_INVALID_PARAM;
		return open_channel(plugin, bytes);
	case ALLREDUCE_COLL:
		if (length != sizeof(args) + sizeof(keys) || !command->coll.use_xgvmi ||
		    command->coll.work_buffer_size != sizeof(keys))
			return UCS_ERR_INVALID_PARAM;
		memcpy(&args, bytes, sizeof(args));
		memcpy(&keys, bytes + sizeof(args), sizeof(keys));
		if (keys.src_len > sizeof(keys.keys))
			return UCS_ERR_INVALID_PARAM;
		status = allreduce(plugin, &args, &keys);
		answer->status = status;
		return status;
	default:
		return UCS_ERR_UNSUPPORTED;
	}
}

static void answer_command(struct plugin *plugin, struct urom_worker_cmd_desc *descriptor)
{
	const struct urom_worker_cmd *cmd = &descriptor->worker_cmd;
	struct allreduce_notification *notification;
	struct urom_worker_notif_desc *answer = answer_to(descriptor, sizeof(*notification));
	struct allreduce_command command;
	ucs_status_t status = UCS_ERR_INVALID_PARAM;

	if (answer == NULL) {
		DOCA_LOG_ERR("no memory for an answer");
		free(descriptor);
		return;
	}
	notification = (struct allreduce_notification *)answer->worker_notif.plugin_notif;
	if (cmd->len >= sizeof(command)) {
		memcpy(&command, cmd->plugin_cmd, sizeof(command));
		notification->type = command.type;
		notification->worker_id = command.worker_id;
		status = run(plugin, &command, cmd->plugin_cmd + sizeof(command),
			     cmd->len - sizeof(command), notification);
		if (status != UCS_OK)
			DOCA_LOG_ERR("command %u: %s", command.type, ucs_status_string(status));
	}
	answer->worker_notif.status = status == UCS_OK ? DOCA_SUCCESS : DOCA_ERROR_DRIVER;
	free(descriptor);
	pthread_mutex_lock(&plugin->mutex);
	ucs_list_add_tail(&plugin->answers, &answer->entry);
	pthread_mutex_unlock(&plugin->mutex);
}

static struct urom_worker_cmd_desc *next_command(struct plugin *plugin)
{
	struct urom_worker_cmd_desc *descriptor = NULL;

	pthread_mutex_lock(&plugin->mutex);
	if (!ucs_list_is_empty(&plugin->commands)) {
		descriptor = first_command(&plugin->commands);
		ucs_list_del(&descriptor->entry);
	}
	pthread_mutex_unlock(&plugin->mutex);
	return descriptor;
}

static void *work(void *arg)
{
	struct plugin *plugin = arg;

	while (!atomic_load(&plugin->ends)) {
		struct urom_worker_cmd_desc *descriptor = next_command(plugin);

		if (descriptor != NULL)
			answer_command(plugin, descriptor);
		else if (ucp_worker_progress(plugin->worker) == 0)
			sched_yield();
	}
	return NULL;
}

/* ---- Calls of the worker ---- */

static doca_error_t allreduce_worker_cmd(struct urom_worker_ctx *ctx, ucs_list_link_t *cmd_list)
{
	struct plugin *plugin = ctx->plugin_ctx;

	pthread_mutex_lock(&plugin->mutex);
	while (!ucs_list_is_empty(cmd_list)) {
		struct urom_worker_cmd_desc *descriptor = first_command(cmd_list);

		ucs_list_del(&descriptor->entry);
		ucs_list_add_tail(&plugin->commands, &descriptor->entry);
	}
	pthread_mutex_unlock(&plugin->mutex);
	return DOCA_SUCCESS;
}

static doca_error_t allreduce_progress(struct urom_worker_ctx *ctx, ucs_list_link_t *notif_list)
{
	struct plugin *plugin = ctx->plugin_ctx;
	doca_error_t code;

	pthread_mutex_lock(&plugin->mutex);
	code = hand_over(&plugin->answers, notif_list);
	pthread_mutex_unlock(&plugin->mutex);
	return code;
}

static doca_error_t open_ucx(struct plugin *plugin)
{
	const ucp_params_t params = {
		.field_mask = UCP_PARAM_FIELD_FEATURES,
		.features = UCP_FEATURE_TAG | UCP_FEATURE_RMA | UCP_FEATURE_AMO64 |
			    UCP_FEATURE_EXPORTED_MEMH,
	};
	const ucp_worker_params_t worker_params = {
		.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
		.thread_mode = UCS_THREAD_MODE_SERIALIZED,
	};

	if (ucp_init(&params, NULL, &plugin->context) != UCS_OK)
		return DOCA_ERROR_DRIVER;
	plugin->address_length = sizeof(plugin->address);
	if (ucp_worker_create(plugin->context, &worker_params, &plugin->worker) != UCS_OK) {
		ucp_cleanup(plugin->context);
		return DOCA_ERROR_DRIVER;
	}
	/* The thread does not use the UCX worker yet. */
	return own_address(plugin->worker, plugin->address, &plugin->address_length);
}

static doca_error_t allreduce_open(struct urom_worker_ctx *ctx)
{
	struct plugin *plugin = calloc(1, sizeof(*plugin));
	doca_error_t code;

	if (plugin == NULL)
		return DOCA_ERROR_NO_MEMORY;
	plugin->ctx = ctx;
	ucs_list_head_init(&plugin->peers);
	ucs_list_head_init(&plugin->commands);
	ucs_list_head_init(&plugin->answers);
	pthread_mutex_init(&plugin->mutex, NULL);
	code = open_ucx(plugin);
	if (code == DOCA_SUCCESS && pthread_create(&plugin->thread, NULL, work, plugin) != 0)
		code = DOCA_ERROR_OPERATING_SYSTEM;
	if (code != DOCA_SUCCESS) {
		free(plugin);
		return code;
	}
	ctx->plugin_ctx = plugin;
	return DOCA_SUCCESS;
}

static void allreduce_close(struct urom_worker_ctx *ctx)
{
	struct plugin *plugin = ctx->plugin_ctx;

	if (plugin == NULL)
		return;
	atomic_store(&plugin->ends, true);
	pthread_join(plugin->thread, NULL);
	ucp_worker_destroy(plugin->worker);
	ucp_cleanup(plugin->context);
	free_peers(&plugin->peers);
	free_answers(&plugin->answers);
	free_answers(&plugin->commands);
	free(plugin);
	ctx->plugin_ctx = NULL;
}

static doca_error_t allreduce_addr(struct urom_worker_ctx *ctx, void *addr, size_t *addr_len)
{
	const struct plugin *plugin = ctx->plugin_ctx;
	const size_t capacity = *addr_len;

	*addr_len = plugin->address_length;
	if (capacity < plugin->address_length)
		return DOCA_ERROR_INVALID_VALUE;
	memcpy(addr, plugin->address, plugin->address_length);
	return DOCA_SUCCESS;
}

EXPORT_PLUGIN(allreduce, ALLREDUCE_VERSION, pack_answer)
