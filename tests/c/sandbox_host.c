/*
 * A host for the sandbox plugin: two workers of a domain exchange messages, and the host prints its
 * observations. Argument: the device, by default "mlx5_0".
 */
#include "domain.h"
#include "sandbox_client.h"

#define TASKS 64
#define ALL UINT64_MAX
#define MOST_DATA 4000
/* The host's address of registered memory. */
#define NAME UINT64_C(0x10000)
#define LARGE (16 * MOST_DATA)

struct pair {
	struct host host;
	struct doca_urom_worker *workers[2];
	uint64_t plugin;
};

struct call {
	bool done;
	doca_error_t result;
	uint64_t context, memh_id, count, sender_tag;
	int status;
	unsigned char data[MOST_DATA];
};

static unsigned char pattern(size_t at)
{
	return (unsigned char)(at % 251 ^ at >> 8);
}

static void fill(unsigned char *data, size_t from, size_t length)
{
	for (size_t at = 0; at < length; at++)
		data[at] = pattern(from + at);
}

static bool is_intact(const unsigned char *data, size_t from, size_t length)
{
	for (size_t at = 0; at < length; at++)
		if (data[at] != pattern(from + at))
			return false;
	return true;
}

/* ---- Commands ---- */

static void mapped(doca_error_t result, union doca_data cookie, uint64_t context, uint64_t memh_id)
{
	struct call *call = cookie.ptr;

	call->result = result;
	call->context = context;
	call->memh_id = memh_id;
	call->done = true;
}

static void sent(doca_error_t result, union doca_data cookie, uint64_t context, int status)
{
	struct call *call = cookie.ptr;

	call->result = result;
	call->context = context;
	call->status = status;
	call->done = true;
}

static void received(doca_error_t result, union doca_data cookie, uint64_t context,
		     const void *buffer, uint64_t count, uint64_t sender_tag, int status)
{
	struct call *call = cookie.ptr;

	call->result = result;
	call->context = context;
	call->count = count;
	call->sender_tag = sender_tag;
	call->status = status;
	INSIST(buffer == NULL || count <= sizeof(call->data));
	if (buffer != NULL)
		memcpy(call->data, buffer, count);
	call->done = true;
}

static void begin_send(struct pair *pair, int from, uint64_t dest, const void *data, size_t length,
		       uint64_t tag, struct call *call)
{
	union doca_data cookie = {.ptr = call};

	call->done = false;
	MUST(sandbox_task_tag_send(pair->workers[from], pair->plugin, cookie, 0xdead, dest, data,
				   length, tag, 0, sent));
}

static void begin_receive(struct pair *pair, int at, uint64_t count, uint64_t tag, uint64_t mask,
			  struct call *call)
{
	union doca_data cookie = {.ptr = call};

	call->done = false;
	MUST(sandbox_task_tag_recv(pair->workers[at], pair->plugin, cookie, 0xbeef, 0, count, tag,
				   mask, 0, received));
}

static void wait_for(struct pair *pair, const struct call *call)
{
	progress_until(pair->host.pe, &call->done);
}

static void send(struct pair *pair, int from, const void *data, size_t length, uint64_t tag)
{
	struct call call;

	begin_send(pair, from, !from, data, length, tag, &call);
	wait_for(pair, &call);
	INSIST(call.result == DOCA_SUCCESS && call.status == 0 && call.context == 0xdead);
}

static void receive(struct pair *pair, int at, uint64_t count, uint64_t tag, uint64_t mask,
		    struct call *call)
{
	begin_receive(pair, at, count, tag, mask, call);
	wait_for(pair, call);
}

/* Waits until all earlier messages have arrived: messages between two workers keep their order. */
static void settle(struct pair *pair, int from)
{
	struct call call;

	send(pair, from, NULL, 0, 0xfe4ce);
	receive(pair, !from, 0, 0xfe4ce, ALL, &call);
	INSIST(call.result == DOCA_SUCCESS && call.status == 0);
}

static void say_received(const char *what, const struct call *call)
{
	say("%s: %s, status %d, %" PRIu64 " bytes, tag 0x%" PRIx64 ", context 0x%" PRIx64, what,
	    name_of(call->result), call->status, call->count, call->sender_tag, call->context);
}

/* ---- Messages ---- */

static void messages(struct pair *pair)
{
	static const char hello[] = "hello world";
	unsigned char data[MOST_DATA];
	struct call call;

	for (int from = 0; from < 2; from++) {
		say("from worker %d to worker %d", from, !from);
		begin_receive(pair, !from, 100, 0x1234, 0xffff, &call);
		/* Commands of one host keep their order, so the receive begins before the message
		 * is sent. */
		settle(pair, from);
		INSIST(!call.done);
		send(pair, from, hello, sizeof(hello), 0x51234);
		wait_for(pair, &call);
		say_received("a receive, then its message", &call);
		INSIST(memcmp(call.data, hello, sizeof(hello)) == 0);

		send(pair, from, hello, sizeof(hello), 0x5678);
		settle(pair, from);
		receive(pair, !from, 100, 0x5678, ALL, &call);
		say_received("a message, then its receive", &call);
		INSIST(memcmp(call.data, hello, sizeof(hello)) == 0);

		send(pair, from, NULL, 0, 1);
		receive(pair, !from, 0, 1, ALL, &call);
		say_received("no bytes", &call);

		fill(data, 0, sizeof(data));
		send(pair, from, data, sizeof(data), 2);
		receive(pair, !from, sizeof(data), 2, ALL, &call);
		say_received("as many as fit", &call);
		INSIST(is_intact(call.data, 0, sizeof(data)));

		send(pair, from, data, 11, 3);
		settle(pair, from);
		receive(pair, !from, 10, 3, ALL, &call);
		say_received("too long, before its receive", &call);
		begin_receive(pair, !from, 10, 3, ALL, &call);
		settle(pair, from);
		send(pair, from, data, sizeof(data), 3);
		wait_for(pair, &call);
		say_received("too long, after its receive", &call);
	}
}

static void many(struct pair *pair)
{
	static struct call sends[24], receives[24];
	unsigned char data[MOST_DATA];
	unsigned int intact = 0, in_flight = 0;
	size_t count;

	for (unsigned int number = 0; number < 24; number++) {
		size_t length = number * 150;

		fill(data, number, length);
		begin_receive(pair, number % 2, MOST_DATA, 0x100 + number, ALL, &receives[number]);
		begin_send(pair, !(number % 2), number % 2, data, length, 0x100 + number,
			   &sends[number]);
	}
	for (int at = 0; at < 2; at++) {
		MUST(doca_ctx_get_num_inflight_tasks(doca_urom_worker_as_ctx(pair->workers[at]),
						     &count));
		in_flight += count;
	}
	for (unsigned int number = 0; number < 24; number++) {
		const struct call *call = &receives[number];

		wait_for(pair, &sends[number]);
		wait_for(pair, call);
		intact += sends[number].status == 0 && call->status == 0 &&
			  call->count == number * 150 && is_intact(call->data, number, call->count);
	}
	say("%u in flight: %u messages intact", in_flight, intact);
}

/* ---- Registered memory ---- */

static uint64_t map(struct pair *pair, int at, struct sandbox_map_params params,
		    const void *exported, size_t length, const char *what)
{
	struct call call = {0};
	union doca_data cookie = {.ptr = &call};

	MUST(sandbox_task_mem_map(pair->workers[at], pair->plugin, cookie, 0xfeed, params, exported,
				  length, mapped));
	wait_for(pair, &call);
	say("%s: %s, %s handle", what, name_of(call.result), call.memh_id != 0 ? "a" : "no");
	INSIST(call.context == 0xfeed);
	return call.memh_id;
}

static void move(struct pair *pair, int at, bool out, uint64_t address, uint64_t count,
		 uint64_t tag, uint64_t memh_id, struct call *call)
{
	union doca_data cookie = {.ptr = call};

	memset(call, 0, sizeof(*call));
	if (out)
		MUST(sandbox_task_tag_send(pair->workers[at], pair->plugin, cookie, 0xdead, !at,
					   (const void *)(uintptr_t)address, count, tag, memh_id,
					   sent));
	else
		MUST(sandbox_task_tag_recv(pair->workers[at], pair->plugin, cookie, 0xbeef, address,
					   count, tag, ALL, memh_id, received));
}

static void registered(struct pair *pair)
{
	const struct sandbox_map_params own = {
		.field_mask =
			SANDBOX_MAP_HAS_ADDRESS | SANDBOX_MAP_HAS_LENGTH | SANDBOX_MAP_HAS_FLAGS,
		.address = NAME,
		.length = LARGE,
		.flags = SANDBOX_MAP_FLAG_ALLOCATE,
	};
	const struct sandbox_map_params theirs = {.field_mask = SANDBOX_MAP_HAS_ADDRESS | 0x20,
						  .address = NAME};
	unsigned char data[MOST_DATA];
	unsigned int intact = 0;
	uint64_t memh_ids[2];
	struct call call, other;

	memh_ids[0] = map(pair, 0, own, NULL, 0, "memory of worker 0");
	memh_ids[1] = map(pair, 1, own, NULL, 0, "memory of worker 1");
	memset(data, 0xff, sizeof(data));
	map(pair, 0, theirs, data, 40, "a malformed exported handle");
	map(pair, 0, theirs, NULL, 0, "nothing");

	for (size_t at = 0; at < LARGE; at += MOST_DATA) {
		fill(data, at, MOST_DATA);
		move(pair, 1, false, NAME + at, MOST_DATA, 0x200 + at, memh_ids[1], &call);
		send(pair, 0, data, MOST_DATA, 0x200 + at);
		wait_for(pair, &call);
		INSIST(call.result == DOCA_SUCCESS && call.status == 0 && call.count == MOST_DATA);
	}
	move(pair, 0, false, NAME, LARGE, 0x300, memh_ids[0], &call);
	move(pair, 1, true, NAME, LARGE, 0x300, memh_ids[1], &other);
	wait_for(pair, &other);
	wait_for(pair, &call);
	say_received("between registered memory", &call);
	for (size_t at = 0; at < LARGE; at += MOST_DATA) {
		move(pair, 0, true, NAME + at, MOST_DATA, 0x400 + at, memh_ids[0], &other);
		receive(pair, 1, MOST_DATA, 0x400 + at, ALL, &call);
		wait_for(pair, &other);
		intact += call.status == 0 && call.count == MOST_DATA &&
			  is_intact(call.data, at, MOST_DATA);
	}
	say("%u pieces intact", intact);

	move(pair, 0, true, NAME + 1, LARGE, 1, memh_ids[0], &call);
	wait_for(pair, &call);
	say("bytes that stick out: %s", name_of(call.result));
	move(pair, 0, true, NAME - 1, 1, 1, memh_ids[0], &call);
	wait_for(pair, &call);
	say("bytes before it: %s", name_of(call.result));
	move(pair, 0, false, NAME, 1, 1, UINT64_MAX, &call);
	wait_for(pair, &call);
	say("a handle of nothing: %s", name_of(call.result));
}

/* ---- Errors ---- */

static void bad_commands(struct pair *pair)
{
	struct doca_urom_worker *worker = pair->workers[0];
	struct doca_pe *pe = pair->host.pe;
	struct {
		struct sandbox_command command;
		char data[8];
	} bad = {.command = {.type = SANDBOX_TAG_SEND,
			     .tag_send = {.dest = 1, .buffer = 1, .count = 8, .tag = 9}}};
	struct call call;

	say_raw("71 bytes", worker, pe, pair->plugin, &bad, 71);
	say_raw("no bytes", worker, pe, pair->plugin, &bad, 0);
	say_raw("a byte less than it says", worker, pe, pair->plugin, &bad, sizeof(bad) - 1);
	bad.command.tag_send.count = UINT64_MAX - 63;
	say_raw("a length that wraps", worker, pe, pair->plugin, &bad, sizeof(bad));
	bad.command.type = 3;
	say_raw("an unknown type", worker, pe, pair->plugin, &bad, sizeof(bad.command));

	begin_send(pair, 0, 99, "?", 1, 1, &call);
	wait_for(pair, &call);
	say("an unknown member: %s", name_of(call.result));
	receive(pair, 0, UINT64_C(1) << 24, 1, ALL, &call);
	say("more than any answer holds: %s", name_of(call.result));
	send(pair, 0, "good", 4, 9);
	receive(pair, 1, 8, 9, ALL, &call);
	say_received("a good one after them", &call);
}

int main(int argc, char **argv)
{
	struct settings settings = {.tasks = TASKS};
	const struct doca_urom_service_plugin_info *plugin;
	struct doca_urom_domain *domains[2];
	struct doca_ctx *ctx;
	struct gather gather;
	struct call call;
	struct pair pair;

	open_host(&pair.host, argc > 1 ? argv[1] : "mlx5_0", 2);
	plugin = find_plugin(&pair.host, SANDBOX_PLUGIN);
	INSIST(plugin != NULL && plugin->version == SANDBOX_VERSION);
	say_plugin(plugin);
	say_cpus(&pair.host);
	pair.plugin = settings.plugins = plugin->id;
	for (int at = 0; at < 2; at++) {
		settings.id = at;
		pair.workers[at] = run_worker(pair.host.service, pair.host.pe, &settings);
	}
	say("workers %" PRIu64 " and %" PRIu64 " run", id_of(pair.workers[0]),
	    id_of(pair.workers[1]));
	begin_send(&pair, 0, 1, "early", 5, 1, &call);
	wait_for(&pair, &call);
	say("a message before the domain: %s", name_of(call.result));

	open_gather(&gather, 2);
	for (int at = 0; at < 2; at++)
		domains[at] = begin_domain(pair.host.pe, &gather, at, pair.workers[at]);
	for (int at = 0; at < 2; at++) {
		ctx = doca_urom_domain_as_ctx(domains[at]);
		progress_while(pair.host.pe, ctx, DOCA_CTX_STATE_STARTING);
		INSIST(state_of(ctx) == DOCA_CTX_STATE_RUNNING);
	}
	say("a domain of %" PRIu32 " participants runs", gather.count);
	say("%u of %d calls nonzero", nonzero_when_quiet(pair.host.pe), QUIET_CALLS);

	messages(&pair);
	many(&pair);
	registered(&pair);
	bad_commands(&pair);

	begin_receive(&pair, 1, 100, 0x999, ALL, &call);
	EXPECT(DOCA_ERROR_NOT_PERMITTED, doca_urom_domain_destroy(domains[1]));
	for (int at = 0; at < 2; at++)
		end_domain(domains[at]);
	close_gather(&gather);
	say("C: a domain is idle when its stop returns");
	ctx = doca_urom_worker_as_ctx(pair.workers[1]);
	EXPECT(DOCA_ERROR_IN_PROGRESS, doca_ctx_stop(ctx));
	progress_while(pair.host.pe, ctx, DOCA_CTX_STATE_STOPPING);
	INSIST(call.done);
	say("a receive whose worker stops: %s", name_of(call.result));
	MUST(doca_urom_worker_destroy(pair.workers[1]));
	end_worker(pair.workers[0], pair.host.pe);
	say("the workers are stopped");
	close_host(&pair.host);
	return 0;
}
