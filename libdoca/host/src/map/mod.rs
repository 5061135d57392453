//! `doca_mmap`: a memory map, created first and started later.

pub(super) mod descriptor;
pub(super) mod stock;

use std::cell::{Cell, OnceCell, Ref, RefCell};
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use urom_abi::DocaError;
use urom_abi::host::{Data, FreeCallback};
use urom_abi::memory::Access;
use urom_memory::{Error, Exported, Mmap, RemoteMmap};

use crate::device::Device;
use crate::failure::refuse_if;
use crate::handle::{ObjectTag, object};

/// Default maximum of devices per map.
const MOST_DEVICES: u32 = 8;

/// Logs a failure and returns its code. Hosts expect empty inventories, so these are not warnings.
pub(super) fn logged(error: Error) -> DocaError {
    match error.code() {
        DocaError::NO_MEMORY => log!(debug, "{error}"),
        _ => log!(warn, "{error}"),
    }
    error.code()
}

#[repr(C)]
pub(super) struct Map {
    tag: ObjectTag,
    /// Start and length.
    range: Cell<Option<(*mut c_void, usize)>>,
    access: Cell<Access>,
    devices: RefCell<Vec<Arc<Device>>>,
    pub(super) most_devices: Cell<u32>,
    pub(super) user_data: Cell<Data>,
    pub(super) free: Cell<Option<(FreeCallback, *mut c_void)>>,
    /// Descriptor from another process.
    exported: Option<Exported>,
    running: RefCell<Option<StartedMap>>,
}

object!(Map, Map, urom_abi::host::Mmap);

struct StartedMap {
    memory: MapMemory,
    /// The exported bytes, once requested.
    export: OnceCell<Box<[u8]>>,
}

enum MapMemory {
    Own(Mmap),
    Remote(RemoteMmap),
}

impl Map {
    pub(super) fn new() -> Map {
        Map {
            tag: ObjectTag::of::<Map>(),
            range: Cell::new(None),
            access: Cell::new(Access::LOCAL_READ_ONLY),
            devices: RefCell::default(),
            most_devices: Cell::new(MOST_DEVICES),
            user_data: Cell::default(),
            free: Cell::new(None),
            exported: None,
            running: RefCell::default(),
        }
    }

    pub(super) fn imported(
        bytes: &[u8],
        device: Arc<Device>,
        user_data: Data,
    ) -> Result<Map, DocaError> {
        let exported = Exported::read(bytes).map_err(logged)?;
        let start = ptr::with_exposed_provenance_mut(exported.address() as usize);
        let map = Map {
            range: Cell::new(Some((start, exported.len() as usize))),
            access: Cell::new(exported.access()),
            devices: RefCell::new(vec![device]),
            user_data: Cell::new(user_data),
            exported: Some(exported),
            ..Map::new()
        };
        *map.running.borrow_mut() = Some(map.run()?);
        Ok(map)
    }

    fn run(&self) -> Result<StartedMap, DocaError> {
        let memory = match (self.exported, self.range.get()) {
            (Some(exported), _) => MapMemory::Remote(RemoteMmap::import(exported)),
            (None, None) => {
                log!(warn, "doca_mmap_start: the map lacks memory: call doca_mmap_set_memrange");
                return Err(DocaError::BAD_CONFIG);
            }
            (None, Some((start, len))) => {
                // SAFETY: the host keeps the memory until it stops or destroys the map, as DOCA
                // demands; both fail while a buffer or a pool uses it.
                let map = unsafe { Mmap::from_raw(start.cast(), len, self.access.get()) };
                MapMemory::Own(map.map_err(logged)?)
            }
        };
        Ok(StartedMap { memory, export: OnceCell::new() })
    }

    /// `BAD_STATE` if the map is running or imported.
    pub(super) fn idle(&self) -> Result<&Map, DocaError> {
        refuse_if(
            self.running.borrow().is_some() || self.exported.is_some(),
            DocaError::BAD_STATE,
        )?;
        Ok(self)
    }

    fn running(&self) -> Result<Ref<'_, StartedMap>, DocaError> {
        Ref::filter_map(self.running.borrow(), Option::as_ref).map_err(|_| DocaError::BAD_STATE)
    }

    pub(super) fn start(&self) -> Result<(), DocaError> {
        let mut running = self.running.borrow_mut();
        refuse_if(running.is_some(), DocaError::BAD_STATE)?;
        *running = Some(self.run()?);
        Ok(())
    }

    /// `IN_USE` while the map has buffers or a pool.
    pub(super) fn stop(&self) -> Result<(), DocaError> {
        self.unused()?;
        self.running.take().map(drop).ok_or(DocaError::BAD_STATE)
    }

    /// `IN_USE` while the map has buffers or a pool.
    pub(super) fn unused(&self) -> Result<(), DocaError> {
        match &*self.running.borrow() {
            Some(running) if running.memory.map().shares() > 0 => Err(DocaError::IN_USE),
            _ => Ok(()),
        }
    }

    pub(super) fn add_device(&self, device: Arc<Device>) -> Result<(), DocaError> {
        self.idle()?;
        let mut devices = self.devices.borrow_mut();
        refuse_if(
            devices.iter().any(|known| Arc::ptr_eq(known, &device)),
            DocaError::ALREADY_EXIST,
        )?;
        refuse_if(devices.len() >= self.most_devices.get() as usize, DocaError::FULL)?;
        devices.push(device);
        Ok(())
    }

    pub(super) fn remove_device(&self, device: &Arc<Device>) -> Result<(), DocaError> {
        self.idle()?;
        let mut devices = self.devices.borrow_mut();
        let known = devices.iter().position(|known| Arc::ptr_eq(known, device));
        devices.remove(known.ok_or(DocaError::NOT_FOUND)?);
        Ok(())
    }

    pub(super) fn set_most_devices(&self, count: u32) -> Result<(), DocaError> {
        self.idle()?;
        refuse_if(
            count == 0 || (count as usize) < self.devices.borrow().len(),
            DocaError::INVALID_VALUE,
        )?;
        self.most_devices.set(count);
        Ok(())
    }

    pub(super) fn set_range(&self, start: *mut c_void, len: usize) -> Result<(), DocaError> {
        self.idle()?;
        refuse_if(
            start.is_null() || len == 0 || start.addr().checked_add(len).is_none(),
            DocaError::INVALID_VALUE,
        )?;
        self.range.set(Some((start, len)));
        Ok(())
    }

    pub(super) fn range(&self) -> Result<(*mut c_void, usize), DocaError> {
        self.range.get().ok_or(DocaError::BAD_STATE)
    }

    pub(super) fn set_access(&self, access: u32) -> Result<(), DocaError> {
        self.idle()?;
        self.access.set(Access::from_bits(access).ok_or(DocaError::INVALID_VALUE)?);
        Ok(())
    }

    pub(super) fn is_imported(&self) -> bool {
        self.exported.is_some()
    }

    pub(super) fn is_exported(&self) -> bool {
        self.running.borrow().as_ref().is_some_and(|running| running.export.get().is_some())
    }

    pub(super) fn buffers(&self) -> u32 {
        self.running.borrow().as_ref().map_or(0, |running| running.memory.map().buffers())
    }

    /// Exports the map; the bytes live until it stops. `NOT_PERMITTED` without one of these
    /// permissions, `INVALID_VALUE` for a device outside the map.
    pub(super) fn export(
        &self,
        device: &Arc<Device>,
        one_of: Access,
    ) -> Result<(*const c_void, usize), DocaError> {
        let running = self.running()?;
        if !self.devices.borrow().iter().any(|known| Arc::ptr_eq(known, device)) {
            log!(
                warn,
                "doca_mmap_export: the device is not among the map's: call doca_mmap_add_dev"
            );
            return Err(DocaError::INVALID_VALUE);
        }
        let MapMemory::Own(map) = &running.memory else { return Err(DocaError::NOT_PERMITTED) };
        if !map.access().intersects(one_of) {
            log!(
                warn,
                "doca_mmap_export: the map has none of the permissions {one_of:?}: \
                 call doca_mmap_set_permissions before doca_mmap_start"
            );
            return Err(DocaError::NOT_PERMITTED);
        }
        let bytes = match running.export.get() {
            Some(bytes) => bytes,
            None => {
                let bytes = map.export().map_err(logged)?;
                running.export.get_or_init(|| bytes.into())
            }
        };
        Ok((bytes.as_ptr().cast(), bytes.len()))
    }

    /// Runs `take` with the memory; `BAD_STATE` unless the map is running.
    fn with<T>(
        &self,
        take: impl FnOnce(&dyn urom_memory::Map) -> Result<T, Error>,
    ) -> Result<T, DocaError> {
        take(self.running()?.memory.map()).map_err(logged)
    }

    /// Returns the free callback with its arguments, if set.
    pub(super) fn farewell(&self) -> Option<(FreeCallback, *mut c_void, usize, *mut c_void)> {
        let (callback, cookie) = self.free.get()?;
        let (start, len) = self.range.get()?;
        Some((callback, start, len, cookie))
    }
}

impl MapMemory {
    fn map(&self) -> &dyn urom_memory::Map {
        match self {
            MapMemory::Own(map) => map,
            MapMemory::Remote(map) => map,
        }
    }
}
