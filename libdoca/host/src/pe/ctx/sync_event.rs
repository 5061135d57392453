//! `doca_sync_event`: locations, memory, start and stop. `urom-memory` implements the counter.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use urom_abi::DocaError;
use urom_abi::host::CtxState;
use urom_abi::memory::Access;
use urom_abi::sync_event::Condition;
use urom_memory::{Mmap, SyncEvent as Counter};
use urom_wire::control::Failure;

use crate::device::Device;
use crate::failure::{fail_if, failure};
use crate::handle::{ObjectTag, object};
use crate::map::logged;
use crate::pe::ctx::{Context, ContextPart};
use crate::pe::local;
use crate::pe::tasks::{LocalTaskKind, LocalTasks};

/// Number of polls before a yielding wait sleeps.
const YIELDS: usize = 1000;

/// Roles of an importer in the exported bytes.
pub(crate) const PUBLISHES: u32 = 1;
const SUBSCRIBES: u32 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventLocation {
    Cpu,
    RemotePci,
    RemoteNet,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventRole {
    Publisher,
    Subscriber,
}

/// `doca_sync_event_remote_net`: an event of another host, whose counter only RDMA changes.
#[repr(C)]
pub(crate) struct RemoteNet {
    pub(crate) tag: ObjectTag,
    pub(crate) _counter: Counter,
    pub(crate) _device: Arc<Device>,
}

object!(RemoteNet, RemoteNet);

#[derive(Default)]
pub(crate) struct SyncEvent {
    publisher: Cell<Option<EventLocation>>,
    subscriber: Cell<Option<EventLocation>>,
    devices: RefCell<Vec<Arc<Device>>>,
    memory: RefCell<CounterStorage>,
    tasks: LocalTasks,
    /// Locked, because any thread may use it.
    running: Mutex<Option<StartedEvent>>,
}

#[derive(Default)]
enum CounterStorage {
    #[default]
    Own,
    Address(*mut u64),
    /// In a buffer or another process.
    Known(Counter),
    Imported(Counter),
}

struct StartedEvent {
    counter: Counter,
    publishes: bool,
    subscribes: bool,
    /// The exported bytes, once requested.
    export: Option<Box<[u8]>>,
}

impl SyncEvent {
    pub(crate) fn imported(counter: Counter, roles: u32, device: Arc<Device>) -> SyncEvent {
        let location =
            |role| if roles & role > 0 { EventLocation::Cpu } else { EventLocation::RemotePci };
        SyncEvent {
            publisher: Cell::new(Some(location(PUBLISHES))),
            subscriber: Cell::new(Some(location(SUBSCRIBES))),
            devices: RefCell::new(vec![device]),
            memory: RefCell::new(CounterStorage::Imported(counter)),
            ..SyncEvent::default()
        }
    }

    fn is_imported(&self) -> bool {
        matches!(*self.memory.borrow(), CounterStorage::Imported(_))
    }

    fn is_own(&self) -> Result<(), Failure> {
        match self.is_imported() {
            true => Err(failure!(
                NOT_PERMITTED,
                "the sync event is another process's, which has configured it"
            )),
            false => Ok(()),
        }
    }

    pub(crate) fn add_location(
        &self,
        role: EventRole,
        location: EventLocation,
        device: Option<Arc<Device>>,
    ) -> Result<(), Failure> {
        self.is_own()?;
        let (slot, name) = match role {
            EventRole::Publisher => (&self.publisher, "publisher"),
            EventRole::Subscriber => (&self.subscriber, "subscriber"),
        };
        if let Some(known) = slot.get() {
            return Err(failure!(
                ALREADY_EXIST,
                "the sync event has a {name} already ({known:?}): it has one"
            ));
        }
        slot.set(Some(location));
        self.devices.borrow_mut().extend(device);
        Ok(())
    }

    pub(crate) fn set_address(&self, address: *mut u64) -> Result<(), Failure> {
        self.is_own()?;
        fail_if!(
            address.is_null() || !address.is_aligned(),
            INVALID_VALUE,
            "a sync event's counter cannot be at {address:p}: it takes 8 bytes at a multiple of 8"
        );
        self.memory.replace(CounterStorage::Address(address));
        Ok(())
    }

    pub(crate) fn set_counter(&self, counter: Counter) -> Result<(), Failure> {
        self.is_own()?;
        self.memory.replace(CounterStorage::Known(counter));
        Ok(())
    }

    fn running(&self) -> MutexGuard<'_, Option<StartedEvent>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `BAD_STATE` unless it is started, `NOT_PERMITTED` unless this program has the role.
    pub(crate) fn counter(&self, role: EventRole) -> Result<Counter, DocaError> {
        let running = self.running();
        let running = running.as_ref().ok_or(DocaError::BAD_STATE)?;
        let is_permitted = match role {
            EventRole::Publisher => running.publishes,
            EventRole::Subscriber => running.subscribes,
        };
        if !is_permitted {
            log!(warn, "doca_sync_event: this program is not the event's {role:?}");
            return Err(DocaError::NOT_PERMITTED);
        }
        Ok(running.counter.clone())
    }

    pub(crate) fn wait(&self, condition: Condition, yields: bool) -> Result<(), DocaError> {
        let counter = self.counter(EventRole::Subscriber)?;
        for _ in 0..if yields { YIELDS } else { 0 } {
            if condition.is_met(counter.get()) {
                return Ok(());
            }
            thread::yield_now();
        }
        counter.wait_blocking(condition, None).map(drop).map_err(logged)
    }

    /// Exports the event; the bytes live until it stops.
    pub(crate) fn export(&self, to: EventLocation) -> Result<(*const u8, usize), DocaError> {
        let mut running = self.running();
        let running = running.as_mut().ok_or(DocaError::BAD_STATE)?;
        let (publisher, subscriber) = (self.publisher.get(), self.subscriber.get());
        if self.is_imported() || ![publisher, subscriber].contains(&Some(to)) {
            log!(
                warn,
                "doca_sync_event_export: the event lacks a location {to:?}: \
                 add it before doca_sync_event_start"
            );
            return Err(DocaError::NOT_PERMITTED);
        }
        let bytes = match &mut running.export {
            Some(bytes) => bytes,
            none => {
                let role = |is_here: bool, role| if is_here { 0 } else { role };
                let roles =
                    role(running.publishes, PUBLISHES) | role(running.subscribes, SUBSCRIBES);
                none.insert(running.counter.export_for(roles).map_err(logged)?.into())
            }
        };
        Ok((bytes.as_ptr(), bytes.len()))
    }
}

impl ContextPart for SyncEvent {
    fn name(&self) -> &'static str {
        "sync_event"
    }

    fn start(&self, ctx: &Rc<Context>) -> Result<CtxState, Failure> {
        if self.tasks.are_configured() {
            ctx.engine()?;
        }
        let missing = |name: &str| {
            failure!(
                BAD_STATE,
                "the sync event lacks {name}: call doca_sync_event_add_{name}_location_cpu, or \
                 that of another location, before doca_sync_event_start"
            )
        };
        let publisher = self.publisher.get().ok_or_else(|| missing("publisher"))?;
        let subscriber = self.subscriber.get().ok_or_else(|| missing("subscriber"))?;
        let counter = match &*self.memory.borrow() {
            CounterStorage::Known(counter) | CounterStorage::Imported(counter) => {
                Ok(counter.clone())
            }
            CounterStorage::Own => Counter::new(),
            CounterStorage::Address(address) => {
                let access = Access::LOCAL_READ_WRITE | Access::PCI_READ_WRITE;
                // SAFETY: the host's 8 bytes, which stay until the event stops, as DOCA demands.
                let map = unsafe { Mmap::from_raw(address.cast(), 8, access) };
                map.and_then(|map| Counter::in_memory(&map, 0))
            }
        };
        let counter = counter.map_err(|error| failure!(code = error.code(), "{}", error.text()))?;
        *self.running() = Some(StartedEvent {
            counter,
            publishes: publisher == EventLocation::Cpu,
            subscribes: subscriber == EventLocation::Cpu,
            export: None,
        });
        Ok(CtxState::RUNNING)
    }

    fn stop(&self, ctx: &Context) -> Result<CtxState, DocaError> {
        self.running().take();
        Ok(local::stop(ctx, &self.tasks))
    }

    fn retire(&self) {
        self.devices.take();
        self.memory.take();
    }

    fn in_flight(&self) -> usize {
        self.tasks.in_flight.get()
    }

    fn tasks(&self, kind: LocalTaskKind) -> Option<&LocalTasks> {
        (kind != LocalTaskKind::InvalidateCache).then_some(&self.tasks)
    }
}
