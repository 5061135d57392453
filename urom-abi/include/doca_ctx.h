/*
 * Contexts: the common part of services, workers, domains, sync events and others.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A context is configured while idle, started, used while running, and stopped. It belongs to the
 * thread that progresses its engine. NULL returns INVALID_VALUE everywhere.
 */
#ifndef DOCA_CTX_H_
#define DOCA_CTX_H_

#include <stddef.h>

#include <doca_compat.h>
#include <doca_error.h>
#include <doca_types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_ctx;
struct doca_devinfo;
struct doca_dpa;
struct doca_gpu;

enum doca_ctx_states {
	DOCA_CTX_STATE_IDLE = 0,     /* not started or stopped: can be configured and destroyed */
	DOCA_CTX_STATE_STARTING = 1, /* start was asked for; progress until it runs or is idle */
	DOCA_CTX_STATE_RUNNING = 2,  /* tasks can be allocated and submitted */
	DOCA_CTX_STATE_STOPPING = 3  /* stopped, or the peer is gone; progress until it is idle */
};

/* Called inside doca_pe_progress(), start or stop, after the state changed to `next_state`. */
typedef void (*doca_ctx_state_changed_callback_t)(const union doca_data user_data,
						  struct doca_ctx *ctx,
						  enum doca_ctx_states prev_state,
						  enum doca_ctx_states next_state);

/* Starts an idle context. SUCCESS: running (a service). IN_PROGRESS: starting; after calls of
 * doca_pe_progress() it is running or idle (a worker, a domain). NOT_CONNECTED without an engine;
 * INVALID_VALUE for missing settings, such as a device. */
DOCA_STABLE
doca_error_t doca_ctx_start(struct doca_ctx *ctx);

/* Stops a context. SUCCESS: idle. IN_PROGRESS: idle after its tasks complete in progresses. */
DOCA_STABLE
doca_error_t doca_ctx_stop(struct doca_ctx *ctx);

DOCA_STABLE
doca_error_t doca_ctx_get_state(const struct doca_ctx *ctx, enum doca_ctx_states *state);

/* The context data for callbacks; 0 by default. */
DOCA_STABLE
doca_error_t doca_ctx_set_user_data(struct doca_ctx *ctx, union doca_data user_data);
DOCA_STABLE
doca_error_t doca_ctx_get_user_data(const struct doca_ctx *ctx, union doca_data *user_data);

/* `cb` may be NULL. */
DOCA_STABLE
doca_error_t doca_ctx_set_state_changed_cb(struct doca_ctx *ctx,
					   doca_ctx_state_changed_callback_t cb);

DOCA_STABLE
doca_error_t doca_ctx_get_num_inflight_tasks(const struct doca_ctx *ctx,
					     size_t *num_inflight_tasks);

/* Sends a worker's batched commands. Has no effect on other contexts. */
DOCA_EXPERIMENTAL
void doca_ctx_flush_tasks(struct doca_ctx *ctx);

/* Stores the device's number of completion vectors: 0 in this project's library. */
DOCA_EXPERIMENTAL
doca_error_t doca_ctx_cap_get_num_completion_vectors(const struct doca_devinfo *devinfo,
						     uint32_t *num_comp_vectors);

/* NOT_SUPPORTED: these need hardware that this project's library does not use. */
DOCA_EXPERIMENTAL
doca_error_t doca_ctx_set_completion_vector(struct doca_ctx *ctx, uint32_t comp_vector);
DOCA_EXPERIMENTAL
doca_error_t doca_ctx_set_datapath_on_gpu(struct doca_ctx *ctx, struct doca_gpu *gpu_dev);
DOCA_EXPERIMENTAL
doca_error_t doca_ctx_set_datapath_on_dpa(struct doca_ctx *ctx, struct doca_dpa *dpa_dev);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_CTX_H_ */
