/*
 * The host's side of UROM: services, workers, commands and domains.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Common codes: INVALID_VALUE for NULL, BAD_STATE for a setting of a context that is not idle,
 * NO_MEMORY. A context, its tasks and its engine belong to one thread at a time; a worker and its
 * service may have different threads. The creator of an object owns and destroys it.
 */
#ifndef DOCA_UROM_H_
#define DOCA_UROM_H_

#include <stddef.h>
#include <stdint.h>

#include <doca_buf.h>
#include <doca_compat.h>
#include <doca_ctx.h>
#include <doca_dev.h>
#include <doca_error.h>
#include <doca_pe.h>
#include <doca_types.h>
#include <doca_urom_plugin.h>
#include <urom_cpu_set.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_urom_service;
struct doca_urom_service_get_workers_by_gid_task;
struct doca_urom_worker;
struct doca_urom_worker_cmd_task;
struct doca_urom_domain;

/* CPUs: 1024 bits, passed by value. */
typedef ucs_cpu_set_t doca_cpu_set_t;

#define DOCA_CPU_ZERO(set) UCS_CPU_ZERO(set)
#define DOCA_CPU_SET(cpu, set) UCS_CPU_SET(cpu, set)
#define doca_cpu_is_set(cpu, set) ucs_cpu_is_set(cpu, set)

/* ---- Service: the daemon of one device ---- */

DOCA_EXPERIMENTAL
doca_error_t doca_urom_service_create(struct doca_urom_service **service_ctx);

/* NOT_PERMITTED when not idle, IN_USE while workers are attached. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_service_destroy(struct doca_urom_service *service_ctx);

/* The message limit in bytes, including UROM's headers; 4096 by default. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_service_set_max_comm_msg_size(struct doca_urom_service *service_ctx,
						     size_t msg_size);

/* The maximum number of workers: a power of two. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_service_set_max_workers(struct doca_urom_service *service_ctx,
					       uint32_t max_workers);

/* Required: the device, open until the stop, whose PCI address selects the service file's line. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_service_set_dev(struct doca_urom_service *service_ctx, struct doca_dev *dev);

/* The service as a context. NULL for NULL. Its start is synchronous. */
DOCA_EXPERIMENTAL
struct doca_ctx *doca_urom_service_as_ctx(struct doca_urom_service *service_ctx);

/* The plugins, in the service's memory. BAD_STATE when not running, NOT_FOUND without plugins. */
DOCA_EXPERIMENTAL
doca_error_t
doca_urom_service_get_plugins_list(struct doca_urom_service *service_ctx,
				   const struct doca_urom_service_plugin_info **plugins,
				   size_t *plugins_count);

/* The CPUs for workers. BAD_STATE when not running. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_service_get_cpuset(struct doca_urom_service *service_ctx,
					  doca_cpu_set_t *cpuset);

/* ---- Task of a service: the workers of a group ---- */

/* Called in a progress. The caller owns the task again and may release it here. */
typedef void (*doca_urom_service_get_workers_by_gid_task_completion_cb_t)(
	struct doca_urom_service_get_workers_by_gid_task *task, union doca_data task_user_data,
	union doca_data ctx_user_data);

/* Allocates a task without a group and a callback. BAD_STATE when the service is not running. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_service_get_workers_by_gid_task_allocate(
	struct doca_urom_service *service_ctx,
	struct doca_urom_service_get_workers_by_gid_task **task);

DOCA_EXPERIMENTAL
doca_error_t doca_urom_service_get_workers_by_gid_task_allocate_init(
	struct doca_urom_service *service_ctx, uint32_t gid,
	doca_urom_service_get_workers_by_gid_task_completion_cb_t cb,
	struct doca_urom_service_get_workers_by_gid_task **task);

/* Releases a task and its array of ids. NOT_PERMITTED while in flight. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_service_get_workers_by_gid_task_release(
	struct doca_urom_service_get_workers_by_gid_task *task);

DOCA_EXPERIMENTAL
void doca_urom_service_get_workers_by_gid_task_set_gid(
	struct doca_urom_service_get_workers_by_gid_task *task, uint32_t gid);

DOCA_EXPERIMENTAL
void doca_urom_service_get_workers_by_gid_task_set_cb(
	struct doca_urom_service_get_workers_by_gid_task *task,
	doca_urom_service_get_workers_by_gid_task_completion_cb_t cb);

/* 0 before completion. */
DOCA_EXPERIMENTAL
size_t doca_urom_service_get_workers_by_gid_task_get_workers_count(
	struct doca_urom_service_get_workers_by_gid_task *task);

/* The worker ids, valid until the task's release; NULL before completion or for an empty list. */
DOCA_EXPERIMENTAL
const uint64_t *doca_urom_service_get_workers_by_gid_task_get_worker_ids(
	struct doca_urom_service_get_workers_by_gid_task *task);

DOCA_EXPERIMENTAL
struct doca_task *doca_urom_service_get_workers_by_gid_task_as_task(
	struct doca_urom_service_get_workers_by_gid_task *task);

/* ---- Worker: a process of the service, with plugins ---- */

/* Requests a new id from the service. */
#define DOCA_UROM_WORKER_ID_ANY (-1ULL)

DOCA_EXPERIMENTAL
doca_error_t doca_urom_worker_create(struct doca_urom_worker **worker_ctx);

/* IN_USE when not idle. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_worker_destroy(struct doca_urom_worker *worker_ctx);

/* The service, which must be progressed while the worker starts and stops. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_worker_set_service(struct doca_urom_worker *worker_ctx,
					  struct doca_urom_service *service_ctx);

/* Joins the worker with this id, or creates it; DOCA_UROM_WORKER_ID_ANY creates a new id. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_worker_set_id(struct doca_urom_worker *worker_ctx, uint64_t worker_id);

/* Plugin ids, or-ed together. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_worker_set_plugins(struct doca_urom_worker *worker_ctx, uint64_t plugins);

/* A subset of the service's CPUs. Optional. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_worker_set_cpuset(struct doca_urom_worker *worker_ctx,
					 doca_cpu_set_t cpuset);

/* The group; 0 by default. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_worker_set_gid(struct doca_urom_worker *worker_ctx, uint32_t gid);

/* The maximum number of allocated tasks: a power of two. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_worker_set_max_inflight_tasks(struct doca_urom_worker *worker_ctx,
						     uint32_t num_tasks);

/* "NAME=value" for a new worker's environment; copied. Joining a worker with it fails. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_worker_set_env(struct doca_urom_worker *worker_ctx, char *const env[],
				      size_t count);

/* The id; a generated id is available once the worker runs. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_worker_get_id(struct doca_urom_worker *worker_ctx, uint64_t *worker_id);

DOCA_EXPERIMENTAL
doca_error_t doca_urom_worker_get_gid(struct doca_urom_worker *worker_ctx, uint32_t *gid);

/* The worker as a context. NULL for NULL. Start and stop are asynchronous. */
DOCA_EXPERIMENTAL
struct doca_ctx *doca_urom_worker_as_ctx(struct doca_urom_worker *worker_ctx);

/* ---- Task of a worker: a command to a plugin ---- */

/* Called in a progress. The caller owns the task again and may release it here. */
typedef void (*doca_urom_worker_cmd_task_completion_cb_t)(struct doca_urom_worker_cmd_task *task,
							  union doca_data task_user_data,
							  union doca_data ctx_user_data);

/* Allocates a task. BAD_STATE when the worker is not running, NO_MEMORY at the maximum. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_worker_cmd_task_allocate(struct doca_urom_worker *worker_ctx,
						struct doca_urom_worker_cmd_task **task);

DOCA_EXPERIMENTAL
doca_error_t doca_urom_worker_cmd_task_allocate_init(struct doca_urom_worker *worker_ctx,
						     uint64_t plugin,
						     struct doca_urom_worker_cmd_task **task);

/* Releases a task and its buffers. NOT_PERMITTED while in flight. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_worker_cmd_task_release(struct doca_urom_worker_cmd_task *task);

DOCA_EXPERIMENTAL
void doca_urom_worker_cmd_task_set_plugin(struct doca_urom_worker_cmd_task *task, uint64_t plugin);

DOCA_EXPERIMENTAL
void doca_urom_worker_cmd_task_set_cb(struct doca_urom_worker_cmd_task *task,
				      doca_urom_worker_cmd_task_completion_cb_t cb);

/* The command's buffer, owned by the task. Its data length is initially the capacity. */
DOCA_EXPERIMENTAL
struct doca_buf *doca_urom_worker_cmd_task_get_payload(struct doca_urom_worker_cmd_task *task);

/* The notification's bytes, from completion to release. NULL without a notification. */
DOCA_EXPERIMENTAL
struct doca_buf *doca_urom_worker_cmd_task_get_response(struct doca_urom_worker_cmd_task *task);

/* 32 bytes for the caller, in the task and 8-aligned, until its release. */
DOCA_EXPERIMENTAL
void *doca_urom_worker_cmd_task_get_user_data(struct doca_urom_worker_cmd_task *task);

DOCA_EXPERIMENTAL
struct doca_task *doca_urom_worker_cmd_task_as_task(struct doca_urom_worker_cmd_task *task);

/* ---- Domain: the workers of a parallel application, and their shared memory ---- */

/* Starts an all-gather: `msglen` bytes at `sbuf` of participant r go to every `rbuf` at r * msglen.
 * Both buffers stay valid and unchanged until doca_urom_domain_req_test_cb_t returns SUCCESS for
 * `*req`. */
typedef doca_error_t (*doca_urom_domain_allgather_cb_t)(void *sbuf, void *rbuf, size_t msglen,
							void *coll_info, void **req);

/* SUCCESS when done, else IN_PROGRESS. Not called again after SUCCESS. */
typedef doca_error_t (*doca_urom_domain_req_test_cb_t)(void *req);

typedef doca_error_t (*doca_urom_domain_req_free_cb_t)(void *req);

/* Out-of-band communication of the domain's processes, called on the domain's thread. */
struct doca_urom_domain_oob_coll {
	doca_urom_domain_allgather_cb_t allgather;
	doca_urom_domain_req_test_cb_t req_test;
	doca_urom_domain_req_free_cb_t req_free;
	void *coll_info;        /* the caller's own, for allgather */
	uint32_t n_oob_indexes; /* how many participants there are */
	uint32_t oob_index;     /* which of them this process is, from 0 */
};

DOCA_EXPERIMENTAL
doca_error_t doca_urom_domain_create(struct doca_urom_domain **domain_ctx);

/* NOT_PERMITTED when not idle. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_domain_destroy(struct doca_urom_domain *domain_ctx);

/* The number of buffers, set before the first is added. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_domain_set_buffers_count(struct doca_urom_domain *domain_ctx,
						size_t nr_of_buffers);

/* Adds memory of this process for plugins, with its packed UCX memory handle and remote key, which
 * are copied. BAD_STATE before the count is set, FULL beyond it. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_domain_add_buffer(struct doca_urom_domain *domain_ctx, void *buffer,
					 size_t buf_len, void *memh, size_t memh_len, void *mkey,
					 size_t mkey_len);

/* Sets the out-of-band communication; the structure is copied. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_domain_set_oob(struct doca_urom_domain *domain_ctx,
				      struct doca_urom_domain_oob_coll *oob);

/* This process's workers, each with an id that is unique in the domain. Both arrays are copied. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_domain_set_workers(struct doca_urom_domain *domain_ctx,
					  uint64_t *domain_worker_ids,
					  struct doca_urom_worker **workers, size_t workers_cnt);

/* The domain as a context, valid as long as the domain. NULL for NULL. Its start is asynchronous
 * and requires all participants; its stop is synchronous. */
DOCA_EXPERIMENTAL
struct doca_ctx *doca_urom_domain_as_ctx(struct doca_urom_domain *domain_ctx);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_UROM_H_ */
