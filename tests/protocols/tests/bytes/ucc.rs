//! UCC's byte tables: commands of 64 bytes, notifications of 24, a padded 32-bit tag.

use bytemuck::Zeroable;
use test_protocols::ucc::{
    COLL_ALLREDUCE, COLL_ALLTOALLV, COUNT_64BIT, Coll, CollArgs, CollDone, Command, ContextCreate,
    ContextDestroy, CreatePassiveDataChannel, DISPLACEMENTS_64BIT, FIELD_FLAGS, LibCreate,
    LibCreated, LibDestroy, LibParams, Notification, Protocol, TeamCreate, TeamCreated,
    WITH_COUNTS,
};
use urom_abi::Elements;
use urom_abi::protocol::{Protocol as _, Reply, Request};
use urom_abi::wire::DecodeProblem;

use crate::support::{Table, answers_as, encodes_as};

const COMMAND: usize = 64;
const NOTIFICATION: usize = 24;
const WORKER: u64 = 0x1122_3344_5566_7788;

fn command(tag: u32) -> Table {
    Table::new(COMMAND).half(0, tag).word(8, WORKER)
}

fn notification(tag: u32) -> Table {
    Table::new(NOTIFICATION).half(0, tag).word(8, WORKER)
}

#[test]
fn sizes_are_those_of_c() {
    assert_eq!((Protocol::COMMAND_LEN, Protocol::NOTIFICATION_LEN), (COMMAND, NOTIFICATION));
    assert_eq!((size_of::<LibParams>(), size_of::<CollArgs>()), (40, 200));
    let at = std::mem::offset_of!(CollArgs, coll_type);
    assert_eq!(
        (at, std::mem::offset_of!(CollArgs, flags), std::mem::offset_of!(CollArgs, tag)),
        (8, 104, 124)
    );
    let ends =
        (std::mem::offset_of!(CollArgs, timeout), std::mem::offset_of!(CollArgs, active_set));
    assert_eq!(ends, (152, 160));
}

#[test]
fn lib_create_carries_its_parameters_without_a_length_word() {
    let params = LibParams {
        mask: 3,
        thread_mode: 1,
        coll_types: 0xff,
        sync_type: 2,
        ..LibParams::zeroed()
    };
    let given =
        LibCreate { dpu_worker_id: WORKER, params: Elements::from(std::slice::from_ref(&params)) };
    let table = command(0).word(16, 1).then(bytemuck::bytes_of(&params));
    assert_eq!(table.as_bytes().len(), COMMAND + 40);
    encodes_as(&given, &table);
    let read = LibCreate::decode(table.as_bytes()).unwrap();
    assert_eq!((read.dpu_worker_id, read.params.get(0)), (WORKER, Some(params)));
}

#[test]
fn lib_destroy_and_context_destroy_are_header_and_word() {
    let table = command(1);
    encodes_as(&LibDestroy { dpu_worker_id: WORKER }, &table);
    assert_eq!(LibDestroy::decode(table.as_bytes()), Ok(LibDestroy { dpu_worker_id: WORKER }));
    let table = command(3).word(16, 0xabc);
    encodes_as(&ContextDestroy { dpu_worker_id: WORKER, context: 0xabc }, &table);
}

#[test]
fn context_create_has_an_array_exactly_when_the_stride_is_not_positive() {
    let plain = ContextCreate {
        dpu_worker_id: WORKER,
        start: 0,
        stride: 1,
        size: 4,
        ranks: None,
        base_va: 0x7000,
        len: 4096,
    };
    let table = command(2).word(16, 0).word(24, 1).word(32, 4).word(40, 0x7000).word(48, 4096);
    encodes_as(&plain, &table);
    assert_eq!(ContextCreate::decode(table.as_bytes()), Ok(plain));

    let ranks = [3i64, 1, 4, -1];
    let array = ContextCreate { stride: -1, ranks: Some(Elements::from(&ranks)), ..plain };
    let table = table.word(24, u64::MAX).then(bytemuck::cast_slice(&ranks));
    encodes_as(&array, &table);
    let read = ContextCreate::decode(table.as_bytes()).unwrap();
    assert_eq!(read.ranks.map(|ranks| ranks.to_vec()), Some(ranks.to_vec()));
}

#[test]
fn sizes_that_no_message_can_have_are_refused_when_reading() {
    for size in [5, u64::MAX, u64::MAX / 8 + 1, 1 << 61] {
        let table = command(2).word(24, 0).word(32, size).then(&[0; 32]);
        let error = ContextCreate::decode(table.as_bytes()).unwrap_err();
        assert_eq!(error.field, "ranks", "{size}: {error}");
    }
}

#[test]
fn team_create_is_four_words() {
    let given = TeamCreate { dpu_worker_id: WORKER, start: 0, stride: 1, size: 2, context: 77 };
    let table = command(4).word(16, 0).word(24, 1).word(32, 2).word(40, 77);
    encodes_as(&given, &table);
    assert_eq!(TeamCreate::decode(table.as_bytes()), Ok(given));
}

fn collective(coll_type: u32, flags: u64) -> CollArgs {
    CollArgs { mask: FIELD_FLAGS, coll_type, flags, ..CollArgs::zeroed() }
}

fn coll(args: &CollArgs) -> Coll<'_> {
    Coll {
        dpu_worker_id: WORKER,
        coll_args: Elements::from(std::slice::from_ref(args)),
        team: 0x55,
        use_xgvmi: -1,
        work_buffer: &[],
        team_size: 3,
        source_counts: None,
        destination_counts: None,
        source_displacements: None,
        destination_displacements: None,
    }
}

fn coll_table() -> Table {
    command(5).word(16, 1).word(24, 0x55).half(32, u32::MAX).word(56, 3)
}

#[test]
fn an_all_reduce_with_a_work_buffer_is_1304_bytes_long() {
    let args = collective(COLL_ALLREDUCE, 0);
    let keys = [9; 1040];
    let given = Coll { work_buffer: &keys, ..coll(&args) };
    let table = coll_table().word(40, 1).word(48, 1040).then(bytemuck::bytes_of(&args)).then(&keys);
    // 1328 includes the header of 24 bytes.
    assert_eq!(table.as_bytes().len(), 1328 - 24);
    encodes_as(&given, &table);
    assert_eq!(Coll::decode(table.as_bytes()), Ok(given));
}

#[test]
fn collectives_with_counts_carry_four_arrays_whose_width_the_flags_give() {
    for (flags, counts, displacements) in [
        (0, 4, 4),
        (COUNT_64BIT, 8, 4),
        (DISPLACEMENTS_64BIT, 4, 8),
        (COUNT_64BIT | DISPLACEMENTS_64BIT, 8, 8),
    ] {
        let args = collective(COLL_ALLTOALLV, flags);
        let arrays = [
            vec![1; 3 * counts],
            vec![2; 3 * counts],
            vec![3; 3 * displacements],
            vec![4; 3 * displacements],
        ];
        let given = Coll {
            work_buffer: b"keys",
            source_counts: Some(&arrays[0]),
            destination_counts: Some(&arrays[1]),
            source_displacements: Some(&arrays[2]),
            destination_displacements: Some(&arrays[3]),
            ..coll(&args)
        };
        let table = coll_table()
            .word(40, 1)
            .word(48, 4)
            .then(bytemuck::bytes_of(&args))
            .then(b"keys")
            .then(&arrays.concat());
        encodes_as(&given, &table);
        assert_eq!(Coll::decode(table.as_bytes()), Ok(given));
    }
}

#[test]
fn flags_count_only_when_the_mask_includes_them() {
    let args =
        CollArgs { mask: 0, ..collective(COLL_ALLTOALLV, COUNT_64BIT | DISPLACEMENTS_64BIT) };
    let table = coll_table().then(bytemuck::bytes_of(&args)).then(&[5; 4 * 3 * 4]);
    let read = Coll::decode(table.as_bytes()).unwrap();
    assert_eq!(read.source_counts.map(<[u8]>::len), Some(12));
}

#[test]
fn every_collective_with_counts_and_no_other_has_arrays() {
    for bit in 0..16 {
        let args = collective(1 << bit, 0);
        let without = coll_table().then(bytemuck::bytes_of(&args));
        let with = without.clone().then(&[0; 4 * 3 * 4]);
        let has = WITH_COUNTS & (1 << bit) != 0;
        assert_eq!(Coll::decode(with.as_bytes()).is_ok(), has, "bit {bit}");
        assert_eq!(Coll::decode(without.as_bytes()).is_ok(), !has, "bit {bit}");
    }
}

#[test]
fn team_sizes_that_wrap_are_refused() {
    let args = collective(COLL_ALLTOALLV, COUNT_64BIT);
    for team_size in [u64::MAX, u64::MAX / 8 + 1, 1 << 62, 1 << 40] {
        let table = coll_table().word(56, team_size).then(bytemuck::bytes_of(&args)).then(&[0; 96]);
        let error = Coll::decode(table.as_bytes()).unwrap_err();
        assert_eq!(error.field, "source_counts", "{error}");
    }
    let uncountable = coll_table().word(56, u64::MAX).then(bytemuck::bytes_of(&args));
    let error = Coll::decode(uncountable.as_bytes()).unwrap_err();
    assert!(matches!(error.problem, DecodeProblem::NoLength), "{error}");
}

#[test]
fn a_data_channel_carries_the_hosts_address() {
    let given = CreatePassiveDataChannel { dpu_worker_id: WORKER, ucp_addr: b"address" };
    let table = command(6).word(16, 1).word(24, 7).then(b"address");
    encodes_as(&given, &table);
    assert_eq!(CreatePassiveDataChannel::decode(table.as_bytes()), Ok(given));
    assert!(matches!(
        Command::decode(table.as_bytes()),
        Ok(Command::CreatePassiveDataChannel { .. })
    ));
}

#[test]
fn notifications_repeat_the_worker_and_carry_a_handle_or_a_status() {
    let echo =
        TeamCreate { dpu_worker_id: WORKER, start: 0, stride: 0, size: 0, context: 0 }.echo();
    let table = notification(4).word(16, 0x99);
    answers_as(TeamCreated { team: 0x99 }, &echo, &table);
    assert_eq!(TeamCreated::decode(table.as_bytes(), &echo).unwrap().team, 0x99);
    let other = TeamCreated::decode(table.word(8, 1).as_bytes(), &echo).unwrap_err();
    assert_eq!((other.field, other.problem), ("dpu_worker_id", DecodeProblem::NotEchoed));

    let args = CollArgs::zeroed();
    let echo = coll(&args).echo();
    let table = notification(5).half(16, (-3i32) as u32);
    answers_as(CollDone { status: -3 }, &echo, &table);
    assert_eq!(CollDone::decode(table.as_bytes(), &echo).unwrap().status, -3);

    let echo = LibCreate { dpu_worker_id: WORKER, params: Elements::default() }.echo();
    answers_as(LibCreated, &echo, &notification(0));
    let table = notification(2).word(16, 0xc0);
    assert!(matches!(
        Notification::decode(table.as_bytes()),
        Ok(Notification::ContextCreated { dpu_worker_id: WORKER, context: 0xc0 })
    ));
}

#[test]
fn a_refusal_is_addressed_to_the_right_worker() {
    let table = command(5).word(8, WORKER).then(&[1; 5]);
    let answer = Protocol::refusal(table.as_bytes()).unwrap();
    assert_eq!(answer.payload(), notification(5).as_bytes());
}
