//! `doca_devinfo_*`, `doca_dev_*`: those of the table, and two that only C programs call.

use std::collections::HashMap;
use std::ffi::{CStr, c_char};
use std::rc::Rc;
use std::sync::{Mutex, MutexGuard, PoisonError};

use urom_abi::DocaError;
use urom_abi::fork::PerProcess;
use urom_abi::host::{Dev, DevInfo, IBDEV_NAME_SIZE, IFACE_NAME_SIZE};
use urom_log::guard;

use crate::device::{self, Device, DeviceInfo};
use crate::handle::{borrow, present, publish, put, withdraw};
use crate::shell::made_before;

/// The length of each list that a host has, by its address.
static LISTS: PerProcess<Mutex<HashMap<usize, usize>>> = PerProcess::new(Mutex::default);

fn lists() -> MutexGuard<'static, HashMap<usize, usize>> {
    LISTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes a C string.
///
/// # Safety
/// `place` is null or has room for the text and its NUL.
unsafe fn write_text(place: *mut c_char, text: &str) -> Result<(), DocaError> {
    present(place)?;
    // SAFETY: the caller promises the room.
    unsafe { place.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), text.len()) };
    let end = place.wrapping_add(text.len());
    // SAFETY: as above.
    unsafe { put(end, 0) }
}

functions! {
    fn doca_devinfo_create_list[](list: *mut *mut *mut DevInfo, count: *mut u32) {
        present(list)?;
        present(count)?;
        let found = device::list();
        let names: Vec<&str> = found.iter().map(|device| &*device.name).collect();
        log!(debug, "the devices are {}; UROM_DEVICE=NAME or NAME@PCI adds more",
            if names.is_empty() { "none".to_owned() } else { names.join(", ") }
        );
        if found.is_empty() {
            return Err(DocaError::NOT_FOUND);
        }
        let entries: Box<[*mut DevInfo]> =
            found.into_iter().map(|info| publish(Rc::<DeviceInfo>::new(info))).collect();
        let len = entries.len();
        let first = Box::into_raw(entries).cast::<*mut DevInfo>();
        lists().insert(first.addr(), len);
        // SAFETY: the caller's place.
        unsafe { put(list, first) }?;
        // SAFETY: the caller's place.
        unsafe { put(count, u32::try_from(len).unwrap_or(u32::MAX)) }
    }

    fn doca_devinfo_destroy_list[](list: *mut *mut DevInfo) {
        let address = list.addr();
        let len = lists().remove(&address);
        let len = len.ok_or_else(|| made_before(&LISTS, |all| all.contains_key(&address)))?;
        let slice = std::ptr::slice_from_raw_parts_mut(list, len);
        // SAFETY: from `doca_devinfo_create_list`, with its length, and taken back once.
        let entries = unsafe { Box::from_raw(slice) };
        for entry in entries {
            // SAFETY: the caller's object.
            unsafe { withdraw::<DeviceInfo, _>(entry) }?;
        }
        Ok(())
    }

    fn doca_devinfo_get_ibdev_name[info = borrow::<DeviceInfo, _>: *const DevInfo](
        name: *mut c_char,
        size: u32,
    ) {
        if size < IBDEV_NAME_SIZE as u32 {
            return Err(DocaError::INVALID_VALUE);
        }
        // SAFETY: the caller's place has 64 bytes or more, and names have at most 63.
        unsafe { write_text(name, &info.name) }
    }

    fn doca_devinfo_get_pci_addr_str[info = borrow::<DeviceInfo, _>: *const DevInfo](
        address: *mut c_char,
    ) {
        // SAFETY: the caller's place has 13 bytes, and an address has 12.
        unsafe { write_text(address, info.shown_pci_address()) }
    }

    fn doca_dev_open[info = borrow::<DeviceInfo, _>: *mut DevInfo](dev: *mut *mut Dev) => dev {
        Device::open(info).cast_mut().cast()
    }

    fn doca_dev_close[](dev: *mut Dev) { Device::close(dev.cast_const().cast()) }
}

/// `doca_devinfo_is_equal_pci_addr`: stores 1 when the device has that PCI address (`dddd:bb:dd.f`,
/// or `bb:dd.f` of domain 0), else 0. `INVALID_VALUE` for anything that is no address.
///
/// # Safety
/// As DOCA's: an element of a live list, a C string, a byte to write to; or NULL.
pub unsafe extern "C" fn devinfo_is_equal_pci_addr(
    info: *const DevInfo,
    address: *const c_char,
    is_equal: *mut u8,
) -> DocaError {
    guard(|| {
        // SAFETY: the caller's object.
        let info: &DeviceInfo = unsafe { borrow(info) }?;
        present(address)?;
        present(is_equal)?;
        // SAFETY: the caller's C string.
        let address = unsafe { CStr::from_ptr(address) };
        let equal = address.to_str().ok().and_then(|text| info.has_pci_address(text));
        // SAFETY: the caller's place.
        unsafe { put(is_equal, equal.ok_or(DocaError::INVALID_VALUE)?.into()) }
    })
}

/// `doca_devinfo_get_iface_name`: the device's network interface. `INVALID_VALUE` for less than 256
/// bytes of room, `NOT_FOUND` for a device without one, such as those of `UROM_DEVICE`.
///
/// # Safety
/// As DOCA's: an element of a live list, and `size` bytes of room; or NULL.
pub unsafe extern "C" fn devinfo_get_iface_name(
    info: *const DevInfo,
    name: *mut c_char,
    size: u32,
) -> DocaError {
    guard(|| {
        // SAFETY: the caller's object.
        let info: &DeviceInfo = unsafe { borrow(info) }?;
        present(name)?;
        if size < IFACE_NAME_SIZE as u32 {
            return Err(DocaError::INVALID_VALUE);
        }
        let interface = info.interface.as_deref().ok_or(DocaError::NOT_FOUND)?;
        // SAFETY: the caller's place has 256 bytes or more, and names have at most 255.
        unsafe { write_text(name, interface) }
    })
}
