//! Runs handlers: one future for each command, one notification for each future.
//!
//! A future is polled at once, in its slot, when its command arrives; one that ends there costs no more than the call.
//! The others wait in their slots and are polled again only after they were woken. Whatever way a command ends (value,
//! error, panic, bytes that are no command, no memory), [`Executor::finish`] makes exactly one notification of it. Only
//! commands that are pending when the worker closes the plugin get none: the worker answers for them.

use std::future::Future;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::rc::Rc;
use std::task::Poll;

use urom_abi::DocaError;
use urom_abi::describe::Messages;
use urom_abi::descriptor::{CommandDesc, DescriptorList, NotificationDesc};
use urom_abi::plugin::WorkerNotifDesc;
use urom_abi::protocol::{Protocol, Serve};
use urom_abi::shared::{CommandStack, SharedCommand};
use urom_abi::wire::EncodeError;

use crate::guard::{self, Panic, catch, contain};
use crate::slot::{CHUNK, Chunk, Slot};
use crate::{Context, DomainHandle, Error, Result, Side, log, time};

/// How often one call of [`Execute::progress`] goes round while the handler's own progress moves something.
const ROUNDS: usize = 8;

/// An executor without its types: what the plugin's C functions call. The future's type cannot be named, so it hides
/// behind this, once for each plugin.
pub(crate) trait Execute {
    /// Begins a command.
    fn accept(&mut self, command: CommandDesc);

    /// Advances the handler and the futures that were woken; gives the notifications that are ready, in the order in
    /// which their commands ended.
    fn progress(&mut self) -> &mut DescriptorList<WorkerNotifDesc>;

    /// The handler's network address.
    fn address(&self) -> Result<Vec<u8>>;
}

/// Makes the executor of a handler.
pub(crate) fn start<T: 'static, P: Serve<Side, T>>(handler: T, domains: DomainHandle) -> Box<dyn Execute> {
    let serve = |handler: &'static T, context: &'static Context, bytes: &'static [u8]| {
        P::serve(handler, context, bytes)
    };
    Box::new(Executor::<T, P, _, _>::new(handler, serve, domains))
}

/// Why a command gets no value.
enum Failure {
    Error(Error),
    Panic(Panic),
}

impl Failure {
    fn status(&self) -> DocaError {
        match self {
            Failure::Error(error) => error.status(),
            Failure::Panic(_) => DocaError::UNEXPECTED,
        }
    }
}

struct Executor<T, P, F: Future, M> {
    serve: M,
    domains: Rc<DomainHandle>,
    chunks: Vec<Chunk<F>>,
    /// Indices of free slots; the one used last is used next. Its capacity is the number of slots.
    free: Vec<usize>,
    finished: DescriptorList<WorkerNotifDesc>,
    /// Commands that ended without a notification because the C heap was full.
    owed: CommandStack,
    /// Whether the handler's own progress has panicked. It is not called again, because a worker calls millions of times
    /// a second; nothing would advance what is pending then, so every command fails at once from there on.
    broken: bool,
    /// From a `Box`, but not one: futures hold references to it.
    handler: NonNull<T>,
    types: PhantomData<(T, P)>,
}

impl<T, P, F, M> Executor<T, P, F, M>
where
    T: 'static,
    P: Protocol + Serve<Side, T>,
    F: Future<Output = Result<NotificationDesc>>,
    M: Fn(&'static T, &'static Context, &'static [u8]) -> F,
{
    fn new(handler: T, serve: M, domains: DomainHandle) -> Self {
        let mut executor = Executor {
            serve,
            domains: Rc::new(domains),
            chunks: Vec::new(),
            free: Vec::new(),
            finished: DescriptorList::new(),
            owed: CommandStack::default(),
            broken: false,
            handler: NonNull::from(Box::leak(Box::new(handler))),
            types: PhantomData,
        };
        executor.grow();
        executor
    }

    fn handler(&self) -> &T {
        // SAFETY: the handler lives until `drop`, and only shared references to it are ever made before.
        unsafe { self.handler.as_ref() }
    }

    fn slot(&self, index: usize) -> &Slot<F> {
        &self.chunks[index / CHUNK].slots()[index % CHUNK]
    }

    /// Adds a chunk of slots. This is the only allocation a command can cause, and only while more commands are
    /// pending than ever before.
    fn grow(&mut self) {
        let first = self.chunks.len() * CHUNK;
        self.chunks.push(Chunk::new());
        self.free.reserve_exact(first + CHUNK);
        self.free.extend((first..first + CHUNK).rev());
    }

    /// The free slot to use next. It stays in the list of free ones until something stays in it.
    fn next_free(&mut self) -> usize {
        loop {
            match self.free.last() {
                Some(index) => return *index,
                None => self.grow(),
            }
        }
    }

    /// Answers a command whose future was ended by something else than itself.
    fn give_up(&mut self, index: usize, error: Error) {
        let slot = self.slot(index);
        drop_future(slot);
        // SAFETY: no future is being made.
        let command = unsafe { slot.end() };
        self.free.push(index);
        if let Some(command) = command {
            self.finish(command, Err(Failure::Error(error)));
        }
    }

    /// Makes the one notification of a command.
    #[inline]
    fn finish(&mut self, command: SharedCommand, outcome: Result<NotificationDesc, Failure>) {
        match outcome {
            Ok(mut notification) => {
                notification.address_to(&command, DocaError::SUCCESS);
                self.finished.push_back(notification);
            }
            Err(failure) => self.fail(command, failure),
        }
    }

    /// Answers a command whose handler gave no value.
    #[cold]
    fn fail(&mut self, command: SharedCommand, failure: Failure) {
        let status = failure.status();
        // Displaying and dropping an error runs the handler's code.
        catch("a handler's error", || report(&P::DESCRIPTION.commands, &command, failure));
        self.refuse(command, status);
    }

    /// Answers a command that failed. Without memory for that the command stays owed, and `false` comes back.
    fn refuse(&mut self, command: SharedCommand, status: DocaError) -> bool {
        let refusal = catch("P::refusal", || P::refusal(command.payload()));
        let refusal = refusal.unwrap_or_else(|| {
            NotificationDesc::zeroed(P::NOTIFICATION_LEN)
                .map_err(|_| EncodeError::NoMemory { message: P::NAME })
        });
        match refusal {
            Ok(mut notification) => {
                notification.address_to(&command, status);
                self.finished.push_back(notification);
                true
            }
            Err(_) => {
                // SAFETY: it was in no slot and in no stack: it was passed to this function, and only here is it put into
                // one. Its other owners, if it has any, only read its bytes.
                unsafe { self.owed.push(command) };
                false
            }
        }
    }

    /// Answers commands that could not be answered before, until memory runs out again.
    fn settle(&mut self) {
        while let Some(command) = self.owed.pop() {
            if !self.refuse(command, DocaError::NO_MEMORY) {
                break;
            }
        }
    }

    /// Calls the handler's own progress; returns whether it moved anything.
    fn progress_handler(&mut self) -> bool {
        if self.broken {
            return false;
        }
        let moved = catch("the handler's progress", || P::progress(self.handler()));
        if moved.is_none() {
            self.broken = true;
            for index in 0..self.chunks.len() * CHUNK {
                if self.slot(index).is_pending() {
                    self.give_up(index, broken());
                }
            }
        }
        moved.unwrap_or(false)
    }

    /// Polls every future that was woken; futures that wake themselves meanwhile wait for the next call.
    fn poll_woken(&mut self) {
        for chunk in 0..self.chunks.len() {
            let mut woken = self.chunks[chunk].take_woken();
            while woken != 0 {
                let index = chunk * CHUNK + woken.trailing_zeros() as usize;
                woken &= woken - 1;
                let slot = self.slot(index);
                // A waker may have been kept beyond its command.
                if !slot.is_pending() {
                    continue;
                }
                // SAFETY: no future runs now, and none that ended is still in its slot.
                if let Poll::Ready(outcome) = run(slot, || unsafe { slot.poll() }) {
                    // SAFETY: no future is being made.
                    let command = unsafe { slot.end() };
                    self.free.push(index);
                    if let Some(command) = command {
                        self.finish(command, outcome);
                    }
                }
            }
        }
    }
}

impl<T, P, F, M> Execute for Executor<T, P, F, M>
where
    T: 'static,
    P: Protocol + Serve<Side, T>,
    F: Future<Output = Result<NotificationDesc>>,
    M: Fn(&'static T, &'static Context, &'static [u8]) -> F,
{
    fn accept(&mut self, command: CommandDesc) {
        let command = SharedCommand::from(command);
        if self.broken {
            return self.finish(command, Err(Failure::Error(broken())));
        }
        let index = self.next_free();
        let context = Context::new(command, Rc::clone(&self.domains));
        let (slot, serve) = (self.slot(index), &self.serve);
        // SAFETY: `drop` ends all futures before it frees the handler, so for a future this is as good as 'static.
        let handler: &'static T = unsafe { self.handler.as_ref() };
        let polled = run(slot, || {
            // SAFETY: a slot from the free list is empty, chunks do not move their slots, and `serve` works for every
            // lifetime, so it cannot keep what it is given in a place that outlives the future.
            unsafe { slot.begin(context, |context, bytes| serve(handler, context, bytes)) };
            // SAFETY: no future runs now, and this one has not been polled yet.
            unsafe { slot.poll() }
        });
        match polled {
            Poll::Ready(outcome) => {
                // SAFETY: no future is being made.
                if let Some(command) = unsafe { slot.end() } {
                    self.finish(command, outcome);
                }
            }
            Poll::Pending => {
                self.free.pop();
            }
        }
    }

    fn progress(&mut self) -> &mut DescriptorList<WorkerNotifDesc> {
        if !self.owed.is_empty() {
            self.settle();
        }
        time::wake_due();
        for _ in 0..ROUNDS {
            let moved = self.progress_handler();
            self.poll_woken();
            if !moved {
                break;
            }
        }
        &mut self.finished
    }

    fn address(&self) -> Result<Vec<u8>> {
        P::address(self.handler())
    }
}

impl<T, P, F: Future, M> Drop for Executor<T, P, F, M> {
    fn drop(&mut self) {
        for slot in self.chunks.iter().flat_map(Chunk::slots) {
            drop_future(slot);
            // SAFETY: no future is being made.
            drop(unsafe { slot.end() });
        }
        // SAFETY: it came from a Box in `new`, and the futures that referred to it are gone.
        let handler = unsafe { Box::from_raw(self.handler.as_ptr()) };
        catch("dropping the handler", || drop(handler));
    }
}

/// Runs what polls the future of `slot`. When the future ended, by itself or by a panic, it is gone afterwards.
#[inline]
fn run<F: Future>(
    slot: &Slot<F>,
    poll: impl FnOnce() -> Poll<Result<NotificationDesc>>,
) -> Poll<Result<NotificationDesc, Failure>> {
    let mut polled = Poll::Pending;
    let done = contain(|| {
        polled = poll();
        if polled.is_ready() {
            // SAFETY: no future runs now.
            unsafe { slot.drop_future() };
        }
    });
    match done {
        Err(panic) if polled.is_pending() => {
            drop_future(slot);
            return Poll::Ready(Err(Failure::Panic(panic)));
        }
        // The outcome stands.
        Err(panic) => guard::report("dropping a handler's future", &panic),
        Ok(()) => {}
    }
    polled.map_err(Failure::Error)
}

/// Drops a future that did not end.
fn drop_future<F: Future>(slot: &Slot<F>) {
    // SAFETY: whoever holds the executor is not one of its futures.
    catch("dropping a handler's future", || unsafe { slot.drop_future() });
}

fn broken() -> Error {
    Error::new(DocaError::UNEXPECTED, "the handler's progress panicked: this plugin works no more")
}

/// Logs why a command got no value, under its name.
fn report(commands: &Messages, command: &SharedCommand, failure: Failure) {
    let (bytes, dest_id) = (command.payload(), command.dest_id());
    let name = commands.find(bytes).map_or("unknown command", |variant| variant.name);
    let what = format_args!("{name} of {} bytes from connection {dest_id}", bytes.len());
    match failure {
        Failure::Error(error) => log::warn(format_args!("{what}: {error}")),
        Failure::Panic(panic) => log::error(format_args!("{what}: its handler {panic}")),
    }
}
