//! `doca_graph`: nodes and their order.

pub(crate) mod instance;

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use urom_abi::DocaError;
use urom_abi::host::{self, Data, GraphCallback, UserNodeCallback};
use urom_wire::control::Failure;

use crate::failure::{fail_if, failure, refuse_if};
use crate::handle::{ObjectTag, borrow, object, publish, withdraw};
use crate::pe::Pe;
use crate::pe::ctx::Context;

#[derive(Clone)]
pub(crate) enum NodeWork {
    Task(Rc<Context>),
    User(UserNodeCallback),
    Graph(Rc<Graph>),
}

#[derive(Clone)]
pub(crate) struct Node {
    work: NodeWork,
    after: Vec<usize>,
    before: usize,
}

#[repr(C)]
pub(crate) struct NodeOf {
    tag: ObjectTag,
    graph: Weak<Graph>,
    at: usize,
}

object!(NodeOf, Node);

#[derive(Clone, Copy)]
struct Conf {
    completed: GraphCallback,
    failed: GraphCallback,
    most: u32,
}

#[repr(C)]
pub(crate) struct Graph {
    tag: ObjectTag,
    me: Weak<Graph>,
    pe: Rc<Pe>,
    pub(crate) user_data: Cell<Data>,
    conf: Cell<Option<Conf>>,
    /// Copy-on-write: instances keep the list they were created with.
    nodes: RefCell<Rc<Vec<Node>>>,
    pointers: RefCell<Vec<*mut host::GraphNode>>,
    is_started: Cell<bool>,
    instances: Cell<u32>,
    in_flight: Cell<u32>,
}

object!(Graph, Graph, host::Graph);

impl Graph {
    pub(crate) fn new(pe: Rc<Pe>) -> Rc<Graph> {
        pe.graphs.update(|count| count + 1);
        Rc::new_cyclic(|me| Graph {
            tag: ObjectTag::of::<Graph>(),
            me: Weak::clone(me),
            pe,
            user_data: Cell::default(),
            conf: Cell::new(None),
            nodes: RefCell::default(),
            pointers: RefCell::default(),
            is_started: Cell::new(false),
            instances: Cell::new(0),
            in_flight: Cell::new(0),
        })
    }

    pub(crate) fn handle(&self) -> Result<Rc<Graph>, DocaError> {
        self.me.upgrade().ok_or(DocaError::INVALID_VALUE)
    }

    fn require_stopped(&self) -> Result<(), DocaError> {
        if self.is_started.get() { Err(DocaError::BAD_STATE) } else { Ok(()) }
    }

    pub(crate) fn retire(&self) -> Result<(), DocaError> {
        self.require_stopped()?;
        refuse_if(self.instances.get() != 0, DocaError::IN_USE)?;
        for node in self.pointers.take() {
            // SAFETY: from `add`, and withdrawn once.
            drop(unsafe { withdraw::<NodeOf, _>(node) });
        }
        // Breaks reference cycles of graphs that contain each other.
        self.nodes.take();
        self.pe.graphs.update(|count| count - 1);
        Ok(())
    }

    pub(crate) fn configure(
        &self,
        completed: Option<GraphCallback>,
        failed: Option<GraphCallback>,
        most: u32,
    ) -> Result<(), DocaError> {
        self.require_stopped()?;
        let (Some(completed), Some(failed), 1..) = (completed, failed, most) else {
            return Err(DocaError::INVALID_VALUE);
        };
        self.conf.set(Some(Conf { completed, failed, most }));
        Ok(())
    }

    pub(crate) fn add(&self, work: NodeWork) -> Result<*mut host::GraphNode, DocaError> {
        self.require_stopped()?;
        if let NodeWork::Graph(sub_graph) = &work
            && (std::ptr::eq(&**sub_graph, self) || !Rc::ptr_eq(&sub_graph.pe, &self.pe))
        {
            log!(warn, "doca_graph: a sub-graph is another graph of the same progress engine");
            return Err(DocaError::INVALID_VALUE);
        }
        let mut nodes = self.nodes.borrow_mut();
        let tag = ObjectTag::of::<NodeOf>();
        let node = NodeOf { tag, graph: Weak::clone(&self.me), at: nodes.len() };
        Rc::make_mut(&mut nodes).push(Node { work, after: Vec::new(), before: 0 });
        let pointer = publish(Rc::new(node));
        self.pointers.borrow_mut().push(pointer);
        Ok(pointer)
    }

    pub(crate) fn find(&self, pointer: *mut host::GraphNode) -> Result<usize, DocaError> {
        // SAFETY: the host obeys DOCA's thread rules.
        let node: &NodeOf = unsafe { borrow(pointer) }?;
        let is_own = std::ptr::eq(node.graph.as_ptr(), self);
        if is_own { Ok(node.at) } else { Err(DocaError::INVALID_VALUE) }
    }

    pub(crate) fn depend(&self, from: usize, to: usize) -> Result<(), DocaError> {
        self.require_stopped()?;
        let mut nodes = self.nodes.borrow_mut();
        refuse_if(from == to, DocaError::INVALID_VALUE)?;
        refuse_if(nodes[from].after.contains(&to), DocaError::ALREADY_EXIST)?;
        let nodes = Rc::make_mut(&mut nodes);
        nodes[from].after.push(to);
        nodes[to].before += 1;
        Ok(())
    }

    pub(crate) fn start(&self) -> Result<(), DocaError> {
        self.require_stopped()?;
        self.check().map_err(|why| {
            log!(warn, "doca_graph_start: {}", why.text);
            why.code
        })?;
        self.is_started.set(true);
        Ok(())
    }

    fn check(&self) -> Result<(), Failure> {
        fail_if!(
            self.conf.get().is_none(),
            BAD_CONFIG,
            "the graph lacks callbacks: call doca_graph_set_conf before"
        );
        let nodes = self.nodes.borrow();
        for (at, node) in nodes.iter().enumerate() {
            let problem = match &node.work {
                NodeWork::Task(ctx) if ctx.pe().is_ok_and(|pe| Rc::ptr_eq(&pe, &self.pe)) => {
                    continue;
                }
                NodeWork::Task(_) => "its context is not connected to the graph's progress engine",
                NodeWork::Graph(graph) if graph.is_started.get() => continue,
                NodeWork::Graph(_) => "its graph is not started",
                NodeWork::User(_) => continue,
            };
            return Err(failure!(BAD_CONFIG, "node {at}, in the order of creation: {problem}"));
        }
        fail_if!(
            nodes.iter().all(|node| matches!(node.work, NodeWork::User(_))),
            BAD_CONFIG,
            "the graph lacks a node of a context or of a graph"
        );
        fail_if!(has_cycle(&nodes), BAD_CONFIG, "the graph's dependencies form a cycle");
        Ok(())
    }

    pub(crate) fn stop(&self) -> Result<(), DocaError> {
        match (self.is_started.get(), self.in_flight.get()) {
            (false, _) => Err(DocaError::BAD_STATE),
            (true, 0) => {
                self.is_started.set(false);
                Ok(())
            }
            (true, _) => Err(DocaError::IN_USE),
        }
    }

    fn runs(&self, nodes: &Rc<Vec<Node>>) -> bool {
        self.is_started.get() && Rc::ptr_eq(nodes, &self.nodes.borrow())
    }
}

fn has_cycle(nodes: &[Node]) -> bool {
    let mut left: Vec<usize> = nodes.iter().map(|node| node.before).collect();
    let mut free: Vec<usize> = (0..nodes.len()).filter(|at| left[*at] == 0).collect();
    let mut seen = 0;
    while let Some(at) = free.pop() {
        seen += 1;
        for &next in &nodes[at].after {
            left[next] -= 1;
            if left[next] == 0 {
                free.push(next);
            }
        }
    }
    seen != nodes.len()
}

#[cfg(test)]
mod tests {
    use urom_abi::DocaStatus;

    use super::*;

    unsafe extern "C" fn nothing(_: *mut std::ffi::c_void) -> DocaStatus {
        DocaStatus::SUCCESS
    }

    #[test]
    fn nodes_that_wait_for_each_other_are_found_behind_any_others() {
        let circular = |count: usize, dependencies: &[(usize, usize)]| {
            let node = Node { work: NodeWork::User(nothing), after: Vec::new(), before: 0 };
            let mut nodes = vec![node; count];
            for &(from, to) in dependencies {
                nodes[from].after.push(to);
                nodes[to].before += 1;
            }
            has_cycle(&nodes)
        };
        assert!(!circular(0, &[]) && !circular(3, &[]));
        assert!(!circular(3, &[(2, 1), (1, 0), (2, 0)]));
        assert!(!circular(4, &[(0, 1), (0, 2), (1, 3), (2, 3)]));
        assert!(circular(2, &[(0, 1), (1, 0)]));
        assert!(circular(5, &[(0, 1), (1, 2), (2, 3), (3, 1), (3, 4)]));
    }
}
