//! `doca_devinfo_*`, `doca_dev_*`.

use std::ffi::c_char;
use std::ptr;
use std::rc::Rc;

use urom_abi::DocaError;
use urom_abi::host::{Dev, DevInfo, IBDEV_NAME_SIZE, IFACE_NAME_SIZE};
use urom_log::{guard, guard_or};

use crate::device::{self, Device, DeviceInfo};
use crate::failure::refuse_if;
use crate::handle::{as_c, borrow, present, publish, put, withdraw};

pub(super) use self::{
    has as doca_mmap_cap_is_export_pci_supported,
    has as doca_mmap_cap_is_create_from_export_pci_supported,
    lacks as doca_devinfo_cap_is_hotplug_manager_supported,
    lacks as doca_devinfo_cap_is_notification_moderation_supported,
    lacks as doca_devinfo_cap_is_accelerate_resource_reclaim_supported,
    lacks as doca_devinfo_rep_cap_is_filter_all_supported,
    lacks as doca_devinfo_rep_cap_is_filter_net_supported,
    lacks as doca_devinfo_rep_cap_is_filter_emulated_supported,
    lacks as doca_ctx_cap_get_num_completion_vectors,
};

/// # Safety
/// `buffer` is null or has space for the text and its NUL.
unsafe fn write_text(buffer: *mut c_char, text: &str) -> Result<(), DocaError> {
    present(buffer)?;
    // SAFETY: the caller promises the space.
    unsafe { buffer.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), text.len()) };
    let end = buffer.wrapping_add(text.len());
    // SAFETY: the caller promises the space.
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
        refuse_if(found.is_empty(), DocaError::NOT_FOUND)?;
        let len = found.len();
        // NULL-terminated: `doca_devinfo_destroy_list` computes the length.
        let entries = found.into_iter().map(|info| publish(Rc::new(info)));
        let entries: Box<[*mut DevInfo]> = entries.chain([ptr::null_mut()]).collect();
        // SAFETY: NULL, or the host's pointer for the result.
        unsafe { put(list, Box::into_raw(entries).cast()) }?;
        // SAFETY: NULL, or the host's pointer for the result.
        unsafe { put(count, u32::try_from(len).unwrap_or(u32::MAX)) }
    }

    fn doca_devinfo_destroy_list[](list: *mut *mut DevInfo) {
        present(list)?;
        // SAFETY: a list of `doca_devinfo_create_list`, which has at least one entry.
        let first = unsafe { list.read() };
        // SAFETY: an entry of the list, which the host has not destroyed.
        unsafe { borrow::<DeviceInfo, _>(first) }?;
        let is_entry = |at: &usize| {
            let entry = list.wrapping_add(*at);
            // SAFETY: `doca_devinfo_create_list` terminates each list by NULL, where this stops.
            !unsafe { entry.read() }.is_null()
        };
        let len = (0..).take_while(is_entry).count();
        // SAFETY: the box of `doca_devinfo_create_list` with its length, not used again by the
        // host.
        let entries = unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(list, len + 1)) };
        for info in &entries[..len] {
            // SAFETY: an entry of the list, which had the host's only reference.
            unsafe { withdraw::<DeviceInfo, _>(*info) }?;
        }
        Ok(())
    }

    fn doca_devinfo_get_ibdev_name[info: *const DevInfo](name: *mut c_char, size: u32) {
        refuse_if(size < IBDEV_NAME_SIZE as u32, DocaError::INVALID_VALUE)?;
        // SAFETY: the caller's buffer has 64 bytes or more, and names have at most 63.
        unsafe { write_text(name, &info.name) }
    }

    fn doca_devinfo_get_pci_addr_str[info: *const DevInfo](address: *mut c_char) {
        // SAFETY: the caller's buffer has 13 bytes, and an address has 12.
        unsafe { write_text(address, info.shown_pci_address()) }
    }

    fn doca_devinfo_is_equal_pci_addr[info: *const DevInfo, address: *const c_char](
        is_equal: *mut u8,
    ) => is_equal {
        let address = address.ok_or(DocaError::INVALID_VALUE)?.to_str();
        let equal = address.ok().and_then(|text| info.has_pci_address(text));
        equal.ok_or(DocaError::INVALID_VALUE)?.into()
    }

    fn doca_devinfo_get_iface_name[info: *const DevInfo](name: *mut c_char, size: u32) {
        present(name)?;
        refuse_if(size < IFACE_NAME_SIZE as u32, DocaError::INVALID_VALUE)?;
        let interface = info.interface.as_deref().ok_or(DocaError::NOT_FOUND)?;
        // SAFETY: the caller's buffer has 256 bytes or more, and names have at most 255.
        unsafe { write_text(name, interface) }
    }

    fn doca_dev_open[info: *mut DevInfo](dev: *mut *mut Dev) => dev { Device::open(info) }

    fn doca_devinfo_get_mac_addr[info: *const DevInfo](address: *mut u8, size: u32) {
        address_into(address, size, || info.mac_address())
    }

    fn doca_devinfo_get_ipv4_addr[info: *const DevInfo](address: *mut u8, size: u32) {
        address_into(address, size, || info.ipv4_address())
    }

    fn doca_devinfo_get_ipv6_addr[info: *const DevInfo](address: *mut u8, size: u32) {
        address_into(address, size, || info.ipv6_address())
    }

    fn has[_info: *const DevInfo](supported: *mut u8) => supported { 1 }

    fn lacks<N: Default>[_info: *const DevInfo](number: *mut N) => number { N::default() }

    fn doca_dev_close[](dev: *mut Dev) { Device::close(dev) }
}

/// `doca_dev_as_devinfo`: NULL unless the device is open.
pub(super) unsafe extern "C" fn doca_dev_as_devinfo(dev: *const Dev) -> *mut DevInfo {
    guard_or(ptr::null_mut(), || match Device::find(dev) {
        Ok(device) => as_c(&device.info),
        Err(_) => ptr::null_mut(),
    })
}

fn address_into<const N: usize>(
    target: *mut u8,
    size: u32,
    address: impl FnOnce() -> Result<[u8; N], DocaError>,
) -> Result<(), DocaError> {
    present(target)?;
    refuse_if((size as usize) < N, DocaError::INVALID_VALUE)?;
    // SAFETY: the caller's buffer has `size` bytes.
    unsafe { put(target.cast(), address()?) }
}
