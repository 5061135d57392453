/*
 * The host's side of UROM: services, workers, commands and domains.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Codes that are not repeated below: INVALID_VALUE for NULL, BAD_STATE for a setting of a context
 * that is not idle, NO_MEMORY. A context, its tasks and its engine belong to one thread at a time;
 * a worker and its service may have different ones. An object stays its creator's, who destroys it.
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

/* Makes an idle service. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_service_create(struct doca_urom_service **service_ctx);

/* Ends it. NOT_PERMITTED when it is not idle, IN_USE while workers are attached. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_service_destroy(struct doca_urom_service *service_ctx);

/* The largest message in bytes, UROM's headers included; 4096 unless set. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_service_set_max_comm_msg_size(struct doca_urom_service *service_ctx,
						     size_t msg_size);

/* How many workers there may be: a power of two. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_service_set_max_workers(struct doca_urom_service *service_ctx,
					       uint32_t max_workers);

/* The device whose PCI address picks the line of the service file. Has to be set, and stays open
 * until the stop. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_service_set_dev(struct doca_urom_service *service_ctx, struct doca_dev *dev);

/* The service as a context, for as long as the service lives. NULL for NULL. Its start is
 * synchronous. */
DOCA_EXPERIMENTAL
struct doca_ctx *doca_urom_service_as_ctx(struct doca_urom_service *service_ctx);

/* The plugins that were found; the array is the service's. BAD_STATE when it does not run,
 * NOT_FOUND without plugins. */
DOCA_EXPERIMENTAL
doca_error_t
doca_urom_service_get_plugins_list(struct doca_urom_service *service_ctx,
				   const struct doca_urom_service_plugin_info **plugins,
				   size_t *plugins_count);

/* The CPUs that workers may be given. BAD_STATE when the service does not run. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_service_get_cpuset(struct doca_urom_service *service_ctx,
					  doca_cpu_set_t *cpuset);

/* ---- Task of a service: the workers of a group ---- */

/* Called inside doca_pe_progress() of the service's engine. The task is the caller's again and may
 * be released here. */
typedef void (*doca_urom_service_get_workers_by_gid_task_completion_cb_t)(
	struct doca_urom_service_get_workers_by_gid_task *task, union doca_data task_user_data,
	union doca_data ctx_user_data);

/* Makes a task without group and callback. BAD_STATE when the service does not run. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_service_get_workers_by_gid_task_allocate(
	struct doca_urom_service *service_ctx,
	struct doca_urom_service_get_workers_by_gid_task **task);

/* Makes a task with both. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_service_get_workers_by_gid_task_allocate_init(
	struct doca_urom_service *service_ctx, uint32_t gid,
	doca_urom_service_get_workers_by_gid_task_completion_cb_t cb,
	struct doca_urom_service_get_workers_by_gid_task **task);

/* Releases a task and its array of ids. NOT_PERMITTED while it is in flight. */
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

/* How many workers were found; 0 before completion. */
DOCA_EXPERIMENTAL
size_t doca_urom_service_get_workers_by_gid_task_get_workers_count(
	struct doca_urom_service_get_workers_by_gid_task *task);

/* Their ids, which are the task's until it is released; NULL before completion, and when there are
 * none. */
DOCA_EXPERIMENTAL
const uint64_t *doca_urom_service_get_workers_by_gid_task_get_worker_ids(
	struct doca_urom_service_get_workers_by_gid_task *task);

DOCA_EXPERIMENTAL
struct doca_task *doca_urom_service_get_workers_by_gid_task_as_task(
	struct doca_urom_service_get_workers_by_gid_task *task);

/* ---- Worker: a process beside the service, with plugins ---- */

/* The id of a worker that gets a new one from the service. */
#define DOCA_UROM_WORKER_ID_ANY (-1ULL)

/* Makes an idle worker. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_worker_create(struct doca_urom_worker **worker_ctx);

/* Ends it. IN_USE when it is not idle. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_worker_destroy(struct doca_urom_worker *worker_ctx);

/* The service it is on, which has to be progressed too while the worker starts and stops. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_worker_set_service(struct doca_urom_worker *worker_ctx,
					  struct doca_urom_service *service_ctx);

/* Its id: joins the worker that has it, or makes it. DOCA_UROM_WORKER_ID_ANY makes one with a new
 * id. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_worker_set_id(struct doca_urom_worker *worker_ctx, uint64_t worker_id);

/* Which plugins it loads: their ids or-ed together. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_worker_set_plugins(struct doca_urom_worker *worker_ctx, uint64_t plugins);

/* The CPUs it may use, out of the service's. Optional. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_worker_set_cpuset(struct doca_urom_worker *worker_ctx,
					 doca_cpu_set_t cpuset);

/* The group it belongs to. Optional; 0 unless set. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_worker_set_gid(struct doca_urom_worker *worker_ctx, uint32_t gid);

/* How many of its tasks there may be at a time: a power of two. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_worker_set_max_inflight_tasks(struct doca_urom_worker *worker_ctx,
						     uint32_t num_tasks);

/* "NAME=value" for the environment of a worker that is made; copied. Joining an existing worker
 * with it fails. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_worker_set_env(struct doca_urom_worker *worker_ctx, char *const env[],
				      size_t count);

/* The id, the real one once it runs. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_worker_get_id(struct doca_urom_worker *worker_ctx, uint64_t *worker_id);

/* The group. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_worker_get_gid(struct doca_urom_worker *worker_ctx, uint32_t *gid);

/* The worker as a context, for as long as the worker lives. NULL for NULL. Start and stop are
 * asynchronous. */
DOCA_EXPERIMENTAL
struct doca_ctx *doca_urom_worker_as_ctx(struct doca_urom_worker *worker_ctx);

/* ---- Task of a worker: a command to a plugin ---- */

/* Called inside doca_pe_progress() of the worker's engine. The task is the caller's again and may
 * be released here. */
typedef void (*doca_urom_worker_cmd_task_completion_cb_t)(struct doca_urom_worker_cmd_task *task,
							  union doca_data task_user_data,
							  union doca_data ctx_user_data);

/* Makes a task without plugin. BAD_STATE when the worker does not run, NO_MEMORY when all its tasks
 * are allocated. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_worker_cmd_task_allocate(struct doca_urom_worker *worker_ctx,
						struct doca_urom_worker_cmd_task **task);

/* Makes a task for one plugin, by its id. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_worker_cmd_task_allocate_init(struct doca_urom_worker *worker_ctx,
						     uint64_t plugin,
						     struct doca_urom_worker_cmd_task **task);

/* Releases a task with its buffers. NOT_PERMITTED while it is in flight. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_worker_cmd_task_release(struct doca_urom_worker_cmd_task *task);

DOCA_EXPERIMENTAL
void doca_urom_worker_cmd_task_set_plugin(struct doca_urom_worker_cmd_task *task, uint64_t plugin);

DOCA_EXPERIMENTAL
void doca_urom_worker_cmd_task_set_cb(struct doca_urom_worker_cmd_task *task,
				      doca_urom_worker_cmd_task_completion_cb_t cb);

/* The command's bytes: the data length is the room at first; set it to what was written. The task's
 * memory. */
DOCA_EXPERIMENTAL
struct doca_buf *doca_urom_worker_cmd_task_get_payload(struct doca_urom_worker_cmd_task *task);

/* The notification's bytes, from completion to release. NULL when the task ended without a
 * notification. */
DOCA_EXPERIMENTAL
struct doca_buf *doca_urom_worker_cmd_task_get_response(struct doca_urom_worker_cmd_task *task);

/* 32 bytes for the caller, inside the task and aligned to 8, until its release. */
DOCA_EXPERIMENTAL
void *doca_urom_worker_cmd_task_get_user_data(struct doca_urom_worker_cmd_task *task);

DOCA_EXPERIMENTAL
struct doca_task *doca_urom_worker_cmd_task_as_task(struct doca_urom_worker_cmd_task *task);

/* ---- Domain: workers of one parallel application, and memory they share ---- */

/*
 * Starts an all-gather: `msglen` bytes at `sbuf` of each participant go to `rbuf` of all of them,
 * those of participant r at r * msglen. Both buffers stay as they are until
 * doca_urom_domain_req_test_cb_t gives SUCCESS for `*req`.
 */
typedef doca_error_t (*doca_urom_domain_allgather_cb_t)(void *sbuf, void *rbuf, size_t msglen,
							void *coll_info, void **req);

/* SUCCESS when it is done, IN_PROGRESS while not. Not called again after SUCCESS. */
typedef doca_error_t (*doca_urom_domain_req_test_cb_t)(void *req);

/* Frees a request, once. */
typedef doca_error_t (*doca_urom_domain_req_free_cb_t)(void *req);

/* How the processes of a domain reach each other. Called only by the thread that starts and
 * progresses the domain. */
struct doca_urom_domain_oob_coll {
	doca_urom_domain_allgather_cb_t allgather;
	doca_urom_domain_req_test_cb_t req_test;
	doca_urom_domain_req_free_cb_t req_free;
	void *coll_info;        /* the caller's own, for allgather */
	uint32_t n_oob_indexes; /* how many participants there are */
	uint32_t oob_index;     /* which of them this process is, from 0 */
};

/* Makes an idle domain. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_domain_create(struct doca_urom_domain **domain_ctx);

/* Ends it. NOT_PERMITTED when it is not idle. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_domain_destroy(struct doca_urom_domain *domain_ctx);

/* How many buffers will be added: before the first. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_domain_set_buffers_count(struct doca_urom_domain *domain_ctx,
						size_t nr_of_buffers);

/*
 * Adds memory of this process that plugins may reach, with its packed UCX memory handle and remote
 * key, which are both copied. BAD_STATE before the count is set, FULL beyond it.
 */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_domain_add_buffer(struct doca_urom_domain *domain_ctx, void *buffer,
					 size_t buf_len, void *memh, size_t memh_len, void *mkey,
					 size_t mkey_len);

/* Sets how the processes exchange bytes; the structure is copied. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_domain_set_oob(struct doca_urom_domain *domain_ctx,
				      struct doca_urom_domain_oob_coll *oob);

/* This process's workers, and the id of each in the domain, which no other there has. Both arrays
 * are copied. */
DOCA_EXPERIMENTAL
doca_error_t doca_urom_domain_set_workers(struct doca_urom_domain *domain_ctx,
					  uint64_t *domain_worker_ids,
					  struct doca_urom_worker **workers, size_t workers_cnt);

/*
 * The domain as a context, for as long as the domain lives. NULL for NULL. Its start is
 * asynchronous and takes all participants; its stop is not.
 */
DOCA_EXPERIMENTAL
struct doca_ctx *doca_urom_domain_as_ctx(struct doca_urom_domain *domain_ctx);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_UROM_H_ */
