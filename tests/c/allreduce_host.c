/*
 * Ranks that sum vectors with their workers, like UCC's client: each rank exports its buffers and
 * its worker does the rest. The argument is the number of ranks. This process starts one process
 * for each rank and runs their all-gathers.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "allreduce_protocol.h"
#include "host.h"
#include "ucx.h"

#define MOST_RANKS 8
#define MOST_COUNT (UINT64_C(1) << 20)
#define MOST_HANDLE 512

extern char **environ;

/* ---- Gathering over a socket ---- */

struct gather {
	int socket;
	char *all;
	size_t wanted, received;
};

static void send_all(int socket, const void *bytes, size_t length)
{
	const char *at = bytes;

	while (length != 0) {
		ssize_t sent = send(socket, at, length, MSG_NOSIGNAL);

		INSIST(sent > 0);
		at += sent;
		length -= (size_t)sent;
	}
}

static doca_error_t gather_begin(void *mine, void *all, size_t length, void *info, void **request)
{
	struct gather *gather = info;
	uint64_t header = length;

	gather->all = all;
	gather->received = 0;
	send_all(gather->socket, &header, sizeof(header));
	send_all(gather->socket, mine, length);
	*request = gather;
	return DOCA_SUCCESS;
}

static doca_error_t gather_test(void *request)
{
	struct gather *gather = request;
	ssize_t received;

	if (gather->received == gather->wanted)
		return DOCA_SUCCESS;
	received = recv(gather->socket, gather->all + gather->received,
			gather->wanted - gather->received, MSG_DONTWAIT);
	if (received < 0 && (errno == EAGAIN || errno == EINTR))
		return DOCA_ERROR_IN_PROGRESS;
	INSIST(received > 0);
	gather->received += (size_t)received;
	return DOCA_ERROR_IN_PROGRESS;
}

static doca_error_t gather_free(void *request)
{
	(void)request;
	return DOCA_SUCCESS;
}

struct sized_gather {
	struct gather gather;
	size_t ranks;
};

static doca_error_t sized_begin(void *mine, void *all, size_t length, void *info, void **request)
{
	struct sized_gather *sized = info;

	sized->gather.wanted = length * sized->ranks;
	return gather_begin(mine, all, length, &sized->gather, request);
}

static void serve(const int *sockets, int ranks)
{
	uint64_t length, first;

	while (recv(sockets[0], &first, sizeof(first), MSG_WAITALL) == sizeof(first)) {
		char *all = malloc(first * (size_t)ranks);

		INSIST(all != NULL);
		for (int rank = 0; rank < ranks; rank++) {
			length = first;
			if (rank != 0)
				INSIST(recv(sockets[rank], &length, sizeof(length), MSG_WAITALL) ==
				       sizeof(length));
			INSIST(length == first);
			INSIST(recv(sockets[rank], all + (size_t)rank * first, first,
				    MSG_WAITALL) == (ssize_t)first);
		}
		for (int rank = 0; rank < ranks; rank++)
			send_all(sockets[rank], all, first * (size_t)ranks);
		free(all);
	}
}

/* ---- Ranks ---- */

struct rank {
	struct host host;
	struct doca_urom_worker *worker;
	uint64_t plugin, rank, ranks;
	ucp_context_h context;
	ucp_worker_h ucp_worker;
	struct sized_gather gather;
	uint64_t team;
};

struct exported {
	ucp_mem_h memh;
	unsigned char bytes[MOST_HANDLE];
	size_t length;
};

static void open_ucx(struct rank *rank)
{
	const ucp_params_t params = {
		.field_mask = UCP_PARAM_FIELD_FEATURES,
		.features = UCP_FEATURE_TAG | UCP_FEATURE_RMA | UCP_FEATURE_AMO64 |
			    UCP_FEATURE_EXPORTED_MEMH,
	};
	const ucp_worker_params_t worker_params = {
		.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
		.thread_mode = UCS_THREAD_MODE_SINGLE,
	};

	INSIST(ucp_init(&params, NULL, &rank->context) == UCS_OK);
	INSIST(ucp_worker_create(rank->context, &worker_params, &rank->ucp_worker) == UCS_OK);
}

static void export_block(struct rank *rank, void *block, size_t length, struct exported *exported)
{
	const ucp_mem_map_params_t map = {
		.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
		.address = block,
		.length = length,
	};
	const ucp_memh_pack_params_t pack = {.field_mask = UCP_MEMH_PACK_PARAM_FIELD_FLAGS,
					     .flags = UCP_MEMH_PACK_FLAG_EXPORT};
	const ucp_memh_buffer_release_params_t release = {0};
	void *packed;

	INSIST(ucp_mem_map(rank->context, &map, &exported->memh) == UCS_OK);
	INSIST(ucp_memh_pack(exported->memh, &pack, &packed, &exported->length) == UCS_OK);
	INSIST(exported->length <= sizeof(exported->bytes));
	memcpy(exported->bytes, packed, exported->length);
	ucp_memh_buffer_release(packed, &release);
}

static struct doca_urom_domain *run_domain(struct rank *rank, void *buffer)
{
	struct doca_urom_domain_oob_coll oob = {
		.allgather = sized_begin,
		.req_test = gather_test,
		.req_free = gather_free,
		.coll_info = &rank->gather,
		.n_oob_indexes = (uint32_t)rank->ranks,
		.oob_index = (uint32_t)rank->rank,
	};
	struct doca_urom_domain *domain;
	struct exported exported;
	size_t key_length;
	void *key;

	export_block(rank, buffer, ALLREDUCE_LENGTH, &exported);
	INSIST(ucp_rkey_pack(rank->context, exported.memh, &key, &key_length) == UCS_OK);
	MUST(doca_urom_domain_create(&domain));
	MUST(doca_pe_connect_ctx(rank->host.pe, doca_urom_domain_as_ctx(domain)));
	MUST(doca_urom_domain_set_buffers_count(domain, 1));
	MUST(doca_urom_domain_add_buffer(domain, buffer, ALLREDUCE_LENGTH, exported.bytes,
					 exported.length, key, key_length));
	MUST(doca_urom_domain_set_workers(domain, &rank->rank, &rank->worker, 1));
	MUST(doca_urom_domain_set_oob(domain, &oob));
	EXPECT(DOCA_ERROR_IN_PROGRESS, doca_ctx_start(doca_urom_domain_as_ctx(domain)));
	progress_while(rank->host.pe, doca_urom_domain_as_ctx(domain), DOCA_CTX_STATE_STARTING);
	INSIST(state_of(doca_urom_domain_as_ctx(domain)) == DOCA_CTX_STATE_RUNNING);
	ucp_rkey_buffer_release(key);
	return domain;
}

struct call {
	bool done;
	struct allreduce_notification answer;
};

static void call_done(struct doca_urom_worker_cmd_task *task, union doca_data task_data,
		      union doca_data ctx_data)
{
	struct call *call = task_data.ptr;
	const void *bytes;
	size_t length;

	(void)ctx_data;
	MUST(doca_task_get_status(doca_urom_worker_cmd_task_as_task(task)));
	bytes = answer_of(task, &length);
	INSIST(bytes != NULL && length == sizeof(call->answer));
	memcpy(&call->answer, bytes, sizeof(call->answer));
	call->done = true;
	MUST(doca_urom_worker_cmd_task_release(task));
}

static struct allreduce_notification
run_command(struct rank *rank, struct allreduce_command *command, const void *more, size_t length)
{
	struct doca_urom_worker_cmd_task *task;
	struct call call = {0};
	union doca_data data = {.ptr = &call};
	void *bytes;

	command->worker_id = rank->rank;
	MUST(new_command(rank->worker, rank->plugin, sizeof(*command) + length, &task, &bytes));
	memcpy(bytes, command, sizeof(*command));
	if (length != 0)
		memcpy((char *)bytes + sizeof(*command), more, length);
	doca_task_set_user_data(doca_urom_worker_cmd_task_as_task(task), data);
	MUST(submit(task, call_done));
	while (!call.done) {
		progress(rank->host.pe);
		ucp_worker_progress(rank->ucp_worker);
	}
	INSIST(call.answer.type == command->type && call.answer.worker_id == rank->rank);
	return call.answer;
}

static void create(struct rank *rank, void *buffer)
{
	static const unsigned char params[ALLREDUCE_LIB_PARAMS];
	struct allreduce_command command = {.type = ALLREDUCE_LIB_CREATE};
	uint64_t context, handshake;
	ucp_address_t *address;
	size_t length;

	run_command(rank, &command, params, sizeof(params));
	INSIST(ucp_worker_get_address(rank->ucp_worker, &address, &length) == UCS_OK);
	command = (struct allreduce_command){.type = ALLREDUCE_DATA_CHANNEL,
					     .data_channel.addr_len = length};
	run_command(rank, &command, address, length);
	ucp_worker_release_address(rank->ucp_worker, address);
	command = (struct allreduce_command){
		.type = ALLREDUCE_CONTEXT_CREATE,
		.context_create = {.stride = 1,
				   .size = (int64_t)rank->ranks,
				   .base_va = (uintptr_t)buffer,
				   .len = ALLREDUCE_LENGTH},
	};
	context = run_command(rank, &command, NULL, 0).context;
	memcpy(&handshake, buffer, sizeof(handshake));
	INSIST(handshake == rank->rank + 100);
	command = (struct allreduce_command){
		.type = ALLREDUCE_TEAM_CREATE,
		.team_create = {.stride = 1, .size = (int64_t)rank->ranks, .context = context},
	};
	rank->team = run_command(rank, &command, NULL, 0).team;
}

static void sum(struct rank *rank, int32_t *src, int32_t *dst, uint64_t count)
{
	struct allreduce_command command = {
		.type = ALLREDUCE_COLL,
		.coll = {.team = rank->team,
			 .use_xgvmi = 1,
			 .work_buffer_size = sizeof(struct allreduce_keys),
			 .team_size = rank->ranks},
	};
	struct {
		struct allreduce_args args;
		struct allreduce_keys keys;
	} more = {
		.args = {.src = {.address = (uintptr_t)src, .count = count},
			 .dst = {.address = (uintptr_t)dst, .count = count}},
	};
	const int32_t all = (int32_t)(rank->ranks * (rank->ranks + 1) / 2);
	struct exported source, destination;

	_Static_assert(sizeof(more) == 1240, "nothing lies between them");
	for (uint64_t at = 0; at < count; at++) {
		src[at] = (int32_t)((rank->rank + 1) * (at % 1000));
		dst[at] = -1;
	}
	export_block(rank, src, count * sizeof(*src), &source);
	export_block(rank, dst, count * sizeof(*dst), &destination);
	more.keys.src_len = source.length;
	more.keys.dst_len = destination.length;
	memcpy(more.keys.keys, source.bytes, source.length);
	memcpy(more.keys.keys + source.length, destination.bytes, destination.length);
	INSIST(run_command(rank, &command, &more, sizeof(more)).status == UCS_OK);
	INSIST(ucp_mem_unmap(rank->context, source.memh) == UCS_OK);
	INSIST(ucp_mem_unmap(rank->context, destination.memh) == UCS_OK);
	for (uint64_t at = 0; at < count; at++)
		INSIST(dst[at] == all * (int32_t)(at % 1000));
}

static int run_rank(int socket, uint64_t number, uint64_t ranks)
{
	static const uint64_t counts[] = {1, 2, 3, 1000, 4096, 65536, MOST_COUNT};
	struct rank rank = {.rank = number, .ranks = ranks};
	const struct doca_urom_service_plugin_info *plugin;
	struct settings settings = {.id = number, .tasks = 16};
	struct allreduce_command command = {.type = ALLREDUCE_LIB_DESTROY};
	int32_t *src = malloc(MOST_COUNT * sizeof(*src)), *dst = malloc(MOST_COUNT * sizeof(*dst));
	void *buffer = calloc(1, ALLREDUCE_LENGTH);
	struct doca_urom_domain *domain;

	/* Only rank 0 prints. */
	if (number != 0)
		INSIST(freopen("/dev/null", "w", stdout) != NULL);
	rank.gather = (struct sized_gather){.gather.socket = socket, .ranks = ranks};
	open_host(&rank.host, "mlx5_0", 2);
	plugin = find_plugin(&rank.host, ALLREDUCE_NAME);
	INSIST(plugin != NULL);
	rank.plugin = plugin->id;
	settings.plugins = plugin->id;
	rank.worker = run_worker(rank.host.service, rank.host.pe, &settings);
	open_ucx(&rank);
	domain = run_domain(&rank, buffer);
	say("domain of %" PRIu64 " ranks", ranks);
	create(&rank, buffer);
	for (size_t at = 0; at < sizeof(counts) / sizeof(counts[0]); at++) {
		sum(&rank, src, dst, counts[at]);
		say("%" PRIu64 " ints", counts[at]);
	}
	run_command(&rank, &command, NULL, 0);
	MUST(doca_ctx_stop(doca_urom_domain_as_ctx(domain)));
	MUST(doca_urom_domain_destroy(domain));
	/* The worker is still running, so the service does not stop. */
	INSIST(doca_ctx_stop(doca_urom_service_as_ctx(rank.host.service)) != DOCA_SUCCESS);
	say("done");
	return 0;
}

int main(int argc, char **argv)
{
	int sockets[MOST_RANKS], ranks, failed = 0;
	pid_t children[MOST_RANKS];

	INSIST(argc == 2 || argc == 4);
	if (argc == 4)
		return run_rank(atoi(argv[1]), (uint64_t)atoi(argv[2]), (uint64_t)atoi(argv[3]));
	ranks = atoi(argv[1]);
	INSIST(ranks >= 1 && ranks <= MOST_RANKS);
	for (int rank = 0; rank < ranks; rank++) {
		char texts[3][16], *arguments[] = {argv[0], texts[0], texts[1], texts[2], NULL};
		int pair[2];

		INSIST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
		INSIST(fcntl(pair[0], F_SETFD, FD_CLOEXEC) == 0);
		snprintf(texts[0], sizeof(texts[0]), "%d", pair[1]);
		snprintf(texts[1], sizeof(texts[1]), "%d", rank);
		snprintf(texts[2], sizeof(texts[2]), "%d", ranks);
		INSIST(posix_spawn(&children[rank], "/proc/self/exe", NULL, NULL, arguments,
				   environ) == 0);
		close(pair[1]);
		sockets[rank] = pair[0];
	}
	serve(sockets, ranks);
	for (int rank = 0; rank < ranks; rank++) {
		int status;

		INSIST(waitpid(children[rank], &status, 0) == children[rank]);
		failed += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
	}
	return failed;
}
