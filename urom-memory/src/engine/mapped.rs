//! [`Mapped`]: the path of memory that this process maps by the host's descriptor.

use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::rc::Rc;

use memmap2::MmapRaw;
use rustix::param::page_size;
use urom_abi::DocaError;
use urom_abi::host_memory::{MemoryOperation, MemoryPath};

use super::{Path, Region, run_in_place};
use crate::error::Result;
use crate::memfd::{invalid, map_received};
use crate::view::View;

#[derive(Debug)]
pub struct Mapped {
    map: MmapRaw,
    is_writable: bool,
}

impl Mapped {
    /// Maps `len` bytes of a descriptor at `offset`.
    ///
    /// # Errors
    /// The memory can shrink, is too short, or does not begin at a page.
    pub fn new(fd: BorrowedFd<'_>, offset: u64, len: u64, is_writable: bool) -> io::Result<Mapped> {
        let map = map_received(fd, offset, len, is_writable)?;
        if !offset.is_multiple_of(page_size() as u64) {
            return Err(invalid("it does not begin at a page of its descriptor"));
        }
        Ok(Mapped { map, is_writable })
    }
}

impl Path for Mapped {
    fn kind(&self) -> MemoryPath {
        MemoryPath::MAPPED
    }

    fn mapping(&self) -> *mut u8 {
        self.map.as_mut_ptr()
    }

    #[inline]
    unsafe fn run(
        &self,
        _: &Rc<Region>,
        at: u64,
        mut operation: NonNull<MemoryOperation>,
    ) -> Result<(), DocaError> {
        let (start, len) = (self.map.as_mut_ptr(), self.map.len() as u64);
        // SAFETY: this owns the mapping of this length and permission. Other code gets only its
        // address and `View`s, so Rust references do not cover its bytes.
        let view = unsafe { View::from_raw(start, len, self.is_writable) };
        // SAFETY: the caller does not access the operation during the call.
        let operation = unsafe { operation.as_mut() };
        // SAFETY: the caller's bytes, as many as the operation moves.
        unsafe { run_in_place(view, at, operation) }
    }
}
