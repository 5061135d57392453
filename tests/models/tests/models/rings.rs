//! `urom-wire/src/ring/cells.rs`: one direction between two processes, modelled as threads.

use std::sync::Arc;

use loom::thread;

use crate::cells::{Lane, LaneReader, LaneWriter, cells_of};
use crate::frame::CommandStart;
use crate::local::LocalLane;
use crate::sync::EventFd;

fn ring(cells: usize) -> (LaneWriter<LocalLane>, LaneReader<LocalLane>, [Arc<EventFd>; 2]) {
    let memory = LocalLane::new(cells);
    let bells = [(); 2].map(|()| Arc::new(EventFd::new().unwrap()));
    let lane = |bell: &Arc<EventFd>| Lane::new(memory.clone(), Arc::clone(bell));
    (LaneWriter::new(lane(&bells[0])), LaneReader::new(lane(&bells[1]), 1024), bells)
}

fn body(number: u8, len: usize) -> Vec<u8> {
    (0..len).map(|at| at as u8 ^ number).collect()
}

fn write(writer: &mut LaneWriter<LocalLane>, bell: &EventFd, body: &[u8]) {
    let header = CommandStart::new(7, 3).header(body.len());
    let mut from = 0;
    loop {
        from = writer.write(header, body, from);
        if from == cells_of(body.len()) {
            return writer.announce();
        }
        if writer.wait_for_capacity() {
            bell.wait();
            bell.lower();
        }
    }
}

fn read(reader: &mut LaneReader<LocalLane>, bell: &EventFd) -> Vec<u8> {
    loop {
        if let Some((_, body)) = reader.receive().unwrap() {
            return body.to_vec();
        }
        if reader.sleep() {
            bell.wait();
            bell.lower();
            reader.wake();
        }
    }
}

/// Bodies of these lengths arrive whole and in order, and both sides wake up.
fn arrives(cells: usize, lengths: &'static [usize]) {
    // More preemptions would take hours.
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(move || {
        let (mut writer, mut reader, bells) = ring(cells);
        let [of_reader, of_writer] = bells;
        let writing = thread::spawn(move || {
            for (number, len) in (1..).zip(lengths) {
                write(&mut writer, &of_writer, &body(number, *len));
            }
        });
        for (number, len) in (1..).zip(lengths) {
            assert_eq!(read(&mut reader, &of_reader), body(number, *len));
        }
        writing.join().unwrap();
    });
}

#[test]
fn a_frame_wakes_a_reader_that_sleeps() {
    arrives(2, &[1]);
}

#[test]
fn frames_arrive_in_order_and_a_writer_without_free_cells_is_woken() {
    arrives(1, &[1, 0]);
}

#[test]
fn the_cells_of_a_group_arrive_together() {
    arrives(2, &[57]);
}
