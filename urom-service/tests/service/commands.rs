//! Commands and notifications through a real daemon, worker process and C plugin.

use urom_abi::{DocaError, DocaStatus};
use urom_wire::control::StartWorker;

use crate::support::client::{
    Client, Connection, Note, any, attached, op, served, served_with, serving,
};
use crate::support::is_reached_over_tcp;
use crate::support::plugins::Plugins;
use crate::support::uromd::Uromd;

fn ok(slot: u16, payload: &[u8]) -> Note {
    Note { slot, status: DocaStatus::SUCCESS, payload: Some(payload.to_vec()), trace: None }
}

fn bare(slot: u16, status: DocaStatus) -> Note {
    Note { slot, status, payload: None, trace: None }
}

fn words(op: u64, word: u64) -> Vec<u8> {
    [op.to_le_bytes(), word.to_le_bytes()].concat()
}

/// A host with the obedient plugin over UCX.
fn afar(max_inflight: u32) -> (Uromd, Client, Connection) {
    let (uromd, mut client) = served();
    let host = client.attach_from_afar(any(), max_inflight);
    (uromd, client, host)
}

fn send_together(host: &Connection, commands: &[(u16, u64, u64)]) {
    let frames: Vec<_> =
        commands.iter().map(|(slot, op, word)| host.frame(*slot, 0, &words(*op, *word))).collect();
    host.send_bytes(frames.concat());
}

fn assert_alive(host: &Connection) {
    assert_eq!(host.call(op::ECHO, 99), ok(0, &words(op::ECHO, 99)));
}

#[test]
fn a_command_comes_back_as_the_plugin_answered_it() {
    let (_uromd, _client, host) = attached(4);
    for len in [8, 9, 100, 1000, 4064] {
        let payload: Vec<u8> = [vec![0; 8], (0..len - 8).map(|i| i as u8).collect()].concat();
        host.send(3, &payload);
        assert_eq!(host.note(), ok(3, &payload));
    }
    host.send(0, &[]);
    assert_eq!(host.note(), ok(0, &[]));
}

#[test]
fn commands_that_come_together_are_answered_together_and_in_order() {
    let (_uromd, _client, host) = afar(64);
    for _ in 0..10 {
        let before = *host.messages.borrow();
        send_together(
            &host,
            &(0..64).map(|slot| (slot, op::ECHO, slot.into())).collect::<Vec<_>>(),
        );
        for slot in 0..64 {
            assert_eq!(host.note(), ok(slot, &words(op::ECHO, slot.into())));
        }
        assert_eq!(*host.messages.borrow() - before, 1);
    }
}

#[test]
fn answers_that_do_not_fit_one_message_take_several() {
    let (_uromd, _client, host) = afar(64);
    send_together(&host, &(0..32).map(|slot| (slot, op::BIG, 1000)).collect::<Vec<_>>());
    for slot in 0..32 {
        assert_eq!(host.note(), ok(slot, &[0; 1000]));
    }
    assert_eq!(*host.messages.borrow(), 5, "seven answers to a message of 8000 bytes");
}

#[test]
fn a_command_has_zeros_behind_it() {
    let (_uromd, _client, host) = attached(1);
    for len in [8, 15, 16, 100] {
        let payload = [&op::SLACK.to_le_bytes()[..], &vec![0xff; len - 8]].concat();
        host.send(0, &payload);
        assert_eq!(host.note(), ok(0, &[0; 16]));
    }
}

#[test]
fn look_ups_without_a_domain_find_nothing() {
    let (_uromd, _client, host) = attached(1);
    let codes = [
        DocaStatus::NOT_FOUND,
        DocaStatus::NOT_FOUND,
        DocaStatus::NOT_FOUND,
        DocaStatus::INVALID_VALUE,
    ];
    let bytes: Vec<u8> = codes.iter().flat_map(|code| code.0.to_le_bytes()).collect();
    assert_eq!(host.call(op::LOOKUPS, 0), ok(0, &bytes));
}

#[test]
fn any_status_of_a_plugin_reaches_the_host_and_what_is_none_does_not_become_success() {
    let (uromd, _client, host) = attached(1);
    for status in [1, 27, 254, 255, 70_000, 1 << 31, u32::MAX] {
        let is_none = status >= 1 << 31;
        let told = if is_none { DocaStatus::UNEXPECTED } else { DocaStatus(status) };
        let answer = ok(0, &words(op::STATUS, status.into()));
        assert_eq!(host.call(op::STATUS, status.into()), Note { status: told, ..answer });
        if is_none {
            uromd.logged(&["obedient", &format!("{status:#x}")]);
        }
    }
}

#[test]
fn commands_behind_one_that_fails_are_delivered_all_the_same() {
    let (uromd, _client, host) = attached(8);
    let ops = [op::ECHO, op::FAIL_TAKEN, op::FAIL_TAKEN, op::ECHO, op::FAIL_TAKEN];
    send_together(&host, &(0..5).map(|slot| (slot, ops[usize::from(slot)], 5)).collect::<Vec<_>>());
    for slot in 0..5 {
        let op = ops[usize::from(slot)];
        let status = if op == op::ECHO { DocaStatus::SUCCESS } else { DocaStatus::DRIVER };
        assert_eq!(host.note(), Note { status, ..ok(slot, &words(op, 5)) });
    }
    uromd.logged(&["obedient", "failed to begin a command", "DOCA_ERROR_DRIVER"]);
}

#[test]
fn commands_that_a_plugin_leaves_behind_fail_with_its_code() {
    // Over UCX they arrive together.
    let (_uromd, _client, host) = afar(8);
    send_together(&host, &[(0, op::ECHO, 1), (1, op::FAIL_LEFT, 1), (2, op::ECHO, 1)]);
    let mut notes = [host.note(), host.note(), host.note()];
    notes.sort_by_key(|note| note.slot);
    assert_eq!(
        notes,
        [
            ok(0, &words(op::ECHO, 1)),
            bare(1, DocaStatus::NO_MEMORY),
            bare(2, DocaStatus::NO_MEMORY)
        ]
    );
    assert_alive(&host);
}

#[test]
fn a_plugin_that_is_not_loaded_is_not_found() {
    let (_uromd, _client, host) = attached(2);
    // 65 and 127 announce a deadline before the bytes, 192 and 255 a trace context, which may be too
    // short for it.
    let bits = [(1, "whatever"), (61, ""), (63, "x"), (65, "whatever"), (127, "short")];
    for (bit, bytes) in bits.into_iter().chain([(192, "whatever"), (255, "")]) {
        host.send_bytes(host.frame(1, bit, bytes.as_bytes()));
        assert_eq!(host.note(), bare(1, DocaStatus::NOT_FOUND), "{bit}");
    }
    assert_alive(&host);
}

#[test]
fn a_cancel_of_what_is_not_in_flight_is_ignored() {
    let (_uromd, _client, host) = attached(2);
    for bit in [128, 129, 191] {
        for slot in [0, 1, 2, u16::MAX] {
            host.send_bytes(host.frame(slot, bit, b"whatever"));
        }
    }
    assert_alive(&host);
}

#[test]
fn the_message_limit_holds_for_commands_and_answers() {
    let (uromd, _client, host) = attached(1);
    assert_eq!(host.max_message, 4096);
    let command = |len: usize| [words(op::BIG, 0), vec![0; len - 16]].concat();
    host.send(0, &command(4096 - 24));
    assert_eq!(host.note(), ok(0, &[]));
    host.send(0, &command(4096 - 23));
    assert_eq!(host.note(), bare(0, DocaStatus::TOO_BIG));
    assert_eq!(host.call(op::BIG, 4096 - 32), ok(0, &[0; 4064]));
    assert_eq!(host.call(op::BIG, 4096 - 31), bare(0, DocaStatus::TOO_BIG));
    uromd.logged(&["obedient", "4065 bytes", "limit of 4096"]);
    assert_alive(&host);
}

#[test]
fn the_smaller_of_two_limits_holds() {
    let (_uromd, mut client) = served_with(&["-m", "100000"]);
    assert_eq!(client.max_message, 100_000);
    let small = client.start(any()).unwrap();
    let small = Connection::attach_with(small, 1, 500).unwrap();
    assert_eq!(small.max_message, 500);
    assert_eq!(small.call(op::BIG, 500 - 32), ok(0, &[0; 468]));
    assert_eq!(small.call(op::BIG, 500 - 31), bare(0, DocaStatus::TOO_BIG));
    let large = client.attach(any(), 4);
    assert_eq!(large.max_message, 100_000);
    send_together(
        &large,
        &[(0, op::BIG, 99_968), (1, op::ECHO, 1), (2, op::BIG, 99_968), (3, op::BIG, 99_969)],
    );
    let mut notes: Vec<_> = (0..4).map(|_| large.note()).collect();
    notes.sort_by_key(|note| note.slot);
    assert_eq!(notes[0], ok(0, &[0; 99_968]));
    assert_eq!(notes[1], ok(1, &words(op::ECHO, 1)));
    assert_eq!(notes[2], ok(2, &[0; 99_968]));
    assert_eq!(notes[3], bare(3, DocaStatus::TOO_BIG));
}

#[test]
fn messages_of_megabytes_arrive_whole() {
    let (_uromd, mut client) = served_with(&["--max-msg-size", "16777215"]);
    let host = client.attach(any(), 2);
    let len = 16_777_215 - 32;
    let payload: Vec<u8> = [vec![0; 8], (8..len).map(|i| (i * 7) as u8).collect()].concat();
    host.send(1, &payload);
    assert!(host.note() == ok(1, &payload));
}

#[test]
fn a_second_answer_and_forged_ones_are_not_sent() {
    let (uromd, _client, host) = attached(4);
    for op in [op::TWICE, op::FORGE] {
        host.ask(1, op::HOLD, 0);
        assert_eq!(host.call(op, 0), ok(0, &words(op, 0)));
        assert_alive(&host);
        assert_eq!(host.call(op::RELEASE, 0), ok(1, &words(op::HOLD, 0)));
        assert_eq!(host.note(), ok(0, &words(op::RELEASE, 0)));
        assert_eq!(host.waiting(), 0);
    }
    uromd.logged(&["obedient", "answered what is not in flight"]);
}

#[test]
fn an_answer_with_a_wrong_context_or_destination_is_told_from_one_to_a_host_that_is_gone() {
    let (uromd, mut client) = served();
    let host = client.attach(StartWorker { id: 5, ..any() }, 4);
    for (slot, op, value) in
        [(0, op::WRONG_CONTEXT, "0xabcd"), (1, op::WRONG_DESTINATION, "dest_id 10000")]
    {
        host.ask(slot, op, 0);
        uromd.logged(&["WRN", "obedient", value, "copy both from the command"]);
    }
    let warnings = uromd.lines_with("copy both");
    let other = client.attach(StartWorker { id: 5, ..any() }, 4);
    other.ask(1, op::HOLD, 0);
    assert_alive(&other);
    drop(other);
    uromd.logged(&["worker 5", "has ended"]);
    host.ask(2, op::RELEASE, 0);
    assert_eq!(host.note(), ok(2, &words(op::RELEASE, 0)));
    uromd.logged(&["DBG", "obedient", "its host has left"]);
    assert_eq!(uromd.lines_with("copy both"), warnings);
}

#[test]
fn an_answer_that_cannot_be_packed_becomes_an_error() {
    let (uromd, _client, host) = attached(4);
    send_together(
        &host,
        &[(0, op::ECHO, 0), (1, op::PACK_FAILS, 0), (2, op::PACKS_TOO_LITTLE, 0), (3, op::ECHO, 3)],
    );
    assert_eq!(host.note(), ok(0, &words(op::ECHO, 0)));
    assert_eq!(host.note(), bare(1, DocaStatus::DRIVER));
    assert_eq!(host.note(), bare(2, DocaStatus::UNEXPECTED));
    assert_eq!(host.note(), ok(3, &words(op::ECHO, 3)));
    uromd.logged(&["could not pack its answer", "notif_pack failed", "DOCA_ERROR_DRIVER"]);
    uromd.logged(&["gave a length of 8 bytes for a notification of 16", "32 for the header"]);
}

#[test]
fn an_answer_that_comes_late_is_noticed_without_any_event() {
    let (_uromd, _client, host) = attached(2);
    host.ask(1, op::HOLD, 0);
    assert_eq!(host.call(op::RELEASE_LATE, 0), ok(0, &words(op::RELEASE_LATE, 0)));
    assert_eq!(host.note(), ok(1, &words(op::HOLD, 0)));
}

#[test]
fn a_host_that_uses_a_busy_slot_or_none_of_its_own_is_disconnected_and_others_are_not() {
    let (_uromd, mut client) = served();
    let bad = client.attach(any(), 2);
    let good = client.attach(StartWorker { id: bad.started.id, ..any() }, 2);
    bad.ask(1, op::HOLD, 0);
    bad.ask(1, op::HOLD, 0);
    let refusal = bad.refusal();
    assert_eq!(refusal.code, DocaError::BAD_STATE);
    assert!(refusal.text.contains("slot 1 already has a command in flight"), "{refusal}");
    assert_eq!(good.call(op::RELEASE, 0), ok(0, &words(op::RELEASE, 0)));
    // A slot beyond the requested number is forbidden, too.
    good.ask(2, op::ECHO, 0);
    assert!(good.refusal().text.contains("slot 2 is beyond the 2"));
}

#[test]
fn a_host_that_floods_without_taking_answers_is_disconnected() {
    let (_uromd, mut client) = served_with(&["-m", "1000000"]);
    let host = client.attach(any(), 1);
    let frame = host.frame(0, 0, &words(op::BIG, 900_000));
    (0..100).for_each(|_| host.send_bytes(frame.clone()));
    let refusal = host.refusal();
    assert_eq!(refusal.code, DocaError::BAD_STATE, "{refusal}");
}

#[test]
fn a_worker_full_of_commands_whose_hosts_are_gone_lets_nobody_in() {
    let (_uromd, mut client) = served();
    let keeper = client.attach(any(), 1);
    let same = || StartWorker { id: keeper.started.id, ..any() };
    let most: u32 = 65536;
    for _ in 0..4 {
        let host = client.attach(same(), most);
        for first in (0..most).step_by(256) {
            let slots = first..first + 256;
            let frames = slots.flat_map(|slot| host.frame(slot as u16, 0, &words(op::HOLD, 0)));
            host.send_bytes(frames.collect());
        }
        // The next command uses an occupied slot: its refusal shows that all have arrived.
        host.ask(0, op::ECHO, 0);
        assert_eq!(host.refusal().code, DocaError::BAD_STATE);
    }
    let started = client.start(same()).unwrap();
    let refusal = Connection::attach(started, 1).err().unwrap();
    assert_eq!(refusal.code, DocaError::FULL, "{refusal}");
    assert!(refusal.text.contains("262144 commands of hosts that have left"), "{refusal}");
    assert_alive(&keeper);
}

#[test]
fn bytes_that_are_no_frames_and_unknown_channels_are_passed_over() {
    let (uromd, _client, mut host) = afar(2);
    host.envelope.channel ^= 0xff;
    host.send_bytes(host.frame(0, 0, &words(op::CRASH, 0)));
    host.envelope.channel ^= 0xff;
    host.send_bytes(vec![0xff; 7]);
    host.send_bytes(vec![0xff; 5000]);
    host.send_bytes(Vec::new());
    let mut cut = host.frame(1, 0, &words(op::ECHO, 1));
    cut.truncate(20);
    host.send_bytes([host.frame(0, 0, &words(op::ECHO, 5)), cut].concat());
    assert_eq!(host.note(), ok(0, &words(op::ECHO, 5)));
    assert_alive(&host);
    uromd.logged(&["commands that cannot be read"]);
}

#[test]
fn an_impossible_number_of_tasks_or_limit_is_refused() {
    let (_uromd, mut client) = served();
    for (inflight, limit) in [(0, 4096), (65537, 4096), (u32::MAX, 4096), (1, 63), (1, 0)] {
        let started = client.start(any()).unwrap();
        let refusal = Connection::attach_with(started, inflight, limit).err().unwrap();
        assert_eq!(refusal.code, DocaError::INVALID_VALUE, "{refusal}");
    }
    let started = client.start(any()).unwrap();
    let most = Connection::attach_with(started, 65536, 64).unwrap();
    most.ask(65535, op::BIG, 32);
    assert_eq!(most.note(), ok(65535, &[0; 32]));
}

#[test]
fn a_plugin_that_owes_nothing_is_polled_beside_a_busy_one() {
    let plugins = Plugins::new();
    plugins.add_obedient("busy", &[]);
    plugins.add_obedient("resting", &[]);
    let (_uromd, mut client) = serving(&plugins);
    let bit_of = |name: &str| {
        let plugin = client.plugins.iter().find(|plugin| plugin.name == name).unwrap();
        plugin.id.trailing_zeros() as u8
    };
    let (busy, resting) = (bit_of("busy"), bit_of("resting"));
    let host = client.attach(StartWorker { plugins: 3, ..any() }, 64);
    let polls = || {
        host.send_bytes(host.frame(0, resting, &words(op::POLLS, 0)));
        u64::from_le_bytes(host.note().payload.unwrap().try_into().unwrap())
    };
    let before = polls();
    let echo = words(op::ECHO, 7);
    for _ in 0..100 {
        host.send_bytes((0..64).flat_map(|slot| host.frame(slot, busy, &echo)).collect());
        (0..64).for_each(|_| assert_eq!(host.note().status, DocaStatus::SUCCESS));
    }
    // Each of 6,400 commands advances the hand for idle plugins by one of 64 positions.
    let polled = polls() - before;
    assert!(polled >= 100, "{polled}");
}

#[test]
fn answers_that_wait_for_capacity_at_the_host_are_not_counted_once_they_have_left() {
    if !is_reached_over_tcp() {
        return;
    }
    let (_uromd, mut client) = served();
    let host = client.attach_from_afar(any(), 64);
    // The answers exceed the socket's buffer. A worker that kept counting would refuse the host.
    let bytes = host.max_message - 64;
    for _ in 0..8 {
        host.send_bytes(
            (0..64).flat_map(|slot| host.frame(slot, 0, &words(op::BIG, bytes))).collect(),
        );
        (0..64).for_each(|_| assert_eq!(host.note().status, DocaStatus::SUCCESS));
    }
}
