/*
 * Every function that takes an object, called with NULL, with every other kind of object, and with objects that are
 * destroyed: INVALID_VALUE, NULL or 0, and nothing else happens.
 */
#ifndef TESTS_EVERY_POINTER_H
#define TESTS_EVERY_POINTER_H

#include "rig.h"

#include <urom_extensions.h>

/* What a pointer can stand for; the context of a service, a worker or a domain is the object itself. */
enum kind {
	SERVICE = 1,
	WORKER = 2,
	DOMAIN = 4,
	CTX = SERVICE | WORKER | DOMAIN,
	ENGINE = 8,
	DEVICE_INFO = 16,
	DEVICE = 32,
	COMMAND = 64,
	QUERY = 128,
	TASK = COMMAND | QUERY,
	BUFFER = 256,
	NOTHING = 0,
};

/* What the functions are given beside the object. */
static struct {
	void *pointer;
	size_t size;
	uint64_t word;
	uint32_t half;
	uint8_t byte;
	int number;
	char text[256];
	doca_cpu_set_t cpus;
	union doca_data data;
	const struct doca_urom_service_plugin_info *plugins;
	enum doca_ctx_states state;
	struct doca_urom_domain_oob_coll oob;
	struct urom_worker_health health;
	const char *env[1];
	struct doca_urom_service *service; /* a live one */
	struct doca_pe *pe;		   /* a live one */
} given;

static inline void no_command_done(struct doca_urom_worker_cmd_task *task, union doca_data task_data,
				   union doca_data ctx_data)
{
	(void)task, (void)task_data, (void)ctx_data;
	INSIST(!"a command that was never submitted completes");
}

static inline void no_query_done(struct doca_urom_service_get_workers_by_gid_task *task, union doca_data task_data,
				 union doca_data ctx_data)
{
	(void)task, (void)task_data, (void)ctx_data;
	INSIST(!"a query that was never submitted completes");
}

static inline void no_state_changed(const union doca_data data, struct doca_ctx *ctx, enum doca_ctx_states before,
				    enum doca_ctx_states after)
{
	(void)data, (void)ctx, (void)before, (void)after;
	INSIST(!"a context that nobody started changes");
}

/* One function called with something that should not be. */
struct attempt {
	const char *name;
	enum kind takes;
	uint64_t (*call)(void *object);
	uint64_t refusal;
};

/* A call that gives a code, one that gives a number or a pointer, and one that gives nothing. */
#define CODE(function, takes, ...)                                                                                     \
	static uint64_t try_##function(void *o) { return function(__VA_ARGS__); }
#define VALUE(function, takes, ...)                                                                                    \
	static uint64_t try_##function(void *o) { return (uint64_t)function(__VA_ARGS__); }
#define SILENT(function, takes, ...)                                                                                   \
	static uint64_t try_##function(void *o) { return function(__VA_ARGS__), 0; }

#define SERVICE_FUNCTIONS(CODE, VALUE, SILENT)                                                                         \
	CODE(doca_urom_service_destroy, SERVICE, o)                                                                    \
	CODE(doca_urom_service_set_max_comm_msg_size, SERVICE, o, 4096)                                                \
	CODE(doca_urom_service_set_max_workers, SERVICE, o, 4)                                                         \
	CODE(doca_urom_service_set_dev, SERVICE, o, given.pointer)                                                     \
	VALUE(doca_urom_service_as_ctx, SERVICE, o)                                                                    \
	CODE(doca_urom_service_get_plugins_list, SERVICE, o, &given.plugins, &given.size)                              \
	CODE(doca_urom_service_get_cpuset, SERVICE, o, &given.cpus)                                                    \
	CODE(doca_urom_service_get_workers_by_gid_task_allocate, SERVICE, o, (void *)&given.pointer)                   \
	CODE(doca_urom_service_get_workers_by_gid_task_allocate_init, SERVICE, o, 0, no_query_done,                    \
	     (void *)&given.pointer)                                                                                   \
	CODE(doca_urom_service_get_workers_by_gid_task_release, QUERY, o)                                              \
	SILENT(doca_urom_service_get_workers_by_gid_task_set_gid, QUERY, o, 1)                                         \
	SILENT(doca_urom_service_get_workers_by_gid_task_set_cb, QUERY, o, no_query_done)                              \
	VALUE(doca_urom_service_get_workers_by_gid_task_get_workers_count, QUERY, o)                                   \
	VALUE(doca_urom_service_get_workers_by_gid_task_get_worker_ids, QUERY, o)                                      \
	VALUE(doca_urom_service_get_workers_by_gid_task_as_task, QUERY, o)                                             \
	CODE(urom_service_set_address, SERVICE, o, "host:1", "the test")                                               \
	CODE(urom_service_set_embedded, SERVICE, o, "/nowhere")                                                        \
	CODE(urom_service_set_key_file, SERVICE, o, "/nowhere")                                                        \
	CODE(urom_service_set_any_device, SERVICE, o)                                                                  \
	CODE(urom_service_get_plugin_fingerprint, SERVICE, o, 1, &given.word)                                          \
	CODE(urom_service_get_plugin_description, SERVICE, o, 1, given.text, &given.size)

#define WORKER_FUNCTIONS(CODE, VALUE, SILENT)                                                                          \
	CODE(doca_urom_worker_destroy, WORKER, o)                                                                      \
	CODE(doca_urom_worker_set_service, WORKER, o, given.service)                                                   \
	CODE(doca_urom_worker_set_id, WORKER, o, 1)                                                                    \
	CODE(doca_urom_worker_set_plugins, WORKER, o, 1)                                                               \
	CODE(doca_urom_worker_set_cpuset, WORKER, o, given.cpus)                                                       \
	CODE(doca_urom_worker_set_gid, WORKER, o, 1)                                                                   \
	CODE(doca_urom_worker_set_max_inflight_tasks, WORKER, o, 2)                                                    \
	CODE(doca_urom_worker_set_env, WORKER, o, (char *const *)given.env, 1)                                         \
	CODE(doca_urom_worker_get_id, WORKER, o, &given.word)                                                          \
	CODE(doca_urom_worker_get_gid, WORKER, o, &given.half)                                                         \
	CODE(urom_worker_get_health, WORKER, o, &given.health)                                                         \
	VALUE(doca_urom_worker_as_ctx, WORKER, o)                                                                      \
	CODE(doca_urom_worker_cmd_task_allocate, WORKER, o, (void *)&given.pointer)                                    \
	CODE(doca_urom_worker_cmd_task_allocate_init, WORKER, o, 1, (void *)&given.pointer)                            \
	CODE(doca_urom_worker_cmd_task_release, COMMAND, o)                                                            \
	SILENT(doca_urom_worker_cmd_task_set_plugin, COMMAND, o, 1)                                                    \
	SILENT(doca_urom_worker_cmd_task_set_cb, COMMAND, o, no_command_done)                                          \
	VALUE(doca_urom_worker_cmd_task_get_payload, COMMAND, o)                                                       \
	VALUE(doca_urom_worker_cmd_task_get_response, COMMAND, o)                                                      \
	VALUE(doca_urom_worker_cmd_task_get_user_data, COMMAND, o)                                                     \
	VALUE(urom_worker_cmd_task_get_end, COMMAND, o)                                                                \
	VALUE(doca_urom_worker_cmd_task_as_task, COMMAND, o)

#define DOMAIN_FUNCTIONS(CODE, VALUE, SILENT)                                                                          \
	CODE(doca_urom_domain_destroy, DOMAIN, o)                                                                      \
	CODE(doca_urom_domain_set_buffers_count, DOMAIN, o, 1)                                                         \
	CODE(doca_urom_domain_add_buffer, DOMAIN, o, given.text, 8, given.text, 8, given.text, 8)                      \
	CODE(doca_urom_domain_set_oob, DOMAIN, o, &given.oob)                                                          \
	CODE(doca_urom_domain_set_workers, DOMAIN, o, &given.word, (void *)&given.pointer, 1)                          \
	VALUE(doca_urom_domain_as_ctx, DOMAIN, o)

#define CORE_FUNCTIONS(CODE, VALUE, SILENT)                                                                            \
	CODE(doca_ctx_start, CTX, o)                                                                                   \
	CODE(doca_ctx_stop, CTX, o)                                                                                    \
	CODE(doca_ctx_get_state, CTX, o, &given.state)                                                                 \
	CODE(doca_ctx_set_user_data, CTX, o, given.data)                                                               \
	CODE(doca_ctx_get_user_data, CTX, o, &given.data)                                                              \
	CODE(doca_ctx_set_state_changed_cb, CTX, o, no_state_changed)                                                  \
	CODE(doca_ctx_get_num_inflight_tasks, CTX, o, &given.size)                                                     \
	CODE(urom_ctx_get_failure_code, CTX, o)                                                                        \
	VALUE(urom_ctx_get_failure, CTX, o, given.text, sizeof(given.text))                                            \
	CODE(doca_pe_destroy, ENGINE, o)                                                                               \
	CODE(doca_pe_connect_ctx, CTX, given.pe, o)                                                                    \
	VALUE(doca_pe_progress, ENGINE, o)                                                                             \
	VALUE(urom_pe_progress_many, ENGINE, o)                                                                        \
	CODE(doca_pe_get_num_inflight_tasks, ENGINE, o, &given.size)                                                   \
	CODE(doca_pe_get_notification_handle, ENGINE, o, &given.number)                                                \
	CODE(doca_pe_request_notification, ENGINE, o)                                                                  \
	CODE(doca_pe_clear_notification, ENGINE, o, 0)                                                                 \
	CODE(doca_task_submit, TASK, o)                                                                                \
	CODE(doca_task_try_submit, TASK, o)                                                                            \
	SILENT(doca_task_free, TASK, o)                                                                                \
	CODE(doca_task_get_status, TASK, o)                                                                            \
	SILENT(doca_task_set_user_data, TASK, o, given.data)                                                           \
	VALUE(doca_task_get_ctx, TASK, o)                                                                              \
	CODE(doca_buf_get_data, BUFFER, o, &given.pointer)                                                             \
	CODE(doca_buf_get_data_len, BUFFER, o, &given.size)                                                            \
	CODE(doca_buf_set_data, BUFFER, o, given.text, 1)                                                              \
	CODE(doca_devinfo_get_ibdev_name, DEVICE_INFO, o, given.text, DOCA_DEVINFO_IBDEV_NAME_SIZE)                    \
	CODE(doca_devinfo_get_pci_addr_str, DEVICE_INFO, o, given.text)                                                \
	CODE(doca_devinfo_get_iface_name, DEVICE_INFO, o, given.text, DOCA_DEVINFO_IFACE_NAME_SIZE)                    \
	CODE(doca_devinfo_is_equal_pci_addr, DEVICE_INFO, o, "0000:00:00.0", &given.byte)                              \
	CODE(doca_devinfo_destroy_list, NOTHING, o)                                                                    \
	CODE(doca_dev_open, DEVICE_INFO, o, (void *)&given.pointer)                                                    \
	CODE(doca_dev_close, DEVICE, o)

static inline uint64_t try_get_user_data(void *o)
{
	return doca_task_get_user_data(o).u64;
}

SERVICE_FUNCTIONS(CODE, VALUE, SILENT)
WORKER_FUNCTIONS(CODE, VALUE, SILENT)
DOMAIN_FUNCTIONS(CODE, VALUE, SILENT)
CORE_FUNCTIONS(CODE, VALUE, SILENT)

#define CODE_ENTRY(function, takes, ...) {#function, takes, try_##function, DOCA_ERROR_INVALID_VALUE},
#define VALUE_ENTRY(function, takes, ...) {#function, takes, try_##function, 0},

static const struct attempt attempts[] = {
	SERVICE_FUNCTIONS(CODE_ENTRY, VALUE_ENTRY, VALUE_ENTRY)
	WORKER_FUNCTIONS(CODE_ENTRY, VALUE_ENTRY, VALUE_ENTRY)
	DOMAIN_FUNCTIONS(CODE_ENTRY, VALUE_ENTRY, VALUE_ENTRY)
	CORE_FUNCTIONS(CODE_ENTRY, VALUE_ENTRY, VALUE_ENTRY)
	{"doca_task_get_user_data", TASK, try_get_user_data, 0},
};

/* Calls every function with an object of this kind, unless that is what it takes. */
static inline void refuse_everywhere(const char *what, enum kind is, void *object)
{
	size_t at;

	for (at = 0; at < sizeof(attempts) / sizeof(*attempts); ++at) {
		const struct attempt *attempt = &attempts[at];
		char text[200];

		if (is != NOTHING && (attempt->takes & is) != 0)
			continue;
		note_call(attempt->name);
		snprintf(text, sizeof(text), "%s with %s", attempt->name, what);
		compare("every_pointer.h", 0, text, attempt->refusal, attempt->call(object));
	}
}

#endif /* TESTS_EVERY_POINTER_H */
