/*
 * Calls every function that takes an object with NULL and with every other kind of object: the
 * result is INVALID_VALUE, NULL or 0, without side effects.
 */
#ifndef TESTS_EVERY_POINTER_H
#define TESTS_EVERY_POINTER_H

#include "rig.h"

#include <doca_buf_inventory.h>
#include <doca_buf_pool.h>
#include <doca_graph.h>
#include <doca_mmap.h>
#include <doca_mmap_advise.h>
#include <doca_sync_event.h>
#include <urom_extensions.h>

/* Kinds of objects. A service, worker, domain, sync event or memory hint is its own context. */
enum kind {
	SERVICE = 1,
	WORKER = 2,
	DOMAIN = 4,
	EVENT = 8192,
	ADVISE = 16384,
	CTX = SERVICE | WORKER | DOMAIN | EVENT | ADVISE,
	ENGINE = 8,
	DEVICE_INFO = 16,
	DEVICE = 32,
	COMMAND = 64,
	QUERY = 128,
	GET = 32768,
	NOTIFY_SET = 65536,
	NOTIFY_ADD = 131072,
	WAIT_EQ = 262144,
	WAIT_NEQ = 524288,
	INVALIDATE_CACHE = 1048576,
	TASK = COMMAND | QUERY | GET | NOTIFY_SET | NOTIFY_ADD | WAIT_EQ | WAIT_NEQ |
	       INVALIDATE_CACHE,
	GRAPH = 2097152,
	NODE = 4194304,
	INSTANCE = 8388608,
	REMOTE_NET = 16777216,
	BUFFER = 256, /* of a task */
	MAP = 512,
	INVENTORY = 1024,
	POOL = 2048,
	ELEMENT = 4096, /* of an inventory or a pool */
	ANY_BUFFER = BUFFER | ELEMENT,
	NOTHING = 0,
};

static struct {
	void *pointer;
	size_t size;
	uint64_t word;
	uint32_t half;
	uint16_t count;
	uint8_t byte;
	int number;
	char text[256];
	doca_cpu_set_t cpus;
	union doca_data data;
	const struct doca_urom_service_plugin_info *plugins;
	enum doca_ctx_states state;
	struct doca_urom_domain_oob_coll oob;
	struct urom_worker_health health;
	struct urom_offered_memory offered;
	struct urom_cancelled cancelled;
	const char *env[1];
	struct doca_urom_service *service; /* a live one */
	struct doca_pe *pe;                /* a live one */
	struct doca_graph *graph;          /* a live one, with an instance */
	struct doca_graph_instance *instance;
} given;

static inline void no_memory_told(void *data, doca_error_t code, uint32_t path,
				  const char *why, size_t why_len)
{
	(void)data, (void)code, (void)path, (void)why, (void)why_len;
}

static inline void no_command_done(struct doca_urom_worker_cmd_task *task,
				   union doca_data task_data, union doca_data ctx_data)
{
	(void)task, (void)task_data, (void)ctx_data;
	INSIST(!"a command that was never submitted completes");
}

static inline void no_task_done(void *task, union doca_data task_data, union doca_data ctx_data)
{
	(void)task, (void)task_data, (void)ctx_data;
	INSIST(!"a task that was never submitted completes");
}

static inline void no_graph_done(struct doca_graph_instance *instance, union doca_data of_instance,
				 union doca_data of_graph)
{
	(void)instance, (void)of_instance, (void)of_graph;
	INSIST(!"an instance that was never submitted ends");
}

static inline doca_error_t no_node(void *cookie)
{
	(void)cookie;
	INSIST(!"a node of no instance runs");
	return DOCA_SUCCESS;
}

static inline void no_query_done(struct doca_urom_service_get_workers_by_gid_task *task,
				 union doca_data task_data, union doca_data ctx_data)
{
	(void)task, (void)task_data, (void)ctx_data;
	INSIST(!"a query that was never submitted completes");
}

static inline void no_state_changed(const union doca_data data, struct doca_ctx *ctx,
				    enum doca_ctx_states before, enum doca_ctx_states after)
{
	(void)data, (void)ctx, (void)before, (void)after;
	INSIST(!"a context that was not started changes");
}

static inline void nothing_freed(void *addr, size_t len, void *cookie)
{
	(void)addr, (void)len, (void)cookie;
	INSIST(!"a map that does not exist gives its memory back");
}

/* In a child, functions are called with the parent's objects of the right kind. */
static bool is_forked;

/* Calls a function with `o` unless it takes that kind: the function returns a code, a number or a
 * pointer. */
#define REFUSES(takes, function, ...) \
	ATTEMPT(takes, function,                                                          \
		is_forked ? DOCA_ERROR_BAD_STATE : DOCA_ERROR_INVALID_VALUE, function(__VA_ARGS__))
#define GIVES_ZERO(takes, function, ...) ATTEMPT(takes, function, 0, function(__VA_ARGS__))
#define IGNORES(takes, function, ...) ATTEMPT(takes, function, 0, (function(__VA_ARGS__), 0))
#define ATTEMPT(takes, function, refusal, call)                                          \
	do {                                                                             \
		if (is_forked == (((takes)&is) != 0)) {                                  \
			char text_[200];                                                 \
                                                                                         \
			note_call(#function);                                            \
			snprintf(text_, sizeof(text_), "%s with %s", #function, what);   \
			compare(__FILE__, __LINE__, text_, (refusal), (uint64_t)(call)); \
		}                                                                        \
	} while (0)

static inline void refuse_memory(const char *what, enum kind is, void *o)
{
	REFUSES(MAP, doca_mmap_destroy, o);
	REFUSES(MAP, doca_mmap_start, o);
	REFUSES(MAP, doca_mmap_stop, o);
	REFUSES(MAP, doca_mmap_add_dev, o, given.pointer);
	REFUSES(MAP, doca_mmap_rm_dev, o, given.pointer);
	REFUSES(MAP, doca_mmap_export_pci, o, given.pointer, (void *)&given.pointer, &given.size);
	REFUSES(MAP, doca_mmap_export_rdma, o, given.pointer, (void *)&given.pointer, &given.size);
	REFUSES(MAP, doca_mmap_dev_get_dpa_handle, o, given.pointer, &given.word);
	REFUSES(DEVICE, doca_mmap_create_from_export, NULL, given.text, 64, o,
		(void *)&given.pointer);
	REFUSES(MAP, doca_mmap_set_memrange, o, given.text, 8);
	REFUSES(MAP, doca_mmap_set_dmabuf_memrange, o, 0, given.text, 0, 8);
	REFUSES(MAP, doca_mmap_set_dpa_memrange, o, (void *)given.text, 1, 8);
	REFUSES(MAP, doca_mmap_get_memrange, o, &given.pointer, &given.size);
	REFUSES(MAP, doca_mmap_set_free_cb, o, nothing_freed, NULL);
	REFUSES(MAP, doca_mmap_get_user_data, o, &given.data);
	REFUSES(MAP, doca_mmap_get_max_num_devices, o, &given.half);
	REFUSES(MAP, doca_mmap_get_num_bufs, o, &given.half);
	REFUSES(MAP, doca_mmap_get_exported, o, &given.byte);
	REFUSES(MAP, doca_mmap_get_from_export, o, &given.byte);
	REFUSES(MAP, doca_mmap_set_max_num_devices, o, 1);
	REFUSES(MAP, doca_mmap_set_permissions, o, 1);
	REFUSES(MAP, doca_mmap_set_user_data, o, given.data);
	REFUSES(DEVICE_INFO, doca_mmap_cap_is_export_pci_supported, o, &given.byte);
	REFUSES(ANY_BUFFER, doca_buf_inventory_buf_reuse_by_data, o, given.text, 8);
	REFUSES(ANY_BUFFER, doca_buf_inventory_buf_reuse_by_addr, o, given.text, 8);
	REFUSES(DEVICE_INFO, doca_mmap_cap_is_create_from_export_pci_supported, o, &given.byte);
	REFUSES(MAP, doca_mmap_enable_thread_safety, o);

	REFUSES(ANY_BUFFER, doca_buf_inc_refcount, o, NULL);
	REFUSES(ANY_BUFFER, doca_buf_dec_refcount, o, NULL);
	REFUSES(ANY_BUFFER, doca_buf_get_refcount, o, &given.count);
	REFUSES(ANY_BUFFER, doca_buf_get_len, o, &given.size);
	REFUSES(ANY_BUFFER, doca_buf_get_head, o, &given.pointer);
	REFUSES(ANY_BUFFER, doca_buf_set_data_len, o, 1);
	REFUSES(ANY_BUFFER, doca_buf_reset_data_len, o);
	REFUSES(ANY_BUFFER, doca_buf_get_next_in_list, o, (void *)&given.pointer);
	REFUSES(ANY_BUFFER, doca_buf_get_last_in_list, o, (void *)&given.pointer);
	REFUSES(ANY_BUFFER, doca_buf_is_last_in_list, o, &given.byte);
	REFUSES(ANY_BUFFER, doca_buf_is_first_in_list, o, &given.byte);
	REFUSES(ANY_BUFFER, doca_buf_is_in_list, o, &given.byte);
	REFUSES(ANY_BUFFER, doca_buf_get_list_len, o, &given.half);
	REFUSES(ANY_BUFFER, doca_buf_chain_list, o, o);
	REFUSES(ANY_BUFFER, doca_buf_chain_list_tail, o, o, o);
	REFUSES(ANY_BUFFER, doca_buf_unchain_list, o, o);

	REFUSES(INVENTORY, doca_buf_inventory_destroy, o);
	REFUSES(INVENTORY, doca_buf_inventory_start, o);
	REFUSES(INVENTORY, doca_buf_inventory_stop, o);
	REFUSES(INVENTORY, doca_buf_inventory_buf_get_by_args, o, given.pointer, given.text, 8,
		given.text, 8, (void *)&given.pointer);
	REFUSES(INVENTORY, doca_buf_inventory_buf_dup, o, given.pointer, (void *)&given.pointer);
	REFUSES(INVENTORY, doca_buf_inventory_set_user_data, o, given.data);
	REFUSES(INVENTORY, doca_buf_inventory_get_num_elements, o, &given.half);
	REFUSES(INVENTORY, doca_buf_inventory_get_num_free_elements, o, &given.half);
	REFUSES(INVENTORY, doca_buf_inventory_get_user_data, o, &given.data);
	REFUSES(INVENTORY, doca_buf_inventory_expand, o, 1);

	REFUSES(MAP, doca_buf_pool_create, 1, 1, o, (void *)&given.pointer);
	REFUSES(POOL, doca_buf_pool_destroy, o);
	REFUSES(POOL, doca_buf_pool_start, o);
	REFUSES(POOL, doca_buf_pool_stop, o);
	REFUSES(POOL, doca_buf_pool_buf_alloc, o, (void *)&given.pointer);
	REFUSES(POOL, doca_buf_pool_set_user_data, o, given.data);
	REFUSES(POOL, doca_buf_pool_set_element_alignment, o, 8);
	REFUSES(POOL, doca_buf_pool_get_num_elements, o, &given.half);
	REFUSES(POOL, doca_buf_pool_get_num_free_elements, o, &given.half);
	REFUSES(POOL, doca_buf_pool_get_user_data, o, &given.data);
	REFUSES(POOL, doca_buf_pool_get_element_alignment, o, &given.size);
}

static inline void refuse_events(const char *what, enum kind is, void *o)
{
	REFUSES(DEVICE, doca_sync_event_create_from_export, o, (uint8_t *)given.text, 64,
		(void *)&given.pointer);
	REFUSES(EVENT, doca_sync_event_destroy, o);
	REFUSES(EVENT, doca_sync_event_add_publisher_location_cpu, o, given.pointer);
	REFUSES(EVENT, doca_sync_event_add_publisher_location_remote_pci, o);
	REFUSES(EVENT, doca_sync_event_add_publisher_location_remote_net, o);
	REFUSES(EVENT, doca_sync_event_add_subscriber_location_cpu, o, given.pointer);
	REFUSES(EVENT, doca_sync_event_add_subscriber_location_remote_pci, o);
	REFUSES(EVENT, doca_sync_event_set_addr, o, &given.word);
	REFUSES(EVENT, doca_sync_event_set_doca_buf, o, given.pointer);
	REFUSES(EVENT, doca_sync_event_start, o);
	REFUSES(EVENT, doca_sync_event_stop, o);
	GIVES_ZERO(EVENT, doca_sync_event_as_ctx, o);
	REFUSES(EVENT, doca_sync_event_export_to_remote_pci, o, given.pointer,
		(void *)&given.pointer, &given.size);
	REFUSES(EVENT, doca_sync_event_export_to_remote_net, o, (void *)&given.pointer,
		&given.size);
	REFUSES(EVENT, doca_sync_event_get, o, &given.word);
	REFUSES(EVENT, doca_sync_event_update_add, o, 1, &given.word);
	REFUSES(EVENT, doca_sync_event_update_set, o, 1);
	REFUSES(EVENT, doca_sync_event_wait_gt, o, 0, UINT64_MAX);
	REFUSES(EVENT, doca_sync_event_wait_gt_yield, o, 0, UINT64_MAX);
	REFUSES(EVENT, doca_sync_event_wait_eq, o, 1, UINT64_MAX);
	REFUSES(EVENT, doca_sync_event_wait_eq_yield, o, 1, UINT64_MAX);
	REFUSES(EVENT, doca_sync_event_wait_neq, o, 0, UINT64_MAX);
	REFUSES(EVENT, doca_sync_event_wait_neq_yield, o, 0, UINT64_MAX);
}

static inline void refuse_tasks(const char *what, enum kind is, void *o)
{
	REFUSES(DEVICE, doca_sync_event_remote_net_create_from_export, o, (uint8_t *)given.text, 64,
		(void *)&given.pointer);
	REFUSES(REMOTE_NET, doca_sync_event_remote_net_destroy, o);
	REFUSES(DEVICE_INFO, doca_sync_event_cap_is_create_from_export_supported, o);
	REFUSES(DEVICE_INFO, doca_sync_event_cap_remote_net_is_create_from_export_supported, o);
	REFUSES(DEVICE_INFO, doca_sync_event_cap_is_export_to_remote_pci_supported, o);
	REFUSES(DEVICE_INFO, doca_sync_event_cap_is_export_to_remote_net_supported, o);
	REFUSES(DEVICE_INFO, doca_sync_event_cap_task_get_is_supported, o);
	REFUSES(DEVICE_INFO, doca_sync_event_cap_task_notify_set_is_supported, o);
	REFUSES(DEVICE_INFO, doca_sync_event_cap_task_notify_add_is_supported, o);
	REFUSES(DEVICE_INFO, doca_sync_event_cap_task_wait_eq_is_supported, o);
	REFUSES(DEVICE_INFO, doca_sync_event_cap_task_wait_neq_is_supported, o);
	REFUSES(EVENT, doca_sync_event_task_get_set_conf, o, (void *)no_task_done,
		(void *)no_task_done, 1);
	REFUSES(EVENT, doca_sync_event_task_get_alloc_init, o, &given.word, given.data,
		(void *)&given.pointer);
	GIVES_ZERO(GET, doca_sync_event_task_get_as_doca_task, o);
	IGNORES(GET, doca_sync_event_task_get_set_ret_val_ptr, o, &given.word);
	GIVES_ZERO(GET, doca_sync_event_task_get_get_ret_val_ptr, o);
	REFUSES(EVENT, doca_sync_event_task_notify_set_set_conf, o, (void *)no_task_done,
		(void *)no_task_done, 1);
	REFUSES(EVENT, doca_sync_event_task_notify_set_alloc_init, o, 1, given.data,
		(void *)&given.pointer);
	GIVES_ZERO(NOTIFY_SET, doca_sync_event_task_notify_set_as_doca_task, o);
	IGNORES(NOTIFY_SET, doca_sync_event_task_notify_set_set_set_val, o, 1);
	GIVES_ZERO(NOTIFY_SET, doca_sync_event_task_notify_set_get_set_val, o);
	REFUSES(EVENT, doca_sync_event_task_notify_add_set_conf, o, (void *)no_task_done,
		(void *)no_task_done, 1);
	REFUSES(EVENT, doca_sync_event_task_notify_add_alloc_init, o, 1, &given.word, given.data,
		(void *)&given.pointer);
	GIVES_ZERO(NOTIFY_ADD, doca_sync_event_task_notify_add_as_doca_task, o);
	IGNORES(NOTIFY_ADD, doca_sync_event_task_notify_add_set_inc_val, o, 1);
	GIVES_ZERO(NOTIFY_ADD, doca_sync_event_task_notify_add_get_inc_val, o);
	IGNORES(NOTIFY_ADD, doca_sync_event_task_notify_add_set_fetched_val_ptr, o, &given.word);
	GIVES_ZERO(NOTIFY_ADD, doca_sync_event_task_notify_add_get_fetched_val_ptr, o);
	REFUSES(EVENT, doca_sync_event_task_wait_eq_set_conf, o, (void *)no_task_done,
		(void *)no_task_done, 1);
	REFUSES(EVENT, doca_sync_event_task_wait_eq_alloc_init, o, 1, 1, given.data,
		(void *)&given.pointer);
	GIVES_ZERO(WAIT_EQ, doca_sync_event_task_wait_eq_as_doca_task, o);
	IGNORES(WAIT_EQ, doca_sync_event_task_wait_eq_set_wait_val, o, 1);
	GIVES_ZERO(WAIT_EQ, doca_sync_event_task_wait_eq_get_wait_val, o);
	IGNORES(WAIT_EQ, doca_sync_event_task_wait_eq_set_mask, o, 1);
	GIVES_ZERO(WAIT_EQ, doca_sync_event_task_wait_eq_get_mask, o);
	REFUSES(EVENT, doca_sync_event_task_wait_neq_set_conf, o, (void *)no_task_done,
		(void *)no_task_done, 1);
	REFUSES(EVENT, doca_sync_event_task_wait_neq_alloc_init, o, 1, 1, given.data,
		(void *)&given.pointer);
	GIVES_ZERO(WAIT_NEQ, doca_sync_event_task_wait_neq_as_doca_task, o);
	IGNORES(WAIT_NEQ, doca_sync_event_task_wait_neq_set_wait_val, o, 1);
	GIVES_ZERO(WAIT_NEQ, doca_sync_event_task_wait_neq_get_wait_val, o);
	IGNORES(WAIT_NEQ, doca_sync_event_task_wait_neq_set_mask, o, 1);
	GIVES_ZERO(WAIT_NEQ, doca_sync_event_task_wait_neq_get_mask, o);
	REFUSES(DEVICE, doca_mmap_advise_create, o, (void *)&given.pointer);
	REFUSES(ADVISE, doca_mmap_advise_destroy, o);
	GIVES_ZERO(ADVISE, doca_mmap_advise_as_ctx, o);
	REFUSES(DEVICE_INFO, doca_mmap_advise_cap_task_cache_invalidate_is_supported, o);
	REFUSES(DEVICE_INFO, doca_mmap_advise_task_cache_invalidate_get_max_buf_size, o,
		&given.word);
	REFUSES(ADVISE, doca_mmap_advise_task_invalidate_cache_set_conf, o, (void *)no_task_done,
		(void *)no_task_done, 1);
	REFUSES(ADVISE, doca_mmap_advise_task_invalidate_cache_alloc_init, o, given.pointer,
		given.data, (void *)&given.pointer);
	GIVES_ZERO(INVALIDATE_CACHE, doca_mmap_advise_task_invalidate_cache_as_doca_task, o);
	IGNORES(INVALIDATE_CACHE, doca_mmap_advise_task_invalidate_cache_set_buf, o, given.pointer);
	GIVES_ZERO(INVALIDATE_CACHE, doca_mmap_advise_task_invalidate_cache_get_buf, o);

	REFUSES(ENGINE, doca_graph_create, o, (void *)&given.pointer);
	REFUSES(GRAPH, doca_graph_destroy, o);
	REFUSES(GRAPH, doca_graph_set_conf, o, no_graph_done, no_graph_done, 1);
	REFUSES(GRAPH, doca_graph_set_user_data, o, given.data);
	REFUSES(GRAPH, doca_graph_get_user_data, o, &given.data);
	REFUSES(GRAPH, doca_graph_node_create_from_ctx, o, (void *)given.service,
		(void *)&given.pointer);
	REFUSES(CTX, doca_graph_node_create_from_ctx, given.graph, o, (void *)&given.pointer);
	REFUSES(GRAPH, doca_graph_node_create_from_user, o, no_node, (void *)&given.pointer);
	REFUSES(GRAPH, doca_graph_node_create_from_graph, o, given.graph, (void *)&given.pointer);
	REFUSES(GRAPH, doca_graph_node_create_from_graph, given.graph, o, (void *)&given.pointer);
	REFUSES(GRAPH, doca_graph_add_dependency, o, o, o);
	REFUSES(NODE, doca_graph_add_dependency, given.graph, o, o);
	REFUSES(GRAPH, doca_graph_start, o);
	REFUSES(GRAPH, doca_graph_stop, o);
	REFUSES(GRAPH, doca_graph_instance_create, o, (void *)&given.pointer);
	REFUSES(INSTANCE, doca_graph_instance_destroy, o);
	REFUSES(INSTANCE, doca_graph_instance_set_user_data, o, given.data);
	REFUSES(INSTANCE, doca_graph_instance_get_user_data, o, &given.data);
	REFUSES(INSTANCE, doca_graph_instance_set_ctx_node_data, o, o, o);
	REFUSES(INSTANCE, doca_graph_instance_set_user_node_data, o, o, o);
	REFUSES(INSTANCE, doca_graph_instance_set_sub_graph_node_data, o, o, o);
	REFUSES(NODE, doca_graph_instance_set_user_node_data, given.instance, o, NULL);
	REFUSES(INSTANCE, doca_graph_instance_submit, o);
	REFUSES(TASK, doca_task_submit_ex, o, 0);
	IGNORES(CTX, doca_ctx_flush_tasks, o);
}

static inline void refuse_everywhere(const char *what, enum kind is, void *o)
{
	REFUSES(SERVICE, doca_urom_service_destroy, o);
	REFUSES(SERVICE, doca_urom_service_set_max_comm_msg_size, o, 4096);
	REFUSES(SERVICE, doca_urom_service_set_max_workers, o, 4);
	REFUSES(SERVICE, doca_urom_service_set_dev, o, given.pointer);
	GIVES_ZERO(SERVICE, doca_urom_service_as_ctx, o);
	REFUSES(SERVICE, doca_urom_service_get_plugins_list, o, &given.plugins, &given.size);
	REFUSES(SERVICE, doca_urom_service_get_cpuset, o, &given.cpus);
	REFUSES(SERVICE, doca_urom_service_get_workers_by_gid_task_allocate, o,
		(void *)&given.pointer);
	REFUSES(SERVICE, doca_urom_service_get_workers_by_gid_task_allocate_init, o, 0,
		no_query_done, (void *)&given.pointer);
	REFUSES(QUERY, doca_urom_service_get_workers_by_gid_task_release, o);
	IGNORES(QUERY, doca_urom_service_get_workers_by_gid_task_set_gid, o, 1);
	IGNORES(QUERY, doca_urom_service_get_workers_by_gid_task_set_cb, o, no_query_done);
	GIVES_ZERO(QUERY, doca_urom_service_get_workers_by_gid_task_get_workers_count, o);
	GIVES_ZERO(QUERY, doca_urom_service_get_workers_by_gid_task_get_worker_ids, o);
	GIVES_ZERO(QUERY, doca_urom_service_get_workers_by_gid_task_as_task, o);
	REFUSES(SERVICE, urom_service_set_address, o, "host:1", "the test");
	REFUSES(SERVICE, urom_service_set_embedded, o, "/nowhere");
	REFUSES(SERVICE, urom_service_set_key_file, o, "/nowhere");
	REFUSES(SERVICE, urom_service_set_any_device, o);
	REFUSES(SERVICE, urom_service_get_plugin_fingerprint, o, 1, &given.word);
	REFUSES(SERVICE, urom_service_get_plugin_description, o, 1, given.text, &given.size);
	REFUSES(WORKER, doca_urom_worker_destroy, o);
	REFUSES(WORKER, doca_urom_worker_set_service, o, given.service);
	REFUSES(WORKER, doca_urom_worker_set_id, o, 1);
	REFUSES(WORKER, doca_urom_worker_set_plugins, o, 1);
	REFUSES(WORKER, doca_urom_worker_set_cpuset, o, given.cpus);
	REFUSES(WORKER, doca_urom_worker_set_gid, o, 1);
	REFUSES(WORKER, doca_urom_worker_set_max_inflight_tasks, o, 2);
	REFUSES(WORKER, doca_urom_worker_set_env, o, (char *const *)given.env, 1);
	REFUSES(WORKER, doca_urom_worker_get_id, o, &given.word);
	REFUSES(WORKER, doca_urom_worker_get_gid, o, &given.half);
	REFUSES(WORKER, urom_worker_get_health, o, &given.health);
	REFUSES(WORKER, urom_worker_get_cancelled, o, &given.cancelled);
	REFUSES(WORKER, urom_worker_leave, o);
	REFUSES(WORKER, urom_worker_share_memory, o, &given.offered, no_memory_told, NULL);
	REFUSES(WORKER, urom_worker_unshare_memory, o, 7, no_memory_told, NULL);
	GIVES_ZERO(WORKER, doca_urom_worker_as_ctx, o);
	REFUSES(WORKER, doca_urom_worker_cmd_task_allocate, o, (void *)&given.pointer);
	REFUSES(WORKER, doca_urom_worker_cmd_task_allocate_init, o, 1, (void *)&given.pointer);
	REFUSES(COMMAND, doca_urom_worker_cmd_task_release, o);
	IGNORES(COMMAND, doca_urom_worker_cmd_task_set_plugin, o, 1);
	IGNORES(COMMAND, doca_urom_worker_cmd_task_set_cb, o, no_command_done);
	GIVES_ZERO(COMMAND, doca_urom_worker_cmd_task_get_payload, o);
	GIVES_ZERO(COMMAND, doca_urom_worker_cmd_task_get_response, o);
	GIVES_ZERO(COMMAND, doca_urom_worker_cmd_task_get_user_data, o);
	GIVES_ZERO(COMMAND, urom_worker_cmd_task_get_end, o);
	if (!is_forked)
		GIVES_ZERO(COMMAND, urom_worker_cmd_task_get_failure, o, given.text,
			   sizeof(given.text));
	REFUSES(COMMAND, urom_worker_cmd_task_set_deadline, o, 1);
	REFUSES(COMMAND, urom_worker_cmd_task_cancel, o);
	REFUSES(COMMAND, urom_worker_cmd_task_forget, o);
	GIVES_ZERO(COMMAND, urom_worker_cmd_task_get_area, o);
	GIVES_ZERO(COMMAND, doca_urom_worker_cmd_task_as_task, o);
	REFUSES(DOMAIN, doca_urom_domain_destroy, o);
	REFUSES(DOMAIN, doca_urom_domain_set_buffers_count, o, 1);
	REFUSES(DOMAIN, doca_urom_domain_add_buffer, o, given.text, 8, given.text, 8, given.text,
		8);
	REFUSES(DOMAIN, doca_urom_domain_set_oob, o, &given.oob);
	REFUSES(DOMAIN, doca_urom_domain_set_workers, o, &given.word, (void *)&given.pointer, 1);
	GIVES_ZERO(DOMAIN, doca_urom_domain_as_ctx, o);
	REFUSES(CTX, doca_ctx_start, o);
	REFUSES(CTX, doca_ctx_stop, o);
	REFUSES(CTX, doca_ctx_get_state, o, &given.state);
	REFUSES(CTX, doca_ctx_set_user_data, o, given.data);
	REFUSES(CTX, doca_ctx_get_user_data, o, &given.data);
	REFUSES(CTX, doca_ctx_set_state_changed_cb, o, no_state_changed);
	REFUSES(CTX, doca_ctx_get_num_inflight_tasks, o, &given.size);
	IGNORES(CTX, doca_ctx_flush_tasks, o);
	REFUSES(CTX, urom_ctx_get_failure_code, o);
	if (!is_forked)
		GIVES_ZERO(CTX, urom_ctx_get_failure, o, given.text, sizeof(given.text));
	REFUSES(ENGINE, doca_pe_destroy, o);
	REFUSES(CTX, doca_pe_connect_ctx, given.pe, o);
	GIVES_ZERO(ENGINE, doca_pe_progress, o);
	GIVES_ZERO(ENGINE, urom_pe_progress_many, o);
	REFUSES(ENGINE, urom_pe_wake_within, o, 1);
	REFUSES(ENGINE, doca_pe_get_num_inflight_tasks, o, &given.size);
	REFUSES(ENGINE, doca_pe_get_notification_handle, o, &given.number);
	REFUSES(ENGINE, doca_pe_request_notification, o);
	REFUSES(ENGINE, doca_pe_clear_notification, o, 0);
	REFUSES(TASK, doca_task_submit, o);
	REFUSES(TASK, doca_task_try_submit, o);
	IGNORES(TASK, doca_task_free, o);
	REFUSES(TASK, doca_task_get_status, o);
	IGNORES(TASK, doca_task_set_user_data, o, given.data);
	GIVES_ZERO(TASK, doca_task_get_ctx, o);
	REFUSES(ANY_BUFFER, doca_buf_get_data, o, &given.pointer);
	REFUSES(ANY_BUFFER, doca_buf_get_data_len, o, &given.size);
	REFUSES(ANY_BUFFER, doca_buf_set_data, o, given.text, 1);
	REFUSES(DEVICE_INFO, doca_devinfo_get_ibdev_name, o, given.text,
		DOCA_DEVINFO_IBDEV_NAME_SIZE);
	REFUSES(DEVICE_INFO, doca_devinfo_get_pci_addr_str, o, given.text);
	REFUSES(DEVICE_INFO, doca_devinfo_get_iface_name, o, given.text,
		DOCA_DEVINFO_IFACE_NAME_SIZE);
	REFUSES(DEVICE_INFO, doca_devinfo_is_equal_pci_addr, o, "0000:00:00.0", &given.byte);
	REFUSES(DEVICE_INFO, doca_devinfo_get_mac_addr, o, (uint8_t *)given.text, 6);
	REFUSES(DEVICE_INFO, doca_devinfo_get_ipv4_addr, o, (uint8_t *)given.text, 4);
	REFUSES(DEVICE_INFO, doca_devinfo_get_ipv6_addr, o, (uint8_t *)given.text, 16);
	REFUSES(DEVICE_INFO, doca_devinfo_cap_is_hotplug_manager_supported, o, &given.byte);
	REFUSES(DEVICE_INFO, doca_devinfo_cap_is_notification_moderation_supported, o,
		&given.byte);
	REFUSES(DEVICE_INFO, doca_devinfo_cap_is_accelerate_resource_reclaim_supported, o,
		&given.byte);
	REFUSES(DEVICE_INFO, doca_devinfo_rep_cap_is_filter_all_supported, o, &given.byte);
	REFUSES(DEVICE_INFO, doca_devinfo_rep_cap_is_filter_net_supported, o, &given.byte);
	REFUSES(DEVICE_INFO, doca_devinfo_rep_cap_is_filter_emulated_supported, o, &given.byte);
	REFUSES(DEVICE_INFO, doca_ctx_cap_get_num_completion_vectors, o, &given.half);
	/* A device list does not carry a type tag. */
	if (o == NULL)
		REFUSES(NOTHING, doca_devinfo_destroy_list, o);
	GIVES_ZERO(DEVICE, doca_dev_as_devinfo, o);
	REFUSES(DEVICE_INFO, doca_dev_open, o, (void *)&given.pointer);
	REFUSES(DEVICE, doca_dev_close, o);
	ATTEMPT(TASK, doca_task_get_user_data, 0, doca_task_get_user_data(o).u64);
	refuse_memory(what, is, o);
	refuse_events(what, is, o);
	refuse_tasks(what, is, o);
}

#endif /* TESTS_EVERY_POINTER_H */
