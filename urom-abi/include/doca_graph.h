/*
 * Graphs: nodes that run in the order of their dependencies, as often as the program likes.
 *
 * A node is a task of a context, a function of the program, or another graph. A graph is built once
 * and started; each instance of it is given the data of every node, and submitted again and again.
 * A node begins when all nodes that it depends on have succeeded. The instance ends in a progress
 * of the engine, with one call: of the completion callback when all nodes have succeeded, else of
 * the error callback. After a failure no other node begins, and the instance ends when the nodes
 * that run have ended.
 *
 * From the submit to the end of the instance its tasks and sub-instances belong to it. They are
 * NOT_PERMITTED to be submitted or freed, and their own callbacks are not called. After the end the
 * status of each task shows how it ended; it is BAD_STATE for a task that was not submitted.
 *
 * A graph belongs to the thread of its engine. Every function gives INVALID_VALUE for a pointer
 * that is NULL or stands for something else.
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

/* The end of an instance, which is the caller's again: it may be submitted or destroyed here. */
typedef void (*doca_graph_completion_cb_t)(struct doca_graph_instance *graph_instance,
					   union doca_data instance_user_data,
					   union doca_data graph_user_data);

/* A node of the program. Anything but SUCCESS is a failure of the node. Called in a progress. */
typedef doca_error_t (*doca_graph_user_node_cb_t)(void *cookie);

/* ---- Building ---- */

/* Makes a graph without nodes. The caller destroys it, before the engine. */
DOCA_EXPERIMENTAL
doca_error_t doca_graph_create(struct doca_pe *pe, struct doca_graph **graph);

/* Ends a graph and its nodes. BAD_STATE while it is started, IN_USE while it has instances. */
DOCA_EXPERIMENTAL
doca_error_t doca_graph_destroy(struct doca_graph *graph);

/* Sets the callbacks for the end of an instance, and the number of instances. INVALID_VALUE
 * without both functions, or for no instance. As for all functions that build: BAD_STATE while the
 * graph is started. */
DOCA_EXPERIMENTAL
doca_error_t doca_graph_set_conf(struct doca_graph *graph,
				 doca_graph_completion_cb_t graph_completion_cb,
				 doca_graph_completion_cb_t graph_error_cb, uint32_t num_instances);

/* The graph's data, which the callbacks get. It is 0 until it is set, at any time. */
DOCA_EXPERIMENTAL
doca_error_t doca_graph_set_user_data(struct doca_graph *graph, union doca_data user_data);
DOCA_EXPERIMENTAL
doca_error_t doca_graph_get_user_data(const struct doca_graph *graph, union doca_data *user_data);

/* A node that runs a task of this context, of any kind. The context is connected to the graph's
 * engine before the graph is started, and runs before an instance is submitted. */
DOCA_EXPERIMENTAL
doca_error_t doca_graph_node_create_from_ctx(struct doca_graph *graph, const struct doca_ctx *ctx,
					     struct doca_graph_node **node);

/* A node that calls a function. */
DOCA_EXPERIMENTAL
doca_error_t doca_graph_node_create_from_user(struct doca_graph *graph,
					      doca_graph_user_node_cb_t cb,
					      struct doca_graph_node **node);

/* A node that runs an instance of another graph of the same engine, which is started before. */
DOCA_EXPERIMENTAL
doca_error_t doca_graph_node_create_from_graph(struct doca_graph *graph,
					       struct doca_graph *sub_graph,
					       struct doca_graph_node **node);

/* `to` begins after `from`. INVALID_VALUE for nodes of another graph and for one node twice,
 * ALREADY_EXIST for a second time. */
DOCA_EXPERIMENTAL
doca_error_t doca_graph_add_dependency(struct doca_graph *graph, struct doca_graph_node *from,
				       struct doca_graph_node *to);

/* From now on it has instances. BAD_STATE when it is started. BAD_CONFIG, with a log line, without
 * callbacks, for a cycle of dependencies, for a graph without a node of a context or a graph, and
 * when a node's context or graph is not ready. */
DOCA_EXPERIMENTAL
doca_error_t doca_graph_start(struct doca_graph *graph);

/* Ends that. BAD_STATE unless it is started; IN_USE while an instance is in flight, and everything
 * goes on. Instances stay; a graph that is started again unchanged takes them. */
DOCA_EXPERIMENTAL
doca_error_t doca_graph_stop(struct doca_graph *graph);

/* ---- Instances: NOT_PERMITTED while it is in flight ---- */

/* An instance without data. The caller destroys it, before the graph. BAD_STATE unless the graph is
 * started, NO_MEMORY when the number of instances is reached. */
DOCA_EXPERIMENTAL
doca_error_t doca_graph_instance_create(const struct doca_graph *graph,
					struct doca_graph_instance **graph_instance);
DOCA_EXPERIMENTAL
doca_error_t doca_graph_instance_destroy(struct doca_graph_instance *graph_instance);

/* The instance's data, which the callbacks get. It is 0 until it is set, at any time. */
DOCA_EXPERIMENTAL
doca_error_t doca_graph_instance_set_user_data(struct doca_graph_instance *graph_instance,
					       union doca_data user_data);
DOCA_EXPERIMENTAL
doca_error_t doca_graph_instance_get_user_data(const struct doca_graph_instance *graph_instance,
					       union doca_data *user_data);

/* The data of a node. It is kept for all submissions. INVALID_VALUE for a node of another graph or
 * kind, and for a task or an instance of another context or graph than the node's. */
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

/* Runs the nodes. SUCCESS: one callback follows. Any other code: nothing has happened. BAD_CONFIG,
 * with a log line, when a node lacks its data; BAD_STATE unless the graph is started, with the
 * nodes of the instance; NOT_PERMITTED when a task or a sub-instance is in flight or of two nodes;
 * INVALID_VALUE when it is freed. The same codes come from the sub-instances. */
DOCA_EXPERIMENTAL
doca_error_t doca_graph_instance_submit(struct doca_graph_instance *graph_instance);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_GRAPH_H_ */
