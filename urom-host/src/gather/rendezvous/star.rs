//! One exchange after another: blocks go to participant 0, and all of them come back.

use std::net::TcpStream;

use urom_abi::DocaError;

use super::super::Error;
use super::peer::{check, drain, fill};
use super::wire::{Head, Kind, MAX_REASON};

/// Participant 0.
pub(super) struct Hub {
    others: Vec<Other>,
    /// Empty once it is among the blocks.
    block: Vec<u8>,
    length: usize,
    round: u32,
}

struct Other {
    stream: TcpStream,
    stage: Stage,
}

enum Stage {
    /// Its block is coming: so many bytes of the head and of the rest are there.
    Receiving {
        head: [u8; Head::LEN],
        filled: usize,
        body: usize,
    },
    /// Its block is there.
    Waiting,
    /// All blocks are going to it: so many bytes of the frame are out.
    Sending(usize),
    Done,
}

const RECEIVING: Stage = Stage::Receiving { head: [0; Head::LEN], filled: 0, body: 0 };

impl Hub {
    /// `others` in the order of their indices, from 1.
    pub(super) fn new(others: Vec<TcpStream>) -> Hub {
        let others = others.into_iter().map(|stream| Other { stream, stage: RECEIVING }).collect();
        Hub { others, block: Vec::new(), length: 0, round: 0 }
    }

    pub(super) fn begin(&mut self, block: &[u8]) {
        self.block = block.to_vec();
        self.length = block.len();
    }

    /// Does what can be done now; whether the exchange is over.
    pub(super) fn step(&mut self, blocks: &mut [u8]) -> Result<bool, Error> {
        let (own, length) = (std::mem::take(&mut self.block), self.length);
        blocks[..own.len()].copy_from_slice(&own);
        let mut complete = true;
        for (other, index) in self.others.iter_mut().zip(1..) {
            let room = &mut blocks[index * length..][..length];
            complete &= other.receive(index, self.round, room)?;
        }
        if !complete {
            return Ok(false);
        }
        let head =
            Head { kind: Kind::Table, word: self.round, length: blocks.len() as u64 }.to_bytes();
        let mut done = true;
        for (other, index) in self.others.iter_mut().zip(1..) {
            done &= other.send(index, [&head, blocks])?;
        }
        if done {
            self.round = self.round.wrapping_add(1);
            self.others.iter_mut().for_each(|other| other.stage = RECEIVING);
        }
        Ok(done)
    }

    /// Who keeps the exchange from being over.
    pub(super) fn waits_for(&self) -> String {
        let late =
            |other: &Other| matches!(other.stage, Stage::Receiving { .. } | Stage::Sending(_));
        let late = self.others.iter().zip(1..).filter(|(other, _)| late(other));
        let late: Vec<_> =
            late.map(|(_, index): (_, u32)| format!("participant {index}")).collect();
        late.join(", ")
    }

    /// Tells the others why there will be no more, as far as they can be told, and lets them go.
    pub(super) fn fail(&mut self, error: &Error) {
        let frame = Head::failed(error.code(), &error.to_string());
        for mut other in self.others.drain(..) {
            // In the middle of another frame it would not be understood; the closed connection will be.
            if !matches!(other.stage, Stage::Sending(1..)) {
                let _ = drain(&mut other.stream, [&frame, &[]], &mut 0);
            }
        }
    }
}

impl Other {
    /// Whether its block is there.
    fn receive(&mut self, index: usize, round: u32, room: &mut [u8]) -> Result<bool, Error> {
        let gone = |error| Error::io(format!("participant {index} is gone"), error);
        let (head, filled, body) = match &mut self.stage {
            Stage::Receiving { head, filled, body } => (head, filled, body),
            Stage::Waiting => return check(&self.stream).map(|()| true).map_err(gone),
            // One that has everything may leave.
            Stage::Sending(_) | Stage::Done => return Ok(true),
        };
        if !fill(&mut self.stream, head, filled).map_err(gone)? {
            return Ok(false);
        }
        match Head::from_bytes(head) {
            Some(Head { kind: Kind::Block, word, length })
                if word == round && length == room.len() as u64 => {}
            Some(Head { kind: Kind::Block, word, length }) if word == round => {
                let own = room.len();
                let text = format!("participant {index} gives {length} bytes, participant 0 {own}");
                return Err(Error::new(DocaError::INVALID_VALUE, text));
            }
            _ => return Err(nonsense(index)),
        }
        if !fill(&mut self.stream, room, body).map_err(gone)? {
            return Ok(false);
        }
        self.stage = Stage::Waiting;
        Ok(true)
    }

    /// Whether everything is out.
    fn send(&mut self, index: usize, frame: [&[u8]; 2]) -> Result<bool, Error> {
        if let Stage::Waiting = self.stage {
            self.stage = Stage::Sending(0);
        }
        if let Stage::Sending(sent) = &mut self.stage {
            let gone = |error| Error::io(format!("participant {index} is gone"), error);
            if !drain(&mut self.stream, frame, sent).map_err(gone)? {
                return Ok(false);
            }
            self.stage = Stage::Done;
        }
        Ok(true)
    }
}

/// Any other participant.
pub(super) struct Spoke {
    /// `None` once it failed.
    stream: Option<TcpStream>,
    round: u32,
    frame: Vec<u8>,
    sent: usize,
    head: [u8; Head::LEN],
    filled: usize,
    body: usize,
    reason: Vec<u8>,
}

impl Spoke {
    pub(super) fn new(stream: TcpStream) -> Spoke {
        Spoke {
            stream: Some(stream),
            round: 0,
            frame: Vec::new(),
            sent: 0,
            head: [0; Head::LEN],
            filled: 0,
            body: 0,
            reason: Vec::new(),
        }
    }

    pub(super) fn begin(&mut self, block: &[u8]) {
        let head = Head { kind: Kind::Block, word: self.round, length: block.len() as u64 };
        self.frame = [&head.to_bytes()[..], block].concat();
        (self.sent, self.filled, self.body) = (0, 0, 0);
    }

    /// Does what can be done now; whether the exchange is over.
    pub(super) fn step(&mut self, blocks: &mut [u8]) -> Result<bool, Error> {
        let gone = |error| Error::io("participant 0 is gone", error);
        let Some(stream) = &mut self.stream else { return Err(nonsense(0)) };
        let sent = drain(stream, [&self.frame, &[]], &mut self.sent);
        // A participant 0 that hangs up may have said why: that is worth more than the error of sending.
        if !fill(stream, &mut self.head, &mut self.filled).map_err(gone)? {
            return sent.map(|_| false).map_err(gone);
        }
        match Head::from_bytes(&self.head) {
            Some(Head { kind: Kind::Table, word, length }) => {
                if word != self.round
                    || length != blocks.len() as u64
                    || self.sent < self.frame.len()
                {
                    return Err(nonsense(0));
                }
                if !fill(stream, blocks, &mut self.body).map_err(gone)? {
                    return Ok(false);
                }
                self.round = self.round.wrapping_add(1);
                Ok(true)
            }
            Some(Head { kind: Kind::Failed, word, length }) if length <= MAX_REASON as u64 => {
                self.reason.resize(length as usize, 0);
                if !fill(stream, &mut self.reason, &mut self.body).map_err(gone)? {
                    return Ok(false);
                }
                let text = format!("participant 0 says: {}", String::from_utf8_lossy(&self.reason));
                Err(Error::new(DocaError(word), text))
            }
            _ => Err(nonsense(0)),
        }
    }

    /// Lets participant 0 notice that this one is out.
    pub(super) fn close(&mut self) {
        self.stream = None;
    }
}

fn nonsense(index: usize) -> Error {
    let text = format!("participant {index} sent what is no part of this exchange");
    Error::new(DocaError::UNEXPECTED, text)
}
