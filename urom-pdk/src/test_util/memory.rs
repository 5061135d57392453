//! Simulated memory of hosts: the engine of `urom-memory`, with a path that the test controls.

#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell, UnsafeCell};
use std::collections::VecDeque;
use std::fmt;
use std::ptr::{self, NonNull};
use std::rc::Rc;

use urom_abi::host_memory::{MemoryAction, MemoryOperation, MemoryPath};
use urom_abi::memory::{Access, MemoryRange};
use urom_abi::{DocaError, DocaStatus};
use urom_memory::engine::{Offered, Path, Region, Shares, run_in_place};
use urom_memory::{Condition, View};

use super::fault::{Fault, Kept};

pub(super) struct PlayedMemory {
    pub(super) connection: u64,
    pub(super) number: u64,
    /// Words, for the alignment of atomic operations.
    words: Box<[UnsafeCell<u64>]>,
    len: u64,
    pub(super) access: Access,
    pub(super) path: MemoryPath,
    pub(super) failures: RefCell<VecDeque<DocaError>>,
    pub(super) is_paused: Cell<bool>,
    is_lost: Cell<bool>,
}

impl PlayedMemory {
    pub(super) fn view(&self) -> View<'_> {
        // SAFETY: the words live as long as this borrow and have this length. They are cells, and
        // `View` makes no references to their contents.
        unsafe { View::from_raw(self.words.as_ptr().cast_mut().cast(), self.len, true) }
    }

    pub(super) fn range(&self) -> MemoryRange {
        MemoryRange { memory: self.number, offset: 0, len: self.len }
    }

    /// Runs a checked operation, unless it must fail.
    /// # Safety
    /// The operation's `local` has as many bytes as it transfers.
    unsafe fn carry_out(&self, at: u64, operation: &mut MemoryOperation) -> Result<(), DocaError> {
        match self.failures.borrow_mut().pop_front() {
            Some(code) => Err(code),
            // SAFETY: the caller guarantees `local`.
            None => unsafe { run_in_place(self.view(), at, operation) },
        }
    }
}

/// Simulates a path of the memory's kind without another process.
#[derive(Debug)]
struct PlayedPath {
    memory: Rc<PlayedMemory>,
    in_flight: Rc<RefCell<Vec<PlayedOperation>>>,
}

impl Path for PlayedPath {
    fn kind(&self) -> MemoryPath {
        self.memory.path
    }

    fn mapping(&self) -> *mut u8 {
        match self.memory.path {
            MemoryPath::MAPPED => self.memory.view().as_ptr(),
            _ => ptr::null_mut(),
        }
    }

    unsafe fn run(
        &self,
        _: &Rc<Region>,
        at: u64,
        mut operation: NonNull<MemoryOperation>,
    ) -> Result<(), DocaError> {
        // SAFETY: the plugin does not use the operation during the call.
        let asked = unsafe { operation.as_mut() };
        let ends_later = match self.memory.path {
            // The test kit lacks UCX.
            _ if asked.action == MemoryAction::TAG_SEND => return Err(DocaError::NOT_SUPPORTED),
            MemoryPath::MAPPED => false,
            // The kernel only copies.
            MemoryPath::PROCESS => !asked.action.uses_local(),
            _ => true,
        };
        if ends_later {
            let (memory, begun) = (Rc::clone(&self.memory), *asked);
            self.in_flight.borrow_mut().push(PlayedOperation { memory, at, operation, begun });
            return Err(DocaError::IN_PROGRESS);
        }
        // SAFETY: the caller guarantees `local`.
        unsafe { self.memory.carry_out(at, asked) }
    }
}

#[derive(Debug)]
struct PlayedOperation {
    memory: Rc<PlayedMemory>,
    at: u64,
    operation: NonNull<MemoryOperation>,
    /// A copy from its start.
    begun: MemoryOperation,
}

impl PlayedOperation {
    /// A wait ends when its condition is met; a real host also answers after a second.
    fn ends(&self) -> bool {
        let (memory, MemoryOperation { action, operand, compare, .. }) = (&self.memory, self.begun);
        let is_unmet =
            |it: Condition| memory.view().load_u64(self.at).is_ok_and(|seen| !it.is_met(seen));
        let waits = memory.failures.borrow().is_empty()
            && Condition::of(action, operand, compare).is_some_and(is_unmet);
        memory.is_lost.get() || !memory.is_paused.get() && !waits
    }
}

pub(super) struct PlayedMemories {
    pub(super) shares: Shares,
    in_flight: Rc<RefCell<Vec<PlayedOperation>>>,
    faults: Rc<RefCell<Vec<Fault>>>,
}

impl Default for PlayedMemories {
    fn default() -> PlayedMemories {
        let faults: Rc<RefCell<Vec<Fault>>> = Rc::default();
        let seen = Rc::clone(&faults);
        let shares = Shares::new(move |what| seen.borrow_mut().push(Fault::Memory(what)));
        PlayedMemories { shares, in_flight: Rc::default(), faults }
    }
}

impl PlayedMemories {
    pub(super) fn share(
        &self,
        connection: u64,
        bytes: &[u8],
        access: Access,
        path: MemoryPath,
    ) -> Rc<PlayedMemory> {
        thread_local! {
            /// Memory numbers are never small.
            static NEXT: Cell<u64> = const { Cell::new(0x5eed_0000_0000_0001) };
        }
        let memory = Rc::new(PlayedMemory {
            connection,
            number: NEXT.replace(NEXT.get() + 1),
            words: (0..bytes.len().div_ceil(8)).map(|_| UnsafeCell::new(0)).collect(),
            len: bytes.len() as u64,
            access,
            path,
            failures: RefCell::default(),
            is_paused: Cell::new(false),
            is_lost: Cell::new(false),
        });
        memory.view().copy_from(0, bytes).expect("memory has space for its own bytes");
        let (number, address) = (memory.number, memory.view().as_ptr().addr() as u64);
        let offered = Offered { share: 0, memory: number, address, len: memory.len, access };
        let in_flight = Rc::clone(&self.in_flight);
        let path = PlayedPath { memory: Rc::clone(&memory), in_flight };
        let shared = self.shares.share(connection, offered, || Ok((Box::new(path), Box::new(()))));
        shared.expect("a host can share the test's memory");
        memory
    }

    pub(super) fn unshare(&self, memory: &PlayedMemory) {
        self.shares.unshare(memory.connection, memory.number, 0);
    }

    pub(super) fn leave(&self, connection: u64) {
        self.shares.leave(connection);
        let in_flight = self.in_flight.borrow();
        let of_host = in_flight.iter().filter(|it| it.memory.connection == connection);
        of_host.for_each(|it| it.memory.is_lost.set(true));
    }

    pub(super) fn opened(&self, memory: &PlayedMemory) -> usize {
        self.shares.look(|open| {
            let of_it = open.filter(|open| open.range.memory == memory.number);
            of_it.map(|open| open.count).sum()
        })
    }

    pub(super) fn in_flight(&self, memory: &Rc<PlayedMemory>) -> usize {
        self.in_flight.borrow().iter().filter(|it| Rc::ptr_eq(&it.memory, memory)).count()
    }

    pub(super) fn paused(&self) -> usize {
        self.in_flight.borrow().iter().filter(|it| it.memory.is_paused.get()).count()
    }

    pub(super) fn turn(&self, call: impl Fn(&mut dyn FnMut())) {
        let ending: Vec<PlayedOperation> =
            self.in_flight.borrow_mut().extract_if(.., |it| it.ends()).collect();
        for mut it in ending {
            let ended = match it.memory.is_lost.get() {
                true => Err(DocaError::CONNECTION_RESET),
                // SAFETY: the plugin keeps the bytes until the end; only the copy is trusted.
                false => unsafe { it.memory.carry_out(it.at, &mut it.begun) },
            };
            // SAFETY: the plugin keeps the operation until it has ended.
            unsafe { (*it.operation.as_ptr()).result = it.begun.result };
            self.end(&it, ended.into(), &call);
        }
    }

    pub(super) fn shut(&self, call: impl Fn(&mut dyn FnMut())) {
        for it in self.in_flight.take() {
            self.end(&it, DocaStatus::SHUTDOWN, &call);
        }
    }

    fn end(&self, it: &PlayedOperation, status: DocaStatus, call: impl Fn(&mut dyn FnMut())) {
        let operation = it.operation.as_ptr();
        // SAFETY: the plugin keeps the operation until it has ended.
        let now = unsafe { *operation };
        let same = |a: &MemoryOperation, b: &MemoryOperation| {
            (a.action, a.offset, a.len, a.local, a.done.map(|done| done as usize))
                == (b.action, b.offset, b.len, b.local, b.done.map(|done| done as usize))
        };
        if !same(&now, &it.begun) {
            let what = "changed an operation that had not ended";
            self.faults.borrow_mut().push(Fault::Memory(what));
        }
        // SAFETY: as above.
        unsafe { (*operation).status = status };
        if let Some(done) = it.begun.done {
            // SAFETY: the plugin's function, called once with its operation.
            call(&mut || unsafe { done(operation) });
        }
    }

    pub(super) fn faults(&self) -> Vec<Fault> {
        let mut faults = self.faults.take();
        let mut kept: Vec<Kept> = self.shares.look(|open| {
            let kept =
                open.map(|it| Kept { range: it.range, connection: it.connection, times: it.count });
            kept.collect()
        });
        kept.sort_unstable_by_key(|it| (it.connection, it.range.memory, it.range.offset));
        faults.extend(kept.into_iter().map(Fault::MemoryKept));
        faults
    }
}

impl fmt::Debug for PlayedMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.range(), self.path.name())
    }
}
