//! The out-of-band exchange of a domain that starts: all-gathers by the host's functions, of sizes,
//! of blobs and of verdicts. A domain runs at all participants or at none.
//!
//! An all-gather waits for all participants, so a participant that fails must not just leave. It
//! sends a size of 0, or zeros instead of its blob, and says why in the round of verdicts. All
//! participants see a size of 0 and leave out the round of blobs. An exchange ends at once for
//! errors that all participants see, and for those that keep this one from a round: a function that
//! fails, and no memory for the others' blobs.
//!
//! Only this file calls the functions, one after the other, as part of a step. Their buffers do not
//! move until `req_test` says that the request is done.

use std::ffi::c_void;

use urom_abi::DocaError;
use urom_abi::host::{OobAllgatherFn, OobColl, OobReqFreeFn, OobReqTestFn};
use urom_wire::control::Failure;
use urom_wire::domain::{MAX_MEMBERS, MAX_TABLE, Size, Table, Verdict};
use zerocopy::{FromBytes, IntoBytes};

use crate::failure::failure;
use crate::memory::Memory;

/// The most memory the second round may take, in bytes: the longest blob for every participant.
const MAX_PADDED: u64 = 256 << 20;

/// The host's functions, none of them NULL.
#[derive(Clone, Copy)]
pub(super) struct Oob {
    allgather: OobAllgatherFn,
    test: OobReqTestFn,
    free: OobReqFreeFn,
    info: *mut c_void,
    /// The number of participants, and the index of this one.
    count: usize,
    index: usize,
}

impl Oob {
    /// `INVALID_VALUE` for a structure that is incomplete or contradictory.
    pub(super) fn new(oob: &OobColl) -> Result<Oob, Failure> {
        let (count, index) = (oob.n_oob_indexes as usize, oob.oob_index as usize);
        let (Some(allgather), Some(test), Some(free)) = (oob.allgather, oob.req_test, oob.req_free)
        else {
            return Err(failure!(
                INVALID_VALUE,
                "one of the domain's out-of-band functions is NULL: it needs all three"
            ));
        };
        if index >= count || count > MAX_MEMBERS {
            return Err(failure!(
                INVALID_VALUE,
                "there is no participant {index} of {count}: oob_index is below n_oob_indexes, \
                 which is at most {MAX_MEMBERS}"
            ));
        }
        Ok(Oob { allgather, test, free, info: oob.coll_info, count, index })
    }
}

/// An all-gather under way.
struct Gather {
    oob: Oob,
    request: *mut c_void,
    round: &'static str,
    send: Option<Memory>,
    receive: Option<Memory>,
    /// Bytes from each participant.
    block: usize,
    /// Whether the host's functions are done with the memory and the request.
    done: bool,
    freed: bool,
}

impl Gather {
    /// Begins to gather blocks of `block` bytes. This participant's block is `own`, followed by
    /// zeros.
    fn start(oob: Oob, round: &'static str, own: &[u8], block: usize) -> Result<Gather, Failure> {
        let no_memory =
            || failure!(NO_MEMORY, "there is no memory for the exchange of the domain's {round}");
        let send = Memory::new(block).ok_or_else(no_memory)?;
        let receive = Memory::new(block.saturating_mul(oob.count)).ok_or_else(no_memory)?;
        // SAFETY: `send` is new and has `block` bytes; `own` is not longer.
        unsafe { send.start().copy_from_nonoverlapping(own.as_ptr(), own.len().min(block)) };
        let mut request = std::ptr::null_mut();
        let (from, to) = (send.start().cast(), receive.start().cast());
        // SAFETY: the host's function, with memory as it asks for, and what the host gave for it.
        let code = unsafe { (oob.allgather)(from, to, block, oob.info, &mut request) };
        if code != DocaError::SUCCESS {
            return Err(refused("allgather", round, code));
        }
        let (send, receive) = (Some(send), Some(receive));
        Ok(Gather { oob, request, round, send, receive, block, done: false, freed: false })
    }

    /// Whether it is over.
    fn test(&mut self) -> Result<bool, Failure> {
        // SAFETY: the host's function, with the request it made, which is not freed.
        let code = unsafe { (self.oob.test)(self.request) };
        match code {
            DocaError::IN_PROGRESS => Ok(false),
            DocaError::SUCCESS => {
                self.done = true;
                match self.free() {
                    DocaError::SUCCESS => Ok(true),
                    code => Err(refused("req_free", self.round, code)),
                }
            }
            code => Err(refused("req_test", self.round, code)),
        }
    }

    fn free(&mut self) -> DocaError {
        self.freed = true;
        // SAFETY: the host's function, with the request it made; `freed` sees to it that this is
        // once.
        unsafe { (self.oob.free)(self.request) }
    }

    /// The block of each participant. None before the gather is done.
    fn blocks(&self) -> impl Iterator<Item = &[u8]> {
        let len = if self.done { self.block * self.oob.count } else { 0 };
        let start = self
            .receive
            .as_ref()
            .map_or(std::ptr::dangling(), |memory| memory.start().cast_const());
        // SAFETY: the memory has so many bytes, zero at first, and the host's functions are done
        // with it.
        unsafe { std::slice::from_raw_parts(start, len) }.chunks_exact(self.block.max(1))
    }
}

impl Drop for Gather {
    fn drop(&mut self) {
        if !self.freed {
            let code = self.free();
            tracing::debug!(target: "urom_library", "an all-gather of {} was given up: {code}", self.round);
        }
        if !self.done {
            // It never ended, so the transport may still write to the memory, which is never freed.
            self.send.take().into_iter().chain(self.receive.take()).for_each(Memory::keep);
        }
    }
}

fn refused(function: &str, round: &str, code: DocaError) -> Failure {
    failure!(
        code = code,
        "the domain's out-of-band function `{function}` failed in the round of {round}: {code}"
    )
}

/// An exchange under way. Dropping it gives it up.
pub(super) struct Exchange {
    oob: Oob,
    /// Empty without one.
    blob: Vec<u8>,
    /// The failure of this process.
    wrong: Option<Failure>,
    /// A participant that sent no blob, and must say why.
    silent: Option<usize>,
    round: Round,
}

enum Round {
    /// No function was called yet.
    None,
    Sizes(Gather),
    /// The first is over.
    Between(Vec<usize>),
    Blobs(Gather, Vec<usize>),
    /// This process has its result, and has not told the others.
    Settled,
    Verdicts(Gather),
}

/// The result of a step.
pub(super) enum Step {
    /// There are more steps.
    Again(Box<Exchange>),
    /// It is over.
    Done(Outcome),
    /// It failed.
    Failed(Failure),
}

/// The result of an exchange.
pub(super) enum Outcome {
    /// All blobs, checked and concatenated.
    Table(Vec<u8>),
    /// The workers of all participants have the table.
    Agreed,
}

impl Exchange {
    /// The last round, of verdicts. It fails if any participant failed.
    pub(super) fn of_verdicts(oob: Oob, own: Result<(), Failure>) -> Exchange {
        Exchange { oob, blob: Vec::new(), wrong: own.err(), silent: None, round: Round::Settled }
    }

    /// An exchange with this participant's blob, or with the reason why there is none. Calls
    /// nothing yet.
    pub(super) fn new(oob: Oob, blob: Result<Vec<u8>, Failure>) -> Exchange {
        let (blob, wrong) = match blob {
            Ok(blob) => (blob, None),
            Err(failure) => (Vec::new(), Some(failure)),
        };
        Exchange { oob, blob, wrong, silent: None, round: Round::None }
    }

    /// Goes on without waiting. It calls one function of the host's, and `req_free` when that is
    /// due: the host may stop the domain between steps.
    pub(super) fn step(mut self: Box<Self>) -> Step {
        match self.next() {
            Ok(None) => Step::Again(self),
            Ok(Some(outcome)) => Step::Done(outcome),
            // The own failure says more than the failure to report it.
            Err(failure) => Step::Failed(self.wrong.take().unwrap_or(failure)),
        }
    }

    /// This process's verdict. It is a failure for a table that lacks a participant, which may not
    /// know that.
    fn own(&self) -> Result<(), Failure> {
        let wrong = self.wrong.clone().or_else(|| self.silent.map(not_said));
        wrong.map_or(Ok(()), Err)
    }

    fn next(&mut self) -> Result<Option<Outcome>, Failure> {
        match &mut self.round {
            Round::None => {
                let size = Size::new(self.blob.len());
                let gather = Gather::start(self.oob, "sizes", size.as_bytes(), size_of::<Size>())?;
                self.round = Round::Sizes(gather);
            }
            Round::Sizes(gather) => {
                if gather.test()? {
                    let sizes = sizes(gather)?;
                    let me = self.oob.index;
                    if self.wrong.is_none() && sizes.get(me) != Some(&self.blob.len()) {
                        (self.wrong, self.blob) = (Some(not_sent(me)), Vec::new());
                    }
                    self.silent = sizes.iter().position(|size| *size == 0);
                    self.round =
                        if self.silent.is_some() { Round::Settled } else { Round::Between(sizes) };
                }
            }
            Round::Between(sizes) => {
                let longest = sizes.iter().copied().max().unwrap_or(0);
                let gather = Gather::start(self.oob, "blobs", &self.blob, longest)?;
                self.blob = Vec::new();
                self.round = Round::Blobs(gather, std::mem::take(sizes));
            }
            Round::Blobs(gather, sizes) => {
                if gather.test()? {
                    let is_silent = |(block, size): (&[u8], &usize)| {
                        block.iter().take(*size).all(|byte| *byte == 0)
                    };
                    self.silent = gather.blocks().zip(sizes.iter()).position(is_silent);
                    if self.wrong.is_none() && self.silent.is_none() {
                        match table(gather, sizes) {
                            Ok(table) => return Ok(Some(Outcome::Table(table))),
                            Err(failure) => self.wrong = Some(failure),
                        }
                    }
                    self.round = Round::Settled;
                }
            }
            Round::Settled => {
                let own = self.own();
                let verdict = Verdict::new(own.as_ref().copied());
                let gather =
                    Gather::start(self.oob, "verdicts", verdict.as_bytes(), size_of::<Verdict>())?;
                self.round = Round::Verdicts(gather);
            }
            Round::Verdicts(gather) => {
                if gather.test()? {
                    agreed(gather, self.silent)?;
                    return self.own().map(|()| Some(Outcome::Agreed));
                }
            }
        }
        Ok(None)
    }
}

fn not_sent(number: usize) -> Failure {
    failure!(
        IO_FAILED,
        "what the domain's all-gather put at the place of participant {number} is not what it \
         sent: use the same release in all processes, an oob_index of its own in each, and \
         n_oob_indexes of all"
    )
}

fn not_said(number: usize) -> Failure {
    failure!(
        IO_FAILED,
        "participant {number} of the domain brought nothing and says no reason: use the same \
         release in all processes, and an all-gather that carries bytes as they are"
    )
}

/// The length of each participant's blob, 0 when it has none. All participants see the same errors.
fn sizes(gather: &Gather) -> Result<Vec<usize>, Failure> {
    let mut sizes = Vec::new();
    let (mut total, mut longest) = (0_u64, 0_u64);
    for (number, block) in gather.blocks().enumerate() {
        let size = Size::read_from_bytes(block).ok().and_then(|size| size.blob_len());
        let size = size.ok_or_else(|| not_sent(number))?;
        total = total.saturating_add(size);
        longest = longest.max(size);
        if size > MAX_TABLE as u64 || total > MAX_TABLE as u64 {
            return Err(failure!(
                TOO_BIG,
                "the domain's addresses, handles and keys are over {MAX_TABLE} bytes with those of \
                 participant {number} ({size} bytes): add fewer buffers"
            ));
        }
        sizes.push(size as usize);
    }
    let count = sizes.len() as u64;
    if longest.saturating_mul(count) > MAX_PADDED {
        return Err(failure!(
            TOO_BIG,
            "one participant of the domain brings {longest} bytes, and room for as many from all \
             {count} is over {MAX_PADDED}: spread the buffers over the processes, or add fewer"
        ));
    }
    Ok(sizes)
}

/// The blobs without their padding.
fn table(gather: &Gather, sizes: &[usize]) -> Result<Vec<u8>, Failure> {
    let mut table = Table::default();
    let mut bytes = Vec::with_capacity(sizes.iter().sum());
    for (number, (block, size)) in gather.blocks().zip(sizes).enumerate() {
        let blob = block.get(..*size).unwrap_or(block);
        let rest = table.take(blob)?;
        if !rest.is_empty() {
            return Err(failure!(
                IO_FAILED,
                "participant {number} of the domain sent {} bytes behind its description",
                rest.len()
            ));
        }
        bytes.extend_from_slice(blob);
    }
    Ok(bytes)
}

/// Whether all participants succeeded. The verdict of the one without a blob goes first: others
/// know less.
fn agreed(gather: &Gather, silent: Option<usize>) -> Result<(), Failure> {
    let first = silent.and_then(|silent| gather.blocks().enumerate().nth(silent));
    for (number, block) in first.into_iter().chain(gather.blocks().enumerate()) {
        let verdict = Verdict::read_from_bytes(block).ok().and_then(|verdict| verdict.result());
        let why = match verdict {
            Some(Ok(())) => continue,
            Some(Err(why)) => why,
            None => {
                failure!(IO_FAILED, "what came from it is no verdict of this release")
            }
        };
        return Err(failure!(
            code = DocaError(why.code),
            "participant {number} of the domain failed: {}",
            why.text
        ));
    }
    Ok(())
}
