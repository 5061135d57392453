//! Owned payloads: whose memory a notification is made of, and whose memory a reply keeps.

use std::cell::Cell;
use std::ptr::NonNull;

use proptest::prelude::*;
use urom_abi::protocol::Incoming;
use urom_abi::wire::{self, DecodeProblem, EncodeError};
use urom_abi::{Payload, Received};

use crate::notification::*;

#[test]
fn a_payload_made_for_a_notification_becomes_that_notification() {
    let mut list = Got::payload(3).unwrap();
    assert_eq!(list.to_vec(), [0; 3]);
    list.as_bytes_mut().copy_from_slice(&[1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]);
    list.truncate(2);
    let received = list.as_bytes().as_ptr();
    let desc = Got { list }.into_descriptor().unwrap();
    assert_eq!(desc.payload()[LEN..].as_ptr(), received);
    assert_eq!((desc.header().len, desc.payload().len()), (LEN as u64 + 8, LEN + 8));
    assert_eq!(Got::decode(desc.payload()).unwrap().list.to_vec(), [1, 2]);
}

#[test]
fn a_payload_that_was_cut_to_nothing_leaves_a_fixed_part() {
    let mut list = Got::payload(3).unwrap();
    list.truncate(0);
    let desc = Got { list }.into_descriptor().unwrap();
    assert_eq!(desc.payload().len(), LEN);
    assert!(Got::decode(desc.payload()).unwrap().list.is_empty());
}

#[test]
fn any_other_payload_is_copied() {
    let mut shifted = wire::payload::<{ LEN + 8 }, u8>("Other", 8).unwrap();
    shifted.fill(5);
    let mut advanced = Got::payload(4).unwrap().into_bytes();
    advanced.fill(5);
    advanced.advance(8);
    let heap = Payload::from(vec![5; 8]);
    for payload in [shifted, advanced, heap] {
        let before = payload.as_ptr();
        let desc = Got { list: payload.cast().unwrap() }.into_descriptor().unwrap();
        assert_ne!(desc.payload()[LEN..].as_ptr(), before);
        assert_eq!(desc.payload()[LEN..], [5; 8]);
        assert_eq!(Got::decode(desc.payload()).unwrap().list.to_vec(), [0x0505_0505; 2]);
    }
}

#[test]
fn several_payloads_reuse_a_descriptor_when_all_others_are_empty() {
    let list = Got::payload(2).unwrap();
    let received = list.as_bytes().as_ptr();
    let lone = Brought { list, ..Brought::default() };
    let desc = lone.into_descriptor().unwrap();
    assert_eq!(desc.payload()[LEN..].as_ptr(), received);

    let list = Got::payload(2).unwrap();
    let received = list.as_bytes().as_ptr();
    let both = Brought { data: Payload::from(&[9]).into(), list, ..Brought::default() };
    let desc = both.into_descriptor().unwrap();
    assert_ne!(desc.payload()[LEN..].as_ptr(), received);
    assert_eq!(desc.payload()[LEN..], [9, 0, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn the_words_of_a_notification_tell_what_is_there() {
    let words = |brought: Brought| {
        let desc = brought.into_descriptor().unwrap();
        let fixed = desc.payload().first_chunk().unwrap();
        (DATA_ADDR.read(fixed), DATA_LEN.read(fixed), NOTE_ADDR.read(fixed), NOTE_LEN.read(fixed))
    };
    assert_eq!(words(Brought::default()), (1, 0, 0, 0));
    let landed = Brought { data: Received::Registered { len: 5 }, ..Brought::default() };
    assert_eq!(words(landed), (0, 5, 0, 0));
    let empty = Brought { note: Some(Payload::default()), ..Brought::default() };
    assert_eq!(words(empty), (1, 0, 1, 0));
    let note = Brought { note: Some(Payload::from(&[1, 2])), ..Brought::default() };
    assert_eq!(words(note), (1, 0, 1, 2));
}

#[test]
fn a_payload_that_no_heap_can_hold_is_no_memory() {
    let no_memory = EncodeError::NoMemory { message: "Got" };
    for count in [usize::MAX, usize::MAX / 4, usize::MAX / 4 - 2] {
        assert_eq!(Got::payload(count).unwrap_err(), no_memory, "{count}");
    }
}

/// A response whose memory is taken at most once, and given back.
struct Response<'a> {
    bytes: &'a mut [u8],
    state: &'a Cell<(u32, u32)>,
}

impl Incoming for Response<'_> {
    fn bytes(&self) -> &[u8] {
        self.bytes
    }

    fn into_payload(self, from: usize) -> Payload {
        unsafe fn release([state, _]: [*const (); 2]) {
            // SAFETY: the cell outlives the payloads of the tests here.
            let state = unsafe { &*state.cast::<Cell<(u32, u32)>>() };
            state.set((state.get().0, state.get().1 + 1));
        }
        self.state.set((self.state.get().0 + 1, self.state.get().1));
        let words = [std::ptr::from_ref(self.state).cast(), std::ptr::null()];
        // SAFETY: the bytes and the cell outlive the payloads of the tests here.
        let mut payload = unsafe { Payload::foreign(NonNull::from(self.bytes), words, release) };
        payload.advance(from);
        payload
    }
}

#[test]
fn a_reply_keeps_the_memory_it_came_in_until_its_last_payload_is_gone() {
    let sent = Brought {
        data: Payload::from(b"data").into(),
        list: (&[1, 2]).into(),
        note: Some((&[3]).into()),
    };
    let mut bytes = sent.clone().into_descriptor().unwrap().payload().to_vec();
    let start = bytes.as_ptr();
    let state = Cell::new((0, 0));
    let reply = Brought::decode(Response { bytes: &mut bytes, state: &state }).unwrap();
    assert_eq!(reply, sent);
    assert_eq!(reply.list.as_bytes().as_ptr(), start.wrapping_add(LEN + 4));
    let Brought { data: Received::Inline(mut data), list, note } = reply else {
        panic!("it was inline")
    };
    data.fill(0);
    assert_eq!((list.to_vec(), note.unwrap().to_vec()), (vec![1, 2], vec![3]));
    drop(list);
    assert_eq!(state.get(), (1, 0));
    assert_eq!(*data, [0; 4]);
    drop(data);
    assert_eq!(state.get(), (1, 1));
}

#[test]
fn a_reply_that_is_refused_takes_no_memory() {
    let mut bytes = Got { list: (&[1, 2]).into() }.into_descriptor().unwrap().payload().to_vec();
    let state = Cell::new((0, 0));
    let found = bytes.len();
    bytes.push(0);
    let error = Got::decode(Response { bytes: &mut bytes, state: &state }).unwrap_err();
    assert_eq!(error.problem, DecodeProblem::Length { found: found + 1, expected: found });
    bytes.truncate(found - 1);
    let error = Got::decode(Response { bytes: &mut bytes, state: &state }).unwrap_err();
    assert_eq!(
        (error.field, error.problem),
        ("list", DecodeProblem::Length { found: found - 1, expected: found })
    );
    assert_eq!(state.get(), (0, 0));
}

fn config() -> ProptestConfig {
    let cases = if cfg!(miri) { 4 } else { 256 };
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

fn brought() -> impl Strategy<Value = Brought> {
    use proptest::collection::vec;
    let data = prop_oneof![
        vec(any::<u8>(), 0..20).prop_map(|bytes| Received::Inline(bytes.into())),
        any::<u64>().prop_map(|len| Received::Registered { len }),
    ];
    (data, vec(any::<u32>(), 0..6), proptest::option::of(vec(any::<u16>(), 0..6))).prop_map(
        |(data, list, note)| Brought { data, list: list.into(), note: note.map(Payload::from) },
    )
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn what_was_sent_is_received(sent in brought()) {
        let desc = sent.clone().into_descriptor().unwrap();
        prop_assert_eq!(Brought::decode(desc.payload()), Ok(sent));
    }

    #[test]
    fn every_truncation_is_refused_and_every_corruption_is_refused_or_read(sent in brought(), value: u8) {
        let desc = sent.into_descriptor().unwrap();
        for len in 0..desc.payload().len() {
            prop_assert!(Brought::decode(&desc.payload()[..len]).is_err());
        }
        for at in 0..LEN {
            let mut wrong = desc.payload().to_vec();
            wrong[at] = value;
            if let Ok(read) = Brought::decode(&wrong[..]) {
                let again = read.clone().into_descriptor().unwrap();
                prop_assert_eq!(Brought::decode(again.payload()), Ok(read));
            }
        }
    }
}
