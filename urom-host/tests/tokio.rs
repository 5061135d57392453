//! Hosts in tokio: futures that stay on their thread, and futures that move.

mod embedded_support;

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::os::fd::AsFd;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use embedded_support::{Graph, LIMIT, connect};
use faulty_protocol::Done;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::runtime::{Builder, Runtime};
use tokio::task::{LocalSet, spawn_local};
use tokio::time::timeout;
use urom_host::tokio::{HostThread, drive};
use urom_host::{Completion, DocaError, Error, Host, Result, Service, Worker};
use urom_tests::PluginDirectory;

fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn multi_thread() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

fn within<F: Future>(runtime: &Runtime, future: F) -> F::Output {
    runtime.block_on(async { timeout(LIMIT, future).await.expect("in time") })
}

async fn loopbacks(service: &Service) -> Result<()> {
    let graph = service.plugin::<Graph>()?;
    let worker = service.worker().plugin(&graph).start().await?;
    for data in 0..200 {
        assert_eq!(graph.task_loopback(&worker, data).submit()?.await?.data, data);
    }
    let flights: Result<Vec<_>> =
        (0..64).map(|n| graph.task_loopback(&worker, n).submit()).collect();
    for (n, flight) in flights?.into_iter().enumerate() {
        assert_eq!(flight.await?.data, n as u64);
    }
    assert!(service.workers_of_group(0).await?.contains(&worker.id()));
    worker.stop().await
}

#[test]
fn a_future_is_driven_in_a_runtime_of_either_kind() {
    for runtime in [current_thread(), multi_thread()] {
        let service = connect();
        within(&runtime, drive(loopbacks(&service))).unwrap();
    }
}

#[test]
fn an_engine_that_is_made_meanwhile_is_driven_and_one_that_goes_is_not() {
    let run = drive(async {
        for _ in 0..3 {
            // Each has its own engine, which is destroyed at the end.
            loopbacks(&connect()).await?;
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok::<_, Error>(())
    });
    within(&current_thread(), run).unwrap();
}

#[test]
fn drivers_of_one_thread_take_over_from_each_other() {
    let service = Rc::new(connect());
    let all = LocalSet::new();
    let ended = Rc::new(Cell::new(0));
    for tenth in 0..10u64 {
        let (service, ended) = (Rc::clone(&service), Rc::clone(&ended));
        all.spawn_local(drive(async move {
            let graph = service.plugin::<Graph>()?;
            let worker = service.worker().plugin(&graph).start().await?;
            // They end one after another; the remaining ones have slept by then.
            for data in 0..=tenth {
                tokio::time::sleep(Duration::from_millis(2)).await;
                assert_eq!(graph.task_loopback(&worker, data).submit()?.await?.data, data);
            }
            ended.set(ended.get() + 1);
            worker.stop().await
        }));
    }
    within(&current_thread(), all);
    assert_eq!(ended.get(), 10);
}

#[test]
fn a_deadline_ends_a_task_while_nothing_else_happens() {
    let (_plugins, service) = faulty();
    let run = drive(async {
        let faulty = service.plugin::<faulty_protocol::Protocol>()?;
        let worker = service.worker().plugin(&faulty).start().await?;
        // No answer arrives, so only the driver's timer can end it.
        for deadline in [0, 1, 50].map(Duration::from_millis) {
            let error =
                faulty.task_hang(&worker).timeout(deadline).submit()?.await.expect_err("no answer");
            assert_eq!(error.code(), DocaError::TIME_OUT);
        }
        worker.stop().await
    });
    within(&current_thread(), run).unwrap();
}

fn used() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[test]
fn drivers_that_wait_for_nothing_do_not_wake_each_other() {
    let service = connect();
    let before = Rc::new(Cell::new(Duration::ZERO));
    let cpu = current_thread().block_on(async {
        let other = drive(async {
            for _ in 0..3 {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            Ok::<_, Error>(())
        });
        let one = drive(async {
            let graph = service.plugin::<Graph>()?;
            let worker = service.worker().plugin(&graph).start().await?;
            graph.task_loopback(&worker, 1).submit()?.await?;
            before.set(used());
            tokio::time::sleep(Duration::from_millis(300)).await;
            let cpu = used() - before.get();
            worker.stop().await?;
            Ok::<_, Error>(cpu)
        });
        tokio::try_join!(one, other).map(|(cpu, ())| cpu)
    });
    let cpu = cpu.unwrap();
    assert!(cpu < Duration::from_millis(30), "{cpu:?}");
}

fn faulty() -> (PluginDirectory, Service) {
    let plugins = PluginDirectory::with(&["worker_faulty"]).expect("it was built");
    let service =
        Service::builder().plugin_paths([plugins.path()]).connect_blocking().expect("it serves");
    (plugins, service)
}

#[test]
fn a_future_that_nothing_drives_progresses_its_engine_itself() {
    let without_timers = || Builder::new_current_thread().build().unwrap();
    std::thread::scope(|scope| {
        for runtime in [current_thread, multi_thread, without_timers] {
            scope.spawn(move || {
                let (_plugins, service) = faulty();
                let result = runtime().block_on(async {
                    let faulty = service.plugin::<faulty_protocol::Protocol>()?;
                    let worker = service.worker().plugin(&faulty).start().await?;
                    assert_eq!(faulty.task_echo(&worker, 7).submit()?.await?.data, 7);
                    let hangs = faulty.task_hang(&worker).timeout(LONG).submit()?;
                    let error = hangs.await.expect_err("no answer");
                    assert_eq!(error.code(), DocaError::TIME_OUT);
                    worker.stop().await
                });
                result.unwrap();
            });
        }
    });
}

const LONG: Duration = Duration::from_millis(200);

/// An unanswered command and its worker: it ends at its deadline, unless its future ends first.
fn overdue(case: &str, wait: impl AsyncFnOnce(Completion<Done>, &Worker) -> Result<Done>) {
    let (_plugins, service) = faulty();
    let faulty = service.plugin::<faulty_protocol::Protocol>().unwrap();
    let worker = service.worker().plugin(&faulty).start().wait().unwrap();
    let task = faulty.task_hang(&worker).timeout(LONG).submit().unwrap();
    let error = LocalSet::new().block_on(&current_thread(), wait(task, &worker)).unwrap_err();
    assert_eq!(error.code(), DocaError::TIME_OUT, "{case}: {error}");
}

#[test]
fn a_future_that_is_driven_otherwise_may_take_its_time_in_tokio() {
    std::thread::scope(|scope| {
        scope.spawn(|| overdue("the kit's own wait", async |task, _| task.wait()));
        scope
            .spawn(|| overdue("the kit's own executor", async |task, _| urom_host::block_on(task)));
        scope.spawn(|| {
            overdue("a driver of another future", async |task, _| {
                let other = spawn_local(drive(std::future::pending::<Result<()>>()));
                let result = task.await;
                other.abort();
                result
            });
        });
        scope.spawn(|| {
            overdue("progress by hand", async |task, worker| {
                let progress = async {
                    loop {
                        worker.engine().progress();
                        tokio::time::sleep(Duration::from_millis(20)).await;
                    }
                };
                tokio::select! { result = task => result, () = progress => unreachable!() }
            });
        });
        scope.spawn(|| {
            overdue("an event loop of its own", async |task, worker| {
                let engine = worker.engine();
                let events = async {
                    let own = engine.as_fd().try_clone_to_owned().unwrap();
                    // SAFETY: the `AsyncFd` keeps the descriptor open until it is dropped.
                    let events =
                        unsafe { AsyncFd::register_with_interest(own, Interest::READABLE) }
                            .unwrap();
                    loop {
                        while engine.progress() {}
                        engine.request_notification().unwrap();
                        events.readable().await.unwrap().clear_ready();
                        engine.clear_notification().unwrap();
                    }
                };
                tokio::select! { result = task => result, () = events => unreachable!() }
            });
        });
        scope.spawn(|| {
            overdue("a poll now and then", async |mut task, _| {
                loop {
                    let pause = tokio::time::sleep(Duration::from_millis(20));
                    tokio::select! { result = &mut task => break result, () = pause => {} }
                }
            });
        });
    });
}

#[test]
fn a_future_fails_with_its_own_kind_of_error() {
    let error = current_thread().block_on(drive(async { Err::<(), _>(Box::from("its own")) }));
    let error: Box<dyn std::error::Error> = error.unwrap_err();
    assert_eq!(error.to_string(), "its own");
}

struct State {
    graph: graph_protocol::Client<Host>,
    worker: Worker,
    count: Rc<Cell<u64>>,
}

async fn state() -> Result<State> {
    let service = connect();
    let graph = service.plugin::<Graph>()?;
    let worker = service.worker().plugin(&graph).start().await?;
    Ok(State { graph, worker, count: Rc::default() })
}

#[test]
fn tasks_of_any_thread_share_the_workers_of_one() {
    fn is_send<T: Send>(task: T) -> T {
        task
    }
    let runtime = multi_thread();
    let sum = within(&runtime, async {
        let host = HostThread::start(state).await?;
        let tasks: Vec<_> = (0..64u64)
            .map(|data| {
                let host = host.clone();
                tokio::spawn(is_send(async move {
                    host.run(async move |state: &State| -> Result<u64> {
                        state.count.set(state.count.get() + 1);
                        Ok(state.graph.task_loopback(&state.worker, data).submit()?.await?.data)
                    })
                    .await
                }))
            })
            .collect();
        let mut sum = 0;
        for task in tasks {
            sum += task.await.expect("it does not panic")?;
        }
        let count = host.run(async |state: &State| Ok::<_, Error>(state.count.get())).await?;
        assert_eq!(count, 64);
        Ok::<_, Error>(sum)
    });
    assert_eq!(sum.unwrap(), (0..64).sum::<u64>());
}

#[test]
fn closures_that_wait_do_not_keep_others_waiting() {
    let run = async {
        let host = HostThread::start(state).await?;
        let (tell, told) = tokio::sync::oneshot::channel();
        let waiting = host.run(async move |_: &State| Ok::<_, Error>(told.await.expect("told")));
        let telling = host.run(async move |_: &State| {
            tell.send(7).expect("a task waits");
            Ok::<_, Error>(())
        });
        let (told, _) = tokio::try_join!(waiting, telling)?;
        Ok::<_, Error>(told)
    };
    assert_eq!(within(&multi_thread(), run).unwrap(), 7);
}

struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

async fn dropped(count: &AtomicUsize, times: usize) {
    let until = Instant::now() + LIMIT;
    while count.load(Ordering::Relaxed) < times {
        assert!(Instant::now() < until, "never dropped");
        tokio::task::yield_now().await;
    }
}

#[test]
fn a_thread_whose_starter_left_while_it_was_set_up_ends() {
    thread_local! {
        static OF_THREAD: RefCell<Option<Counted>> = const { RefCell::new(None) };
    }
    multi_thread().block_on(async {
        let count = Arc::new(AtomicUsize::new(0));
        let (counted, of_thread) = (Counted(Arc::clone(&count)), Counted(Arc::clone(&count)));
        let (begin, begun) = tokio::sync::oneshot::channel();
        let starter = tokio::spawn(HostThread::start(async move || {
            let _counted = counted;
            OF_THREAD.set(Some(of_thread));
            begin.send(()).expect("the test waits");
            std::future::pending::<Result<()>>().await
        }));
        begun.await.expect("it began");
        assert_eq!(count.load(Ordering::Relaxed), 0);
        starter.abort();
        dropped(&count, 2).await;
    });
}

#[test]
fn a_closure_whose_caller_left_is_dropped() {
    multi_thread().block_on(async {
        let host = HostThread::start(async || Ok::<_, Error>(())).await.unwrap();
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Counted(Arc::clone(&count));
        let (begin, begun) = tokio::sync::oneshot::channel();
        let caller = tokio::spawn(async move {
            host.run(async move |_: &()| {
                let _counted = counted;
                begin.send(()).expect("the test waits");
                std::future::pending::<Result<()>>().await
            })
            .await
        });
        begun.await.expect("it began");
        caller.abort();
        dropped(&count, 1).await;
    });
}

#[test]
fn what_fails_or_panics_on_the_thread_is_the_callers_error_alone() {
    multi_thread().block_on(async {
        let failed = HostThread::<()>::start(async || {
            Err::<(), Error>(connect().plugin_named("no_such_plugin").unwrap_err())
        });
        assert_eq!(failed.await.unwrap_err().code(), DocaError::NOT_FOUND);
        let panicked = HostThread::<()>::start::<Error, _>(async || panic!("as the test asks"));
        let panicked = panicked.await.unwrap_err();
        assert_eq!(panicked.code(), DocaError::UNEXPECTED);
        assert!(panicked.to_string().contains("as the test asks"), "{panicked}");

        let host = HostThread::start(async || Ok::<_, Error>(5)).await.unwrap();
        let failed: Result<()> =
            host.run(async |_: &i32| connect().plugin_named("no_such_plugin").map(drop)).await;
        assert_eq!(failed.unwrap_err().code(), DocaError::NOT_FOUND);
        let panicked =
            host.run::<(), Error, _>(async |_: &i32| panic!("as the test asks")).await.unwrap_err();
        assert!(
            panicked.to_string().contains("the closure panicked: as the test asks"),
            "{panicked}"
        );
        assert_eq!(host.run(async |state: &i32| Ok::<_, Error>(*state)).await.unwrap(), 5);
    });
}

#[test]
fn tasks_of_a_local_set_have_their_turn_while_a_host_is_busy() {
    let service = connect();
    let turns = Rc::new(Cell::new(0));
    let counted = Rc::clone(&turns);
    let run = LocalSet::new().block_on(&current_thread(), async {
        let other = spawn_local(async move {
            loop {
                counted.set(counted.get() + 1);
                tokio::task::yield_now().await;
            }
        });
        let done = timeout(LIMIT, drive(loopbacks(&service))).await;
        other.abort();
        done
    });
    run.expect("in time").unwrap();
    assert!(turns.get() > 200, "{} turns", turns.get());
}
