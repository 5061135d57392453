//! A rendezvous of programs started by `mpirun`, `prterun` or `srun --mpi=pmix`. PMIx only carries
//! the address of participant 0, once: its fences get slower with every exchange, and some
//! launchers report success although a process is missing.

mod addresses;
mod library;

use std::ffi::CString;
use std::net::{SocketAddr, TcpListener};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use urom_abi::DocaError;
use urom_os::fork::Maker;

use super::rendezvous::address::MeetingAddress;
use super::rendezvous::deadline;
use super::{Error, Rendezvous};
use library::{PmixLibrary, PmixStatus, Proc};

pub(super) const VARIABLES: [&str; 2] = ["PMIX_NAMESPACE", "PMIX_RANK"];

/// Pause between look-ups, which take 1 ms. Not all launchers wait for later values of a process.
const LOOK: Duration = Duration::from_millis(5);

/// Extra time for PMIx's thread, whose error is more specific than a timeout.
const GRACE: Duration = Duration::from_millis(500);

struct Session {
    maker: Maker,
    library: PmixLibrary,
    process: Proc,
    participants: u32,
}

/// A single session: a finalized library cannot always be initialised again.
static SESSION: OnceLock<Session> = OnceLock::new();

impl Rendezvous {
    /// Meets the other processes of a job whose launcher offers PMIx: Open MPI's `mpirun`, PRRTE's
    /// `prterun`, Slurm's `srun --mpi=pmix`. Returns when all have arrived.
    ///
    /// Participants and indices are the job's size and ranks. `libpmix.so.2` (PMIx 4.2 or newer) is
    /// loaded at run time; MPI is optional. Participant 0 listens on a port that the system chooses
    /// and publishes its addresses over PMIx.
    ///
    /// All processes of a job must call this equally often and in the same order. `limit` applies
    /// to the call, and to each exchange.
    ///
    /// # Errors
    /// `NOT_FOUND` without a launcher with PMIx or its library; `NOT_SUPPORTED` when the library is
    /// too old; `BAD_STATE` in a process forked after a call; `NOT_CONNECTED` when the launcher
    /// does not answer; `TIME_OUT` when some processes did not arrive within `limit`. Participant 0
    /// names the missing processes.
    pub fn by_pmix(limit: Duration) -> Result<Rendezvous, Error> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        if VARIABLES.iter().any(|variable| std::env::var_os(variable).is_none()) {
            let text = "no launcher with PMIx started this process: PMIX_NAMESPACE and PMIX_RANK \
                        are not set. Start it with Open MPI's mpirun, prterun or srun --mpi=pmix";
            return Err(Error::new(DocaError::NOT_FOUND, text));
        }
        let end = deadline(limit);
        // A new key for each meeting: launchers return the old value of a rewritten key.
        let key = format!("urom.rendezvous.{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let key = CString::new(key).expect("a key without NUL");
        let meeting = within(end, limit, move || meet(&key, end))??;
        let left = end.saturating_duration_since(Instant::now());
        let mut rendezvous = match meeting {
            MeetingRole::Host(listener, participants) => {
                Rendezvous::host(listener, participants, left)
            }
            MeetingRole::Guest(addresses, index, participants) => {
                let address = MeetingAddress::published(addresses);
                Rendezvous::visit(&address, index, participants, left)
            }
        }?;
        rendezvous.limit = limit;
        Ok(rendezvous)
    }
}

enum MeetingRole {
    Host(TcpListener, u32),
    Guest(Vec<SocketAddr>, u32, u32),
}

/// Runs PMIx's calls on a thread: each may wait for a launcher that no longer answers.
fn within<T: Send + 'static>(
    end: Instant,
    limit: Duration,
    calls: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    let (sender, receiver) = sync_channel(1);
    let thread = thread::Builder::new().name("urom-pmix".to_owned());
    thread
        .spawn(move || sender.send(calls()))
        .map_err(|error| Error::io("no thread can be started for PMIx", error))?;
    receiver.recv_timeout(end.saturating_duration_since(Instant::now()) + GRACE).map_err(|error| {
        let text = match error {
            RecvTimeoutError::Timeout => {
                format!("within {limit:?} the launcher, or participant 0, did not answer")
            }
            RecvTimeoutError::Disconnected => "PMIx's calls panicked".to_owned(),
        };
        Error::new(DocaError::TIME_OUT, text)
    })
}

fn meet(key: &CString, end: Instant) -> Result<MeetingRole, Error> {
    let session = session()?;
    let (library, participants) = (&session.library, session.participants);
    if session.process.rank == 0 {
        let (listener, addresses) = addresses::listen()?;
        let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        library.publish(key, addresses.join("\n").as_bytes()).map_err(|status| {
            failed(library, status, "the address of participant 0 could not be published")
        })?;
        return Ok(MeetingRole::Host(listener, participants));
    }
    let first = Proc { rank: 0, ..session.process };
    let found = loop {
        let left = end.saturating_duration_since(Instant::now());
        let seconds = left.as_secs().max(1).try_into().unwrap_or(i32::MAX);
        match library.bytes(&first, key, seconds) {
            Ok(found) => break found,
            Err(PmixStatus::NOT_FOUND | PmixStatus::TIMEOUT) if Instant::now() < end => {
                thread::sleep(LOOK)
            }
            Err(PmixStatus::NOT_FOUND | PmixStatus::TIMEOUT) => {
                let text = "participant 0 (rank 0 of the job) did not publish its address in time: \
                            see its own error";
                return Err(Error::new(DocaError::TIME_OUT, text));
            }
            Err(status) => {
                return Err(failed(library, status, "looking for participant 0 failed"));
            }
        }
    };
    let addresses = String::from_utf8_lossy(&found);
    let addresses: Vec<_> = addresses.lines().filter_map(|line| line.parse().ok()).collect();
    if addresses.is_empty() {
        let text =
            "participant 0 published no address: bring up a network interface of its machine";
        return Err(Error::new(DocaError::NOT_FOUND, text));
    }
    Ok(MeetingRole::Guest(addresses, session.process.rank, participants))
}

fn session() -> Result<&'static Session, Error> {
    if let Some(session) = SESSION.get() {
        session.maker.check().map_err(|inherited| {
            let text = format!("PMIx was initialised before: {inherited}");
            Error::new(DocaError::BAD_STATE, text)
        })?;
        return Ok(session);
    }
    let library = PmixLibrary::load()?;
    let process = library.init().map_err(|status| {
        let what = if status == PmixStatus::UNREACHABLE {
            "the launcher's PMIx server does not answer: it has ended, or this is another job"
        } else {
            "PMIx could not be initialised"
        };
        failed(&library, status, what)
    })?;
    let participants = library.number(&process, library::JOB_SIZE).map_err(|status| {
        failed(&library, status, "the launcher does not name the size of the job")
    })?;
    let maker = Maker::here();
    let session = SESSION.get_or_init(|| Session { maker, library, process, participants });
    // Without this call, mpirun reports the process as failed.
    // SAFETY: the function uses only the session, which is never freed.
    unsafe { libc::atexit(finalize) };
    Ok(session)
}

extern "C" fn finalize() {
    // A forked child shares the parent's connection and must not end it.
    if let Some(session) = SESSION.get().filter(|session| session.maker.is_here()) {
        session.library.finalize();
    }
}

fn failed(library: &PmixLibrary, status: PmixStatus, what: &str) -> Error {
    Error::new(DocaError::NOT_CONNECTED, format!("{what}: {}", library.describe(status)))
}
