//! Owned payloads: the memory of notifications and of replies.

use std::cell::Cell;
use std::ptr::NonNull;

use urom_abi::descriptor::NotificationDesc;
use urom_abi::protocol::{Incoming, Reply};
use urom_abi::wire::{self, DecodeError, DecodeProblem, EncodeError};
use urom_abi::{Payload, Received};

use crate::get;
use crate::message::{Brought, BroughtEcho, Got, GotEcho};

const LEN: usize = crate::message::Notification::FIXED_LEN;

impl Brought {
    fn into_desc(self) -> NotificationDesc {
        self.into_descriptor(&BroughtEcho).unwrap()
    }
}

impl Got {
    fn into_desc(self) -> NotificationDesc {
        self.into_descriptor(&GotEcho).unwrap()
    }
}

fn got(incoming: impl Incoming) -> Result<Got, DecodeError> {
    Reply::decode(incoming, &GotEcho)
}

fn nothing() -> Brought {
    Brought { data: Received::default(), list: Payload::default(), note: None }
}

#[test]
fn a_payload_made_for_a_notification_becomes_that_notification() {
    let mut list = Got::payload(3).unwrap();
    assert_eq!(list.to_vec(), [0; 3]);
    list.as_bytes_mut().copy_from_slice(&[1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]);
    list.truncate(2);
    let received = list.as_bytes().as_ptr();
    let desc = Got { list }.into_desc();
    assert_eq!(desc.payload()[LEN..].as_ptr(), received);
    assert_eq!((desc.header().len, desc.payload().len()), (LEN as u64 + 8, LEN + 8));
    assert_eq!(got(desc.payload()).unwrap().list.to_vec(), [1, 2]);
}

#[test]
fn a_payload_that_was_cut_to_nothing_leaves_a_fixed_part() {
    let mut list = Got::payload(3).unwrap();
    list.truncate(0);
    let desc = Got { list }.into_desc();
    assert_eq!(desc.payload().len(), LEN);
    assert!(got(desc.payload()).unwrap().list.is_empty());
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
        let desc = Got { list: payload.cast().unwrap() }.into_desc();
        assert_ne!(desc.payload()[LEN..].as_ptr(), before);
        assert_eq!(desc.payload()[LEN..], [5; 8]);
        assert_eq!(got(desc.payload()).unwrap().list.to_vec(), [0x0505_0505; 2]);
    }
}

#[test]
fn several_payloads_reuse_a_descriptor_when_all_others_are_empty() {
    let list = Got::payload(2).unwrap();
    let received = list.as_bytes().as_ptr();
    let lone = Brought { list, ..nothing() };
    let desc = lone.into_desc();
    assert_eq!(desc.payload()[LEN..].as_ptr(), received);

    let list = Got::payload(2).unwrap();
    let received = list.as_bytes().as_ptr();
    let both = Brought { data: Payload::from(&[9]).into(), list, ..nothing() };
    let desc = both.into_desc();
    assert_ne!(desc.payload()[LEN..].as_ptr(), received);
    assert_eq!(desc.payload()[LEN..], [9, 0, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn the_words_of_a_notification_describe_its_payloads() {
    let words = |brought: Brought| {
        let desc = brought.into_desc();
        let word = |at| get::<u64>(desc.payload(), at).unwrap();
        (word(16), word(24), word(32), get::<u32>(desc.payload(), 12).unwrap())
    };
    assert_eq!(words(nothing()), (1, 0, 0, 0));
    let landed = Brought { data: Received::Registered { len: 5 }, ..nothing() };
    assert_eq!(words(landed), (0, 5, 0, 0));
    let empty = Brought { note: Some(Payload::default()), ..nothing() };
    assert_eq!(words(empty), (1, 0, 1, 0));
    let note = Brought { note: Some(Payload::from(&[1, 2])), ..nothing() };
    assert_eq!(words(note), (1, 0, 1, 2));
}

#[test]
fn a_payload_that_no_heap_can_hold_is_no_memory() {
    let no_memory = EncodeError::NoMemory { message: "Got" };
    for count in [usize::MAX, usize::MAX / 4, usize::MAX / 4 - 2] {
        assert_eq!(Got::payload(count).unwrap_err(), no_memory, "{count}");
    }
}

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
            // SAFETY: the cell outlives the payloads of these tests.
            let state = unsafe { &*state.cast::<Cell<(u32, u32)>>() };
            state.set((state.get().0, state.get().1 + 1));
        }
        self.state.set((self.state.get().0 + 1, self.state.get().1));
        let words = [std::ptr::from_ref(self.state).cast(), std::ptr::null()];
        // SAFETY: the bytes and the cell outlive the payloads of these tests.
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
    let mut bytes = sent.clone().into_desc().payload().to_vec();
    let start = bytes.as_ptr();
    let state = Cell::new((0, 0));
    let reply =
        Brought::decode(Response { bytes: &mut bytes, state: &state }, &BroughtEcho).unwrap();
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
    let mut bytes = Got { list: (&[1, 2]).into() }.into_desc().payload().to_vec();
    let state = Cell::new((0, 0));
    let found = bytes.len();
    bytes.push(0);
    let error = got(Response { bytes: &mut bytes, state: &state }).unwrap_err();
    assert_eq!(error.problem, DecodeProblem::Length { found: found + 1, expected: found });
    bytes.truncate(found - 1);
    let error = got(Response { bytes: &mut bytes, state: &state }).unwrap_err();
    assert_eq!(
        (error.field, error.problem),
        ("list", DecodeProblem::Length { found: found - 1, expected: found })
    );
    assert_eq!(state.get(), (0, 0));
}
