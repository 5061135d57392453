/*
 * A host in C that sends loopbacks, for the benchmark. Arguments: the device, the worker's id, this host's core, the most
 * commands in flight.
 *
 * It joins the worker, and for each line "[TRIPS,DEPTH]" it reads it makes so many round trips, up to DEPTH of them at the same
 * time, and writes a line {"begin":NS,"end":NS,"histogram":null} of the monotonic clock.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <time.h>

#include "graph_client.h"

/* As the host in Rust does before each round. */
#define WARM_UP 1000

struct state {
	struct doca_pe *pe;
	struct doca_urom_worker *worker;
	uint64_t plugin;
	uint64_t answered;
};

static void answered(doca_error_t result, union doca_data cookie, uint64_t data)
{
	struct state *state = cookie.ptr;

	MUST(result);
	INSIST(data == state->answered);
	state->answered++;
}

static void trips(struct state *state, uint64_t count, uint64_t depth)
{
	const union doca_data cookie = {.ptr = state};
	uint64_t sent = 0;

	state->answered = 0;
	while (state->answered < count) {
		while (sent < count && sent - state->answered < depth) {
			MUST(graph_task_loopback(state->worker, state->plugin, sent, cookie, answered));
			sent++;
		}
		doca_pe_progress(state->pe);
	}
}

static uint64_t now(void)
{
	struct timespec time;

	INSIST(clock_gettime(CLOCK_MONOTONIC, &time) == 0);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

int main(int count, char **arguments)
{
	const struct doca_urom_service_plugin_info *graph;
	struct settings settings = {0};
	struct state state = {0};
	struct host host = {0};
	uint64_t wanted, depth;
	char line[100];
	FILE *answers;
	cpu_set_t cpus;

	INSIST(count == 5);
	/* What host.h says is log here. */
	answers = fdopen(dup(STDOUT_FILENO), "w");
	INSIST(answers != NULL && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0);
	open_host(&host, arguments[1], 8);
	graph = find_plugin(&host, GRAPH_PLUGIN);
	INSIST(graph != NULL);
	settings.id = strtoull(arguments[2], NULL, 10);
	settings.plugins = graph->id;
	settings.tasks = (uint32_t)strtoul(arguments[4], NULL, 10);
	state.pe = host.pe;
	state.plugin = graph->id;
	state.worker = run_worker(host.service, host.pe, &settings);
	CPU_ZERO(&cpus);
	CPU_SET(strtoul(arguments[3], NULL, 10), &cpus);
	INSIST(sched_setaffinity(0, sizeof(cpus), &cpus) == 0);

	while (fgets(line, sizeof(line), stdin) != NULL) {
		uint64_t begin;

		INSIST(sscanf(line, "[%" SCNu64 ",%" SCNu64 "]", &wanted, &depth) == 2);
		trips(&state, wanted < WARM_UP ? wanted : WARM_UP, 1);
		begin = now();
		trips(&state, wanted, depth);
		fprintf(answers, "{\"begin\":%" PRIu64 ",\"end\":%" PRIu64 ",\"histogram\":null}\n", begin, now());
		fflush(answers);
	}
	end_worker(state.worker, host.pe);
	close_host(&host);
	return 0;
}
