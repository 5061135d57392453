/* Error texts, versions, and the functions that the library does not support. */
#ifndef TESTS_EVERY_OTHER_H
#define TESTS_EVERY_OTHER_H

#include "rig.h"

#include <doca_version.h>

#define UNSUPPORTED DOCA_ERROR_NOT_SUPPORTED

static inline void codes_and_versions(void)
{
	uint32_t code;

	for (code = 0; code <= DOCA_ERROR_SKIPPED; ++code) {
		IS(0, strncmp(doca_error_get_name(code), "DOCA_", 5));
		IS(1, strlen(doca_error_get_descr(code)) > 3);
	}
	IS(0, strcmp(doca_error_get_descr(code), doca_error_get_descr(UINT32_MAX)));
	IS(0, strcmp(doca_version_runtime(), DOCA_VERSION_STRING));
	note_call("doca_error_get_name");
	note_call("doca_error_get_descr");
	note_call("doca_version_runtime");
}

/* Expects INVALID_VALUE for each NULL pointer, otherwise NOT_SUPPORTED, without output. */
static inline void unsupported_calls(const struct rig *rig)
{
	struct doca_devinfo_rep **reps = NULL, *rep = (void *)rig;
	struct doca_dev *dev = rig->host.device;
	struct doca_dev_rep *dev_rep = NULL;
	enum doca_pci_func_type type = DOCA_PCI_FUNC_TYPE_SF;
	struct doca_devinfo **list;
	char text[DOCA_DEVINFO_REP_VUID_SIZE] = "";
	uint32_t number = 77, count;
	uint8_t equal = 77;
	uint16_t half = 77;
	uint64_t rate = 77;
	struct doca_ctx *ctx = doca_urom_service_as_ctx(rig->host.service);
	const union doca_data key = {.u64 = 0};

	MUST(doca_devinfo_create_list(&list, &count));
	GIVES(INVALID, doca_devinfo_get_pci_func_type, NULL, &type);
	GIVES(INVALID, doca_devinfo_get_pci_func_type, list[0], NULL);
	GIVES(UNSUPPORTED, doca_devinfo_get_pci_func_type, list[0], &type);
	GIVES(INVALID, doca_devinfo_get_sf_index, NULL, &number);
	GIVES(INVALID, doca_devinfo_get_sf_index, list[0], NULL);
	GIVES(UNSUPPORTED, doca_devinfo_get_sf_index, list[0], &number);
	GIVES(INVALID, doca_devinfo_get_lid, NULL, &half);
	GIVES(INVALID, doca_devinfo_get_lid, list[0], NULL);
	GIVES(UNSUPPORTED, doca_devinfo_get_lid, list[0], &half);
	GIVES(INVALID, doca_devinfo_get_active_rate, NULL, &rate);
	GIVES(INVALID, doca_devinfo_get_active_rate, list[0], NULL);
	GIVES(UNSUPPORTED, doca_devinfo_get_active_rate, list[0], &rate);
	GIVES(INVALID, doca_devinfo_get_vhca_id, NULL, &half);
	GIVES(INVALID, doca_devinfo_get_vhca_id, list[0], NULL);
	GIVES(UNSUPPORTED, doca_devinfo_get_vhca_id, list[0], &half);
	MUST(doca_devinfo_destroy_list(list));
	GIVES(INVALID, doca_dev_accelerate_resource_reclaim, NULL);
	GIVES(UNSUPPORTED, doca_dev_accelerate_resource_reclaim, dev);

	GIVES(INVALID, doca_devinfo_rep_create_list, NULL, 0, &reps, &number);
	GIVES(INVALID, doca_devinfo_rep_create_list, dev, 0, NULL, &number);
	GIVES(INVALID, doca_devinfo_rep_create_list, dev, 0, &reps, NULL);
	GIVES(UNSUPPORTED, doca_devinfo_rep_create_list, dev, 0, &reps, &number);
	GIVES(INVALID, doca_devinfo_rep_destroy_list, NULL);
	GIVES(UNSUPPORTED, doca_devinfo_rep_destroy_list, &rep);
	GIVES(INVALID, doca_devinfo_rep_get_vuid, NULL, text, sizeof(text));
	GIVES(INVALID, doca_devinfo_rep_get_vuid, rep, NULL, sizeof(text));
	GIVES(UNSUPPORTED, doca_devinfo_rep_get_vuid, rep, text, sizeof(text));
	GIVES(INVALID, doca_devinfo_rep_is_equal_pci_addr, NULL, text, &equal);
	GIVES(INVALID, doca_devinfo_rep_is_equal_pci_addr, rep, NULL, &equal);
	GIVES(INVALID, doca_devinfo_rep_is_equal_pci_addr, rep, text, NULL);
	GIVES(UNSUPPORTED, doca_devinfo_rep_is_equal_pci_addr, rep, text, &equal);
	GIVES(INVALID, doca_devinfo_rep_get_pci_addr_str, NULL, text);
	GIVES(INVALID, doca_devinfo_rep_get_pci_addr_str, rep, NULL);
	GIVES(UNSUPPORTED, doca_devinfo_rep_get_pci_addr_str, rep, text);
	GIVES(INVALID, doca_devinfo_rep_get_pci_func_type, NULL, &type);
	GIVES(INVALID, doca_devinfo_rep_get_pci_func_type, rep, NULL);
	GIVES(UNSUPPORTED, doca_devinfo_rep_get_pci_func_type, rep, &type);
	GIVES(INVALID, doca_devinfo_rep_get_is_hotplug, NULL, &equal);
	GIVES(INVALID, doca_devinfo_rep_get_is_hotplug, rep, NULL);
	GIVES(UNSUPPORTED, doca_devinfo_rep_get_is_hotplug, rep, &equal);
	GIVES(INVALID, doca_devinfo_rep_get_iface_name, NULL, text, sizeof(text));
	GIVES(INVALID, doca_devinfo_rep_get_iface_name, rep, NULL, sizeof(text));
	GIVES(UNSUPPORTED, doca_devinfo_rep_get_iface_name, rep, text, sizeof(text));
	GIVES(INVALID, doca_devinfo_rep_get_vhca_id, NULL, &half);
	GIVES(INVALID, doca_devinfo_rep_get_vhca_id, rep, NULL);
	GIVES(UNSUPPORTED, doca_devinfo_rep_get_vhca_id, rep, &half);
	GIVES(INVALID, doca_dev_rep_close, NULL);
	GIVES(UNSUPPORTED, doca_dev_rep_close, (void *)rep);
	GIVES_NULL(doca_dev_rep_as_devinfo, NULL);
	GIVES_NULL(doca_dev_rep_as_devinfo, (void *)rep);
	GIVES(INVALID, doca_dev_rep_open, NULL, &dev_rep);
	GIVES(INVALID, doca_dev_rep_open, rep, NULL);
	GIVES(UNSUPPORTED, doca_dev_rep_open, rep, &dev_rep);

	GIVES(INVALID, doca_ctx_set_datapath_on_gpu, NULL, (void *)rep);
	GIVES(INVALID, doca_ctx_set_datapath_on_gpu, ctx, NULL);
	GIVES(UNSUPPORTED, doca_ctx_set_datapath_on_gpu, ctx, (void *)rep);
	GIVES(INVALID, doca_ctx_set_datapath_on_dpa, NULL, (void *)rep);
	GIVES(INVALID, doca_ctx_set_datapath_on_dpa, ctx, NULL);
	GIVES(UNSUPPORTED, doca_ctx_set_datapath_on_dpa, ctx, (void *)rep);
	GIVES(INVALID, doca_ctx_set_completion_vector, NULL, 0);
	GIVES(UNSUPPORTED, doca_ctx_set_completion_vector, ctx, 0);
	GIVES(INVALID, doca_pe_set_notification_handle, NULL, 0, key);
	GIVES(UNSUPPORTED, doca_pe_set_notification_handle, rig->host.pe, 0, key);

	IS(1, !reps && !dev_rep);
	IS(1, half == 77 && rate == 77);
	IS(1, number == 77 && equal == 77 && type == DOCA_PCI_FUNC_TYPE_SF && !*text);
}

static inline void submitted_and_freed(const struct rig *rig)
{
	struct doca_urom_service_get_workers_by_gid_task *query;
	struct doca_urom_worker *worker = running_worker(rig, rig->host.pe, 75);
	struct doca_urom_worker_cmd_task *task = loopback(rig, worker, 1, NULL);
	struct doca_task *as_task = doca_urom_worker_cmd_task_as_task(task);
	union doca_data data = {.u64 = 0};

	MUST(doca_urom_service_get_workers_by_gid_task_allocate(rig->host.service, &query));
	GIVES(DOCA_SUCCESS, doca_task_try_submit, as_task);
	GIVES(DOCA_ERROR_NOT_PERMITTED, doca_task_try_submit, as_task);
	GIVES(DOCA_ERROR_IN_PROGRESS, doca_task_get_status, as_task);
	RETURNS(doca_task_free, as_task);
	GIVES(DOCA_ERROR_IN_PROGRESS, doca_task_get_status, as_task);
	IS(1, next_event(rig->host.pe));
	GIVES(DOCA_SUCCESS, doca_task_get_status, as_task);
	RETURNS(doca_task_set_user_data, as_task, data);
	data = doca_task_get_user_data(as_task);
	IS((uintptr_t)worker, (uintptr_t)doca_task_get_ctx(as_task));
	RETURNS(doca_task_free, as_task);

	as_task = doca_urom_service_get_workers_by_gid_task_as_task(query);
	RETURNS(doca_urom_service_get_workers_by_gid_task_set_gid, query, 0);
	GIVES(DOCA_SUCCESS, doca_task_try_submit, as_task);
	GIVES(DOCA_ERROR_NOT_PERMITTED, doca_urom_service_get_workers_by_gid_task_release, query);
	IS(0, doca_urom_service_get_workers_by_gid_task_get_workers_count(query));
	GIVES_NULL(doca_urom_service_get_workers_by_gid_task_get_worker_ids, query);
	IS(1, next_event(rig->host.pe));
	IS(1, doca_urom_service_get_workers_by_gid_task_get_workers_count(query));
	IS(75, doca_urom_service_get_workers_by_gid_task_get_worker_ids(query)[0]);
	RETURNS(doca_task_free, as_task);
	end_worker(worker, rig->host.pe);
}

#endif /* TESTS_EVERY_OTHER_H */
