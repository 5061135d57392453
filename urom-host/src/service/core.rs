//! The thread of a service's context. DOCA's objects belong to one thread, but workers of any
//! thread need their service's progress to start and stop. This thread sleeps until the library, a
//! query or a deadline wakes it, and disconnects after the last user.

use std::future::poll_fn;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, TryRecvError};
use std::sync::{Arc, OnceLock};
use std::task::{Poll, Waker};
use std::thread::{self, JoinHandle};

use futures_channel::oneshot;
use urom_abi::DocaError;
use urom_abi::cpu::CpuSet;
use urom_abi::describe::section::Description;
use urom_abi::host::Service as RawService;
use urom_abi::plugin::PluginInfo;
use urom_os::fork::Maker;
use urom_os::signals;

use crate::error::{Error, Result, made_here};
use crate::library::Library;
use crate::plugin::Plugin;
use crate::service::connection::{self, Connection};
use crate::service::query::{Counts, Deadline, expire};
use crate::service::settings::ServiceSettings;
#[cfg(feature = "embedded")]
use crate::service::settings::ServiceSource;
use crate::wait;

struct Connected {
    service: Pointer,
    plugins: Vec<(PluginInfo, Option<u64>)>,
    cpus: CpuSet,
    waker: Waker,
}

/// A pointer for `doca_urom_worker_set_service` only, on any thread.
struct Pointer(NonNull<RawService>);

// SAFETY: attaching a worker is the only service call that DOCA allows on any thread.
unsafe impl Send for Pointer {}
// SAFETY: as above; DOCA allows concurrent calls.
unsafe impl Sync for Pointer {}

pub(crate) struct ServiceCore {
    maker: Maker,
    pub(crate) library: Library,
    pub(crate) serial: u64,
    service: Pointer,
    pub(super) plugins: Vec<Plugin>,
    #[cfg(feature = "embedded")]
    pub(super) source: ServiceSource,
    pub(super) cpus: CpuSet,
    failure: Arc<OnceLock<String>>,
    pub(super) counts: Arc<Counts>,
    jobs: Option<mpsc::Sender<Job>>,
    waker: Waker,
    thread: Option<JoinHandle<Result<()>>>,
}

/// A connection attempt. Dropping it ends the service's thread after the library's answer.
pub(super) struct Connecting {
    maker: Maker,
    library: Library,
    settings: ServiceSettings,
    failure: Arc<OnceLock<String>>,
    jobs: Option<mpsc::Sender<Job>>,
    connected: oneshot::Receiver<Connected>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Connecting {
    pub(super) fn begin(library: Library, settings: ServiceSettings) -> Result<Connecting> {
        let failure = Arc::new(OnceLock::new());
        let (jobs, queue) = mpsc::channel();
        let (report, connected) = oneshot::channel();
        let (theirs, of_thread) = (Arc::clone(&failure), settings.clone());
        let serve = move || serve(library, &of_thread, &theirs, &queue, report);
        let thread = signals::spawn("urom-service", serve).map_err(|error| {
            Error::new(DocaError::OPERATING_SYSTEM, settings.what()).caused_by(error)
        })?;
        let (jobs, thread) = (Some(jobs), Some(thread));
        Ok(Connecting { maker: Maker::here(), library, settings, failure, jobs, connected, thread })
    }

    pub(super) async fn end(mut self) -> Result<ServiceCore> {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let Ok(Connected { service, plugins, cpus, waker }) = (&mut self.connected).await else {
            let early = Error::new(DocaError::UNEXPECTED, self.settings.what());
            let end = self.thread.take().and_then(|thread| thread.join().ok());
            return Err(end.and_then(Result::err).unwrap_or(early.why("its thread ended early")));
        };
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let plugins = plugins.into_iter();
        let plugins =
            plugins.map(|(info, fingerprint)| Plugin::new(info, fingerprint, serial)).collect();
        Ok(ServiceCore {
            maker: self.maker,
            library: self.library,
            serial,
            service,
            plugins,
            #[cfg(feature = "embedded")]
            source: self.settings.source.clone(),
            cpus,
            failure: Arc::clone(&self.failure),
            counts: Arc::default(),
            jobs: self.jobs.take(),
            waker,
            thread: self.thread.take(),
        })
    }
}

impl Drop for Connecting {
    fn drop(&mut self) {
        if !self.maker.is_here() {
            return std::mem::forget((self.jobs.take(), self.thread.take()));
        }
        self.jobs = None;
        self.connected.close();
        // The thread may have connected and sleep.
        if let Ok(Some(connected)) = self.connected.try_recv() {
            connected.waker.wake();
        }
    }
}

impl ServiceCore {
    pub(crate) fn check(&self) -> Result<()> {
        made_here(self.maker, || "using a service")
    }

    pub(crate) fn pointer(&self) -> *mut RawService {
        self.service.0.as_ptr()
    }

    pub(super) fn failure(&self) -> Option<String> {
        self.maker.check().err().map(|why| why.to_string()).or_else(|| self.failure.get().cloned())
    }

    pub(super) fn run(&self, job: impl FnOnce(&Connection, &mut Vec<Deadline>) + Send + 'static) {
        if !self.maker.is_here() {
            return;
        }
        if let Some(jobs) = &self.jobs {
            let _ = jobs.send(Box::new(job));
        }
        self.waker.wake_by_ref();
    }

    pub(super) fn describe(&self, plugin: &Plugin) -> Result<Description> {
        self.check()?;
        let (answer, answered) = mpsc::sync_channel(1);
        let id = plugin.id();
        // The receiver waits, so the send cannot fail.
        self.run(move |connection, _| drop(answer.send(connection.description(id))));
        answered.recv().unwrap_or_else(|_| {
            Err(Error::new(DocaError::UNEXPECTED, "asking the service for a plugin's description")
                .why("its thread ended early"))
        })
    }
}

impl Drop for ServiceCore {
    fn drop(&mut self) {
        if !self.maker.is_here() {
            // A child lacks the thread, and the waker's descriptor is the parent's.
            return std::mem::forget((self.jobs.take(), self.thread.take()));
        }
        self.jobs = None;
        self.waker.wake_by_ref();
        let Some(thread) = self.thread.take() else { return };
        // A waker on the service's thread may drop the last handle. The thread cannot join itself.
        if thread.thread().id() != thread::current().id() && thread.join().is_err() {
            tracing::warn!("the service's thread panicked");
        }
    }
}

type Job = Box<dyn FnOnce(&Connection, &mut Vec<Deadline>) + Send>;

fn serve(
    library: Library,
    settings: &ServiceSettings,
    failure: &OnceLock<String>,
    jobs: &mpsc::Receiver<Job>,
    report: oneshot::Sender<Connected>,
) -> Result<()> {
    let connection = connection::open(library, settings)?;
    let (plugins, cpus) = (connection.plugins()?, connection.cpus()?);
    let service = Pointer(connection.object);
    let mut report = Some(|waker| drop(report.send(Connected { service, plugins, cpus, waker })));
    let mut deadlines = Vec::new();
    wait::block_on(poll_fn(|cx| {
        if let Some(report) = report.take() {
            report(cx.waker().clone());
        }
        connection.watch_state(cx.waker());
        if !connection.is_running() {
            failure.get_or_init(|| match connection.failure() {
                why if why.is_empty() => "the service has ended".to_owned(),
                why => why,
            });
        }
        loop {
            match jobs.try_recv() {
                Ok(job) => job(&connection, &mut deadlines),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return Poll::Ready(()),
            }
        }
        if let Some(next) = expire(&mut deadlines) {
            connection.engine.core().wake_at(next, cx.waker());
        }
        Poll::Pending
    }));
    Ok(())
}
