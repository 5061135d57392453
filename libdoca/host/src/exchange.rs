//! The out-of-band exchange of a starting domain, which runs at all participants or at none. A
//! failing participant reports its failure in the next round of sizes or verdicts, because the
//! others wait for it. Only errors that all see, a failed host function, or a lack of memory end it
//! at once.

use std::ffi::c_void;
use std::mem;

use tokio::task::yield_now;
use urom_abi::host::{OobAllgatherFn, OobColl, OobReqFreeFn, OobReqTestFn};
use urom_abi::{DocaError, DocaStatus};
use urom_wire::control::Failure;
use urom_wire::domain::{MAX_MEMBERS, MAX_TABLE, Table, Verdict};
use urom_wire::plain::Plain;

use crate::failure::{fail_if, failure};
use crate::memory::FixedMemory;

/// Maximum memory of the second round in bytes: the longest blob times the participants.
const MAX_PADDED: u64 = 256 << 20;

/// The host's functions, all non-NULL.
#[derive(Clone, Copy)]
pub(super) struct Oob {
    allgather: OobAllgatherFn,
    test: OobReqTestFn,
    free: OobReqFreeFn,
    info: *mut c_void,
    count: usize,
    index: usize,
}

impl Oob {
    /// Returns `INVALID_VALUE` for an incomplete or contradictory structure.
    pub(super) fn new(oob: &OobColl) -> Result<Oob, Failure> {
        let (count, index) = (oob.n_oob_indexes as usize, oob.oob_index as usize);
        let (Some(allgather), Some(test), Some(free)) = (oob.allgather, oob.req_test, oob.req_free)
        else {
            return Err(failure!(
                INVALID_VALUE,
                "one of the domain's out-of-band functions is NULL: it needs all three"
            ));
        };
        fail_if!(
            index >= count || count > MAX_MEMBERS,
            INVALID_VALUE,
            "there is no participant {index} of {count}: oob_index is below n_oob_indexes, \
                 which is at most {MAX_MEMBERS}"
        );
        Ok(Oob { allgather, test, free, info: oob.coll_info, count, index })
    }
}

struct Gather {
    oob: Oob,
    request: *mut c_void,
    round: &'static str,
    send: FixedMemory,
    receive: FixedMemory,
    block: usize,
    /// Whether the host's functions no longer use the memory and the request is freed.
    done: bool,
}

/// Gathers blocks of `block` bytes. This participant's block is `own`, padded with zeros.
async fn gather(
    oob: Oob,
    round: &'static str,
    own: &[u8],
    block: usize,
) -> Result<Gather, Failure> {
    let no_memory =
        || failure!(NO_MEMORY, "memory is exhausted for the exchange of the domain's {round}");
    let send = FixedMemory::new(block).ok_or_else(no_memory)?;
    let receive = FixedMemory::new(block.saturating_mul(oob.count)).ok_or_else(no_memory)?;
    // SAFETY: `send` is new and has `block` bytes; `own` is not longer.
    unsafe { send.start().copy_from_nonoverlapping(own.as_ptr(), own.len().min(block)) };
    let mut request = std::ptr::null_mut();
    let (from, to) = (send.start().cast(), receive.start().cast());
    // SAFETY: the host's function, with memory of the agreed sizes and the host's own `info`.
    let code = unsafe { (oob.allgather)(from, to, block, oob.info, &mut request) };
    code.check().map_err(|code| refused("allgather", round, code))?;
    let mut gather = Gather { oob, request, round, send, receive, block, done: false };
    let ended = loop {
        yield_now().await;
        // SAFETY: the host's function, with its request, which is not freed.
        match unsafe { (oob.test)(request) } {
            DocaStatus::IN_PROGRESS => {}
            status => break status.check(),
        }
    };
    ended.map_err(|code| refused("req_test", round, code))?;
    gather.done = true;
    // SAFETY: the host's function, with its request; `done` ensures that it is freed once.
    let code = unsafe { (oob.free)(request) };
    code.check().map_err(|code| refused("req_free", round, code))?;
    Ok(gather)
}

impl Gather {
    fn blocks(&self) -> impl Iterator<Item = &[u8]> {
        let start = self.receive.start().cast_const();
        // SAFETY: the memory has this size, initially zero, and the host's functions no longer use
        // it: `gather` returns only then.
        let blocks = unsafe { std::slice::from_raw_parts(start, self.block * self.oob.count) };
        blocks.chunks_exact(self.block.max(1))
    }
}

impl Drop for Gather {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        // SAFETY: the host's function, with its request, which is not freed.
        let code = unsafe { (self.oob.free)(self.request) };
        log!(debug, "an all-gather of {} was cancelled: {code}", self.round);
        // The transport may still write to the memory, so it is leaked.
        for memory in [&mut self.send, &mut self.receive] {
            mem::replace(memory, FixedMemory::none()).keep();
        }
    }
}

fn refused(function: &str, round: &str, code: DocaError) -> Failure {
    failure!(
        code = code,
        "the domain's out-of-band function `{function}` failed in the round of {round}: {code}"
    )
}

/// Runs the exchange of a start. `blob` is this participant's blob or failure. `deliver` sends all
/// blobs to this process's workers. Succeeds when all participants' workers have the blobs. Each
/// poll calls one host function, plus `req_free` when due. Nothing wakes it. The host may stop the
/// domain between steps, which drops and cancels the exchange.
pub(super) async fn exchange(
    oob: Oob,
    blob: Result<Vec<u8>, Failure>,
    deliver: impl AsyncFnOnce(Vec<u8>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let sizes = verdicts(oob, "sizes", blob.as_ref().map(Vec::len)).await;
    // This participant's own failure is more specific.
    let blob = blob?;
    let sizes = checked(sizes?)?;
    yield_now().await;
    let longest = sizes.iter().copied().max().unwrap_or(0);
    let blobs = gather(oob, "blobs", &blob, longest).await?;
    let table = match sizes.get(oob.index) {
        Some(size) if *size == blob.len() => table(&blobs, &sizes),
        _ => Err(not_sent(oob.index)),
    };
    drop(blobs);
    let delivered = match table {
        Ok(table) => deliver(table).await,
        Err(failure) => Err(failure),
    };
    yield_now().await;
    let received = verdicts(oob, "verdicts", delivered.as_ref().map(|()| 0)).await;
    delivered.and(received.map(drop))
}

/// Gathers the lengths or failures of all participants. Fails if any participant failed.
async fn verdicts(
    oob: Oob,
    round: &'static str,
    own: Result<usize, &Failure>,
) -> Result<Vec<u64>, Failure> {
    let own = Verdict::new(own);
    let gather = gather(oob, round, own.as_bytes(), size_of::<Verdict>()).await?;
    let read = |(number, block)| {
        let verdict = Verdict::read(block).and_then(|verdict| verdict.result());
        verdict.ok_or_else(|| not_sent(number))?.map_err(|Failure { code, text }| {
            failure!(code = code, "participant {number} of the domain failed: {text}")
        })
    };
    gather.blocks().enumerate().map(read).collect()
}

fn not_sent(number: usize) -> Failure {
    failure!(
        IO_FAILED,
        "what the domain's all-gather put at the position of participant {number} is not what it \
         sent: use the same release in all processes, an oob_index of its own in each, and \
         n_oob_indexes of all"
    )
}

/// Validates the blob lengths. All participants see the same errors.
fn checked(sizes: Vec<u64>) -> Result<Vec<usize>, Failure> {
    let mut total = 0_u64;
    for (number, size) in sizes.iter().enumerate() {
        total = total.saturating_add(*size);
        if *size == 0 {
            return Err(not_sent(number));
        }
        fail_if!(
            total > MAX_TABLE as u64,
            TOO_BIG,
            "the domain's addresses, handles and keys are over {MAX_TABLE} bytes with those of \
                 participant {number} ({size} bytes): take fewer buffers or workers"
        );
    }
    let (count, longest) = (sizes.len() as u64, sizes.iter().copied().max().unwrap_or(0));
    fail_if!(
        longest.saturating_mul(count) > MAX_PADDED,
        TOO_BIG,
        "one participant of the domain brings {longest} bytes, and space for as many from all \
             {count} is over {MAX_PADDED}: spread the buffers over the processes, or add fewer"
    );
    Ok(sizes.into_iter().map(|size| size as usize).collect())
}

fn table(gather: &Gather, sizes: &[usize]) -> Result<Vec<u8>, Failure> {
    let mut table = Table::default();
    let mut bytes = Vec::with_capacity(sizes.iter().sum());
    for (number, (block, size)) in gather.blocks().zip(sizes).enumerate() {
        let blob = block.get(..*size).unwrap_or(block);
        let rest = table.take(blob)?;
        fail_if!(
            !rest.is_empty(),
            IO_FAILED,
            "participant {number} of the domain sent {} bytes behind its description",
            rest.len()
        );
        bytes.extend_from_slice(blob);
    }
    Ok(bytes)
}
