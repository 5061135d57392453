//! Memory of hosts as the played worker has it: what is shared, what the plugin has open, and the
//! operations that have not ended.

mod functions;
#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell, UnsafeCell};
use std::collections::{HashMap, VecDeque};
use std::ffi::c_void;
use std::fmt;
use std::ptr::{self, NonNull};
use std::rc::Rc;

use urom_abi::DocaError;
use urom_abi::extension::WorkerServices;
use urom_abi::host_memory::{HostMemory, MemoryAction, MemoryOperation, MemoryPath};
use urom_abi::memory::{Access, MemoryRange};
use urom_memory::{Condition, View};

use super::fault::{Fault, Kept};

/// Memory of a host.
pub(super) struct Region {
    pub(super) connection: u64,
    pub(super) number: u64,
    /// In words, so that it begins where atomic operations can.
    words: Box<[UnsafeCell<u64>]>,
    len: u64,
    access: Access,
    path: MemoryPath,
    /// Codes that the next operations end with.
    pub(super) failures: RefCell<VecDeque<DocaError>>,
    /// Whether operations over the network wait.
    pub(super) is_paused: Cell<bool>,
    /// Whether the host has left.
    is_lost: Cell<bool>,
}

impl Region {
    /// The host's bytes, which the test may write whatever the permissions are.
    pub(super) fn view(&self) -> View<'_> {
        // SAFETY: the words stay as long as this is borrowed, and have as many bytes. They are in
        // cells, and nobody has a reference to what is in them.
        unsafe { View::from_raw(self.words.as_ptr().cast_mut().cast(), self.len, true) }
    }

    /// All of it, as the plugin gets a part of it.
    fn whole(&self) -> HostMemory {
        let start = self.view().as_ptr();
        HostMemory {
            mapping: if self.path == MemoryPath::MAPPED { start } else { ptr::null_mut() },
            address: start.addr() as u64,
            len: self.len,
            access: self.access.bits(),
            path: self.path,
            ..HostMemory::NONE
        }
    }

    pub(super) fn range(&self) -> MemoryRange {
        MemoryRange { memory: self.number, offset: 0, len: self.len }
    }

    pub(super) fn access(&self) -> Access {
        self.access
    }

    pub(super) fn path(&self) -> MemoryPath {
        self.path
    }

    /// Carries out an operation that is checked, unless it is to fail.
    ///
    /// # Safety
    /// The operation's `local` has as many bytes as it moves.
    unsafe fn carry_out(&self, at: u64, operation: &mut MemoryOperation) -> Result<(), DocaError> {
        if let Some(code) = self.failures.borrow_mut().pop_front() {
            return Err(code);
        }
        let &mut MemoryOperation { action, len, local, operand, compare, .. } = operation;
        match action {
            MemoryAction::READ => {
                // SAFETY: the plugin's place, which is as long and which nobody else uses now.
                let to = unsafe { std::slice::from_raw_parts_mut(local, len as usize) };
                self.view().copy_to(at, to)?;
            }
            MemoryAction::WRITE => {
                // SAFETY: the plugin's bytes, as many, to which nobody writes now.
                let from = unsafe { std::slice::from_raw_parts(local, len as usize) };
                self.view().copy_from(at, from)?;
            }
            _ => {
                operation.result = self.view().word(at)?.run(action, operand, compare)?;
            }
        }
        Ok(())
    }

    /// Whether operations of this kind end later.
    fn is_remote(&self, action: MemoryAction) -> bool {
        match self.path {
            MemoryPath::MAPPED => false,
            // The kernel copies and no more.
            MemoryPath::PROCESS => !action.uses_local(),
            _ => true,
        }
    }
}

/// Memory that the plugin has open.
struct Opened {
    region: Rc<Region>,
    memory: HostMemory,
    /// Where it begins in the region.
    offset: u64,
    count: usize,
}

/// An operation that has not ended.
struct InFlight {
    region: Rc<Region>,
    at: u64,
    operation: NonNull<MemoryOperation>,
    /// What it was when it began.
    begun: MemoryOperation,
}

impl InFlight {
    /// Whether it waits for a counter that does not meet its condition. A host answers after a
    /// second all the same; here no time passes.
    fn waits(&self) -> bool {
        let MemoryOperation { action, operand, compare, .. } = self.begun;
        let condition = Condition::of(action, operand, compare);
        let is_unmet =
            |it: Condition| self.region.view().load_u64(self.at).is_ok_and(|seen| !it.is_met(seen));
        self.region.failures.borrow().is_empty() && condition.is_some_and(is_unmet)
    }
}

/// What the played worker knows of hosts' memory. It stays on its thread.
#[derive(Default)]
pub(super) struct Memories {
    regions: RefCell<HashMap<(u64, u64), Rc<Region>>>,
    open: RefCell<HashMap<usize, Opened>>,
    handles: Cell<usize>,
    in_flight: RefCell<Vec<InFlight>>,
    faults: RefCell<Vec<Fault>>,
}

impl Memories {
    /// Adds the functions to a worker's services.
    pub(super) fn offer(services: WorkerServices) -> WorkerServices {
        WorkerServices {
            open_memory: Some(functions::open_memory),
            run_memory: Some(functions::run_memory),
            keep_memory: Some(functions::keep_memory),
            close_memory: Some(functions::close_memory),
            ..services
        }
    }

    /// Shares a copy of these bytes.
    pub(super) fn share(
        &self,
        connection: u64,
        bytes: &[u8],
        access: Access,
        path: MemoryPath,
    ) -> Rc<Region> {
        thread_local! {
            /// No small number is a memory's.
            static NEXT: Cell<u64> = const { Cell::new(0x5eed_0000_0000_0001) };
        }
        let region = Rc::new(Region {
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
        region.view().copy_from(0, bytes).expect("memory has room for its own bytes");
        self.regions.borrow_mut().insert((connection, region.number), Rc::clone(&region));
        region
    }

    /// Ends a share: later commands do not find it.
    pub(super) fn unshare(&self, region: &Region) {
        self.regions.borrow_mut().remove(&(region.connection, region.number));
    }

    /// Ends the shares of a host that has left, and what waits for it.
    pub(super) fn leave(&self, connection: u64) {
        self.regions.borrow_mut().retain(|(of, _), _| *of != connection);
        let of_open = self.open.borrow();
        let in_flight = self.in_flight.borrow();
        let regions = of_open.values().map(|opened| &opened.region);
        let regions = regions.chain(in_flight.iter().map(|it| &it.region));
        regions.filter(|it| it.connection == connection).for_each(|it| it.is_lost.set(true));
    }

    /// How many times the plugin has a memory open.
    pub(super) fn opened(&self, region: &Rc<Region>) -> usize {
        let open = self.open.borrow();
        let of_it = open.values().filter(|opened| Rc::ptr_eq(&opened.region, region));
        of_it.map(|opened| opened.count).sum()
    }

    /// How many operations on a memory have not ended.
    pub(super) fn in_flight(&self, region: &Rc<Region>) -> usize {
        self.in_flight.borrow().iter().filter(|it| Rc::ptr_eq(&it.region, region)).count()
    }

    /// How many operations wait for the test to end a pause.
    pub(super) fn paused(&self) -> usize {
        self.in_flight.borrow().iter().filter(|it| it.region.is_paused.get()).count()
    }

    /// Ends operations over the network. `call` runs what the plugin does then.
    pub(super) fn turn(&self, call: impl Fn(&mut dyn FnMut())) {
        let ends = |it: &mut InFlight| {
            it.region.is_lost.get() || !it.region.is_paused.get() && !it.waits()
        };
        let ending: Vec<InFlight> = self.in_flight.borrow_mut().extract_if(.., ends).collect();
        for mut it in ending {
            // SAFETY: the plugin's operation is there until it has ended, and its `local` as well.
            let status = unsafe { self.carry_out(&mut it) };
            self.end(&it, status.err().unwrap_or(DocaError::SUCCESS), &call);
        }
    }

    /// Ends all operations: the plugin is about to be closed.
    pub(super) fn shut(&self, call: impl Fn(&mut dyn FnMut())) {
        let all = std::mem::take(&mut *self.in_flight.borrow_mut());
        for it in all {
            self.end(&it, DocaError::SHUTDOWN, &call);
        }
    }

    /// # Safety
    /// As for [`Region::carry_out`].
    unsafe fn carry_out(&self, it: &mut InFlight) -> Result<(), DocaError> {
        if it.region.is_lost.get() {
            return Err(DocaError::CONNECTION_RESET);
        }
        // By what it was: the plugin may have changed it meanwhile.
        // SAFETY: the caller's promise.
        let done = unsafe { it.region.carry_out(it.at, &mut it.begun) };
        // SAFETY: the plugin's operation, which is there until it has ended.
        unsafe { (*it.operation.as_ptr()).result = it.begun.result };
        done
    }

    fn end(&self, it: &InFlight, status: DocaError, call: impl Fn(&mut dyn FnMut())) {
        let operation = it.operation.as_ptr();
        // SAFETY: the plugin's operation, which is there until it has ended.
        let now = unsafe { *operation };
        let same = |a: &MemoryOperation, b: &MemoryOperation| {
            (a.action, a.offset, a.len, a.local, a.done.map(|done| done as usize))
                == (b.action, b.offset, b.len, b.local, b.done.map(|done| done as usize))
        };
        if !same(&now, &it.begun) {
            self.wrong("changed an operation that had not ended");
        }
        // SAFETY: as above.
        unsafe { (*operation).status = status };
        if let Some(done) = it.begun.done {
            // SAFETY: the plugin's function, once, with its operation.
            call(&mut || unsafe { done(operation) });
        }
    }

    fn wrong(&self, what: &'static str) {
        self.faults.borrow_mut().push(Fault::Memory(what));
    }

    /// What the plugin did wrong with memory, and what it has open though it is closed.
    pub(super) fn faults(&self) -> Vec<Fault> {
        let mut faults = std::mem::take(&mut *self.faults.borrow_mut());
        let kept = |opened: Opened| {
            let Opened { region, memory, offset, count } = opened;
            let range = MemoryRange { memory: region.number, offset, len: memory.len };
            Kept { range, connection: region.connection, times: count }
        };
        let open = std::mem::take(&mut *self.open.borrow_mut());
        let mut kept: Vec<Kept> = open.into_values().map(kept).collect();
        kept.sort_unstable_by_key(|it| (it.connection, it.range.memory, it.range.offset));
        faults.extend(kept.into_iter().map(Fault::MemoryKept));
        faults
    }

    fn open(&self, dest_id: u64, range: MemoryRange) -> Result<HostMemory, DocaError> {
        let MemoryRange { memory, offset, len } = range;
        let regions = self.regions.borrow();
        let region = regions.get(&(dest_id, memory)).ok_or(DocaError::NOT_FOUND)?;
        let memory = region.whole().part(offset, len)?;
        self.handles.set(self.handles.get() + 1);
        let handle = self.handles.get();
        let opened = Opened { region: Rc::clone(region), memory, offset, count: 1 };
        self.open.borrow_mut().insert(handle, opened);
        Ok(HostMemory { handle: ptr::without_provenance_mut(handle), ..memory })
    }

    /// # Safety
    /// The operation stays where it is until it has ended, and its `local` has as many bytes as it
    /// moves.
    unsafe fn run(
        &self,
        handle: *mut c_void,
        mut operation: NonNull<MemoryOperation>,
    ) -> Result<(), DocaError> {
        let open = self.open.borrow();
        let Some(opened) = open.get(&handle.addr()) else {
            self.wrong("ran an operation on memory that it has not open");
            return Err(DocaError::NOT_FOUND);
        };
        // SAFETY: the caller's promise, and nobody else has it now.
        let asked = unsafe { operation.as_mut() };
        opened.memory.check(asked.action, asked.offset, asked.len)?;
        if asked.local.is_null() && asked.action.uses_local() && asked.len > 0 {
            return Err(DocaError::INVALID_VALUE);
        }
        let (region, at) = (Rc::clone(&opened.region), opened.offset + asked.offset);
        if asked.len == 0 {
            return Ok(());
        }
        if asked.action == MemoryAction::TAG_SEND {
            // Here is no UCX.
            return Err(DocaError::NOT_SUPPORTED);
        }
        if region.is_remote(asked.action) {
            let begun = *asked;
            self.in_flight.borrow_mut().push(InFlight { region, at, operation, begun });
            return Err(DocaError::IN_PROGRESS);
        }
        if region.is_lost.get() && region.path != MemoryPath::MAPPED {
            return Err(DocaError::CONNECTION_RESET);
        }
        // SAFETY: the caller's promise; the bytes are checked.
        unsafe { region.carry_out(at, asked) }
    }

    fn keep(&self, handle: *mut c_void) {
        match self.open.borrow_mut().get_mut(&handle.addr()) {
            Some(opened) => opened.count += 1,
            None => self.wrong("kept memory that it has not open"),
        }
    }

    fn close(&self, handle: *mut c_void) {
        let mut open = self.open.borrow_mut();
        let Some(opened) = open.get_mut(&handle.addr()) else {
            return self.wrong("closed memory that it has not open");
        };
        opened.count -= 1;
        if opened.count == 0 {
            open.remove(&handle.addr());
        }
    }
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.range(), self.path.name())
    }
}
