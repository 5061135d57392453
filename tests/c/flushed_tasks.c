/*
 * doca_ctx_flush_tasks() sends queued commands, although the host does not progress. The plugin is
 * in this process and counts arrivals (COUNTS_ARRIVALS).
 */
#include <stdatomic.h>
#include <time.h>

#include "rig.h"

/* A command is queued while fewer than half of the tasks that the host holds are queued. */
#define HELD 10
#define SUBMITTED 4

static atomic_uint arrived;
static unsigned int completed;

static void done(struct doca_urom_worker_cmd_task *task, union doca_data task_data,
		 union doca_data ctx_data)
{
	(void)task_data, (void)ctx_data;
	MUST(doca_task_get_status(doca_urom_worker_cmd_task_as_task(task)));
	MUST(doca_urom_worker_cmd_task_release(task));
	completed++;
}

static struct doca_urom_worker_cmd_task *counted(const struct rig *rig,
						 struct doca_urom_worker *worker)
{
	return loopback(rig, worker, (uint64_t)(uintptr_t)&arrived, done);
}

static void give(struct doca_urom_worker_cmd_task *task)
{
	MUST(doca_task_submit(doca_urom_worker_cmd_task_as_task(task)));
}

static void wait_for(unsigned int count)
{
	const struct timespec pause = {.tv_nsec = 100000};
	unsigned int turns;

	for (turns = 0; atomic_load(&arrived) < count; turns++) {
		INSIST(turns < 100000);
		nanosleep(&pause, NULL);
	}
}

int main(void)
{
	struct doca_urom_worker_cmd_task *tasks[HELD];
	struct doca_urom_worker *worker;
	struct rig rig;
	int i;

	set_up(&rig, "worker_graph");
	worker = running_worker(&rig, rig.host.pe, 1);
	give(counted(&rig, worker));
	IS(1, next_event(rig.host.pe));
	for (i = 0; i < HELD; i++)
		tasks[i] = counted(&rig, worker);
	for (i = 0; i < SUBMITTED; i++)
		give(tasks[i]);
	doca_ctx_flush_tasks(doca_urom_worker_as_ctx(worker));
	wait_for(1 + SUBMITTED);
	IS(1, completed);
	while (completed < 1 + SUBMITTED)
		next_event(rig.host.pe);
	for (i = SUBMITTED; i < HELD; i++)
		MUST(doca_urom_worker_cmd_task_release(tasks[i]));
	doca_ctx_flush_tasks(doca_urom_worker_as_ctx(worker));
	end_worker(worker, rig.host.pe);
	doca_ctx_flush_tasks(doca_urom_service_as_ctx(rig.host.service));
	close_host(&rig.host);
	puts("done");
	return conclusion();
}
