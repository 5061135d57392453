//! The all-gather of participants that share a process: for tests and first steps.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use urom_abi::DocaError;

use super::{AllGather, BoxError, Error, busy};

/// The all-gather of participants in one process, on one thread or on several.
///
/// ```
/// use urom_host::gather::{AllGather, InProcess};
/// # fn main() -> Result<(), urom_host::gather::BoxError> {
/// let mut group = InProcess::group(2);
/// for (participant, block) in group.iter_mut().zip([b"ab", b"cd"]) {
///     participant.begin(block)?;
/// }
/// let mut blocks = [0; 4];
/// assert!(group[0].test(&mut blocks)?);
/// assert_eq!(&blocks, b"abcd");
/// # Ok(())
/// # }
/// ```
///
/// A participant that is dropped before it put in its block fails the exchange for the others.
pub struct InProcess {
    index: u32,
    /// The exchange that is under way, or would be the next.
    round: u64,
    pending: bool,
    group: Arc<Group>,
}

impl InProcess {
    /// Makes a group of `participants`, in the order of their indices.
    pub fn group(participants: u32) -> Vec<InProcess> {
        let group = Group::of(participants);
        (0..participants).map(|index| group.member(index)).collect()
    }

    /// The only participant of a group: for a domain of this process alone.
    ///
    /// ```
    /// use urom_host::gather::{AllGather, InProcess};
    ///
    /// # fn main() -> Result<(), urom_host::gather::BoxError> {
    /// let mut alone = InProcess::alone();
    /// alone.begin(b"mine")?;
    /// let mut blocks = [0; 4];
    /// assert!(alone.test(&mut blocks)? && &blocks == b"mine");
    /// # Ok(())
    /// # }
    /// ```
    pub fn alone() -> InProcess {
        Group::of(1).member(0)
    }
}

struct Group {
    participants: u32,
    state: Mutex<State>,
}

struct State {
    /// The number of the first of `rounds`.
    first: u64,
    /// Exchanges that not everybody has taken yet. There are two at most: nobody begins one before the last is over.
    rounds: VecDeque<Round>,
    gone: Vec<bool>,
}

struct Round {
    blocks: Vec<Option<Box<[u8]>>>,
    taken: u32,
}

impl Group {
    fn of(participants: u32) -> Arc<Group> {
        let state =
            State { first: 0, rounds: VecDeque::new(), gone: vec![false; participants as usize] };
        Arc::new(Group { participants, state: Mutex::new(state) })
    }

    fn member(self: &Arc<Self>, index: u32) -> InProcess {
        InProcess { index, round: 0, pending: false, group: Arc::clone(self) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics half way through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn round(&mut self, number: u64) -> &mut Round {
        let at = (number - self.first) as usize;
        while self.rounds.len() <= at {
            let blocks = self.gone.iter().map(|_| None).collect();
            self.rounds.push_back(Round { blocks, taken: 0 });
        }
        &mut self.rounds[at]
    }
}

impl AllGather for InProcess {
    fn participants(&self) -> u32 {
        self.group.participants
    }

    fn index(&self) -> u32 {
        self.index
    }

    fn begin(&mut self, block: &[u8]) -> Result<(), BoxError> {
        if std::mem::replace(&mut self.pending, true) {
            return Err(busy());
        }
        self.group.state().round(self.round).blocks[self.index as usize] = Some(block.into());
        Ok(())
    }

    fn test(&mut self, blocks: &mut [u8]) -> Result<bool, BoxError> {
        if !self.pending {
            return Err(Error::new(DocaError::BAD_STATE, "no exchange is under way").into());
        }
        let mut state = self.group.state();
        let State { first, rounds, gone } = &mut *state;
        // It is there since `begin`, and stays until this participant has taken it.
        let round = &mut rounds[(self.round - *first) as usize];
        let length = blocks.len() / gone.len();
        let mut complete = true;
        for (index, block) in round.blocks.iter().enumerate() {
            match block {
                Some(block) if block.len() == length => {}
                Some(block) => {
                    let (found, own) = (block.len(), self.index);
                    let text = format!(
                        "participant {index} gives {found} bytes, participant {own} {length}"
                    );
                    return Err(Error::new(DocaError::INVALID_VALUE, text).into());
                }
                None if gone[index] => {
                    let text = format!("participant {index} is gone");
                    return Err(Error::new(DocaError::CONNECTION_RESET, text).into());
                }
                None => complete = false,
            }
        }
        if !complete {
            return Ok(false);
        }
        for (block, room) in
            round.blocks.iter().flatten().zip(blocks.chunks_exact_mut(length.max(1)))
        {
            room.copy_from_slice(block);
        }
        round.taken += 1;
        if round.taken == self.group.participants {
            rounds.pop_front();
            *first += 1;
        }
        self.pending = false;
        self.round += 1;
        Ok(true)
    }
}

impl Drop for InProcess {
    fn drop(&mut self) {
        self.group.state().gone[self.index as usize] = true;
    }
}

impl fmt::Debug for InProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InProcess")
            .field("index", &self.index)
            .field("participants", &self.group.participants)
            .finish_non_exhaustive()
    }
}
