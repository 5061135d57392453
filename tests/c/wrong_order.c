/*
 * A host that makes calls in the wrong order, also in callbacks: the calls fail and everything
 * continues. With the argument "exchanges", a domain's out-of-band functions misbehave.
 */
#include "rig.h"

/* ---- Tasks ---- */

static const struct rig *the_rig;
static struct doca_urom_worker *the_worker;
static unsigned int completions;
static doca_error_t last_status;

static void rude_done(struct doca_urom_worker_cmd_task *task, union doca_data task_data,
		      union doca_data ctx_data)
{
	struct doca_ctx *ctx = doca_task_get_ctx(doca_urom_worker_cmd_task_as_task(task));

	(void)task_data, (void)ctx_data;
	++completions;
	last_status = doca_task_get_status(doca_urom_worker_cmd_task_as_task(task));
	GIVES(0, doca_pe_progress, the_rig->host.pe);
	GIVES(DOCA_ERROR_IN_USE, doca_pe_destroy, the_rig->host.pe);
	GIVES(DOCA_ERROR_IN_USE, doca_urom_worker_destroy, the_worker);
	GIVES(DOCA_ERROR_IN_USE, doca_ctx_stop, doca_urom_service_as_ctx(the_rig->host.service));
	GIVES(DOCA_ERROR_NOT_PERMITTED, doca_urom_service_destroy, the_rig->host.service);
	GIVES(DOCA_ERROR_BAD_STATE, doca_ctx_start, ctx);
	GIVES(DOCA_SUCCESS, doca_urom_worker_cmd_task_release, task);
}

static void stopping_done(struct doca_urom_worker_cmd_task *task, union doca_data task_data,
			  union doca_data ctx_data)
{
	GIVES(DOCA_ERROR_IN_PROGRESS, doca_ctx_stop,
	      doca_task_get_ctx(doca_urom_worker_cmd_task_as_task(task)));
	GIVES(DOCA_ERROR_IN_PROGRESS, doca_ctx_stop,
	      doca_task_get_ctx(doca_urom_worker_cmd_task_as_task(task)));
	(void)task_data, (void)ctx_data;
	++completions;
	GIVES(DOCA_SUCCESS, doca_urom_worker_cmd_task_release, task);
}

static void kept_done(struct doca_urom_worker_cmd_task *task, union doca_data task_data,
		      union doca_data ctx_data)
{
	(void)task_data, (void)ctx_data;
	++completions;
	last_status = doca_task_get_status(doca_urom_worker_cmd_task_as_task(task));
}

static void again_done(struct doca_urom_worker_cmd_task *task, union doca_data task_data,
		       union doca_data ctx_data)
{
	(void)task_data, (void)ctx_data;
	doca_urom_worker_cmd_task_set_cb(task, kept_done);
	++completions;
	GIVES(DOCA_SUCCESS, doca_task_submit, doca_urom_worker_cmd_task_as_task(task));
	GIVES(DOCA_ERROR_NOT_PERMITTED, doca_urom_worker_cmd_task_release, task);
}

static void wrong_order_of_tasks(struct rig *rig)
{
	struct doca_pe *pe = rig->host.pe;
	struct doca_urom_worker *worker = running_worker(rig, pe, 1);
	struct doca_ctx *ctx = doca_urom_worker_as_ctx(worker);
	struct doca_urom_worker_cmd_task *task, *other;
	struct doca_task *as_task;

	the_worker = worker;
	task = loopback(rig, worker, 1, rude_done);
	as_task = doca_urom_worker_cmd_task_as_task(task);
	GIVES(DOCA_SUCCESS, doca_task_submit, as_task);
	GIVES(DOCA_ERROR_NOT_PERMITTED, doca_task_submit, as_task);
	GIVES(DOCA_ERROR_NOT_PERMITTED, doca_urom_worker_cmd_task_release, task);
	GIVES_NULL(doca_urom_worker_cmd_task_get_response, task);
	IS(1, next_event(pe));
	IS(1, completions);
	IS(DOCA_SUCCESS, last_status);
	IS(0, nonzero_when_quiet(pe));

	task = loopback(rig, worker, 2, again_done);
	GIVES(DOCA_SUCCESS, doca_task_submit, doca_urom_worker_cmd_task_as_task(task));
	IS(1, next_event(pe));
	IS(2, completions);
	IS(1, next_event(pe));
	IS(3, completions);
	GIVES(DOCA_SUCCESS, doca_urom_worker_cmd_task_release, task);

	/* Stops with tasks in every stage: the context waits for the release of all tasks. */
	task = loopback(rig, worker, 3, kept_done);
	other = loopback(rig, worker, 4, stopping_done);
	GIVES(DOCA_SUCCESS, doca_task_submit, doca_urom_worker_cmd_task_as_task(other));
	IS(1, next_event(pe));
	IS(4, completions);
	IS(DOCA_CTX_STATE_STOPPING, state_of(ctx));
	GIVES(DOCA_ERROR_BAD_STATE, doca_task_submit, doca_urom_worker_cmd_task_as_task(task));
	GIVES(DOCA_ERROR_IN_USE, doca_urom_worker_destroy, worker);
	IS(0, nonzero_when_quiet(pe));
	GIVES(DOCA_SUCCESS, doca_urom_worker_cmd_task_release, task);
	IS(1, progress_while(pe, ctx, DOCA_CTX_STATE_STOPPING));
	GIVES(DOCA_SUCCESS, doca_urom_worker_destroy, worker);

	/* Stops with a pending command: it fails without an answer, and the caller still owns
	 * it. */
	worker = running_worker(rig, pe, 1);
	ctx = doca_urom_worker_as_ctx(worker);
	task = loopback(rig, worker, 5, kept_done);
	GIVES(DOCA_SUCCESS, doca_task_submit, doca_urom_worker_cmd_task_as_task(task));
	GIVES(DOCA_ERROR_IN_PROGRESS, doca_ctx_stop, ctx);
	IS(1, next_event(pe));
	IS(5, completions);
	IS(DOCA_ERROR_SHUTDOWN, last_status);
	GIVES_NULL(doca_urom_worker_cmd_task_get_response, task);
	IS(DOCA_CTX_STATE_STOPPING, state_of(ctx));
	GIVES(DOCA_SUCCESS, doca_urom_worker_cmd_task_release, task);
	IS(1, progress_while(pe, ctx, DOCA_CTX_STATE_STOPPING));
	GIVES(DOCA_SUCCESS, doca_urom_worker_destroy, worker);
}

/* ---- Contexts ---- */

static void wrong_order_of_contexts(struct rig *rig)
{
	struct doca_urom_service *service = rig->host.service;
	struct doca_pe *pe = rig->host.pe;
	struct doca_urom_worker *worker = running_worker(rig, pe, 2),
				*idle = new_worker(rig, pe, 3);
	struct doca_urom_domain *domain = new_domain(pe, worker, 9);
	struct doca_ctx *ctx = doca_urom_domain_as_ctx(domain);

	GIVES(DOCA_ERROR_IN_PROGRESS, doca_ctx_start, ctx);
	IS(1, progress_while(pe, ctx, DOCA_CTX_STATE_STARTING));
	IS(DOCA_CTX_STATE_RUNNING, state_of(ctx));
	GIVES(DOCA_ERROR_NOT_PERMITTED, doca_urom_domain_destroy, domain);
	GIVES(DOCA_ERROR_IN_USE, doca_urom_worker_destroy, worker);
	GIVES(DOCA_ERROR_IN_USE, doca_ctx_stop, doca_urom_service_as_ctx(service));
	IS(DOCA_CTX_STATE_RUNNING, state_of(doca_urom_service_as_ctx(service)));
	GIVES(DOCA_ERROR_NOT_PERMITTED, doca_urom_service_destroy, service);
	GIVES(DOCA_ERROR_IN_USE, doca_pe_destroy, pe);
	GIVES(DOCA_ERROR_IN_USE, doca_dev_close, rig->host.device);

	/* A domain whose worker is stopped first: its stop still completes. */
	end_worker(worker, pe);
	GIVES(DOCA_SUCCESS, doca_ctx_stop, ctx);
	GIVES(DOCA_ERROR_IN_PROGRESS, doca_ctx_start, ctx);
	IS(1, progress_while(pe, ctx, DOCA_CTX_STATE_STARTING));
	IS(DOCA_CTX_STATE_IDLE, state_of(ctx));
	GIVES(DOCA_SUCCESS, doca_ctx_stop, ctx);
	GIVES(DOCA_SUCCESS, doca_urom_domain_destroy, domain);

	/* Idle workers do not prevent the service's stop, only its destruction. */
	GIVES(DOCA_SUCCESS, doca_ctx_stop, doca_urom_service_as_ctx(service));
	GIVES(DOCA_ERROR_IN_USE, doca_urom_service_destroy, service);
	GIVES(DOCA_ERROR_BAD_STATE, doca_ctx_start, doca_urom_worker_as_ctx(idle));
	IS(DOCA_CTX_STATE_IDLE, state_of(doca_urom_worker_as_ctx(idle)));
	GIVES(DOCA_SUCCESS, doca_ctx_start, doca_urom_service_as_ctx(service));
	GIVES(DOCA_ERROR_IN_PROGRESS, doca_ctx_start, doca_urom_worker_as_ctx(idle));
	GIVES(DOCA_ERROR_IN_PROGRESS, doca_ctx_stop, doca_urom_worker_as_ctx(idle));
	IS(1, progress_while(pe, doca_urom_worker_as_ctx(idle), DOCA_CTX_STATE_STOPPING));
	GIVES(DOCA_SUCCESS, doca_urom_worker_destroy, idle);
	IS(0, nonzero_when_quiet(pe));
}

/* ---- Callbacks that change their own context ---- */

static doca_error_t (*destroy)(void *object);
static unsigned int changes;
static bool is_destroyed;

static doca_error_t destroy_service(void *object)
{
	return doca_urom_service_destroy(object);
}
static doca_error_t destroy_worker(void *object)
{
	return doca_urom_worker_destroy(object);
}
static doca_error_t destroy_domain(void *object)
{
	return doca_urom_domain_destroy(object);
}

/* Tries to destroy the context at every change; succeeds once it is idle. */
static void destroy_when_idle(const union doca_data data, struct doca_ctx *ctx,
			      enum doca_ctx_states before, enum doca_ctx_states after)
{
	(void)data, (void)before;
	++changes;
	if (after != DOCA_CTX_STATE_IDLE) {
		IS(1, destroy(ctx) != DOCA_SUCCESS);
		return;
	}
	IS(DOCA_SUCCESS, destroy(ctx));
	is_destroyed = true;
}

static void stop_when_running(const union doca_data data, struct doca_ctx *ctx,
			      enum doca_ctx_states before, enum doca_ctx_states after)
{
	(void)data, (void)before;
	++changes;
	if (after == DOCA_CTX_STATE_RUNNING)
		RETURNS(doca_ctx_stop, ctx);
}

/* A worker that is stopped when it starts and started when it stops. */
static void contrary(const union doca_data data, struct doca_ctx *ctx, enum doca_ctx_states before,
		     enum doca_ctx_states after)
{
	(void)data, (void)before;
	++changes;
	if (after == DOCA_CTX_STATE_STARTING)
		GIVES(DOCA_ERROR_IN_PROGRESS, doca_ctx_stop, ctx);
	else if (after == DOCA_CTX_STATE_IDLE && changes < 10)
		GIVES(DOCA_ERROR_IN_PROGRESS, doca_ctx_start, ctx);
}

static void callbacks_that_destroy(struct rig *rig)
{
	struct doca_pe *pe = rig->host.pe;
	struct doca_urom_worker *worker = running_worker(rig, pe, 4),
				*member = running_worker(rig, pe, 5);
	struct doca_ctx *ctx = doca_urom_worker_as_ctx(worker);
	struct doca_urom_domain *domain;
	struct doca_urom_service *service;

	destroy = destroy_worker;
	MUST(doca_ctx_set_state_changed_cb(ctx, destroy_when_idle));
	GIVES(DOCA_ERROR_IN_PROGRESS, doca_ctx_stop, ctx);
	while (!is_destroyed)
		progress(pe);
	IS(2, changes);

	worker = new_worker(rig, pe, 4);
	ctx = doca_urom_worker_as_ctx(worker);
	MUST(doca_ctx_set_state_changed_cb(ctx, stop_when_running));
	GIVES(DOCA_ERROR_IN_PROGRESS, doca_ctx_start, ctx);
	while (state_of(ctx) != DOCA_CTX_STATE_IDLE)
		progress(pe);
	IS(6, changes);
	changes = 0;
	MUST(doca_ctx_set_state_changed_cb(ctx, contrary));
	RETURNS(doca_ctx_start, ctx);
	while (state_of(ctx) != DOCA_CTX_STATE_IDLE)
		progress(pe);
	IS(1, changes >= 10);
	MUST(doca_urom_worker_destroy(worker));

	domain = new_domain(pe, member, 9);
	ctx = doca_urom_domain_as_ctx(domain);
	destroy = destroy_domain;
	MUST(doca_ctx_set_state_changed_cb(ctx, destroy_when_idle));
	GIVES(DOCA_ERROR_IN_PROGRESS, doca_ctx_start, ctx);
	IS(1, progress_while(pe, ctx, DOCA_CTX_STATE_STARTING));
	is_destroyed = false;
	GIVES(DOCA_SUCCESS, doca_ctx_stop, ctx);
	IS(true, is_destroyed);
	end_worker(member, pe);

	MUST(doca_urom_service_create(&service));
	ctx = doca_urom_service_as_ctx(service);
	destroy = destroy_service;
	MUST(doca_pe_connect_ctx(pe, ctx));
	MUST(doca_urom_service_set_dev(service, rig->host.device));
	MUST(doca_ctx_set_state_changed_cb(ctx, destroy_when_idle));
	MUST(doca_ctx_start(ctx));
	is_destroyed = false;
	GIVES(DOCA_SUCCESS, doca_ctx_stop, ctx);
	IS(true, is_destroyed);
	MUST(doca_urom_service_create(&service));
	ctx = doca_urom_service_as_ctx(service);
	MUST(doca_pe_connect_ctx(pe, ctx));
	MUST(doca_urom_service_set_dev(service, rig->host.device));
	MUST(doca_ctx_set_state_changed_cb(ctx, stop_when_running));
	RETURNS(doca_ctx_start, ctx);
	IS(DOCA_CTX_STATE_IDLE, state_of(ctx));
	MUST(doca_urom_service_destroy(service));
}

/* ---- Out-of-band functions that change their domain ---- */

static struct doca_urom_domain *exchanging;
static unsigned int requests, freed, destroyed;

static doca_error_t gather_and_stop(void *sbuf, void *rbuf, size_t msglen, void *coll_info,
				    void **req)
{
	MUST(gather_alone(sbuf, rbuf, msglen, coll_info, req));
	++requests;
	GIVES(0, doca_pe_progress, the_rig->host.pe);
	GIVES(DOCA_SUCCESS, doca_ctx_stop, doca_urom_domain_as_ctx(exchanging));
	return DOCA_SUCCESS;
}

static doca_error_t never_done(void *req)
{
	(void)req;
	return DOCA_ERROR_IN_PROGRESS;
}

static doca_error_t free_and_stop(void *req)
{
	(void)req;
	++freed;
	if (doca_urom_domain_destroy(exchanging) == DOCA_SUCCESS)
		++destroyed;
	else
		RETURNS(doca_ctx_stop, doca_urom_domain_as_ctx(exchanging));
	return DOCA_SUCCESS;
}

static doca_error_t gather_and_destroy(void *sbuf, void *rbuf, size_t msglen, void *coll_info,
				       void **req)
{
	MUST(gather_alone(sbuf, rbuf, msglen, coll_info, req));
	++requests;
	GIVES(DOCA_SUCCESS, doca_ctx_stop, doca_urom_domain_as_ctx(exchanging));
	GIVES(DOCA_SUCCESS, doca_urom_domain_destroy, exchanging);
	return DOCA_SUCCESS;
}

static void exchanges_that_stop(struct rig *rig)
{
	struct doca_urom_domain_oob_coll stops = {
		gather_and_stop, gathered, free_and_stop, NULL, 1, 0};
	struct doca_urom_domain_oob_coll never = {gather_alone, never_done, free_and_stop,
						  NULL,         1,          0};
	struct doca_urom_domain_oob_coll destroys = {
		gather_and_destroy, gathered, gathered, NULL, 1, 0};
	struct doca_pe *pe = rig->host.pe;
	struct doca_urom_worker *worker = running_worker(rig, pe, 6);
	struct doca_ctx *ctx;

	exchanging = new_domain(pe, worker, 9);
	ctx = doca_urom_domain_as_ctx(exchanging);
	MUST(doca_urom_domain_set_oob(exchanging, &stops));
	GIVES(DOCA_ERROR_IN_PROGRESS, doca_ctx_start, ctx);
	while (!requests)
		progress(pe);
	IS(0, nonzero_when_quiet(pe));
	/* The domain was idle when its request was freed, so the callback destroyed it. */
	IS(1, freed);
	IS(1, destroyed);

	exchanging = new_domain(pe, worker, 9);
	ctx = doca_urom_domain_as_ctx(exchanging);
	MUST(doca_urom_domain_set_oob(exchanging, &never));
	GIVES(DOCA_ERROR_IN_PROGRESS, doca_ctx_start, ctx);
	IS(0, nonzero_when_quiet(pe));
	IS(DOCA_CTX_STATE_STARTING, state_of(ctx));
	GIVES(DOCA_SUCCESS, doca_ctx_stop, ctx);
	IS(2, freed);
	IS(0, nonzero_when_quiet(pe));
	GIVES(DOCA_SUCCESS, doca_urom_domain_destroy, exchanging);

	exchanging = new_domain(pe, worker, 9);
	MUST(doca_urom_domain_set_oob(exchanging, &destroys));
	GIVES(DOCA_ERROR_IN_PROGRESS, doca_ctx_start, doca_urom_domain_as_ctx(exchanging));
	while (requests < 2)
		progress(pe);
	IS(0, nonzero_when_quiet(pe));
	end_worker(worker, pe);
}

int main(int argc, char **argv)
{
	struct rig rig;

	set_up(&rig, "worker_graph");
	the_rig = &rig;
	if (argc > 1 && !strcmp(argv[1], "exchanges")) {
		exchanges_that_stop(&rig);
	} else {
		wrong_order_of_tasks(&rig);
		wrong_order_of_contexts(&rig);
		callbacks_that_destroy(&rig);
	}
	IS(0, nonzero_when_quiet(rig.host.pe));
	close_host(&rig.host);
	return conclusion();
}
