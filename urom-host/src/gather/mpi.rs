//! The all-gather of programs started by `mpirun`.

use std::ffi::{c_char, c_int};
use std::mem::ManuallyDrop;
use std::ptr;

use mpi::environment::{is_finalized, is_initialized};
use mpi::ffi;
use mpi::topology::{Communicator, SimpleCommunicator};
use mpi::traits::{AsRaw, FromRaw};
use urom_abi::DocaError;

use super::{AllGather, BoxError, Error, busy, idle};

/// MPI counts with 32 bits, and some versions multiply with them.
const AT_ONCE: usize = 8 << 20;

/// The all-gather of an MPI communicator (feature `mpi`).
///
/// Participants and indices are the communicator's size and ranks. The all-gather duplicates the
/// communicator, which the program can keep using.
///
/// MPI needs no thread support: all calls come from the thread that made this and progresses the
/// domain. Drop the domain before MPI is finalized; otherwise its memory is leaked.
///
/// The crate `mpi` is re-exported as [`urom_host::mpi`](crate::mpi):
///
/// ```no_run
/// use urom_host::gather::Mpi;
/// use urom_host::mpi::topology::Communicator;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let universe = urom_host::mpi::initialize().ok_or("MPI was initialised before")?;
/// let world = universe.world();
/// let gather = Mpi::new(&world)?;
/// println!("participant {} of {}", world.rank(), world.size());
/// # Ok(())
/// # }
/// ```
///
/// Open MPI may load its own UCX. With the feature `builtin`, the program links UCX, and Open MPI
/// uses that. Otherwise run the program with `--mca pml ob1`, or its plugins may find an old UCX.
///
/// ```compile_fail,E0277
/// fn assert_send<T: Send>() {}
/// assert_send::<urom_host::gather::Mpi>();
/// ```
pub struct Mpi {
    communicator: ManuallyDrop<SimpleCommunicator>,
    /// Read once: after MPI is finalized, querying it would end the program.
    participants: u32,
    index: u32,
    exchange: Option<MpiExchange>,
    /// Set when MPI failed here; the participants may then be at different exchanges.
    broken: bool,
}

struct MpiExchange {
    block: Vec<u8>,
    done: usize,
    length: usize,
    blocks: Vec<u8>,
    request: Option<ffi::MPI_Request>,
}

impl Mpi {
    /// Duplicates `communicator`: all its processes must do so at the same time, in the same order.
    ///
    /// # Errors
    /// `BAD_STATE` when MPI is not initialised or already finalized; `INVALID_VALUE` for an
    /// inter-communicator; MPI's errors.
    pub fn new(communicator: &impl AsRaw<Raw = ffi::MPI_Comm>) -> Result<Mpi, Error> {
        usable()?;
        let (raw, mut inter) = (communicator.as_raw(), 0);
        // SAFETY: MPI is initialised, the communicator is live, and `inter` is a local variable.
        let code = unsafe { ffi::MPI_Comm_test_inter(raw, &mut inter) };
        check(code, "looking at the communicator")?;
        if inter != 0 {
            let text = "an inter-communicator has two groups: merge them into one first";
            return Err(Error::new(DocaError::INVALID_VALUE, text));
        }
        // SAFETY: the null communicator is a constant of the library.
        let mut duplicate = unsafe { ffi::RSMPI_COMM_NULL };
        // SAFETY: MPI is initialised (`usable`), the communicator is live while it is borrowed, and
        // MPI writes only to `duplicate`.
        let code = unsafe { ffi::MPI_Comm_dup(raw, &mut duplicate) };
        check(code, "duplicating the communicator")?;
        // SAFETY: the duplicate is a user's intra-communicator; only this value frees it.
        let communicator = ManuallyDrop::new(unsafe { SimpleCommunicator::from_raw(duplicate) });
        // SAFETY: a constant of the library.
        let returned = unsafe { ffi::RSMPI_ERRORS_RETURN };
        // SAFETY: the communicator is live, and owned here.
        let code = unsafe { ffi::MPI_Comm_set_errhandler(duplicate, returned) };
        check(code, "setting up the communicator")?;
        let (participants, index) =
            (communicator.size().unsigned_abs(), communicator.rank().unsigned_abs());
        Ok(Mpi { communicator, participants, index, exchange: None, broken: false })
    }
}

impl AllGather for Mpi {
    fn participants(&self) -> u32 {
        self.participants
    }

    fn index(&self) -> u32 {
        self.index
    }

    fn begin(&mut self, block: &[u8]) -> Result<(), BoxError> {
        self.usable()?;
        if self.exchange.is_some() {
            return Err(busy());
        }
        // Always allocated: the dangling pointer of an empty vector may equal `MPI_IN_PLACE`.
        let mut copy = Vec::with_capacity(block.len().max(1));
        copy.extend_from_slice(block);
        let blocks = Vec::with_capacity(1);
        let mut exchange = MpiExchange { block: copy, done: 0, length: 0, blocks, request: None };
        // An exchange without a request counts as finished, so only one with a request is stored.
        exchange
            .next(&self.communicator, self.participants as usize)
            .inspect_err(|_| self.broken = true)?;
        self.exchange = Some(exchange);
        Ok(())
    }

    fn test(&mut self, blocks: &mut [u8]) -> Result<bool, BoxError> {
        self.usable()?;
        let participants = self.participants as usize;
        let exchange = self.exchange.as_mut().ok_or_else(idle)?;
        if blocks.len() != exchange.block.len() * participants {
            let text = "a buffer of another length than the blocks";
            return Err(Error::new(DocaError::INVALID_VALUE, text).into());
        }
        let over = exchange
            .go_on(&self.communicator, participants, blocks)
            .inspect_err(|_| self.broken = true)?;
        if over {
            self.exchange = None;
        }
        Ok(over)
    }
}

impl Mpi {
    fn usable(&self) -> Result<(), Error> {
        if self.broken {
            let text =
                "an exchange over MPI failed before: make another all-gather, in all processes";
            return Err(Error::new(DocaError::BAD_STATE, text));
        }
        usable()
    }
}

impl MpiExchange {
    /// Makes progress; returns whether all blocks have arrived.
    fn go_on(
        &mut self,
        communicator: &SimpleCommunicator,
        participants: usize,
        blocks: &mut [u8],
    ) -> Result<bool, Error> {
        while let Some(request) = &mut self.request {
            let mut flag = 0;
            // SAFETY: a constant of the library.
            let ignored = unsafe { ffi::RSMPI_STATUS_IGNORE };
            // SAFETY: the request is live, and the pointer is to a local variable.
            let code = unsafe { ffi::MPI_Test(request, &mut flag, ignored) };
            check(code, "testing MPI_Iallgather")?;
            if flag == 0 {
                return Ok(false);
            }
            self.request = None;
            if self.length > 0 {
                let whole = blocks.chunks_exact_mut(self.block.len());
                for (buffer, part) in whole.zip(self.blocks.chunks_exact(self.length)) {
                    buffer[self.done..][..self.length].copy_from_slice(part);
                }
            }
            self.done += self.length;
            if self.done < self.block.len() {
                self.next(communicator, participants)?;
            }
        }
        Ok(true)
    }

    fn next(
        &mut self,
        communicator: &SimpleCommunicator,
        participants: usize,
    ) -> Result<(), Error> {
        self.length = (self.block.len() - self.done).min((AT_ONCE / participants).max(1));
        self.blocks.resize(self.length * participants, 0);
        let count = self.length as c_int;
        // SAFETY: a constant of the library.
        let byte = unsafe { ffi::RSMPI_UINT8_T };
        // SAFETY: the null request is a constant of the library.
        let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
        let from = self.block[self.done..].as_ptr().cast();
        let to = self.blocks.as_mut_ptr().cast();
        // SAFETY: `length` bytes can be read, and `length` bytes a participant written. Both
        // buffers stay unchanged until the request is over: no code touches the vectors before, and
        // `Mpi::drop` keeps them.
        let code = unsafe {
            ffi::MPI_Iallgather(
                from,
                count,
                byte,
                to,
                count,
                byte,
                communicator.as_raw(),
                &mut request,
            )
        };
        check(code, "beginning MPI_Iallgather")?;
        self.request = Some(request);
        Ok(())
    }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        if let Some(exchange) = self.exchange.take().filter(|exchange| exchange.request.is_some()) {
            // MPI may still write to it, and cannot be stopped.
            tracing::warn!("an exchange over MPI was cancelled; its memory stays behind");
            std::mem::forget(exchange);
        }
        if usable().is_ok() {
            // SAFETY: dropped only here.
            unsafe { ManuallyDrop::drop(&mut self.communicator) };
        }
    }
}

debug_fields!(Mpi, |it| { pending: it.exchange.is_some() });

/// Checks that MPI can be called: it ends programs that call it too early or too late.
fn usable() -> Result<(), Error> {
    match (is_initialized(), is_finalized()) {
        (true, false) => Ok(()),
        (false, _) => Err(Error::new(DocaError::BAD_STATE, "MPI is not initialised")),
        (_, true) => Err(Error::new(DocaError::BAD_STATE, "MPI is finalized already")),
    }
}

fn check(code: c_int, what: &str) -> Result<(), Error> {
    if code == ffi::MPI_SUCCESS as c_int {
        return Ok(());
    }
    let mut text = [0u8; ffi::MPI_MAX_ERROR_STRING as usize];
    let mut length = 0;
    // SAFETY: the buffer has the size that MPI requires; any code is valid.
    let known = unsafe {
        ffi::MPI_Error_string(code, text.as_mut_ptr().cast::<c_char>(), ptr::from_mut(&mut length))
    };
    let length =
        if known == ffi::MPI_SUCCESS as c_int { length.unsigned_abs() as usize } else { 0 };
    let text = String::from_utf8_lossy(&text[..length.min(text.len())]).into_owned();
    Err(Error::new(DocaError::DRIVER, format!("{what} failed: MPI error {code}: {text}")))
}
