//! Address slots for arenas, unique across processes: workers map arenas at the same address.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

pub(crate) const SLOT_SIZE: usize = 32 << 30;

/// Unused by programs and kernel on x86-64 and aarch64, even with an unlimited stack.
const FIRST: usize = 0x1100_0000_0000;

const COUNT: usize = 768;

#[derive(Debug)]
pub(crate) struct AddressSlot {
    pub(crate) base: usize,
    /// A socket whose abstract name reserves the slot. The last process to close it frees the slot.
    _claim: Option<OwnedFd>,
}

/// Returns the free slots, starting with the slot of this process id. Without sockets, returns only
/// that slot, so processes started in sequence still differ.
pub(crate) fn free(pid: u32) -> impl Iterator<Item = AddressSlot> {
    (0..COUNT).filter_map(move |at| {
        let slot = (pid as usize + at) % COUNT;
        let base = FIRST + slot * SLOT_SIZE;
        match claim(slot) {
            Ok(claim) => Some(AddressSlot { base, _claim: Some(claim) }),
            Err(Errno::ADDRINUSE) => None,
            Err(_) => (at == 0).then_some(AddressSlot { base, _claim: None }),
        }
    })
}

pub(crate) fn is_slot(base: u64, size: u64) -> bool {
    let (first, slot) = (FIRST as u64, SLOT_SIZE as u64);
    base >= first
        && base < first + COUNT as u64 * slot
        && (base - first).is_multiple_of(slot)
        && (1..=slot).contains(&size)
}

fn claim(slot: usize) -> Result<OwnedFd, Errno> {
    let uid = rustix::process::geteuid().as_raw();
    let name = format!("urom-ucx-emulation/{uid}/{slot}");
    let address = SocketAddrUnix::new_abstract_name(name.as_bytes())?;
    let flags = SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::bind(&socket, &address)?;
    // At a high number, like the arena's descriptor.
    Ok(rustix::io::fcntl_dupfd_cloexec(&socket, crate::memfd::HIGH).unwrap_or(socket))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_one_process_s_until_it_lets_go() {
        let pid = 4_000_000_000;
        let first = free(pid).next().expect("a slot is free");
        let second = free(pid).next().expect("another is free");
        assert_ne!(first.base, second.base);
        for slot in [&first, &second] {
            assert!(is_slot(slot.base as u64, SLOT_SIZE as u64), "{:x}", slot.base);
        }
        let base = first.base;
        drop(first);
        assert_eq!(free(pid).next().expect("it is free again").base, base);
    }

    #[test]
    fn ranges_that_are_not_slots_are_refused() {
        let (first, slot) = (FIRST as u64, SLOT_SIZE as u64);
        assert!(is_slot(first, 1));
        for (base, size) in [
            (0, slot),
            (first - slot, slot),
            (first + 4096, slot),
            (first + COUNT as u64 * slot, slot),
            (u64::MAX, slot),
            (first, 0),
            (first, slot + 1),
            (first, u64::MAX),
        ] {
            assert!(!is_slot(base, size), "{base:x}, {size:x}");
        }
    }
}
