/* A child by fork() that calls exit() must not wait for the library's threads. */
#include "rig.h"

#include <sys/wait.h>
#include <time.h>

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double life_of_child(void)
{
	const double begin = seconds();
	pid_t child;
	int status;

	fflush(NULL);
	child = fork();
	INSIST(child >= 0);
	if (child == 0)
		exit(0);
	INSIST(waitpid(child, &status, 0) == child);
	IS(0, status);
	return seconds() - begin;
}

int main(void)
{
	struct doca_urom_worker *worker;
	static struct rig rig;
	bool at_once = false;

	set_up(&rig, "worker_graph");
	worker = running_worker(&rig, rig.host.pe, 10);
	/* Several attempts, as the machine may be busy. */
	for (int at = 0; at < 5 && !at_once; ++at)
		at_once = life_of_child() < 1;
	IS(true, at_once);
	end_worker(worker, rig.host.pe);
	close_host(&rig.host);
	return conclusion();
}
