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

type Pointer = *mut host::Graph;
type Node = *mut host::GraphNode;
type Run = *mut host::GraphInstance;

functions! {
    fn doca_graph_create[pe = share::<Pe, _>: *mut host::Pe](graph: *mut Pointer) => graph {
        publish(Graph::new(pe))
    }

    fn doca_graph_destroy[](pointer: Pointer) {
        // SAFETY: the caller's object.
        unsafe { borrow::<Graph, _>(pointer) }?.retire()?;
        // SAFETY: the caller's object.
        unsafe { withdraw::<Graph, _>(pointer) }.map(drop)
    }

    fn doca_graph_set_conf[graph = borrow::<Graph, _>: Pointer](
        completed: Option<GraphCallback>,
        failed: Option<GraphCallback>,
        count: u32,
    ) { graph.configure(completed, failed, count) }

    fn doca_graph_set_user_data[graph = borrow::<Graph, _>: Pointer](data: Data) {
        graph.user_data.set(data);
        Ok(())
    }

    fn doca_graph_get_user_data[graph = borrow::<Graph, _>: *const host::Graph](data: *mut Data) => data {
        graph.user_data.get()
    }

    fn doca_graph_node_create_from_ctx[graph = borrow::<Graph, _>: Pointer](
        ctx: *const Ctx,
        node: *mut Node,
    ) => node {
        // SAFETY: the caller's object.
        graph.add(Work::Task(unsafe { share::<Context, _>(ctx) }?))?
    }

    fn doca_graph_node_create_from_user[graph = borrow::<Graph, _>: Pointer](
        callback: Option<UserNodeCallback>,
        node: *mut Node,
    ) => node { graph.add(Work::User(callback.ok_or(DocaError::INVALID_VALUE)?))? }

    fn doca_graph_node_create_from_graph[graph = borrow::<Graph, _>: Pointer](
        sub_graph: Pointer,
        node: *mut Node,
    ) => node {
        // SAFETY: the caller's object.
        graph.add(Work::Graph(unsafe { share(sub_graph) }?))?
    }

    fn doca_graph_add_dependency[graph = borrow::<Graph, _>: Pointer](from: Node, to: Node) {
        graph.depend(graph.find(from)?, graph.find(to)?)
    }

    fn doca_graph_start[graph = borrow::<Graph, _>: Pointer]() { graph.start() }

    fn doca_graph_stop[graph = borrow::<Graph, _>: Pointer]() { graph.stop() }

    fn doca_graph_instance_create[graph = borrow::<Graph, _>: *const host::Graph](
        instance: *mut Run,
    ) => instance { Instance::create(graph)? }

    fn doca_graph_instance_destroy[instance = borrow::<Instance, _>: Run]() {
        instance.destroy().map(drop)
    }

    fn doca_graph_instance_set_user_data[instance = borrow::<Instance, _>: Run](data: Data) {
        instance.user_data.set(data);
        Ok(())
    }

    fn doca_graph_instance_get_user_data[instance = borrow::<Instance, _>: *const host::GraphInstance](
        data: *mut Data,
    ) => data { instance.user_data.get() }

    fn doca_graph_instance_set_ctx_node_data[instance = borrow::<Instance, _>: Run](
        node: Node,
        task: *mut Task,
    ) { instance.set_task(node, task) }

    fn doca_graph_instance_set_user_node_data[instance = borrow::<Instance, _>: Run](
        node: Node,
        cookie: *mut c_void,
    ) { instance.set_cookie(node, cookie) }

    fn doca_graph_instance_set_sub_graph_node_data[instance = borrow::<Instance, _>: Run](
        node: Node,
        sub_instance: Run,
    ) { instance.set_instance(node, sub_instance) }

    fn doca_graph_instance_submit[instance = borrow::<Instance, _>: Run]() { instance.submit() }
}
