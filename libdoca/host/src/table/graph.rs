//! `doca_graph_*`.

use std::ffi::c_void;

use urom_abi::DocaError;
use urom_abi::host::{self, Ctx, Data, GraphCallback, GraphNode, Task, UserNodeCallback};
use urom_log::guard;

use crate::handle::{destroy, present, publish, put};
use crate::pe::graph::instance::GraphInstance;
use crate::pe::graph::{Graph, NodeWork};

functions! {
    fn doca_graph_create[pe: *mut host::Pe](graph: *mut *mut host::Graph) => graph {
        publish(Graph::new(pe.handle()?))
    }

    fn doca_graph_destroy[](pointer: *mut host::Graph) {
        // SAFETY: NULL, or an object that the host keeps alive in this call.
        unsafe { destroy(pointer, Graph::retire) }.map(drop)
    }

    fn doca_graph_set_conf[graph: *mut host::Graph](
        completed: Option<GraphCallback>, failed: Option<GraphCallback>, count: u32,
    ) {
        graph.configure(completed, failed, count)
    }

    fn doca_graph_set_user_data[graph: *mut host::Graph](data: Data) {
        graph.user_data.set(data);
        Ok(())
    }

    fn doca_graph_get_user_data[graph: *const host::Graph](data: *mut Data) => data {
        graph.user_data.get()
    }

    fn doca_graph_node_create_from_ctx[graph: *mut host::Graph, ctx: *const Ctx](
        node: *mut *mut GraphNode,
    ) => node {
        graph.add(NodeWork::Task(ctx))?
    }

    fn doca_graph_node_create_from_user[graph: *mut host::Graph](
        callback: Option<UserNodeCallback>, node: *mut *mut GraphNode,
    ) => node {
        graph.add(NodeWork::User(callback.ok_or(DocaError::INVALID_VALUE)?))?
    }

    fn doca_graph_node_create_from_graph[graph: *mut host::Graph, sub_graph: *mut host::Graph](
        node: *mut *mut GraphNode,
    ) => node {
        graph.add(NodeWork::Graph(sub_graph.handle()?))?
    }

    fn doca_graph_add_dependency[graph: *mut host::Graph](
        from: *mut GraphNode, to: *mut GraphNode,
    ) {
        graph.depend(graph.find(from)?, graph.find(to)?)
    }

    fn doca_graph_start[graph: *mut host::Graph]() { graph.start() }

    fn doca_graph_stop[graph: *mut host::Graph]() { graph.stop() }

    fn doca_graph_instance_create[graph: *const host::Graph](
        instance: *mut *mut host::GraphInstance,
    ) => instance {
        GraphInstance::create(graph)?
    }

    fn doca_graph_instance_destroy[instance: *mut host::GraphInstance]() {
        instance.destroy().map(drop)
    }

    fn doca_graph_instance_set_user_data[instance: *mut host::GraphInstance](data: Data) {
        instance.user_data.set(data);
        Ok(())
    }

    fn doca_graph_instance_get_user_data[instance: *const host::GraphInstance](
        data: *mut Data,
    ) => data {
        instance.user_data.get()
    }

    fn doca_graph_instance_set_ctx_node_data[instance: *mut host::GraphInstance](
        node: *mut GraphNode, task: *mut Task,
    ) {
        instance.set_task(node, task)
    }

    fn doca_graph_instance_set_user_node_data[instance: *mut host::GraphInstance](
        node: *mut GraphNode, cookie: *mut c_void,
    ) {
        instance.set_cookie(node, cookie)
    }

    fn doca_graph_instance_set_sub_graph_node_data[instance: *mut host::GraphInstance](
        node: *mut GraphNode, sub_instance: *mut host::GraphInstance,
    ) {
        instance.set_instance(node, sub_instance)
    }

    fn doca_graph_instance_submit[instance: *mut host::GraphInstance]() { instance.submit() }
}
