//! Several workers that find each other.

use urom_pdk::test_util::{Buffer, Domain, Lookup, Worker};
use urom_pdk::{DocaError, Segment};

use crate::plugin::*;

#[test]
fn members_find_each_others_addresses_and_buffers() {
    let domain = Domain::new();
    let one = domain.open::<Obliging, Protocol>(10);
    let other = domain.open::<Obliging, Protocol>(11);
    assert_eq!((one.address(), other.address()), (b"plugin 1".to_vec(), b"plugin 2".to_vec()));
    assert_eq!(domain.add_buffer(11, Buffer::new(0..0x100)), Segment::new(0));
    let buffer = Buffer::new(0x1000..0x2000).key(b"key").memory_handle(b"handle");
    assert_eq!(domain.add_buffer(11, buffer), Segment::new(1));
    let found = one.call(Find { member: 11, va: 0x1fff }).unwrap();
    assert_eq!((found.segment, &*found.bytes), (1, &b"plugin 2|handle|key"[..]));
    assert_eq!(*other.call(Locate { member: 10 }).unwrap().bytes, *b"plugin 1");
    for (member, va) in [(11, 0x2000), (11, 0x50), (10, 0), (12, 0)] {
        let text = format!("{member} {va:#x}");
        assert_eq!(one.call(Find { member, va }).unwrap_err(), DocaError::NOT_FOUND, "{text}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "reads and frees nothing that other tests do not")]
fn a_worker_by_itself_finds_nobody() {
    let worker = Worker::<Protocol>::open::<Obliging>();
    assert_eq!(worker.call(Locate { member: 0 }).unwrap_err(), DocaError::NOT_FOUND);
    worker.join(0);
    assert_eq!(*worker.call(Locate { member: 0 }).unwrap().bytes, *b"plugin 1");
}

#[test]
fn a_member_that_is_removed_is_found_no_more() {
    let domain = Domain::new();
    let one = domain.open::<Obliging, Protocol>(1);
    let other = domain.open::<Obliging, Protocol>(2);
    assert!(one.call(Locate { member: 2 }).is_ok());
    domain.remove(2);
    assert_eq!(one.call(Locate { member: 2 }).unwrap_err(), DocaError::NOT_FOUND);
    assert!(other.call(Locate { member: 1 }).is_ok(), "it goes on itself");
}

#[test]
#[cfg_attr(miri, ignore = "reads and frees nothing that other tests do not")]
fn an_address_that_the_test_sets_is_found_instead() {
    let domain = Domain::new();
    let worker = domain.open::<Obliging, Protocol>(1);
    let framed = urom_abi::address::around(b"elsewhere").unwrap();
    domain.set_address("worker_obliging", 1, &framed);
    assert_eq!(*worker.call(Locate { member: 1 }).unwrap().bytes, *b"elsewhere");
    domain.set_address("worker_obliging", 1, b"made in C");
    assert_eq!(worker.call(Locate { member: 1 }).unwrap_err(), DocaError::INVALID_VALUE);
    domain.set_address("worker_another", 2, &framed);
    assert_eq!(worker.call(Locate { member: 2 }).unwrap_err(), DocaError::NOT_FOUND);
}

#[test]
#[cfg_attr(miri, ignore = "a panic prints where it comes from, which takes Miri seconds")]
fn an_address_that_would_be_read_beyond_its_end_is_refused() {
    let domain = Domain::new();
    let worker = domain.open::<Obliging, Protocol>(1);
    let framed = urom_abi::address::around(b"elsewhere").unwrap();
    let mut longer = framed.clone();
    longer[8..12].copy_from_slice(&1000u32.to_le_bytes());
    longer[12..16].copy_from_slice(&(!1000u32).to_le_bytes());
    for damaged in [&framed[..1], &framed[..8], &framed[..15], &framed[..framed.len() - 1], &longer]
    {
        let text = crate::driving::panic_of(|| domain.set_address("worker_obliging", 1, damaged));
        assert!(
            text.contains("`worker_obliging` at worker 1") && text.contains("not a whole one"),
            "{text}"
        );
    }
    assert!(worker.call(Locate { member: 1 }).is_ok(), "it has its own yet");
    domain.set_address("worker_obliging", 1, b"");
    assert_eq!(worker.call(Locate { member: 1 }).unwrap_err(), DocaError::NOT_FOUND);
}

#[test]
#[cfg_attr(miri, ignore = "reads and frees nothing that other tests do not")]
fn each_look_up_can_be_made_to_fail_once() {
    let domain = Domain::new();
    let worker = domain.open::<Obliging, Protocol>(1);
    let other = domain.open::<Obliging, Protocol>(2);
    domain.add_buffer(1, Buffer::new(0..1).key(b"k").memory_handle(b"h"));
    let find = || Find { member: 1, va: 0 };
    for lookup in [Lookup::Address, Lookup::Segment, Lookup::MemoryHandle, Lookup::Key] {
        worker.fail_lookup(lookup, DocaError::DRIVER);
        worker.fail_lookup(lookup, DocaError::NOT_FOUND);
        assert!(other.call(find()).is_ok(), "{lookup:?} of another worker");
        assert_eq!(worker.call(find()).unwrap_err(), DocaError::DRIVER, "{lookup:?}");
        assert_eq!(worker.call(find()).unwrap_err(), DocaError::NOT_FOUND, "{lookup:?}");
        assert!(worker.call(find()).is_ok(), "{lookup:?}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "reads and frees nothing that other tests do not")]
fn waiting_for_one_member_drives_them_all() {
    let domain = Domain::new();
    let one = domain.open::<Obliging, Protocol>(1);
    let other = domain.open::<Obliging, Protocol>(2);
    let sent = other.send(Turns { cookie: 1, turns: 3 });
    one.call(Turns { cookie: 1, turns: 10 }).unwrap();
    assert_eq!(other.answer(&sent), Some(Ok(Value { value: 3 })));
}
