//! Devices, which select the service on hosts with several.

use std::ptr::{self, NonNull};

use urom_abi::host::{Api, Dev, DevInfo as RawInfo, IBDEV_NAME_SIZE, PCI_ADDR_SIZE};
use urom_abi::{DocaError, DocaStatus};

use crate::error::{Error, Result, check};
use crate::library::{Library, c_text, get, non_null};

/// A device that reaches a service (`struct doca_devinfo`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceInfo {
    /// The InfiniBand device name, such as `mlx5_0`.
    pub name: String,
    /// The PCI address, such as `0000:03:00.0`. For a device without one, this project's library
    /// gives `0000:00:00.0`; others may give an empty string.
    pub pci_address: String,
}

/// Returns the devices of the library of [`Library::find`] (`doca_devinfo_create_list`).
///
/// # Errors
/// As [`Library::find`], and the library's errors.
pub fn devices() -> Result<Vec<DeviceInfo>> {
    devices_of(Library::find()?)
}

/// Returns this host's devices, from `library` (`doca_devinfo_create_list`). The list may be empty.
///
/// # Errors
/// The library's errors.
pub fn devices_of(library: Library) -> Result<Vec<DeviceInfo>> {
    with_devices(library, |devices| Ok(devices.iter().map(|(_, info)| info.clone()).collect()))
}

pub(crate) struct Device {
    library: Library,
    device: NonNull<Dev>,
}

impl Device {
    pub(crate) fn open(library: Library, name: &str) -> Result<Device> {
        let what = || format!("opening device `{}`", name.escape_debug());
        with_devices(library, |devices| {
            let Some((found, _)) = devices.iter().find(|(_, info)| info.name == name) else {
                let names = devices.iter().map(|(_, info)| format!("`{}`", info.name));
                let error = Error::new(DocaError::NOT_FOUND, what());
                return Err(match devices {
                    [] => error.why("this host lacks devices"),
                    _ => error
                        .why(format!("this host has {}", names.collect::<Vec<_>>().join(", ")))
                        .hint("name one of those"),
                });
            };
            // SAFETY: the entry belongs to a live list, and the pointer is to a local variable.
            let open = |device: &mut _| unsafe { (library.api().doca_dev_open)(*found, device) };
            let device = get(ptr::null_mut(), what, open)?;
            Ok(Device { library, device: non_null(device, what)? })
        })
    }

    pub(crate) fn as_ptr(&self) -> *mut Dev {
        self.device.as_ptr()
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: the device is open, and the service that used it is destroyed.
        let status = unsafe { (self.library.api().doca_dev_close)(self.device.as_ptr()) };
        if let Err(code) = status.check() {
            tracing::warn!("a device could not be closed: {code}");
        }
    }
}

fn with_devices<T>(
    library: Library,
    look: impl FnOnce(&[(*mut RawInfo, DeviceInfo)]) -> Result<T>,
) -> Result<T> {
    let api = library.api();
    let (mut list, mut count) = (ptr::null_mut(), 0);
    // SAFETY: the pointers are to local variables.
    let status = unsafe { (api.doca_devinfo_create_list)(&mut list, &mut count) };
    if status == DocaError::NOT_FOUND {
        return look(&[]);
    }
    check(status, || "listing devices")?;
    let entries = match list.is_null() {
        true => &[],
        // SAFETY: the library's array has `count` entries, and lives until the list is destroyed.
        false => unsafe { std::slice::from_raw_parts(list, count as usize) },
    };
    let result =
        look(&entries.iter().map(|entry| (*entry, describe(api, *entry))).collect::<Vec<_>>());
    if !list.is_null() {
        // SAFETY: the list is live, and its entries are not used after this.
        unsafe { (api.doca_devinfo_destroy_list)(list) };
    }
    result
}

fn describe(api: &Api, device: *mut RawInfo) -> DeviceInfo {
    let mut name = [0; IBDEV_NAME_SIZE];
    // SAFETY: the entry belongs to a live list, and the array has the size passed to the call.
    let status = unsafe {
        (api.doca_devinfo_get_ibdev_name)(device, name.as_mut_ptr(), IBDEV_NAME_SIZE as u32)
    };
    let name = if status == DocaStatus::SUCCESS { c_text(&name) } else { String::new() };
    let mut address = [0; PCI_ADDR_SIZE];
    // SAFETY: the entry belongs to a live list, and the array has the size that the call requires.
    let status = unsafe { (api.doca_devinfo_get_pci_addr_str)(device, address.as_mut_ptr()) };
    let pci_address = if status == DocaStatus::SUCCESS { c_text(&address) } else { String::new() };
    DeviceInfo { name, pci_address }
}

#[cfg(test)]
mod tests {
    use crate::library::c_text;

    #[test]
    fn a_name_ends_at_its_nul_or_with_its_array() {
        assert_eq!(c_text(&[b'a' as _, 0, b'b' as _]), "a");
        assert_eq!(c_text(&[b'a' as _, b'b' as _]), "ab");
    }
}
