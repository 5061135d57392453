//! Frames through a direction, and malformed cells.

use super::cells::{FIRST, Garbage, LAP, Lane, LaneReader, LaneWriter, WORDS, cells_of};
use super::local::LocalLane;
use crate::frame::{CommandStart, Header};
use crate::sync::{Arc, EventFd, Ordering};

const CELLS: u64 = 32;
const LIMIT: usize = 10_000;

struct Rig {
    memory: LocalLane,
    writer: LaneWriter<LocalLane>,
    reader: LaneReader<LocalLane>,
    bells: [Arc<EventFd>; 2],
}

impl Rig {
    fn new() -> Rig {
        let memory = LocalLane::new(CELLS as usize);
        let bells = [(); 2].map(|()| Arc::new(EventFd::new().unwrap()));
        let lane = |bell: &Arc<EventFd>| Lane::new(memory.clone(), Arc::clone(bell));
        let writer = LaneWriter::new(lane(&bells[0]));
        let reader = LaneReader::new(lane(&bells[1]), LIMIT);
        Rig { memory, writer, reader, bells }
    }

    fn write(&mut self, body: &[u8], from: &mut usize) -> bool {
        *from = self.writer.write(header(body.len()), body, *from);
        *from == cells_of(body.len())
    }

    fn read(&mut self) -> Option<Vec<u8>> {
        let (header, body) = self.reader.receive().unwrap()?;
        assert_eq!((header.slot(), header.len()), (7, body.len()));
        Some(body.to_vec())
    }
}

fn header(len: usize) -> Header {
    CommandStart::new(7, 3).header(len)
}

fn body(len: usize) -> Vec<u8> {
    (0..len).map(|at| at as u8 ^ len as u8).collect()
}

#[test]
fn frames_of_all_lengths_come_out_in_order_over_many_laps() {
    let mut rig = Rig::new();
    let lengths = [0, 1, 8, 55, 56, 57, 112, 113, 16 * 56, 16 * 56 + 1, 5000, LIMIT];
    let laps = if cfg!(miri) { 2 } else { 10 };
    for len in lengths.into_iter().cycle().take(laps * lengths.len()) {
        let (sent, mut from, mut got) = (body(len), 0, None);
        // Longer than the ring: writer and reader alternate.
        while !rig.write(&sent, &mut from) {
            assert!(got.is_none(), "the frame is not whole");
            got = rig.read();
        }
        assert_eq!(got.or_else(|| rig.read()), Some(sent), "{len} bytes");
        assert_eq!(rig.read(), None);
    }
}

#[test]
fn a_full_ring_takes_nothing_until_the_reader_has_published_its_position() {
    let mut rig = Rig::new();
    let short = body(20);
    let written = (0..).take_while(|_| rig.write(&short, &mut 0)).count();
    assert_eq!(written as u64, CELLS);
    let read = (0..).find(|_| {
        assert_eq!(rig.read().as_ref(), Some(&short));
        rig.write(&short, &mut 0)
    });
    assert_eq!(read, Some(CELLS / 8 - 1));
}

#[test]
fn a_bell_rings_once_for_a_reader_that_sleeps_and_never_for_one_that_does_not() {
    let mut rig = Rig::new();
    rig.write(&body(1), &mut 0);
    rig.writer.announce();
    assert!(!rig.bells[0].lower());
    assert!(!rig.reader.sleep(), "a frame is there");
    assert!(rig.read().is_some() && rig.reader.sleep());
    rig.write(&body(1), &mut 0);
    assert!(rig.bells[0].lower());
    rig.write(&body(1), &mut 0);
    rig.writer.announce();
    assert!(!rig.bells[0].lower(), "it rang before");
    while rig.read().is_some() {}
    assert!(rig.reader.sleep());
    rig.reader.wake();
    rig.write(&body(1), &mut 0);
    assert!(!rig.bells[0].lower());
}

#[test]
fn a_bell_rings_for_a_writer_that_waits_for_capacity() {
    let mut rig = Rig::new();
    assert!(!rig.writer.wait_for_capacity(), "there is capacity");
    while rig.write(&body(1), &mut 0) {}
    assert!(rig.writer.wait_for_capacity() && !rig.bells[1].lower());
    (0..CELLS / 8).for_each(|_| drop(rig.read().unwrap()));
    assert!(rig.bells[1].lower() && rig.write(&body(1), &mut 0));
}

#[test]
fn cells_of_something_else_are_an_error_and_longer_frames_than_the_limit_are_not_read() {
    let too_long = Garbage::TooLong { len: LIMIT + 1, limit: LIMIT };
    let (rest, long) = (LAP, LAP | FIRST | header(LIMIT + 1).word());
    for (mark, error) in [(rest, Garbage::Torn), (rest | 0xffff, Garbage::Torn), (long, too_long)] {
        let mut rig = Rig::new();
        rig.memory.word(0, 0).store(mark, Ordering::Relaxed);
        assert_eq!(rig.reader.receive(), Err(error), "{mark:#x}");
    }
    // A frame that begins inside another one.
    let mut rig = Rig::new();
    rig.write(&body(17 * 56), &mut 0);
    rig.memory.word(16, 0).store(LAP | FIRST | header(1).word(), Ordering::Relaxed);
    assert_eq!(rig.reader.receive(), Err(Garbage::Torn));
}

#[test]
fn an_impossible_position_frees_no_cells() {
    for taken in [1, CELLS + 1, u64::MAX, u64::MAX / 2] {
        let mut rig = Rig::new();
        while rig.write(&body(1), &mut 0) {}
        let expected = taken <= CELLS;
        rig.memory.set_taken(taken);
        assert_eq!(rig.write(&body(1), &mut 0), expected, "{taken}");
        // A position that goes back is ignored like one ahead.
        rig.memory.set_taken(0);
        assert!(!rig.write(&body(1), &mut 0));
    }
}

#[test]
fn a_writer_that_stops_at_any_store_leaves_whole_frames_or_none() {
    let whole = body(3 * 56);
    let mut source = Rig::new();
    source.write(&body(4), &mut 0);
    source.write(&whole, &mut 0);
    // The mark of the frame's first cell comes last.
    let words = |cell: usize| (1..WORDS).chain([0]).map(move |word| (cell, word));
    let stores: Vec<_> = [2, 3, 1].into_iter().flat_map(words).collect();
    for count in 0..=stores.len() {
        let mut rig = Rig::new();
        rig.write(&body(4), &mut 0);
        for &(cell, word) in &stores[..count] {
            let value = source.memory.word(cell, word).load(Ordering::Relaxed);
            rig.memory.word(cell, word).store(value, Ordering::Relaxed);
        }
        assert_eq!(rig.read(), Some(body(4)));
        let expected = (count == stores.len()).then(|| whole.clone());
        assert_eq!(rig.read(), expected, "after {count} stores");
    }
}
