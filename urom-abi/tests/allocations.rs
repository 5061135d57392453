//! A payload needs no heap allocation except the notification that contains it.

use counting_allocator::{CountingAllocator, allocations_of};
use urom_abi::Payload;
use urom_abi::protocol::Answer;
use urom_abi::wire::{self, Field, field};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const LEN: usize = 8;
const COUNT_WORD: Field<u32, 0, LEN> = field();

#[test]
fn one_payload_is_sent_without_rusts_heap_and_received_with_one_copy() {
    let mut sent = None;
    let sending = || {
        let mut payload = wire::payload::<LEN, u8>("M", 5).unwrap();
        payload.copy_from_slice(b"hello");
        let count: u32 = wire::length_word("M", "payload", &payload).unwrap();
        let payloads = [wire::give(payload)];
        sent = wire::reply::<LEN, 1>("M", None, payloads, |fixed| COUNT_WORD.write(fixed, &count))
            .ok()
            .and_then(Answer::into_descriptor);
    };
    assert_eq!(allocations_of(sending), 0);
    let desc = sent.unwrap();
    let receiving = || {
        let (fixed, mut behind) = wire::start::<LEN>("M", desc.payload()).unwrap();
        let (_, part) = behind.part::<Payload>("payload", true, COUNT_WORD.read(fixed)).unwrap();
        behind.end().unwrap();
        let payload: Payload = wire::Tail::of(desc.payload(), LEN).take(part);
        assert_eq!(*payload, *b"hello");
    };
    assert_eq!(allocations_of(receiving), 1);
}
