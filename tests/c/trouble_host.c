/*
 * A host with a troublesome plugin and a good plugin in two workers; it checks the effects on each.
 * The argument selects the trouble.
 */
#include "rig.h"

#include <time.h>
#include <urom_extensions.h>

#include "trouble.h"

static struct rig rig;
static struct doca_pe *pe;
static uint64_t graph, trouble;

/* Worker 1 is mistreated; worker 2 must not be affected. */
static struct doca_urom_worker *worker_of(uint64_t id, uint64_t plugins)
{
	const struct settings settings = {.id = id, .plugins = plugins, .tasks = 16};

	return run_worker(rig.host.service, pe, &settings);
}

static void ask(struct doca_urom_worker *worker, enum trouble what, uint64_t number,
		struct raw *raw)
{
	const uint64_t words[2] = {what, number};

	submit_raw(worker, trouble, words, sizeof(words), raw);
}

/* Waits for a command's result and answer length; -1 without an answer. */
static void ends(struct raw *raw, doca_error_t status, long length)
{
	IS(1, progress_until(pe, &raw->done) <= 1);
	IS(status, raw->status);
	IS(length >= 0, raw->answered);
	if (length >= 0)
		IS(length, raw->length);
}

static void works(struct doca_urom_worker *worker)
{
	const uint64_t words[2] = {0, 5};
	struct raw raw;

	submit_raw(worker, graph, words, sizeof(words), &raw);
	ends(&raw, DOCA_SUCCESS, 16);
	ask(worker, TROUBLE_NONE, 5, &raw);
	ends(&raw, DOCA_SUCCESS, 16);
	IS(0, nonzero_when_quiet(pe));
}

static void answers_once(struct doca_urom_worker *worker, enum trouble what)
{
	struct raw raw;

	ask(worker, what, 0, &raw);
	ends(&raw, DOCA_SUCCESS, 16);
	IS(0, nonzero_when_quiet(pe));
	works(worker);
}

static void fails(struct doca_urom_worker *worker, enum trouble what, uint64_t number,
		  doca_error_t status)
{
	struct raw raw;

	ask(worker, what, number, &raw);
	ends(&raw, status, -1);
	works(worker);
}

/* A command kills worker 1: its pending commands end with an error, and nothing else is
 * affected. */
static void crash(enum trouble how)
{
	struct doca_urom_worker *worker = worker_of(1, graph | trouble),
				*other = worker_of(2, graph | trouble);
	struct doca_ctx *ctx = doca_urom_worker_as_ctx(worker);
	struct doca_urom_worker_cmd_task *task;
	struct raw held[3], fatal, elsewhere;
	size_t at;

	for (at = 0; at < 3; ++at)
		ask(worker, TROUBLE_NEVER, 0, &held[at]);
	ask(other, TROUBLE_NEVER, 0, &elsewhere);
	ask(worker, how, 0, &fatal);
	for (at = 0; at < 3; ++at)
		ends(&held[at], DOCA_ERROR_CONNECTION_RESET, -1);
	ends(&fatal, DOCA_ERROR_CONNECTION_RESET, -1);
	GIVES(DOCA_ERROR_BAD_STATE, doca_urom_worker_cmd_task_allocate_init, worker, graph, &task);
	progress_while(pe, ctx, DOCA_CTX_STATE_STOPPING);
	IS(DOCA_CTX_STATE_IDLE, state_of(ctx));
	IS(DOCA_ERROR_CONNECTION_RESET, urom_ctx_get_failure_code(ctx));
	MUST(doca_urom_worker_destroy(worker));
	works(other);
	IS(0, elsewhere.done);
	worker = worker_of(1, graph | trouble);
	works(worker);
	end_worker(worker, pe);
	GIVES(DOCA_ERROR_IN_PROGRESS, doca_ctx_stop, doca_urom_worker_as_ctx(other));
	ends(&elsewhere, DOCA_ERROR_SHUTDOWN, -1);
	progress_while(pe, doca_urom_worker_as_ctx(other), DOCA_CTX_STATE_STOPPING);
	MUST(doca_urom_worker_destroy(other));
}

/* A plugin that crashes when it is closed affects neither other workers nor the worker's host. */
static void crash_at_close(void)
{
	struct doca_urom_worker *worker = worker_of(1, graph | trouble),
				*other = worker_of(2, graph);
	const uint64_t words[2] = {0, 5};
	struct raw raw;

	works(worker);
	end_worker(worker, pe);
	submit_raw(other, graph, words, sizeof(words), &raw);
	ends(&raw, DOCA_SUCCESS, 16);
	worker = worker_of(1, graph | trouble);
	works(worker);
	end_worker(worker, pe);
	end_worker(other, pe);
}

/* A worker whose start fails reports the reason; other workers can start. */
static void no_start(const char *words)
{
	const struct settings settings = {.id = 1, .plugins = graph | trouble, .tasks = 16};
	struct doca_urom_worker *worker = create_worker(rig.host.service, pe, &settings), *other;
	struct doca_ctx *ctx = doca_urom_worker_as_ctx(worker);
	const uint64_t loop[2] = {0, 5};
	char text[1000] = "";
	struct raw raw;

	IS(1, start_worker(worker, pe));
	IS(DOCA_CTX_STATE_IDLE, state_of(ctx));
	urom_ctx_get_failure(ctx, text, sizeof(text) - 1);
	if (strstr(text, words) == NULL) {
		printf("the failure says %s\n", text);
		IS(0, 1);
	}
	MUST(doca_urom_worker_set_plugins(worker, graph));
	IS(1, start_worker(worker, pe));
	other = worker_of(2, graph);
	submit_raw(worker, graph, loop, sizeof(loop), &raw);
	ends(&raw, DOCA_SUCCESS, 16);
	end_worker(worker, pe);
	end_worker(other, pe);
}

static void never(void)
{
	struct doca_urom_worker *worker = worker_of(1, graph | trouble);
	struct doca_ctx *ctx = doca_urom_worker_as_ctx(worker);
	struct raw held[3];
	size_t at;

	for (at = 0; at < 3; ++at)
		ask(worker, TROUBLE_NEVER, 0, &held[at]);
	works(worker);
	GIVES(DOCA_ERROR_IN_PROGRESS, doca_ctx_stop, ctx);
	for (at = 0; at < 3; ++at)
		ends(&held[at], DOCA_ERROR_SHUTDOWN, -1);
	progress_while(pe, ctx, DOCA_CTX_STATE_STOPPING);
	MUST(doca_urom_worker_destroy(worker));
}

static void forged(void)
{
	struct doca_urom_worker *worker = worker_of(1, graph | trouble);
	enum trouble what;

	for (what = TROUBLE_TWICE; what <= TROUBLE_TYPE; ++what)
		answers_once(worker, what);
	end_worker(worker, pe);
}

/* A plugin returns an error while later commands are queued: all commands end. */
static void undrained(void)
{
	static const enum trouble what[] = {TROUBLE_NONE,          TROUBLE_FAIL, TROUBLE_NONE,
					    TROUBLE_FAIL_SILENTLY, TROUBLE_FAIL, TROUBLE_NONE};
	enum { COUNT = sizeof(what) / sizeof(*what) };
	struct doca_urom_worker *worker = worker_of(1, graph | trouble);
	struct doca_ctx *ctx = doca_urom_worker_as_ctx(worker);
	struct raw raws[COUNT];
	size_t at;

	for (at = 0; at < COUNT; ++at)
		ask(worker, what[at], 0, &raws[at]);
	for (at = 0; at < COUNT; ++at)
		if (what[at] != TROUBLE_FAIL_SILENTLY)
			ends(&raws[at], what[at] == TROUBLE_FAIL ? DOCA_ERROR_DRIVER : DOCA_SUCCESS,
			     16);
	fails(worker, TROUBLE_LEAVE, 0, DOCA_ERROR_DRIVER);
	IS(0, raws[3].done);
	GIVES(DOCA_ERROR_IN_PROGRESS, doca_ctx_stop, ctx);
	ends(&raws[3], DOCA_ERROR_SHUTDOWN, -1);
	progress_while(pe, ctx, DOCA_CTX_STATE_STOPPING);
	MUST(doca_urom_worker_destroy(worker));
}

static void unpackable(void)
{
	struct doca_urom_worker *worker = worker_of(1, graph | trouble);
	struct raw raw;

	ask(worker, TROUBLE_BIG, 4096 - 32, &raw);
	ends(&raw, DOCA_SUCCESS, 4096 - 32);
	fails(worker, TROUBLE_BIG, 4096 - 31, DOCA_ERROR_TOO_BIG);
	fails(worker, TROUBLE_BIG, 1 << 20, DOCA_ERROR_TOO_BIG);
	fails(worker, TROUBLE_PACK_FAILS, 0, DOCA_ERROR_DRIVER);
	fails(worker, TROUBLE_PACK_LITTLE, 0, DOCA_ERROR_UNEXPECTED);
	fails(worker, TROUBLE_PACK_MORE, 0, DOCA_ERROR_UNEXPECTED);
	fails(worker, TROUBLE_PACK_HUGE, 0, DOCA_ERROR_UNEXPECTED);
	end_worker(worker, pe);
}

/* A plugin blocks its worker in steps of 200 ms for longer than the timeout for a silent peer: no
 * connection is dropped. */
static void slow(void)
{
	struct doca_urom_worker *worker = worker_of(1, graph | trouble),
				*joined = worker_of(1, graph | trouble);
	struct timespec begin, now;
	struct raw raw;

	ask(worker, TROUBLE_SLOW, 30, &raw);
	ends(&raw, DOCA_SUCCESS, 16);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		works(joined);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - begin.tv_sec < 7);
	works(worker);
	IS(DOCA_CTX_STATE_RUNNING, state_of(doca_urom_service_as_ctx(rig.host.service)));
	end_worker(worker, pe);
	works(joined);
	end_worker(joined, pe);
}

static void seek(void)
{
	struct doca_urom_worker *worker = worker_of(1, graph | trouble);
	struct doca_urom_worker_cmd_task *task;
	const uint64_t words[2] = {TROUBLE_SEEK_END, 0};
	struct sought sought;
	struct raw raw;
	void *bytes;
	int turn;

	ask(worker, TROUBLE_SEEK, 9, &raw);
	ends(&raw, DOCA_SUCCESS, 16);
	for (turn = 0; turn < 20; ++turn) {
		struct doca_urom_domain *domain = new_domain(pe, worker, 9);
		struct doca_ctx *ctx = doca_urom_domain_as_ctx(domain);

		GIVES(DOCA_ERROR_IN_PROGRESS, doca_ctx_start, ctx);
		IS(1, progress_while(pe, ctx, DOCA_CTX_STATE_STARTING));
		IS(DOCA_CTX_STATE_RUNNING, state_of(ctx));
		ask(worker, TROUBLE_SEEK_FOUND, 0, &raw);
		ends(&raw, DOCA_SUCCESS, 16);
		GIVES(DOCA_SUCCESS, doca_ctx_stop, ctx);
		MUST(doca_urom_domain_destroy(domain));
		works(worker);
	}
	MUST(new_command(worker, trouble, sizeof(words), &task, &bytes));
	memcpy(bytes, words, sizeof(words));
	MUST(submit(task, NULL));
	IS(1, next_event(pe));
	memcpy(&sought, answer_of(task, &(size_t){0}), sizeof(sought));
	MUST(doca_urom_worker_cmd_task_release(task));
	IS(1, sought.found > 0);
	IS(1, sought.missed > 0);
	IS(0, sought.other);
	end_worker(worker, pe);
}

/* A plugin whose name is too long is not served; the others are. */
static void names(void)
{
	IS(2, rig.host.plugin_count);
	never();
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	set_up(&rig, "worker_graph");
	pe = rig.host.pe;
	graph = rig.plugin;
	trouble = find_plugin(&rig.host, "worker_trouble")->id;
	if (strcmp(what, "crash") == 0)
		crash(TROUBLE_CRASH);
	else if (strcmp(what, "crash-progress") == 0)
		crash(TROUBLE_CRASH_PROGRESS);
	else if (strcmp(what, "crash-pack") == 0)
		crash(TROUBLE_CRASH_PACK);
	else if (strcmp(what, "crash-close") == 0)
		crash_at_close();
	else if (strcmp(what, "no-start") == 0 && argc > 2)
		no_start(argv[2]);
	else if (strcmp(what, "never") == 0)
		never();
	else if (strcmp(what, "forged") == 0)
		forged();
	else if (strcmp(what, "undrained") == 0)
		undrained();
	else if (strcmp(what, "unpackable") == 0)
		unpackable();
	else if (strcmp(what, "slow") == 0)
		slow();
	else if (strcmp(what, "seek") == 0)
		seek();
	else if (strcmp(what, "names") == 0)
		names();
	else
		INSIST(!"a trouble that is known");
	IS(0, nonzero_when_quiet(pe));
	close_host(&rig.host);
	return conclusion();
}
