/*
 * Calls every function with a live object and one invalid argument: NULL or a meaningless value.
 * The same call with valid arguments then succeeds, so the failed call changed nothing.
 */
#ifndef TESTS_EVERY_ARGUMENT_H
#define TESTS_EVERY_ARGUMENT_H

#include "every_memory.h"
#include "rig.h"

#include <urom_extensions.h>

#define INVALID DOCA_ERROR_INVALID_VALUE

static inline void bad_arguments_of_a_service(const struct rig *rig)
{
	struct doca_urom_service *running = rig->host.service, *idle;
	const struct doca_urom_service_plugin_info *plugins;
	struct doca_urom_service_get_workers_by_gid_task *query;
	static char description[65536];
	doca_cpu_set_t cpus;
	uint64_t fingerprint;
	size_t count, length;

	GIVES(INVALID, doca_urom_service_create, NULL);
	GIVES(DOCA_SUCCESS, doca_urom_service_create, &idle);
	GIVES(INVALID, doca_urom_service_set_max_comm_msg_size, idle, 0);
	GIVES(INVALID, doca_urom_service_set_max_comm_msg_size, idle, SIZE_MAX);
	GIVES(DOCA_SUCCESS, doca_urom_service_set_max_comm_msg_size, idle, 4096);
	GIVES(INVALID, doca_urom_service_set_max_workers, idle, 0);
	GIVES(INVALID, doca_urom_service_set_max_workers, idle, 3);
	GIVES(DOCA_SUCCESS, doca_urom_service_set_max_workers, idle, 4);
	GIVES(INVALID, doca_urom_service_set_dev, idle, NULL);
	GIVES(DOCA_ERROR_NOT_CONNECTED, doca_ctx_start, doca_urom_service_as_ctx(idle));
	GIVES(DOCA_SUCCESS, doca_pe_connect_ctx, rig->host.pe, doca_urom_service_as_ctx(idle));
	GIVES(INVALID, doca_ctx_start, doca_urom_service_as_ctx(idle));
	GIVES(DOCA_SUCCESS, urom_service_set_any_device, idle);
	GIVES(DOCA_SUCCESS, doca_ctx_start, doca_urom_service_as_ctx(idle));
	GIVES(DOCA_SUCCESS, doca_ctx_stop, doca_urom_service_as_ctx(idle));
	GIVES(INVALID, urom_service_set_key_file, idle, NULL);
	GIVES(INVALID, urom_service_set_key_file, idle, "");
	GIVES(DOCA_SUCCESS, urom_service_set_key_file, idle, "/nowhere");
	GIVES(DOCA_SUCCESS, doca_urom_service_set_dev, idle, rig->host.device);
	GIVES(INVALID, urom_service_set_address, idle, NULL, NULL);
	GIVES(INVALID, urom_service_set_address, idle, "no port", NULL);
	GIVES(DOCA_SUCCESS, urom_service_set_address, idle, "127.0.0.1:1", NULL);
	GIVES(DOCA_SUCCESS, urom_service_set_embedded, idle, NULL);
	GIVES(DOCA_SUCCESS, doca_urom_service_destroy, idle);

	GIVES(INVALID, doca_urom_service_get_plugins_list, running, NULL, &count);
	GIVES(INVALID, doca_urom_service_get_plugins_list, running, &plugins, NULL);
	GIVES(DOCA_SUCCESS, doca_urom_service_get_plugins_list, running, &plugins, &count);
	GIVES(INVALID, doca_urom_service_get_cpuset, running, NULL);
	GIVES(DOCA_SUCCESS, doca_urom_service_get_cpuset, running, &cpus);
	GIVES(INVALID, urom_service_get_plugin_fingerprint, running, plugins[0].id, NULL);
	GIVES(INVALID, urom_service_get_plugin_fingerprint, running, 0, &fingerprint);
	GIVES(INVALID, urom_service_get_plugin_fingerprint, running, UINT64_MAX, &fingerprint);
	GIVES(DOCA_SUCCESS, urom_service_get_plugin_fingerprint, running, plugins[0].id,
	      &fingerprint);
	length = sizeof(description);
	GIVES(INVALID, urom_service_get_plugin_description, running, plugins[0].id, description,
	      NULL);
	GIVES(INVALID, urom_service_get_plugin_description, running, plugins[0].id, NULL, &length);
	length = 1;
	GIVES(DOCA_ERROR_TOO_BIG, urom_service_get_plugin_description, running, plugins[0].id,
	      description, &length);
	GIVES(DOCA_SUCCESS, urom_service_get_plugin_description, running, plugins[0].id,
	      description, &length);
	GIVES(INVALID, doca_urom_service_get_workers_by_gid_task_allocate, running, NULL);
	GIVES(INVALID, doca_urom_service_get_workers_by_gid_task_allocate_init, running, 1,
	      no_query_done, NULL);
	GIVES(DOCA_SUCCESS, doca_urom_service_get_workers_by_gid_task_allocate_init, running, 1,
	      NULL, &query);
	RETURNS(doca_urom_service_get_workers_by_gid_task_set_cb, query, NULL);
	GIVES(DOCA_SUCCESS, doca_urom_service_get_workers_by_gid_task_release, query);
}

static inline void bad_arguments_of_a_worker(const struct rig *rig)
{
	static char *const good[] = {"NAME=value", "OTHER="}, *const no_name[] = {"=value"};
	static char *const no_value[] = {"NAME"}, *const hole[] = {"NAME=value", NULL};
	struct doca_urom_worker_cmd_task *task;
	struct doca_urom_worker *idle, *running;
	struct urom_worker_health health;
	struct urom_offered_memory offered = {.memory = 7, .fd = -1};
	doca_cpu_set_t cpus;
	uint64_t id;
	uint32_t gid;

	GIVES(INVALID, doca_urom_worker_create, NULL);
	GIVES(DOCA_SUCCESS, doca_urom_worker_create, &idle);
	GIVES(INVALID, doca_urom_worker_set_service, idle, NULL);
	GIVES(DOCA_SUCCESS, doca_urom_worker_set_service, idle, rig->host.service);
	GIVES(DOCA_SUCCESS, doca_urom_worker_set_id, idle, 0);
	GIVES(DOCA_SUCCESS, doca_urom_worker_set_id, idle, DOCA_UROM_WORKER_ID_ANY);
	GIVES(INVALID, doca_urom_worker_set_plugins, idle, 0);
	GIVES(INVALID, doca_urom_worker_set_plugins, idle, UINT64_MAX);
	GIVES(DOCA_SUCCESS, doca_urom_worker_set_plugins, idle, rig->plugin);
	DOCA_CPU_ZERO(&cpus);
	GIVES(INVALID, doca_urom_worker_set_cpuset, idle, cpus);
	DOCA_CPU_SET(1023, &cpus);
	GIVES(INVALID, doca_urom_worker_set_cpuset, idle, cpus);
	MUST(doca_urom_service_get_cpuset(rig->host.service, &cpus));
	GIVES(DOCA_SUCCESS, doca_urom_worker_set_cpuset, idle, cpus);
	GIVES(DOCA_SUCCESS, doca_urom_worker_set_gid, idle, UINT32_MAX);
	GIVES(INVALID, doca_urom_worker_set_max_inflight_tasks, idle, 0);
	GIVES(INVALID, doca_urom_worker_set_max_inflight_tasks, idle, UINT32_MAX);
	GIVES(DOCA_SUCCESS, doca_urom_worker_set_max_inflight_tasks, idle, 2);
	GIVES(INVALID, doca_urom_worker_set_env, idle, NULL, 1);
	GIVES(INVALID, doca_urom_worker_set_env, idle, good, 0);
	GIVES(INVALID, doca_urom_worker_set_env, idle, good, SIZE_MAX);
	GIVES(INVALID, doca_urom_worker_set_env, idle, no_name, 1);
	GIVES(INVALID, doca_urom_worker_set_env, idle, no_value, 1);
	GIVES(INVALID, doca_urom_worker_set_env, idle, hole, 2);
	GIVES(DOCA_SUCCESS, doca_urom_worker_set_env, idle, good, 2);
	GIVES(INVALID, doca_urom_worker_get_id, idle, NULL);
	GIVES(INVALID, doca_urom_worker_get_gid, idle, NULL);
	GIVES(DOCA_SUCCESS, doca_urom_worker_get_gid, idle, &gid);
	IS(UINT32_MAX, gid);
	GIVES(DOCA_SUCCESS, doca_urom_worker_destroy, idle);

	running = running_worker(rig, rig->host.pe, 70);
	GIVES(DOCA_SUCCESS, doca_urom_worker_get_id, running, &id);
	IS(70, id);
	GIVES(INVALID, urom_worker_get_health, running, NULL);
	GIVES(DOCA_SUCCESS, urom_worker_get_health, running, &health);
	IS(0, health.plugin[0]);
	GIVES(INVALID, urom_worker_share_memory, running, NULL, no_memory_told, NULL);
	GIVES(INVALID, urom_worker_share_memory, running, &offered, no_memory_told, NULL);
	offered.size = sizeof(offered);
	GIVES(INVALID, urom_worker_share_memory, running, &offered, no_memory_told, NULL);
	offered.address = &health;
	GIVES(INVALID, urom_worker_share_memory, running, &offered, no_memory_told, NULL);
	offered.len = sizeof(health);
	GIVES(INVALID, urom_worker_share_memory, running, &offered, NULL, NULL);
	GIVES(INVALID, urom_worker_unshare_memory, running, 7, NULL, NULL);
	GIVES(DOCA_SUCCESS, urom_worker_unshare_memory, running, 7, no_memory_told, NULL);
	GIVES(INVALID, doca_urom_worker_cmd_task_allocate, running, NULL);
	GIVES(INVALID, doca_urom_worker_cmd_task_allocate_init, running, rig->plugin, NULL);
	GIVES(INVALID, doca_urom_worker_cmd_task_allocate_init, running, 0, &task);
	GIVES(INVALID, doca_urom_worker_cmd_task_allocate_init, running, rig->plugin << 1, &task);
	GIVES(INVALID, doca_urom_worker_cmd_task_allocate_init, running, UINT64_MAX, &task);
	/* A task without a plugin can be allocated, but not submitted. */
	GIVES(DOCA_SUCCESS, doca_urom_worker_cmd_task_allocate, running, &task);
	GIVES(INVALID, doca_task_submit, doca_urom_worker_cmd_task_as_task(task));
	RETURNS(doca_urom_worker_cmd_task_set_plugin, task, UINT64_MAX);
	GIVES(INVALID, doca_task_submit, doca_urom_worker_cmd_task_as_task(task));
	RETURNS(doca_urom_worker_cmd_task_set_cb, task, NULL);
	GIVES(DOCA_SUCCESS, doca_urom_worker_cmd_task_release, task);
	end_worker(running, rig->host.pe);
}

static inline void bad_arguments_of_a_buffer(const struct rig *rig)
{
	struct doca_urom_worker *worker = running_worker(rig, rig->host.pe, 71);
	struct doca_urom_worker_cmd_task *task = loopback(rig, worker, 1, no_command_done);
	struct doca_buf *payload = doca_urom_worker_cmd_task_get_payload(task);
	struct doca_task *as_task = doca_urom_worker_cmd_task_as_task(task);
	char *head;
	size_t len;

	GIVES(INVALID, doca_buf_get_data, payload, NULL);
	GIVES(INVALID, doca_buf_get_data_len, payload, NULL);
	GIVES(DOCA_SUCCESS, doca_buf_get_data, payload, (void **)&head);
	GIVES(DOCA_SUCCESS, doca_buf_get_data_len, payload, &len);
	IS(16, len);
	GIVES(DOCA_ERROR_NOT_PERMITTED, doca_buf_inventory_buf_reuse_by_addr, payload, head, 8);
	GIVES(DOCA_ERROR_NOT_PERMITTED, doca_buf_inventory_buf_reuse_by_data, payload, head, 8);
	GIVES(INVALID, doca_buf_set_data, payload, NULL, 8);
	GIVES(INVALID, doca_buf_set_data, payload, head - 1, 8);
	/* A program that ignores this error gets it again from the submit. */
	GIVES(INVALID, doca_task_submit, as_task);
	GIVES(INVALID, doca_buf_set_data, payload, head, 4096);
	GIVES(DOCA_ERROR_TOO_BIG, doca_task_submit, as_task);
	GIVES(INVALID, doca_buf_set_data, payload, head + 4072, 1);
	GIVES(DOCA_ERROR_TOO_BIG, doca_task_submit, as_task);
	GIVES(DOCA_SUCCESS, doca_buf_set_data, payload, head, 4072);
	GIVES(DOCA_SUCCESS, doca_urom_worker_cmd_task_release, task);
	end_worker(worker, rig->host.pe);
}

/* Task buffers: functions they share with other buffers, and functions they refuse. */
static inline void buffers_of_tasks(const struct rig *rig)
{
	struct doca_urom_worker *worker = running_worker(rig, rig->host.pe, 73);
	struct doca_urom_worker_cmd_task *task = loopback(rig, worker, 1, no_command_done);
	struct doca_buf *payload = doca_urom_worker_cmd_task_get_payload(task), *other;
	struct doca_buf_inventory *inventory;
	static char bytes[8];
	struct doca_mmap *map;
	void *head, *data;
	uint16_t count;
	uint32_t list;
	uint8_t is;
	size_t len;

	GIVES(DOCA_SUCCESS, doca_buf_get_head, payload, &head);
	GIVES(DOCA_SUCCESS, doca_buf_get_data, payload, &data);
	IS(1, head == data);
	GIVES(DOCA_SUCCESS, doca_buf_get_len, payload, &len);
	IS(4072, len);
	GIVES(DOCA_SUCCESS, doca_buf_set_data_len, payload, 4072);
	GIVES(INVALID, doca_buf_set_data_len, payload, 4073);
	GIVES(DOCA_SUCCESS, doca_buf_reset_data_len, payload);
	GIVES(DOCA_SUCCESS, doca_buf_get_data_len, payload, &len);
	IS(0, len);
	GIVES(DOCA_SUCCESS, doca_buf_get_refcount, payload, &count);
	IS(1, count);
	GIVES(DOCA_SUCCESS, doca_buf_get_next_in_list, payload, &other);
	IS(1, other == NULL);
	GIVES(DOCA_SUCCESS, doca_buf_get_last_in_list, payload, &other);
	IS(1, other == payload);
	GIVES(DOCA_SUCCESS, doca_buf_is_first_in_list, payload, &is);
	IS(1, is);
	GIVES(DOCA_SUCCESS, doca_buf_is_last_in_list, payload, &is);
	IS(1, is);
	GIVES(DOCA_SUCCESS, doca_buf_is_in_list, payload, &is);
	IS(0, is);
	GIVES(DOCA_SUCCESS, doca_buf_get_list_len, payload, &list);
	IS(1, list);

	map = started_map(bytes, sizeof(bytes), 0, NULL);
	inventory = started_inventory(2);
	MUST(doca_buf_inventory_buf_get_by_addr(inventory, map, bytes, 8, &other));
	GIVES(DOCA_ERROR_NOT_PERMITTED, doca_buf_inc_refcount, payload, &count);
	GIVES(DOCA_ERROR_NOT_PERMITTED, doca_buf_dec_refcount, payload, &count);
	GIVES(DOCA_ERROR_NOT_PERMITTED, doca_buf_chain_list, payload, other);
	GIVES(DOCA_ERROR_NOT_PERMITTED, doca_buf_chain_list, other, payload);
	GIVES(DOCA_ERROR_NOT_PERMITTED, doca_buf_chain_list_tail, other, payload, other);
	GIVES(DOCA_ERROR_NOT_PERMITTED, doca_buf_unchain_list, payload, payload);
	GIVES(DOCA_ERROR_NOT_PERMITTED, doca_buf_inventory_buf_dup, inventory, payload, &other);
	GIVES(DOCA_SUCCESS, doca_buf_dec_refcount, other, NULL);
	GIVES(DOCA_SUCCESS, doca_buf_inventory_destroy, inventory);
	GIVES(DOCA_SUCCESS, doca_mmap_destroy, map);
	GIVES(DOCA_SUCCESS, doca_urom_worker_cmd_task_release, task);
	end_worker(worker, rig->host.pe);
}

static inline void bad_arguments_of_a_domain(const struct rig *rig)
{
	struct doca_urom_domain_oob_coll good = {gather_alone, gathered, gathered, NULL, 1, 0}, oob;
	struct doca_urom_worker *worker = new_worker(rig, rig->host.pe, 72),
				*twice[2] = {worker, worker}, *none = NULL;
	struct doca_urom_domain *domain;
	uint64_t ids[2] = {1, 2}, same[2] = {1, 1};
	char blob[8] = "";

	GIVES(INVALID, doca_urom_domain_create, NULL);
	GIVES(DOCA_SUCCESS, doca_urom_domain_create, &domain);
	GIVES(INVALID, doca_urom_domain_set_oob, domain, NULL);
	oob = good, oob.allgather = NULL;
	GIVES(INVALID, doca_urom_domain_set_oob, domain, &oob);
	oob = good, oob.req_test = NULL;
	GIVES(INVALID, doca_urom_domain_set_oob, domain, &oob);
	oob = good, oob.req_free = NULL;
	GIVES(INVALID, doca_urom_domain_set_oob, domain, &oob);
	oob = good, oob.n_oob_indexes = 0;
	GIVES(INVALID, doca_urom_domain_set_oob, domain, &oob);
	oob = good, oob.oob_index = 1;
	GIVES(INVALID, doca_urom_domain_set_oob, domain, &oob);
	GIVES(DOCA_SUCCESS, doca_urom_domain_set_oob, domain, &good);
	GIVES(INVALID, doca_urom_domain_set_workers, domain, NULL, &worker, 1);
	GIVES(INVALID, doca_urom_domain_set_workers, domain, ids, NULL, 1);
	GIVES(INVALID, doca_urom_domain_set_workers, domain, ids, &none, 1);
	GIVES(INVALID, doca_urom_domain_set_workers, domain, ids, &worker, 0);
	GIVES(INVALID, doca_urom_domain_set_workers, domain, ids, &worker, SIZE_MAX);
	GIVES(INVALID, doca_urom_domain_set_workers, domain, ids, twice, 2);
	GIVES(INVALID, doca_urom_domain_set_workers, domain, same, twice, 2);
	GIVES(DOCA_SUCCESS, doca_urom_domain_set_workers, domain, ids, &worker, 1);
	GIVES(DOCA_ERROR_BAD_STATE, doca_urom_domain_add_buffer, domain, blob, 8, blob, 8, blob, 8);
	GIVES(INVALID, doca_urom_domain_set_buffers_count, domain, 0);
	GIVES(INVALID, doca_urom_domain_set_buffers_count, domain, SIZE_MAX);
	GIVES(DOCA_SUCCESS, doca_urom_domain_set_buffers_count, domain, 1);
	GIVES(INVALID, doca_urom_domain_add_buffer, domain, NULL, 8, blob, 8, blob, 8);
	GIVES(INVALID, doca_urom_domain_add_buffer, domain, blob, 0, blob, 8, blob, 8);
	GIVES(INVALID, doca_urom_domain_add_buffer, domain, blob, SIZE_MAX, blob, 8, blob, 8);
	GIVES(INVALID, doca_urom_domain_add_buffer, domain, blob, 8, NULL, 8, blob, 8);
	GIVES(INVALID, doca_urom_domain_add_buffer, domain, blob, 8, blob, SIZE_MAX, blob, 8);
	GIVES(INVALID, doca_urom_domain_add_buffer, domain, blob, 8, blob, 8, NULL, 8);
	GIVES(INVALID, doca_urom_domain_add_buffer, domain, blob, 8, blob, 8, blob, SIZE_MAX);
	GIVES(DOCA_SUCCESS, doca_urom_domain_add_buffer, domain, blob, 8, blob, 8, blob, 8);
	GIVES(DOCA_ERROR_FULL, doca_urom_domain_add_buffer, domain, blob, 8, blob, 8, blob, 8);
	GIVES(DOCA_SUCCESS, doca_urom_domain_destroy, domain);
	GIVES(DOCA_SUCCESS, doca_urom_worker_destroy, worker);
}

static inline void bad_arguments_of_an_engine(const struct rig *rig)
{
	struct doca_ctx *ctx = doca_urom_service_as_ctx(rig->host.service);
	union doca_data data = {.u64 = 7};
	struct doca_pe *pe;
	size_t count;
	int handle;

	GIVES(INVALID, doca_pe_create, NULL);
	GIVES(DOCA_SUCCESS, doca_pe_create, &pe);
	GIVES(INVALID, doca_pe_connect_ctx, NULL, ctx);
	GIVES(INVALID, doca_pe_connect_ctx, pe, NULL);
	GIVES(INVALID, doca_pe_get_num_inflight_tasks, pe, NULL);
	GIVES(DOCA_SUCCESS, doca_pe_get_num_inflight_tasks, pe, &count);
	IS(0, count);
	GIVES(INVALID, doca_pe_get_notification_handle, pe, NULL);
	GIVES(DOCA_SUCCESS, doca_pe_get_notification_handle, pe, &handle);
	GIVES(DOCA_SUCCESS, doca_pe_request_notification, pe);
	GIVES(INVALID, doca_pe_clear_notification, pe, handle + 1);
	GIVES(INVALID, doca_pe_clear_notification, pe, -1);
	GIVES(DOCA_SUCCESS, doca_pe_clear_notification, pe, handle);
	GIVES(0, doca_pe_progress, pe);
	GIVES(DOCA_SUCCESS, doca_pe_destroy, pe);

	GIVES(INVALID, doca_ctx_get_state, ctx, NULL);
	GIVES(INVALID, doca_ctx_get_num_inflight_tasks, ctx, NULL);
	GIVES(INVALID, doca_ctx_get_user_data, ctx, NULL);
	GIVES(DOCA_SUCCESS, doca_ctx_set_user_data, ctx, data);
	data.u64 = 0;
	GIVES(DOCA_SUCCESS, doca_ctx_get_user_data, ctx, &data);
	IS(7, data.u64);
	GIVES(DOCA_SUCCESS, doca_ctx_set_state_changed_cb, ctx, NULL);
	IS(0, urom_ctx_get_failure(ctx, NULL, 0));
}

/* Devices of this library lack this capability. */
static inline void lacks(const struct doca_devinfo *info,
			 doca_error_t (*is_supported)(const struct doca_devinfo *, uint8_t *))
{
	uint8_t is = 7;

	IS(INVALID, is_supported(info, NULL));
	IS(DOCA_SUCCESS, is_supported(info, &is));
	IS(0, is);
}

static inline void addresses_in_short_buffers(const struct doca_devinfo *info)
{
	uint8_t bytes[DOCA_DEVINFO_IPV6_ADDR_SIZE] = {77};
	uint32_t number = 7;

	GIVES(INVALID, doca_devinfo_get_mac_addr, info, NULL, sizeof(bytes));
	GIVES(INVALID, doca_devinfo_get_mac_addr, info, bytes, DOCA_DEVINFO_MAC_ADDR_SIZE - 1);
	GIVES(INVALID, doca_devinfo_get_ipv4_addr, info, NULL, sizeof(bytes));
	GIVES(INVALID, doca_devinfo_get_ipv4_addr, info, bytes, DOCA_DEVINFO_IPV4_ADDR_SIZE - 1);
	GIVES(INVALID, doca_devinfo_get_ipv6_addr, info, NULL, sizeof(bytes));
	GIVES(INVALID, doca_devinfo_get_ipv6_addr, info, bytes, DOCA_DEVINFO_IPV6_ADDR_SIZE - 1);
	IS(77, bytes[0]);

	lacks(info, doca_devinfo_cap_is_hotplug_manager_supported);
	lacks(info, doca_devinfo_cap_is_notification_moderation_supported);
	lacks(info, doca_devinfo_cap_is_accelerate_resource_reclaim_supported);
	lacks(info, doca_devinfo_rep_cap_is_filter_all_supported);
	lacks(info, doca_devinfo_rep_cap_is_filter_net_supported);
	lacks(info, doca_devinfo_rep_cap_is_filter_emulated_supported);
	GIVES(INVALID, doca_ctx_cap_get_num_completion_vectors, info, NULL);
	GIVES(DOCA_SUCCESS, doca_ctx_cap_get_num_completion_vectors, info, &number);
	IS(0, number);
}

static inline void bad_arguments_of_a_device(void)
{
	char name[DOCA_DEVINFO_IBDEV_NAME_SIZE], pci[DOCA_DEVINFO_PCI_ADDR_SIZE],
		interface[DOCA_DEVINFO_IFACE_NAME_SIZE];
	struct doca_devinfo **list, *info;
	struct doca_dev *dev;
	uint32_t count;
	uint8_t equal;

	GIVES(INVALID, doca_devinfo_create_list, NULL, &count);
	GIVES(INVALID, doca_devinfo_create_list, &list, NULL);
	GIVES(DOCA_SUCCESS, doca_devinfo_create_list, &list, &count);
	INSIST(count > 0);
	GIVES(INVALID, doca_devinfo_get_ibdev_name, list[0], NULL, sizeof(name));
	GIVES(INVALID, doca_devinfo_get_ibdev_name, list[0], name, sizeof(name) - 1);
	GIVES(DOCA_SUCCESS, doca_devinfo_get_ibdev_name, list[count - 1], name, sizeof(name));
	GIVES(INVALID, doca_devinfo_get_pci_addr_str, list[0], NULL);
	GIVES(DOCA_SUCCESS, doca_devinfo_get_pci_addr_str, list[0], pci);
	GIVES(INVALID, doca_devinfo_is_equal_pci_addr, list[0], NULL, &equal);
	GIVES(INVALID, doca_devinfo_is_equal_pci_addr, list[0], pci, NULL);
	equal = 7;
	GIVES(INVALID, doca_devinfo_is_equal_pci_addr, list[0], "no address", &equal);
	GIVES(INVALID, doca_devinfo_is_equal_pci_addr, list[0], "", &equal);
	GIVES(INVALID, doca_devinfo_is_equal_pci_addr, list[0], "0000:03:00", &equal);
	GIVES(INVALID, doca_devinfo_is_equal_pci_addr, list[0], "\xff\xfe:03.0", &equal);
	IS(7, equal);
	GIVES(DOCA_SUCCESS, doca_devinfo_is_equal_pci_addr, list[0], pci, &equal);
	IS(1, equal);
	GIVES(INVALID, doca_devinfo_get_iface_name, list[0], NULL, sizeof(interface));
	GIVES(INVALID, doca_devinfo_get_iface_name, list[0], interface, sizeof(interface) - 1);
	RETURNS(doca_devinfo_get_iface_name, list[0], interface, sizeof(interface));
	addresses_in_short_buffers(list[0]);
	GIVES(INVALID, doca_dev_open, list[0], NULL);
	GIVES(DOCA_SUCCESS, doca_dev_open, list[0], &dev);
	GIVES(DOCA_SUCCESS, doca_devinfo_destroy_list, list);
	info = doca_dev_as_devinfo(dev);
	GIVES(DOCA_SUCCESS, doca_devinfo_get_ibdev_name, info, name, sizeof(name));
	GIVES(DOCA_SUCCESS, doca_dev_close, dev);
}

#endif /* TESTS_EVERY_ARGUMENT_H */
