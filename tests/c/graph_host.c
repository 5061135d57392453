/*
 * A host for the graph plugin: uses one worker in many ways, then several workers in separate
 * threads, and prints its observations. Argument: the device, by default "mlx5_0".
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "graph_client.h"

#define TASKS 32
#define THREADS 4

struct loopback {
	bool done;
	doca_error_t result;
	uint64_t data;
};

static void loopback_done(doca_error_t result, union doca_data cookie, uint64_t data)
{
	struct loopback *loopback = cookie.ptr;

	loopback->result = result;
	loopback->data = data;
	loopback->done = true;
}

static void say_loopback(struct doca_urom_worker *worker, struct doca_pe *pe, uint64_t plugin,
			 uint64_t data)
{
	struct loopback loopback = {0};
	union doca_data cookie = {.ptr = &loopback};
	unsigned int nonzero;

	MUST(graph_task_loopback(worker, plugin, data, cookie, loopback_done));
	nonzero = progress_until(pe, &loopback.done);
	say("loopback %" PRIu64 ": %s, %" PRIu64 ", %u nonzero", data, name_of(loopback.result),
	    loopback.data, nonzero);
}

struct order {
	bool done;
	unsigned int count, wanted;
	bool in_order;
	struct doca_urom_worker *worker;
	uint64_t plugin;
};

static void order_done(doca_error_t result, union doca_data cookie, uint64_t data)
{
	struct order *order = cookie.ptr;

	order->in_order = order->in_order && result == DOCA_SUCCESS && data == order->count;
	order->count++;
	order->done = order->count == order->wanted;
}

static void chain_done(doca_error_t result, union doca_data cookie, uint64_t data)
{
	struct order *order = cookie.ptr;

	order_done(result, cookie, data);
	if (!order->done)
		MUST(graph_task_loopback(order->worker, order->plugin, order->count, cookie,
					 chain_done));
}

static void many(struct doca_urom_worker *worker, struct doca_pe *pe, uint64_t plugin)
{
	struct order order = {.wanted = TASKS, .in_order = true};
	union doca_data cookie = {.ptr = &order};
	size_t in_flight;
	unsigned int nonzero;
	doca_error_t code;

	for (uint64_t data = 0; data < TASKS; data++)
		MUST(graph_task_loopback(worker, plugin, data, cookie, order_done));
	MUST(doca_ctx_get_num_inflight_tasks(doca_urom_worker_as_ctx(worker), &in_flight));
	code = graph_task_loopback(worker, plugin, 0, cookie, order_done);
	say("%zu in flight, one more: %s", in_flight, name_of(code));
	nonzero = progress_until(pe, &order.done);
	say("%u completed %s, %u nonzero", order.count,
	    order.in_order ? "in order" : "out of order", nonzero);

	order = (struct order){.wanted = 100, .in_order = true, .worker = worker, .plugin = plugin};
	MUST(graph_task_loopback(worker, plugin, 0, cookie, chain_done));
	nonzero = progress_until(pe, &order.done);
	say("%u one after the other: %s, %u nonzero", order.count,
	    order.in_order ? "in order" : "out of order", nonzero);
}

static void bad_commands(struct doca_urom_worker *worker, struct doca_pe *pe, uint64_t plugin)
{
	static const unsigned char full[4072] = {0};
	const struct graph_command good = {.type = GRAPH_LOOPBACK, .data = 5},
				   unknown = {.type = 9, .data = 5};
	struct doca_urom_worker_cmd_task *task;
	struct raw raw[3];
	void *bytes;

	say_raw("a loopback", worker, pe, plugin, &good, sizeof(good));
	say_raw("an unknown type", worker, pe, plugin, &unknown, sizeof(unknown));
	say_raw("15 bytes", worker, pe, plugin, &good, 15);
	say_raw("17 bytes", worker, pe, plugin, full, 17);
	say_raw("no bytes", worker, pe, plugin, NULL, 0);
	say_raw("4072 bytes", worker, pe, plugin, full, sizeof(full));
	EXPECT(DOCA_ERROR_TOO_BIG, new_command(worker, plugin, sizeof(full) + 1, &task, &bytes));
	say("4073 bytes: %s", name_of(DOCA_ERROR_TOO_BIG));
	EXPECT(DOCA_ERROR_INVALID_VALUE, new_command(worker, plugin << 1, 16, &task, &bytes));
	EXPECT(DOCA_ERROR_INVALID_VALUE, new_command(worker, 0, 16, &task, &bytes));
	say("C: a plugin that the worker does not have: %s", name_of(DOCA_ERROR_INVALID_VALUE));

	submit_raw(worker, plugin, &good, sizeof(good), &raw[0]);
	submit_raw(worker, plugin, &unknown, sizeof(unknown), &raw[1]);
	submit_raw(worker, plugin, &good, sizeof(good), &raw[2]);
	INSIST(progress_until(pe, &raw[2].done) == 3);
	say("good, bad, good: %s, %s, %s", name_of(raw[0].status), name_of(raw[1].status),
	    name_of(raw[2].status));
}

struct query {
	bool done;
	char ids[64];
};

static void query_done(struct doca_urom_service_get_workers_by_gid_task *task,
		       union doca_data task_data, union doca_data ctx_data)
{
	struct query *query = task_data.ptr;
	size_t count = doca_urom_service_get_workers_by_gid_task_get_workers_count(task), used = 0;
	const uint64_t *ids = doca_urom_service_get_workers_by_gid_task_get_worker_ids(task);

	(void)ctx_data;
	MUST(doca_task_get_status(doca_urom_service_get_workers_by_gid_task_as_task(task)));
	query->ids[0] = '\0';
	for (size_t at = 0; at < count && used < sizeof(query->ids); at++)
		used += snprintf(query->ids + used, sizeof(query->ids) - used, " %" PRIu64,
				 ids[at]);
	query->done = true;
	MUST(doca_urom_service_get_workers_by_gid_task_release(task));
}

static void say_group(const struct host *host, uint32_t group)
{
	struct doca_urom_service_get_workers_by_gid_task *task;
	struct query query = {0};
	union doca_data data = {.ptr = &query};
	struct doca_task *generic;

	MUST(doca_urom_service_get_workers_by_gid_task_allocate_init(host->service, group,
								     query_done, &task));
	generic = doca_urom_service_get_workers_by_gid_task_as_task(task);
	doca_task_set_user_data(generic, data);
	MUST(doca_task_submit(generic));
	INSIST(progress_until(host->pe, &query.done) == 1);
	say("workers of group %" PRIu32 ":%s", group, query.ids);
}

/* ---- Several workers, each in a thread with its own engine ---- */

struct shared {
	struct doca_urom_service *service;
	uint64_t plugin;
	atomic_uint running, over;
	sem_t quit;
};

struct thread {
	struct shared *shared;
	struct settings settings;
	uint64_t id;
	struct loopback loopback;
	pthread_t thread;
};

static void *worker_main(void *argument)
{
	struct thread *thread = argument;
	struct shared *shared = thread->shared;
	union doca_data cookie = {.ptr = &thread->loopback};
	struct doca_urom_worker *worker;
	struct doca_pe *pe;
	uint8_t moved = 0;

	MUST(doca_pe_create(&pe));
	worker = run_worker(shared->service, pe, &thread->settings);
	thread->id = id_of(worker);
	MUST(graph_task_loopback(worker, shared->plugin, thread->id, cookie, loopback_done));
	/* DOCA's contract: the first nonzero progress is the answer. */
	while (moved == 0)
		moved = progress(pe);
	INSIST(thread->loopback.done);
	atomic_fetch_add(&shared->running, 1);
	while (sem_wait(&shared->quit) != 0)
		;
	end_worker(worker, pe);
	MUST(doca_pe_destroy(pe));
	atomic_fetch_add(&shared->over, 1);
	return NULL;
}

static void threads(const struct host *host, uint64_t plugin)
{
	static char variable[] = "UCX_LOG_LEVEL=warn";
	char *const environment[] = {variable};
	struct shared shared = {.service = host->service, .plugin = plugin};
	struct thread all[THREADS];

	INSIST(sem_init(&shared.quit, 0, 0) == 0);
	for (unsigned int at = 0; at < THREADS; at++) {
		all[at] = (struct thread){
			.shared = &shared,
			.settings = {.id = at,
				     .group = at % 2,
				     .plugins = plugin,
				     .tasks = 2,
				     .environment = environment,
				     .variables = 1},
		};
		INSIST(pthread_create(&all[at].thread, NULL, worker_main, &all[at]) == 0);
	}
	/* The workers' starts need this engine, but complete nothing on it. */
	while (atomic_load(&shared.running) < THREADS)
		INSIST(progress(host->pe) == 0);
	for (unsigned int at = 0; at < THREADS; at++)
		say("worker %" PRIu64 " in a thread: %s, %" PRIu64, all[at].id,
		    name_of(all[at].loopback.result), all[at].loopback.data);
	say("C: the service's engine: %u of %d calls nonzero", nonzero_when_quiet(host->pe),
	    QUIET_CALLS);
	say_group(host, 1);
	say_group(host, 0);
	for (unsigned int at = 0; at < THREADS; at++)
		INSIST(sem_post(&shared.quit) == 0);
	while (atomic_load(&shared.over) < THREADS)
		INSIST(progress(host->pe) == 0);
	for (unsigned int at = 0; at < THREADS; at++)
		INSIST(pthread_join(all[at].thread, NULL) == 0);
	INSIST(sem_destroy(&shared.quit) == 0);
}

/* ---- Connections and restarts ---- */

/* More connections: to the same worker, to a forbidden worker, and with an id that the service
 * chooses. */
static void more_workers(const struct host *host, const struct settings *first)
{
	static char variable[] = "NAME=value";
	char *const environment[] = {variable};
	struct settings settings = *first;
	struct doca_urom_worker *worker = run_worker(host->service, host->pe, &settings);

	say("worker %" PRIu64 " once more", id_of(worker));
	say_loopback(worker, host->pe, first->plugins, 6);
	end_worker(worker, host->pe);

	settings.environment = environment;
	settings.variables = 1;
	worker = create_worker(host->service, host->pe, &settings);
	start_worker(worker, host->pe);
	INSIST(state_of(doca_urom_worker_as_ctx(worker)) == DOCA_CTX_STATE_IDLE);
	say("worker %" PRIu64 " with an environment: it exists and does not start", first->id);
	MUST(doca_urom_worker_destroy(worker));

	settings = *first;
	settings.id = DOCA_UROM_WORKER_ID_ANY;
	settings.group = 7;
	worker = run_worker(host->service, host->pe, &settings);
	INSIST(id_of(worker) != DOCA_UROM_WORKER_ID_ANY && id_of(worker) != first->id);
	say("a worker of any id has one of its own");
	end_worker(worker, host->pe);
}

static void restart(struct doca_urom_worker *worker, struct doca_pe *pe, uint64_t plugin)
{
	struct doca_ctx *ctx = doca_urom_worker_as_ctx(worker);
	struct doca_urom_worker_cmd_task *task;
	void *bytes;

	EXPECT(DOCA_ERROR_BAD_STATE, new_command(worker, plugin, 16, &task, &bytes));
	say("C: no task without a worker that runs: %s", name_of(DOCA_ERROR_BAD_STATE));
	EXPECT(DOCA_ERROR_IN_PROGRESS, doca_ctx_start(ctx));
	say("C: a start that is taken back ends IDLE with a sum of %u", stop_worker(worker, pe));
	INSIST(state_of(ctx) == DOCA_CTX_STATE_IDLE);
	MUST(doca_urom_worker_set_id(worker, 6));
	INSIST(start_worker(worker, pe) == 1);
	say("C: the same context again: worker %" PRIu64, id_of(worker));
	end_worker(worker, pe);
}

int main(int argc, char **argv)
{
	struct settings settings = {.id = 5, .group = 2, .tasks = TASKS};
	const struct doca_urom_service_plugin_info *plugin;
	struct doca_urom_worker *worker;
	struct doca_ctx *ctx;
	struct host host;

	open_host(&host, argc > 1 ? argv[1] : "mlx5_0", 8);
	plugin = find_plugin(&host, GRAPH_PLUGIN);
	INSIST(plugin != NULL && plugin->version == GRAPH_VERSION);
	say_plugin(plugin);
	say_cpus(&host);

	settings.plugins = plugin->id;
	worker = create_worker(host.service, host.pe, &settings);
	ctx = doca_urom_worker_as_ctx(worker);
	say("C: a worker that starts is STARTING, then RUNNING with a sum of %u",
	    start_worker(worker, host.pe));
	INSIST(state_of(ctx) == DOCA_CTX_STATE_RUNNING);
	say("worker %" PRIu64 " runs", id_of(worker));
	say("%u of %d calls nonzero", nonzero_when_quiet(host.pe), QUIET_CALLS);

	say_loopback(worker, host.pe, plugin->id, 0);
	say_loopback(worker, host.pe, plugin->id, 42);
	say_loopback(worker, host.pe, plugin->id, UINT64_MAX);
	many(worker, host.pe, plugin->id);
	bad_commands(worker, host.pe, plugin->id);
	say_loopback(worker, host.pe, plugin->id, 7);
	say_group(&host, 2);
	say_group(&host, 99);
	more_workers(&host, &settings);
	threads(&host, plugin->id);

	EXPECT(DOCA_ERROR_BAD_STATE, doca_urom_worker_set_id(worker, 6));
	EXPECT(DOCA_ERROR_IN_USE, doca_urom_worker_destroy(worker));
	EXPECT(DOCA_ERROR_IN_USE, doca_ctx_stop(doca_urom_service_as_ctx(host.service)));
	say("C: a worker that runs is not set, not destroyed, and keeps its service");
	say("C: a worker that stops is STOPPING, then IDLE with a sum of %u",
	    stop_worker(worker, host.pe));
	say("worker 5 is stopped");
	restart(worker, host.pe, plugin->id);
	close_host(&host);
	return 0;
}
