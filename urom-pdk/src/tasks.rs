//! Tasks: futures that run beside the commands.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures_util::future::{AbortHandle, FutureExt, abortable};
use futures_util::stream::{FuturesUnordered, StreamExt};

use crate::bell::Bell;
use crate::guard::catch;
use crate::waker::slot_waker;
use crate::woken::Woken;

type RunningTask = Pin<Box<dyn Future<Output = ()>>>;

/// A started task. Dropping this does not end the task.
#[derive(Clone, Debug)]
pub struct Task(AbortHandle);

impl Task {
    /// Cancels the task: it is dropped in the plugin's next `progress`.
    pub fn cancel(&self) {
        self.0.abort();
    }
}

const BIT: u64 = 1;

/// Starts tasks: futures that belong to no command, such as a service for peers.
///
/// A task runs when it was woken, on any thread, and the worker polls the plugin. It continues when
/// its host leaves, and is dropped when the plugin is closed, before the handler. Panics are
/// logged. Each costs an allocation. It stays on the worker's thread.
///
/// ```
/// use std::time::Duration;
/// use urom_pdk::prelude::*;
/// use urom_pdk::{Tasks, time};
///
/// /// Says that it is alive, as long as the plugin is open.
/// fn start(tasks: &Tasks) {
///     tasks.spawn(async {
///         loop {
///             time::sleep(Duration::from_secs(60)).await;
///             log::info!("still there");
///         }
///     });
/// }
/// ```
#[derive(Clone)]
pub struct Tasks {
    set: Rc<TaskSet>,
}

struct TaskSet {
    running: RefCell<FuturesUnordered<RunningTask>>,
    /// Tasks started since `running` was last polled.
    started: RefCell<Vec<RunningTask>>,
    woken: Arc<Woken>,
    waker: Waker,
    is_over: Cell<bool>,
}

impl Tasks {
    pub(crate) fn new(bell: &Arc<Bell>) -> Tasks {
        let woken = Arc::new(Woken::new());
        let waker = slot_waker(&woken, BIT, bell);
        Tasks {
            set: Rc::new(TaskSet {
                running: RefCell::default(),
                started: RefCell::default(),
                woken,
                waker,
                is_over: Cell::new(false),
            }),
        }
    }

    /// Starts a task, polled from the next `progress` on. A closing plugin drops the task at once.
    pub fn spawn(&self, task: impl Future<Output = ()> + 'static) -> Task {
        let (task, handle) = abortable(task);
        if !self.set.is_over.get() {
            self.set.started.borrow_mut().push(Box::pin(task.map(drop)));
            self.set.waker.wake_by_ref();
        }
        Task(handle)
    }

    pub(crate) fn woken(&self) -> &Woken {
        &self.set.woken
    }

    #[inline]
    pub(crate) fn run(&self) -> bool {
        let woken = self.set.woken.take() != 0;
        if woken {
            self.poll();
        }
        woken
    }

    fn poll(&self) {
        let mut cx = Context::from_waker(&self.set.waker);
        let mut running = self.set.running.borrow_mut();
        loop {
            running.extend(self.set.started.take());
            match catch("a task", || running.poll_next_unpin(&mut cx)) {
                // One ended or panicked: there may be more.
                Some(Poll::Ready(Some(()))) | None => {}
                Some(Poll::Pending | Poll::Ready(None)) if self.set.started.borrow().is_empty() => {
                    return;
                }
                Some(Poll::Pending | Poll::Ready(None)) => {}
            }
        }
    }

    pub(crate) fn end(&self) {
        self.set.is_over.set(true);
        let tasks = (self.set.running.take(), self.set.started.take());
        let _ = catch("dropping a task", || drop(tasks));
    }
}

impl fmt::Debug for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let running = self.set.running.try_borrow().map_or(0, |running| running.len());
        f.debug_struct("Tasks").field("running", &running).finish_non_exhaustive()
    }
}
