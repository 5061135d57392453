/*
 * Progress engines and their tasks.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * An engine, its contexts and their tasks belong to one thread at a time. NULL returns
 * INVALID_VALUE in functions with a result code.
 */
#ifndef DOCA_PE_H_
#define DOCA_PE_H_

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <doca_compat.h>
#include <doca_error.h>
#include <doca_types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_ctx;
struct doca_pe;
struct doca_task;
struct doca_task_batch;

/* A file descriptor that is readable when there is an event to progress. */
typedef doca_event_handle_t doca_notification_handle_t;

/* ---- Engines ---- */

/* Creates an engine. The caller destroys it. OPERATING_SYSTEM without free descriptors. */
DOCA_STABLE
doca_error_t doca_pe_create(struct doca_pe **pe);

/* IN_USE while a context is connected or a graph exists. */
DOCA_STABLE
doca_error_t doca_pe_destroy(struct doca_pe *pe);

/* Connects an idle context (else BAD_STATE) until it is destroyed. NOT_PERMITTED if connected. */
DOCA_STABLE
doca_error_t doca_pe_connect_ctx(struct doca_pe *pe, struct doca_ctx *ctx);

/* Returns 1 when a task completed, a node or an instance of a graph ended, or a context started
 * running or became idle; else 0. Calls at most one callback of a task or a graph. A context lost
 * while tasks of other contexts are in flight does not count: the first 1 after a submit belongs to
 * a task. Must not be called from a callback. */
DOCA_STABLE
uint8_t doca_pe_progress(struct doca_pe *pe);

DOCA_STABLE
doca_error_t doca_pe_get_num_inflight_tasks(const struct doca_pe *pe, size_t *num_inflight_tasks);

/* Waiting without polling: get the handle once. Before each wait request a notification. When the
 * handle is readable, clear it and progress until that returns 0. Only the engine closes it. */
DOCA_STABLE
doca_error_t doca_pe_get_notification_handle(const struct doca_pe *pe,
					     doca_notification_handle_t *handle);
DOCA_STABLE
doca_error_t doca_pe_request_notification(struct doca_pe *pe);
DOCA_STABLE
doca_error_t doca_pe_clear_notification(struct doca_pe *pe, doca_notification_handle_t handle);

/* For systems with handles of the program: NOT_SUPPORTED on Linux. */
DOCA_STABLE
doca_error_t doca_pe_set_notification_handle(struct doca_pe *pe, doca_notification_handle_t handle,
					     union doca_data completion_key);

/* ---- Tasks ---- */

/* Submits a task. SUCCESS: the library owns it until its callback, which is called exactly once. On
 * errors the caller still owns it and must release it. */
DOCA_STABLE
doca_error_t doca_task_submit(struct doca_task *task);

/* The same with all checks; doca_task_submit() may omit some. */
DOCA_STABLE
doca_error_t doca_task_try_submit(struct doca_task *task);

enum doca_task_submit_flag {
	DOCA_TASK_SUBMIT_FLAG_NONE = 0,
	DOCA_TASK_SUBMIT_FLAG_FLUSH = 1,           /* what waits to be sent leaves now */
	DOCA_TASK_SUBMIT_FLAG_OPTIMIZE_REPORTS = 2 /* without effect: each task calls back */
};

/* As doca_task_submit(). INVALID_VALUE for other flags. */
DOCA_EXPERIMENTAL
doca_error_t doca_task_submit_ex(struct doca_task *task, uint32_t flags);

DOCA_STABLE
doca_error_t doca_task_get_status(const struct doca_task *task);

/* Releases a task that is not in flight, like the release function of its kind. */
DOCA_STABLE
void doca_task_free(struct doca_task *task);

/* The task data for the callback; 0 by default. */
DOCA_STABLE
void doca_task_set_user_data(struct doca_task *task, union doca_data user_data);
DOCA_STABLE
union doca_data doca_task_get_user_data(const struct doca_task *task);

DOCA_STABLE
struct doca_ctx *doca_task_get_ctx(const struct doca_task *task);

/* ---- Batches of tasks ---- */

/* A context with batches has its own function to allocate them. This project's contexts do not
 * support batches, so a batch pointer is never valid: functions with a result code return
 * INVALID_VALUE for NULL, else NOT_SUPPORTED; the others have no effect. */
enum doca_task_batch_max_tasks_number {
	DOCA_TASK_BATCH_MAX_TASKS_NUMBER_16 = 0,
	DOCA_TASK_BATCH_MAX_TASKS_NUMBER_32 = 1,
	DOCA_TASK_BATCH_MAX_TASKS_NUMBER_64 = 2,
	DOCA_TASK_BATCH_MAX_TASKS_NUMBER_128 = 3
};

DOCA_EXPERIMENTAL
doca_error_t doca_task_batch_submit(struct doca_task_batch *task_batch);
DOCA_EXPERIMENTAL
doca_error_t doca_task_batch_try_submit(struct doca_task_batch *task_batch);
DOCA_EXPERIMENTAL
void doca_task_batch_free(struct doca_task_batch *task_batch);
DOCA_EXPERIMENTAL
doca_error_t doca_task_batch_get_status(const struct doca_task_batch *task_batch);
DOCA_EXPERIMENTAL
void doca_task_batch_set_user_data(struct doca_task_batch *task_batch, union doca_data user_data);
DOCA_EXPERIMENTAL
union doca_data doca_task_batch_get_user_data(const struct doca_task_batch *task_batch);
DOCA_EXPERIMENTAL
struct doca_ctx *doca_task_batch_get_ctx(const struct doca_task_batch *task_batch);
DOCA_EXPERIMENTAL
union doca_data doca_task_batch_get_ctx_user_data(const struct doca_task_batch *task_batch);
DOCA_EXPERIMENTAL
uint16_t doca_task_batch_get_tasks_num(struct doca_task_batch *task_batch);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_PE_H_ */
