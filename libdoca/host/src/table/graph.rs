//! `doca_graph_*`.

use std::ffi::c_void;

use urom_abi::DocaError;
use urom_abi::host::{self, Ctx, Data, GraphCallback, Task, UserNodeCallback};
use urom_log::guard;

use crate::handle::{borrow, present, publish, put, share, withdraw};
use crate::pe::Pe;
use crate::pe::ctx::Context;
use crate::pe::graph::instance::Instance;
use crate::pe::graph::{Graph, Work};

type GraphPointer = *mut host::Graph;
type NodePointer = *mut host::GraphNode;
type InstancePointer = *mut host::GraphInstance;

functions! {
    fn doca_graph_create[pe = share::<Pe, _>: *mut host::Pe](graph: *mut GraphPointer) => graph {
        publish(Graph::new(pe))
    }

    fn doca_graph_destroy[](pointer: GraphPointer) {
        // SAFETY: NULL, or an object that the host keeps alive in this call.
        unsafe { borrow::<Graph, _>(pointer) }?.retire()?;
        // SAFETY: NULL, or an object that the host keeps alive in this call.
        unsafe { withdraw::<Graph, _>(pointer) }.map(drop)
    }

    fn doca_graph_set_conf[graph = borrow::<Graph, _>: GraphPointer](
        completed: Option<GraphCallback>,
        failed: Option<GraphCallback>,
        count: u32,
    ) { graph.configure(completed, failed, count) }

    fn doca_graph_set_user_data[graph = borrow::<Graph, _>: GraphPointer](data: Data) {
        graph.user_data.set(data);
        Ok(())
    }

    fn doca_graph_get_user_data[graph = borrow::<Graph, _>: *const host::Graph](data: *mut Data) => data {
        graph.user_data.get()
    }

    fn doca_graph_node_create_from_ctx[graph = borrow::<Graph, _>: GraphPointer](
        ctx: *const Ctx,
        node: *mut NodePointer,
    ) => node {
        // SAFETY: NULL, or an object that the host keeps alive in this call.
        graph.add(Work::Task(unsafe { share::<Context, _>(ctx) }?))?
    }

    fn doca_graph_node_create_from_user[graph = borrow::<Graph, _>: GraphPointer](
        callback: Option<UserNodeCallback>,
        node: *mut NodePointer,
    ) => node { graph.add(Work::User(callback.ok_or(DocaError::INVALID_VALUE)?))? }

    fn doca_graph_node_create_from_graph[graph = borrow::<Graph, _>: GraphPointer](
        sub_graph: GraphPointer,
        node: *mut NodePointer,
    ) => node {
        // SAFETY: NULL, or an object that the host keeps alive in this call.
        graph.add(Work::Graph(unsafe { share(sub_graph) }?))?
    }

    fn doca_graph_add_dependency[graph = borrow::<Graph, _>: GraphPointer](from: NodePointer, to: NodePointer) {
        graph.depend(graph.find(from)?, graph.find(to)?)
    }

    fn doca_graph_start[graph = borrow::<Graph, _>: GraphPointer]() { graph.start() }

    fn doca_graph_stop[graph = borrow::<Graph, _>: GraphPointer]() { graph.stop() }

    fn doca_graph_instance_create[graph = borrow::<Graph, _>: *const host::Graph](
        instance: *mut InstancePointer,
    ) => instance { Instance::create(graph)? }

    fn doca_graph_instance_destroy[instance = borrow::<Instance, _>: InstancePointer]() {
        instance.destroy().map(drop)
    }

    fn doca_graph_instance_set_user_data[instance = borrow::<Instance, _>: InstancePointer](data: Data) {
        instance.user_data.set(data);
        Ok(())
    }

    fn doca_graph_instance_get_user_data[instance = borrow::<Instance, _>: *const host::GraphInstance](
        data: *mut Data,
    ) => data { instance.user_data.get() }

    fn doca_graph_instance_set_ctx_node_data[instance = borrow::<Instance, _>: InstancePointer](
        node: NodePointer,
        task: *mut Task,
    ) { instance.set_task(node, task) }

    fn doca_graph_instance_set_user_node_data[instance = borrow::<Instance, _>: InstancePointer](
        node: NodePointer,
        cookie: *mut c_void,
    ) { instance.set_cookie(node, cookie) }

    fn doca_graph_instance_set_sub_graph_node_data[instance = borrow::<Instance, _>: InstancePointer](
        node: NodePointer,
        sub_instance: InstancePointer,
    ) { instance.set_instance(node, sub_instance) }

    fn doca_graph_instance_submit[instance = borrow::<Instance, _>: InstancePointer]() { instance.submit() }
}
