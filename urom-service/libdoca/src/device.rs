//! What only C programs ask of a device: `doca_devinfo_is_equal_pci_addr`, `doca_devinfo_get_iface_name`.

use std::ffi::c_char;

use urom_abi::DocaError;
use urom_abi::host::DevInfo;
use urom_service::library::{devinfo_get_iface_name, devinfo_is_equal_pci_addr};

/// See [`devinfo_is_equal_pci_addr`].
// SAFETY: no other symbol of this library has DOCA's name.
#[unsafe(no_mangle)]
unsafe extern "C" fn doca_devinfo_is_equal_pci_addr(
    info: *const DevInfo,
    address: *const c_char,
    is_equal: *mut u8,
) -> DocaError {
    // SAFETY: the caller's promises are the same.
    unsafe { devinfo_is_equal_pci_addr(info, address, is_equal) }
}

/// See [`devinfo_get_iface_name`].
// SAFETY: no other symbol of this library has DOCA's name.
#[unsafe(no_mangle)]
unsafe extern "C" fn doca_devinfo_get_iface_name(
    info: *const DevInfo,
    name: *mut c_char,
    size: u32,
) -> DocaError {
    // SAFETY: the caller's promises are the same.
    unsafe { devinfo_get_iface_name(info, name, size) }
}
