/*
 * Graphs: nodes that run in dependency order, any number of times.
 *
 * A node is a task of a context, a function of the program, or another graph. A graph is built once
 * and started. Each instance of it receives the data of every node, and is submitted repeatedly. A
 * node starts when all its dependencies have succeeded. The instance ends in a progress of the
 * engine with one callback: the completion callback when all nodes have succeeded, else the error
 * callback. After a failure no other node starts, and the instance ends after the running nodes.
 *
 * From submit to end, an instance owns its tasks and sub-instances. Submitting or freeing them
 * returns NOT_PERMITTED, and their callbacks are not called. Afterwards each task's status is its
 * result, BAD_STATE for a task that was not submitted.
 *
 * A graph belongs to the thread of its engine. Every function returns INVALID_VALUE for a pointer
 * that is NULL or not a valid object.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef DOCA_GRAPH_H_
#define DOCA_GRAPH_H_

#include <stdint.h>

#include <doca_compat.h>
#include <doca_error.h>
#include <doca_types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_ctx;
struct doca_graph;
struct doca_graph_instance;
struct doca_graph_node;
struct doca_pe;
struct doca_task;

/* Called at the end of an instance, which may be submitted or destroyed here. */
typedef void (*doca_graph_completion_cb_t)(struct doca_graph_instance *graph_instance,
					   union doca_data instance_user_data,
					   union doca_data graph_user_data);

/* A user node's function, called in a progress. Any code except SUCCESS fails the node. */
typedef doca_error_t (*doca_graph_user_node_cb_t)(void *cookie);

/* ---- Building ---- */

/* Creates a graph without nodes. The caller destroys it, before the engine. */
DOCA_EXPERIMENTAL
doca_error_t doca_graph_create(struct doca_pe *pe, struct doca_graph **graph);

/* Destroys a graph and its nodes. BAD_STATE while started, IN_USE while it has instances. */
DOCA_EXPERIMENTAL
doca_error_t doca_graph_destroy(struct doca_graph *graph);

/* Sets the callbacks and the maximum number of instances. INVALID_VALUE without both functions or
 * for 0 instances. BAD_STATE while the graph is started, as for all building functions. */
DOCA_EXPERIMENTAL
doca_error_t doca_graph_set_conf(struct doca_graph *graph,
				 doca_graph_completion_cb_t graph_completion_cb,
				 doca_graph_completion_cb_t graph_error_cb, uint32_t num_instances);

/* The graph's data for callbacks, 0 by default, set at any time. */
DOCA_EXPERIMENTAL
doca_error_t doca_graph_set_user_data(struct doca_graph *graph, union doca_data user_data);
DOCA_EXPERIMENTAL
doca_error_t doca_graph_get_user_data(const struct doca_graph *graph, union doca_data *user_data);

/* Creates a node that runs any task of this context. The context must be connected to the graph's
 * engine before the start, and running before a submit. */
DOCA_EXPERIMENTAL
doca_error_t doca_graph_node_create_from_ctx(struct doca_graph *graph, const struct doca_ctx *ctx,
					     struct doca_graph_node **node);

DOCA_EXPERIMENTAL
doca_error_t doca_graph_node_create_from_user(struct doca_graph *graph,
					      doca_graph_user_node_cb_t cb,
					      struct doca_graph_node **node);

/* Creates a node that runs an instance of another, started graph of the same engine. */
DOCA_EXPERIMENTAL
doca_error_t doca_graph_node_create_from_graph(struct doca_graph *graph,
					       struct doca_graph *sub_graph,
					       struct doca_graph_node **node);

/* `to` starts after `from`. INVALID_VALUE for foreign or equal nodes, ALREADY_EXIST. */
DOCA_EXPERIMENTAL
doca_error_t doca_graph_add_dependency(struct doca_graph *graph, struct doca_graph_node *from,
				       struct doca_graph_node *to);

/* Starts a graph. BAD_STATE when started. BAD_CONFIG, with a log line: without callbacks, for
 * cyclic dependencies, without a context or graph node, or when a node's object is not ready. */
DOCA_EXPERIMENTAL
doca_error_t doca_graph_start(struct doca_graph *graph);

/* Stops a graph. BAD_STATE unless started; IN_USE, without an effect, while an instance is in
 * flight. Instances stay valid for a restart of the unchanged graph. */
DOCA_EXPERIMENTAL
doca_error_t doca_graph_stop(struct doca_graph *graph);

/* ---- Instances: NOT_PERMITTED while in flight ---- */

/* Creates an instance without data. The caller destroys it, before the graph. BAD_STATE unless the
 * graph is started, NO_MEMORY at the maximum number of instances. */
DOCA_EXPERIMENTAL
doca_error_t doca_graph_instance_create(const struct doca_graph *graph,
					struct doca_graph_instance **graph_instance);
DOCA_EXPERIMENTAL
doca_error_t doca_graph_instance_destroy(struct doca_graph_instance *graph_instance);

/* The instance's data for callbacks, 0 by default, set at any time. */
DOCA_EXPERIMENTAL
doca_error_t doca_graph_instance_set_user_data(struct doca_graph_instance *graph_instance,
					       union doca_data user_data);
DOCA_EXPERIMENTAL
doca_error_t doca_graph_instance_get_user_data(const struct doca_graph_instance *graph_instance,
					       union doca_data *user_data);

/* The data of a node, kept for all submissions. INVALID_VALUE for a node of another graph or kind,
 * and for a task or an instance of another context or graph. */
DOCA_EXPERIMENTAL
doca_error_t doca_graph_instance_set_ctx_node_data(struct doca_graph_instance *graph_instance,
						   struct doca_graph_node *node,
						   struct doca_task *task);
DOCA_EXPERIMENTAL
doca_error_t doca_graph_instance_set_user_node_data(struct doca_graph_instance *graph_instance,
						    struct doca_graph_node *node, void *cookie);
DOCA_EXPERIMENTAL
doca_error_t
doca_graph_instance_set_sub_graph_node_data(struct doca_graph_instance *graph_instance,
					    struct doca_graph_node *node,
					    struct doca_graph_instance *sub_graph_instance);

/* Runs the nodes. SUCCESS: one callback follows. Other codes have no effect. BAD_CONFIG, with a log
 * line, for missing node data; BAD_STATE unless the graph is started with the instance's nodes;
 * NOT_PERMITTED for a task or a sub-instance in flight or in two nodes; INVALID_VALUE for a freed
 * one. Sub-instances return the same codes. */
DOCA_EXPERIMENTAL
doca_error_t doca_graph_instance_submit(struct doca_graph_instance *graph_instance);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_GRAPH_H_ */
