//! Reads memory of unknown length: UCX's functions take pointers without lengths. The kernel copies
//! the bytes into a pipe. Containers may forbid `process_vm_readv`.

use std::ffi::c_void;
use std::os::fd::AsRawFd;

use rustix::io::Errno;
use rustix::pipe::PipeFlags;

/// The smallest page size; a fault can only begin at a multiple of it.
const PAGE: usize = 4096;

/// Copies up to `bytes.len()` bytes from an address, at most 4096. Returns the readable length.
///
/// # Errors
/// Creating the pipe failed: the process has too many descriptors.
pub(crate) fn peek(address: usize, bytes: &mut [u8]) -> Result<usize, Errno> {
    let (reader, writer) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    let to_boundary = (PAGE - address % PAGE).min(bytes.len());
    let mut read = 0;
    for (from, to) in [(0, to_boundary), (to_boundary, bytes.len())] {
        let (Some(start), Some(part)) = (address.checked_add(from), bytes.get_mut(from..to)) else {
            break;
        };
        let source = std::ptr::with_exposed_provenance::<c_void>(start);
        // libc's `write`, because rustix's takes a slice, and the memory may not exist.
        // SAFETY: the kernel checks the address.
        let written = unsafe { libc::write(writer.as_raw_fd(), source, part.len()) };
        let whole = usize::try_from(written) == Ok(part.len());
        if !whole || rustix::io::read(&reader, part) != Ok(to - from) {
            break;
        }
        read = to;
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_up_to_where_it_ends() {
        let bytes: Vec<u8> = (0..=255).cycle().take(2 * PAGE).collect();
        let mut found = [0; 300];
        assert_eq!(peek(bytes.as_ptr().addr() + 3, &mut found), Ok(300));
        assert_eq!(found, bytes[3..303]);

        let flags = rustix::mm::MapFlags::PRIVATE;
        let access = rustix::mm::ProtFlags::READ;
        // SAFETY: the mapping does not replace another.
        let page =
            unsafe { rustix::mm::mmap_anonymous(std::ptr::null_mut(), 2 * PAGE, access, flags) };
        let page = page.expect("two pages");
        let behind = page.wrapping_byte_add(PAGE);
        // SAFETY: the address is the second of the two pages.
        unsafe { rustix::mm::mprotect(behind, PAGE, rustix::mm::MprotectFlags::empty()) }
            .expect("it is there");
        assert_eq!(peek(behind.addr() - 100, &mut found), Ok(100));
        assert_eq!(found[..100], [0; 100]);
        for address in [behind.addr(), 0, 8, usize::MAX - 10, usize::MAX] {
            assert_eq!(peek(address, &mut found), Ok(0), "{address:x}");
        }
        assert_eq!(peek(bytes.as_ptr().addr(), &mut []), Ok(0));
        // SAFETY: the range was mapped above.
        unsafe { rustix::mm::munmap(page, 2 * PAGE) }.expect("it is there");
    }
}
