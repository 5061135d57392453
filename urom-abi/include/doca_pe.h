/*
 * Progress engines, and tasks: what completes when the engine is progressed.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * An engine, its contexts and their tasks belong to one thread at a time. NULL gives INVALID_VALUE
 * where a code is returned.
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

/* A file descriptor that is readable once there is something to progress. */
typedef doca_event_handle_t doca_notification_handle_t;

/* ---- Engines ---- */

/* Makes an engine. The caller destroys it. OPERATING_SYSTEM, with a log line, when there are no
 * descriptors left. */
DOCA_STABLE
doca_error_t doca_pe_create(struct doca_pe **pe);

/* Ends it. IN_USE while a context is connected, or a graph is left. */
DOCA_STABLE
doca_error_t doca_pe_destroy(struct doca_pe *pe);

/*
 * Connects a context, until the context is destroyed. BAD_STATE when it is not idle; NOT_PERMITTED
 * when it is connected already.
 */
DOCA_STABLE
doca_error_t doca_pe_connect_ctx(struct doca_pe *pe, struct doca_ctx *ctx);

/*
 * 1 when a task completed, a node or an instance of a graph ended, or a context began to run or
 * became idle; else 0. Calls at most one callback of a task or a graph, before it returns. A
 * context that is lost while tasks of others are in flight does not count: after a submit, the
 * first 1 is that of a task. Not to be called from a callback.
 */
DOCA_STABLE
uint8_t doca_pe_progress(struct doca_pe *pe);

/* How many tasks of all contexts are submitted and have not completed. */
DOCA_STABLE
doca_error_t doca_pe_get_num_inflight_tasks(const struct doca_pe *pe, size_t *num_inflight_tasks);

/*
 * Waiting instead of polling: get the handle once; before each wait ask for a notification; once
 * the handle is readable clear it and progress until that gives 0. The handle is the engine's:
 * nobody else closes it.
 */
DOCA_STABLE
doca_error_t doca_pe_get_notification_handle(const struct doca_pe *pe,
					     doca_notification_handle_t *handle);
DOCA_STABLE
doca_error_t doca_pe_request_notification(struct doca_pe *pe);
DOCA_STABLE
doca_error_t doca_pe_clear_notification(struct doca_pe *pe, doca_notification_handle_t handle);

/* For systems where a program brings its own handle: NOT_SUPPORTED on Linux. */
DOCA_STABLE
doca_error_t doca_pe_set_notification_handle(struct doca_pe *pe, doca_notification_handle_t handle,
					     union doca_data completion_key);

/* ---- Tasks ---- */

/*
 * Submits a task. SUCCESS: the library owns it until its callback is called, which happens exactly
 * once, whatever becomes of the task. Any other code: it is still the caller's, who releases it.
 */
DOCA_STABLE
doca_error_t doca_task_submit(struct doca_task *task);

/* The same with all checks, where doca_task_submit() may leave some out. */
DOCA_STABLE
doca_error_t doca_task_try_submit(struct doca_task *task);

/* How doca_task_submit_ex() submits; or-ed together. */
enum doca_task_submit_flag {
	DOCA_TASK_SUBMIT_FLAG_NONE = 0,
	DOCA_TASK_SUBMIT_FLAG_FLUSH = 1,           /* what waits to be sent leaves now */
	DOCA_TASK_SUBMIT_FLAG_OPTIMIZE_REPORTS = 2 /* without effect: each task calls back */
};

/* As doca_task_submit(). INVALID_VALUE for other flags. */
DOCA_EXPERIMENTAL
doca_error_t doca_task_submit_ex(struct doca_task *task, uint32_t flags);

/* The result of a task that completed. */
DOCA_STABLE
doca_error_t doca_task_get_status(const struct doca_task *task);

/* Releases a task that is not in flight, as the release function of its kind does. */
DOCA_STABLE
void doca_task_free(struct doca_task *task);

/* What the callback gets as the task's data; 0 until it is set. */
DOCA_STABLE
void doca_task_set_user_data(struct doca_task *task, union doca_data user_data);
DOCA_STABLE
union doca_data doca_task_get_user_data(const struct doca_task *task);

/* The context a task belongs to. */
DOCA_STABLE
struct doca_ctx *doca_task_get_ctx(const struct doca_task *task);

/* ---- Batches of tasks ---- */

/*
 * A context that has batches allocates them by a function of its own. No context of this project
 * has them, so no pointer stands for a batch: a code is INVALID_VALUE for NULL and else
 * NOT_SUPPORTED, and all others give nothing.
 */
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
