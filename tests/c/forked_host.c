/*
 * A host that forks after it has connected: its child connects again, as does a daemonized child.
 * Children by vfork() and posix_spawn() do not use the library.
 */
#include "rig.h"

#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static unsigned int loopbacks;

static void loopback_done(struct doca_urom_worker_cmd_task *task, union doca_data task_data,
			  union doca_data ctx_data)
{
	const uint64_t *words;
	size_t length;

	(void)ctx_data;
	IS(DOCA_SUCCESS, doca_task_get_status(doca_urom_worker_cmd_task_as_task(task)));
	words = answer_of(task, &length);
	INSIST(words != NULL && length == 16);
	IS(task_data.u64, words[1]);
	MUST(doca_urom_worker_cmd_task_release(task));
	++loopbacks;
}

/* Submits a command; the callback compares the answer's data. */
static void send(const struct rig *rig, struct doca_urom_worker *worker, uint64_t data)
{
	struct doca_urom_worker_cmd_task *task = loopback(rig, worker, data, loopback_done);
	union doca_data user = {.u64 = data};

	doca_task_set_user_data(doca_urom_worker_cmd_task_as_task(task), user);
	MUST(doca_task_submit(doca_urom_worker_cmd_task_as_task(task)));
}

static void await(const struct rig *rig, unsigned int count)
{
	while (loopbacks < count)
		next_event(rig->host.pe);
	loopbacks = 0;
}

static void works(uint64_t id)
{
	struct doca_urom_worker *worker;
	static struct rig rig;

	set_up(&rig, "worker_graph");
	worker = running_worker(&rig, rig.host.pe, id);
	for (uint64_t data = 0; data < 8; data++)
		send(&rig, worker, id << 8 | data);
	await(&rig, 8);
	end_worker(worker, rig.host.pe);
	close_host(&rig.host);
}

static void wait_for(pid_t child)
{
	int status;

	INSIST(child > 0);
	INSIST(waitpid(child, &status, 0) == child);
	IS(0, status);
}

int main(void)
{
	char *const arguments[] = {"true", NULL};
	struct doca_urom_worker *worker;
	struct rig rig;
	int report[2];
	char said;
	pid_t child;

	set_up(&rig, "worker_graph");
	worker = running_worker(&rig, rig.host.pe, 10);
	for (uint64_t round = 0; round < 4; round++) {
		for (uint64_t data = 0; data < 4; data++)
			send(&rig, worker, round << 8 | data);
		fflush(NULL);
		child = fork();
		INSIST(child >= 0);
		if (child == 0) {
			differences = 0;
			loopbacks = 0;
			/* A worker and its context have the same address. */
			EXPECT(DOCA_ERROR_BAD_STATE, doca_ctx_stop((void *)worker));
			EXPECT(DOCA_ERROR_BAD_STATE, doca_urom_worker_destroy(worker));
			IS(0, doca_pe_progress(rig.host.pe));
			works(20 + round);
			exit(differences != 0);
		}
		await(&rig, 4);
		wait_for(child);
	}

	INSIST(pipe(report) == 0);
	fflush(NULL);
	child = fork();
	INSIST(child >= 0);
	if (child == 0) {
		differences = 0;
		loopbacks = 0;
		INSIST(daemon(1, 1) == 0);
		works(30);
		said = differences == 0 ? 'y' : 'n';
		INSIST(write(report[1], &said, 1) == 1);
		exit(0);
	}
	wait_for(child);
	close(report[1]);
	INSIST(read(report[0], &said, 1) == 1);
	IS('y', said);

	send(&rig, worker, 7);
	child = vfork();
	if (child == 0)
		_exit(0);
	wait_for(child);
	INSIST(posix_spawnp(&child, "true", NULL, NULL, arguments, environ) == 0);
	wait_for(child);
	await(&rig, 1);
	end_worker(worker, rig.host.pe);
	close_host(&rig.host);
	return conclusion();
}
