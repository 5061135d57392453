/*
 * Helpers of C hosts: open a service, run workers, send commands, and print a transcript.
 *
 * Tests compare standard output with the expected lines. Lines that begin with "C: " show details
 * of DOCA's C interface. An unexpected result ends the program.
 */
#ifndef TESTS_HOST_H
#define TESTS_HOST_H

#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <doca_ctx.h>
#include <doca_dev.h>
#include <doca_pe.h>
#include <doca_urom.h>

#include "check.h"

/* Progress calls that must return 0 to show quiet; and calls between two yields. */
#define QUIET_CALLS 1000
#define QUIET_TURN 50

/* Consecutive empty calls before a program sleeps; and the longest sleep in ms. */
#define IDLE_CALLS 50
#define IDLE_SLEEP 20

/* ---- Output ---- */

__attribute__((format(printf, 1, 2))) static inline void say(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
	fflush(stdout);
}

static inline const char *name_of(doca_error_t code)
{
	return doca_error_get_name(code);
}

/* ---- Progress ---- */

static inline enum doca_ctx_states state_of(const struct doca_ctx *ctx)
{
	enum doca_ctx_states state;

	MUST(doca_ctx_get_state(ctx, &state));
	return state;
}

/* Progresses once; yields the processor if nothing happened. */
static inline uint8_t progress(struct doca_pe *pe)
{
	uint8_t moved = doca_pe_progress(pe);

	if (moved == 0)
		sched_yield();
	return moved;
}

/* Progresses once in a waiting program. After IDLE_CALLS empty calls it sleeps until an event: a
 * busy machine rarely schedules a program that only yields. */
static inline uint8_t progress_and_wait(struct doca_pe *pe)
{
	static _Thread_local unsigned int idle;
	const uint8_t moved = doca_pe_progress(pe);
	struct pollfd bell = {.events = POLLIN};

	idle = moved == 0 ? idle + 1 : 0;
	if (idle < IDLE_CALLS)
		return moved;
	idle = 0;
	MUST(doca_pe_get_notification_handle(pe, &bell.fd));
	MUST(doca_pe_request_notification(pe));
	poll(&bell, 1, IDLE_SLEEP);
	MUST(doca_pe_clear_notification(pe, bell.fd));
	return moved;
}

/* Progresses until a callback sets the flag; returns the number of nonzero calls. */
static inline unsigned int progress_until(struct doca_pe *pe, const bool *done)
{
	unsigned int nonzero = 0;

	while (!*done)
		nonzero += progress_and_wait(pe) != 0;
	return nonzero;
}

/* Progresses while the context stays in this state. The sum is uint8_t, as in many programs. */
static inline uint8_t progress_while(struct doca_pe *pe, const struct doca_ctx *ctx,
				     enum doca_ctx_states state)
{
	uint8_t sum = 0;

	while (state_of(ctx) == state)
		sum += progress_and_wait(pe);
	return sum;
}

static inline unsigned int nonzero_when_quiet(struct doca_pe *pe)
{
	unsigned int nonzero = 0;

	for (unsigned int call = 0; call < QUIET_CALLS; call++) {
		nonzero += doca_pe_progress(pe) != 0;
		if (call % QUIET_TURN == 0)
			sched_yield();
	}
	return nonzero;
}

/* ---- Service ---- */

struct host {
	struct doca_dev *device;
	struct doca_pe *pe;
	struct doca_urom_service *service;
	const struct doca_urom_service_plugin_info *plugins; /* the service's */
	size_t plugin_count;
};

static inline struct doca_dev *open_device(const char *wanted)
{
	struct doca_devinfo **devices;
	struct doca_dev *device = NULL;
	uint32_t count;

	MUST(doca_devinfo_create_list(&devices, &count));
	for (uint32_t at = 0; at < count && device == NULL; at++) {
		char name[DOCA_DEVINFO_IBDEV_NAME_SIZE] = "";

		if (doca_devinfo_get_ibdev_name(devices[at], name, sizeof(name)) == DOCA_SUCCESS &&
		    strcmp(name, wanted) == 0)
			MUST(doca_dev_open(devices[at], &device));
	}
	MUST(doca_devinfo_destroy_list(devices));
	INSIST(device != NULL);
	return device;
}

/* Opens a running service with a progress engine; `max_workers` is a power of two. */
static inline void open_host(struct host *host, const char *device, uint32_t max_workers)
{
	struct doca_ctx *ctx;

	/* Limits every host's run time. */
	alarm(120);
	host->device = open_device(device);
	MUST(doca_pe_create(&host->pe));
	MUST(doca_urom_service_create(&host->service));
	ctx = doca_urom_service_as_ctx(host->service);
	MUST(doca_pe_connect_ctx(host->pe, ctx));
	MUST(doca_urom_service_set_max_workers(host->service, max_workers));
	MUST(doca_urom_service_set_dev(host->service, host->device));
	INSIST(state_of(ctx) == DOCA_CTX_STATE_IDLE);
	/* This start is synchronous, unlike a worker's. */
	MUST(doca_ctx_start(ctx));
	INSIST(state_of(ctx) == DOCA_CTX_STATE_RUNNING);
	say("C: the service runs when its start returns");
	MUST(doca_urom_service_get_plugins_list(host->service, &host->plugins,
						&host->plugin_count));
}

static inline void close_host(struct host *host)
{
	struct doca_ctx *ctx = doca_urom_service_as_ctx(host->service);

	EXPECT(DOCA_ERROR_NOT_PERMITTED, doca_urom_service_destroy(host->service));
	MUST(doca_ctx_stop(ctx));
	INSIST(state_of(ctx) == DOCA_CTX_STATE_IDLE);
	EXPECT(DOCA_ERROR_IN_USE, doca_pe_destroy(host->pe));
	EXPECT(DOCA_ERROR_IN_USE, doca_dev_close(host->device));
	MUST(doca_urom_service_destroy(host->service));
	MUST(doca_pe_destroy(host->pe));
	MUST(doca_dev_close(host->device));
	say("C: the service is idle when its stop returns");
}

static inline const struct doca_urom_service_plugin_info *find_plugin(const struct host *host,
								      const char *name)
{
	for (size_t at = 0; at < host->plugin_count; at++)
		if (strcmp(host->plugins[at].plugin_name, name) == 0)
			return &host->plugins[at];
	return NULL;
}

static inline void say_plugin(const struct doca_urom_service_plugin_info *plugin)
{
	say("plugin %s, version %" PRIu64, plugin->plugin_name, plugin->version);
	INSIST(plugin->id != 0 && (plugin->id & (plugin->id - 1)) == 0);
}

static inline void say_cpus(const struct host *host)
{
	doca_cpu_set_t cpus;
	int there = 0;

	MUST(doca_urom_service_get_cpuset(host->service, &cpus));
	for (int cpu = 0; cpu < 8; cpu++)
		there += doca_cpu_is_set(cpu, &cpus) != 0;
	say("%d of the CPUs 0 to 7", there);
}

/* ---- Workers ---- */

struct settings {
	uint64_t id;
	uint32_t group;
	uint64_t plugins; /* their ids or-ed together */
	uint32_t tasks;   /* a power of two */
	char *const *environment;
	size_t variables;
};

static inline struct doca_urom_worker *create_worker(struct doca_urom_service *service,
						     struct doca_pe *pe,
						     const struct settings *settings)
{
	struct doca_urom_worker *worker;

	MUST(doca_urom_worker_create(&worker));
	MUST(doca_urom_worker_set_service(worker, service));
	MUST(doca_pe_connect_ctx(pe, doca_urom_worker_as_ctx(worker)));
	MUST(doca_urom_worker_set_id(worker, settings->id));
	MUST(doca_urom_worker_set_gid(worker, settings->group));
	if (settings->variables != 0)
		MUST(doca_urom_worker_set_env(worker, settings->environment, settings->variables));
	MUST(doca_urom_worker_set_max_inflight_tasks(worker, settings->tasks));
	MUST(doca_urom_worker_set_plugins(worker, settings->plugins));
	return worker;
}

/* Starts a worker; returns the sum of progress until it is running or idle. */
static inline uint8_t start_worker(struct doca_urom_worker *worker, struct doca_pe *pe)
{
	struct doca_ctx *ctx = doca_urom_worker_as_ctx(worker);

	EXPECT(DOCA_ERROR_IN_PROGRESS, doca_ctx_start(ctx));
	INSIST(state_of(ctx) == DOCA_CTX_STATE_STARTING);
	return progress_while(pe, ctx, DOCA_CTX_STATE_STARTING);
}

static inline struct doca_urom_worker *
run_worker(struct doca_urom_service *service, struct doca_pe *pe, const struct settings *settings)
{
	struct doca_urom_worker *worker = create_worker(service, pe, settings);

	/* Programs count on exactly one nonzero progress for a start. */
	INSIST(start_worker(worker, pe) == 1);
	INSIST(state_of(doca_urom_worker_as_ctx(worker)) == DOCA_CTX_STATE_RUNNING);
	return worker;
}

static inline uint64_t id_of(struct doca_urom_worker *worker)
{
	uint64_t id;

	MUST(doca_urom_worker_get_id(worker, &id));
	return id;
}

/* Stops a worker without tasks; returns the sum of progress until it is idle. */
static inline uint8_t stop_worker(struct doca_urom_worker *worker, struct doca_pe *pe)
{
	struct doca_ctx *ctx = doca_urom_worker_as_ctx(worker);

	EXPECT(DOCA_ERROR_IN_PROGRESS, doca_ctx_stop(ctx));
	INSIST(state_of(ctx) == DOCA_CTX_STATE_STOPPING);
	return progress_while(pe, ctx, DOCA_CTX_STATE_STOPPING);
}

static inline void end_worker(struct doca_urom_worker *worker, struct doca_pe *pe)
{
	INSIST(stop_worker(worker, pe) == 1);
	INSIST(state_of(doca_urom_worker_as_ctx(worker)) == DOCA_CTX_STATE_IDLE);
	MUST(doca_urom_worker_destroy(worker));
}

/* ---- Commands ---- */

/* Allocates a task for `length` bytes, which the caller writes to `*bytes`. */
static inline doca_error_t new_command(struct doca_urom_worker *worker, uint64_t plugin,
				       size_t length, struct doca_urom_worker_cmd_task **task,
				       void **bytes)
{
	struct doca_buf *payload;
	size_t capacity;
	doca_error_t code = doca_urom_worker_cmd_task_allocate_init(worker, plugin, task);

	if (code != DOCA_SUCCESS)
		return code;
	payload = doca_urom_worker_cmd_task_get_payload(*task);
	MUST(doca_buf_get_data(payload, bytes));
	MUST(doca_buf_get_data_len(payload, &capacity));
	if (length > capacity) {
		MUST(doca_urom_worker_cmd_task_release(*task));
		return DOCA_ERROR_TOO_BIG;
	}
	MUST(doca_buf_set_data(payload, *bytes, length));
	return DOCA_SUCCESS;
}

/* Submits a task; after an error it is released, and its callback is not called. */
static inline doca_error_t submit(struct doca_urom_worker_cmd_task *task,
				  doca_urom_worker_cmd_task_completion_cb_t done)
{
	doca_error_t code;

	doca_urom_worker_cmd_task_set_cb(task, done);
	code = doca_task_submit(doca_urom_worker_cmd_task_as_task(task));
	if (code != DOCA_SUCCESS)
		MUST(doca_urom_worker_cmd_task_release(task));
	return code;
}

/* Returns the answer of a completed task, or NULL. The task owns the bytes. */
static inline void *answer_of(struct doca_urom_worker_cmd_task *task, size_t *length)
{
	struct doca_buf *response = doca_urom_worker_cmd_task_get_response(task);
	void *bytes = NULL;

	*length = 0;
	if (response != NULL) {
		MUST(doca_buf_get_data(response, &bytes));
		MUST(doca_buf_get_data_len(response, length));
	}
	return bytes;
}

struct raw {
	bool done;
	doca_error_t status;
	bool answered;
	size_t length;
};

static inline void raw_done(struct doca_urom_worker_cmd_task *task, union doca_data task_data,
			    union doca_data ctx_data)
{
	struct raw *raw = task_data.ptr;

	(void)ctx_data;
	raw->status = doca_task_get_status(doca_urom_worker_cmd_task_as_task(task));
	raw->answered = answer_of(task, &raw->length) != NULL;
	raw->done = true;
	MUST(doca_urom_worker_cmd_task_release(task));
}

static inline void submit_raw(struct doca_urom_worker *worker, uint64_t plugin, const void *bytes,
			      size_t length, struct raw *raw)
{
	struct doca_urom_worker_cmd_task *task;
	union doca_data data = {.ptr = raw};
	void *payload;

	raw->done = false;
	MUST(new_command(worker, plugin, length, &task, &payload));
	if (length != 0)
		memcpy(payload, bytes, length);
	doca_task_set_user_data(doca_urom_worker_cmd_task_as_task(task), data);
	MUST(submit(task, raw_done));
}

static inline void say_raw(const char *what, struct doca_urom_worker *worker, struct doca_pe *pe,
			   uint64_t plugin, const void *bytes, size_t length)
{
	struct raw raw;

	submit_raw(worker, plugin, bytes, length, &raw);
	INSIST(progress_until(pe, &raw.done) == 1);
	if (raw.answered)
		say("%s: %s, answer of %zu bytes", what, name_of(raw.status), raw.length);
	else
		say("%s: %s, no answer", what, name_of(raw.status));
}

#endif /* TESTS_HOST_H */
