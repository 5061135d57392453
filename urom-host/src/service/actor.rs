//! The thread that a service's context lives on.
//!
//! DOCA's objects belong to one thread, but workers of any thread need their service to be progressed while they start
//! and stop. So the service's context has a thread of its own: it connects, sleeps until the library, a question or the
//! deadline of one wakes it, and disconnects when the last user is gone.

use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::{self, JoinHandle};

use rustix::event::{EventfdFlags, eventfd};
use urom_abi::DocaError;
use urom_abi::cpu::CpuSet;
use urom_abi::describe::section::Description;
use urom_abi::host::Service as RawService;
use urom_abi::plugin::PluginInfo;
use urom_abi::signals;

use crate::error::{Error, Result};
use crate::library::Library;
use crate::plugin::Plugin;
use crate::service::question::{Counts, Question, expire};
use crate::service::session::Session;
#[cfg(feature = "builtin")]
use crate::service::settings::Place;
use crate::service::settings::Settings;

/// What the thread tells once it is connected.
struct Connected {
    service: Pointer,
    plugins: Vec<(PluginInfo, Option<u64>)>,
    cpus: CpuSet,
}

/// A pointer that other threads pass to `doca_urom_worker_set_service`, and to nothing else.
struct Pointer(NonNull<RawService>);

// SAFETY: attaching a worker is the one call on a service that DOCA allows on any thread.
unsafe impl Send for Pointer {}
// SAFETY: as above; several may do so at the same time.
unsafe impl Sync for Pointer {}

/// A connected service, for all threads. The last one to let go disconnects it.
pub(crate) struct ServiceCore {
    library: Library,
    serial: u64,
    service: Pointer,
    plugins: Vec<Plugin>,
    #[cfg(feature = "builtin")]
    place: Place,
    cpus: CpuSet,
    mailbox: Arc<Mailbox>,
    counts: Arc<Counts>,
    thread: Option<JoinHandle<()>>,
}

impl ServiceCore {
    pub(super) fn connect(library: Library, settings: Settings) -> Result<ServiceCore> {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let what = settings.what();
        let system = |error: std::io::Error| {
            Error::new(DocaError::OPERATING_SYSTEM, what.clone()).caused_by(error)
        };
        let mailbox = Arc::new(Mailbox::new().map_err(system)?);
        let (report, connected) = mpsc::sync_channel(1);
        let theirs = Arc::clone(&mailbox);
        #[cfg(feature = "builtin")]
        let place = settings.place.clone();
        let thread = signals::blocked(|| {
            let name = thread::Builder::new().name("urom-service".into());
            name.spawn(move || serve(library, &settings, &theirs, &report))
        })
        .map_err(system)?;
        let gone =
            || Err(Error::new(DocaError::UNEXPECTED, what.clone()).why("its thread ended early"));
        let Connected { service, plugins, cpus } = match connected.recv().unwrap_or_else(|_| gone())
        {
            Ok(connected) => connected,
            Err(error) => {
                // The thread has nothing left but to end; a panic in it was reported already.
                let _ = thread.join();
                return Err(error);
            }
        };
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let plugins = plugins.into_iter();
        let plugins =
            plugins.map(|(info, fingerprint)| Plugin::new(info, fingerprint, serial)).collect();
        let counts = Arc::default();
        let thread = Some(thread);
        Ok(ServiceCore {
            library,
            serial,
            service,
            plugins,
            #[cfg(feature = "builtin")]
            place,
            cpus,
            mailbox,
            counts,
            thread,
        })
    }

    pub(crate) fn library(&self) -> Library {
        self.library
    }

    /// Tells the services of this process apart.
    pub(crate) fn serial(&self) -> u64 {
        self.serial
    }

    pub(super) fn plugins(&self) -> &[Plugin] {
        &self.plugins
    }

    /// Where the program said that the service is.
    #[cfg(feature = "builtin")]
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    pub(super) fn cpus(&self) -> CpuSet {
        self.cpus
    }

    /// For `doca_urom_worker_set_service`.
    pub(crate) fn pointer(&self) -> *mut RawService {
        self.service.0.as_ptr()
    }

    /// Why the link to the service failed, once it did.
    pub(super) fn failure(&self) -> Option<String> {
        self.mailbox.state().failure.clone()
    }

    /// Runs a job on the service's thread.
    pub(super) fn run(&self, job: impl FnOnce(&Session, &mut Timed) + Send + 'static) {
        self.mailbox.state().jobs.push(Box::new(job));
        self.mailbox.ring();
    }

    /// Asks for a plugin's description, and waits for the answer.
    pub(super) fn describe(&self, plugin: &Plugin) -> Result<Description> {
        let (answer, answered) = mpsc::sync_channel(1);
        let id = plugin.id();
        // Whoever asks waits, so sending cannot fail.
        self.run(move |session, _| drop(answer.send(session.description(id))));
        answered.recv().unwrap_or_else(|_| {
            Err(Error::new(DocaError::UNEXPECTED, "asking the service for a plugin's description")
                .why("its thread ended early"))
        })
    }

    /// What its questions count their late answers in.
    pub(super) fn counts(&self) -> Arc<Counts> {
        Arc::clone(&self.counts)
    }
}

impl Drop for ServiceCore {
    fn drop(&mut self) {
        self.mailbox.state().quit = true;
        self.mailbox.ring();
        let Some(thread) = self.thread.take() else { return };
        // A waker that runs on the service's thread may hold its last handle; it cannot wait for itself.
        if thread.thread().id() != thread::current().id() && thread.join().is_err() {
            tracing::warn!("the service's thread panicked");
        }
    }
}

struct Mailbox {
    state: Mutex<State>,
    bell: OwnedFd,
}

/// The questions of a service that were given a deadline.
type Timed = Vec<Arc<Question>>;

/// What the service's thread is to do next.
type Job = Box<dyn FnOnce(&Session, &mut Timed) + Send>;

#[derive(Default)]
struct State {
    jobs: Vec<Job>,
    quit: bool,
    failure: Option<String>,
}

impl Mailbox {
    fn new() -> std::io::Result<Mailbox> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Mailbox { state: Mutex::default(), bell })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ring(&self) {
        // It can only fail when the counter is full, and then it has rung.
        let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
    }

    fn quiet(&self) {
        // Nothing to read is a usual case.
        let _ = rustix::io::read(&self.bell, &mut [0; 8]);
    }
}

fn serve(
    library: Library,
    settings: &Settings,
    mailbox: &Mailbox,
    report: &mpsc::SyncSender<Result<Connected>>,
) {
    let opened = Session::open(library, settings).and_then(|session| {
        let plugins = session.plugins()?;
        let cpus = session.cpus()?;
        Ok((Connected { service: Pointer(session.pointer()), plugins, cpus }, session))
    });
    let (connected, session) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            let _ = report.send(Err(error));
            return;
        }
    };
    if report.send(Ok(connected)).is_err() {
        return;
    }
    let mut timed = Timed::new();
    loop {
        session.progress();
        mailbox.quiet();
        let (jobs, quit) = {
            let mut state = mailbox.state();
            if state.failure.is_none() && !session.is_running() {
                let why = session.failure();
                state.failure =
                    Some(if why.is_empty() { "the service is gone".into() } else { why });
            }
            (std::mem::take(&mut state.jobs), state.quit)
        };
        let idle = jobs.is_empty();
        for job in jobs {
            job(&session, &mut timed);
        }
        if quit {
            return;
        }
        // What the library had by now counts, whatever the clock says.
        let limit = expire(&mut timed);
        if idle {
            session.sleep(mailbox.bell.as_raw_fd(), limit);
        }
    }
}
