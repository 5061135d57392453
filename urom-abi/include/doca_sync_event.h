/*
 * Sync events: a counter of 64 bits that threads and processes share and wait for.
 *
 * An event is created, configured, started and used, then stopped and destroyed. It has one
 * publisher, who sets it and adds to it, and one subscriber, who gets it and waits for it; each is
 * this program (`cpu`) or another process. A setter gives BAD_STATE once the event was started.
 * Every function gives INVALID_VALUE for a pointer that is NULL or stands for something else.
 *
 * `remote_pci` and `remote_net` are processes of the same user on the same machine, to which the
 * exported bytes travel by any means. Plugins do not need them: with urom_extensions.h a program
 * shares the counter's memory with a worker.
 *
 * An update wakes all who wait. A plain store into the counter wakes nobody: those who wait look by
 * themselves at a falling rate, at last every 10 ms.
 *
 * One thread at a time configures, starts, stops and destroys an event. Any number of them may get,
 * update and wait meanwhile.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef DOCA_SYNC_EVENT_H_
#define DOCA_SYNC_EVENT_H_

#include <stddef.h>
#include <stdint.h>

#include <doca_compat.h>
#include <doca_error.h>
#include <doca_types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_buf;
struct doca_ctx;
struct doca_dev;
struct doca_devinfo;
struct doca_dpa;
struct doca_gpu;
struct doca_sync_event;
struct doca_task;

/* An event of another host, as RDMA sees it. */
struct doca_sync_event_remote_net;

/* What a DPA or a GPU would know an event by. There is none. */
typedef uint64_t doca_dpa_dev_sync_event_t;
typedef uint64_t doca_dpa_dev_sync_event_remote_net_t;
typedef uint64_t doca_gpu_dev_sync_event_remote_net_t;
typedef struct doca_gpu_dev_sync_event doca_gpu_dev_sync_event_t;

/* Makes an event without locations. The caller destroys it. */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_create(struct doca_sync_event **event);

/*
 * Makes an event of what another process exported: `sz` bytes. It has its locations already and is
 * started as any other. It stays usable when its owner has ended. INVALID_VALUE for other bytes,
 * UNSUPPORTED_VERSION for those of another release, NOT_FOUND when the owner has stopped the event
 * or ended, NOT_PERMITTED when it is another user's, NOT_SUPPORTED for a counter that is in memory
 * of its owner's own (doca_sync_event_set_addr, doca_sync_event_set_doca_buf).
 */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_create_from_export(struct doca_dev *dev, const uint8_t *data, size_t sz,
						struct doca_sync_event **event);

/* Ends it. BAD_STATE unless it is stopped. */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_destroy(struct doca_sync_event *event);

/* Says who sets the event and adds to it: this program. The device stays open as long as the event.
 * ALREADY_EXIST when that was said, NOT_PERMITTED for an event of an export. */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_add_publisher_location_cpu(struct doca_sync_event *event,
							struct doca_dev *dev);

/* The same: a process that gets what doca_sync_event_export_to_remote_pci gives. */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_add_publisher_location_remote_pci(struct doca_sync_event *event);

/* The same: a process that gets what doca_sync_event_export_to_remote_net gives. */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_add_publisher_location_remote_net(struct doca_sync_event *event);

/* Says who gets the event and waits for it: this program. As for a publisher. */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_add_subscriber_location_cpu(struct doca_sync_event *event,
							 struct doca_dev *dev);

/* The same: a process that gets what doca_sync_event_export_to_remote_pci gives. */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_add_subscriber_location_remote_pci(struct doca_sync_event *event);

/* Puts the counter into 8 bytes of the caller's, at a multiple of 8, which stay until the event is
 * stopped. It keeps the number that is there. Others cannot import it. */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_set_addr(struct doca_sync_event *event, uint64_t *addr);

/* The same with the first 8 bytes from the buffer's data on. The map of the buffer is in use until
 * the event is destroyed or given other memory; the buffer itself is not. */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_set_doca_buf(struct doca_sync_event *event, struct doca_buf *buf);

/* From now on it is used. Without memory of the caller's the counter is 0. BAD_STATE when it is
 * started, or has no publisher or no subscriber. */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_start(struct doca_sync_event *event);

/* Ends its use, and what it exported. BAD_STATE unless it is started. Nobody may be waiting.
 * IN_PROGRESS while tasks are allocated: those that wait complete with SHUTDOWN, and the event is
 * idle in the progress after the last is freed. */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_stop(struct doca_sync_event *event);

/* The event as a context, which is started and stopped as the event is. It needs an engine for its
 * tasks only. */
DOCA_EXPERIMENTAL
struct doca_ctx *doca_sync_event_as_ctx(struct doca_sync_event *event);

/* Describes the event for the process that is its publisher or subscriber: 64 bytes of the event's
 * own, which stay until it is stopped. NOT_PERMITTED without a location of that kind, and when the
 * memory's permissions keep it from others; BAD_STATE unless it is started. */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_export_to_remote_pci(struct doca_sync_event *event,
						  struct doca_dev *dev, const uint8_t **data,
						  size_t *sz);
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_export_to_remote_net(struct doca_sync_event *event,
						  const uint8_t **data, size_t *sz);

/* The counter. NOT_PERMITTED unless this program is the subscriber, BAD_STATE unless the event is
 * started; so it is for the waits. */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_get(struct doca_sync_event *event, uint64_t *value);

/* Adds to the counter, which wraps; `fetched` is what it was before. NOT_PERMITTED unless this
 * program is the publisher, or when it may only read the memory. */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_update_add(struct doca_sync_event *event, uint64_t value,
					uint64_t *fetched);

/* Sets the counter. As doca_sync_event_update_add. */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_update_set(struct doca_sync_event *event, uint64_t value);

/* Waits until the counter, masked, is greater than `value`. The thread sleeps meanwhile. */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_wait_gt(struct doca_sync_event *event, uint64_t value, uint64_t mask);

/* The same; at first the thread looks again and again, and yields in between. */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_wait_gt_yield(struct doca_sync_event *event, uint64_t value,
					   uint64_t mask);

/* The same, until the counter, masked, is `value`. */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_wait_eq(struct doca_sync_event *event, uint64_t value, uint64_t mask);
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_wait_eq_yield(struct doca_sync_event *event, uint64_t value,
					   uint64_t mask);

/* The same, until the counter, masked, is not `value`. */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_wait_neq(struct doca_sync_event *event, uint64_t value, uint64_t mask);
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_wait_neq_yield(struct doca_sync_event *event, uint64_t value,
					    uint64_t mask);

/*
 * Tasks
 *
 * The event is connected to an engine; for each kind of task `_set_conf` says, before the start,
 * how many there are at a time and what is called for one that succeeded or failed. INVALID_VALUE
 * without both functions, or for no task. Then the start is NOT_CONNECTED without an engine.
 *
 * `_alloc_init` gives a task to the caller, who frees it with doca_task_free(). BAD_STATE unless
 * the event is started, BAD_CONFIG for a kind that was not configured, NO_MEMORY when all are
 * allocated, NOT_PERMITTED unless this program is the end of the event that the task is for.
 *
 * doca_task_submit() does what the task is for, except for waiting; the task completes in a later
 * progress. A place that is NULL is INVALID_VALUE then. A task that waits completes once the engine
 * finds the counter so: one that is so for a moment only may be missed. A host that sleeps on its
 * engine's handle is woken, whoever changed the counter. The arguments of a task may be changed
 * while it is not in flight.
 */

/* Stores the counter at `ret_val_ptr`, which stays until the task completes. For the subscriber. */
struct doca_sync_event_task_get;

typedef void (*doca_sync_event_task_get_completion_cb_t)(struct doca_sync_event_task_get *task,
							 union doca_data task_user_data,
							 union doca_data ctx_user_data);

DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_cap_task_get_is_supported(const struct doca_devinfo *devinfo);
DOCA_EXPERIMENTAL
doca_error_t
doca_sync_event_task_get_set_conf(struct doca_sync_event *event,
				  doca_sync_event_task_get_completion_cb_t completion_cb,
				  doca_sync_event_task_get_completion_cb_t error_cb,
				  uint32_t num_tasks);
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_task_get_alloc_init(struct doca_sync_event *event,
						 uint64_t *ret_val_ptr, union doca_data user_data,
						 struct doca_sync_event_task_get **task);
DOCA_EXPERIMENTAL
struct doca_task *doca_sync_event_task_get_as_doca_task(struct doca_sync_event_task_get *task);
DOCA_EXPERIMENTAL
void doca_sync_event_task_get_set_ret_val_ptr(struct doca_sync_event_task_get *task,
					      uint64_t *ret_val_ptr);
DOCA_EXPERIMENTAL
uint64_t *doca_sync_event_task_get_get_ret_val_ptr(const struct doca_sync_event_task_get *task);

/* Sets the counter. For the publisher. */
struct doca_sync_event_task_notify_set;

typedef void (*doca_sync_event_task_notify_set_completion_cb_t)(
	struct doca_sync_event_task_notify_set *task, union doca_data task_user_data,
	union doca_data ctx_user_data);

DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_cap_task_notify_set_is_supported(const struct doca_devinfo *devinfo);
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_task_notify_set_set_conf(
	struct doca_sync_event *event,
	doca_sync_event_task_notify_set_completion_cb_t completion_cb,
	doca_sync_event_task_notify_set_completion_cb_t error_cb, uint32_t num_tasks);
DOCA_EXPERIMENTAL
doca_error_t
doca_sync_event_task_notify_set_alloc_init(struct doca_sync_event *event, uint64_t set_val,
					   union doca_data user_data,
					   struct doca_sync_event_task_notify_set **task);
DOCA_EXPERIMENTAL
struct doca_task *doca_sync_event_task_notify_set_as_doca_task(
	struct doca_sync_event_task_notify_set *task);
DOCA_EXPERIMENTAL
void doca_sync_event_task_notify_set_set_set_val(struct doca_sync_event_task_notify_set *task,
						 uint64_t set_val);
DOCA_EXPERIMENTAL
uint64_t doca_sync_event_task_notify_set_get_set_val(
	const struct doca_sync_event_task_notify_set *task);

/* Adds to the counter, and stores at `fetched_val_ptr` what it was before. For the publisher. */
struct doca_sync_event_task_notify_add;

typedef void (*doca_sync_event_task_notify_add_completion_cb_t)(
	struct doca_sync_event_task_notify_add *task, union doca_data task_user_data,
	union doca_data ctx_user_data);

DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_cap_task_notify_add_is_supported(const struct doca_devinfo *devinfo);
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_task_notify_add_set_conf(
	struct doca_sync_event *event,
	doca_sync_event_task_notify_add_completion_cb_t completion_cb,
	doca_sync_event_task_notify_add_completion_cb_t error_cb, uint32_t num_tasks);
DOCA_EXPERIMENTAL
doca_error_t
doca_sync_event_task_notify_add_alloc_init(struct doca_sync_event *event, uint64_t inc_val,
					   uint64_t *fetched_val_ptr, union doca_data user_data,
					   struct doca_sync_event_task_notify_add **task);
DOCA_EXPERIMENTAL
struct doca_task *doca_sync_event_task_notify_add_as_doca_task(
	struct doca_sync_event_task_notify_add *task);
DOCA_EXPERIMENTAL
void doca_sync_event_task_notify_add_set_inc_val(struct doca_sync_event_task_notify_add *task,
						 uint64_t inc_val);
DOCA_EXPERIMENTAL
uint64_t doca_sync_event_task_notify_add_get_inc_val(
	const struct doca_sync_event_task_notify_add *task);
DOCA_EXPERIMENTAL
void doca_sync_event_task_notify_add_set_fetched_val_ptr(
	struct doca_sync_event_task_notify_add *task, uint64_t *fetched_val_ptr);
DOCA_EXPERIMENTAL
uint64_t *doca_sync_event_task_notify_add_get_fetched_val_ptr(
	const struct doca_sync_event_task_notify_add *task);

/* Completes once the counter, masked, is `wait_val`. For the subscriber. */
struct doca_sync_event_task_wait_eq;

typedef void (*doca_sync_event_task_wait_eq_completion_cb_t)(
	struct doca_sync_event_task_wait_eq *task, union doca_data task_user_data,
	union doca_data ctx_user_data);

DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_cap_task_wait_eq_is_supported(const struct doca_devinfo *devinfo);
DOCA_EXPERIMENTAL
doca_error_t
doca_sync_event_task_wait_eq_set_conf(struct doca_sync_event *event,
				      doca_sync_event_task_wait_eq_completion_cb_t completion_cb,
				      doca_sync_event_task_wait_eq_completion_cb_t error_cb,
				      uint32_t num_tasks);
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_task_wait_eq_alloc_init(struct doca_sync_event *event,
						     uint64_t wait_val, uint64_t mask,
						     union doca_data user_data,
						     struct doca_sync_event_task_wait_eq **task);
DOCA_EXPERIMENTAL
struct doca_task *doca_sync_event_task_wait_eq_as_doca_task(
	struct doca_sync_event_task_wait_eq *task);
DOCA_EXPERIMENTAL
void doca_sync_event_task_wait_eq_set_wait_val(struct doca_sync_event_task_wait_eq *task,
					       uint64_t wait_val);
DOCA_EXPERIMENTAL
uint64_t doca_sync_event_task_wait_eq_get_wait_val(const struct doca_sync_event_task_wait_eq *task);
DOCA_EXPERIMENTAL
void doca_sync_event_task_wait_eq_set_mask(struct doca_sync_event_task_wait_eq *task,
					   uint64_t mask);
DOCA_EXPERIMENTAL
uint64_t doca_sync_event_task_wait_eq_get_mask(const struct doca_sync_event_task_wait_eq *task);

/* Completes once the counter, masked, is not `wait_val`. For the subscriber. */
struct doca_sync_event_task_wait_neq;

typedef void (*doca_sync_event_task_wait_neq_completion_cb_t)(
	struct doca_sync_event_task_wait_neq *task, union doca_data task_user_data,
	union doca_data ctx_user_data);

DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_cap_task_wait_neq_is_supported(const struct doca_devinfo *devinfo);
DOCA_EXPERIMENTAL
doca_error_t
doca_sync_event_task_wait_neq_set_conf(struct doca_sync_event *event,
				       doca_sync_event_task_wait_neq_completion_cb_t completion_cb,
				       doca_sync_event_task_wait_neq_completion_cb_t error_cb,
				       uint32_t num_tasks);
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_task_wait_neq_alloc_init(struct doca_sync_event *event,
						      uint64_t wait_val, uint64_t mask,
						      union doca_data user_data,
						      struct doca_sync_event_task_wait_neq **task);
DOCA_EXPERIMENTAL
struct doca_task *doca_sync_event_task_wait_neq_as_doca_task(
	struct doca_sync_event_task_wait_neq *task);
DOCA_EXPERIMENTAL
void doca_sync_event_task_wait_neq_set_wait_val(struct doca_sync_event_task_wait_neq *task,
						uint64_t wait_val);
DOCA_EXPERIMENTAL
uint64_t doca_sync_event_task_wait_neq_get_wait_val(
	const struct doca_sync_event_task_wait_neq *task);
DOCA_EXPERIMENTAL
void doca_sync_event_task_wait_neq_set_mask(struct doca_sync_event_task_wait_neq *task,
					    uint64_t mask);
DOCA_EXPERIMENTAL
uint64_t doca_sync_event_task_wait_neq_get_mask(const struct doca_sync_event_task_wait_neq *task);

/*
 * Events of other hosts: what doca_sync_event_export_to_remote_net() gave, as RDMA would use it.
 * This project has no DOCA RDMA: nothing changes the counter by way of this object. A process of
 * this machine uses doca_sync_event_create_from_export() for that. NOT_PERMITTED when the event's
 * publisher is its own process; else the errors are those of that function.
 */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_remote_net_create_from_export(
	struct doca_dev *dev, const uint8_t *data, size_t sz,
	struct doca_sync_event_remote_net **event);
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_remote_net_destroy(struct doca_sync_event_remote_net *event);

/* What every device can do: SUCCESS. */
DOCA_EXPERIMENTAL
doca_error_t
doca_sync_event_cap_is_create_from_export_supported(const struct doca_devinfo *devinfo);
DOCA_EXPERIMENTAL
doca_error_t
doca_sync_event_cap_remote_net_is_create_from_export_supported(const struct doca_devinfo *devinfo);
DOCA_EXPERIMENTAL
doca_error_t
doca_sync_event_cap_is_export_to_remote_pci_supported(const struct doca_devinfo *devinfo);
DOCA_EXPERIMENTAL
doca_error_t
doca_sync_event_cap_is_export_to_remote_net_supported(const struct doca_devinfo *devinfo);

/* What needs a DPA or a GPU: NOT_SUPPORTED. */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_cap_is_export_to_dpa_supported(const struct doca_devinfo *devinfo);
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_cap_is_export_to_gpu_supported(const struct doca_devinfo *devinfo);
DOCA_EXPERIMENTAL
doca_error_t
doca_sync_event_cap_remote_net_is_export_to_dpa_supported(const struct doca_devinfo *devinfo);
DOCA_EXPERIMENTAL
doca_error_t
doca_sync_event_cap_remote_net_is_export_to_gpu_supported(const struct doca_devinfo *devinfo);
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_add_publisher_location_dpa(struct doca_sync_event *event,
							struct doca_dpa *dpa);
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_add_publisher_location_gpu(struct doca_sync_event *event,
							struct doca_gpu *gpu);
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_add_subscriber_location_dpa(struct doca_sync_event *event,
							 struct doca_dpa *dpa);
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_add_subscriber_location_gpu(struct doca_sync_event *event,
							 struct doca_gpu *gpu);
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_get_dpa_handle(struct doca_sync_event *event, struct doca_dpa *dpa,
					    doca_dpa_dev_sync_event_t *dpa_dev_se_handle);
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_get_gpu_handle(struct doca_sync_event *event, struct doca_gpu *gpu,
					    doca_gpu_dev_sync_event_t **gpu_dev_se);
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_remote_net_get_dpa_handle(
	struct doca_sync_event_remote_net *event, struct doca_dpa *dpa,
	doca_dpa_dev_sync_event_remote_net_t *dpa_remote_event);
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_remote_net_get_gpu_handle(
	struct doca_sync_event_remote_net *event, struct doca_gpu *gpu,
	doca_gpu_dev_sync_event_remote_net_t *gpu_remote_event);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_SYNC_EVENT_H_ */
