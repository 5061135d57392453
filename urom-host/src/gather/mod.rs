//! All-gathers, which exchange bytes between the processes of a domain at its start.

mod environment;
mod error;
mod in_process;
#[cfg(feature = "mpi")]
mod mpi;
mod pmix;
mod rendezvous;

use std::cell::RefCell;
use std::rc::Rc;

pub use error::Error;
pub use in_process::InProcess;
#[cfg(feature = "mpi")]
pub use mpi::Mpi;
pub use rendezvous::Rendezvous;

use urom_abi::DocaError;
use urom_os::fork::Maker;

/// Any error of an [`AllGather`], made by `?` or `.into()`. An [`Error`] or [`std::io::Error`] in
/// it, or among its sources, decides the code of the domain's error.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Exchanges bytes between the processes of a [`Domain`](crate::Domain) while it starts (`struct
/// doca_urom_domain_oob_coll`, "out of band").
///
/// Each participant sends a block, all of one length, and receives all blocks. The crate has
/// [`InProcess`], [`Rendezvous`] and, with feature `mpi`, `Mpi`; implement it for other launchers.
///
/// One exchange runs at a time: the domain calls [`begin`](Self::begin), then [`test`](Self::test)
/// until its end. The library decides the number of exchanges and their block length, equal for all
/// participants. When a domain cancels an exchange, it does not use the all-gather again.
///
/// All calls come from the thread that starts and progresses the domain. They must not wait for
/// other participants or progress an engine. A panic in a call fails the domain's start and
/// continues in the caller of the progress.
///
/// ```
/// use urom_host::gather::{AllGather, BoxError};
///
/// /// A group of one, which has nobody to wait for.
/// struct Alone(Vec<u8>);
///
/// impl AllGather for Alone {
///     fn participants(&self) -> u32 {
///         1
///     }
///
///     fn index(&self) -> u32 {
///         0
///     }
///
///     fn begin(&mut self, block: &[u8]) -> Result<(), BoxError> {
///         self.0 = block.to_vec();
///         Ok(())
///     }
///
///     fn test(&mut self, blocks: &mut [u8]) -> Result<bool, BoxError> {
///         blocks.copy_from_slice(&self.0);
///         Ok(true)
///     }
/// }
/// ```
pub trait AllGather {
    /// The number of participating processes, including this one (`n_oob_indexes`).
    fn participants(&self) -> u32;

    /// The index of this process, from 0 (`oob_index`).
    fn index(&self) -> u32;

    /// Begins an exchange (`allgather`) with this participant's block, which may be empty. All
    /// blocks have the same length.
    ///
    /// # Errors
    /// When the exchange cannot begin, for instance during another; the domain then does not start.
    fn begin(&mut self, block: &[u8]) -> Result<(), BoxError>;

    /// Continues the exchange without waiting (`req_test`) and returns whether it is over. Then
    /// `blocks` holds all blocks in the order of the indices.
    ///
    /// `blocks` has [`participants`](Self::participants) times the block's length. All tests of one
    /// exchange get the same memory, zero at first and otherwise as the previous test left it.
    ///
    /// # Errors
    /// When the exchange failed; it is not tested again, and the domain does not start.
    fn test(&mut self, blocks: &mut [u8]) -> Result<bool, BoxError>;
}

impl<G: AllGather + ?Sized> AllGather for Rc<RefCell<G>> {
    fn participants(&self) -> u32 {
        self.borrow().participants()
    }

    fn index(&self) -> u32 {
        self.borrow().index()
    }

    fn begin(&mut self, block: &[u8]) -> Result<(), BoxError> {
        self.borrow_mut().begin(block)
    }

    fn test(&mut self, blocks: &mut [u8]) -> Result<bool, BoxError> {
        self.borrow_mut().test(blocks)
    }
}

/// The DOCA code for an all-gather's error: never `IN_PROGRESS`.
pub(crate) fn code_of(error: &(dyn std::error::Error + 'static)) -> DocaError {
    let mut next = Some(error);
    while let Some(error) = next {
        let code = match (error.downcast_ref::<Error>(), error.downcast_ref::<std::io::Error>()) {
            (Some(error), _) => error.code(),
            (_, Some(error)) => error::code_of_io(error),
            _ => DocaError::IN_PROGRESS,
        };
        if code != DocaError::IN_PROGRESS {
            return code;
        }
        next = error.source();
    }
    DocaError::IO_FAILED
}

fn check(maker: Maker) -> Result<(), Error> {
    maker.check().map_err(|why| Error::new(DocaError::BAD_STATE, why.to_string()))
}

fn busy() -> BoxError {
    Error::new(DocaError::BAD_STATE, "an exchange is under way already").into()
}

fn idle() -> Error {
    Error::new(DocaError::BAD_STATE, "no exchange is under way")
}
