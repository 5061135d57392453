//! `doca_mmap_*`.

use std::ffi::{c_int, c_void};
use std::rc::Rc;
use std::slice;

use urom_abi::DocaError;
use urom_abi::host::{Data, Dev, Dpa, FreeCallback, Mmap};
use urom_abi::memory::Access;
use urom_log::guard;
use urom_memory::Exported;

use crate::device::Device;
use crate::failure::refuse_if;
use crate::handle::{destroy, present, publish, put};
use crate::map::Map;

const FOR_PCI: Access = Access::PCI_READ_ONLY.union(Access::PCI_READ_WRITE);
const FOR_RDMA: Access = Access::RDMA_READ.union(Access::RDMA_WRITE).union(Access::RDMA_ATOMIC);

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
        let device = Device::find(dev)?;
        // Refuses other lengths before it reads the bytes.
        refuse_if(len != Exported::LEN, DocaError::INVALID_VALUE)?;
        // SAFETY: the caller's bytes, of this length.
        let bytes = unsafe { slice::from_raw_parts(bytes.cast::<u8>(), len) };
        // SAFETY: NULL, or the caller's data.
        let user_data = unsafe { user_data.as_ref() }.copied().unwrap_or_default();
        publish(Rc::new(Map::imported(bytes, device, user_data)?))
    }

    fn doca_mmap_destroy[](pointer: *mut Mmap) {
        // SAFETY: NULL, or an object that the host keeps alive in this call.
        let map = unsafe { destroy(pointer, Map::unused) }?;
        let farewell = map.farewell();
        drop(map);
        if let Some((callback, start, len, cookie)) = farewell {
            // SAFETY: the host's function with its arguments, after the map was dropped.
            unsafe { callback(start, len, cookie) };
        }
        Ok(())
    }

    fn doca_mmap_start[map: *mut Mmap]() { map.start() }

    fn doca_mmap_stop[map: *mut Mmap]() { map.stop() }

    fn doca_mmap_add_dev[map: *mut Mmap](dev: *mut Dev) { map.add_device(Device::find(dev)?) }

    fn doca_mmap_rm_dev[map: *mut Mmap](dev: *mut Dev) { map.remove_device(&Device::find(dev)?) }

    fn doca_mmap_export_pci[map: *mut Mmap](
        dev: *const Dev, bytes: *mut *const c_void, len: *mut usize,
    ) => (bytes, len) {
        map.export(&Device::find(dev)?, FOR_PCI)?
    }

    fn doca_mmap_export_rdma[map: *mut Mmap](
        dev: *const Dev, bytes: *mut *const c_void, len: *mut usize,
    ) => (bytes, len) {
        map.export(&Device::find(dev)?, FOR_RDMA)?
    }

    fn doca_mmap_dev_get_dpa_handle[_map: *mut Mmap](dev: *const Dev, handle: *mut u64) {
        Device::find(dev)?;
        present(handle)?;
        Err(DocaError::NOT_SUPPORTED)
    }

    fn doca_mmap_set_memrange[map: *mut Mmap](address: *mut c_void, len: usize) {
        map.set_range(address, len)
    }

    fn doca_mmap_set_dmabuf_memrange[_map: *mut Mmap](
        fd: c_int, _address: *mut c_void, _offset: usize, len: usize,
    ) {
        Err(if fd < 0 || len == 0 { DocaError::INVALID_VALUE } else { DocaError::NOT_SUPPORTED })
    }

    fn doca_mmap_set_dpa_memrange[_map: *mut Mmap](dpa: *mut Dpa, _address: u64, len: usize) {
        present(dpa)?;
        Err(if len == 0 { DocaError::INVALID_VALUE } else { DocaError::NOT_SUPPORTED })
    }

    fn doca_mmap_get_memrange[map: *const Mmap](
        address: *mut *mut c_void, len: *mut usize,
    ) => (address, len) {
        map.range()?
    }

    fn doca_mmap_set_free_cb[map: *mut Mmap](callback: Option<FreeCallback>, cookie: *mut c_void) {
        let callback = callback.ok_or(DocaError::INVALID_VALUE)?;
        map.idle()?.free.set(Some((callback, cookie)));
        Ok(())
    }

    fn doca_mmap_set_user_data[map: *mut Mmap](data: Data) {
        map.idle()?.user_data.set(data);
        Ok(())
    }

    fn doca_mmap_get_user_data[map: *const Mmap](data: *mut Data) => data { map.user_data.get() }

    fn doca_mmap_set_max_num_devices[map: *mut Mmap](count: u32) { map.set_most_devices(count) }

    fn doca_mmap_get_max_num_devices[map: *const Mmap](count: *mut u32) => count {
        map.most_devices.get()
    }

    fn doca_mmap_get_num_bufs[map: *const Mmap](count: *mut u32) => count { map.buffers() }

    fn doca_mmap_get_exported[map: *const Mmap](exported: *mut u8) => exported {
        map.is_exported().into()
    }

    fn doca_mmap_get_from_export[map: *const Mmap](from_export: *mut u8) => from_export {
        map.is_imported().into()
    }

    fn doca_mmap_set_permissions[map: *mut Mmap](access: u32) { map.set_access(access) }

    fn doca_mmap_enable_thread_safety[map: *mut Mmap]() {
        // Maps are always thread-safe.
        map.idle().map(drop)
    }
}
