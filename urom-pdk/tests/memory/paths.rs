//! Memory on each path: its properties, operations and errors.

use std::ops::Bound;

use urom_pdk::DocaError;
use urom_pdk::memory::{Access, MemoryPath, MemoryRange};
use urom_pdk::test_util::{Domain, Worker, iface};

use crate::plugin::*;

const WORD: [u8; 8] = [16, 17, 18, 19, 20, 21, 22, 23];

#[test]
fn bytes_go_both_ways() {
    for path in PATHS {
        let (worker, memory) = open(BOTH, path);
        let sum = done(&worker, memory.slice(10..), async |cx, range| {
            let memory = cx.memory(range)?;
            let mut bytes = [0; 4];
            memory.read(50, &mut bytes).await?;
            memory.write(0, b"plugin").await?;
            memory.read(54, &mut []).await?;
            memory.write(54, &[]).await?;
            Ok(bytes.iter().map(|byte| u64::from(*byte)).sum())
        });
        assert_eq!(sum, Ok(60 + 61 + 62 + 63), "{path:?}");
        let mut expected = counting();
        expected[10..16].copy_from_slice(b"plugin");
        assert_eq!(memory.bytes(), expected, "{path:?}");
        assert_eq!((memory.opened(), memory.in_flight(), memory.path()), (0, 0, path));
    }
}

#[test]
fn atomic_operations_give_what_was_there_before() {
    for path in PATHS {
        let (worker, memory) = open(BOTH, path);
        let first = u64::from_ne_bytes(WORD);
        let last = done(&worker, memory.slice(8..), async move |cx, range| {
            let memory = cx.memory(range)?;
            assert_eq!(memory.fetch_add(8, 2).await?, first);
            assert_eq!(memory.swap(8, 40).await?, first + 2);
            assert_eq!(memory.compare_swap(8, 41, 1).await?, 40);
            assert_eq!(memory.compare_swap(8, 40, 42).await?, 40);
            memory.fetch_add(8, u64::MAX).await
        });
        assert_eq!((last, memory.view().get::<u64>(2)), (Ok(42), Ok(41)), "{path:?}");
    }
}

#[test]
fn memory_has_its_length_path_permissions_and_address() {
    for path in PATHS {
        let (worker, memory) = open(BOTH, path);
        let start = memory.view().as_ptr().addr() as u64;
        let seen = done(&worker, memory.slice(16..48), async move |cx, range| {
            let memory = cx.memory(range)?;
            assert_eq!((memory.len(), memory.is_empty(), memory.path()), (32, false, path));
            assert_eq!((memory.access(), memory.address()), (BOTH, start + 16));
            let text = format!("HostMemory(32 bytes at {:#x}, {})", start + 16, path.name());
            assert_eq!(format!("{memory:?}"), text);
            assert!(memory.slice(32..).is_empty());
            Ok(u64::from(memory.mapped().is_some()))
        });
        assert_eq!(seen, Ok(u64::from(path == MemoryPath::MAPPED)));
    }
}

#[test]
fn parts_are_the_memory_s_own_bytes_and_lie_within() {
    for path in PATHS {
        let (worker, memory) = open(BOTH, path);
        let inner = done(&worker, memory.range(), async |cx, range| {
            let memory = cx.memory(range)?;
            let part = memory.slice(8..).slice(8..=15);
            assert_eq!((part.len(), part.address()), (8, memory.address() + 16));
            part.swap(0, 7).await?;
            assert!(part.read(1, &mut [0; 8]).await.is_err(), "it is outside of the part");
            for (start, end) in [(0, 65), (65, 65), (7, 3), (u64::MAX, u64::MAX)] {
                assert!(memory.get(start..end).is_none(), "{start} {end}");
            }
            assert!(memory.get(..=u64::MAX).is_none());
            assert!(memory.get((Bound::Excluded(u64::MAX), Bound::Unbounded)).is_none());
            Ok(memory.get((Bound::Excluded(3), Bound::Unbounded)).map_or(0, |part| part.len()))
        });
        assert_eq!((inner, memory.view().get::<u64>(2)), (Ok(60), Ok(7)), "{path:?}");
        let outside = done(&worker, memory.range(), async |cx, range| {
            Ok(cx.memory(range)?.slice(1..66).len())
        });
        let text = "the range 1..66 does not lie within 64 bytes";
        failed(outside, DocaError::UNEXPECTED, text);
        assert_eq!(memory.opened(), 0, "a panic keeps nothing");
    }
}

#[test]
fn mapped_memory_is_used_in_place() {
    let (worker, memory) = open(BOTH, MemoryPath::MAPPED);
    let word = done(&worker, memory.slice(16..), async |cx, range| {
        let memory = cx.memory(range)?;
        let view = memory.mapped().ok_or(DocaError::NOT_SUPPORTED)?;
        view.set(1, 77_u64)?;
        Ok(view.get::<u64>(0)?)
    });
    assert_eq!((word, memory.view().get::<u64>(3)), (Ok(u64::from_ne_bytes(WORD)), Ok(77)));
}

#[test]
fn bytes_outside_are_refused() {
    for path in PATHS {
        let (worker, memory) = open(BOTH, path);
        for (offset, len) in [(64, 1), (0, 65), (u64::MAX, 1), (u64::MAX - 4, 8)] {
            let text = format!("{len} bytes at {offset} do not lie within memory of 64 bytes");
            let read = done(&worker, memory.range(), async move |cx, range| {
                cx.memory(range)?.read(offset, &mut vec![0; len]).await.map(|()| 0)
            });
            let write = done(&worker, memory.range(), async move |cx, range| {
                cx.memory(range)?.write(offset, &vec![0; len]).await.map(|()| 0)
            });
            for result in [read, write] {
                let (code, why) = result.unwrap_err();
                assert!(code == DocaError::INVALID_VALUE && why.contains(&text), "{why}");
            }
            let add = done(&worker, memory.slice(..), async move |cx, range| {
                cx.memory(range)?.fetch_add(offset.max(60), 1).await
            });
            failed(add, DocaError::INVALID_VALUE, "do not lie within memory of 64 bytes");
        }
        assert_eq!(memory.bytes(), counting());
    }
}

#[test]
fn a_failure_to_open_memory_has_its_reason() {
    for path in PATHS {
        let (worker, memory) = open(BOTH, path);
        let open = async |cx: &urom_pdk::Context, range| Ok(cx.memory(range)?.len());
        let MemoryRange { memory: number, .. } = memory.range();
        for (offset, len) in [(65, 0), (64, 1), (u64::MAX, 2), (0, u64::MAX)] {
            let range = MemoryRange { memory: number, offset, len };
            let why = format!("{range}: these bytes are not all in it");
            failed(done(&worker, range, open), DocaError::INVALID_VALUE, &why);
        }
        let other = MemoryRange { memory: number + 1, ..memory.range() };
        failed(done(&worker, other, open), DocaError::NOT_FOUND, "Mmap::share of urom_host");
        let end = MemoryRange { memory: number, offset: 64, len: 0 };
        assert_eq!(done(&worker, end, open), Ok(0), "no bytes are in any memory");
    }
}

#[test]
fn atomic_operations_need_aligned_bytes() {
    for path in PATHS {
        let (worker, memory) = open(BOTH, path);
        let add = async |cx: &urom_pdk::Context, range| cx.memory(range)?.fetch_add(0, 1).await;
        let why = match path {
            MemoryPath::MAPPED => "the atomic word at 0 is not aligned",
            _ => "an atomic operation on 8 bytes at 0 of a host's memory",
        };
        for offset in [1, 4, 7] {
            failed(done(&worker, memory.slice(offset..), add), DocaError::INVALID_VALUE, why);
        }
        assert_eq!(memory.bytes(), counting());
    }
}

#[test]
fn memory_that_the_host_keeps_from_others_is_not_written() {
    for path in PATHS {
        let (worker, memory) = open(Access::PCI_READ_ONLY, path);
        let read = done(&worker, memory.range(), async |cx, range| {
            let mut byte = [0];
            cx.memory(range)?.read(5, &mut byte).await?;
            Ok(byte[0].into())
        });
        assert_eq!(read, Ok(5));
        let write = done(&worker, memory.range(), async |cx, range| {
            cx.memory(range)?.write(0, b"x").await.map(|()| 0)
        });
        let (code, why) = write.unwrap_err();
        assert!(code == DocaError::NOT_PERMITTED && !why.is_empty(), "{why}");
        let swap =
            done(&worker, memory.range(), async |cx, range| cx.memory(range)?.swap(0, 1).await);
        failed(swap, DocaError::NOT_PERMITTED, " to write");
        let in_place = done(&worker, memory.range(), async |cx, range| {
            let memory = cx.memory(range)?;
            memory.mapped().map_or(Err(DocaError::NOT_PERMITTED.into()), |view| {
                Ok(view.set(0, 1_u64).map(|()| 0)?)
            })
        });
        assert_eq!(in_place.unwrap_err().0, DocaError::NOT_PERMITTED);
        assert_eq!(memory.bytes(), counting());
        // The test may always write.
        memory.view().set(0, 9_u8).unwrap();
        assert_eq!(memory.bytes()[0], 9);
    }
}

#[test]
fn a_worker_without_these_services_gives_the_next_step() {
    let domain = Domain::new();
    // SAFETY: an interface of this kit.
    let worker =
        unsafe { Worker::<Protocol>::from_watched_iface(iface::<Plugin, Protocol>(), &domain) };
    let worker = worker.unwrap();
    // The handler sees the error; the host of such a worker only gets the code.
    act(async |cx, range| {
        let error = cx.memory(range).unwrap_err();
        assert!(error.to_string().contains("exports its memory by UCX (ucp_memh_pack)"), "{error}");
        Err(error)
    });
    let range = MemoryRange { memory: 1, offset: 0, len: 8 };
    assert_eq!(worker.call(Act { memory: range }), Err(DocaError::NOT_SUPPORTED));
}
