//! The all-gather of participants in one process, for tests and first steps.

use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};

use urom_abi::DocaError;
use urom_os::fork::Maker;

use super::{AllGather, BoxError, Error, busy, check, idle};

/// The all-gather of participants in one process, on one thread or on several.
///
/// A participant dropped before it sent its block fails the exchange for the others.
pub struct InProcess {
    maker: Maker,
    index: u32,
    to: Vec<Sender<Box<[u8]>>>,
    from: Vec<Receiver<Box<[u8]>>>,
    /// Participants whose blocks of the current exchange have arrived; `None` between exchanges.
    arrived: Option<Vec<bool>>,
}

impl InProcess {
    /// Makes a group of `participants`, by index.
    pub fn group(participants: u32) -> Vec<InProcess> {
        let mut ends: Vec<(Vec<_>, Vec<_>)> =
            (0..participants).map(|_| Default::default()).collect();
        for sender in 0..ends.len() {
            for receiver in 0..ends.len() {
                let (to, from) = mpsc::channel();
                ends[sender].0.push(to);
                ends[receiver].1.push(from);
            }
        }
        let maker = Maker::here();
        let member = |((to, from), index)| InProcess { maker, index, to, from, arrived: None };
        ends.into_iter().zip(0..).map(member).collect()
    }

    /// A group of one participant, for a domain of this process alone.
    pub fn alone() -> InProcess {
        InProcess::group(1).swap_remove(0)
    }
}

impl AllGather for InProcess {
    fn participants(&self) -> u32 {
        self.to.len() as u32
    }

    fn index(&self) -> u32 {
        self.index
    }

    fn begin(&mut self, block: &[u8]) -> Result<(), BoxError> {
        check(self.maker)?;
        if self.arrived.is_some() {
            return Err(busy());
        }
        self.arrived = Some(vec![false; self.from.len()]);
        for to in &self.to {
            // A dropped participant needs no block.
            let _ = to.send(block.into());
        }
        Ok(())
    }

    fn test(&mut self, blocks: &mut [u8]) -> Result<bool, BoxError> {
        let arrived = self.arrived.as_mut().ok_or_else(idle)?;
        let length = blocks.len() / self.from.len();
        for (index, (from, arrived)) in self.from.iter().zip(arrived.iter_mut()).enumerate() {
            if *arrived {
                continue;
            }
            match from.try_recv() {
                Ok(block) if block.len() == length => {
                    blocks[index * length..][..length].copy_from_slice(&block);
                    *arrived = true;
                }
                Ok(block) => {
                    let (found, own) = (block.len(), self.index);
                    let text = format!(
                        "participant {index} gives {found} bytes, participant {own} {length}"
                    );
                    return Err(Error::new(DocaError::INVALID_VALUE, text).into());
                }
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => {
                    let text = format!("participant {index} has left");
                    return Err(Error::new(DocaError::CONNECTION_RESET, text).into());
                }
            }
        }
        let over = arrived.iter().all(|arrived| *arrived);
        if over {
            self.arrived = None;
        }
        Ok(over)
    }
}

debug_fields!(InProcess, |it| { index: it.index, participants: it.to.len() });
