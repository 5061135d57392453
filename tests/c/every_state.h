/*
 * Every function of a context in every state: what may be done while it is idle, starts, runs and stops, by the table.
 */
#ifndef TESTS_EVERY_STATE_H
#define TESTS_EVERY_STATE_H

#include "rig.h"

#include <urom_extensions.h>

/* By DOCA_CTX_STATE_*. */
#define STATES 4

struct in_states {
	const char *name;
	doca_error_t (*call)(void *object, const struct rig *rig);
	doca_error_t wanted[STATES];
};

#define OK DOCA_SUCCESS
#define BAD DOCA_ERROR_BAD_STATE
#define BUSY DOCA_ERROR_IN_USE
#define NO DOCA_ERROR_NOT_PERMITTED
#define SOON DOCA_ERROR_IN_PROGRESS

/* A function for the table: `o` is the object, `rig` the host. */
#define IN_STATE(name, ...)                                                                                            \
	static doca_error_t state_##name(void *o, const struct rig *rig)                                               \
	{                                                                                                              \
		(void)rig;                                                                                             \
		__VA_ARGS__                                                                                            \
	}

/* ---- Workers ----------------------------------------------------------------------------------------------------- */

static char *const one_variable[] = {"UROM_NAME=value"};

IN_STATE(doca_urom_worker_destroy, return doca_urom_worker_destroy(o);)
IN_STATE(doca_urom_worker_set_service, return doca_urom_worker_set_service(o, rig->host.service);)
IN_STATE(doca_urom_worker_set_id, return doca_urom_worker_set_id(o, 80);)
IN_STATE(doca_urom_worker_set_plugins, return doca_urom_worker_set_plugins(o, rig->plugin);)
IN_STATE(doca_urom_worker_set_cpuset, doca_cpu_set_t cpus; MUST(doca_urom_service_get_cpuset(rig->host.service, &cpus));
	 return doca_urom_worker_set_cpuset(o, cpus);)
IN_STATE(doca_urom_worker_set_gid, return doca_urom_worker_set_gid(o, 8);)
IN_STATE(doca_urom_worker_set_max_inflight_tasks, return doca_urom_worker_set_max_inflight_tasks(o, 4);)
IN_STATE(doca_urom_worker_set_env, return doca_urom_worker_set_env(o, one_variable, 1);)
IN_STATE(doca_urom_worker_get_id, uint64_t id; return doca_urom_worker_get_id(o, &id);)
IN_STATE(doca_urom_worker_get_gid, uint32_t gid; return doca_urom_worker_get_gid(o, &gid);)
IN_STATE(urom_worker_get_health, struct urom_worker_health health; return urom_worker_get_health(o, &health);)
IN_STATE(doca_urom_worker_as_ctx, return doca_urom_worker_as_ctx(o) == o ? OK : BAD;)
IN_STATE(doca_urom_worker_cmd_task_allocate, struct doca_urom_worker_cmd_task *task;
	 doca_error_t code = doca_urom_worker_cmd_task_allocate(o, &task);
	 if (code == OK) MUST(doca_urom_worker_cmd_task_release(task)); return code;)
IN_STATE(doca_urom_worker_cmd_task_allocate_init, struct doca_urom_worker_cmd_task *task;
	 doca_error_t code = doca_urom_worker_cmd_task_allocate_init(o, rig->plugin, &task);
	 if (code == OK) MUST(doca_urom_worker_cmd_task_release(task)); return code;)
IN_STATE(doca_pe_connect_ctx, return doca_pe_connect_ctx(rig->host.pe, o);)
IN_STATE(doca_ctx_start, return doca_ctx_start(o);)
IN_STATE(doca_ctx_stop, return doca_ctx_stop(o);)
IN_STATE(doca_ctx_set_user_data, union doca_data data = {.u64 = 9}; return doca_ctx_set_user_data(o, data);)
IN_STATE(doca_ctx_get_user_data, union doca_data data; return doca_ctx_get_user_data(o, &data);)
IN_STATE(doca_ctx_set_state_changed_cb, return doca_ctx_set_state_changed_cb(o, NULL);)
IN_STATE(doca_ctx_get_num_inflight_tasks, size_t count; return doca_ctx_get_num_inflight_tasks(o, &count);)

static const struct in_states of_workers[] = {
	/*                                                                            IDLE  STARTING RUNNING STOPPING */
	{"doca_urom_worker_destroy", state_doca_urom_worker_destroy, {UINT32_MAX, BUSY, BUSY, BUSY}},
	{"doca_urom_worker_set_service", state_doca_urom_worker_set_service, {OK, BAD, BAD, BAD}},
	{"doca_urom_worker_set_id", state_doca_urom_worker_set_id, {OK, BAD, BAD, BAD}},
	{"doca_urom_worker_set_plugins", state_doca_urom_worker_set_plugins, {OK, BAD, BAD, BAD}},
	{"doca_urom_worker_set_cpuset", state_doca_urom_worker_set_cpuset, {OK, BAD, BAD, BAD}},
	{"doca_urom_worker_set_gid", state_doca_urom_worker_set_gid, {OK, BAD, BAD, BAD}},
	{"doca_urom_worker_set_max_inflight_tasks", state_doca_urom_worker_set_max_inflight_tasks, {OK, BAD, BAD, BAD}},
	{"doca_urom_worker_set_env", state_doca_urom_worker_set_env, {OK, BAD, BAD, BAD}},
	{"doca_urom_worker_get_id", state_doca_urom_worker_get_id, {OK, OK, OK, OK}},
	{"doca_urom_worker_get_gid", state_doca_urom_worker_get_gid, {OK, OK, OK, OK}},
	{"urom_worker_get_health", state_urom_worker_get_health, {BAD, BAD, OK, BAD}},
	{"doca_urom_worker_as_ctx", state_doca_urom_worker_as_ctx, {OK, OK, OK, OK}},
	{"doca_urom_worker_cmd_task_allocate", state_doca_urom_worker_cmd_task_allocate, {BAD, BAD, OK, BAD}},
	{"doca_urom_worker_cmd_task_allocate_init", state_doca_urom_worker_cmd_task_allocate_init, {BAD, BAD, OK, BAD}},
	{"doca_pe_connect_ctx", state_doca_pe_connect_ctx, {NO, NO, NO, NO}},
	{"doca_ctx_start", state_doca_ctx_start, {UINT32_MAX, BAD, BAD, BAD}},
	{"doca_ctx_stop", state_doca_ctx_stop, {OK, UINT32_MAX, UINT32_MAX, SOON}},
	{"doca_ctx_set_user_data", state_doca_ctx_set_user_data, {OK, OK, OK, OK}},
	{"doca_ctx_get_user_data", state_doca_ctx_get_user_data, {OK, OK, OK, OK}},
	{"doca_ctx_set_state_changed_cb", state_doca_ctx_set_state_changed_cb, {OK, OK, OK, OK}},
	{"doca_ctx_get_num_inflight_tasks", state_doca_ctx_get_num_inflight_tasks, {OK, OK, OK, OK}},
};

/* ---- Services ---------------------------------------------------------------------------------------------------- */

IN_STATE(doca_urom_service_destroy, return doca_urom_service_destroy(o);)
IN_STATE(doca_urom_service_set_max_comm_msg_size, return doca_urom_service_set_max_comm_msg_size(o, 4096);)
IN_STATE(doca_urom_service_set_max_workers, return doca_urom_service_set_max_workers(o, 8);)
IN_STATE(doca_urom_service_set_dev, return doca_urom_service_set_dev(o, rig->host.device);)
IN_STATE(doca_urom_service_as_ctx, return doca_urom_service_as_ctx(o) == o ? OK : BAD;)
IN_STATE(doca_urom_service_get_plugins_list, const struct doca_urom_service_plugin_info *plugins; size_t count;
	 return doca_urom_service_get_plugins_list(o, &plugins, &count);)
IN_STATE(doca_urom_service_get_cpuset, doca_cpu_set_t cpus; return doca_urom_service_get_cpuset(o, &cpus);)
IN_STATE(doca_urom_service_get_workers_by_gid_task_allocate, struct doca_urom_service_get_workers_by_gid_task *task;
	 doca_error_t code = doca_urom_service_get_workers_by_gid_task_allocate(o, &task);
	 if (code == OK) MUST(doca_urom_service_get_workers_by_gid_task_release(task)); return code;)
IN_STATE(doca_urom_service_get_workers_by_gid_task_allocate_init, struct doca_urom_service_get_workers_by_gid_task *task;
	 doca_error_t code = doca_urom_service_get_workers_by_gid_task_allocate_init(o, 0, NULL, &task);
	 if (code == OK) MUST(doca_urom_service_get_workers_by_gid_task_release(task)); return code;)
IN_STATE(urom_service_set_address, return urom_service_set_address(o, "127.0.0.1:1", NULL);)
IN_STATE(urom_service_set_embedded, return urom_service_set_embedded(o, NULL);)
IN_STATE(urom_service_set_key_file, return urom_service_set_key_file(o, "/nowhere");)
IN_STATE(urom_service_set_any_device, return urom_service_set_any_device(o);)
/* There is no plugin 0, which only a service that runs can tell. */
IN_STATE(urom_service_get_plugin_fingerprint, uint64_t word; return urom_service_get_plugin_fingerprint(o, 0, &word);)
IN_STATE(urom_service_get_plugin_description, size_t length = 0;
	 return urom_service_get_plugin_description(o, 0, NULL, &length);)

/* A service starts at once, so it is never seen starting. */
static const struct in_states of_services[] = {
	{"doca_urom_service_destroy", state_doca_urom_service_destroy, {UINT32_MAX, UINT32_MAX, NO, NO}},
	{"doca_urom_service_set_max_comm_msg_size", state_doca_urom_service_set_max_comm_msg_size, {OK, OK, BAD, BAD}},
	{"doca_urom_service_set_max_workers", state_doca_urom_service_set_max_workers, {OK, OK, BAD, BAD}},
	{"doca_urom_service_set_dev", state_doca_urom_service_set_dev, {OK, OK, BAD, BAD}},
	{"doca_urom_service_as_ctx", state_doca_urom_service_as_ctx, {OK, OK, OK, OK}},
	{"doca_urom_service_get_plugins_list", state_doca_urom_service_get_plugins_list, {BAD, BAD, OK, BAD}},
	{"doca_urom_service_get_cpuset", state_doca_urom_service_get_cpuset, {BAD, BAD, OK, BAD}},
	{"doca_urom_service_get_workers_by_gid_task_allocate", state_doca_urom_service_get_workers_by_gid_task_allocate,
	 {BAD, BAD, OK, BAD}},
	{"doca_urom_service_get_workers_by_gid_task_allocate_init",
	 state_doca_urom_service_get_workers_by_gid_task_allocate_init, {BAD, BAD, OK, BAD}},
	{"urom_service_set_address", state_urom_service_set_address, {UINT32_MAX, UINT32_MAX, BAD, BAD}},
	{"urom_service_set_embedded", state_urom_service_set_embedded, {UINT32_MAX, UINT32_MAX, BAD, BAD}},
	{"urom_service_set_key_file", state_urom_service_set_key_file, {UINT32_MAX, UINT32_MAX, BAD, BAD}},
	{"urom_service_set_any_device", state_urom_service_set_any_device, {OK, OK, BAD, BAD}},
	{"urom_service_get_plugin_fingerprint", state_urom_service_get_plugin_fingerprint,
	 {BAD, BAD, DOCA_ERROR_INVALID_VALUE, BAD}},
	{"urom_service_get_plugin_description", state_urom_service_get_plugin_description,
	 {BAD, BAD, DOCA_ERROR_INVALID_VALUE, BAD}},
	{"doca_pe_connect_ctx", state_doca_pe_connect_ctx, {NO, NO, NO, NO}},
	{"doca_ctx_start", state_doca_ctx_start, {UINT32_MAX, UINT32_MAX, BAD, BAD}},
	{"doca_ctx_stop", state_doca_ctx_stop, {OK, OK, UINT32_MAX, SOON}},
};

/* ---- Domains ----------------------------------------------------------------------------------------------------- */

static struct doca_urom_worker *member; /* of the domains below */

IN_STATE(doca_urom_domain_destroy, return doca_urom_domain_destroy(o);)
IN_STATE(doca_urom_domain_set_oob, struct doca_urom_domain_oob_coll oob = {gather_alone, gathered, gathered, NULL, 1, 0};
	 return doca_urom_domain_set_oob(o, &oob);)
IN_STATE(doca_urom_domain_set_workers, uint64_t id = 1; return doca_urom_domain_set_workers(o, &id, &member, 1);)
IN_STATE(doca_urom_domain_set_buffers_count, return doca_urom_domain_set_buffers_count(o, 1);)
IN_STATE(doca_urom_domain_add_buffer, static char blob[8]; return doca_urom_domain_add_buffer(o, blob, 8, blob, 8, blob, 8);)
IN_STATE(doca_urom_domain_as_ctx, return doca_urom_domain_as_ctx(o) == o ? OK : BAD;)

/* A domain stops at once, so it is never seen stopping. */
static const struct in_states of_domains[] = {
	{"doca_urom_domain_destroy", state_doca_urom_domain_destroy, {UINT32_MAX, NO, NO, NO}},
	{"doca_urom_domain_set_oob", state_doca_urom_domain_set_oob, {OK, BAD, BAD, BAD}},
	{"doca_urom_domain_set_workers", state_doca_urom_domain_set_workers, {OK, BAD, BAD, BAD}},
	{"doca_urom_domain_set_buffers_count", state_doca_urom_domain_set_buffers_count, {OK, BAD, BAD, BAD}},
	{"doca_urom_domain_add_buffer", state_doca_urom_domain_add_buffer, {OK, BAD, BAD, BAD}},
	{"doca_urom_domain_as_ctx", state_doca_urom_domain_as_ctx, {OK, OK, OK, OK}},
	{"doca_pe_connect_ctx", state_doca_pe_connect_ctx, {NO, NO, NO, NO}},
	{"doca_ctx_start", state_doca_ctx_start, {UINT32_MAX, BAD, BAD, BAD}},
	{"doca_ctx_stop", state_doca_ctx_stop, {OK, UINT32_MAX, UINT32_MAX, UINT32_MAX}},
};

/* Makes every call of a table on a context that is in a state, and stays in it. UINT32_MAX: that call would change it. */
static inline void in_state(const struct in_states *table, size_t count, void *object, enum doca_ctx_states state,
			    const struct rig *rig)
{
	static const char *const names[STATES] = {"idle", "starting", "running", "stopping"};
	size_t at;

	for (at = 0; at < count; ++at) {
		char text[200];

		if (table[at].wanted[state] == UINT32_MAX)
			continue;
		INSIST(state_of(object) == state);
		note_call(table[at].name);
		snprintf(text, sizeof(text), "%s while %s", table[at].name, names[state]);
		compare("every_state.h", 0, text, table[at].wanted[state], table[at].call(object, rig));
	}
	INSIST(state_of(object) == state);
}

#define IN_STATE_OF(table, object, state, rig) in_state(table, sizeof(table) / sizeof(*(table)), object, state, rig)

#endif /* TESTS_EVERY_STATE_H */
