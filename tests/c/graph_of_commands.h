/* A graph of worker commands, a service query, and sync event tasks. */
#ifndef TESTS_GRAPH_OF_COMMANDS_H
#define TESTS_GRAPH_OF_COMMANDS_H

#include "every_graph.h"
#include "rig.h"

static inline void no_callback_of_a_node(struct doca_urom_worker_cmd_task *task,
					 union doca_data task_data, union doca_data ctx_data)
{
	(void)task, (void)task_data, (void)ctx_data;
	INSIST(!"a command of a graph calls back");
}

static inline void no_callback_of_a_query(struct doca_urom_service_get_workers_by_gid_task *task,
					  union doca_data task_data, union doca_data ctx_data)
{
	(void)task, (void)task_data, (void)ctx_data;
	INSIST(!"a query of a graph calls back");
}

static inline void progress_to_the_end(struct doca_pe *pe, unsigned int ends)
{
	while (ran.completed + ran.failed < ends)
		progress_and_wait(pe);
}

static inline void graph_of_commands(const struct rig *rig)
{
	struct doca_urom_service_get_workers_by_gid_task *query;
	struct doca_pe *pe = rig->host.pe;
	struct doca_urom_worker *worker = running_worker(rig, pe, 90);
	struct doca_ctx *of_worker = doca_urom_worker_as_ctx(worker);
	struct doca_urom_worker_cmd_task *task = loopback(rig, worker, 7, no_callback_of_a_node);
	struct doca_task *as_task = doca_urom_worker_cmd_task_as_task(task);
	struct doca_sync_event *event = event_with_tasks(rig->host.device, pe);
	struct doca_sync_event_task_notify_set *set;
	struct doca_graph_node *asks, *command, *tells;
	struct doca_graph_instance *instance;
	struct doca_graph *graph;
	size_t length;
	uint64_t *answer;

	MUST(doca_urom_service_get_workers_by_gid_task_allocate_init(
		rig->host.service, 0, no_callback_of_a_query, &query));
	MUST(doca_sync_event_task_notify_set_alloc_init(event, 3, number(0), &set));
	MUST(doca_graph_create(pe, &graph));
	MUST(doca_graph_set_conf(graph, instance_completed, instance_failed, 1));
	MUST(doca_graph_node_create_from_ctx(graph, (void *)rig->host.service, &asks));
	MUST(doca_graph_node_create_from_ctx(graph, of_worker, &command));
	MUST(doca_graph_node_create_from_ctx(graph, doca_sync_event_as_ctx(event), &tells));
	MUST(doca_graph_add_dependency(graph, asks, command));
	MUST(doca_graph_add_dependency(graph, command, tells));
	MUST(doca_graph_start(graph));
	MUST(doca_graph_instance_create(graph, &instance));
	MUST(doca_graph_instance_set_ctx_node_data(instance, asks, (void *)query));
	MUST(doca_graph_instance_set_ctx_node_data(instance, command, as_task));
	MUST(doca_graph_instance_set_ctx_node_data(instance, tells, (void *)set));
	memset(&ran, 0, sizeof(ran));
	MUST(doca_graph_instance_submit(instance));
	/* The graph owns the command before it is sent. */
	GIVES(DOCA_ERROR_NOT_PERMITTED, doca_task_submit, as_task);
	GIVES(DOCA_ERROR_NOT_PERMITTED, doca_urom_worker_cmd_task_release, task);
	progress_to_the_end(pe, 1);
	IS(1, ran.completed);
	IS(3, counter_of(event));
	MUST(doca_task_get_status(as_task));
	IS(1, doca_urom_service_get_workers_by_gid_task_get_workers_count(query));
	answer = answer_of(task, &length);
	IS(1, answer != NULL && length == 16 && answer[1] == 7);

	MUST(doca_sync_event_update_set(event, 0));
	EXPECT(DOCA_ERROR_IN_PROGRESS, doca_ctx_stop(of_worker));
	MUST(doca_graph_instance_submit(instance));
	progress_to_the_end(pe, 2);
	IS(1, ran.failed);
	IS(0, counter_of(event));
	IS(DOCA_ERROR_BAD_STATE, doca_task_get_status(as_task));
	IS(DOCA_ERROR_BAD_STATE, doca_task_get_status((void *)set));

	MUST(doca_graph_instance_destroy(instance));
	MUST(doca_graph_stop(graph));
	MUST(doca_graph_destroy(graph));
	doca_task_free((void *)set);
	doca_task_free((void *)query);
	end_event(event);
	MUST(doca_urom_worker_cmd_task_release(task));
	IS(1, progress_while(pe, of_worker, DOCA_CTX_STATE_STOPPING));
	MUST(doca_urom_worker_destroy(worker));
}

static inline void commands_are_flushed(const struct rig *rig)
{
	struct doca_pe *pe = rig->host.pe;
	struct doca_urom_worker *worker = running_worker(rig, pe, 91);
	struct raw raws[3] = {0};
	struct doca_urom_worker_cmd_task *last;
	const uint64_t words[2] = {0, 1};
	int at;

	for (at = 0; at < 3; at++)
		submit_raw(worker, rig->plugin, words, sizeof(words), &raws[at]);
	RETURNS(doca_ctx_flush_tasks, doca_urom_worker_as_ctx(worker));
	last = loopback(rig, worker, 1, NULL);
	GIVES(DOCA_SUCCESS, doca_task_submit_ex, doca_urom_worker_cmd_task_as_task(last),
	      DOCA_TASK_SUBMIT_FLAG_FLUSH);
	for (at = 0; at < 4; at++)
		IS(1, next_event(pe));
	IS(1, raws[0].done && raws[1].done && raws[2].done);
	MUST(doca_urom_worker_cmd_task_release(last));
	end_worker(worker, pe);
}

#endif /* TESTS_GRAPH_OF_COMMANDS_H */
