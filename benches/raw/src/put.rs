//! Messages whose data the other end puts into this end's memory, as a plugin in C appends.

use std::ffi::c_void;
use std::ptr;

use anyhow::{Context, Result, ensure};
use ucx_sys::{self as sys, Zeroed};

use crate::{Peer, check};

/// Bytes of a message.
pub const PUT: usize = 64;

/// Number of slots in the memory, which messages fill in turn.
pub const SLOTS: usize = 64;

#[derive(Debug)]
pub(crate) struct Target {
    handle: sys::ucp_mem_h,
    start: *mut u8,
}

#[derive(Debug)]
pub(crate) struct Aim {
    key: sys::ucp_rkey_h,
    address: u64,
}

impl Peer {
    /// Allocates memory for the other end's puts; returns its address and remote key.
    pub fn allocate(&mut self) -> Result<(u64, Vec<u8>)> {
        let mut params = sys::ucp_mem_map_params_t::zeroed();
        params.field_mask =
            (sys::UCP_MEM_MAP_PARAM_FIELD_LENGTH | sys::UCP_MEM_MAP_PARAM_FIELD_FLAGS).into();
        params.length = PUT * SLOTS;
        params.flags = sys::UCP_MEM_MAP_ALLOCATE;
        let mut handle = ptr::null_mut();
        // SAFETY: the context is live, and the mask names the set fields.
        check("ucp_mem_map", unsafe { sys::ucp_mem_map(self.context, &params, &mut handle) })?;
        let target = self.target.insert(Target { handle, start: ptr::null_mut() });
        let mut attributes = sys::ucp_mem_attr_t::zeroed();
        attributes.field_mask = sys::UCP_MEM_ATTR_FIELD_ADDRESS.into();
        // SAFETY: the memory is mapped, and the mask names the requested fields.
        check("ucp_mem_query", unsafe { sys::ucp_mem_query(handle, &mut attributes) })?;
        target.start = attributes.address.cast();
        let (mut buffer, mut length) = (ptr::null_mut(), 0);
        // SAFETY: the memory is mapped in this context, and both results can be written to.
        let packed = unsafe { sys::ucp_rkey_pack(self.context, handle, &mut buffer, &mut length) };
        check("ucp_rkey_pack", packed)?;
        // SAFETY: UCX guarantees `length` bytes until they are released below.
        let key = unsafe { std::slice::from_raw_parts(buffer.cast::<u8>(), length) }.to_vec();
        // SAFETY: from `ucp_rkey_pack`, released once.
        unsafe { sys::ucp_rkey_buffer_release(buffer) };
        Ok((target.start.addr() as u64, key))
    }

    /// Puts received messages to the other end's memory from now on.
    pub fn aim(&mut self, address: u64, key: &[u8]) -> Result<()> {
        let endpoint = *self.endpoints.first().context("the endpoint is missing")?;
        let mut raw = ptr::null_mut();
        // SAFETY: the endpoint is live, and its other end's UCX wrote the key.
        check("ucp_ep_rkey_unpack", unsafe {
            sys::ucp_ep_rkey_unpack(endpoint, key.as_ptr().cast(), &mut raw)
        })?;
        ensure!(self.aim.replace(Aim { key: raw, address }).is_none(), "it aims already");
        Ok(())
    }

    /// Sends message `count`, from 0, with this header and the sender's endpoint; waits until its
    /// last word has been put.
    ///
    /// # Panics
    /// If UCX fails, or the memory is not allocated.
    #[inline]
    pub fn send_and_see(&self, count: u64, header: &[u8], message: &[u8; PUT]) {
        let target = self.target.as_ref().expect("memory is allocated");
        let last_word = target.start.wrapping_add(slot_offset(count) + PUT - 8).cast::<u64>();
        let last = message.last_chunk().map_or(0, |word| u64::from_ne_bytes(*word));
        let mut param = sys::ucp_request_param_t::zeroed();
        param.op_attr_mask = sys::UCP_OP_ATTR_FIELD_FLAGS;
        param.flags = sys::UCP_AM_SEND_FLAG_REPLY;
        let (endpoint, number) = (self.endpoints[0], self.number);
        let (head, bytes) = (header.as_ptr().cast::<c_void>(), message.as_ptr().cast::<c_void>());
        // SAFETY: the endpoint is live, and this waits until UCX has done with the message.
        let request = unsafe {
            sys::ucp_am_send_nbx(endpoint, number, head, header.len(), bytes, PUT, &param)
        };
        self.finish(request, false).expect("a message is sent");
        // SAFETY: an aligned word of the memory, which another process writes.
        while unsafe { last_word.read_volatile() } != last {
            self.progress();
        }
    }

    pub(crate) fn serve_puts(&self) -> Result<()> {
        let aim = self.aim.as_ref().context("it aims at nothing")?;
        let counters = &self.counters[0];
        let (first, mut served) = (counters.received.get(), 0);
        while !counters.stopped.take() {
            self.progress();
            while served < counters.received.get() - first {
                let data = counters.last.get();
                let param = sys::ucp_request_param_t::zeroed();
                let address = aim.address + slot_offset(served) as u64;
                let (endpoint, bytes) = (self.endpoints[0], data.as_ptr().cast::<c_void>());
                // SAFETY: endpoint and key are live, the other end has a slot there, and this waits
                // until UCX has done with the data.
                let request =
                    unsafe { sys::ucp_put_nbx(endpoint, bytes, PUT, address, aim.key, &param) };
                self.finish(request, false)?;
                served += 1;
            }
        }
        Ok(())
    }

    /// Releases key and memory, before the worker and the context.
    pub(crate) fn forget_memory(&mut self) {
        if let Some(aim) = self.aim.take() {
            // SAFETY: unpacked by this peer, and destroyed once.
            unsafe { sys::ucp_rkey_destroy(aim.key) };
        }
        if let Some(target) = self.target.take() {
            // SAFETY: mapped in this context, and unmapped once.
            unsafe { sys::ucp_mem_unmap(self.context, target.handle) };
        }
    }
}

fn slot_offset(count: u64) -> usize {
    (count % SLOTS as u64) as usize * PUT
}
