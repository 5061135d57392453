//! Memory registered with UCX, for access by peers or for repeated sends.

use std::any::Any;
use std::ptr::{self, NonNull};
use std::rc::Rc;

use ucx_sys::{self as sys, Zeroed};

use crate::context::Context;
use crate::features::Features;
use crate::ranges::Ranges;
use crate::status::{Result, Status, check};

/// Registered memory (`ucp_mem_h`), kept by its handles and
/// [`BorrowedRange`](crate::BorrowedRange)s.
///
/// A peer with its [remote key](Memory::remote_key) can access it at any time, so bytes are copied.
///
/// ```
/// use ucx::{Context, Features, Memory};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let context = Context::builder(Features::RMA).config("TLS", "self").build()?;
/// let memory = Memory::allocate(&context, 4096)?;
/// memory.write(8, b"hello");
/// let mut bytes = [0; 5];
/// memory.read(8, &mut bytes);
/// assert_eq!(&bytes, b"hello");
/// // A peer needs these to reach it, besides an endpoint.
/// let (address, length, key) = (memory.address(), memory.len(), memory.remote_key()?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Memory {
    inner: Rc<MemoryState>,
}

struct MemoryState {
    start: NonNull<u8>,
    length: usize,
    /// Declared first, so that it is unmapped before the bytes are freed.
    mapping: MemoryMapping,
    ranges: Ranges,
    _bytes: Option<Box<dyn Any>>,
}

struct MemoryMapping {
    raw: sys::ucp_mem_h,
    context: Context,
}

impl MemoryMapping {
    fn new(context: &Context, params: &sys::ucp_mem_map_params_t, what: String) -> Result<Self> {
        let mut raw = ptr::null_mut();
        // SAFETY: the context is live, and the mask names the set fields.
        check(unsafe { sys::ucp_mem_map(context.raw(), params, &mut raw) }, what)?;
        Ok(MemoryMapping { raw, context: context.clone() })
    }
}

impl Drop for MemoryMapping {
    fn drop(&mut self) {
        // SAFETY: mapped in this live context, and unmapped once, after all its requests.
        unsafe { sys::ucp_mem_unmap(self.context.raw(), self.raw) };
    }
}

impl Memory {
    /// Allocates and registers zeroed memory: `ucp_mem_map` with `UCP_MEM_MAP_ALLOCATE`.
    ///
    /// # Errors
    /// `INVALID_PARAM` for a length of zero, `NO_MEMORY`, or UCX's other errors.
    pub fn allocate(context: &Context, length: usize) -> Result<Memory> {
        let what = || format!("allocating {length} bytes of registered memory");
        if length == 0 {
            return Err(Status::INVALID_PARAM.during(what()));
        }
        let mut params = params(ptr::null_mut(), length);
        params.field_mask |= u64::from(sys::UCP_MEM_MAP_PARAM_FIELD_FLAGS);
        params.flags = sys::UCP_MEM_MAP_ALLOCATE;
        let mapping = MemoryMapping::new(context, &params, what())?;
        let mut attributes = sys::ucp_mem_attr_t::zeroed();
        attributes.field_mask = sys::UCP_MEM_ATTR_FIELD_ADDRESS.into();
        // SAFETY: the memory is mapped, and the mask limits what UCX writes.
        check(unsafe { sys::ucp_mem_query(mapping.raw, &mut attributes) }, what())?;
        let start = NonNull::new(attributes.address.cast::<u8>());
        let start = start.ok_or_else(|| Status::NO_MEMORY.during(what()))?;
        // SAFETY: UCX allocated at least `length` writable bytes, without another pointer to them.
        unsafe { start.as_ptr().write_bytes(0, length) };
        Ok(Memory::new(mapping, start, length, None))
    }

    pub(crate) fn registered(
        context: &Context,
        start: NonNull<u8>,
        length: usize,
        bytes: Box<dyn Any>,
        what: String,
    ) -> Result<Memory> {
        let mapping = MemoryMapping::new(context, &params(start.as_ptr(), length), what)?;
        Ok(Memory::new(mapping, start, length, Some(bytes)))
    }

    fn new(
        mapping: MemoryMapping,
        start: NonNull<u8>,
        length: usize,
        bytes: Option<Box<dyn Any>>,
    ) -> Memory {
        Memory {
            inner: Rc::new(MemoryState {
                start,
                length,
                mapping,
                ranges: Ranges::default(),
                _bytes: bytes,
            }),
        }
    }

    /// Returns the start address, which peers use.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.inner.start.addr().get() as u64
    }

    /// Returns the length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner.length
    }

    /// Never true: empty memory cannot be registered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inner.length == 0
    }

    /// Copies bytes out; concurrent writes of a request or a peer yield a mixture.
    ///
    /// # Panics
    /// When the bytes are not all inside.
    pub fn read(&self, offset: usize, to: &mut [u8]) {
        let from = self.at(offset, to.len());
        // SAFETY: the bytes are inside; `to` is Rust's own memory, so it does not overlap.
        unsafe { from.copy_to_nonoverlapping(to.as_mut_ptr(), to.len()) };
    }

    /// Copies bytes in.
    ///
    /// # Panics
    /// When the bytes are not all inside, or some are borrowed.
    pub fn write(&self, offset: usize, from: &[u8]) {
        let to = self.at(offset, from.len());
        assert!(
            !self.inner.ranges.clash(&(offset..offset + from.len()), false),
            "writing to borrowed memory"
        );
        // SAFETY: the bytes are inside; `from` is Rust's own memory, so it does not overlap.
        unsafe { to.copy_from_nonoverlapping(from.as_ptr(), from.len()) };
    }

    /// Returns the registration if it belongs to this context; UCX accepts only those.
    #[inline]
    pub(crate) fn within(&self, context: &Context) -> Option<sys::ucp_mem_h> {
        // Both contexts are live, so their addresses differ.
        let mapping = &self.inner.mapping;
        (mapping.context.raw() == context.raw()).then_some(mapping.raw)
    }

    pub(crate) fn ranges(&self) -> &Ranges {
        &self.inner.ranges
    }

    pub(crate) fn at(&self, offset: usize, length: usize) -> *mut u8 {
        let end = offset.checked_add(length);
        assert!(
            end.is_some_and(|end| end <= self.inner.length),
            "{length} bytes at {offset} are not inside"
        );
        // SAFETY: inside, or one past the end with no bytes.
        unsafe { self.inner.start.as_ptr().add(offset) }
    }

    /// Returns the key for a peer to access this memory with
    /// [`Endpoint::remote_memory`](crate::Endpoint::remote_memory): `ucp_rkey_pack`.
    ///
    /// # Errors
    /// `UNSUPPORTED` without [`Features::RMA`] or [`Features::AMO64`]; otherwise UCX's error.
    pub fn remote_key(&self) -> Result<Vec<u8>> {
        let context = &self.inner.mapping.context;
        if !context.features().contains(Features::AMO64) {
            context.require(Features::RMA, "packing a remote key")?;
        }
        let (mut buffer, mut length) = (ptr::null_mut(), 0);
        // SAFETY: the memory is mapped in this context, and both out pointers are writable.
        let status = unsafe {
            sys::ucp_rkey_pack(context.raw(), self.inner.mapping.raw, &mut buffer, &mut length)
        };
        check(status, "packing a remote key")?;
        // SAFETY: UCX returned `length` bytes that stay valid until the release below.
        let key = unsafe { std::slice::from_raw_parts(buffer.cast::<u8>(), length) }.to_vec();
        // SAFETY: from `ucp_rkey_pack`, released once.
        unsafe { sys::ucp_rkey_buffer_release(buffer) };
        Ok(key)
    }

    /// Returns the handle for another process to import this memory: `ucp_memh_pack`.
    ///
    /// # Errors
    /// `UNSUPPORTED` without [`Features::EXPORTED_MEMH`] or a device for it.
    pub fn export(&self) -> Result<Vec<u8>> {
        self.inner.mapping.context.require(Features::EXPORTED_MEMH, "exporting memory")?;
        let mut params = sys::ucp_memh_pack_params_t::zeroed();
        params.field_mask = sys::UCP_MEMH_PACK_PARAM_FIELD_FLAGS.into();
        // Without this flag, some versions of UCX abort the process.
        params.flags = sys::UCP_MEMH_PACK_FLAG_EXPORT.into();
        let (mut buffer, mut length) = (ptr::null_mut(), 0);
        // SAFETY: the memory is mapped, the mask names the set fields, out pointers are writable.
        let status = unsafe {
            sys::ucp_memh_pack(self.inner.mapping.raw, &params, &mut buffer, &mut length)
        };
        check(status, "exporting memory")?;
        // SAFETY: UCX returned `length` bytes that stay valid until the release below.
        let bytes = unsafe { std::slice::from_raw_parts(buffer.cast::<u8>(), length) }.to_vec();
        let release = sys::ucp_memh_buffer_release_params_t::zeroed();
        // SAFETY: from `ucp_memh_pack`, released once.
        unsafe { sys::ucp_memh_buffer_release(buffer, &release) };
        Ok(bytes)
    }
}

fn params(start: *mut u8, length: usize) -> sys::ucp_mem_map_params_t {
    let mut params = sys::ucp_mem_map_params_t::zeroed();
    params.field_mask = u64::from(
        sys::UCP_MEM_MAP_PARAM_FIELD_ADDRESS
            | sys::UCP_MEM_MAP_PARAM_FIELD_LENGTH
            | sys::UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE,
    );
    params.address = start.cast();
    params.length = length;
    params.memory_type = sys::UCS_MEMORY_TYPE_HOST;
    params
}

debug_fields!(Memory, |it| { address: it.address(), len: it.len() });

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request;

    #[test]
    fn a_request_names_a_registration_of_its_own_context_only() {
        let context = || Context::builder(Features::TAG).config("TLS", "shm,self").build().unwrap();
        let (own, other) = (context(), context());
        let worker = own.worker().unwrap();
        for (context, named) in [(&own, true), (&other, false)] {
            let memory = Memory::allocate(context, 4096).unwrap();
            let params = request::params_for(&worker, &memory.try_borrow_mut(0..4096).unwrap());
            assert_eq!(params.op_attr_mask & sys::UCP_OP_ATTR_FIELD_MEMH != 0, named);
            let expected = if named { memory.inner.mapping.raw } else { ptr::null_mut() };
            assert_eq!(params.memh, expected);
        }
    }
}
