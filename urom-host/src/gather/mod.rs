//! All-gathers: how the processes of a domain exchange bytes when it starts.

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

/// What an [`AllGather`] fails with: any error at all, so that `?` and `.into()` make one.
///
/// An [`Error`] or a [`std::io::Error`] in it, or among its sources, decides the DOCA code of the
/// domain's error.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// How the processes that make up a [`Domain`](crate::Domain) exchange bytes while it starts
/// (`struct doca_urom_domain_oob_coll`, "out of band").
///
/// Every participant gives a block, all of one length, and gets the blocks of all. The crate has
/// [`InProcess`], [`Rendezvous`] and, with the feature `mpi`, `Mpi`; implement the trait for what
/// another launcher offers.
///
/// One exchange is under way at a time. The domain calls [`begin`](Self::begin), then
/// [`test`](Self::test) until the exchange is over, and then begins the next. The library decides
/// how many exchanges there are and how long their blocks are, the same for all participants. When
/// a domain gives an exchange up, it stops testing it and does not use the all-gather again.
///
/// All calls come from the thread that starts and progresses the domain. They must neither wait for
/// other participants nor progress an engine. A panic in one fails the domain's start; whoever
/// called for progress gets it.
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
    /// How many processes take part, this one included (`n_oob_indexes`).
    fn participants(&self) -> u32;

    /// Which of them this one is, from 0 (`oob_index`).
    fn index(&self) -> u32;

    /// Begins an exchange (`allgather`): this participant's block, of the same length on all of
    /// them. It may be empty.
    ///
    /// # Errors
    /// When the exchange cannot begin, for instance because another one is under way; the domain
    /// then does not start.
    fn begin(&mut self, block: &[u8]) -> Result<(), BoxError>;

    /// Goes on with the exchange without waiting (`req_test`) and returns whether it is over. Then
    /// `blocks` holds everyone's block, in the order of their indices.
    ///
    /// `blocks` is [`participants`](Self::participants) times as long as the block. Through all
    /// tests of one exchange it is the same memory: zero at first, and later as the test before
    /// left it.
    ///
    /// # Errors
    /// When the exchange failed; it is not tested again, and the domain does not start.
    fn test(&mut self, blocks: &mut [u8]) -> Result<bool, BoxError>;
}

/// An all-gather that several domains use, one after another.
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

/// The DOCA code that says best what an all-gather failed with: neither `SUCCESS` nor
/// `IN_PROGRESS`.
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

/// `BAD_STATE` for an end of an all-gather that was made before a fork.
fn check(maker: Maker) -> Result<(), Error> {
    maker.check().map_err(|why| Error::new(DocaError::BAD_STATE, why.to_string()))
}

fn busy() -> BoxError {
    Error::new(DocaError::BAD_STATE, "an exchange is under way already").into()
}

fn idle() -> Error {
    Error::new(DocaError::BAD_STATE, "no exchange is under way")
}
