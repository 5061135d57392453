//! The memory of payloads.

use std::hint::black_box;

use urom_abi::{Data, Elements, Payload, Received};

#[test]
fn the_bytes_stay_where_they_are_when_the_payload_moves() {
    let mut payload = wire_payload();
    let before = payload.as_mut_ptr();
    let mut moved = black_box(Box::new(payload));
    // SAFETY: the bytes belong to the payload, and only this test writes them.
    unsafe { before.write(9) };
    assert_eq!(moved[0], 9);
    assert_eq!(moved.as_mut_ptr(), before);
    let moved = *moved;
    assert_eq!(moved.as_ptr(), before.cast_const());

    let mut heap = Payload::from(vec![1, 2, 3]);
    let before = heap.as_mut_ptr();
    let moved = black_box(Some(heap)).unwrap();
    // SAFETY: as above.
    unsafe { before.write(9) };
    assert_eq!(*moved, [9, 2, 3]);
}

fn wire_payload() -> Payload {
    urom_abi::wire::payload::<16, u8>("Message", 8).unwrap()
}

#[test]
fn a_vector_of_bytes_is_taken_over_and_others_are_copied() {
    let bytes = vec![1u8, 2, 3];
    let at = bytes.as_ptr();
    assert_eq!(Payload::from(bytes).as_ptr(), at);
    assert_eq!(Payload::from(vec![1u64, 2]).to_vec(), [1, 2]);
    assert_eq!(Payload::from(vec![[1u8; 3]; 2]).as_bytes(), [1; 6]);
    assert_eq!(Payload::from(&[7u16][..]).to_vec(), [7]);
    assert!(Payload::<u64>::from(Vec::new()).is_empty());
}

#[test]
fn lengths_count_elements_and_only_shrink() {
    let mut payload = Payload::from(&[1u32, 2, 3]);
    assert_eq!((payload.len(), payload.as_bytes().len()), (3, 12));
    payload.truncate(7);
    assert_eq!(payload.len(), 3);
    payload.truncate(1);
    assert_eq!(payload.to_vec(), [1]);
    payload.truncate(0);
    assert!(payload.is_empty());
    let mut bytes = Payload::from(b"abc");
    bytes.advance(2);
    assert_eq!(*bytes, *b"c");
    bytes.advance(usize::MAX);
    assert!(bytes.is_empty());
}

#[test]
fn bytes_become_whole_elements_or_stay_bytes() {
    let payload = Payload::from(&[1, 0, 2, 0]).cast::<u16>().unwrap();
    assert_eq!(payload.elements(), Elements::from(&[1, 2]));
    let back = payload.into_bytes().cast::<[u8; 3]>().unwrap_err();
    assert_eq!(*back, [1, 0, 2, 0]);
}

#[test]
fn payloads_are_equal_by_their_bytes_and_print_their_elements() {
    let payload = Payload::from(&[1u16, 2]);
    assert_eq!(payload, payload.clone());
    assert_ne!(payload.as_bytes().as_ptr(), payload.clone().as_bytes().as_ptr());
    assert_ne!(payload, Payload::from(&[1u16]));
    assert_eq!(format!("{payload:?}"), "[1, 2]");
    assert_eq!(Payload::<u16>::default(), Payload::from(&[0u16; 0]));
}

#[test]
fn both_variants_of_received_have_a_length() {
    assert_eq!(Received::from(Payload::from(b"abc")).len(), 3);
    assert_eq!(Received::Registered { len: 9 }.len(), 9);
    assert!(Received::default().is_empty());
    assert_eq!(Data::default(), Data::from(b""));
}
