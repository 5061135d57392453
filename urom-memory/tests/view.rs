//! Views: copies, refused accesses, and races with a writer.

use std::sync::atomic::Ordering;
use std::thread;

use urom_abi::DocaError;
use urom_memory::{Access, Error, Mmap, Result, View};

const WRITABLE: Access = Access::LOCAL_READ_WRITE;

fn map(bytes: &[u8]) -> Mmap {
    Mmap::from_vec(bytes.to_vec(), WRITABLE).unwrap()
}

fn bytes_of(view: View<'_>) -> Vec<u8> {
    let mut bytes = vec![0; view.len() as usize];
    view.copy_to(0, &mut bytes).unwrap();
    bytes
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T>, code: DocaError, text: &str) {
    let error: Error = result.unwrap_err();
    assert_eq!(error.code(), code);
    assert!(error.to_string().contains(text), "{error}");
}

#[test]
fn bytes_are_copied_in_and_out() {
    let map = map(&[0; 10]);
    map.view().copy_from(3, &[1, 2, 3]).unwrap();
    assert_eq!(bytes_of(map.view()), [0, 0, 0, 1, 2, 3, 0, 0, 0, 0]);
    map.view().copy_from(10, &[]).unwrap();
    assert_eq!(bytes_of(map.view().slice(4..=5).unwrap()), [2, 3]);
    assert!(map.view().slice(10..).unwrap().is_empty());
}

#[test]
fn a_range_outside_the_view_is_refused_by_its_numbers() {
    let map = map(&[0; 10]);
    let view = map.view();
    for (offset, len) in [(11, 0), (0, 11), (5, 6), (u64::MAX, 1), (u64::MAX, 0), (1 << 63, 1)] {
        let text = format!("{len} bytes at {offset} do not lie within memory of 10 bytes");
        refused(view.copy_to(offset, &mut vec![0; len]), DocaError::INVALID_VALUE, &text);
        refused(view.copy_from(offset, &vec![0; len]), DocaError::INVALID_VALUE, &text);
        let end = offset.saturating_add(len as u64);
        assert!(view.slice(offset..end).is_err() || end == offset, "{offset} {len}");
    }
    refused(view.slice(11..), DocaError::INVALID_VALUE, "0 bytes at 11");
    #[allow(clippy::reversed_empty_ranges, reason = "that is what is tested")]
    let reversed = view.slice(7..3);
    refused(reversed, DocaError::INVALID_VALUE, "begin at 7 and end at 3");
    refused(view.slice(..=u64::MAX), DocaError::INVALID_VALUE, "do not lie within");
    refused(view.get::<u64>(1), DocaError::INVALID_VALUE, "8 bytes at 8");
    refused(view.set(5, 1_u16), DocaError::INVALID_VALUE, "2 bytes at 10");
    refused(view.get::<u64>(u64::MAX), DocaError::INVALID_VALUE, "do not lie within");
    refused(view.copy_view(1, &view), DocaError::INVALID_VALUE, "10 bytes at 1");
}

#[test]
fn elements_need_no_alignment() {
    let map = map(&[0; 20]);
    let odd = map.view().slice(1..).unwrap();
    odd.set(1, 0x0102_0304_0506_0708_u64).unwrap();
    assert_eq!(odd.get::<u64>(1), Ok(0x0102_0304_0506_0708));
    assert_eq!(map.view().get::<u8>(9), Ok(8));
    assert_eq!(odd.get::<[u8; 0]>(u64::MAX), Ok([]));
}

#[test]
fn a_read_only_view_refuses_every_write() {
    let map = Mmap::from_vec(vec![7; 16], Access::LOCAL_READ_ONLY).unwrap();
    let view = map.view();
    assert!(!view.is_writable() && view.get::<u8>(15) == Ok(7));
    let code = DocaError::NOT_PERMITTED;
    refused(view.copy_from(0, &[1]), code, "read-only");
    refused(view.copy_view(0, &view), code, "read-only");
    refused(view.set(0, 1_u8), code, "read-only");
    refused(view.atomic_u64(0), code, "read-only");
    refused(view.update(&mut [0_u8; 4], |_| ()), code, "read-only");
    // SAFETY: refused.
    refused(unsafe { view.as_mut_slice() }, code, "read-only");
    refused(view.slice(3..).unwrap().set(0, 1_u8), code, "read-only");
    // SAFETY: no thread writes.
    assert_eq!(unsafe { view.as_slice() }, [7; 16]);
}

#[test]
fn atomics_are_aligned_words_within() {
    let words = vec![0_u64; 3].into_boxed_slice();
    let start = Box::into_raw(words).cast::<u8>();
    // SAFETY: 24 bytes that only the map uses; they are freed below, after the map.
    let map = unsafe { Mmap::from_raw(start, 24, WRITABLE) }.unwrap();
    let view = map.view();
    assert_eq!(view.atomic_u64(16).unwrap().fetch_add(5, Ordering::Relaxed), 0);
    assert_eq!(view.get::<u64>(2), Ok(5));
    for offset in 1..8 {
        refused(view.atomic_u64(offset), DocaError::INVALID_VALUE, "not aligned");
    }
    refused(view.atomic_u64(24), DocaError::INVALID_VALUE, "8 bytes at 24");
    refused(view.atomic_u64(u64::MAX), DocaError::INVALID_VALUE, "do not lie within");
    drop(map);
    // SAFETY: from the box above, which is not used any more.
    drop(unsafe { Box::from_raw(start.cast::<[u64; 3]>()) });
}

#[test]
fn chunks_cover_the_view_once() {
    let bytes: Vec<u8> = (0..=255).collect();
    let map = map(&bytes);
    for capacity in [1, 7, 64, 255, 256, 1000] {
        let (mut buffer, mut seen) = (vec![0_u8; capacity], Vec::new());
        let mut chunks = map.view().chunks(&mut buffer).unwrap();
        while let Some(chunk) = chunks.next_chunk() {
            assert!(!chunk.is_empty());
            seen.extend_from_slice(chunk);
        }
        assert_eq!(seen, bytes, "{capacity}");
        assert!(chunks.next_chunk().is_none());
    }
    let mut words = [0_u32; 3];
    let mut chunks = map.view().slice(4..20).unwrap().chunks(&mut words).unwrap();
    assert_eq!(chunks.next_chunk().unwrap()[0], u32::from_le_bytes([4, 5, 6, 7]));
    assert_eq!(chunks.next_chunk().unwrap(), [u32::from_le_bytes([16, 17, 18, 19])]);
}

#[test]
fn chunks_are_whole_elements() {
    let map = map(&[0; 10]);
    refused(map.view().chunks(&mut [0_u64; 2]).map(drop), DocaError::INVALID_VALUE, "10 bytes");
    refused(map.view().chunks::<u8>(&mut []).map(drop), DocaError::INVALID_VALUE, "up to 0");
    refused(map.view().chunks(&mut [[0_u8; 0]; 2]).map(drop), DocaError::INVALID_VALUE, "0 bytes");
    refused(map.view().update(&mut [0_u64], |_| ()), DocaError::INVALID_VALUE, "10 bytes");
    let nothing = map.view().slice(10..).unwrap();
    assert!(nothing.chunks(&mut [0_u64]).unwrap().next_chunk().is_none());
}

#[test]
fn an_update_changes_every_element_once() {
    let map = map(&[0; 80]);
    for word in 0..10 {
        map.view().set(word, word).unwrap();
    }
    map.view().update(&mut [0_u64; 3], |words| words.iter_mut().for_each(|w| *w *= 2)).unwrap();
    assert!((0..10).all(|word| map.view().get(word) == Ok(2 * word)));
}

#[test]
#[cfg_attr(miri, ignore = "it lacks memmove")]
fn views_that_overlap_are_copied_as_if_they_did_not() {
    let map = map(&[1, 2, 3, 4, 5]);
    map.view().copy_view(1, &map.view().slice(..4).unwrap()).unwrap();
    assert_eq!(bytes_of(map.view()), [1, 1, 2, 3, 4]);
    map.view().copy_view(0, &map.view().slice(2..).unwrap()).unwrap();
    assert_eq!(bytes_of(map.view()), [2, 3, 4, 3, 4]);
}

#[test]
#[cfg_attr(miri, ignore = "the writer races on purpose, as another process does")]
fn a_copy_that_races_with_a_writer_stays_what_it_is() {
    let map = Mmap::allocate(4096, WRITABLE).unwrap();
    let stop = map.view().atomic_u64(0).unwrap();
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut round = 0_u8;
            while stop.load(Ordering::Relaxed) == 0 {
                round = round.wrapping_add(1);
                map.view().copy_from(8, &[round; 4000]).unwrap();
            }
        });
        for _ in 0..1000 {
            let mut copy = [0; 4000];
            map.view().copy_to(8, &mut copy).unwrap();
            let again = copy;
            assert_eq!(std::hint::black_box(copy), again);
        }
        stop.store(1, Ordering::Relaxed);
        writer.join().unwrap();
    });
}
