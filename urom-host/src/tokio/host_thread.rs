//! A thread for workers, with a handle for tasks of any thread.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;

use ::tokio::sync::{mpsc, oneshot, watch};
use ::tokio::task::{LocalSet, spawn_local};
use urom_abi::DocaError;
use urom_os::fork::Maker;
use urom_os::panics;

use super::drive;
use crate::error::{Error, Result, made_here};

/// A thread with its own workers and progress engine, for tasks of any thread.
///
/// [`start`](Self::start) creates there a state for the commands: a service, clients, workers.
/// [`run`](Self::run) runs a closure there and returns its result; waiting closures run
/// concurrently. Clones refer to the same thread.
///
/// The thread ends, and drops its state, once the last clone is dropped and all closures have
/// ended. This is not waited for; a closure can take a worker out of the state, stop it and wait.
///
/// A closure takes two messages between threads (some microseconds): combine related work.
///
/// ```no_run
/// use graph_protocol::{Client, Protocol};
/// use urom_host::tokio::HostThread;
/// use urom_host::{Host, Result, Service, Worker};
///
/// struct Graph {
///     client: Client<Host>,
///     worker: Worker,
/// }
///
/// #[tokio::main]
/// async fn main() -> Result<()> {
///     let graph = HostThread::start(async || -> Result<Graph> {
///         let service = Service::connect().await?;
///         let client = service.plugin::<Protocol>()?;
///         let worker = service.worker().plugin(&client).start().await?;
///         Ok(Graph { client, worker })
///     })
///     .await?;
///     // In any task, on a clone of `graph`:
///     let run = async |graph: &Graph| -> Result<u64> {
///         Ok(graph.client.task_loopback(&graph.worker, 42).submit()?.await?.data)
///     };
///     println!("{}", graph.run(run).await?);
///     Ok(())
/// }
/// ```
pub struct HostThread<S> {
    maker: Maker,
    /// Leaked in a forked child, where the drop would wake the parent's thread.
    jobs: Option<mpsc::UnboundedSender<Job<S>>>,
    /// The message of the panic that ended the thread. Closed once the thread has ended.
    panic: watch::Receiver<Option<String>>,
}

type Job<S> = Box<dyn FnOnce(Rc<S>) -> Pin<Box<dyn Future<Output = ()>>> + Send>;

impl<S: 'static> HostThread<S> {
    /// Starts the thread, and waits until `setup` has created the state. `setup` runs inside
    /// [`drive`], in a tokio runtime with all drivers. Dropping this future earlier drops the
    /// future of `setup`, and the thread ends.
    ///
    /// # Errors
    /// Those of `setup`; `UNEXPECTED` if it panics; `OPERATING_SYSTEM` without a thread or runtime.
    pub async fn start<E, F>(setup: F) -> Result<HostThread<S>, E>
    where
        E: From<Error> + Send + 'static,
        F: AsyncFnOnce() -> Result<S, E> + Send + 'static,
    {
        const WHAT: &str = "starting a thread for a host's tasks";
        let system =
            |error: std::io::Error| Error::new(DocaError::OPERATING_SYSTEM, WHAT).caused_by(error);
        let (jobs, queue) = mpsc::unbounded_channel();
        let (report, started) = oneshot::channel();
        let runtime =
            ::tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(system)?;
        let (end, panic) = watch::channel(None);
        let body = move || {
            let life = || LocalSet::new().block_on(&runtime, serve(setup, report, queue));
            if let Err(payload) = catch_unwind(AssertUnwindSafe(life)) {
                end.send_replace(Some(message(&*payload)));
            }
        };
        std::thread::Builder::new().name("urom-host".to_owned()).spawn(body).map_err(system)?;
        match started.await {
            Ok(started) => {
                started.map(|()| HostThread { maker: Maker::here(), jobs: Some(jobs), panic })
            }
            Err(_) => Err(Error::new(DocaError::UNEXPECTED, WHAT).why(ended(panic).await).into()),
        }
    }

    /// Runs a closure on the thread; returns its result. An early drop drops the closure's future.
    ///
    /// # Errors
    /// Those of the closure; `UNEXPECTED` when it panics, or a callback's panic ended the thread.
    pub async fn run<T, E, F>(&self, job: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
        F: AsyncFnOnce(&S) -> Result<T, E> + Send + 'static,
    {
        made_here(self.maker, || "running a closure on a host's thread")?;
        let (mut answer, given) = oneshot::channel::<Result<Result<T, E>, String>>();
        let job = move |state: Rc<S>| -> Pin<Box<dyn Future<Output = ()>>> {
            Box::pin(async move {
                let mut job = spawn_local(async move { job(&state).await });
                let Some(given) = while_awaited(&mut answer, &mut job).await else {
                    return job.abort();
                };
                let _ = answer.send(given.map_err(|error| match error.try_into_panic() {
                    Ok(payload) => message(&*payload),
                    Err(error) => error.to_string(),
                }));
            })
        };
        let failed = |why| {
            Error::new(DocaError::UNEXPECTED, "running a closure on a host's thread").why(why)
        };
        let _ = self.jobs.as_ref().map(|jobs| jobs.send(Box::new(job)));
        match given.await {
            Ok(Ok(given)) => given,
            Ok(Err(panic)) => Err(failed(format!("the closure panicked: {panic}")).into()),
            Err(_) => Err(failed(ended(self.panic.clone()).await).into()),
        }
    }
}

async fn ended(mut panic: watch::Receiver<Option<String>>) -> String {
    let panic = panic.wait_for(Option::is_some).await.ok().and_then(|panic| (*panic).clone());
    panic.map_or_else(
        || "the thread has ended".to_owned(),
        |panic| format!("the thread has ended: it panicked: {panic}"),
    )
}

fn message(payload: &(dyn Any + Send)) -> String {
    panics::text(payload).unwrap_or("a payload that is not text").to_owned()
}

/// Runs a future to its end, or drops it once the receiver of `answer` is dropped.
async fn while_awaited<T, A>(
    answer: &mut oneshot::Sender<A>,
    future: impl Future<Output = T>,
) -> Option<T> {
    let mut future = pin!(future);
    poll_fn(|cx| match answer.poll_closed(cx) {
        Poll::Ready(()) => Poll::Ready(None),
        Poll::Pending => future.as_mut().poll(cx).map(Some),
    })
    .await
}

async fn serve<S: 'static, E: From<Error>>(
    setup: impl AsyncFnOnce() -> Result<S, E>,
    mut report: oneshot::Sender<Result<(), E>>,
    mut queue: mpsc::UnboundedReceiver<Job<S>>,
) {
    let served = drive(async {
        let state = match while_awaited(&mut report, setup()).await {
            Some(Ok(state)) => Rc::new(state),
            Some(Err(error)) => {
                let _ = report.send(Err(error));
                return Ok(());
            }
            None => return Ok(()),
        };
        if report.send(Ok(())).is_err() {
            return Ok(());
        }
        let mut running = Vec::new();
        while let Some(job) = queue.recv().await {
            running.retain(|job: &::tokio::task::JoinHandle<()>| !job.is_finished());
            running.push(spawn_local(job(Rc::clone(&state))));
        }
        for job in running {
            // A panic was already printed and reported to the caller.
            let _ = job.await;
        }
        Ok::<_, Error>(())
    });
    if let Err(error) = served.await {
        tracing::warn!("a host's thread ended: {error}");
    }
}

impl<S> Clone for HostThread<S> {
    fn clone(&self) -> HostThread<S> {
        let HostThread { maker, jobs, panic } = self;
        HostThread { maker: *maker, jobs: jobs.clone(), panic: panic.clone() }
    }
}

impl<S> Drop for HostThread<S> {
    fn drop(&mut self) {
        if !self.maker.is_here() {
            std::mem::forget(self.jobs.take());
        }
    }
}

debug_fields!(<S> HostThread, |_| {});
