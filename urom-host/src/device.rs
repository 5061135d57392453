//! Devices, which choose the service on hosts that have several.

use std::ffi::{CStr, c_char};
use std::fmt;
use std::ptr::{self, NonNull};

use urom_abi::DocaError;
use urom_abi::host::{Dev, DevInfo as RawInfo, IBDEV_NAME_SIZE, PCI_ADDR_SIZE};

use crate::error::{Error, Result, check};
use crate::library::{Library, non_null};

/// A device that a service can be reached through (`struct doca_devinfo`).
///
/// ```
/// use urom_host::DeviceInfo;
///
/// let device = DeviceInfo { name: "mlx5_0".into(), pci_address: "0000:03:00.0".into() };
/// println!("{} at {}", device.name, device.pci_address);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceInfo {
    /// The InfiniBand device name, such as `mlx5_0`.
    pub name: String,
    /// The PCI address, such as `0000:03:00.0`. Of a device without one it is `0000:00:00.0` with this project's library, and
    /// may be empty with another.
    pub pci_address: String,
}

/// The devices of this host, by the library that [`Library::find`] finds (`doca_devinfo_create_list`).
///
/// # Errors
/// As [`Library::find`], and whatever the library says; no device is an empty list.
///
/// ```no_run
/// # use urom_host::{Service, devices, Result};
/// # fn main() -> Result<()> {
/// let Some(first) = devices()?.into_iter().next() else { return Ok(()) };
/// let service = Service::builder().device(first.name).connect()?;
/// # Ok(())
/// # }
/// ```
pub fn devices() -> Result<Vec<DeviceInfo>> {
    devices_of(Library::find()?)
}

/// The devices of this host, by any library (`doca_devinfo_create_list`).
///
/// # Errors
/// Whatever the library says; no device is an empty list.
///
/// ```no_run
/// # use urom_host::{Library, devices_of, Result};
/// # fn main() -> Result<()> {
/// for device in devices_of(Library::find()?)? {
///     println!("{} at {}", device.name, device.pci_address);
/// }
/// # Ok(())
/// # }
/// ```
pub fn devices_of(library: Library) -> Result<Vec<DeviceInfo>> {
    let list = List::create(library)?;
    Ok(list.iter().map(|device| list.describe(device)).collect())
}

/// An open device; closed when dropped (`doca_dev_close`).
pub(crate) struct Device {
    library: Library,
    device: NonNull<Dev>,
}

impl Device {
    /// Opens the device of that name.
    pub(crate) fn open(library: Library, name: &str) -> Result<Device> {
        let what = || format!("opening device `{}`", name.escape_debug());
        let list = List::create(library)?;
        let Some(found) = list.iter().find(|device| list.describe(*device).name == name) else {
            let names: Vec<_> =
                list.iter().map(|device| format!("`{}`", list.describe(device).name)).collect();
            let why = match names.is_empty() {
                true => "this host has no device at all".to_owned(),
                false => format!("this host has {}", names.join(", ")),
            };
            return Err(Error::new(DocaError::NOT_FOUND, what())
                .why(why)
                .hint("name one of those"));
        };
        let mut device = ptr::null_mut();
        // SAFETY: the entry is of a live list, and the pointer is to a local variable.
        let code = unsafe { (library.api().doca_dev_open)(found, &mut device) };
        check(code, what)?;
        Ok(Device { library, device: non_null(device, "opening a device")? })
    }

    pub(crate) fn as_ptr(&self) -> *mut Dev {
        self.device.as_ptr()
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: the device is open, and the service that used it is destroyed.
        let code = unsafe { (self.library.api().doca_dev_close)(self.device.as_ptr()) };
        if let Err(code) = code.check() {
            tracing::warn!("a device could not be closed: {code}");
        }
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device").finish_non_exhaustive()
    }
}

/// A list of devices, destroyed when dropped; `None` when there are none.
struct List {
    library: Library,
    entries: Option<(NonNull<*mut RawInfo>, usize)>,
}

impl List {
    fn create(library: Library) -> Result<List> {
        let (mut list, mut count) = (ptr::null_mut(), 0);
        // SAFETY: the pointers are to local variables.
        let code = unsafe { (library.api().doca_devinfo_create_list)(&mut list, &mut count) };
        if code == DocaError::NOT_FOUND {
            return Ok(List { library, entries: None });
        }
        check(code, || "listing devices")?;
        Ok(List { library, entries: NonNull::new(list).map(|list| (list, count as usize)) })
    }

    fn iter(&self) -> impl Iterator<Item = *mut RawInfo> + '_ {
        let entries: &[*mut RawInfo] = match self.entries {
            None => &[],
            // SAFETY: the library gave out an array of that many entries, which lives until the list is destroyed.
            Some((list, count)) => unsafe { std::slice::from_raw_parts(list.as_ptr(), count) },
        };
        entries.iter().copied()
    }

    fn describe(&self, device: *mut RawInfo) -> DeviceInfo {
        let api = self.library.api();
        let mut name = [0; IBDEV_NAME_SIZE];
        // SAFETY: the entry is of this list, and the array has the size that is said.
        let code = unsafe {
            (api.doca_devinfo_get_ibdev_name)(device, name.as_mut_ptr(), IBDEV_NAME_SIZE as u32)
        };
        let name = if code == DocaError::SUCCESS { text(&name) } else { String::new() };
        let mut address = [0; PCI_ADDR_SIZE];
        // SAFETY: the entry is of this list, and the array has the size that the call asks for.
        let code = unsafe { (api.doca_devinfo_get_pci_addr_str)(device, address.as_mut_ptr()) };
        let pci_address = if code == DocaError::SUCCESS { text(&address) } else { String::new() };
        DeviceInfo { name, pci_address }
    }
}

impl Drop for List {
    fn drop(&mut self) {
        if let Some((list, _)) = self.entries {
            // SAFETY: the list is live, and entries are not used after this.
            unsafe { (self.library.api().doca_devinfo_destroy_list)(list.as_ptr()) };
        }
    }
}

/// Text up to its NUL, or up to the end of the array.
fn text(chars: &[c_char]) -> String {
    let bytes: Vec<u8> = chars.iter().flat_map(|c| c.to_ne_bytes()).chain([0]).collect();
    CStr::from_bytes_until_nul(&bytes)
        .map(|text| text.to_string_lossy().into_owned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn a_name_ends_at_its_nul_or_with_its_array() {
        assert_eq!(text(&[b'a' as _, 0, b'b' as _]), "a");
        assert_eq!(text(&[b'a' as _, b'b' as _]), "ab");
    }
}
