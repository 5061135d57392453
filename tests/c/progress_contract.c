/*
 * Loops of well-known programs around doca_pe_progress(): their assumptions must hold. P1 to P9 are
 * the rules in the order of the project's facts.
 *
 * P1  0 if nothing visible happened
 * P2  a worker's start and its stop each return a nonzero value
 * P3  0 while a context runs, until a task completes
 * P4  exactly one callback in each nonzero call
 * P5  completions in the order of the notifications
 * P6  a failed task completes through its callback
 * P7  a query completes through its callback on the service's engine
 * P8  0 on the service's engine before that
 * P9  different threads may progress the engines of related contexts
 */
#include "rig.h"

#include <pthread.h>
#include <stdatomic.h>

#define TASKS 16
#define THREADS 4
#define TURNS 5

struct seen {
	unsigned int callbacks;
	doca_error_t status;
	uint64_t data;
	uint64_t order[TASKS];
};

static _Thread_local struct seen seen;

static void done(struct doca_urom_worker_cmd_task *task, union doca_data task_data,
		 union doca_data ctx_data)
{
	size_t len;
	uint64_t *words = answer_of(task, &len);

	(void)ctx_data;
	seen.status = doca_task_get_status(doca_urom_worker_cmd_task_as_task(task));
	seen.data = words && len >= 16 ? words[1] : UINT64_MAX;
	seen.order[seen.callbacks++ % TASKS] = task_data.u64;
	MUST(doca_urom_worker_cmd_task_release(task));
}

static void send(const struct rig *rig, struct doca_urom_worker *worker, uint64_t data)
{
	struct doca_urom_worker_cmd_task *task = loopback(rig, worker, data, done);
	union doca_data number = {.u64 = data};

	doca_task_set_user_data(doca_urom_worker_cmd_task_as_task(task), number);
	MUST(doca_task_submit(doca_urom_worker_cmd_task_as_task(task)));
}

/* A program that takes the first nonzero call as its task's completion. */
static void first_is_mine(const struct rig *rig, struct doca_pe *pe,
			  struct doca_urom_worker *worker, uint64_t data)
{
	uint8_t ret;

	memset(&seen, 0, sizeof(seen));
	send(rig, worker, data);
	do
		ret = doca_pe_progress(pe);
	while (ret == 0 && seen.status == DOCA_SUCCESS);
	IS(1, ret);
	IS(1, seen.callbacks);
	IS(data, seen.data);
}

/* A program that would lose the second task if one call completed both. */
static void two_flags(const struct rig *rig, struct doca_pe *pe, struct doca_urom_worker *worker)
{
	unsigned int wait;

	memset(&seen, 0, sizeof(seen));
	send(rig, worker, 1);
	send(rig, worker, 2);
	for (wait = 1; wait <= 2; ++wait) {
		while (doca_pe_progress(pe) == 0)
			;
		IS(wait, seen.callbacks);
		IS(wait, seen.order[wait - 1]);
	}
}

/* The queue is full (TASKS); completions come in order, one a call. */
static void in_order(const struct rig *rig, struct doca_pe *pe, struct doca_urom_worker *worker)
{
	struct doca_urom_worker_cmd_task *none;
	uint64_t at;

	memset(&seen, 0, sizeof(seen));
	for (at = 0; at < TASKS; ++at)
		send(rig, worker, at);
	GIVES(DOCA_ERROR_NO_MEMORY, doca_urom_worker_cmd_task_allocate_init, worker, rig->plugin,
	      &none);
	for (at = 0; at < TASKS; ++at) {
		IS(1, next_event(pe));
		IS(at + 1, seen.callbacks);
		IS(at, seen.order[at]);
	}
	IS(0, nonzero_when_quiet(pe));
}

static void failed(const struct rig *rig, struct doca_pe *pe, struct doca_urom_worker *worker)
{
	struct raw raw;

	submit_raw(worker, rig->plugin, "short", 5, &raw);
	IS(1, next_event(pe));
	IS(1, raw.done);
	IS(1, raw.status != DOCA_SUCCESS);
	IS(0, nonzero_when_quiet(pe));
}

static void one_engine(const struct rig *rig)
{
	struct doca_pe *pe = rig->host.pe;
	struct doca_urom_worker *worker =
		running_worker(rig, pe, 10); /* P2: it insists on 1 in all */
	struct doca_urom_domain *domain = new_domain(pe, worker, 0);
	struct doca_ctx *ctx = doca_urom_domain_as_ctx(domain);
	uint64_t at;

	IS(0, nonzero_when_quiet(pe));
	first_is_mine(rig, pe, worker, 7);
	IS(0, nonzero_when_quiet(pe));
	GIVES(DOCA_ERROR_IN_PROGRESS, doca_ctx_start, ctx);
	IS(1, progress_while(pe, ctx, DOCA_CTX_STATE_STARTING));
	IS(DOCA_CTX_STATE_RUNNING, state_of(ctx));
	IS(0, nonzero_when_quiet(pe));
	for (at = 0; at < 300; ++at)
		first_is_mine(rig, pe, worker, at);
	two_flags(rig, pe, worker);
	in_order(rig, pe, worker);
	failed(rig, pe, worker);
	GIVES(DOCA_SUCCESS, doca_ctx_stop, ctx);
	GIVES(DOCA_SUCCESS, doca_urom_domain_destroy, domain);
	IS(0, nonzero_when_quiet(pe));
	end_worker(worker, pe); /* P2, as above */
	IS(0, nonzero_when_quiet(pe));
}

/* ---- Workers with threads of their own ---- */

static const struct rig *the_rig;
static atomic_int running, ended, may_end;

/* Counts the threads' differences for main. */
static atomic_int thread_differences;

static void *run_thread(void *argument)
{
	uint64_t id = (uintptr_t)argument;
	struct settings settings = {
		.id = id, .group = (uint32_t)(id % 2), .plugins = the_rig->plugin, .tasks = TASKS};
	struct doca_urom_worker *worker;
	struct doca_pe *pe;
	int turn;

	MUST(doca_pe_create(&pe));
	/* Starts and stops several times in parallel with the other threads. */
	for (turn = 1; turn <= TURNS; ++turn) {
		worker = run_worker(the_rig->host.service, pe, &settings);
		if (id_of(worker) != id || nonzero_when_quiet(pe) != 0)
			++thread_differences;
		if (turn == TURNS)
			break;
		end_worker(worker, pe);
	}
	first_is_mine(the_rig, pe, worker, id);
	++running;
	while (!may_end)
		sched_yield();
	/* The engine was not progressed for a while and still has nothing to report. */
	if (nonzero_when_quiet(pe) != 0)
		++thread_differences;
	end_worker(worker, pe);
	MUST(doca_pe_destroy(pe));
	++ended;
	return NULL;
}

static unsigned int queries;

static void query_done(struct doca_urom_service_get_workers_by_gid_task *task,
		       union doca_data task_data, union doca_data ctx_data)
{
	const uint64_t *ids = doca_urom_service_get_workers_by_gid_task_get_worker_ids(task);

	(void)ctx_data;
	++queries;
	IS(DOCA_SUCCESS,
	   doca_task_get_status(doca_urom_service_get_workers_by_gid_task_as_task(task)));
	IS(2, doca_urom_service_get_workers_by_gid_task_get_workers_count(task));
	IS(1, ids && ids[0] % 2 == task_data.u64 && ids[1] % 2 == task_data.u64);
	MUST(doca_urom_service_get_workers_by_gid_task_release(task));
}

static void query(const struct rig *rig, uint32_t gid)
{
	struct doca_urom_service_get_workers_by_gid_task *task;
	union doca_data data = {.u64 = gid};
	struct doca_task *as_task;

	MUST(doca_urom_service_get_workers_by_gid_task_allocate_init(rig->host.service, gid,
								     query_done, &task));
	as_task = doca_urom_service_get_workers_by_gid_task_as_task(task);
	doca_task_set_user_data(as_task, data);
	IS(0, nonzero_when_quiet(rig->host.pe));
	MUST(doca_task_submit(as_task));
	IS(1, next_event(rig->host.pe));
}

static void engines_of_several_threads(const struct rig *rig)
{
	pthread_t threads[THREADS];
	size_t at;

	the_rig = rig;
	for (at = 0; at < THREADS; ++at)
		INSIST(!pthread_create(&threads[at], NULL, run_thread, (void *)at));
	while (running < THREADS)
		IS(0, progress(rig->host.pe));
	query(rig, 1);
	IS(1, queries);
	query(rig, 0);
	IS(2, queries);
	may_end = 1;
	while (ended < THREADS)
		IS(0, progress(rig->host.pe));
	for (at = 0; at < THREADS; ++at)
		pthread_join(threads[at], NULL);
	IS(0, thread_differences);
}

int main(void)
{
	struct rig rig;

	set_up(&rig, "worker_graph");
	one_engine(&rig);
	engines_of_several_threads(&rig);
	IS(0, nonzero_when_quiet(rig.host.pe));
	close_host(&rig.host);
	return conclusion();
}
