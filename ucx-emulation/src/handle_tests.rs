use super::*;
use crate::slot::SLOT_SIZE;

const BASE: usize = 0x1100_0000_0000;

fn handle() -> MemoryHandle {
    MemoryHandle {
        address: BASE + 0x10000,
        length: 131_072,
        arena: ArenaId {
            base: BASE,
            size: SLOT_SIZE,
            fd: 900,
            file: FileId { dev: 1, ino: 4711 },
            cookie: *b"sixteen bytes...",
        },
        pid: 4711,
    }
}

#[test]
fn a_handle_is_what_was_packed_whatever_follows_it() {
    let mut bytes = handle().pack().to_vec();
    assert_eq!(MemoryHandle::unpack(&bytes), Ok(handle()));
    bytes.extend([0xff; 100]);
    assert_eq!(MemoryHandle::unpack(&bytes), Ok(handle()));
    // Two handles must fit in UCC's work buffer of 1024 bytes.
    const { assert!(2 * HANDLE_LEN <= 1024) };
    // UCX treats zeros as an empty handle.
    assert_ne!(bytes[..3], [0; 3]);
}

#[test]
fn bytes_that_are_no_handle_are_refused() {
    for bytes in [&[][..], &[0; 8], &[0; 200], &[0xff; 200], b"UROMxgvX and more", &MARK[..7]] {
        let refusal = MemoryHandle::unpack(bytes).expect_err("it is none");
        assert!(refusal.contains("not a handle"), "{refusal}");
    }
}

#[test]
fn a_handle_that_was_cut_off_or_changed_is_refused() {
    let bytes = handle().pack();
    for len in MARK.len()..HANDLE_LEN {
        assert!(MemoryHandle::unpack(&bytes[..len]).is_err(), "{len}");
        let mut followed = bytes;
        followed[len..].fill(0);
        if followed != bytes {
            assert!(MemoryHandle::unpack(&followed).is_err(), "{len}");
        }
    }
    for at in 0..HANDLE_LEN {
        let mut changed = bytes;
        changed[at] ^= 0x10;
        assert!(MemoryHandle::unpack(&changed).is_err(), "byte {at}");
    }
}

#[test]
fn a_range_that_is_not_in_an_arena_is_refused() {
    let valid = handle();
    let moved = |base, size| ArenaId { base, size, ..valid.arena };
    for wrong in [
        MemoryHandle { length: 0, ..valid },
        MemoryHandle { length: usize::MAX, ..valid },
        MemoryHandle { length: SLOT_SIZE, ..valid },
        MemoryHandle { address: BASE - 4096, ..valid },
        MemoryHandle { address: BASE + SLOT_SIZE, ..valid },
        MemoryHandle { address: usize::MAX, ..valid },
        MemoryHandle { arena: moved(BASE + 4096, SLOT_SIZE), ..valid },
        MemoryHandle { arena: moved(0, SLOT_SIZE), ..valid },
        MemoryHandle { arena: moved(BASE, 65536), ..valid },
        MemoryHandle { arena: moved(BASE, usize::MAX), ..valid },
        MemoryHandle { arena: ArenaId { fd: -1, ..valid.arena }, ..valid },
    ] {
        let refusal = MemoryHandle::unpack(&wrong.pack()).expect_err("it is not in one");
        assert!(refusal.contains("not in an arena"), "{wrong:x?}: {refusal}");
    }
}
