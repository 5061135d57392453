//! Hosts that misuse their ring: only their own connection ends or waits.

use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use memmap2::MmapRaw;
use urom_abi::DocaStatus;
use urom_wire::control::StartWorker;

use crate::support::client::{Client, Connection, any, op, served};
use crate::support::uromd::Uromd;

/// Words of a cell, and cells before the first cell of the direction to the worker.
const WORDS: usize = 8;
const BEFORE: usize = 2;

/// Bits of a cell's first word: the cell is written, and a frame starts there.
const WRITTEN: u64 = 1 << 63;
const FIRST: u64 = 1 << 62;

fn two() -> (Uromd, Client, Connection, Connection) {
    let (uromd, mut client) = served();
    let rude = client.attach(any(), 8);
    let good = client.attach(StartWorker { id: rude.started.id, ..any() }, 8);
    (uromd, client, rude, good)
}

fn is_served(good: &Connection) {
    for word in 0..100 {
        assert_eq!(good.call(op::ECHO, word).status, DocaStatus::SUCCESS);
    }
}

struct Words(MmapRaw);

impl Words {
    fn of(host: &Connection) -> Words {
        Words(MmapRaw::map_raw(host.ring().0.as_raw_fd()).unwrap())
    }

    fn store(&self, at: usize, value: u64) {
        assert!(at < self.0.len() / 8);
        let word = self.0.as_mut_ptr().cast::<u64>().wrapping_add(at);
        // SAFETY: within the mapping.
        unsafe { word.write_volatile(value) };
    }
}

/// Header of a frame for a slot and plugin bit 0, with `len` bytes.
fn header(slot: u64, len: u64) -> u64 {
    slot | len << 24
}

#[test]
fn a_host_that_writes_garbage_into_its_ring_is_disconnected() {
    for (mark, why) in [
        (WRITTEN | 0x1234, "do not form one frame"),
        (WRITTEN | FIRST | header(0, 0xff_ffff), "16777215 bytes"),
        (WRITTEN | FIRST | header(9, 16), "slot 9 is beyond the 8"),
        (u64::MAX, "16777215 bytes"),
    ] {
        let (_uromd, _client, rude, good) = two();
        let words = Words::of(&rude);
        words.store(BEFORE * WORDS, mark);
        is_served(&good);
        let refusal = rude.refusal();
        assert!(refusal.text.contains(why), "{mark:#x}: {refusal}");
        is_served(&good);
    }
}

#[test]
fn random_words_in_a_ring_hurt_its_own_host_alone() {
    let (_uromd, mut client, _, good) = two();
    // A linear congruential generator, for reproducible failures.
    let mut seed = 0x1234_5678_9abc_def0_u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        seed
    };
    for round in 0..50 {
        let rude = client.attach(StartWorker { id: good.started.id, ..any() }, 8);
        let words = Words::of(&rude);
        // The obedient plugin has an operation to crash, so no word is an operation.
        let first = BEFORE * WORDS;
        (0..4096).filter(|at| *at != first).for_each(|at| words.store(at, random() | 0xff00));
        // The worker reads the first mark, then the rest: a continuation without a frame, or a
        // random command followed by random cells.
        let is_frame = round % 2 == 1;
        let frame = FIRST | header(random() % 8, random() % 56);
        words.store(first, WRITTEN | if is_frame { frame } else { random() & !FIRST });
        is_served(&good);
        if !is_frame {
            let refusal = rude.refusal();
            assert!(refusal.text.contains("do not form one frame"), "{refusal}");
        }
    }
    is_served(&good);
}

/// The process dies in the middle of a write.
#[test]
fn a_host_that_is_killed_at_any_point_of_a_write_leaves_no_half_command() {
    let (_uromd, mut client, _, good) = two();
    // A command of three cells: all words, and finally the mark of the first.
    let stores = |op| {
        let cell = |number: usize| (BEFORE + number) * WORDS;
        let words = |number: usize| (1..WORDS).chain([0]).map(move |word| (number, word));
        [1, 2, 0].into_iter().flat_map(words).map(move |(number, word)| {
            let value = match (number, word) {
                (0, 0) => WRITTEN | FIRST | header(0, 3 * 56),
                (_, 0) => WRITTEN,
                (0, 1) => op,
                _ => 7,
            };
            (cell(number) + word, value)
        })
    };
    let all = stores(op::CRASH).count();
    for count in 0..all {
        let dying = client.attach(StartWorker { id: good.started.id, ..any() }, 8);
        let words = Words::of(&dying);
        stores(op::CRASH).take(count).for_each(|(at, value)| words.store(at, value));
        is_served(&good);
        drop(dying);
        is_served(&good);
    }
    let whole = client.attach(StartWorker { id: good.started.id, ..any() }, 8);
    let words = Words::of(&whole);
    stores(op::ECHO).for_each(|(at, value)| words.store(at, value));
    assert_eq!(whole.note().payload.map(|payload| payload.len()), Some(3 * 56));
}

fn median(host: &Connection) -> Duration {
    let call = |_| {
        let begin = Instant::now();
        assert_eq!(host.call(op::ECHO, 1).status, DocaStatus::SUCCESS);
        begin.elapsed()
    };
    let mut times: Vec<_> = (0..2000).map(call).collect();
    times.sort_unstable();
    times[times.len() / 2]
}

#[test]
fn a_host_that_rings_without_end_slows_no_other_host() {
    let (_uromd, _client, rude, good) = two();
    is_served(&good);
    let quiet = median(&good);
    let stop = AtomicBool::new(false);
    let bell = rude.ring().1;
    let rung = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                rustix::io::write(bell, &1_u64.to_ne_bytes()).unwrap();
            }
        });
        let rung = median(&good);
        stop.store(true, Ordering::Relaxed);
        rung
    });
    // Three threads are busy, so on two cores a call may have to wait.
    assert!(rung < 10 * quiet + Duration::from_millis(5), "{rung:?}, and {quiet:?} without");
    assert_eq!(rude.call(op::ECHO, 1).status, DocaStatus::SUCCESS);
}

#[test]
fn a_host_that_reads_slowly_gets_all_answers_and_others_do_not_wait_for_it() {
    const SLOTS: u16 = 64;
    let (_uromd, mut client, _, good) = two();
    let slow = client.attach(StartWorker { id: good.started.id, ..any() }, SLOTS.into());
    for round in 0..20 {
        // The ring holds less than a quarter of these answers; the others wait in the worker.
        for slot in 0..SLOTS {
            slow.ask(slot, op::BIG, 4000);
        }
        is_served(&good);
        for _ in 0..SLOTS {
            assert_eq!(slow.note().payload.map(|payload| payload.len()), Some(4000), "{round}");
        }
    }
}
