//! `doca_buf_inventory_*`, `doca_buf_pool_*`.

use std::ffi::c_void;
use std::rc::Rc;

use urom_abi::DocaError;
use urom_abi::host::{Buf, BufInventory, BufPool, Data, Mmap};
use urom_log::guard;
use urom_memory::BufferSpan;

use crate::buf::AnyBuf;
use crate::handle::{destroy, present, publish, put, share};
use crate::map::stock::{Inventory, Pool};
use crate::map::{Map, logged};

fn reuse(
    buf: &AnyBuf<'_>,
    address: *mut c_void,
    len: usize,
    data_len: usize,
) -> Result<(), DocaError> {
    present(address)?;
    let element = buf.element()?;
    let Some(head) = (address.addr() as u64).checked_sub(element.address()) else {
        log!(warn, "doca_buf_inventory_buf_reuse: the memory begins before the buffer's map");
        return Err(DocaError::INVALID_VALUE);
    };
    let span = BufferSpan { head, len: len as u64, data: head, data_len: data_len as u64 };
    element.reuse(span).map_err(logged)
}

functions! {
    fn doca_buf_inventory_create[](count: usize, inventory: *mut *mut BufInventory) => inventory {
        publish(Rc::new(Inventory::create(count)?))
    }

    fn doca_buf_inventory_destroy[](pointer: *mut BufInventory) {
        // SAFETY: NULL, or an object that the host keeps alive in this call.
        unsafe { destroy(pointer, Inventory::unused) }.map(drop)
    }

    fn doca_buf_inventory_start[inventory: *mut BufInventory]() { inventory.start() }

    fn doca_buf_inventory_stop[inventory: *mut BufInventory]() { inventory.stop() }

    fn doca_buf_inventory_buf_get_by_args[inventory: *mut BufInventory, map: *mut Mmap](
        address: *mut c_void, len: usize, data: *mut c_void, data_len: usize, buf: *mut *mut Buf,
    ) => buf {
        present(address)?;
        present(data)?;
        let span = BufferSpan {
            head: address.addr() as u64,
            len: len as u64,
            data: data.addr() as u64,
            data_len: data_len as u64,
        };
        inventory.take(map, span)?
    }

    fn doca_buf_inventory_buf_reuse_by_data[buf: *mut Buf](data: *mut c_void, len: usize) {
        reuse(&buf, data, len, len)
    }

    fn doca_buf_inventory_buf_reuse_by_addr[buf: *mut Buf](address: *mut c_void, len: usize) {
        reuse(&buf, address, len, 0)
    }

    fn doca_buf_inventory_buf_dup[inventory: *mut BufInventory, source: *const Buf](
        buf: *mut *mut Buf,
    ) => buf {
        match source {
            AnyBuf::OfMap(source) => inventory.dup(&source.element()?)?,
            AnyBuf::OfTask(_) => {
                log!(warn, "doca_buf_inventory_buf_dup: a task's buffer lies in no memory map");
                return Err(DocaError::NOT_PERMITTED);
            }
        }
    }

    fn doca_buf_inventory_set_user_data[inventory: *mut BufInventory](data: Data) {
        inventory.idle()?.user_data.set(data);
        Ok(())
    }

    fn doca_buf_inventory_get_user_data[inventory: *const BufInventory](data: *mut Data) => data {
        inventory.user_data.get()
    }

    fn doca_buf_inventory_get_num_elements[inventory: *const BufInventory](
        count: *mut u32,
    ) => count {
        inventory.count()
    }

    fn doca_buf_inventory_get_num_free_elements[inventory: *const BufInventory](
        count: *mut u32,
    ) => count {
        inventory.free() as u32
    }

    fn doca_buf_inventory_expand[inventory: *mut BufInventory](more: u32) { inventory.expand(more) }

    fn doca_buf_pool_create[](
        count: usize, size: usize, map: *const Mmap, pool: *mut *mut BufPool,
    ) => pool {
        // SAFETY: NULL, or an object that the host keeps alive in this call.
        let map: Rc<Map> = unsafe { share(map) }?;
        publish(Rc::new(Pool::create(count, size, &map)?))
    }

    fn doca_buf_pool_destroy[](pointer: *mut BufPool) {
        // SAFETY: NULL, or an object that the host keeps alive in this call.
        unsafe { destroy(pointer, Pool::unused) }.map(drop)
    }

    fn doca_buf_pool_start[pool: *mut BufPool]() { pool.start() }

    fn doca_buf_pool_stop[pool: *mut BufPool]() { pool.stop() }

    fn doca_buf_pool_buf_alloc[pool: *mut BufPool](buf: *mut *mut Buf) => buf { pool.take()? }

    fn doca_buf_pool_set_user_data[pool: *mut BufPool](data: Data) {
        pool.idle()?.user_data.set(data);
        Ok(())
    }

    fn doca_buf_pool_get_user_data[pool: *const BufPool](data: *mut Data) => data {
        pool.user_data.get()
    }

    fn doca_buf_pool_set_element_alignment[pool: *mut BufPool](alignment: usize) {
        pool.set_alignment(alignment)
    }

    fn doca_buf_pool_get_element_alignment[pool: *const BufPool](
        alignment: *mut usize,
    ) => alignment {
        pool.alignment()
    }

    fn doca_buf_pool_get_num_elements[pool: *const BufPool](count: *mut u32) => count {
        pool.count()
    }

    fn doca_buf_pool_get_num_free_elements[pool: *const BufPool](count: *mut u32) => count {
        pool.free() as u32
    }
}

#[cfg(test)]
mod tests {
    use std::ptr::null_mut;

    use urom_abi::DocaStatus;
    use urom_wire::fuzzing::memory::calls;

    use super::*;
    use crate::MEMORY;

    macro_rules! must {
        ($name:ident($($argument:expr),*)) => {
            // SAFETY: objects and variables of the test.
            assert_eq!(unsafe { (MEMORY.$name)($($argument),*) }, DocaStatus::SUCCESS)
        };
    }

    #[test]
    fn buffers_that_come_and_go_allocate_nothing() {
        let mut bytes = [0_u64; 8];
        let start: *mut c_void = bytes.as_mut_ptr().cast();
        let (mut map, mut inventory, mut pool) = (null_mut(), null_mut(), null_mut());
        must!(doca_mmap_create(&mut map));
        must!(doca_mmap_set_memrange(map, start, 64));
        must!(doca_mmap_start(map));
        must!(doca_buf_inventory_create(2, &mut inventory));
        must!(doca_buf_inventory_start(inventory));
        must!(doca_buf_pool_create(1, 8, map, &mut pool));
        must!(doca_buf_pool_start(pool));
        let before = calls();
        for _ in 0..10 {
            let (mut first, mut second, mut third) = (null_mut(), null_mut(), null_mut());
            let inventory: *mut BufInventory = inventory;
            must!(doca_buf_inventory_buf_get_by_args(
                inventory, map, start, 64, start, 8, &mut first
            ));
            must!(doca_buf_inventory_buf_dup(inventory, first, &mut second));
            must!(doca_buf_pool_buf_alloc(pool, &mut third));
            must!(doca_buf_chain_list(first, second));
            must!(doca_buf_chain_list_tail(first, second, third));
            must!(doca_buf_dec_refcount(first, null_mut()));
        }
        assert_eq!(calls(), before);
        must!(doca_buf_pool_destroy(pool));
        must!(doca_buf_inventory_destroy(inventory));
        must!(doca_mmap_destroy(map));
    }
}
