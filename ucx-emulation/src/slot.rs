//! Addresses for arenas. Those of all processes are different, so that a worker can map each of
//! them where its owner has it.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

/// What there is for one arena.
pub(crate) const SLOT_SIZE: usize = 32 << 30;

/// Where programs and the kernel put nothing by themselves, neither on x86-64 nor on aarch64, even
/// without a limit of the stack.
const FIRST: usize = 0x1100_0000_0000;

const COUNT: usize = 768;

/// A slot, which no other process of this user takes while this exists.
#[derive(Debug)]
pub(crate) struct AddressSlot {
    pub(crate) base: usize,
    /// A socket whose abstract name stands for the slot; the kernel lets go of it when the last
    /// process does that has it.
    _claim: Option<OwnedFd>,
}

/// The slots that are free, in the order in which a process with this id tries them.
///
/// Where claims are not possible, without sockets, it is its own slot alone: processes that start
/// one after another still have different ones.
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

/// Whether an arena of this size can be there.
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
    // As the arena's own: out of the way.
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
    fn what_is_no_slot_is_none() {
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
