//! The out-of-band exchange of a domain that starts: all-gathers by the host's functions, of sizes,
//! of blobs and of verdicts. A domain runs at all participants or at none.
//!
//! An all-gather waits for all participants, so a participant that fails must not just leave. It
//! sends a size of 0, or zeros instead of its blob, and says why in the round of verdicts. All
//! participants see a size of 0 and leave out the round of blobs. An exchange ends at once for
//! errors that all participants see, and for those that keep this one from a round: a function that
//! fails, and no memory for the others' blobs.

use std::ffi::c_void;
use std::mem;
use std::pin::Pin;

use tokio::task::yield_now;
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

struct Gather {
    oob: Oob,
    request: *mut c_void,
    round: &'static str,
    send: Memory,
    receive: Memory,
    block: usize,
    /// Whether the host's functions are done with the memory and the request.
    done: bool,
    freed: bool,
}

/// Gathers blocks of `block` bytes. This participant's block is `own`, followed by zeros.
async fn gather(
    oob: Oob,
    round: &'static str,
    own: &[u8],
    block: usize,
) -> Result<Gather, Failure> {
    let mut gather = Gather::start(oob, round, own, block)?;
    loop {
        yield_now().await;
        if gather.test()? {
            return Ok(gather);
        }
    }
}

impl Gather {
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
        Ok(Gather { oob, request, round, send, receive, block, done: false, freed: false })
    }

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
        let start = self.receive.start().cast_const();
        // SAFETY: the memory has so many bytes, zero at first, and the host's functions are done
        // with it.
        unsafe { std::slice::from_raw_parts(start, len) }.chunks_exact(self.block.max(1))
    }
}

impl Drop for Gather {
    fn drop(&mut self) {
        if !self.freed {
            let code = self.free();
            log!(debug, "an all-gather of {} was given up: {code}", self.round);
        }
        if !self.done {
            // It never ended, so the transport may still write to the memory, which is never freed.
            for memory in [&mut self.send, &mut self.receive] {
                mem::replace(memory, Memory::none()).keep();
            }
        }
    }
}

fn refused(function: &str, round: &str, code: DocaError) -> Failure {
    failure!(
        code = code,
        "the domain's out-of-band function `{function}` failed in the round of {round}: {code}"
    )
}

/// An exchange under way. Each poll is a step: it calls one function of the host's, and `req_free`
/// when that is due, and nothing wakes it. The host may stop the domain between steps; dropping the
/// exchange gives it up.
pub(super) type Exchange = Pin<Box<dyn Future<Output = Result<Outcome, Failure>>>>;

pub(super) enum Outcome {
    /// All blobs, checked and concatenated.
    Table(Vec<u8>),
    /// The workers of all participants have the table.
    Agreed,
}

/// The exchange of blobs: this participant's, or the reason why there is none.
pub(super) fn of_blobs(oob: Oob, blob: Result<Vec<u8>, Failure>) -> Exchange {
    Box::pin(async move { blobs(oob, blob).await.map(Outcome::Table) })
}

/// The last round, of verdicts. It fails if any participant failed.
pub(super) fn of_verdicts(oob: Oob, own: Result<(), Failure>) -> Exchange {
    Box::pin(async move { verdicts(oob, own.err(), None).await.map(|()| Outcome::Agreed) })
}

async fn blobs(oob: Oob, blob: Result<Vec<u8>, Failure>) -> Result<Vec<u8>, Failure> {
    let (mut blob, mut wrong) = match blob {
        Ok(blob) => (blob, None),
        Err(failure) => (Vec::new(), Some(failure)),
    };
    let size = Size::new(blob.len());
    let gathered = gather(oob, "sizes", size.as_bytes(), size_of::<Size>()).await;
    let sizes = match gathered.and_then(|gather| sizes(&gather)) {
        Ok(sizes) => sizes,
        // The own failure says more than the failure to report it.
        Err(failure) => return Err(wrong.unwrap_or(failure)),
    };
    if wrong.is_none() && sizes.get(oob.index) != Some(&blob.len()) {
        (wrong, blob) = (Some(not_sent(oob.index)), Vec::new());
    }
    yield_now().await;
    // A participant that sent no blob, and must say why.
    let mut silent = sizes.iter().position(|size| *size == 0);
    if silent.is_none() {
        let longest = sizes.iter().copied().max().unwrap_or(0);
        let gather = match gather(oob, "blobs", &blob, longest).await {
            Ok(gather) => gather,
            Err(failure) => return Err(wrong.unwrap_or(failure)),
        };
        let is_silent =
            |(block, size): (&[u8], &usize)| block.iter().take(*size).all(|byte| *byte == 0);
        silent = gather.blocks().zip(&sizes).position(is_silent);
        if wrong.is_none() && silent.is_none() {
            match table(&gather, &sizes) {
                Ok(table) => return Ok(table),
                Err(failure) => wrong = Some(failure),
            }
        }
        yield_now().await;
    }
    // One of them is there, so this fails.
    verdicts(oob, wrong, silent).await.map(|()| Vec::new())
}

/// Tells the others whether anything is wrong here, and hears what they say. It fails as well when
/// a participant was silent, which may not know that.
async fn verdicts(oob: Oob, wrong: Option<Failure>, silent: Option<usize>) -> Result<(), Failure> {
    let unsaid = silent.map(not_said);
    let verdict = Verdict::new(wrong.as_ref().or(unsaid.as_ref()).map_or(Ok(()), Err));
    let gathered = gather(oob, "verdicts", verdict.as_bytes(), size_of::<Verdict>()).await;
    let heard = gathered.and_then(|gather| agreed(&gather, silent));
    match wrong {
        Some(failure) => Err(failure),
        None => heard.and(unsaid.map_or(Ok(()), Err)),
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
