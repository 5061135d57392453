//! Maps: ownership, permissions, and other processes' access by a descriptor.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::thread;

use memmap2::MmapOptions;
use rustix::fs::{
    MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, ftruncate, memfd_create,
};
use urom_abi::DocaError;
use urom_memory::{Access, Error, Exported, Mmap, RemoteMmap};

const WRITABLE: Access = Access::LOCAL_READ_WRITE;

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, Error>, code: DocaError, text: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.code(), code, "{error}");
    assert!(error.to_string().contains(text), "{error}");
}

fn exported(map: &Mmap) -> Exported {
    Exported::read(&map.export().unwrap()).unwrap()
}

#[test]
fn maps_of_vectors_and_slices_have_their_bytes() {
    let mut spare = Vec::with_capacity(100);
    spare.extend_from_slice(b"abc");
    for map in [Mmap::from_vec(spare, WRITABLE), Mmap::from_boxed((*b"abc").into(), WRITABLE)] {
        let mut map = map.unwrap();
        assert_eq!((map.len(), map.view().get::<[u8; 3]>(0)), (3, Ok(*b"abc")));
        assert_eq!(map.address(), map.view().as_ptr().addr() as u64);
        map.try_exclusive_bytes().unwrap()[0] = b'x';
        assert_eq!(map.view().get::<u8>(0), Ok(b'x'));
        assert!(map.fd().is_none() && map.read_only_fd().unwrap().is_none());
    }
}

#[test]
fn a_map_has_bytes() {
    let text = "at least one byte";
    refused(Mmap::allocate(0, WRITABLE), DocaError::INVALID_VALUE, text);
    refused(Mmap::from_vec(Vec::with_capacity(10), WRITABLE), DocaError::INVALID_VALUE, text);
    refused(Mmap::from_boxed([].into(), WRITABLE), DocaError::INVALID_VALUE, text);
    let null = std::ptr::null_mut::<u8>();
    for (start, len) in [(null, 1), (null.wrapping_sub(8), 8), (null.wrapping_add(8), usize::MAX)] {
        // SAFETY: refused.
        let map = unsafe { Mmap::from_raw(start, len, WRITABLE) };
        refused(map, DocaError::INVALID_VALUE, "there cannot be");
    }
}

#[test]
#[cfg_attr(miri, ignore = "it maps shared memory")]
fn more_memory_than_there_is_is_refused() {
    for len in [isize::MAX as usize, usize::MAX] {
        let error = Mmap::allocate(len, WRITABLE).unwrap_err();
        assert!(error.to_string().contains(&len.to_string()), "{error}");
    }
}

#[test]
fn every_map_has_a_number_of_its_own() {
    let ids: BTreeSet<u64> = thread::scope(|scope| {
        let make = || {
            let map = |_| Mmap::from_vec(vec![0], WRITABLE).unwrap().id();
            (0..100).map(map).collect::<Vec<_>>()
        };
        let threads = [scope.spawn(make), scope.spawn(make)];
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!((ids.len(), ids.contains(&0)), (200, false));
}

#[test]
fn bytes_are_given_only_while_nobody_else_uses_them() {
    let mut map = Mmap::from_vec(vec![1; 8], WRITABLE).unwrap();
    let share = map.begin_share();
    refused(map.try_exclusive_bytes(), DocaError::IN_USE, "is shared");
    assert_eq!((map.shares(), share.id()), (1, map.id()));
    drop(share);
    assert_eq!(map.try_exclusive_bytes().unwrap(), [1; 8]);
    let mut map = Mmap::from_vec(vec![1; 8], Access::PCI_READ_ONLY).unwrap();
    refused(map.try_exclusive_bytes(), DocaError::NOT_PERMITTED, "read-only");
}

#[test]
fn a_share_keeps_the_memory() {
    let map = Mmap::from_vec(vec![9; 8], WRITABLE).unwrap();
    let share = map.begin_share();
    drop(map);
    assert_eq!(share.view().get::<u8>(7), Ok(9));
    let share = thread::spawn(move || share).join().unwrap();
    assert_eq!(share.shares(), 0);
}

#[test]
#[cfg_attr(miri, ignore = "it maps shared memory")]
fn a_map_with_an_uncounted_descriptor_has_no_slice() {
    let mut map = Mmap::allocate(100, WRITABLE).unwrap();
    assert_eq!(map.try_exclusive_bytes().unwrap(), [0; 100]);
    let share = map.begin_share();
    assert!(share.fd().is_some());
    drop(share);
    map.try_exclusive_bytes().unwrap();
    assert_eq!(map.fd().unwrap().1, 0);
    refused(map.try_exclusive_bytes(), DocaError::IN_USE, "given away");
}

#[test]
fn only_what_others_may_use_is_exported() {
    for access in [Access::LOCAL_READ_ONLY, WRITABLE, WRITABLE | Access::PCI_RELAXED_ORDERING] {
        let map = Mmap::from_vec(vec![0], access).unwrap();
        refused(map.export(), DocaError::NOT_PERMITTED, "PCI_READ_ONLY");
    }
    let map = Mmap::from_vec(vec![0; 5], WRITABLE | Access::RDMA_ATOMIC).unwrap();
    let described = exported(&map);
    assert_eq!((described.range(), described.address()), (map.range(), map.address()));
    assert_eq!((described.access(), described.len()), (map.access(), 5));
    let remote = RemoteMmap::import(described);
    assert_eq!((remote.exported(), remote.range()), (described, map.range()));
    refused(remote.view(), DocaError::NOT_PERMITTED, "not mapped here");
}

#[test]
#[cfg_attr(miri, ignore = "it maps shared memory")]
fn one_process_reads_the_writes_of_the_other() {
    let map = Mmap::allocate(10_000, WRITABLE | Access::PCI_READ_WRITE).unwrap();
    let (fd, offset) = map.fd().unwrap();
    let peer = RemoteMmap::map(exported(&map), fd, offset).unwrap();
    map.view().copy_from(9_000, b"hello").unwrap();
    assert_eq!(peer.view().unwrap().get::<[u8; 5]>(1800), Ok(*b"hello"));
    peer.view().unwrap().set(0, 7_u64).unwrap();
    assert_eq!(map.view().get::<u64>(0), Ok(7));
    drop(map);
    assert_eq!(peer.view().unwrap().get::<u64>(0), Ok(7));
}

/// Kernels before 5.1 lack `F_SEAL_FUTURE_WRITE`.
fn kernel_refuses_writers() -> bool {
    let fd = memfd_create("test", MemfdFlags::ALLOW_SEALING).unwrap();
    fcntl_add_seals(fd, SealFlags::FUTURE_WRITE).is_ok()
}

#[test]
#[cfg_attr(miri, ignore = "it maps shared memory")]
fn nobody_but_the_owner_can_write_to_what_is_shared_for_reading() {
    let map = Mmap::allocate(4096, WRITABLE | Access::PCI_READ_ONLY).unwrap();
    map.view().set(0, 1_u64).unwrap();
    let share = map.begin_share();
    let (fd, _) = share.fd().unwrap();
    let read_only = share.read_only_fd().unwrap().unwrap();
    let peer = RemoteMmap::map(exported(&map), read_only.as_fd(), 0).unwrap();
    refused(peer.view().unwrap().set(0, 2_u64), DocaError::NOT_PERMITTED, "read-only");

    // Through the read-only descriptor, a reopened descriptor, and the writable descriptor.
    let mut ways = vec![File::from(read_only.try_clone().unwrap())];
    if kernel_refuses_writers() {
        use std::os::fd::AsRawFd;
        let path = format!("/proc/self/fd/{}", read_only.as_raw_fd());
        ways.extend(File::options().read(true).write(true).open(path));
        ways.push(fd.try_clone_to_owned().unwrap().into());
    }
    for mut way in ways {
        MmapOptions::new().map_raw(&way).expect_err("a writable mapping");
        way.write(b"x").expect_err("a write");
        MmapOptions::new().map_raw_read_only(&way).expect("a mapping to read");
    }
    map.view().set(0, 3_u64).unwrap();
    assert_eq!(peer.view().unwrap().get::<u64>(0), Ok(3));
}

#[test]
#[cfg_attr(miri, ignore = "it maps shared memory")]
fn a_read_only_descriptor_of_writable_memory_does_not_write() {
    let map = Mmap::allocate(4096, WRITABLE | Access::PCI_READ_WRITE).unwrap();
    let fd = map.read_only_fd().unwrap().unwrap();
    MmapOptions::new().map_raw(&File::from(fd.try_clone().unwrap())).expect_err("a mapping");
    refused(RemoteMmap::map(exported(&map), fd.as_fd(), 0), DocaError::OPERATING_SYSTEM, "mapping");
}

#[test]
#[cfg_attr(miri, ignore = "it maps shared memory")]
fn nobody_can_change_the_size() {
    let map = Mmap::allocate(10_000, WRITABLE | Access::PCI_READ_WRITE).unwrap();
    let (fd, _) = map.fd().unwrap();
    let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
    assert_eq!(fcntl_get_seals(fd).unwrap(), seals);
    ftruncate(fd, 100).unwrap_err();
    ftruncate(fd, 100_000).unwrap_err();
}

/// `engine.rs` tests the other reasons.
#[test]
#[cfg_attr(miri, ignore = "it maps shared memory")]
fn a_descriptor_that_could_crash_its_reader_is_refused() {
    let map = Mmap::allocate(4096, WRITABLE | Access::PCI_READ_WRITE).unwrap();
    let (fd, _) = map.fd().unwrap();
    let text = "mapping 4096 bytes at 1 of shared memory: its descriptor has not as many bytes";
    refused(RemoteMmap::map(exported(&map), fd, 1), DocaError::INVALID_VALUE, text);
}
