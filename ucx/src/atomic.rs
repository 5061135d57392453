//! Atomic operations on 64-bit words of remote memory.

use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};

use ucx_sys as sys;

use crate::endpoint::ErrorMode;
use crate::features::Features;
use crate::held_buffer::HeldBuffer;
use crate::request::Request;
use crate::rma::RemoteMemory;
use crate::status::Status;
use crate::version::{Version, version};

/// The first UCX that fails operations without a device. Older ones loop forever inside the call.
const ENDS: Version = Version { major: 1, minor: 21, patch: 0 };

/// The operand and the answer. Moving a vector does not move its words.
type Words = Vec<u64>;

impl RemoteMemory {
    /// Adds to the word at `offset`; yields the value before: `UCP_ATOMIC_OP_ADD`. Overflow wraps.
    ///
    /// With [`ErrorMode::Peer`], an operation that no device supports ends with an error. Words are
    /// in the peer's byte order. `INVALID_PARAM` if `offset` is not a multiple of eight,
    /// `OUT_OF_RANGE` if the word is not inside, `UNSUPPORTED` without [`Features::AMO64`].
    pub fn fetch_add(&self, offset: u64, value: u64) -> Atomic {
        self.atomic(sys::UCP_ATOMIC_OP_ADD, offset, value, 0)
    }

    /// Writes a word at `offset`; yields the value before: `UCP_ATOMIC_OP_SWAP`.
    pub fn swap(&self, offset: u64, value: u64) -> Atomic {
        self.atomic(sys::UCP_ATOMIC_OP_SWAP, offset, value, 0)
    }

    /// Writes `new` if the word equals `expected`; yields the value before: `UCP_ATOMIC_OP_CSWAP`.
    pub fn compare_swap(&self, offset: u64, expected: u64, new: u64) -> Atomic {
        self.atomic(sys::UCP_ATOMIC_OP_CSWAP, offset, expected, new)
    }

    fn atomic(
        &self,
        operation: sys::ucp_atomic_op_t,
        offset: u64,
        operand: u64,
        answer: u64,
    ) -> Atomic {
        let words = vec![operand, answer];
        let (raw, address) = match self.reach(Features::AMO64, offset, 8) {
            Ok((raw, address)) if address % 8 == 0 => (raw, address),
            Ok(_) => return Atomic(Request::failed(Status::INVALID_PARAM, words)),
            Err(status) => return Atomic(Request::failed(status, words)),
        };
        let endpoint = self.endpoint();
        if endpoint.error_mode() == ErrorMode::Peer
            && version() < ENDS
            && !endpoint.has_device_with_atomics()
        {
            return Atomic(Request::failed(Status::UNSUPPORTED, words));
        }
        let mut words = HeldBuffer::new(words);
        let [operand, answer] = words.get_mut().as_mut_slice() else { unreachable!("two words") };
        let (operand, answer) = (&raw const *operand, &raw mut *answer);
        let mut params = endpoint.worker().inner().params();
        params.op_attr_mask |=
            sys::UCP_OP_ATTR_FIELD_DATATYPE | sys::UCP_OP_ATTR_FIELD_REPLY_BUFFER;
        params.datatype = sys::ucp_dt_make_contig(8);
        params.reply_buffer = answer.cast();
        // SAFETY: the endpoint is live with this key, the remote word is inside and aligned, and
        // the request owns both words and the key until UCX is done.
        let returned = unsafe {
            sys::ucp_atomic_op_nbx(raw, operation, operand.cast(), 1, address, self.key(), &params)
        };
        Atomic(self.started(returned, words))
    }
}

/// A running atomic operation; yields the word before the operation. Dropping it does not stop it.
#[must_use = "the operation goes on by itself, but its answer is lost"]
pub struct Atomic(Request<Words>);

fn answer((result, words): (Result<(), Status>, Words)) -> Result<u64, Status> {
    result.map(|()| words[1])
}

impl Atomic {
    /// Progresses the worker until the operation has ended.
    ///
    /// # Errors
    /// UCX's error, or the reason why the operation was not started.
    ///
    /// # Panics
    /// Like [`Request::wait`].
    pub fn wait(self) -> Result<u64, Status> {
        answer(self.0.wait())
    }

    /// Returns whether the operation has ended.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.0.is_done()
    }
}

impl Future for Atomic {
    type Output = Result<u64, Status>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx).map(answer)
    }
}

debug_fields!(Atomic, |it| { done: it.is_done() });
