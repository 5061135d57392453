//! A ring whose other side writes frames, arbitrary words and positions.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use urom_os::EventFd;

use super::memory::within;
use super::program::Program;
use crate::frame::CommandStart;
use crate::ring::cells::{Lane, LaneReader, LaneWriter, WORDS, cells_of};
use crate::ring::local::LocalLane;

const CELLS: usize = 32;
const LIMIT: usize = 17 * 255;
const MEMORY: usize = 64 << 10;

/// Runs a program of a writer and a reader on one direction. Frames arrive whole and in order until
/// the memory is corrupted. Then the reader returns frames of any bytes up to its limit, or an
/// error, and the writer finds capacity or none.
pub fn ring_cells(input: &[u8]) {
    within(MEMORY, || {
        let memory = LocalLane::new(CELLS);
        let lane = || Lane::new(memory.clone(), Arc::new(EventFd::new().expect("a descriptor")));
        let (mut writer, mut reader) = (LaneWriter::new(lane()), LaneReader::new(lane(), LIMIT));
        let (mut sent, mut part, mut is_honest) = (Vec::new(), 0, true);
        let mut program = Program::new(input);
        while let Some(step) = program.byte() {
            match step % 4 {
                0 | 1 => {
                    // The rest of the last frame, or the next frame.
                    if part == 0 {
                        let len = 17 * usize::from(program.small());
                        sent = (0..len).map(|at| at as u8 ^ step).collect();
                    }
                    let header = CommandStart::new(7, 3).header(sent.len());
                    part = writer.write(header, &sent, part);
                    writer.announce();
                    if part == cells_of(sent.len()) {
                        part = 0;
                        if is_honest {
                            assert_eq!(read(&mut reader), Ok(Some(sent.clone())));
                        }
                    } else if is_honest {
                        assert_eq!(read(&mut reader), Ok(None), "it is not whole");
                    }
                }
                2 => drop(read(&mut reader)),
                _ => {
                    is_honest = false;
                    let mut word = [0; 8];
                    let (at, bytes) = (usize::from(program.small()), program.bytes());
                    let len = bytes.len().min(8);
                    // The highest bytes decide the kind of a mark.
                    word[8 - len..].copy_from_slice(&bytes[..len]);
                    memory.word(at / WORDS, at % WORDS).store(u64::from_le_bytes(word), RELAXED);
                    if step & 0x80 != 0 {
                        memory.set_taken(u64::from_le_bytes(word));
                        writer.wait_for_capacity();
                        reader.sleep();
                    }
                }
            }
        }
    });
}

const RELAXED: Ordering = Ordering::Relaxed;

fn read(reader: &mut LaneReader<LocalLane>) -> Result<Option<Vec<u8>>, crate::ring::Garbage> {
    let frame = reader.receive()?;
    Ok(frame.map(|(header, body)| {
        assert!(body.len() <= LIMIT && body.len() == header.len());
        body.to_vec()
    }))
}
