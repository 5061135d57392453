/*
 * A running service for misuse tests, and helpers that make workers, commands and domains. The
 * environment selects the service.
 */
#ifndef TESTS_RIG_H
#define TESTS_RIG_H

#include "host.h"

#include "expect.h"

struct rig {
	struct host host;
	uint64_t plugin;
};

static inline void set_up(struct rig *rig, const char *plugin)
{
	const struct doca_urom_service_plugin_info *info;

	open_host(&rig->host, "mlx5_0", 32);
	info = find_plugin(&rig->host, plugin);
	INSIST(info != NULL);
	rig->plugin = info->id;
}

static inline struct doca_urom_worker *new_worker(const struct rig *rig, struct doca_pe *pe,
						  uint64_t id)
{
	const struct settings settings = {.id = id, .plugins = rig->plugin, .tasks = 16};

	return create_worker(rig->host.service, pe, &settings);
}

static inline struct doca_urom_worker *running_worker(const struct rig *rig, struct doca_pe *pe,
						      uint64_t id)
{
	const struct settings settings = {.id = id, .plugins = rig->plugin, .tasks = 16};

	return run_worker(rig->host.service, pe, &settings);
}

/* A loopback command of the graph plugin, not yet submitted. */
static inline struct doca_urom_worker_cmd_task *
loopback(const struct rig *rig, struct doca_urom_worker *worker, uint64_t data,
	 doca_urom_worker_cmd_task_completion_cb_t done)
{
	struct doca_urom_worker_cmd_task *task;
	const uint64_t words[2] = {0, data};
	void *bytes;

	MUST(new_command(worker, rig->plugin, sizeof(words), &task, &bytes));
	memcpy(bytes, words, sizeof(words));
	doca_urom_worker_cmd_task_set_cb(task, done);
	return task;
}

static inline uint8_t next_event(struct doca_pe *pe)
{
	uint8_t event;

	do
		event = progress_and_wait(pe);
	while (event == 0);
	return event;
}

static inline doca_error_t gather_alone(void *sbuf, void *rbuf, size_t msglen, void *coll_info,
					void **req)
{
	(void)coll_info;
	memcpy(rbuf, sbuf, msglen);
	*req = rbuf;
	return DOCA_SUCCESS;
}

static inline doca_error_t gathered(void *req)
{
	(void)req;
	return DOCA_SUCCESS;
}

static inline struct doca_urom_domain *new_domain(struct doca_pe *pe,
						  struct doca_urom_worker *worker, uint64_t id)
{
	struct doca_urom_domain_oob_coll oob = {gather_alone, gathered, gathered, NULL, 1, 0};
	struct doca_urom_domain *domain;

	MUST(doca_urom_domain_create(&domain));
	MUST(doca_pe_connect_ctx(pe, doca_urom_domain_as_ctx(domain)));
	MUST(doca_urom_domain_set_oob(domain, &oob));
	MUST(doca_urom_domain_set_workers(domain, &id, &worker, 1));
	return domain;
}

#endif /* TESTS_RIG_H */
