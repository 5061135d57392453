/* Every function of a context in every state: idle, starting, running and stopping. */
#ifndef TESTS_EVERY_STATE_H
#define TESTS_EVERY_STATE_H

#include "rig.h"

#include <urom_extensions.h>

#define OK DOCA_SUCCESS
#define BAD DOCA_ERROR_BAD_STATE
#define BUSY DOCA_ERROR_IN_USE
#define NO DOCA_ERROR_NOT_PERMITTED
#define SOON DOCA_ERROR_IN_PROGRESS
#define CHANGES UINT32_MAX /* the call would change the state, and is left out */

/* Expected codes by DOCA_CTX_STATE_*: idle, starting, running, stopping. */
typedef const uint32_t codes[4];

static codes while_idle = {OK, BAD, BAD, BAD}, while_running = {BAD, BAD, OK, BAD},
	     always = {OK, OK, OK, OK};
static codes connected = {NO, NO, NO, NO};

#define IN_STATE(wanted, function, ...)                                                          \
	do {                                                                                     \
		INSIST(state_of((void *)o) == state);                                            \
		if ((wanted)[state] != CHANGES) {                                                \
			char text_[200];                                                         \
                                                                                                 \
			note_call(#function);                                                    \
			snprintf(text_, sizeof(text_), "%s in state %d", #function, (int)state); \
			compare(__FILE__, __LINE__, text_, (wanted)[state],                      \
				(function)(__VA_ARGS__));                                        \
		}                                                                                \
		INSIST(state_of((void *)o) == state);                                            \
	} while (0)

static inline void worker_in_state(void *o, enum doca_ctx_states state, const struct rig *rig)
{
	static codes destroy = {CHANGES, BUSY, BUSY, BUSY}, start = {CHANGES, BAD, BAD, BAD};
	static codes stop = {OK, CHANGES, CHANGES, SOON};
	static char *const variables[] = {"UROM_NAME=value"};
	struct doca_urom_worker_cmd_task *task;
	struct urom_worker_health health;
	union doca_data data = {.u64 = 9};
	doca_cpu_set_t cpus;
	uint64_t id;
	uint32_t gid;
	size_t count;

	IN_STATE(destroy, doca_urom_worker_destroy, o);
	IN_STATE(while_idle, doca_urom_worker_set_service, o, rig->host.service);
	IN_STATE(while_idle, doca_urom_worker_set_id, o, 80);
	IN_STATE(while_idle, doca_urom_worker_set_plugins, o, rig->plugin);
	MUST(doca_urom_service_get_cpuset(rig->host.service, &cpus));
	IN_STATE(while_idle, doca_urom_worker_set_cpuset, o, cpus);
	IN_STATE(while_idle, doca_urom_worker_set_gid, o, 8);
	IN_STATE(while_idle, doca_urom_worker_set_max_inflight_tasks, o, 4);
	IN_STATE(while_idle, doca_urom_worker_set_env, o, variables, 1);
	IN_STATE(always, doca_urom_worker_get_id, o, &id);
	IN_STATE(always, doca_urom_worker_get_gid, o, &gid);
	IN_STATE(while_running, urom_worker_get_health, o, &health);
	IS(1, (void *)doca_urom_worker_as_ctx(o) == o);
	IN_STATE(while_running, doca_urom_worker_cmd_task_allocate, o, &task);
	if (state == DOCA_CTX_STATE_RUNNING)
		MUST(doca_urom_worker_cmd_task_release(task));
	IN_STATE(while_running, doca_urom_worker_cmd_task_allocate_init, o, rig->plugin, &task);
	if (state == DOCA_CTX_STATE_RUNNING)
		MUST(doca_urom_worker_cmd_task_release(task));
	IN_STATE(connected, doca_pe_connect_ctx, rig->host.pe, o);
	IN_STATE(start, doca_ctx_start, o);
	IN_STATE(stop, doca_ctx_stop, o);
	IN_STATE(always, doca_ctx_set_user_data, o, data);
	IN_STATE(always, doca_ctx_get_user_data, o, &data);
	IN_STATE(always, doca_ctx_set_state_changed_cb, o, NULL);
	IN_STATE(always, doca_ctx_get_num_inflight_tasks, o, &count);
}

/* A service starts synchronously, so the starting state is never visible. */
static inline void service_in_state(void *o, enum doca_ctx_states state, const struct rig *rig)
{
	static codes destroy = {CHANGES, CHANGES, NO, NO}, start = {CHANGES, CHANGES, BAD, BAD};
	static codes stop = {OK, OK, CHANGES, SOON},
		     no_plugin = {BAD, BAD, DOCA_ERROR_INVALID_VALUE, BAD};
	struct doca_urom_service_get_workers_by_gid_task *task;
	const struct doca_urom_service_plugin_info *plugins;
	doca_cpu_set_t cpus;
	uint64_t word;
	size_t count = 0;

	IN_STATE(destroy, doca_urom_service_destroy, o);
	IN_STATE(while_idle, doca_urom_service_set_max_comm_msg_size, o, 4096);
	IN_STATE(while_idle, doca_urom_service_set_max_workers, o, 8);
	IN_STATE(while_idle, doca_urom_service_set_dev, o, rig->host.device);
	IS(1, (void *)doca_urom_service_as_ctx(o) == o);
	IN_STATE(while_running, doca_urom_service_get_plugins_list, o, &plugins, &count);
	IN_STATE(while_running, doca_urom_service_get_cpuset, o, &cpus);
	IN_STATE(while_running, doca_urom_service_get_workers_by_gid_task_allocate, o, &task);
	if (state == DOCA_CTX_STATE_RUNNING)
		MUST(doca_urom_service_get_workers_by_gid_task_release(task));
	IN_STATE(while_running, doca_urom_service_get_workers_by_gid_task_allocate_init, o, 0, NULL,
		 &task);
	if (state == DOCA_CTX_STATE_RUNNING)
		MUST(doca_urom_service_get_workers_by_gid_task_release(task));
	/* In the idle state, these calls would change the service's address. */
	IN_STATE(start, urom_service_set_address, o, "127.0.0.1:1", NULL);
	IN_STATE(start, urom_service_set_embedded, o, NULL);
	IN_STATE(start, urom_service_set_key_file, o, "/nowhere");
	IN_STATE(while_idle, urom_service_set_any_device, o);
	/* Plugin 0 does not exist; only a running service can check that. */
	IN_STATE(no_plugin, urom_service_get_plugin_fingerprint, o, 0, &word);
	count = 0;
	IN_STATE(no_plugin, urom_service_get_plugin_description, o, 0, NULL, &count);
	IN_STATE(connected, doca_pe_connect_ctx, rig->host.pe, o);
	IN_STATE(start, doca_ctx_start, o);
	IN_STATE(stop, doca_ctx_stop, o);
}

/* A domain stops synchronously, so the stopping state is never visible. */
static inline void domain_in_state(void *o, enum doca_ctx_states state, const struct rig *rig,
				   struct doca_urom_worker *member)
{
	static codes destroy = {CHANGES, NO, NO, NO}, start = {CHANGES, BAD, BAD, BAD};
	static codes stop = {OK, CHANGES, CHANGES, CHANGES};
	struct doca_urom_domain_oob_coll oob = {gather_alone, gathered, gathered, NULL, 1, 0};
	static char blob[8];
	uint64_t id = 1;

	IN_STATE(destroy, doca_urom_domain_destroy, o);
	IN_STATE(while_idle, doca_urom_domain_set_oob, o, &oob);
	IN_STATE(while_idle, doca_urom_domain_set_workers, o, &id, &member, 1);
	IN_STATE(while_idle, doca_urom_domain_set_buffers_count, o, 1);
	IN_STATE(while_idle, doca_urom_domain_add_buffer, o, blob, 8, blob, 8, blob, 8);
	IS(1, (void *)doca_urom_domain_as_ctx(o) == o);
	IN_STATE(connected, doca_pe_connect_ctx, rig->host.pe, o);
	IN_STATE(start, doca_ctx_start, o);
	IN_STATE(stop, doca_ctx_stop, o);
}

#endif /* TESTS_EVERY_STATE_H */
