/*
 * Calls every function of the library with NULL, wrong objects, destroyed objects and invalid
 * arguments, and in every state; prints each undocumented result.
 *
 * With the argument --names it prints the called functions, one a line, after the line "names:".
 */
#include <sys/wait.h>

#include "every_pointer.h"

#include "every_argument.h"
#include "every_memory.h"
#include "every_sync_event.h"
#include "every_task.h"
#include "every_graph.h"
#include "graph_of_commands.h"
#include "every_other.h"
#include "every_state.h"
#include "every_utility.h"

struct objects_of_tasks {
	struct doca_sync_event *event, *of_other_host;
	struct doca_sync_event_remote_net *remote;
	struct doca_mmap_advise *advise;
	struct doca_sync_event_task_get *get;
	struct doca_sync_event_task_notify_set *set;
	struct doca_sync_event_task_notify_add *add;
	struct doca_sync_event_task_wait_eq *eq;
	struct doca_sync_event_task_wait_neq *neq;
	struct doca_mmap_advise_task_invalidate_cache *invalidate;
	struct doca_graph *graph;
	struct doca_graph_node *node;
	struct doca_graph_instance *instance;
	uint64_t word;
};

static struct objects_of_tasks objects_of_tasks(struct doca_pe *pe, struct doca_dev *dev,
						struct doca_buf *buf)
{
	struct objects_of_tasks o;
	const uint8_t *bytes;
	size_t len;

	o.event = event_with_tasks(dev, pe);
	MUST(doca_sync_event_task_get_alloc_init(o.event, &o.word, number(0), &o.get));
	MUST(doca_sync_event_task_notify_set_alloc_init(o.event, 1, number(0), &o.set));
	MUST(doca_sync_event_task_notify_add_alloc_init(o.event, 1, &o.word, number(0), &o.add));
	MUST(doca_sync_event_task_wait_eq_alloc_init(o.event, 1, 1, number(0), &o.eq));
	MUST(doca_sync_event_task_wait_neq_alloc_init(o.event, 1, 1, number(0), &o.neq));
	MUST(doca_mmap_advise_create(dev, &o.advise));
	MUST(doca_mmap_advise_task_invalidate_cache_set_conf(o.advise, invalidate_completed,
							     invalidate_failed, 1));
	MUST(doca_pe_connect_ctx(pe, doca_mmap_advise_as_ctx(o.advise)));
	MUST(doca_ctx_start(doca_mmap_advise_as_ctx(o.advise)));
	MUST(doca_mmap_advise_task_invalidate_cache_alloc_init(o.advise, buf, number(0),
							       &o.invalidate));
	MUST(doca_graph_create(pe, &o.graph));
	MUST(doca_graph_set_conf(o.graph, instance_completed, instance_failed, 1));
	MUST(doca_graph_node_create_from_ctx(o.graph, doca_sync_event_as_ctx(o.event), &o.node));
	MUST(doca_graph_start(o.graph));
	MUST(doca_graph_instance_create(o.graph, &o.instance));
	MUST(doca_graph_stop(o.graph));
	MUST(doca_sync_event_create(&o.of_other_host));
	MUST(doca_sync_event_add_publisher_location_remote_net(o.of_other_host));
	MUST(doca_sync_event_add_subscriber_location_cpu(o.of_other_host, dev));
	MUST(doca_sync_event_start(o.of_other_host));
	MUST(doca_sync_event_export_to_remote_net(o.of_other_host, &bytes, &len));
	MUST(doca_sync_event_remote_net_create_from_export(dev, bytes, len, &o.remote));
	return o;
}

static void end_objects_of_tasks(struct doca_pe *pe, struct objects_of_tasks *o)
{
	MUST(doca_graph_instance_destroy(o->instance));
	MUST(doca_graph_destroy(o->graph));
	doca_task_free((void *)o->get);
	doca_task_free((void *)o->set);
	doca_task_free((void *)o->add);
	doca_task_free((void *)o->eq);
	doca_task_free((void *)o->neq);
	EXPECT(DOCA_ERROR_IN_PROGRESS, doca_ctx_stop(doca_mmap_advise_as_ctx(o->advise)));
	doca_task_free((void *)o->invalidate);
	IS(1, next_event(pe));
	MUST(doca_mmap_advise_destroy(o->advise));
	MUST(doca_sync_event_remote_net_destroy(o->remote));
	end_event(o->of_other_host);
	end_event(o->event);
}

static unsigned int loopbacks;

static void loopback_done(struct doca_urom_worker_cmd_task *task, union doca_data task_data,
			  union doca_data ctx_data)
{
	(void)task, (void)task_data, (void)ctx_data;
	++loopbacks;
}

static unsigned int queries;

static void query_done(struct doca_urom_service_get_workers_by_gid_task *task,
		       union doca_data task_data, union doca_data ctx_data)
{
	(void)task, (void)task_data, (void)ctx_data;
	++queries;
}

struct named {
	const char *what;
	enum kind is;
	void *o;
};

static void refuse_all(const struct named *all, size_t count)
{
	for (size_t at = 0; at < count; at++)
		refuse_everywhere(all[at].what, all[at].is, all[at].o);
}

/* The failure text explains why a child cannot use the object. */
static void says_why(size_t length)
{
	char wanted[64];

	snprintf(wanted, sizeof(wanted), "made before fork, in process %d: ", (int)getppid());
	IS(1, length > strlen(wanted));
	IS(0, strncmp(given.text, wanted, strlen(wanted)));
}

static void refused_in_child(const struct named *all, size_t count,
			     struct doca_urom_service *service,
			     struct doca_urom_worker_cmd_task *task, struct doca_devinfo **list)
{
	int status;
	pid_t child;

#ifdef __SANITIZE_ADDRESS__
	/* The sanitizer's allocator may hold locks at the fork. */
	return;
#endif
	fflush(NULL);
	child = fork();
	INSIST(child >= 0);
	if (child == 0) {
		differences = 0;
		is_forked = true;
		refuse_all(all, count);
		GIVES(DOCA_ERROR_BAD_STATE, doca_devinfo_destroy_list, list);
		/* A service and its context have the same address. */
		says_why(urom_ctx_get_failure((void *)service, given.text, sizeof(given.text)));
		says_why(urom_worker_cmd_task_get_failure(task, given.text, sizeof(given.text)));
		GIVES(DOCA_ERROR_INVALID_VALUE, doca_pe_destroy, NULL);
		fflush(NULL);
		/* exec instead of exit: valgrind would report the memory of the parent's threads as
		 * leaked. */
		execlp(differences ? "false" : "true", "child", (char *)NULL);
		_exit(2);
	}
	INSIST(waitpid(child, &status, 0) == child);
	IS(0, status);
}

static void wrong_objects(struct rig *rig)
{
	struct doca_urom_service_get_workers_by_gid_task *query;
	struct doca_urom_worker *worker = running_worker(rig, rig->host.pe, 60), *idle_worker;
	struct doca_urom_worker_cmd_task *task = loopback(rig, worker, 1, loopback_done);
	struct doca_buf *payload = doca_urom_worker_cmd_task_get_payload(task), *response;
	struct doca_urom_service *service;
	struct doca_urom_domain *domain = new_domain(rig->host.pe, worker, 1);
	struct doca_devinfo **list;
	struct doca_devinfo *info;
	struct doca_dev *dev;
	struct doca_buf_inventory *inventory;
	struct doca_buf_pool *pool;
	struct doca_mmap *map;
	struct doca_sync_event *event;
	struct doca_buf *buf, *of_pool;
	struct objects_of_tasks tasks;
	struct doca_pe *pe;
	uint32_t count;
	static char bytes[64];

	given.service = rig->host.service;
	given.pe = rig->host.pe;
	MUST(doca_urom_service_create(&service));
	MUST(doca_urom_worker_create(&idle_worker));
	MUST(doca_pe_create(&pe));
	MUST(doca_devinfo_create_list(&list, &count));
	info = list[0];
	MUST(doca_dev_open(info, &dev));
	MUST(doca_urom_service_get_workers_by_gid_task_allocate_init(rig->host.service, 0,
								     query_done, &query));

	map = started_map(bytes, sizeof(bytes), DOCA_ACCESS_FLAG_LOCAL_READ_WRITE, NULL);
	inventory = started_inventory(1);
	MUST(doca_buf_inventory_buf_get_by_addr(inventory, map, bytes, 8, &buf));
	MUST(doca_buf_pool_create(1, 8, map, &pool));
	MUST(doca_buf_pool_start(pool));
	MUST(doca_buf_pool_buf_alloc(pool, &of_pool));
	MUST(doca_sync_event_create(&event));

	tasks = objects_of_tasks(rig->host.pe, dev, buf);
	given.graph = tasks.graph;
	given.instance = tasks.instance;

	const struct named all[] = {
		{"NULL", NOTHING, NULL},
		{"a map", MAP, map},
		{"an inventory", INVENTORY, inventory},
		{"a buffer of an inventory", ELEMENT, buf},
		{"a pool", POOL, pool},
		{"a buffer of a pool", ELEMENT, of_pool},
		{"a sync event", EVENT, event},
		{"hints about memory", ADVISE, tasks.advise},
		{"a task that gets", GET, tasks.get},
		{"a task that sets", NOTIFY_SET, tasks.set},
		{"a task that adds", NOTIFY_ADD, tasks.add},
		{"a task that waits", WAIT_EQ, tasks.eq},
		{"a task that waits for a change", WAIT_NEQ, tasks.neq},
		{"a task about caches", INVALIDATE_CACHE, tasks.invalidate},
		{"a graph", GRAPH, tasks.graph},
		{"a node", NODE, tasks.node},
		{"an instance", INSTANCE, tasks.instance},
		{"an event of another host", REMOTE_NET, tasks.remote},
		{"a service", SERVICE, service},
		{"a worker", WORKER, idle_worker},
		{"a domain", DOMAIN, domain},
		{"an engine", ENGINE, pe},
		{"a device description", DEVICE_INFO, info},
		{"a device", DEVICE, dev},
		{"a command", COMMAND, task},
		{"a query", QUERY, query},
		{"a payload", BUFFER, payload},
	};

	refuse_all(all, sizeof(all) / sizeof(*all));
	refused_in_child(all, sizeof(all) / sizeof(*all), service, task, list);

	MUST(doca_task_submit(doca_urom_worker_cmd_task_as_task(task)));
	IS(1, next_event(rig->host.pe));
	IS(1, loopbacks);
	response = doca_urom_worker_cmd_task_get_response(task);
	INSIST(response != NULL);
	refuse_everywhere("a response", BUFFER, response);
	MUST(doca_task_submit(doca_urom_service_get_workers_by_gid_task_as_task(query)));
	IS(1, next_event(rig->host.pe));
	IS(1, queries);

	MUST(doca_urom_worker_cmd_task_release(task));
	MUST(doca_urom_service_get_workers_by_gid_task_release(query));
	MUST(doca_urom_domain_destroy(domain));
	MUST(doca_sync_event_destroy(event));
	end_objects_of_tasks(rig->host.pe, &tasks);
	MUST(doca_buf_dec_refcount(of_pool, NULL));
	MUST(doca_buf_pool_destroy(pool));
	MUST(doca_buf_dec_refcount(buf, NULL));
	MUST(doca_buf_inventory_destroy(inventory));
	MUST(doca_mmap_destroy(map));
	end_worker(worker, rig->host.pe);
	MUST(doca_urom_worker_destroy(idle_worker));
	MUST(doca_urom_service_destroy(service));
	MUST(doca_pe_destroy(pe));
	MUST(doca_devinfo_destroy_list(list));
	MUST(doca_dev_close(dev));
}

static void wrong_states_of_workers(const struct rig *rig)
{
	struct doca_urom_worker *worker = new_worker(rig, rig->host.pe, 81);
	struct doca_ctx *ctx = doca_urom_worker_as_ctx(worker);

	worker_in_state(worker, DOCA_CTX_STATE_IDLE, rig);
	/* The environment was set, and an existing worker would refuse it: this id is new. */
	MUST(doca_urom_worker_set_id(worker, 82));
	GIVES(DOCA_ERROR_IN_PROGRESS, doca_ctx_start, ctx);
	worker_in_state(worker, DOCA_CTX_STATE_STARTING, rig);
	IS(1, progress_while(rig->host.pe, ctx, DOCA_CTX_STATE_STARTING));
	worker_in_state(worker, DOCA_CTX_STATE_RUNNING, rig);
	GIVES(DOCA_ERROR_IN_PROGRESS, doca_ctx_stop, ctx);
	worker_in_state(worker, DOCA_CTX_STATE_STOPPING, rig);
	IS(1, progress_while(rig->host.pe, ctx, DOCA_CTX_STATE_STOPPING));
	worker_in_state(worker, DOCA_CTX_STATE_IDLE, rig);
	GIVES(DOCA_SUCCESS, doca_urom_worker_destroy, worker);
}

static void wrong_states_of_services(const struct rig *rig)
{
	struct doca_urom_service_get_workers_by_gid_task *query;
	struct doca_urom_service *service;
	struct doca_ctx *ctx;

	MUST(doca_urom_service_create(&service));
	ctx = doca_urom_service_as_ctx(service);
	GIVES(DOCA_ERROR_NOT_CONNECTED, doca_ctx_start, ctx);
	MUST(doca_pe_connect_ctx(rig->host.pe, ctx));
	service_in_state(service, DOCA_CTX_STATE_IDLE, rig);
	GIVES(DOCA_SUCCESS, doca_ctx_start, ctx);
	service_in_state(service, DOCA_CTX_STATE_RUNNING, rig);
	/* A pending query keeps the service from being idle. */
	MUST(doca_urom_service_get_workers_by_gid_task_allocate(service, &query));
	GIVES(DOCA_ERROR_IN_PROGRESS, doca_ctx_stop, ctx);
	service_in_state(service, DOCA_CTX_STATE_STOPPING, rig);
	GIVES(DOCA_ERROR_BAD_STATE, doca_task_submit,
	      doca_urom_service_get_workers_by_gid_task_as_task(query));
	GIVES(DOCA_SUCCESS, doca_urom_service_get_workers_by_gid_task_release, query);
	IS(1, progress_while(rig->host.pe, ctx, DOCA_CTX_STATE_STOPPING));
	service_in_state(service, DOCA_CTX_STATE_IDLE, rig);
	GIVES(DOCA_SUCCESS, doca_urom_service_destroy, service);
}

static void wrong_states_of_domains(const struct rig *rig)
{
	struct doca_urom_worker *worker = running_worker(rig, rig->host.pe, 83);
	struct doca_urom_domain *domain = new_domain(rig->host.pe, worker, 1);
	struct doca_ctx *ctx = doca_urom_domain_as_ctx(domain);

	domain_in_state(domain, DOCA_CTX_STATE_IDLE, rig, worker);
	GIVES(DOCA_ERROR_IN_PROGRESS, doca_ctx_start, ctx);
	domain_in_state(domain, DOCA_CTX_STATE_STARTING, rig, worker);
	IS(1, progress_while(rig->host.pe, ctx, DOCA_CTX_STATE_STARTING));
	domain_in_state(domain, DOCA_CTX_STATE_RUNNING, rig, worker);
	GIVES(DOCA_SUCCESS, doca_ctx_stop, ctx);
	domain_in_state(domain, DOCA_CTX_STATE_IDLE, rig, worker);
	GIVES(DOCA_SUCCESS, doca_urom_domain_destroy, domain);
	end_worker(worker, rig->host.pe);
}

int main(int argc, char **argv)
{
	struct rig rig;
	size_t at;

	parsing();
	logging();
	set_up(&rig, "worker_graph");
	wrong_objects(&rig);
	bad_arguments_of_a_service(&rig);
	bad_arguments_of_a_worker(&rig);
	bad_arguments_of_a_buffer(&rig);
	buffers_of_tasks(&rig);
	every_memory_call(rig.host.device);
	every_sync_event_call(rig.host.device);
	every_task_call(rig.host.device);
	every_graph_call(rig.host.device);
	graph_of_commands(&rig);
	commands_are_flushed(&rig);
	bad_arguments_of_a_domain(&rig);
	bad_arguments_of_an_engine(&rig);
	bad_arguments_of_a_device();
	codes_and_versions();
	unsupported_calls(&rig);
	submitted_and_freed(&rig);
	wrong_states_of_workers(&rig);
	wrong_states_of_services(&rig);
	wrong_states_of_domains(&rig);
	IS(0, nonzero_when_quiet(rig.host.pe));
	close_host(&rig.host);
	if (argc > 1 && !strcmp(argv[1], "--names")) {
		puts("names:");
		for (at = 0; at < called_count; ++at)
			puts(called[at]);
	}
	return conclusion();
}
