/*
 * Every function of sync event tasks, memory hints and batches, in valid and invalid order. Needs
 * no service.
 */
#ifndef TESTS_EVERY_TASK_H
#define TESTS_EVERY_TASK_H

#include <stdbool.h>

#include <doca_mmap_advise.h>
#include <doca_pe.h>

#include "every_sync_event.h"

#define PER_KIND 2 /* tasks of each kind */

static struct {
	unsigned int completed, failed;
	void *task;
	uint64_t task_data, ctx_data;
	doca_error_t status;
	bool frees, submits;
} seen;

static inline void note_end(void *task, union doca_data task_data, union doca_data ctx_data)
{
	seen.task = task;
	seen.task_data = task_data.u64;
	seen.ctx_data = ctx_data.u64;
	seen.status = doca_task_get_status(task);
	if (seen.submits)
		MUST(doca_task_submit(task));
	if (seen.frees)
		doca_task_free(task);
	seen.submits = false;
}

#define CALLBACKS(name, type)                                                                    \
	static inline void name##_completed(struct type *task, union doca_data task_data,        \
					    union doca_data ctx_data)                            \
	{                                                                                        \
		++seen.completed;                                                                \
		note_end(task, task_data, ctx_data);                                             \
	}                                                                                        \
	static inline void name##_failed(struct type *task, union doca_data task_data,           \
					 union doca_data ctx_data)                               \
	{                                                                                        \
		++seen.failed;                                                                   \
		note_end(task, task_data, ctx_data);                                             \
	}

CALLBACKS(get, doca_sync_event_task_get)
CALLBACKS(notify_set, doca_sync_event_task_notify_set)
CALLBACKS(notify_add, doca_sync_event_task_notify_add)
CALLBACKS(wait_eq, doca_sync_event_task_wait_eq)
CALLBACKS(wait_neq, doca_sync_event_task_wait_neq)
CALLBACKS(invalidate, doca_mmap_advise_task_invalidate_cache)

static inline union doca_data number(uint64_t of)
{
	union doca_data data = {.u64 = of};

	return data;
}

/* Configures one kind of an event's tasks; NULL callbacks and zero tasks are refused. */
#define CONFIGURES(wanted, event, kind)                                                           \
	do {                                                                                      \
		GIVES(wanted, doca_sync_event_task_##kind##_set_conf, event, kind##_completed,    \
		      kind##_failed, PER_KIND);                                                   \
		if ((wanted) != DOCA_SUCCESS)                                                     \
			break;                                                                    \
		GIVES(BAD_VALUE, doca_sync_event_task_##kind##_set_conf, event, NULL,             \
		      kind##_failed, PER_KIND);                                                   \
		GIVES(BAD_VALUE, doca_sync_event_task_##kind##_set_conf, event, kind##_completed, \
		      NULL, PER_KIND);                                                            \
		GIVES(BAD_VALUE, doca_sync_event_task_##kind##_set_conf, event, kind##_completed, \
		      kind##_failed, 0);                                                          \
	} while (0)

static inline void configure_tasks(struct doca_sync_event *event, doca_error_t wanted)
{
	CONFIGURES(wanted, event, get);
	CONFIGURES(wanted, event, notify_set);
	CONFIGURES(wanted, event, notify_add);
	CONFIGURES(wanted, event, wait_eq);
	CONFIGURES(wanted, event, wait_neq);
}

static inline struct doca_sync_event *event_with_tasks(struct doca_dev *dev, struct doca_pe *pe)
{
	struct doca_sync_event *event = own_event(dev);

	configure_tasks(event, DOCA_SUCCESS);
	MUST(doca_pe_connect_ctx(pe, doca_sync_event_as_ctx(event)));
	GIVES(DOCA_SUCCESS, doca_sync_event_start, event);
	return event;
}

static inline size_t in_flight(struct doca_sync_event *event)
{
	size_t count;

	MUST(doca_ctx_get_num_inflight_tasks(doca_sync_event_as_ctx(event), &count));
	return count;
}

static inline uint64_t counter_of(struct doca_sync_event *event)
{
	uint64_t value;

	MUST(doca_sync_event_get(event, &value));
	return value;
}

static inline void ends(struct doca_pe *pe, void *task, doca_error_t status, uint64_t data)
{
	const unsigned int completed = seen.completed, failed = seen.failed;

	IS(DOCA_ERROR_IN_PROGRESS, doca_task_get_status(task));
	IS(1, doca_pe_progress(pe));
	IS(completed + (status == DOCA_SUCCESS), seen.completed);
	IS(failed + (status != DOCA_SUCCESS), seen.failed);
	IS((uintptr_t)task, (uintptr_t)seen.task);
	IS(status, seen.status);
	IS(data, seen.task_data);
	IS(0, doca_pe_progress(pe));
}

static inline void effects_of_tasks(struct doca_dev *dev, struct doca_pe *pe)
{
	struct doca_sync_event *event = event_with_tasks(dev, pe);
	struct doca_ctx *ctx = doca_sync_event_as_ctx(event);
	struct doca_sync_event_task_get *get, *second, *third = NULL;
	struct doca_sync_event_task_notify_set *set;
	struct doca_sync_event_task_notify_add *add;
	struct doca_task *as_task;
	uint64_t value = 77, fetched = 77, *other;

	MUST(doca_ctx_set_user_data(ctx, number(5)));
	GIVES(DOCA_SUCCESS, doca_sync_event_task_get_alloc_init, event, &value, number(1), &get);
	GIVES(BAD_VALUE, doca_sync_event_task_get_alloc_init, event, &value, number(1), NULL);
	GIVES(DOCA_SUCCESS, doca_sync_event_task_get_alloc_init, event, NULL, number(2), &second);
	GIVES(DOCA_ERROR_NO_MEMORY, doca_sync_event_task_get_alloc_init, event, &value, number(3),
	      &third);
	GIVES_NULL(doca_sync_event_task_get_get_ret_val_ptr, second);
	as_task = doca_sync_event_task_get_as_doca_task(second);
	note_call("doca_sync_event_task_get_as_doca_task");
	GIVES(BAD_VALUE, doca_task_submit, as_task);
	IS(DOCA_ERROR_BAD_STATE, doca_task_get_status(as_task));
	RETURNS(doca_task_free, as_task);

	GIVES(DOCA_SUCCESS, doca_sync_event_task_notify_set_alloc_init, event, 8, number(4), &set);
	IS(8, doca_sync_event_task_notify_set_get_set_val(set));
	note_call("doca_sync_event_task_notify_set_get_set_val");
	RETURNS(doca_sync_event_task_notify_set_set_set_val, set, 9);
	as_task = doca_sync_event_task_notify_set_as_doca_task(set);
	note_call("doca_sync_event_task_notify_set_as_doca_task");
	IS((uintptr_t)ctx, (uintptr_t)doca_task_get_ctx(as_task));
	IS(4, doca_task_get_user_data(as_task).u64);
	GIVES(DOCA_SUCCESS, doca_task_submit, as_task);
	IS(1, in_flight(event));
	IS(9, counter_of(event));
	GIVES(NOT_PERMITTED, doca_task_submit, as_task);
	RETURNS(doca_task_free, as_task);
	ends(pe, as_task, DOCA_SUCCESS, 4);
	IS(5, seen.ctx_data);
	IS(0, in_flight(event));

	GIVES(DOCA_SUCCESS, doca_sync_event_task_notify_add_alloc_init, event, 1, NULL, number(6),
	      &add);
	as_task = doca_sync_event_task_notify_add_as_doca_task(add);
	note_call("doca_sync_event_task_notify_add_as_doca_task");
	GIVES(BAD_VALUE, doca_task_try_submit, as_task);
	IS(9, counter_of(event));
	RETURNS(doca_sync_event_task_notify_add_set_fetched_val_ptr, add, &fetched);
	other = doca_sync_event_task_notify_add_get_fetched_val_ptr(add);
	note_call("doca_sync_event_task_notify_add_get_fetched_val_ptr");
	IS(1, other == &fetched);
	RETURNS(doca_sync_event_task_notify_add_set_inc_val, add, 3);
	IS(3, doca_sync_event_task_notify_add_get_inc_val(add));
	note_call("doca_sync_event_task_notify_add_get_inc_val");
	GIVES(BAD_VALUE, doca_task_submit_ex, as_task, 4);
	GIVES(DOCA_SUCCESS, doca_task_submit_ex, as_task,
	      DOCA_TASK_SUBMIT_FLAG_FLUSH | DOCA_TASK_SUBMIT_FLAG_OPTIMIZE_REPORTS);
	RETURNS(doca_ctx_flush_tasks, ctx);
	ends(pe, as_task, DOCA_SUCCESS, 6);
	IS(1, fetched == 9 && counter_of(event) == 12);
	/* Submitted again from the callback, then freed there. */
	seen.submits = true;
	GIVES(DOCA_SUCCESS, doca_task_submit_ex, as_task, DOCA_TASK_SUBMIT_FLAG_NONE);
	IS(1, doca_pe_progress(pe));
	IS(15, fetched);
	seen.frees = true;
	IS(1, doca_pe_progress(pe));
	seen.frees = false;
	IS(18, counter_of(event));

	RETURNS(doca_sync_event_task_get_set_ret_val_ptr, get, &fetched);
	as_task = doca_sync_event_task_get_as_doca_task(get);
	GIVES(DOCA_SUCCESS, doca_task_submit, as_task);
	ends(pe, as_task, DOCA_SUCCESS, 1);
	IS(1, value == 77 && fetched == 18);
	RETURNS(doca_task_free, as_task);
	RETURNS(doca_task_free, doca_sync_event_task_notify_set_as_doca_task(set));
	end_event(event);
}

/* Waits and their completions; a stop waits for the release of all tasks. */
static inline void waits_of_tasks(struct doca_dev *dev, struct doca_pe *pe)
{
	struct doca_sync_event *event = event_with_tasks(dev, pe);
	struct doca_ctx *ctx = doca_sync_event_as_ctx(event);
	struct doca_sync_event_task_wait_eq *eq, *none;
	struct doca_sync_event_task_wait_neq *neq;
	struct doca_task *wait, *other;

	GIVES(DOCA_SUCCESS, doca_sync_event_task_wait_eq_alloc_init, event, 1, 2, number(1), &eq);
	IS(1, doca_sync_event_task_wait_eq_get_wait_val(eq));
	IS(2, doca_sync_event_task_wait_eq_get_mask(eq));
	note_call("doca_sync_event_task_wait_eq_get_wait_val");
	note_call("doca_sync_event_task_wait_eq_get_mask");
	RETURNS(doca_sync_event_task_wait_eq_set_wait_val, eq, 7);
	RETURNS(doca_sync_event_task_wait_eq_set_mask, eq, 0xf);
	wait = doca_sync_event_task_wait_eq_as_doca_task(eq);
	note_call("doca_sync_event_task_wait_eq_as_doca_task");
	GIVES(DOCA_SUCCESS, doca_sync_event_task_wait_neq_alloc_init, event, 1, 2, number(2), &neq);
	IS(1, doca_sync_event_task_wait_neq_get_wait_val(neq));
	IS(2, doca_sync_event_task_wait_neq_get_mask(neq));
	note_call("doca_sync_event_task_wait_neq_get_wait_val");
	note_call("doca_sync_event_task_wait_neq_get_mask");
	RETURNS(doca_sync_event_task_wait_neq_set_wait_val, neq, 0);
	RETURNS(doca_sync_event_task_wait_neq_set_mask, neq, 0xf0);
	other = doca_sync_event_task_wait_neq_as_doca_task(neq);
	note_call("doca_sync_event_task_wait_neq_as_doca_task");

	MUST(doca_task_submit(wait));
	MUST(doca_task_submit(other));
	IS(2, in_flight(event));
	IS(0, doca_pe_progress(pe));
	MUST(doca_sync_event_update_set(event, 6));
	IS(0, doca_pe_progress(pe));
	GIVES(NOT_PERMITTED, doca_task_submit, wait);
	RETURNS(doca_task_free, wait);
	MUST(doca_sync_event_update_set(event, 7));
	ends(pe, wait, DOCA_SUCCESS, 1);
	MUST(doca_sync_event_update_set(event, 0x17));
	ends(pe, other, DOCA_SUCCESS, 2);
	MUST(doca_task_submit(other));
	ends(pe, other, DOCA_SUCCESS, 2);

	MUST(doca_sync_event_update_set(event, 0));
	MUST(doca_task_submit(other));
	MUST(doca_task_submit(wait));
	GIVES(DOCA_ERROR_IN_PROGRESS, doca_sync_event_stop, event);
	IS(DOCA_CTX_STATE_STOPPING, state_of_event(event));
	GIVES(BAD_STATE, doca_sync_event_task_wait_eq_alloc_init, event, 1, 2, number(1), &none);
	GIVES(BAD_STATE, doca_sync_event_get, event, &seen.task_data);
	GIVES(BAD_STATE, doca_sync_event_destroy, event);
	IS(1, doca_pe_progress(pe));
	IS(DOCA_ERROR_SHUTDOWN, seen.status);
	IS(1, (uintptr_t)seen.task == (uintptr_t)other);
	ends(pe, wait, DOCA_ERROR_SHUTDOWN, 1);
	GIVES(BAD_STATE, doca_task_submit, wait);
	GIVES(DOCA_ERROR_IN_PROGRESS, doca_ctx_stop, ctx);
	RETURNS(doca_task_free, wait);
	IS(0, doca_pe_progress(pe));
	RETURNS(doca_task_free, other);
	IS(DOCA_CTX_STATE_STOPPING, state_of_event(event));
	IS(1, doca_pe_progress(pe));
	IS(DOCA_CTX_STATE_IDLE, state_of_event(event));
	GIVES(DOCA_SUCCESS, doca_sync_event_start, event);
	IS(0, counter_of(event));
	configure_tasks(event, BAD_STATE);
	end_event(event);
}

/* Tasks that must fail: unconfigured, without an engine, of the other end, or of another kind. */
static inline void tasks_that_cannot_be(struct doca_dev *dev, struct doca_pe *pe)
{
	struct doca_sync_event *event = own_event(dev);
	struct doca_sync_event_task_get *get;
	struct doca_sync_event_task_wait_eq *eq;
	struct doca_sync_event_task_notify_set *set;
	struct doca_sync_event_task_notify_add *add;
	uint64_t value;

	GIVES(BAD_STATE, doca_sync_event_task_get_alloc_init, event, &value, number(0), &get);
	GIVES(DOCA_SUCCESS, doca_sync_event_start, event);
	GIVES(DOCA_ERROR_BAD_CONFIG, doca_sync_event_task_get_alloc_init, event, &value, number(0),
	      &get);
	GIVES(DOCA_SUCCESS, doca_sync_event_stop, event);
	configure_tasks(event, DOCA_SUCCESS);
	GIVES(DOCA_ERROR_NOT_CONNECTED, doca_sync_event_start, event);
	MUST(doca_pe_connect_ctx(pe, doca_sync_event_as_ctx(event)));
	GIVES(DOCA_SUCCESS, doca_ctx_start, doca_sync_event_as_ctx(event));
	MUST(doca_sync_event_task_wait_eq_alloc_init(event, 0, 0, number(0), &eq));
	GIVES_NULL(doca_sync_event_task_wait_neq_as_doca_task, (void *)eq);
	RETURNS(doca_sync_event_task_notify_set_set_set_val, (void *)eq, 3);
	IS(0, doca_sync_event_task_wait_eq_get_wait_val(eq));
	doca_task_free((void *)eq);
	end_event(event);

	MUST(doca_sync_event_create(&event));
	MUST(doca_sync_event_add_publisher_location_remote_pci(event));
	MUST(doca_sync_event_add_subscriber_location_cpu(event, dev));
	configure_tasks(event, DOCA_SUCCESS);
	MUST(doca_pe_connect_ctx(pe, doca_sync_event_as_ctx(event)));
	MUST(doca_sync_event_start(event));
	GIVES(NOT_PERMITTED, doca_sync_event_task_notify_set_alloc_init, event, 1, number(0), &set);
	GIVES(NOT_PERMITTED, doca_sync_event_task_notify_add_alloc_init, event, 1, &value,
	      number(0), &add);
	GIVES(DOCA_SUCCESS, doca_sync_event_task_get_alloc_init, event, &value, number(0), &get);
	doca_task_free((void *)get);
	end_event(event);
}

static inline void caps_and_what_needs_a_device(struct doca_dev *dev)
{
	struct doca_sync_event *event = own_event(dev);
	struct doca_sync_event_remote_net *remote = NULL;
	struct doca_devinfo **list;
	void *gpu = event, *handle = NULL;
	const uint8_t *bytes;
	uint8_t wrong[64] = {0};
	uint64_t word = 77;
	uint32_t count;
	size_t len;

	MUST(doca_devinfo_create_list(&list, &count));
#define CAP(wanted, of)                                                         \
	do {                                                                    \
		GIVES(wanted, doca_sync_event_cap_##of##_supported, list[0]);   \
		GIVES(BAD_VALUE, doca_sync_event_cap_##of##_supported, NULL);   \
	} while (0)
	CAP(DOCA_SUCCESS, is_create_from_export);
	CAP(DOCA_SUCCESS, remote_net_is_create_from_export);
	CAP(DOCA_SUCCESS, is_export_to_remote_pci);
	CAP(DOCA_SUCCESS, is_export_to_remote_net);
	CAP(DOCA_SUCCESS, task_get_is);
	CAP(DOCA_SUCCESS, task_notify_set_is);
	CAP(DOCA_SUCCESS, task_notify_add_is);
	CAP(DOCA_SUCCESS, task_wait_eq_is);
	CAP(DOCA_SUCCESS, task_wait_neq_is);
	CAP(DOCA_ERROR_NOT_SUPPORTED, is_export_to_dpa);
	CAP(DOCA_ERROR_NOT_SUPPORTED, is_export_to_gpu);
	CAP(DOCA_ERROR_NOT_SUPPORTED, remote_net_is_export_to_dpa);
	CAP(DOCA_ERROR_NOT_SUPPORTED, remote_net_is_export_to_gpu);
#undef CAP
	MUST(doca_devinfo_destroy_list(list));
#define NEEDS_ONE(function, ...)                                                \
	do {                                                                    \
		GIVES(DOCA_ERROR_NOT_SUPPORTED, function, event, __VA_ARGS__);  \
		GIVES(BAD_VALUE, function, NULL, __VA_ARGS__);                  \
	} while (0)
	NEEDS_ONE(doca_sync_event_add_publisher_location_dpa, gpu);
	NEEDS_ONE(doca_sync_event_add_publisher_location_gpu, gpu);
	NEEDS_ONE(doca_sync_event_add_subscriber_location_dpa, gpu);
	NEEDS_ONE(doca_sync_event_add_subscriber_location_gpu, gpu);
	NEEDS_ONE(doca_sync_event_get_dpa_handle, gpu, &word);
	NEEDS_ONE(doca_sync_event_get_gpu_handle, gpu, (void *)&handle);
	GIVES(BAD_VALUE, doca_sync_event_get_dpa_handle, event, gpu, NULL);
#undef NEEDS_ONE
	MUST(doca_sync_event_destroy(event));

	/* Events with and without a publisher on another host. */
	MUST(doca_sync_event_create(&event));
	MUST(doca_sync_event_add_publisher_location_remote_net(event));
	MUST(doca_sync_event_add_subscriber_location_cpu(event, dev));
	MUST(doca_sync_event_start(event));
	MUST(doca_sync_event_export_to_remote_net(event, &bytes, &len));
#define IMPORT doca_sync_event_remote_net_create_from_export
	IS(BAD_VALUE, IMPORT(NULL, bytes, len, &remote));
	IS(BAD_VALUE, IMPORT(dev, NULL, len, &remote));
	IS(BAD_VALUE, IMPORT(dev, bytes, len - 1, &remote));
	IS(BAD_VALUE, IMPORT(dev, bytes, len, NULL));
	IS(BAD_VALUE, IMPORT(dev, wrong, sizeof(wrong), &remote));
	note_call("doca_sync_event_remote_net_create_from_export");
	INSIST(remote == NULL);
	MUST(doca_sync_event_remote_net_create_from_export(dev, bytes, len, &remote));
	GIVES(DOCA_ERROR_NOT_SUPPORTED, doca_sync_event_remote_net_get_dpa_handle, remote, gpu,
	      &word);
	GIVES(DOCA_ERROR_NOT_SUPPORTED, doca_sync_event_remote_net_get_gpu_handle, remote, gpu,
	      &word);
	IS(1, word == 77 && handle == NULL);
	end_event(event);
	GIVES(DOCA_SUCCESS, doca_sync_event_remote_net_destroy, remote);
	MUST(doca_sync_event_create(&event));
	MUST(doca_sync_event_add_publisher_location_cpu(event, dev));
	MUST(doca_sync_event_add_subscriber_location_remote_pci(event));
	MUST(doca_sync_event_start(event));
	MUST(doca_sync_event_export_to_remote_pci(event, dev, &bytes, &len));
	IS(NOT_PERMITTED, IMPORT(dev, bytes, len, &remote));
#undef IMPORT
	end_event(event);
}

#define INVALIDATE(function) doca_mmap_advise_task_invalidate_cache_##function

static inline void hints_about_memory(struct doca_dev *dev, struct doca_pe *pe)
{
	struct doca_mmap_advise_task_invalidate_cache *task, *none;
	struct doca_buf_inventory *inventory = started_inventory(1);
	static uint64_t word;
	struct doca_mmap *map = started_map(&word, 8, 0, NULL);
	struct doca_buf *buf = buffer_at(inventory, map, &word, 8);
	struct doca_mmap_advise *advise = NULL;
	struct doca_devinfo **list;
	struct doca_ctx *ctx;
	uint64_t most = 0;
	uint32_t count;

	MUST(doca_devinfo_create_list(&list, &count));
	GIVES(DOCA_SUCCESS, doca_mmap_advise_cap_task_cache_invalidate_is_supported, list[0]);
	GIVES(BAD_VALUE, doca_mmap_advise_cap_task_cache_invalidate_is_supported, NULL);
	GIVES(BAD_VALUE, doca_mmap_advise_task_cache_invalidate_get_max_buf_size, list[0], NULL);
	GIVES(DOCA_SUCCESS, doca_mmap_advise_task_cache_invalidate_get_max_buf_size, list[0],
	      &most);
	IS(UINT64_MAX, most);
	MUST(doca_devinfo_destroy_list(list));
	GIVES(BAD_VALUE, doca_mmap_advise_create, NULL, &advise);
	GIVES(BAD_VALUE, doca_mmap_advise_create, dev, NULL);
	GIVES(DOCA_SUCCESS, doca_mmap_advise_create, dev, &advise);
	ctx = doca_mmap_advise_as_ctx(advise);
	note_call("doca_mmap_advise_as_ctx");
	note_call("doca_mmap_advise_task_invalidate_cache_set_conf");
	IS(BAD_VALUE, INVALIDATE(set_conf)(advise, NULL, invalidate_failed, 1));
	IS(BAD_VALUE, INVALIDATE(set_conf)(advise, invalidate_completed, NULL, 1));
	IS(BAD_VALUE, INVALIDATE(set_conf)(advise, invalidate_completed, invalidate_failed, 0));
	IS(DOCA_ERROR_NOT_CONNECTED, doca_ctx_start(ctx));
	MUST(doca_pe_connect_ctx(pe, ctx));
	note_call("doca_mmap_advise_task_invalidate_cache_alloc_init");
	IS(BAD_STATE, INVALIDATE(alloc_init)(advise, buf, number(1), &task));
	MUST(doca_ctx_start(ctx));
	IS(DOCA_ERROR_BAD_CONFIG, INVALIDATE(alloc_init)(advise, buf, number(1), &task));
	MUST(doca_ctx_stop(ctx));
	MUST(INVALIDATE(set_conf)(advise, invalidate_completed, invalidate_failed, 1));
	MUST(doca_ctx_start(ctx));
	IS(BAD_STATE, INVALIDATE(set_conf)(advise, invalidate_completed, invalidate_failed, 1));
	IS(BAD_VALUE, INVALIDATE(alloc_init)(advise, NULL, number(1), &task));
	IS(BAD_VALUE, INVALIDATE(alloc_init)(advise, buf, number(1), NULL));
	MUST(INVALIDATE(alloc_init)(advise, buf, number(1), &task));
	IS(DOCA_ERROR_NO_MEMORY, INVALIDATE(alloc_init)(advise, buf, number(1), &none));
	IS((uintptr_t)task, (uintptr_t)INVALIDATE(as_doca_task)(task));
	note_call("doca_mmap_advise_task_invalidate_cache_as_doca_task");
	RETURNS(doca_mmap_advise_task_invalidate_cache_set_buf, task, NULL);
	GIVES_NULL(doca_mmap_advise_task_invalidate_cache_get_buf, task);
	GIVES(BAD_VALUE, doca_task_submit, (void *)task);
	INVALIDATE(set_buf)(task, buf);
	IS((uintptr_t)buf, (uintptr_t)INVALIDATE(get_buf)(task));
	MUST(doca_task_submit((void *)task));
	ends(pe, task, DOCA_SUCCESS, 1);
	MUST(doca_buf_dec_refcount(buf, NULL));
	GIVES(BAD_VALUE, doca_task_submit, (void *)task);
	GIVES(BAD_STATE, doca_mmap_advise_destroy, advise);
	GIVES(DOCA_ERROR_IN_PROGRESS, doca_ctx_stop, ctx);
	doca_task_free((void *)task);
	IS(1, doca_pe_progress(pe));
	GIVES(DOCA_SUCCESS, doca_mmap_advise_destroy, advise);
	MUST(doca_buf_inventory_destroy(inventory));
	MUST(doca_mmap_destroy(map));
}

static inline void batches(void)
{
	uint64_t words[64] = {0};
	struct doca_task_batch *batch = (void *)words;

	GIVES(BAD_VALUE, doca_task_batch_submit, NULL);
	GIVES(BAD_VALUE, doca_task_batch_try_submit, NULL);
	GIVES(BAD_VALUE, doca_task_batch_get_status, NULL);
	GIVES(DOCA_ERROR_NOT_SUPPORTED, doca_task_batch_submit, batch);
	GIVES(DOCA_ERROR_NOT_SUPPORTED, doca_task_batch_try_submit, batch);
	GIVES(DOCA_ERROR_NOT_SUPPORTED, doca_task_batch_get_status, batch);
	RETURNS(doca_task_batch_free, batch);
	RETURNS(doca_task_batch_set_user_data, batch, number(7));
	IS(0, doca_task_batch_get_user_data(batch).u64);
	IS(0, doca_task_batch_get_ctx_user_data(batch).u64);
	IS(0, doca_task_batch_get_tasks_num(batch));
	GIVES_NULL(doca_task_batch_get_ctx, batch);
	note_call("doca_task_batch_get_user_data");
	note_call("doca_task_batch_get_ctx_user_data");
	note_call("doca_task_batch_get_tasks_num");
}

static inline void every_task_call(struct doca_dev *dev)
{
	struct doca_pe *pe;

	MUST(doca_pe_create(&pe));
	effects_of_tasks(dev, pe);
	waits_of_tasks(dev, pe);
	tasks_that_cannot_be(dev, pe);
	caps_and_what_needs_a_device(dev);
	hints_about_memory(dev, pe);
	batches();
	MUST(doca_pe_destroy(pe));
}

#endif /* TESTS_EVERY_TASK_H */
