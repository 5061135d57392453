//! The byte tables of the RDMO control path: 56-byte commands, 24-byte notifications.

#[path = "../../../../tests/protocols/tests/bytes/support.rs"]
mod support;

use rdmo_protocol::{
    ClientInit, ClientInitialized, Command, MrDereg, MrDeregistered, MrReg, MrRegistered, Protocol,
    RqCreate, RqCreated, RqDestroy, RqDestroyed,
};
use urom_abi::Payload;
use urom_abi::protocol::{Protocol as _, Reply, Request};
use urom_abi::wire::DecodeProblem;

use support::{Table, answers_as, encodes_as};

const COMMAND: usize = 56;
const NOTIFICATION: usize = 24;

#[test]
fn sizes_and_tags_are_those_of_c() {
    assert_eq!((Protocol::COMMAND_LEN, Protocol::NOTIFICATION_LEN), (COMMAND, NOTIFICATION));
    assert_eq!((Protocol::NAME, Protocol::VERSION), ("worker_rdmo", 1));
}

#[test]
fn client_init_has_address_and_length_behind_the_id_and_the_bytes_behind_all() {
    let addr = [7; 213];
    let command = ClientInit { id: 9, addr: &addr };
    let table = Table::new(COMMAND).word(0, 0).word(8, 9).word(16, 1).word(24, 213).then(&addr);
    encodes_as(&command, &table);
    // C sends its own address here, which readers ignore.
    let from_c = table.clone().word(16, 0x7fff_1234_5678_9abc);
    assert_eq!(ClientInit::decode(from_c.as_bytes()), Ok(command));
    assert_eq!(Command::decode(from_c.as_bytes()), Ok(Command::ClientInit { id: 9, addr: &addr }));
}

#[test]
fn the_longest_address_that_fits_a_default_message_is_4016_bytes() {
    let addr = [1; 4016];
    assert_eq!(ClientInit { id: 0, addr: &addr }.encoded_len(), Some(4096 - 24));
    let both = MrReg { va: 0, len: 0, packed_rkey: &addr[..4000], packed_memh: &addr[..16] };
    assert_eq!(both.encoded_len(), Some(4096 - 24));
}

#[test]
fn rq_create_begins_with_the_address() {
    let addr = *b"initiator";
    let table = Table::new(COMMAND).word(0, 1).word(8, 1).word(16, 9).then(&addr);
    encodes_as(&RqCreate { addr: &addr }, &table);
    assert_eq!(RqCreate::decode(table.as_bytes()), Ok(RqCreate { addr: &addr }));
}

#[test]
fn rq_destroy_and_mr_dereg_are_one_word() {
    let table = Table::new(COMMAND).word(0, 2).word(8, 5);
    encodes_as(&RqDestroy { rq_id: 5 }, &table);
    assert_eq!(RqDestroy::decode(table.as_bytes()), Ok(RqDestroy { rq_id: 5 }));
    let table = Table::new(COMMAND).word(0, 4).word(8, u64::MAX);
    encodes_as(&MrDereg { rkey: u64::MAX }, &table);
    assert_eq!(MrDereg::decode(table.as_bytes()), Ok(MrDereg { rkey: u64::MAX }));
}

#[test]
fn mr_reg_carries_the_key_then_the_handle() {
    let command =
        MrReg { va: 0x1000, len: 0x2000, packed_rkey: b"rkey bytes", packed_memh: b"memh" };
    let table = Table::new(COMMAND)
        .word(0, 3)
        .word(8, 0x1000)
        .word(16, 0x2000)
        .word(24, 1)
        .word(32, 10)
        .word(40, 1)
        .word(48, 4)
        .then(b"rkey bytes")
        .then(b"memh");
    encodes_as(&command, &table);
    assert_eq!(MrReg::decode(table.as_bytes()), Ok(command));
}

#[test]
fn mr_reg_without_a_handle_has_zeros_instead() {
    let command = MrReg { va: 1, len: 2, packed_rkey: b"k", packed_memh: b"" };
    let table =
        Table::new(COMMAND).word(0, 3).word(8, 1).word(16, 2).word(24, 1).word(32, 1).then(b"k");
    encodes_as(&command, &table);
    // A C host sends a pointer with length 0, which means no payload.
    let from_c = table.word(40, 0x5555_0000);
    assert_eq!(MrReg::decode(from_c.as_bytes()), Ok(command));
}

#[test]
fn lengths_that_lie_or_wrap_are_refused_with_the_field_that_lies() {
    let table = Table::new(COMMAND).word(0, 3).word(32, 3).word(48, 2).then(b"abcde");
    assert!(MrReg::decode(table.as_bytes()).is_ok());
    for (rkey, memh) in [
        (4, 2),
        (3, 3),
        (2, 2),
        (u64::MAX, 2),
        (3, u64::MAX),
        (u64::MAX - 1, 7),
        (1 << 63, 1 << 63),
    ] {
        let wrong = table.clone().word(32, rkey).word(48, memh);
        let error = MrReg::decode(wrong.as_bytes()).unwrap_err();
        assert_eq!(error.message, "MrReg", "{rkey} {memh}");
        assert!(["packed_rkey", "packed_memh", "length"].contains(&error.field), "{error}");
    }
    let first = MrReg::decode(table.clone().word(32, 6).as_bytes()).unwrap_err();
    assert_eq!(first.field, "packed_rkey");
    let second = MrReg::decode(table.word(48, 3).as_bytes()).unwrap_err();
    assert_eq!(second.field, "packed_memh");
}

#[test]
fn client_initialized_carries_the_workers_address() {
    let addr = [3; 106];
    let echo = ClientInit { id: 0, addr: &[] }.echo();
    let table = Table::new(NOTIFICATION).word(0, 0).word(8, 1).word(16, 106).then(&addr);
    answers_as(ClientInitialized { addr: Payload::from(&addr[..]) }, &echo, &table);
    let mut addr_buffer = ClientInitialized::payload(200).unwrap();
    addr_buffer[..106].copy_from_slice(&addr);
    addr_buffer.truncate(106);
    answers_as(ClientInitialized { addr: addr_buffer }, &echo, &table);
    let read = ClientInitialized::decode(table.as_bytes(), &echo).unwrap();
    assert_eq!(read.addr[..], addr);
}

#[test]
fn the_other_notifications_are_one_word() {
    let echo = RqCreate { addr: &[] }.echo();
    let table = Table::new(NOTIFICATION).word(0, 1).word(8, 2);
    answers_as(RqCreated { rq_id: 2 }, &echo, &table);
    assert_eq!(RqCreated::decode(table.as_bytes(), &echo).unwrap().rq_id, 2);

    let echo = RqDestroy { rq_id: 0 }.echo();
    let table = Table::new(NOTIFICATION).word(0, 2).word(8, 2);
    answers_as(RqDestroyed { rq_id: 2 }, &echo, &table);
    assert_eq!(RqDestroyed::decode(table.as_bytes(), &echo).unwrap().rq_id, 2);

    let echo = MrDereg { rkey: 0 }.echo();
    let table = Table::new(NOTIFICATION).word(0, 4).word(8, 0xfeed);
    answers_as(MrDeregistered { rkey: 0xfeed }, &echo, &table);
    assert_eq!(MrDeregistered::decode(table.as_bytes(), &echo).unwrap().rkey, 0xfeed);

    let echo = MrReg { va: 0, len: 0, packed_rkey: &[], packed_memh: &[] }.echo();
    let table = Table::new(NOTIFICATION).word(0, 3).word(8, 0xfeed);
    answers_as(MrRegistered { rkey: 0xfeed }, &echo, &table);
    assert_eq!(MrRegistered::decode(table.as_bytes(), &echo).unwrap().rkey, 0xfeed);
    let other =
        MrRegistered::decode(Table::new(NOTIFICATION).word(0, 2).as_bytes(), &echo).unwrap_err();
    assert_eq!(other.problem, DecodeProblem::OtherTag { found: 2, expected: 3 });
}
