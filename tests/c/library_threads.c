/* The library's threads block a program's signals. */
#include "rig.h"

#include <dirent.h>
#include <signal.h>

/* The blocked signals of a thread, bit 0 for signal 1. */
static uint64_t blocked_by(const char *thread)
{
	char path[300], line[200];
	uint64_t mask = 0;
	FILE *status;

	snprintf(path, sizeof(path), "/proc/self/task/%s/status", thread);
	status = fopen(path, "r");
	INSIST(status != NULL);
	while (fgets(line, sizeof(line), status) != NULL)
		if (sscanf(line, "SigBlk: %" SCNx64, &mask) == 1)
			break;
	fclose(status);
	return mask;
}

/* Checks that a thread blocks the program's signals, but not signals of its own faults. */
static void check_thread(const char *thread)
{
	static const int others[] = {SIGINT,  SIGTERM, SIGHUP,  SIGUSR1,
				     SIGUSR2, SIGALRM, SIGCHLD, SIGPIPE};
	static const int own[] = {SIGSEGV, SIGBUS, SIGABRT, SIGPROF};
	const uint64_t blocked = blocked_by(thread);

	for (size_t at = 0; at < sizeof(others) / sizeof(*others); ++at)
		IS(1, (int)(blocked >> (others[at] - 1) & 1));
	for (size_t at = 0; at < sizeof(own) / sizeof(*own); ++at)
		IS(0, (int)(blocked >> (own[at] - 1) & 1));
}

int main(void)
{
	struct doca_urom_worker *worker;
	static struct rig rig;
	struct dirent *entry;
	char main_thread[32];
	int others = 0;
	DIR *threads;

	set_up(&rig, "worker_graph");
	worker = running_worker(&rig, rig.host.pe, 10);
	snprintf(main_thread, sizeof(main_thread), "%d", (int)getpid());
	IS(0, blocked_by(main_thread) != 0);
	threads = opendir("/proc/self/task");
	INSIST(threads != NULL);
	while ((entry = readdir(threads)) != NULL) {
		if (entry->d_name[0] == '.' || !strcmp(entry->d_name, main_thread))
			continue;
		check_thread(entry->d_name);
		++others;
	}
	closedir(threads);
	/* At least the thread of the control streams. */
	IS(1, others > 0);
	end_worker(worker, rig.host.pe);
	close_host(&rig.host);
	return conclusion();
}
