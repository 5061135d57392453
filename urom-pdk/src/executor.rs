//! Runs handlers: one future for each command, one notification for each future. A future is polled
//! when its command arrives, and again after each wake.

mod answers;
mod call;
mod future;

use std::collections::HashMap;
use std::ffi::c_int;
use std::future::Future;
use std::marker::PhantomData;
use std::os::fd::AsRawFd;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::task::Poll;

use urom_abi::DocaError;
use urom_abi::command_buffer::CommandBuffer;
use urom_abi::descriptor::{BorrowedList, DescriptorList};
use urom_abi::plugin::{WorkerCmdDesc, WorkerNotifDesc};
use urom_abi::protocol::{Answer, Armed, Protocol, Serve};
use urom_abi::shared::{CommandStack, SharedCommand};

use self::future::{DROPPING, OutcomeGuard, drop_future, run};
use crate::failures::{Failure, Failures};
use crate::guard::{self, catch};
use crate::panic::{Panic, contain};
use crate::pool::{CHUNK, Chunk, Pool};
use crate::slot::CommandSlot;
use crate::trace::{self, TracedCommand};
use crate::woken::Woken;
use crate::worker_side::WorkerSide;
use crate::{CancelReason, Context, Error, Result, Side, time};

/// Limit of rounds in one [`Executor::progress`] while the handler's own progress reports work.
const ROUNDS: usize = 8;

/// The handler `T` of the protocol `P` and its commands. `M` makes a future `F` of a command.
pub(crate) struct Executor<T, P, F, M> {
    serve: M,
    pool: Pool<F>,
    finished: DescriptorList<WorkerNotifDesc>,
    /// Commands that ended without a notification because the C heap was full.
    owed: CommandStack,
    /// The last answered command: freed while no answer is due.
    spent: Option<SharedCommand>,
    skipped: bool,
    armed: bool,
    /// The handler's own progress panicked. It is not called again (a worker calls millions of
    /// times a second), so commands cannot advance: all fail.
    broken: bool,
    failures: Failures,
    /// Slots of pending commands by connection and token; rebuilt for cancellations.
    known: HashMap<(u64, u64), usize>,
    /// The future's value if its drop in [`begin`](Self::begin) panicked.
    kept: Option<Result<Answer>>,
    /// Pending commands with a trace context, and their slots.
    traced: Vec<(*const CommandSlot<F>, TracedCommand)>,
    /// Memory for the next command of [`call`](Self::call).
    buffer: Option<CommandBuffer>,
    /// The command of the running [`call`](Self::call) with its answer in the worker's buffer.
    in_place: Option<SharedCommand>,
    /// Leaked from a `Box`: futures hold references to it.
    state: NonNull<PluginState<T>>,
    types: PhantomData<(T, P)>,
}

struct PluginState<T> {
    handler: T,
    worker: WorkerSide,
}

impl<T, P, F, M> Executor<T, P, F, M>
where
    T: 'static,
    P: Protocol + Serve<Side, T>,
    F: Future<Output = Result<Answer>>,
    M: Fn(&'static T, &'static Context, &'static [u8]) -> F,
{
    /// # Safety
    /// `serve` is [`Serve::serve`]: its arguments do not leave the future.
    pub(crate) unsafe fn new(handler: T, serve: M, worker: WorkerSide) -> Self {
        Executor {
            serve,
            pool: Pool::new(Arc::clone(worker.bell())),
            finished: DescriptorList::new(),
            owed: CommandStack::default(),
            spent: None,
            skipped: false,
            armed: false,
            broken: false,
            failures: Failures::default(),
            known: HashMap::new(),
            kept: None,
            traced: Vec::new(),
            buffer: None,
            in_place: None,
            state: NonNull::from(Box::leak(Box::new(PluginState { handler, worker }))),
            types: PhantomData,
        }
    }

    #[inline]
    pub(crate) fn accept(&mut self, commands: &mut BorrowedList<'_, WorkerCmdDesc>) {
        if let Err(panic) = self.begin_all(commands) {
            self.accept_rest(panic, commands);
        }
    }

    /// Begins commands until one panics. `catch_unwind` is outside the loop: it has a cost.
    #[inline]
    fn begin_all(&mut self, commands: &mut BorrowedList<'_, WorkerCmdDesc>) -> Result<(), Panic> {
        contain(|| {
            while let Some(command) = commands.pop_front() {
                self.begin(command.into());
            }
        })
    }

    #[cold]
    #[inline(never)]
    fn accept_rest(&mut self, panic: Panic, commands: &mut BorrowedList<'_, WorkerCmdDesc>) {
        self.end_panicked(panic);
        while let Err(panic) = self.begin_all(commands) {
            self.end_panicked(panic);
        }
    }

    /// Polls the cancelled future at once: otherwise a receive could get a message first.
    pub(crate) fn cancel(&mut self, dest_id: u64, token: u64, reason: CancelReason) {
        if let Some(index) = self.find((dest_id, token)) {
            self.pool.slot(index).context().into_iter().for_each(|context| context.cancel(reason));
            self.poll_slots(index, 1);
        }
    }

    /// Thousands are cancelled when a host leaves: the first search indexes all.
    fn find(&mut self, named: (u64, u64)) -> Option<usize> {
        let at = |pool: &Pool<F>, index: usize| {
            let command = pool.slot(index).context()?.command();
            Some((command.dest_id(), command.header().urom_context))
        };
        let known = self.known.get(&named).copied();
        if let Some(index) = known.filter(|index| at(&self.pool, *index) == Some(named)) {
            return Some(index);
        }
        let all = (0..self.pool.len()).filter_map(|index| Some((at(&self.pool, index)?, index)));
        self.known = all.collect();
        self.known.get(&named).copied()
    }

    pub(crate) fn host_left(&self, dest_id: u64) {
        let PluginState { handler, worker } = self.state();
        P::host_left(handler, dest_id.into());
        worker.host_left(dest_id);
    }

    /// Writes the descriptors that end the sleep. Returns their number, or `None` if there is work.
    pub(crate) fn arm(&mut self, fds: &mut [c_int]) -> Option<usize> {
        if self.broken {
            return Some(0);
        }
        let PluginState { handler, worker } = self.state();
        // Before the words are read: later wakes can then use the bell.
        let bell = worker.bell().descriptor();
        let none = self.words().fold(true, |none, word| none & word.fall_asleep());
        self.armed = true;
        if !none || !self.finished.is_empty() || !self.owed.is_empty() {
            return None;
        }
        let own = match catch("the handler's arm", || P::arm(handler)).unwrap_or(Armed::Polled) {
            Armed::Polled => None,
            Armed::By(descriptor) => Some(descriptor),
            Armed::Ready => return None,
        };
        let descriptors = bell.into_iter().chain(own).zip(fds);
        Some(descriptors.map(|(descriptor, slot)| *slot = descriptor.as_raw_fd()).count())
    }

    /// Advances the handler and woken futures. Returns notifications as their commands ended.
    #[inline]
    pub(crate) fn progress(&mut self) -> &mut DescriptorList<WorkerNotifDesc> {
        if !self.owed.is_empty() {
            self.settle();
        }
        if !self.known.is_empty() {
            self.known = HashMap::new();
        }
        if self.armed {
            self.wake_up();
        }
        time::wake_due();
        // Without pending commands, ready answers go first: polling the handler would delay them.
        // But the handler is polled at least every second call.
        self.skipped = !self.skipped && self.answers_only();
        if !self.skipped {
            self.progress_all();
        }
        if self.finished.is_empty() {
            self.spent = None;
        }
        &mut self.finished
    }

    fn answers_only(&self) -> bool {
        self.pool.is_empty() && !self.finished.is_empty()
    }

    fn progress_all(&mut self) {
        let mut ever = false;
        for _ in 0..ROUNDS {
            let moved = self.progress_handler();
            ever |= moved;
            ever |= self.state().worker.tasks().run();
            if !self.pool.is_empty() {
                self.poll_woken();
            }
            if !moved || self.answers_only() {
                break;
            }
        }
        if ever {
            self.state().worker.moved();
        }
    }

    pub(crate) fn address(&self) -> Result<Vec<u8>> {
        P::address(&self.state().handler)
    }

    /// `'static` because futures keep it until `drop` has ended them.
    #[inline]
    fn state(&self) -> &'static PluginState<T> {
        // SAFETY: `new` leaked it, only `drop` frees it, and all other references are shared.
        unsafe { self.state.as_ref() }
    }

    /// Begins a command. If this panics, the command stays in the next slot.
    #[inline]
    fn begin(&mut self, command: SharedCommand) {
        if self.broken {
            return self.finish(command, Err(Failure::Error(broken())));
        }
        let (state, slot, serve) = (self.state(), self.pool.next(), &self.serve);
        let context = Context::new(command, &state.worker);
        // SAFETY: a free slot is empty, slots do not move, and by the contract of `new` the
        // arguments of `serve` do not leave the future.
        unsafe { slot.begin(context, |context, bytes| serve(&state.handler, context, bytes)) };
        // SAFETY: no future is running, and this future has not been polled yet.
        match unsafe { slot.poll() } {
            Poll::Ready(outcome) => {
                let outcome = {
                    let mut guard = OutcomeGuard { outcome: Some(outcome), left: &mut self.kept };
                    // SAFETY: no future is running.
                    unsafe { slot.drop_future() };
                    guard.outcome.take()
                };
                // SAFETY: no future is being made.
                if let (Some(command), Some(outcome)) = (unsafe { slot.end() }, outcome) {
                    self.finish(command, outcome.map_err(Failure::Error));
                }
            }
            Poll::Pending => self.pool.take(),
        }
    }

    /// Answers the command that [`begin`](Self::begin) left in the next slot.
    #[cold]
    #[inline(never)]
    fn end_panicked(&mut self, panic: Panic) {
        let slot = self.pool.next();
        drop_future(slot);
        // SAFETY: no future is being made.
        match (unsafe { slot.end() }, self.kept.take()) {
            (Some(command), Some(outcome)) => {
                guard::report(DROPPING, &panic);
                self.finish(command, outcome.map_err(Failure::Error));
            }
            (Some(command), None) => self.finish(command, Err(Failure::Panic(panic))),
            (None, _) => guard::report("worker_cmd", &panic),
        }
    }

    fn abandon(&mut self, index: usize, error: Error) {
        let slot = self.pool.slot(index);
        drop_future(slot);
        // SAFETY: no future is being made.
        let command = unsafe { slot.end() };
        self.pool.give_back(index);
        if let Some(command) = command {
            self.finish(command, Err(Failure::Error(error)));
        }
    }

    fn progress_handler(&mut self) -> bool {
        if self.broken {
            return false;
        }
        let moved = catch("the handler's progress", || P::progress(&self.state().handler));
        moved.unwrap_or_else(|| {
            self.break_down();
            false
        })
    }

    #[cold]
    fn wake_up(&mut self) {
        self.armed = false;
        self.words().for_each(Woken::wake_up);
        self.state().worker.bell().quiet();
    }

    fn words(&self) -> impl Iterator<Item = &Woken> {
        let tasks = self.state().worker.tasks();
        self.pool.chunks().iter().map(Chunk::woken).chain([tasks.woken()])
    }

    #[cold]
    fn break_down(&mut self) {
        self.broken = true;
        for index in 0..self.pool.len() {
            if self.pool.slot(index).is_pending() {
                self.abandon(index, broken());
            }
        }
    }

    #[inline(never)]
    fn poll_woken(&mut self) {
        for chunk in 0..self.pool.chunks().len() {
            let woken = self.pool.chunks()[chunk].woken().take();
            if woken != 0 {
                self.poll_slots(chunk * CHUNK, woken);
            }
        }
    }

    fn poll_slots(&mut self, first: usize, mut woken: u64) {
        while woken != 0 {
            let index = first + woken.trailing_zeros() as usize;
            woken &= woken - 1;
            let slot = self.pool.slot(index);
            // A waker may outlive its command.
            if !slot.is_pending() {
                continue;
            }
            // SAFETY: no future is running, and a future that ended has left its slot.
            let poll = || run(slot, || unsafe { slot.poll() });
            let polled = match self.traced.is_empty() {
                true => poll(),
                false => self.poll_traced(slot, poll),
            };
            if let Poll::Ready(outcome) = polled {
                if !self.traced.is_empty() {
                    self.traced.retain(|(of, _)| !ptr::eq(*of, slot));
                }
                // SAFETY: no future is being made.
                let command = unsafe { slot.end() };
                self.pool.give_back(index);
                if let Some(command) = command {
                    self.finish(command, outcome);
                }
            }
        }
    }
}

type Polled = Poll<Result<Answer, Failure>>;

impl<T, P, F, M> Executor<T, P, F, M> {
    /// Polls a slot, as a span if its command has a trace context.
    #[cold]
    fn poll_traced(&self, slot: &CommandSlot<F>, poll: impl FnOnce() -> Polled) -> Polled {
        let traced = self.traced.iter().find(|(of, _)| ptr::eq(*of, slot));
        let Some((_, command)) = traced else { return poll() };
        // SAFETY: it lives until the executor's `drop`.
        let worker = unsafe { &self.state.as_ref().worker };
        trace::run(worker, *command, poll)
    }
}

impl<T, P, F, M> Drop for Executor<T, P, F, M> {
    fn drop(&mut self) {
        for slot in self.pool.chunks().iter().flat_map(Chunk::slots) {
            drop_future(slot);
            // SAFETY: no future is being made.
            drop(unsafe { slot.end() });
        }
        // SAFETY: it lives until its box is remade below.
        unsafe { self.state.as_ref() }.worker.tasks().end();
        // SAFETY: it came from a `Box` in `new`, and the futures that referred to it were dropped.
        let state = unsafe { Box::from_raw(self.state.as_ptr()) };
        catch("dropping the handler", || drop(state));
    }
}

fn broken() -> Error {
    Error::new(DocaError::UNEXPECTED, "the handler's progress panicked: this plugin works no more")
}
