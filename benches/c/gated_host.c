/* A host in C of the plugin in its argument, at a gate in its worker. */
#include "gate.h"
#include "graph_client.h"

#define TASKS 64

struct gated_host {
	struct doca_pe *pe;
	struct doca_urom_worker *worker;
	uint64_t plugin;
	unsigned int answers;
};

static void answered(doca_error_t result, union doca_data cookie, uint64_t data)
{
	struct gated_host *host = cookie.ptr;

	(void)data;
	INSIST(result == DOCA_SUCCESS);
	host->answers++;
}

static void submit_loopbacks(void *of, unsigned int count)
{
	struct gated_host *host = of;
	const union doca_data cookie = {.ptr = host};

	host->answers = 0;
	for (unsigned int sent = 0; sent < count; sent++)
		MUST(graph_task_loopback(host->worker, host->plugin, sent, cookie, answered));
}

static void take_answers(void *of, unsigned int count)
{
	struct gated_host *host = of;

	while (host->answers < count)
		doca_pe_progress(host->pe);
}

int main(int argc, char **argv)
{
	const struct doca_urom_service_plugin_info *plugin, *gates;
	struct settings settings = {.id = 5, .tasks = TASKS};
	struct gated_host host = {0}, other;
	struct gate gate;
	struct host service;

	gate_init(&gate);
	open_host(&service, "mlx5_0", 2);
	plugin = find_plugin(&service, argc > 1 ? argv[1] : GRAPH_PLUGIN);
	gates = find_plugin(&service, "worker_gate");
	INSIST(plugin != NULL && gates != NULL);
	settings.plugins = plugin->id | gates->id;
	host.pe = service.pe;
	host.worker = run_worker(service.service, host.pe, &settings);
	host.plugin = plugin->id;
	/* A separate connection, so that the first one is idle at the start of a round. */
	other = host;
	other.worker = run_worker(service.service, host.pe, &settings);
	MUST(graph_task_loopback(other.worker, gates->id, (uintptr_t)&gate,
				 (union doca_data){.ptr = &other}, answered));
	gate_rounds(&gate, submit_loopbacks, take_answers, &host);
	take_answers(&other, 1);
	end_worker(other.worker, host.pe);
	end_worker(host.worker, host.pe);
	close_host(&service);
	return 0;
}
