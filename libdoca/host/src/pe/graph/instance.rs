//! `doca_graph_instance`: one execution of a graph at a time. A submission claims all nodes' tasks
//! and instances. After a failure no node begins, and the last running node ends the instance.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::ptr;
use std::rc::{Rc, Weak};

use urom_abi::host::{self, Data, Task};
use urom_abi::{DocaError, DocaStatus};

use super::{Graph, Node, NodeWork};
use crate::failure::refuse_if;
use crate::handle::{ObjectTag, Opaque, as_c, borrow, object, publish, withdraw};
use crate::pe::any_task::AnyTask;
use crate::pe::ctx::Context;
use crate::pe::run::task::{Head, TaskStage};
use crate::pe::{Other, Pe};

pub(crate) enum GraphStep {
    /// The host's function of this node is due.
    User(usize),
    /// All started nodes have ended.
    Over,
}

#[derive(Clone, Copy)]
struct NodeState {
    data: Option<*mut c_void>,
    /// Number of unfinished dependencies.
    left: usize,
    /// Reserved for this submission but not started.
    is_claimed: bool,
}

#[repr(C)]
pub(crate) struct GraphInstance {
    tag: ObjectTag,
    me: Weak<GraphInstance>,
    graph: Rc<Graph>,
    nodes: Rc<Vec<Node>>,
    pub(crate) user_data: Cell<Data>,
    states: RefCell<Vec<NodeState>>,
    in_flight: Cell<bool>,
    running: Cell<usize>,
    /// Error of the first failed node.
    result: Cell<Result<(), DocaError>>,
    /// The enclosing instance and its node for this one.
    parent: RefCell<Option<(Rc<GraphInstance>, usize)>>,
}

fn task_of<'a>(ctx: &Context, data: *mut c_void) -> Result<AnyTask<'a>, DocaError> {
    // SAFETY: the host frees an instance's task only after setting another, as DOCA demands.
    let task = unsafe { Task::find(data.cast()) }?;
    let is_its = !task.ctx().is_null() && task.ctx() == ctx.as_ctx();
    if is_its { Ok(task) } else { Err(DocaError::INVALID_VALUE) }
}

fn instance_of<'a>(graph: &Graph, data: *mut c_void) -> Result<&'a GraphInstance, DocaError> {
    // SAFETY: the host destroys a node's instance only after setting another, as DOCA demands.
    let instance: &GraphInstance = unsafe { borrow(data) }?;
    let is_its = ptr::eq(&*instance.graph, graph);
    if is_its { Ok(instance) } else { Err(DocaError::INVALID_VALUE) }
}

object!(GraphInstance, Instance, host::GraphInstance);

impl GraphInstance {
    pub(crate) fn create(graph: &Graph) -> Result<*mut host::GraphInstance, DocaError> {
        let conf = graph.conf.get().filter(|_| graph.is_started.get());
        refuse_if(
            graph.instances.get() >= conf.ok_or(DocaError::BAD_STATE)?.most,
            DocaError::NO_MEMORY,
        )?;
        let (graph, nodes) = (graph.handle()?, Rc::clone(&graph.nodes.borrow()));
        graph.instances.update(|count| count + 1);
        let state = NodeState { data: None, left: 0, is_claimed: false };
        let instance = Rc::new_cyclic(|me| GraphInstance {
            tag: ObjectTag::of::<GraphInstance>(),
            me: Weak::clone(me),
            states: RefCell::new(vec![state; nodes.len()]),
            graph,
            nodes,
            user_data: Cell::default(),
            in_flight: Cell::new(false),
            running: Cell::new(0),
            result: Cell::new(Ok(())),
            parent: RefCell::new(None),
        });
        Ok(publish(instance))
    }

    fn require_callers(&self) -> Result<(), DocaError> {
        if self.in_flight.get() { Err(DocaError::NOT_PERMITTED) } else { Ok(()) }
    }

    pub(crate) fn destroy(&self) -> Result<Rc<GraphInstance>, DocaError> {
        self.require_callers()?;
        // SAFETY: the host returns its reference.
        let instance: Rc<GraphInstance> = unsafe { withdraw(self.me.as_ptr()) }?;
        instance.graph.instances.update(|count| count - 1);
        Ok(instance)
    }

    fn set(
        &self,
        node: *mut host::GraphNode,
        data: *mut c_void,
        check: impl FnOnce(&NodeWork) -> Result<(), DocaError>,
    ) -> Result<(), DocaError> {
        self.require_callers()?;
        let at = self.graph.find(node)?;
        // The graph may have newer nodes than the instance.
        check(&self.nodes.get(at).ok_or(DocaError::INVALID_VALUE)?.work)?;
        self.states.borrow_mut()[at].data = Some(data);
        Ok(())
    }

    pub(crate) fn set_task(
        &self,
        node: *mut host::GraphNode,
        task: *mut Task,
    ) -> Result<(), DocaError> {
        self.set(node, task.cast(), |work| match work {
            NodeWork::Task(ctx) => task_of(ctx, task.cast()).map(drop),
            _ => Err(DocaError::INVALID_VALUE),
        })
    }

    pub(crate) fn set_cookie(
        &self,
        node: *mut host::GraphNode,
        cookie: *mut c_void,
    ) -> Result<(), DocaError> {
        self.set(node, cookie, |work| match work {
            NodeWork::User(_) => Ok(()),
            _ => Err(DocaError::INVALID_VALUE),
        })
    }

    pub(crate) fn set_instance(
        &self,
        node: *mut host::GraphNode,
        instance: *mut host::GraphInstance,
    ) -> Result<(), DocaError> {
        self.set(node, instance.cast(), |work| match work {
            NodeWork::Graph(graph) => instance_of(graph, instance.cast()).map(drop),
            _ => Err(DocaError::INVALID_VALUE),
        })
    }

    /// Starts the nodes without dependencies. An error does not have side effects.
    pub(crate) fn submit(&self) -> Result<(), DocaError> {
        self.claim()?;
        self.begin_first();
        Ok(())
    }

    fn claim(&self) -> Result<(), DocaError> {
        self.require_callers()?;
        refuse_if(!self.graph.runs(&self.nodes), DocaError::BAD_STATE)?;
        self.in_flight.set(true);
        self.graph.in_flight.update(|count| count + 1);
        self.result.set(Ok(()));
        let claimed = (0..self.nodes.len()).try_for_each(|at| self.claim_node(at));
        claimed.inspect_err(|_| self.let_go())
    }

    fn claim_node(&self, at: usize) -> Result<(), DocaError> {
        let node = &self.nodes[at];
        let Some(data) = self.states.borrow()[at].data else {
            log!(
                warn,
                "doca_graph_instance_submit: node {at}, in the order of creation, lacks data: \
                 call doca_graph_instance_set_ctx_node_data, or the function of its kind"
            );
            return Err(DocaError::BAD_CONFIG);
        };
        match &node.work {
            NodeWork::Task(ctx) => {
                let task = task_of(ctx, data)?;
                task.head().is_callers()?;
                task.head().stage.set(TaskStage::Planned);
            }
            NodeWork::User(_) => {}
            NodeWork::Graph(graph) => instance_of(graph, data)?.claim()?,
        }
        self.states.borrow_mut()[at] =
            NodeState { data: Some(data), left: node.before, is_claimed: true };
        Ok(())
    }

    /// Releases unstarted claims and returns the instance to the host.
    fn let_go(&self) {
        for at in 0..self.nodes.len() {
            let Some(data) = self.take_claim(at) else { continue };
            match &self.nodes[at].work {
                NodeWork::Task(ctx) => {
                    if let Ok(task) = task_of(ctx, data) {
                        task.head().stage.set(TaskStage::Held);
                        task.head().status.set(DocaStatus::BAD_STATE);
                    }
                }
                NodeWork::User(_) => {}
                NodeWork::Graph(graph) => {
                    instance_of(graph, data).into_iter().for_each(GraphInstance::let_go)
                }
            }
        }
        self.in_flight.set(false);
        self.graph.in_flight.update(|count| count - 1);
    }

    fn take_claim(&self, at: usize) -> Option<*mut c_void> {
        let state = &mut self.states.borrow_mut()[at];
        if std::mem::take(&mut state.is_claimed) { state.data } else { None }
    }

    fn begin_first(&self) {
        let first = (0..self.nodes.len()).filter(|at| self.nodes[*at].before == 0);
        first.for_each(|at| self.begin(at));
        self.check_over();
    }

    fn begin(&self, at: usize) {
        if self.result.get().is_err() {
            return;
        }
        match self.try_begin(at) {
            Ok(()) => self.running.update(|count| count + 1),
            failed => self.result.set(failed),
        }
    }

    fn try_begin(&self, at: usize) -> Result<(), DocaError> {
        let me = self.me.upgrade().ok_or(DocaError::INVALID_VALUE)?;
        let data = self.take_claim(at).ok_or(DocaError::UNEXPECTED)?;
        let pe = &self.graph.pe;
        match &self.nodes[at].work {
            NodeWork::Task(ctx) => {
                let task = task_of(ctx, data)?;
                let head = task.head();
                head.stage.set(TaskStage::Held);
                head.in_graph.set(true);
                pe.nodes.borrow_mut().insert(data.cast(), (me, at));
                task.submit().inspect_err(|code| {
                    pe.nodes.borrow_mut().remove(&data.cast());
                    head.in_graph.set(false);
                    head.stage.set(TaskStage::Done);
                    head.status.set((*code).into());
                })
            }
            NodeWork::User(_) => {
                pe.push(Other::Graph(me, GraphStep::User(at)));
                Ok(())
            }
            NodeWork::Graph(graph) => {
                let instance = instance_of(graph, data)?;
                instance.parent.replace(Some((me, at)));
                instance.begin_first();
                Ok(())
            }
        }
    }

    fn ended(&self, at: usize, result: Result<(), DocaError>) {
        self.running.update(|count| count - 1);
        if let Err(code) = result {
            log!(debug, "a graph's node {at}, in the order of creation, failed: {code}");
            self.result.set(self.result.get().and(result));
        } else {
            for &next in &self.nodes[at].after {
                let left = {
                    let state = &mut self.states.borrow_mut()[next];
                    state.left -= 1;
                    state.left
                };
                if left == 0 {
                    self.begin(next);
                }
            }
        }
        self.check_over();
    }

    fn check_over(&self) {
        if self.running.get() == 0
            && let Some(me) = self.me.upgrade()
        {
            self.graph.pe.push(Other::Graph(me, GraphStep::Over));
        }
    }

    pub(crate) fn deliver(&self, step: GraphStep) {
        match step {
            GraphStep::User(at) => {
                let data = self.states.borrow()[at].data;
                let (NodeWork::User(callback), Some(cookie)) = (&self.nodes[at].work, data) else {
                    return;
                };
                // SAFETY: the host set this function for this call.
                let status = unsafe { callback(cookie) };
                self.ended(at, status.check());
            }
            GraphStep::Over => self.over(),
        }
    }

    fn over(&self) {
        self.let_go();
        let result = self.result.get();
        if let Some((parent, at)) = self.parent.take() {
            return parent.ended(at, result);
        }
        let Some(conf) = self.graph.conf.get() else { return };
        let callback = if result.is_ok() { conf.completed } else { conf.failed };
        let (own_data, graph_data) = (self.user_data.get(), self.graph.user_data.get());
        // SAFETY: the host set this function for this call, and owns the instance from now on.
        unsafe { callback(as_c(self), own_data, graph_data) };
    }
}

impl Pe {
    #[cold]
    pub(in crate::pe) fn node_ended(&self, head: &Head, task: *mut Task) {
        head.in_graph.set(false);
        let node = self.nodes.borrow_mut().remove(&task);
        if let Some((instance, at)) = node {
            instance.ended(at, head.status.get().check());
        }
    }
}
