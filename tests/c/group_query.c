/*
 * Queries the embedded service's CPUs and a group, and frees the query with the generic call.
 * Prints the CPUs below 16, or the error of the service's start.
 */
#include <doca_ctx.h>
#include <doca_pe.h>
#include <doca_urom.h>
#include <urom_extensions.h>

#include "check.h"

static int completions;

static void completed(struct doca_urom_service_get_workers_by_gid_task *task,
		      union doca_data task_data, union doca_data ctx_data)
{
	(void)ctx_data;
	INSIST(doca_urom_service_get_workers_by_gid_task_get_workers_count(task) == 0);
	completions++;
	/* Zero: the program frees the task after its completion. */
	if (task_data.u64 != 0)
		doca_task_free(doca_urom_service_get_workers_by_gid_task_as_task(task));
}

static void query(struct doca_urom_service *service, struct doca_pe *pe, uint64_t free_in_callback)
{
	struct doca_urom_service_get_workers_by_gid_task *query;
	union doca_data data = {.u64 = free_in_callback};
	struct doca_task *task;

	MUST(doca_urom_service_get_workers_by_gid_task_allocate_init(service, 5, completed,
								     &query));
	task = doca_urom_service_get_workers_by_gid_task_as_task(query);
	doca_task_set_user_data(task, data);
	completions = 0;
	MUST(doca_task_try_submit(task));
	EXPECT(DOCA_ERROR_NOT_PERMITTED, doca_task_try_submit(task));
	/* In flight: the call does nothing. */
	doca_task_free(task);
	while (completions == 0)
		doca_pe_progress(pe);
	if (!free_in_callback) {
		MUST(doca_task_get_status(task));
		doca_task_free(task);
	}
}

int main(void)
{
	struct doca_devinfo **list;
	struct doca_urom_service *service;
	struct doca_dev *dev;
	struct doca_pe *pe;
	doca_cpu_set_t cpus;
	uint32_t count;
	doca_error_t result;
	int cpu;

	MUST(doca_devinfo_create_list(&list, &count));
	MUST(doca_dev_open(list[0], &dev));
	MUST(doca_devinfo_destroy_list(list));
	MUST(doca_pe_create(&pe));
	MUST(doca_urom_service_create(&service));
	MUST(doca_urom_service_set_dev(service, dev));
	MUST(doca_urom_service_set_max_workers(service, 4));
	MUST(doca_pe_connect_ctx(pe, doca_urom_service_as_ctx(service)));
	result = doca_ctx_start(doca_urom_service_as_ctx(service));
	if (result == DOCA_SUCCESS) {
		MUST(doca_urom_service_get_cpuset(service, &cpus));
		for (cpu = 0; cpu < 16; cpu++)
			if (doca_cpu_is_set(cpu, &cpus))
				printf("%d ", cpu);
		query(service, pe, 0);
		query(service, pe, 1);
		MUST(doca_ctx_stop(doca_urom_service_as_ctx(service)));
		puts("done");
	} else {
		char text[1024];
		size_t len =
			urom_ctx_get_failure(doca_urom_service_as_ctx(service), text, sizeof(text));

		INSIST(len <= sizeof(text));
		printf("%s: %.*s\n", doca_error_get_name(result), (int)len, text);
	}
	MUST(doca_urom_service_destroy(service));
	MUST(doca_pe_destroy(pe));
	MUST(doca_dev_close(dev));
	return 0;
}
