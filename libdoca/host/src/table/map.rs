//! `doca_mmap_*`.

use std::ffi::{c_int, c_void};
use std::rc::Rc;
use std::slice;
use std::sync::Arc;

use urom_abi::DocaError;
use urom_abi::host::{Data, Dev, DevInfo, Dpa, FreeCallback, Mmap};
use urom_abi::memory::Access;
use urom_log::guard;
use urom_memory::Exported;

use crate::device::{Device, DeviceInfo};
use crate::handle::{borrow, present, publish, put, withdraw};
use crate::map::Map;

const FOR_PCI: Access = Access::PCI_READ_ONLY.union(Access::PCI_READ_WRITE);
const FOR_RDMA: Access = Access::RDMA_READ.union(Access::RDMA_WRITE).union(Access::RDMA_ATOMIC);

fn device(pointer: *const Dev) -> Result<Arc<Device>, DocaError> {
    Device::find(pointer.cast())
}

/// Stores what a map exports.
///
/// # Safety
/// The places are null or can be written to.
unsafe fn export(
    map: &Map,
    dev: *const Dev,
    one_of: Access,
    bytes: *mut *const c_void,
    len: *mut usize,
) -> Result<(), DocaError> {
    present(bytes)?;
    present(len)?;
    let (start, count) = map.export(&device(dev)?, one_of)?;
    // SAFETY: NULL, or a place that the host keeps for the result.
    unsafe { put(bytes, start) }?;
    // SAFETY: NULL, or a place that the host keeps for the result.
    unsafe { put(len, count) }
}

functions! {
    fn doca_mmap_create[](map: *mut *mut Mmap) => map { publish(Rc::new(Map::new())) }

    fn doca_mmap_create_from_export[](
        user_data: *const Data,
        bytes: *const c_void,
        len: usize,
        dev: *mut Dev,
        map: *mut *mut Mmap,
    ) => map {
        present(bytes)?;
        let device = device(dev)?;
        // Others are refused before anything is read behind the pointer.
        if len != Exported::LEN {
            return Err(DocaError::INVALID_VALUE);
        }
        // SAFETY: the caller's bytes, as many as it says.
        let bytes = unsafe { slice::from_raw_parts(bytes.cast::<u8>(), len) };
        // SAFETY: NULL, or the caller's data.
        let user_data = unsafe { user_data.as_ref() }.copied().unwrap_or(Data { u64: 0 });
        publish(Rc::new(Map::imported(bytes, device, user_data)?))
    }

    fn doca_mmap_destroy[](pointer: *mut Mmap) {
        // SAFETY: NULL, or an object that the host keeps alive in this call.
        unsafe { borrow::<Map, _>(pointer) }?.unused()?;
        // SAFETY: NULL, or an object that the host keeps alive in this call.
        let map: Rc<Map> = unsafe { withdraw(pointer) }?;
        let farewell = map.farewell();
        drop(map);
        if let Some((callback, start, len, cookie)) = farewell {
            // SAFETY: the host's function, called as it expects. Nothing of the map is left.
            unsafe { callback(start, len, cookie) };
        }
        Ok(())
    }

    fn doca_mmap_start[map = borrow::<Map, _>: *mut Mmap]() { map.start() }

    fn doca_mmap_stop[map = borrow::<Map, _>: *mut Mmap]() { map.stop() }

    fn doca_mmap_add_dev[map = borrow::<Map, _>: *mut Mmap](dev: *mut Dev) {
        map.add_device(device(dev)?)
    }

    fn doca_mmap_rm_dev[map = borrow::<Map, _>: *mut Mmap](dev: *mut Dev) {
        map.remove_device(&device(dev)?)
    }

    fn doca_mmap_export_pci[map = borrow::<Map, _>: *mut Mmap](
        dev: *const Dev,
        bytes: *mut *const c_void,
        len: *mut usize,
    ) {
        // SAFETY: NULL, or places that the host keeps for the results.
        unsafe { export(map, dev, FOR_PCI, bytes, len) }
    }

    fn doca_mmap_export_rdma[map = borrow::<Map, _>: *mut Mmap](
        dev: *const Dev,
        bytes: *mut *const c_void,
        len: *mut usize,
    ) {
        // SAFETY: NULL, or places that the host keeps for the results.
        unsafe { export(map, dev, FOR_RDMA, bytes, len) }
    }

    fn doca_mmap_dev_get_dpa_handle[_map = borrow::<Map, _>: *mut Mmap](
        dev: *const Dev,
        handle: *mut u64,
    ) {
        device(dev)?;
        present(handle)?;
        Err(DocaError::NOT_SUPPORTED)
    }

    fn doca_mmap_set_memrange[map = borrow::<Map, _>: *mut Mmap](
        address: *mut c_void,
        len: usize,
    ) {
        map.set_range(address, len)
    }

    fn doca_mmap_set_dmabuf_memrange[_map = borrow::<Map, _>: *mut Mmap](
        fd: c_int,
        _address: *mut c_void,
        _offset: usize,
        len: usize,
    ) {
        if fd < 0 || len == 0 { Err(DocaError::INVALID_VALUE) } else { Err(DocaError::NOT_SUPPORTED) }
    }

    fn doca_mmap_set_dpa_memrange[_map = borrow::<Map, _>: *mut Mmap](
        dpa: *mut Dpa,
        _address: u64,
        len: usize,
    ) {
        present(dpa)?;
        if len == 0 { Err(DocaError::INVALID_VALUE) } else { Err(DocaError::NOT_SUPPORTED) }
    }

    fn doca_mmap_get_memrange[map = borrow::<Map, _>: *const Mmap](
        address: *mut *mut c_void,
        len: *mut usize,
    ) {
        present(address)?;
        present(len)?;
        let (start, count) = map.range()?;
        // SAFETY: NULL, or a place that the host keeps for the result.
        unsafe { put(address, start) }?;
        // SAFETY: NULL, or a place that the host keeps for the result.
        unsafe { put(len, count) }
    }

    fn doca_mmap_set_free_cb[map = borrow::<Map, _>: *mut Mmap](
        callback: Option<FreeCallback>,
        cookie: *mut c_void,
    ) {
        let callback = callback.ok_or(DocaError::INVALID_VALUE)?;
        map.idle()?.free.set(Some((callback, cookie)));
        Ok(())
    }

    fn doca_mmap_set_user_data[map = borrow::<Map, _>: *mut Mmap](data: Data) {
        map.idle()?.user_data.set(data);
        Ok(())
    }

    fn doca_mmap_get_user_data[map = borrow::<Map, _>: *const Mmap](data: *mut Data) => data {
        map.user_data.get()
    }

    fn doca_mmap_set_max_num_devices[map = borrow::<Map, _>: *mut Mmap](count: u32) {
        map.set_most_devices(count)
    }

    fn doca_mmap_get_max_num_devices[map = borrow::<Map, _>: *const Mmap](
        count: *mut u32,
    ) => count {
        map.most_devices.get()
    }

    fn doca_mmap_get_num_bufs[map = borrow::<Map, _>: *const Mmap](count: *mut u32) => count {
        map.buffers()
    }

    fn doca_mmap_get_exported[map = borrow::<Map, _>: *const Mmap](
        exported: *mut u8,
    ) => exported {
        map.is_exported().into()
    }

    fn doca_mmap_get_from_export[map = borrow::<Map, _>: *const Mmap](
        from_export: *mut u8,
    ) => from_export {
        map.is_imported().into()
    }

    fn doca_mmap_set_permissions[map = borrow::<Map, _>: *mut Mmap](access: u32) {
        map.set_access(access)
    }

    fn doca_mmap_cap_is_export_pci_supported[_info = borrow::<DeviceInfo, _>: *const DevInfo](
        supported: *mut u8,
    ) => supported {
        1
    }

    fn doca_mmap_cap_is_create_from_export_pci_supported[
        _info = borrow::<DeviceInfo, _>: *const DevInfo
    ](supported: *mut u8) => supported {
        1
    }

    fn doca_mmap_enable_thread_safety[map = borrow::<Map, _>: *mut Mmap]() {
        // Several inventories may use a map at once as it is.
        map.idle().map(drop)
    }
}
