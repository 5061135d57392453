/*
 * Every function of graphs, in valid and invalid order. Needs no service.
 *
 * Most checks use this graph: user nodes `first` and `last`, and between them two parallel tasks of
 * a sync event.
 */
#ifndef TESTS_EVERY_GRAPH_H
#define TESTS_EVERY_GRAPH_H

#include <doca_graph.h>

#include "every_task.h"

#define BAD_CONFIG DOCA_ERROR_BAD_CONFIG
#define IN_USE DOCA_ERROR_IN_USE

/* User nodes that ran, in order, as digits; and the code that the next node returns. */
static struct {
	uint64_t order;
	doca_error_t next;
	unsigned int completed, failed;
	struct doca_graph_instance *instance;
	uint64_t instance_data, graph_data;
	bool submits;
} ran;

static inline doca_error_t run_user(void *cookie)
{
	ran.order = ran.order * 10 + (uint64_t)(uintptr_t)cookie;
	return ran.next;
}

static inline void note_instance(struct doca_graph_instance *instance, union doca_data of_instance,
				 union doca_data of_graph)
{
	ran.instance = instance;
	ran.instance_data = of_instance.u64;
	ran.graph_data = of_graph.u64;
	if (ran.submits) {
		ran.submits = false;
		MUST(doca_graph_instance_submit(instance));
	}
}

static inline void instance_completed(struct doca_graph_instance *instance,
				      union doca_data of_instance, union doca_data of_graph)
{
	++ran.completed;
	note_instance(instance, of_instance, of_graph);
}

static inline void instance_failed(struct doca_graph_instance *instance,
				   union doca_data of_instance, union doca_data of_graph)
{
	++ran.failed;
	note_instance(instance, of_instance, of_graph);
}

static inline void no_graph_end(struct doca_graph_instance *instance, union doca_data of_instance,
				union doca_data of_graph)
{
	(void)instance, (void)of_instance, (void)of_graph;
	INSIST(!"a graph within another calls back");
}

struct diamond {
	struct doca_pe *pe;
	struct doca_sync_event *event;
	struct doca_graph *graph;
	struct doca_graph_node *first, *add, *wait, *last;
	struct doca_sync_event_task_notify_add *add_task;
	struct doca_sync_event_task_wait_eq *wait_task;
	struct doca_graph_instance *instance;
	uint64_t fetched;
};

static inline void build_diamond(struct diamond *d, struct doca_pe *pe,
				 struct doca_sync_event *event,
				 doca_graph_completion_cb_t completed,
				 doca_graph_completion_cb_t failed)
{
	struct doca_ctx *ctx = doca_sync_event_as_ctx(event);

	d->pe = pe;
	d->event = event;
	MUST(doca_graph_create(pe, &d->graph));
	MUST(doca_graph_set_conf(d->graph, completed, failed, 1));
	MUST(doca_graph_node_create_from_user(d->graph, run_user, &d->first));
	MUST(doca_graph_node_create_from_ctx(d->graph, ctx, &d->add));
	MUST(doca_graph_node_create_from_ctx(d->graph, ctx, &d->wait));
	MUST(doca_graph_node_create_from_user(d->graph, run_user, &d->last));
	MUST(doca_graph_add_dependency(d->graph, d->first, d->add));
	MUST(doca_graph_add_dependency(d->graph, d->first, d->wait));
	MUST(doca_graph_add_dependency(d->graph, d->add, d->last));
	MUST(doca_graph_add_dependency(d->graph, d->wait, d->last));
	MUST(doca_graph_start(d->graph));
}

static inline void make_instance(struct diamond *d, uint64_t until)
{
	MUST(doca_sync_event_task_notify_add_alloc_init(d->event, 1, &d->fetched, number(0),
							&d->add_task));
	MUST(doca_sync_event_task_wait_eq_alloc_init(d->event, until, EVERY_BIT, number(0),
						     &d->wait_task));
	MUST(doca_graph_instance_create(d->graph, &d->instance));
	MUST(doca_graph_instance_set_user_node_data(d->instance, d->first, (void *)1));
	MUST(doca_graph_instance_set_ctx_node_data(d->instance, d->add, (void *)d->add_task));
	MUST(doca_graph_instance_set_ctx_node_data(d->instance, d->wait, (void *)d->wait_task));
	MUST(doca_graph_instance_set_user_node_data(d->instance, d->last, (void *)2));
	MUST(doca_graph_instance_set_user_data(d->instance, number(11)));
	MUST(doca_graph_set_user_data(d->graph, number(12)));
	seen.completed = seen.failed = 0;
	memset(&ran, 0, sizeof(ran));
}

static inline void end_diamond(struct diamond *d)
{
	GIVES(DOCA_SUCCESS, doca_graph_instance_destroy, d->instance);
	doca_task_free((void *)d->add_task);
	doca_task_free((void *)d->wait_task);
	GIVES(DOCA_SUCCESS, doca_graph_stop, d->graph);
	GIVES(DOCA_SUCCESS, doca_graph_destroy, d->graph);
}

/* Progresses until nothing happens; returns the number of nonzero calls. */
static inline unsigned int progress_all(struct doca_pe *pe)
{
	unsigned int count = 0;

	while (doca_pe_progress(pe))
		++count;
	return count;
}

static inline void ended_so(const struct diamond *d, unsigned int completed, unsigned int failed,
			    uint64_t order)
{
	IS(completed, ran.completed);
	IS(failed, ran.failed);
	IS(order, ran.order);
	IS(1, ran.instance == d->instance && ran.instance_data == 11 && ran.graph_data == 12);
	IS(0, seen.completed + seen.failed);
	IS(0, in_flight(d->event));
}

static inline void a_graph_runs(struct doca_pe *pe, struct doca_sync_event *event)
{
	struct diamond d;
	union doca_data data;
	int turn;

	build_diamond(&d, pe, event, instance_completed, instance_failed);
	MUST(doca_sync_event_update_set(event, 0));
	make_instance(&d, 0);
	GIVES(DOCA_SUCCESS, doca_graph_get_user_data, d.graph, &data);
	IS(12, data.u64);
	GIVES(DOCA_SUCCESS, doca_graph_instance_get_user_data, d.instance, &data);
	IS(11, data.u64);
	for (turn = 1; turn <= 50; turn++) {
		doca_sync_event_task_wait_eq_set_wait_val(d.wait_task, (uint64_t)turn);
		ran.order = 0;
		GIVES(DOCA_SUCCESS, doca_graph_instance_submit, d.instance);
		IS(0, ran.order);
		/* Four nodes and the completion. */
		IS(5, progress_all(pe));
		ended_so(&d, (unsigned int)turn, 0, 12);
		IS(turn - 1, d.fetched);
		IS(DOCA_SUCCESS, doca_task_get_status((void *)d.wait_task));
	}
	doca_sync_event_task_wait_eq_set_mask(d.wait_task, 0);
	doca_sync_event_task_wait_eq_set_wait_val(d.wait_task, 0);
	ran.order = 0;
	ran.submits = true;
	MUST(doca_graph_instance_submit(d.instance));
	IS(10, progress_all(pe));
	ended_so(&d, 52, 0, 1212);
	end_diamond(&d);
}

/* Calls that a running instance forbids, and the end of its wait. */
static inline void an_instance_in_flight(struct doca_pe *pe, struct doca_sync_event *event)
{
	struct doca_graph_instance *none;
	struct diamond d;

	build_diamond(&d, pe, event, instance_completed, instance_failed);
	MUST(doca_sync_event_update_set(event, 0));
	make_instance(&d, 5);
	MUST(doca_graph_instance_submit(d.instance));
	/* Forbidden even before its nodes begin. */
	GIVES(NOT_PERMITTED, doca_task_submit, (void *)d.add_task);
	IS(DOCA_ERROR_IN_PROGRESS, doca_task_get_status((void *)d.add_task));
	IS(2, progress_all(pe));
	doca_task_free((void *)d.wait_task);
	GIVES(NOT_PERMITTED, doca_task_submit, (void *)d.wait_task);
	GIVES(NOT_PERMITTED, doca_graph_instance_submit, d.instance);
	GIVES(NOT_PERMITTED, doca_graph_instance_destroy, d.instance);
	GIVES(NOT_PERMITTED, doca_graph_instance_set_user_node_data, d.instance, d.first, NULL);
	GIVES(NOT_PERMITTED, doca_graph_instance_set_ctx_node_data, d.instance, d.wait,
	      (void *)d.wait_task);
	GIVES(DOCA_ERROR_NO_MEMORY, doca_graph_instance_create, d.graph, &none);
	GIVES(IN_USE, doca_graph_stop, d.graph);
	GIVES(BAD_STATE, doca_graph_destroy, d.graph);
	GIVES(IN_USE, doca_pe_destroy, pe);
	IS(0, ran.completed + ran.failed);
	IS(0, progress_all(pe));
	MUST(doca_sync_event_update_set(event, 5));
	IS(3, progress_all(pe));
	ended_so(&d, 1, 0, 12);
	end_diamond(&d);
}

/* A failure waits for running nodes, starts no further nodes, and calls one callback. */
static inline void nodes_that_fail(struct doca_pe *pe, struct doca_sync_event *event)
{
	struct doca_ctx *ctx = doca_sync_event_as_ctx(event);
	struct diamond d;

	build_diamond(&d, pe, event, instance_completed, instance_failed);
	MUST(doca_sync_event_update_set(event, 0));
	make_instance(&d, 5);
	ran.next = DOCA_ERROR_AGAIN;
	MUST(doca_graph_instance_submit(d.instance));
	IS(2, progress_all(pe));
	ended_so(&d, 0, 1, 1);
	IS(0, counter_of(event));
	IS(BAD_STATE, doca_task_get_status((void *)d.add_task));
	/* A task is refused when its node begins: the parallel node does not begin. */
	ran.next = DOCA_SUCCESS;
	ran.order = 0;
	doca_sync_event_task_notify_add_set_fetched_val_ptr(d.add_task, NULL);
	MUST(doca_graph_instance_submit(d.instance));
	IS(2, progress_all(pe));
	ended_so(&d, 0, 2, 1);
	IS(BAD_VALUE, doca_task_get_status((void *)d.add_task));
	IS(BAD_STATE, doca_task_get_status((void *)d.wait_task));
	doca_sync_event_task_notify_add_set_fetched_val_ptr(d.add_task, &d.fetched);
	ran.order = 0;
	MUST(doca_graph_instance_submit(d.instance));
	IS(2, progress_all(pe));
	IS(DOCA_ERROR_IN_PROGRESS, doca_ctx_stop(ctx));
	IS(2, progress_all(pe));
	ended_so(&d, 0, 3, 1);
	IS(DOCA_ERROR_SHUTDOWN, doca_task_get_status((void *)d.wait_task));
	MUST(doca_graph_instance_submit(d.instance));
	IS(2, progress_all(pe));
	IS(4, ran.failed);
	IS(BAD_STATE, doca_task_get_status((void *)d.add_task));
	end_diamond(&d);
	IS(1, progress_all(pe));
	MUST(doca_sync_event_start(event));
}

static inline void instances_that_are_refused(struct doca_dev *dev, struct doca_pe *pe,
					      struct doca_sync_event *event)
{
	struct doca_sync_event *of_other = event_with_tasks(dev, pe);
	struct doca_sync_event_task_get *foreign, *own;
	struct doca_graph_instance *instance;
	struct doca_graph_node *more;
	struct diamond d;
	uint64_t value;

	build_diamond(&d, pe, event, instance_completed, instance_failed);
	make_instance(&d, 0);
	MUST(doca_sync_event_task_get_alloc_init(of_other, &value, number(0), &foreign));
	MUST(doca_sync_event_task_get_alloc_init(event, &value, number(0), &own));

	/* Data of another kind, context or graph. */
#define SET_TASK(node, task) \
	GIVES(BAD_VALUE, doca_graph_instance_set_ctx_node_data, d.instance, node, (void *)(task))
	SET_TASK(d.first, own);
	SET_TASK(d.add, foreign);
	SET_TASK(d.add, NULL);
	SET_TASK(d.add, d.graph);
	SET_TASK(NULL, own);
	SET_TASK((void *)d.graph, own);
#undef SET_TASK
	GIVES(BAD_VALUE, doca_graph_instance_set_user_node_data, d.instance, d.add, NULL);
	GIVES(BAD_VALUE, doca_graph_instance_set_sub_graph_node_data, d.instance, d.add,
	      d.instance);
	MUST(doca_graph_instance_destroy(d.instance));
	MUST(doca_graph_instance_create(d.graph, &instance));
	MUST(doca_graph_instance_set_user_node_data(instance, d.first, NULL));
	MUST(doca_graph_instance_set_ctx_node_data(instance, d.add, (void *)d.add_task));
	GIVES(BAD_CONFIG, doca_graph_instance_submit, instance);
	IS(BAD_STATE, doca_task_get_status((void *)d.add_task));
	/* One task for two nodes; a submitted task. */
	MUST(doca_graph_instance_set_ctx_node_data(instance, d.wait, (void *)d.add_task));
	MUST(doca_graph_instance_set_user_node_data(instance, d.last, NULL));
	GIVES(NOT_PERMITTED, doca_graph_instance_submit, instance);
	MUST(doca_graph_instance_set_ctx_node_data(instance, d.wait, (void *)own));
	MUST(doca_task_submit((void *)own));
	GIVES(NOT_PERMITTED, doca_graph_instance_submit, instance);
	ends(pe, own, DOCA_SUCCESS, 0);
	doca_task_free((void *)own);
	MUST(doca_task_submit((void *)d.add_task));
	ends(pe, d.add_task, DOCA_SUCCESS, 0);

	/* A graph that is not started, or was changed after its start. */
	MUST(doca_graph_instance_set_ctx_node_data(instance, d.wait, (void *)d.wait_task));
	doca_sync_event_task_wait_eq_set_mask(d.wait_task, 0);
	MUST(doca_graph_stop(d.graph));
	GIVES(BAD_STATE, doca_graph_stop, d.graph);
	GIVES(BAD_STATE, doca_graph_instance_submit, instance);
	GIVES(BAD_STATE, doca_graph_instance_create, d.graph, &d.instance);
	GIVES(IN_USE, doca_graph_destroy, d.graph);
	MUST(doca_graph_start(d.graph));
	MUST(doca_graph_instance_submit(instance));
	IS(5, progress_all(pe));
	IS(1, ran.completed);
	MUST(doca_graph_stop(d.graph));
	MUST(doca_graph_node_create_from_user(d.graph, run_user, &more));
	MUST(doca_graph_start(d.graph));
	GIVES(BAD_STATE, doca_graph_instance_submit, instance);
	GIVES(BAD_VALUE, doca_graph_instance_set_user_node_data, instance, more, NULL);
	d.instance = instance;
	doca_task_free((void *)foreign);
	end_event(of_other);
	end_diamond(&d);
}

static inline void graphs_that_are_refused(struct doca_dev *dev, struct doca_pe *pe,
					   struct doca_sync_event *event)
{
	struct doca_sync_event *alone = own_event(dev);
	struct doca_graph *graph, *other, *third;
	struct doca_graph_node *nodes[3], *foreign, *node = NULL;
	struct doca_graph_instance *instance;
	struct doca_pe *second;
	int at;

	MUST(doca_pe_create(&second));
	GIVES(BAD_VALUE, doca_graph_create, pe, NULL);
	GIVES(DOCA_SUCCESS, doca_graph_create, pe, &graph);
	GIVES(BAD_STATE, doca_graph_stop, graph);
	GIVES(BAD_STATE, doca_graph_instance_create, graph, &instance);
	GIVES(BAD_VALUE, doca_graph_set_conf, graph, NULL, instance_failed, 1);
	GIVES(BAD_VALUE, doca_graph_set_conf, graph, instance_completed, NULL, 1);
	GIVES(BAD_VALUE, doca_graph_set_conf, graph, instance_completed, instance_failed, 0);
	GIVES(BAD_VALUE, doca_graph_node_create_from_ctx, graph, NULL, &node);
	GIVES(BAD_VALUE, doca_graph_node_create_from_ctx, graph, doca_sync_event_as_ctx(event),
	      NULL);
	GIVES(BAD_VALUE, doca_graph_node_create_from_user, graph, NULL, &node);
	GIVES(BAD_VALUE, doca_graph_node_create_from_user, graph, run_user, NULL);
	GIVES(BAD_VALUE, doca_graph_node_create_from_graph, graph, NULL, &node);
	GIVES(BAD_VALUE, doca_graph_node_create_from_graph, graph, graph, &node);
	MUST(doca_graph_create(pe, &other));
	MUST(doca_graph_create(second, &third));
	GIVES(BAD_VALUE, doca_graph_node_create_from_graph, graph, third, &node);
	GIVES(BAD_VALUE, doca_graph_node_create_from_graph, graph, other, NULL);
	INSIST(node == NULL);
	GIVES(IN_USE, doca_pe_destroy, second);
	MUST(doca_graph_destroy(third));
	MUST(doca_pe_destroy(second));

	/* Without callbacks, without nodes, with user nodes only. */
	GIVES(BAD_CONFIG, doca_graph_start, graph);
	GIVES(DOCA_SUCCESS, doca_graph_set_conf, graph, instance_completed, instance_failed, 1);
	GIVES(BAD_CONFIG, doca_graph_start, graph);
	MUST(doca_graph_node_create_from_user(graph, run_user, &nodes[0]));
	GIVES(BAD_CONFIG, doca_graph_start, graph);
	for (at = 1; at < 3; at++)
		GIVES(DOCA_SUCCESS, doca_graph_node_create_from_ctx, graph,
		      doca_sync_event_as_ctx(event), &nodes[at]);
	/* A cycle anywhere in the graph. */
	MUST(doca_graph_node_create_from_user(other, run_user, &foreign));
	GIVES(BAD_VALUE, doca_graph_add_dependency, graph, nodes[0], foreign);
	GIVES(BAD_VALUE, doca_graph_add_dependency, graph, foreign, nodes[0]);
	GIVES(BAD_VALUE, doca_graph_add_dependency, graph, nodes[0], nodes[0]);
	GIVES(BAD_VALUE, doca_graph_add_dependency, graph, nodes[0], NULL);
	GIVES(DOCA_SUCCESS, doca_graph_add_dependency, graph, nodes[0], nodes[1]);
	GIVES(DOCA_ERROR_ALREADY_EXIST, doca_graph_add_dependency, graph, nodes[0], nodes[1]);
	MUST(doca_graph_add_dependency(graph, nodes[1], nodes[2]));
	GIVES(DOCA_SUCCESS, doca_graph_start, graph);
	GIVES(BAD_STATE, doca_graph_start, graph);
	GIVES(BAD_STATE, doca_graph_add_dependency, graph, nodes[2], nodes[1]);
	GIVES(BAD_STATE, doca_graph_set_conf, graph, instance_completed, instance_failed, 1);
	GIVES(BAD_STATE, doca_graph_node_create_from_user, graph, run_user, &node);
	GIVES(BAD_VALUE, doca_graph_instance_create, graph, NULL);
	MUST(doca_graph_stop(graph));
	MUST(doca_graph_add_dependency(graph, nodes[2], nodes[1]));
	GIVES(BAD_CONFIG, doca_graph_start, graph);
	MUST(doca_graph_destroy(graph));

	/* A context on another engine; a graph that is not started or contains this graph. */
	MUST(doca_graph_create(pe, &graph));
	MUST(doca_graph_set_conf(graph, instance_completed, instance_failed, 1));
	MUST(doca_graph_node_create_from_ctx(graph, doca_sync_event_as_ctx(alone), &node));
	GIVES(BAD_CONFIG, doca_graph_start, graph);
	MUST(doca_graph_destroy(graph));
	MUST(doca_sync_event_destroy(alone));
	MUST(doca_graph_create(pe, &graph));
	MUST(doca_graph_set_conf(graph, instance_completed, instance_failed, 1));
	GIVES(DOCA_SUCCESS, doca_graph_node_create_from_graph, graph, other, &node);
	MUST(doca_graph_set_conf(other, instance_completed, instance_failed, 1));
	MUST(doca_graph_node_create_from_graph(other, graph, &node));
	GIVES(BAD_CONFIG, doca_graph_start, graph);
	GIVES(BAD_CONFIG, doca_graph_start, other);
	MUST(doca_graph_destroy(graph));
	MUST(doca_graph_destroy(other));
}

/* Graph nodes: the inner graph's callbacks are not called; its failure fails its node. */
static inline void graphs_in_graphs(struct doca_pe *pe, struct doca_sync_event *event)
{
	struct doca_graph_node *within, *behind;
	struct doca_graph_instance *instance;
	struct doca_graph *graph;
	struct diamond d;

	build_diamond(&d, pe, event, no_graph_end, no_graph_end);
	MUST(doca_sync_event_update_set(event, 0));
	make_instance(&d, 1);
	MUST(doca_graph_create(pe, &graph));
	MUST(doca_graph_set_conf(graph, instance_completed, instance_failed, 1));
	MUST(doca_graph_node_create_from_graph(graph, d.graph, &within));
	MUST(doca_graph_node_create_from_user(graph, run_user, &behind));
	MUST(doca_graph_add_dependency(graph, within, behind));
	MUST(doca_graph_start(graph));
	MUST(doca_graph_instance_create(graph, &instance));
	MUST(doca_graph_instance_set_user_node_data(instance, behind, (void *)3));
	GIVES(BAD_CONFIG, doca_graph_instance_submit, instance);
	GIVES(BAD_VALUE, doca_graph_instance_set_sub_graph_node_data, instance, within, instance);
	GIVES(BAD_VALUE, doca_graph_instance_set_sub_graph_node_data, instance, within, NULL);
	GIVES(DOCA_SUCCESS, doca_graph_instance_set_sub_graph_node_data, instance, within,
	      d.instance);
	MUST(doca_graph_instance_submit(instance));
	GIVES(NOT_PERMITTED, doca_graph_instance_submit, d.instance);
	GIVES(IN_USE, doca_graph_stop, d.graph);
	/* Five for the inner graph, one function, and the completion. */
	IS(7, progress_all(pe));
	IS(1, ran.completed == 1 && ran.failed == 0 && ran.instance == instance);
	IS(123, ran.order);

	ran.order = 0;
	ran.next = DOCA_ERROR_AGAIN;
	MUST(doca_graph_instance_submit(instance));
	IS(3, progress_all(pe));
	IS(1, ran.completed == 1 && ran.failed == 1 && ran.order == 1);

	/* An invalid inner instance fails the outer submit. */
	MUST(doca_graph_stop(d.graph));
	GIVES(BAD_STATE, doca_graph_instance_submit, instance);
	MUST(doca_graph_start(d.graph));
	MUST(doca_graph_instance_destroy(instance));
	MUST(doca_graph_stop(graph));
	MUST(doca_graph_destroy(graph));
	end_diamond(&d);
}

static inline void every_graph_call(struct doca_dev *dev)
{
	struct doca_sync_event *event;
	struct doca_pe *pe;

	MUST(doca_pe_create(&pe));
	event = event_with_tasks(dev, pe);
	a_graph_runs(pe, event);
	an_instance_in_flight(pe, event);
	nodes_that_fail(pe, event);
	instances_that_are_refused(dev, pe, event);
	graphs_that_are_refused(dev, pe, event);
	graphs_in_graphs(pe, event);
	end_event(event);
	MUST(doca_pe_destroy(pe));
}

#endif /* TESTS_EVERY_GRAPH_H */
