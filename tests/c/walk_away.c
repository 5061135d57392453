/*
 * A host that exits without cleanup, like UCC's client: it stops and destroys service and engine
 * while its worker is running, and checks the errors. The argument selects another way to exit.
 */
#include "rig.h"

static void never(struct doca_urom_worker_cmd_task *task, union doca_data task_data,
		  union doca_data ctx_data)
{
	(void)task, (void)task_data, (void)ctx_data;
	INSIST(!"nobody progresses");
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	struct doca_urom_worker *worker;
	struct doca_urom_domain *domain;
	struct rig rig;
	int at;

	set_up(&rig, "worker_graph");
	if (!strcmp(how, "starting")) {
		/* Some of these workers are still starting at the exit. */
		for (at = 0; at < 8; ++at) {
			worker = new_worker(&rig, rig.host.pe, 20 + at);
			GIVES(DOCA_ERROR_IN_PROGRESS, doca_ctx_start,
			      doca_urom_worker_as_ctx(worker));
		}
		exit(conclusion());
	}
	worker = running_worker(&rig, rig.host.pe, 10);
	domain = new_domain(rig.host.pe, worker, 0);
	GIVES(DOCA_ERROR_IN_PROGRESS, doca_ctx_start, doca_urom_domain_as_ctx(domain));
	IS(1,
	   progress_while(rig.host.pe, doca_urom_domain_as_ctx(domain), DOCA_CTX_STATE_STARTING));
	for (at = 0; at < 16; ++at)
		MUST(doca_task_submit(
			doca_urom_worker_cmd_task_as_task(loopback(&rig, worker, at, never))));
	if (!strcmp(how, "exit"))
		exit(conclusion());
	if (!strcmp(how, "stopping")) {
		GIVES(DOCA_ERROR_IN_PROGRESS, doca_ctx_stop, doca_urom_worker_as_ctx(worker));
		return conclusion();
	}
	GIVES(DOCA_SUCCESS, doca_ctx_stop, doca_urom_domain_as_ctx(domain));
	GIVES(DOCA_SUCCESS, doca_urom_domain_destroy, domain);
	GIVES(DOCA_ERROR_IN_USE, doca_ctx_stop, doca_urom_service_as_ctx(rig.host.service));
	GIVES(DOCA_ERROR_NOT_PERMITTED, doca_urom_service_destroy, rig.host.service);
	GIVES(DOCA_ERROR_IN_USE, doca_pe_destroy, rig.host.pe);
	GIVES(DOCA_ERROR_IN_USE, doca_dev_close, rig.host.device);
	return conclusion();
}
