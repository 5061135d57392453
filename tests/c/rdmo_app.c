/*
 * The RDMO application in C: a server (a host with a worker) registers a queue; its client, which
 * does not use a service, appends and scatters data through the server's worker.
 *
 * Both request exported memory from UCX, like NVIDIA's application. The server starts the client.
 * With the argument "unsupported", exported memory is unavailable and the registration omits it.
 */
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "host.h"
#include "rdmo_protocol.h"
#include "ucx.h"

#define QUEUE_BYTES 131072
#define MOST_BYTES 1024
#define LARGE 100000
#define COUNT 16
#define FLUSH_ID 0xbeef

extern char **environ;

/* ---- Side channel ---- */

static void send_all(int socket, const void *bytes, size_t length)
{
	INSIST(send(socket, bytes, length, MSG_NOSIGNAL) == (ssize_t)length);
}

static uint64_t exchange(int socket, const void *mine, uint64_t length, void *theirs)
{
	send_all(socket, &length, sizeof(length));
	if (length != 0)
		send_all(socket, mine, length);
	INSIST(recv(socket, &length, sizeof(length), MSG_WAITALL) == sizeof(length));
	INSIST(length <= MOST_BYTES);
	if (length != 0)
		INSIST(recv(socket, theirs, length, MSG_WAITALL) == (ssize_t)length);
	return length;
}

/* ---- UCX ---- */

struct ucx {
	ucp_context_h context;
	ucp_worker_h worker;
	ucp_address_t *address;
	size_t address_length;
};

static void open_ucx(struct ucx *ucx)
{
	const ucp_params_t params = {
		.field_mask = UCP_PARAM_FIELD_FEATURES,
		.features = UCP_FEATURE_AM | UCP_FEATURE_RMA | UCP_FEATURE_AMO64 |
			    UCP_FEATURE_EXPORTED_MEMH,
	};
	const ucp_worker_params_t worker_params = {
		.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
		.thread_mode = UCS_THREAD_MODE_SINGLE,
	};

	INSIST(ucp_init(&params, NULL, &ucx->context) == UCS_OK);
	INSIST(ucp_worker_create(ucx->context, &worker_params, &ucx->worker) == UCS_OK);
	INSIST(ucp_worker_get_address(ucx->worker, &ucx->address, &ucx->address_length) == UCS_OK);
}

static void close_ucx(struct ucx *ucx)
{
	ucp_worker_release_address(ucx->worker, ucx->address);
	ucp_worker_destroy(ucx->worker);
	ucp_cleanup(ucx->context);
}

static void progress_ucx(struct ucx *ucx)
{
	if (ucp_worker_progress(ucx->worker) == 0)
		sched_yield();
}

/* ---- Client ---- */

struct client {
	struct ucx ucx;
	ucp_ep_h endpoint;
	uint64_t answered; /* the last flush */
};

static ucs_status_t answered(void *arg, const void *header, size_t header_length, void *data,
			     size_t length, const ucp_am_recv_param_t *param)
{
	struct client *client = arg;
	struct rdmo_response response;

	(void)data;
	(void)length;
	(void)param;
	INSIST(header_length == sizeof(response));
	memcpy(&response, header, sizeof(response));
	INSIST(response.id == RDMO_FLUSH);
	client->answered = response.flush_id;
	return UCS_OK;
}

static void send_operation(struct client *client, const struct rdmo_header *header,
			   size_t header_length, const void *data, size_t length)
{
	const ucp_request_param_t params = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
					    .flags = UCP_AM_SEND_FLAG_REPLY};
	void *request = ucp_am_send_nbx(client->endpoint, RDMO_AM_ID, header, header_length, data,
					length, &params);

	INSIST(!UCS_PTR_IS_ERR(request));
	if (request == NULL)
		return;
	while (ucp_request_check_status(request) == UCS_INPROGRESS)
		progress_ucx(&client->ucx);
	INSIST(ucp_request_check_status(request) == UCS_OK);
	ucp_request_release(request);
}

static void flush(struct client *client, uint64_t id)
{
	const struct rdmo_header header = {
		.operation = RDMO_FLUSH, .flags = RDMO_FENCE, .flush.flush_id = id};

	send_operation(client, &header, RDMO_FLUSH_HEADER, NULL, 0);
	while (client->answered != id)
		progress_ucx(&client->ucx);
}

static void append(struct client *client, const uint64_t *key_and_queue, const void *data,
		   size_t length)
{
	const struct rdmo_header header = {
		.operation = RDMO_APPEND,
		.append = {.ptr_addr = key_and_queue[1],
			   .ptr_rkey = key_and_queue[0],
			   .data_rkey = key_and_queue[0]},
	};

	send_operation(client, &header, RDMO_APPEND_HEADER, data, length);
}

static void scatter(struct client *client, const uint64_t *key_and_queue)
{
	const struct rdmo_header header = {.operation = RDMO_SCATTER, .scatter.count = COUNT};
	unsigned char payload[COUNT * (sizeof(struct rdmo_iov) + 8)];

	for (unsigned int at = 0; at < COUNT; at++) {
		const struct rdmo_iov iov = {
			.addr = key_and_queue[1] + at * 8, .rkey = key_and_queue[0], .len = 8};
		unsigned char *part = payload + at * (sizeof(iov) + 8);

		memcpy(part, &iov, sizeof(iov));
		memset(part + sizeof(iov), 0x33, 8);
	}
	send_operation(client, &header, RDMO_SCATTER_HEADER, payload, sizeof(payload));
}

static int run_client(int socket, bool is_supported)
{
	struct client client = {0};
	const ucp_am_handler_param_t handler = {
		.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
			      UCP_AM_HANDLER_PARAM_FIELD_ARG,
		.id = RDMO_AM_ID,
		.cb = answered,
		.arg = &client,
	};
	ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS};
	unsigned char device[MOST_BYTES], *data = malloc(LARGE);
	const uint64_t small = UINT64_C(0x3333333333333333);
	uint64_t key_and_queue[2];

	alarm(60);
	open_ucx(&client.ucx);
	INSIST(exchange(socket, client.ucx.address, client.ucx.address_length, device) != 0);
	params.address = (ucp_address_t *)device;
	INSIST(ucp_ep_create(client.ucx.worker, &params, &client.endpoint) == UCS_OK);
	INSIST(ucp_worker_set_am_recv_handler(client.ucx.worker, &handler) == UCS_OK);
	INSIST(exchange(socket, NULL, 0, key_and_queue) == sizeof(key_and_queue));

	append(&client, key_and_queue, &small, sizeof(small));
	flush(&client, FLUSH_ID);
	exchange(socket, NULL, 0, device);
	scatter(&client, key_and_queue);
	flush(&client, FLUSH_ID + 1);
	exchange(socket, NULL, 0, device);
	if (is_supported) {
		/* Larger than an eager message: the worker receives it into the server's memory. */
		memset(data, 0x44, LARGE);
		append(&client, key_and_queue, data, LARGE);
		append(&client, key_and_queue, &small, sizeof(small));
		flush(&client, FLUSH_ID + 2);
		exchange(socket, NULL, 0, device);
	}
	exchange(socket, NULL, 0, device);
	free(data);
	close_ucx(&client.ucx);
	return 0;
}

/* ---- Server ---- */

struct server {
	struct host host;
	struct ucx ucx;
	struct doca_urom_worker *worker;
	uint64_t plugin;
};

struct call {
	bool done;
	doca_error_t result;
	struct rdmo_notification answer;
	unsigned char more[MOST_BYTES];
	size_t more_length;
};

static void call_done(struct doca_urom_worker_cmd_task *task, union doca_data task_data,
		      union doca_data ctx_data)
{
	struct call *call = task_data.ptr;
	const unsigned char *bytes;
	size_t length;

	(void)ctx_data;
	call->result = doca_task_get_status(doca_urom_worker_cmd_task_as_task(task));
	bytes = answer_of(task, &length);
	if (call->result == DOCA_SUCCESS) {
		INSIST(bytes != NULL && length >= sizeof(call->answer));
		memcpy(&call->answer, bytes, sizeof(call->answer));
		call->more_length = length - sizeof(call->answer);
		INSIST(call->more_length <= sizeof(call->more));
		memcpy(call->more, bytes + sizeof(call->answer), call->more_length);
	}
	call->done = true;
	MUST(doca_urom_worker_cmd_task_release(task));
}

/* Progresses the worker's answers and the server's UCX, which the plugin needs for RMA. */
static void turn(struct server *server)
{
	doca_pe_progress(server->host.pe);
	progress_ucx(&server->ucx);
}

static void run_command(struct server *server, const struct rdmo_command *command,
			const void *first, size_t first_length, const void *second,
			size_t second_length, struct call *call)
{
	struct doca_urom_worker_cmd_task *task;
	union doca_data data = {.ptr = call};
	unsigned char *to;
	void *bytes;

	call->done = false;
	MUST(new_command(server->worker, server->plugin,
			 sizeof(*command) + first_length + second_length, &task, &bytes));
	to = bytes;
	memcpy(to, command, sizeof(*command));
	to += sizeof(*command);
	if (first_length != 0)
		memcpy(to, first, first_length);
	if (second_length != 0)
		memcpy(to + first_length, second, second_length);
	doca_task_set_user_data(doca_urom_worker_cmd_task_as_task(task), data);
	MUST(submit(task, call_done));
	while (!call->done)
		turn(server);
	INSIST(call->result != DOCA_SUCCESS || call->answer.type == command->type);
}

/* Registers the queue and prints the kind of registration. */
static uint64_t register_queue(struct server *server, ucp_mem_h memh, void *queue,
			       bool is_supported)
{
	const ucp_memh_pack_params_t params = {.field_mask = UCP_MEMH_PACK_PARAM_FIELD_FLAGS,
					       .flags = UCP_MEMH_PACK_FLAG_EXPORT};
	const ucp_memh_buffer_release_params_t release = {0};
	struct rdmo_command command = {
		.type = RDMO_MR_REG,
		.mr_reg = {.va = (uintptr_t)queue, .len = QUEUE_BYTES},
	};
	size_t rkey_length, memh_length = 0;
	void *rkey, *packed = NULL;
	struct call call;
	ucs_status_t status;

	INSIST(ucp_rkey_pack(server->ucx.context, memh, &rkey, &rkey_length) == UCS_OK);
	status = ucp_memh_pack(memh, &params, &packed, &memh_length);
	INSIST(status == (is_supported ? UCS_OK : UCS_ERR_UNSUPPORTED));
	if (status != UCS_OK)
		memh_length = 0;
	command.mr_reg.packed_rkey_len = rkey_length;
	command.mr_reg.packed_memh_len = memh_length;
	run_command(server, &command, rkey, rkey_length, packed, memh_length, &call);
	MUST(call.result);
	if (memh_length != 0)
		ucp_memh_buffer_release(packed, &release);
	ucp_rkey_buffer_release(rkey);
	return call.answer.rkey;
}

static void deregister(struct server *server, uint64_t key, doca_error_t expected)
{
	const struct rdmo_command command = {.type = RDMO_MR_DEREG, .mr_dereg.rkey = key};
	struct call call;

	run_command(server, &command, NULL, 0, NULL, 0, &call);
	EXPECT(expected, call.result);
}

static void wait_for(struct server *server, const volatile uint64_t *word, uint64_t value)
{
	while (*word != value)
		turn(server);
}

static bool holds(const void *bytes, size_t length, unsigned char value)
{
	const unsigned char *at = bytes;

	while (length != 0 && *at == value)
		at++, length--;
	return length == 0;
}

static void serve(struct server *server, int socket, bool is_supported)
{
	struct rdmo_command command = {.type = RDMO_CLIENT_INIT};
	unsigned char device[MOST_BYTES], initiator[MOST_BYTES];
	uint64_t key_and_queue[2], *queue = calloc(1, QUEUE_BYTES);
	ucp_mem_map_params_t params = {
		.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
		.address = queue,
		.length = QUEUE_BYTES,
	};
	size_t device_length;
	uint64_t length;
	ucp_mem_h memh;
	struct call call;

	command.client_init.addr_len = server->ucx.address_length;
	run_command(server, &command, server->ucx.address, server->ucx.address_length, NULL, 0,
		    &call);
	MUST(call.result);
	device_length = call.more_length;
	memcpy(device, call.more, device_length);
	say("client initialized");
	length = exchange(socket, device, device_length, initiator);
	command = (struct rdmo_command){.type = RDMO_RQ_CREATE, .rq_create.addr_len = length};
	run_command(server, &command, initiator, length, NULL, 0, &call);
	MUST(call.result);
	say("queue %" PRIu64, call.answer.rq_id);

	queue[0] = (uintptr_t)&queue[1];
	INSIST(ucp_mem_map(server->ucx.context, &params, &memh) == UCS_OK);
	key_and_queue[0] = register_queue(server, memh, queue, is_supported);
	key_and_queue[1] = (uintptr_t)queue;
	say("memory registered");
	exchange(socket, key_and_queue, sizeof(key_and_queue), initiator);
	wait_for(server, &queue[0], (uintptr_t)&queue[2]);
	INSIST(queue[1] == UINT64_C(0x3333333333333333));
	say("appended");

	memset(queue, 0, QUEUE_BYTES);
	exchange(socket, NULL, 0, initiator);
	wait_for(server, &queue[COUNT - 1], UINT64_C(0x3333333333333333));
	INSIST(holds(queue, (size_t)COUNT * 8, 0x33) && queue[COUNT] == 0);
	say("scattered");
	memset(queue, 0, QUEUE_BYTES);
	queue[0] = (uintptr_t)&queue[1];
	exchange(socket, NULL, 0, initiator);
	if (is_supported) {
		wait_for(server, &queue[0], (uintptr_t)&queue[2] + LARGE);
		INSIST(holds(&queue[1], LARGE, 0x44));
		INSIST(holds((unsigned char *)&queue[1] + LARGE, 8, 0x33));
		say("appended by rendezvous");
		exchange(socket, NULL, 0, initiator);
	}
	deregister(server, key_and_queue[0], DOCA_SUCCESS);
	deregister(server, key_and_queue[0], DOCA_ERROR_NOT_FOUND);
	INSIST(ucp_mem_unmap(server->ucx.context, memh) == UCS_OK);
	command = (struct rdmo_command){.type = RDMO_RQ_DESTROY, .rq_destroy.rq_id = 0};
	run_command(server, &command, NULL, 0, NULL, 0, &call);
	MUST(call.result);
	run_command(server, &command, NULL, 0, NULL, 0, &call);
	EXPECT(DOCA_ERROR_NOT_FOUND, call.result);
	say("destroyed");
	exchange(socket, NULL, 0, initiator);
	free(queue);
}

int main(int argc, char **argv)
{
	const bool is_supported = argc < 2 || strcmp(argv[1], "unsupported") != 0;
	const struct doca_urom_service_plugin_info *plugin;
	struct settings settings = {.id = DOCA_UROM_WORKER_ID_ANY, .tasks = 16};
	char number[16], *arguments[] = {argv[0], number, is_supported ? "" : "unsupported", NULL};
	struct server server = {0};
	int sockets[2], status;
	pid_t client;

	if (argc == 3)
		return run_client(atoi(argv[1]), argv[2][0] == '\0');
	INSIST(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
	snprintf(number, sizeof(number), "%d", sockets[1]);
	INSIST(posix_spawn(&client, "/proc/self/exe", NULL, NULL, arguments, environ) == 0);
	close(sockets[1]);
	open_host(&server.host, "mlx5_0", 2);
	plugin = find_plugin(&server.host, "worker_rdmo");
	INSIST(plugin != NULL && plugin->version == RDMO_VERSION);
	server.plugin = plugin->id;
	settings.plugins = plugin->id;
	server.worker = run_worker(server.host.service, server.host.pe, &settings);
	open_ucx(&server.ucx);
	serve(&server, sockets[0], is_supported);
	INSIST(waitpid(client, &status, 0) == client && WIFEXITED(status));
	INSIST(WEXITSTATUS(status) == 0);
	stop_worker(server.worker, server.host.pe);
	MUST(doca_urom_worker_destroy(server.worker));
	close_ucx(&server.ucx);
	close_host(&server.host);
	return 0;
}
