/*
 * The RDMO plugin in C: initiators append and scatter data to a host's memory, which the host has
 * registered with a remote key and an exported handle.
 *
 * It makes the same UCX requests as NVIDIA's plugin, in the same order. Unlike NVIDIA's plugin it
 * waits for each operation before it begins the next, so it does not need queues.
 */
#include "plugin.h"
#include "rdmo_protocol.h"
#include "ucx.h"

DOCA_LOG_REGISTER(TESTS::RDMO);

#define MOST_QUEUES 8
#define MOST_EAGER 65536

struct region {
	ucs_list_link_t entry;
	uint64_t va, len;
	ucp_rkey_h rkey; /* its value is the region's id */
	ucp_mem_h memh;  /* NULL if nothing could be imported */
	bool is_cached;  /* the pointer, until a flush writes it back */
	uint64_t pointer_addr, pointer;
};

struct operation {
	ucs_list_link_t entry;
	struct rdmo_header header;
	ucp_ep_h reply;
	void *data;
	size_t length;
	bool rendezvous;
};

struct rdmo {
	ucp_context_h context;
	ucp_worker_h worker;
	ucp_ep_h host; /* of the one client */
	uint64_t client;
	ucp_ep_h queues[MOST_QUEUES];
	uint64_t queue_count;
	ucs_list_link_t regions;
	ucs_list_link_t operations;
	ucs_list_link_t answers;
};

/* ---- UCX ---- */

static ucs_status_t wait_for(struct rdmo *rdmo, void *request)
{
	ucs_status_t status;

	if (!UCS_PTR_IS_PTR(request))
		return UCS_PTR_STATUS(request);
	while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS)
		ucp_worker_progress(rdmo->worker);
	ucp_request_free(request);
	return status;
}

static ucs_status_t put(struct rdmo *rdmo, const void *bytes, size_t length, uint64_t to,
			ucp_rkey_h rkey)
{
	const ucp_request_param_t params = {0};

	return wait_for(rdmo, ucp_put_nbx(rdmo->host, bytes, length, to, rkey, &params));
}

static ucs_status_t get(struct rdmo *rdmo, void *bytes, size_t length, uint64_t from,
			ucp_rkey_h rkey)
{
	const ucp_request_param_t params = {0};

	return wait_for(rdmo, ucp_get_nbx(rdmo->host, bytes, length, from, rkey, &params));
}

static doca_error_t connect_to(struct rdmo *rdmo, const void *address, ucp_ep_h *endpoint)
{
	const ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
					.address = address};
	ucs_status_t status = ucp_ep_create(rdmo->worker, &params, endpoint);

	if (status != UCS_OK)
		DOCA_LOG_ERR("ucp_ep_create: %s", ucs_status_string(status));
	return status == UCS_OK ? DOCA_SUCCESS : DOCA_ERROR_DRIVER;
}

/* ---- Operations ---- */

static struct region *region_of(const struct rdmo *rdmo, uint64_t key)
{
	for (ucs_list_link_t *entry = rdmo->regions.next; entry != &rdmo->regions;
	     entry = entry->next) {
		struct region *region = (struct region *)entry;

		if ((uintptr_t)region->rkey == key)
			return region;
	}
	return NULL;
}

static bool is_inside(const struct region *region, uint64_t addr, uint64_t len)
{
	return addr >= region->va && addr - region->va <= region->len &&
	       len <= region->len - (addr - region->va);
}

static ucs_status_t receive_into(struct rdmo *rdmo, const struct operation *operation,
				 const struct region *region, uint64_t to)
{
	const ucp_request_param_t params = {.op_attr_mask = UCP_OP_ATTR_FIELD_MEMH,
					    .memh = region->memh};

	if (region->memh == NULL)
		return UCS_ERR_UNSUPPORTED;
	return wait_for(rdmo,
			ucp_am_recv_data_nbx(rdmo->worker, operation->data, (void *)(uintptr_t)to,
					     operation->length, &params));
}

static ucs_status_t append(struct rdmo *rdmo, struct operation *operation)
{
	struct region *pointers = region_of(rdmo, operation->header.append.ptr_rkey);
	struct region *data = region_of(rdmo, operation->header.append.data_rkey);
	uint64_t addr = operation->header.append.ptr_addr, to;
	ucs_status_t status;
	void *local;

	if (pointers == NULL || data == NULL || !is_inside(pointers, addr, sizeof(to)))
		return UCS_ERR_INVALID_PARAM;
	if (!pointers->is_cached || pointers->pointer_addr != addr) {
		if (ucp_rkey_ptr(pointers->rkey, addr, &local) == UCS_OK)
			memcpy(&pointers->pointer, local, sizeof(pointers->pointer));
		else if ((status = get(rdmo, &pointers->pointer, sizeof(pointers->pointer), addr,
				       pointers->rkey)) != UCS_OK)
			return status;
		pointers->pointer_addr = addr;
		pointers->is_cached = true;
	}
	to = pointers->pointer;
	if (!is_inside(data, to, operation->length))
		return UCS_ERR_INVALID_PARAM;
	pointers->pointer += operation->length;
	if (operation->rendezvous)
		return receive_into(rdmo, operation, data, to);
	/* Long data must use an imported handle. */
	if (operation->length > MOST_EAGER)
		return UCS_ERR_UNSUPPORTED;
	return put(rdmo, operation->data, operation->length, to, data->rkey);
}

static ucs_status_t scatter(struct rdmo *rdmo, struct operation *operation)
{
	const unsigned char *at = operation->data;
	size_t left = operation->length;
	ucs_status_t status = UCS_OK;

	if (operation->rendezvous)
		return UCS_ERR_UNSUPPORTED;
	for (uint64_t count = operation->header.scatter.count; count != 0; count--) {
		const struct region *region;
		struct rdmo_iov iov;

		if (left < sizeof(iov))
			return UCS_ERR_INVALID_PARAM;
		memcpy(&iov, at, sizeof(iov));
		at += sizeof(iov);
		left -= sizeof(iov);
		region = region_of(rdmo, iov.rkey);
		if (left < iov.len || region == NULL || !is_inside(region, iov.addr, iov.len))
			return UCS_ERR_INVALID_PARAM;
		status = put(rdmo, at, iov.len, iov.addr, region->rkey);
		if (status != UCS_OK)
			return status;
		at += iov.len;
		left -= iov.len;
	}
	return status;
}

static ucs_status_t flush(struct rdmo *rdmo, struct operation *operation)
{
	const struct rdmo_response response = {.id = RDMO_FLUSH,
					       .flush_id = operation->header.flush.flush_id};
	const ucp_request_param_t params = {0};
	ucs_status_t status = ucp_worker_fence(rdmo->worker);

	for (ucs_list_link_t *entry = rdmo->regions.next; entry != &rdmo->regions;
	     entry = entry->next) {
		struct region *region = (struct region *)entry;
		uint64_t seen;

		if (status != UCS_OK || !region->is_cached)
			continue;
		region->is_cached = false;
		status = put(rdmo, &region->pointer, sizeof(region->pointer), region->pointer_addr,
			     region->rkey);
		if (status == UCS_OK)
			status = get(rdmo, &seen, sizeof(seen), region->pointer_addr, region->rkey);
	}
	if (status == UCS_OK)
		status = wait_for(rdmo, ucp_ep_flush_nbx(rdmo->host, &params));
	if (status != UCS_OK)
		return status;
	return wait_for(rdmo, ucp_am_send_nbx(operation->reply, RDMO_AM_ID, &response,
					      sizeof(response), NULL, 0, &params));
}

static void run(struct rdmo *rdmo, struct operation *operation)
{
	ucs_status_t status = UCS_ERR_INVALID_PARAM;

	if (operation->header.operation == RDMO_APPEND)
		status = append(rdmo, operation);
	else if (operation->header.operation == RDMO_SCATTER)
		status = scatter(rdmo, operation);
	else if (operation->header.operation == RDMO_FLUSH)
		status = flush(rdmo, operation);
	if (status != UCS_OK)
		DOCA_LOG_ERR("operation %u: %s", operation->header.operation,
			     ucs_status_string(status));
	/* After a successful rendezvous, UCX owns the data again. */
	if (operation->data != NULL && (!operation->rendezvous || status != UCS_OK))
		ucp_am_data_release(rdmo->worker, operation->data);
	free(operation);
}

static ucs_status_t received(void *arg, const void *header, size_t header_length, void *data,
			     size_t length, const ucp_am_recv_param_t *param)
{
	struct rdmo *rdmo = arg;
	struct operation *operation;

	if (header_length < RDMO_FLUSH_HEADER || header_length > sizeof(operation->header) ||
	    !(param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP))
		return UCS_OK;
	operation = calloc(1, sizeof(*operation));
	if (operation == NULL)
		return UCS_OK;
	memcpy(&operation->header, header, header_length);
	operation->reply = param->reply_ep;
	operation->length = length;
	operation->rendezvous = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
	ucs_list_add_tail(&rdmo->operations, &operation->entry);
	if (!operation->rendezvous && !(param->recv_attr & UCP_AM_RECV_ATTR_FLAG_DATA))
		return UCS_OK;
	operation->data = data;
	return UCS_INPROGRESS;
}

/* ---- Commands ---- */

static doca_error_t client_init(struct rdmo *rdmo, const struct rdmo_command *command,
				const unsigned char *bytes)
{
	if (rdmo->host != NULL)
		return DOCA_ERROR_ALREADY_EXIST;
	rdmo->client = command->client_init.id;
	return connect_to(rdmo, bytes, &rdmo->host);
}

static doca_error_t mr_reg(struct rdmo *rdmo, const struct rdmo_command *command,
			   const unsigned char *bytes, uint64_t *key)
{
	/* Like NVIDIA's plugin, even if the command does not contain a handle. */
	const ucp_mem_map_params_t params = {
		.field_mask = UCP_MEM_MAP_PARAM_FIELD_EXPORTED_MEMH_BUFFER,
		.exported_memh_buffer = bytes + command->mr_reg.packed_rkey_len,
	};
	struct region *region = calloc(1, sizeof(*region));
	ucs_status_t status;

	if (region == NULL)
		return DOCA_ERROR_NO_MEMORY;
	region->va = command->mr_reg.va;
	region->len = command->mr_reg.len;
	if (ucp_ep_rkey_unpack(rdmo->host, bytes, &region->rkey) != UCS_OK) {
		free(region);
		return DOCA_ERROR_DRIVER;
	}
	status = ucp_mem_map(rdmo->context, &params, &region->memh);
	if (status == UCS_ERR_UNREACHABLE) {
		region->memh = NULL;
	} else if (status != UCS_OK) {
		DOCA_LOG_ERR("ucp_mem_map: %s", ucs_status_string(status));
		ucp_rkey_destroy(region->rkey);
		free(region);
		return DOCA_ERROR_DRIVER;
	}
	ucs_list_add_tail(&rdmo->regions, &region->entry);
	*key = (uintptr_t)region->rkey;
	return DOCA_SUCCESS;
}

static void free_region(struct rdmo *rdmo, struct region *region)
{
	if (region->memh != NULL && ucp_mem_unmap(rdmo->context, region->memh) != UCS_OK)
		DOCA_LOG_ERR("ucp_mem_unmap failed");
	ucp_rkey_destroy(region->rkey);
	ucs_list_del(&region->entry);
	free(region);
}

/* Like NVIDIA's plugin, releases the result of the close unconditionally. */
static void close_endpoint(ucp_ep_h endpoint)
{
	void *request = ucp_ep_close_nb(endpoint, UCP_EP_CLOSE_MODE_FLUSH);

	if (!UCS_PTR_IS_ERR(request))
		ucp_request_release(request);
}

static uint64_t inline_length(const struct rdmo_command *command)
{
	switch (command->type) {
	case RDMO_CLIENT_INIT:
		return command->client_init.addr_len;
	case RDMO_RQ_CREATE:
		return command->rq_create.addr_len;
	case RDMO_MR_REG:
		return command->mr_reg.packed_rkey_len + command->mr_reg.packed_memh_len;
	default:
		return 0;
	}
}

static doca_error_t run_command(struct rdmo *rdmo, const struct rdmo_command *command,
				const unsigned char *bytes, struct rdmo_notification *answer)
{
	struct region *region;

	answer->type = command->type;
	if (rdmo->host == NULL && command->type != RDMO_CLIENT_INIT)
		return DOCA_ERROR_NOT_FOUND;
	switch (command->type) {
	case RDMO_CLIENT_INIT:
		return client_init(rdmo, command, bytes);
	case RDMO_RQ_CREATE:
		if (rdmo->queue_count == MOST_QUEUES)
			return DOCA_ERROR_FULL;
		answer->rq_id = rdmo->queue_count;
		return connect_to(rdmo, bytes, &rdmo->queues[rdmo->queue_count++]);
	case RDMO_RQ_DESTROY:
		answer->rq_id = command->rq_destroy.rq_id;
		if (answer->rq_id >= rdmo->queue_count || rdmo->queues[answer->rq_id] == NULL)
			return DOCA_ERROR_NOT_FOUND;
		close_endpoint(rdmo->queues[answer->rq_id]);
		rdmo->queues[answer->rq_id] = NULL;
		return DOCA_SUCCESS;
	case RDMO_MR_REG:
		return mr_reg(rdmo, command, bytes, &answer->rkey);
	default:
		answer->rkey = command->mr_dereg.rkey;
		region = region_of(rdmo, answer->rkey);
		if (region == NULL)
			return DOCA_ERROR_NOT_FOUND;
		free_region(rdmo, region);
		return DOCA_SUCCESS;
	}
}

static struct urom_worker_notif_desc *answer_for(struct rdmo *rdmo,
						 const struct urom_worker_cmd_desc *descriptor)
{
	const struct urom_worker_cmd *cmd = &descriptor->worker_cmd;
	struct urom_worker_notif_desc *answer;
	struct rdmo_notification *notification;
	struct rdmo_command command = {.type = UINT64_MAX};
	ucp_address_t *address = NULL;
	size_t length = 0;
	doca_error_t code = DOCA_ERROR_INVALID_VALUE;

	if (cmd->len >= sizeof(command))
		memcpy(&command, cmd->plugin_cmd, sizeof(command));
	if (command.type == RDMO_CLIENT_INIT &&
	    ucp_worker_get_address(rdmo->worker, &address, &length) != UCS_OK)
		return NULL;
	answer = answer_to(descriptor, sizeof(*notification) + length);
	if (answer != NULL) {
		notification = (struct rdmo_notification *)answer->worker_notif.plugin_notif;
		if (command.type <= RDMO_MR_DEREG &&
		    cmd->len - sizeof(command) == inline_length(&command))
			code = run_command(rdmo, &command, cmd->plugin_cmd + sizeof(command),
					   notification);
		if (address != NULL) {
			notification->client_init.addr_len = length;
			memcpy(notification + 1, address, length);
		}
		answer->worker_notif.status = code;
	}
	if (address != NULL)
		ucp_worker_release_address(rdmo->worker, address);
	return answer;
}

static doca_error_t rdmo_worker_cmd(struct urom_worker_ctx *ctx, ucs_list_link_t *cmd_list)
{
	struct rdmo *rdmo = ctx->plugin_ctx;

	while (!ucs_list_is_empty(cmd_list)) {
		struct urom_worker_cmd_desc *descriptor = first_command(cmd_list);
		struct urom_worker_notif_desc *answer = answer_for(rdmo, descriptor);

		if (answer == NULL)
			return DOCA_ERROR_NO_MEMORY;
		ucs_list_del(&descriptor->entry);
		free(descriptor);
		ucs_list_add_tail(&rdmo->answers, &answer->entry);
	}
	return DOCA_SUCCESS;
}

static doca_error_t rdmo_progress(struct urom_worker_ctx *ctx, ucs_list_link_t *notif_list)
{
	struct rdmo *rdmo = ctx->plugin_ctx;

	ucp_worker_progress(rdmo->worker);
	while (!ucs_list_is_empty(&rdmo->operations)) {
		struct operation *operation = (struct operation *)rdmo->operations.next;

		ucs_list_del(&operation->entry);
		run(rdmo, operation);
	}
	return hand_over(&rdmo->answers, notif_list);
}

/* ---- Open, close, address ---- */

static ucs_status_t open_ucx(struct rdmo *rdmo)
{
	const ucp_params_t params = {
		.field_mask = UCP_PARAM_FIELD_FEATURES,
		.features = UCP_FEATURE_AM | UCP_FEATURE_RMA | UCP_FEATURE_AMO64 |
			    UCP_FEATURE_EXPORTED_MEMH | UCP_FEATURE_WAKEUP,
	};
	const ucp_worker_params_t worker_params = {
		.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
		.thread_mode = UCS_THREAD_MODE_SINGLE,
	};
	const ucp_am_handler_param_t handler = {
		.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
			      UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG,
		.id = RDMO_AM_ID,
		.flags = UCP_AM_FLAG_PERSISTENT_DATA,
		.cb = received,
		.arg = rdmo,
	};
	ucp_config_t *config;
	ucs_status_t status = ucp_config_read(NULL, NULL, &config);

	if (status != UCS_OK)
		return status;
	status = ucp_config_modify(config, "TCP_PUT_ENABLE", "n");
	if (status == UCS_OK)
		status = ucp_init(&params, config, &rdmo->context);
	ucp_config_release(config);
	if (status != UCS_OK)
		return status;
	status = ucp_worker_create(rdmo->context, &worker_params, &rdmo->worker);
	if (status != UCS_OK) {
		ucp_cleanup(rdmo->context);
		return status;
	}
	return ucp_worker_set_am_recv_handler(rdmo->worker, &handler);
}

static doca_error_t rdmo_open(struct urom_worker_ctx *ctx)
{
	struct rdmo *rdmo = calloc(1, sizeof(*rdmo));

	if (rdmo == NULL)
		return DOCA_ERROR_NO_MEMORY;
	ucs_list_head_init(&rdmo->regions);
	ucs_list_head_init(&rdmo->operations);
	ucs_list_head_init(&rdmo->answers);
	if (open_ucx(rdmo) != UCS_OK) {
		free(rdmo);
		return DOCA_ERROR_DRIVER;
	}
	ctx->plugin_ctx = rdmo;
	return DOCA_SUCCESS;
}

static void rdmo_close(struct urom_worker_ctx *ctx)
{
	struct rdmo *rdmo = ctx->plugin_ctx;

	if (rdmo == NULL)
		return;
	while (!ucs_list_is_empty(&rdmo->regions))
		free_region(rdmo, (struct region *)rdmo->regions.next);
	ucp_worker_destroy(rdmo->worker);
	ucp_cleanup(rdmo->context);
	free_answers(&rdmo->answers);
	free_answers(&rdmo->operations);
	free(rdmo);
	ctx->plugin_ctx = NULL;
}

/* This plugin does not have peers. */
static doca_error_t rdmo_addr(struct urom_worker_ctx *ctx, void *addr, size_t *addr_len)
{
	(void)ctx;
	(void)addr;
	*addr_len = 0;
	return DOCA_SUCCESS;
}

EXPORT_PLUGIN(rdmo, RDMO_VERSION, pack_answer)
