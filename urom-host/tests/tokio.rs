//! Hosts in tokio: futures that stay on their thread, and those that move.

mod embedded_support;

use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use embedded_support::{Graph, LIMIT, connect};
use tokio::runtime::{Builder, Runtime};
use tokio::task::{LocalSet, spawn_local};
use tokio::time::timeout;
use urom_host::tokio::{HostThread, drive};
use urom_host::{DocaError, Error, Host, Result, Service, Worker};
use urom_tests::PluginDirectory;

fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn multi_thread() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Runs a future to its end, which has to come in time.
fn within<F: Future>(runtime: &Runtime, future: F) -> F::Output {
    runtime.block_on(async { timeout(LIMIT, future).await.expect("in time") })
}

/// One round trip after the other, and many at once.
async fn loopbacks(service: &Service) -> Result<()> {
    let graph = service.plugin::<Graph>()?;
    let worker = service.worker().plugin(&graph).start().await?;
    for data in 0..200 {
        assert_eq!(graph.task_loopback(&worker, data).submit()?.await?.data, data);
    }
    let flights: Result<Vec<_>> = (0..64).map(|n| graph.task_loopback(&worker, n).submit()).collect();
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
            // Each has an engine of its own, which is gone at the end.
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
            // They end one after the other, and those that are left have slept by then.
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
    let plugins = PluginDirectory::with(&["worker_faulty"]).expect("it was built");
    let service = Service::builder().plugin_path(plugins.path()).connect().expect("it serves");
    let run = drive(async {
        let faulty = service.plugin::<faulty_protocol::Protocol>()?;
        let worker = service.worker().plugin(&faulty).start().await?;
        // No answer ever comes, so only a timer of the driver's can end it.
        for deadline in [0, 1, 50].map(Duration::from_millis) {
            let error = faulty.task_hang(&worker).deadline(deadline).submit()?.await.expect_err("no answer");
            assert_eq!(error.code(), DocaError::TIME_OUT);
        }
        worker.stop().await
    });
    within(&current_thread(), run).unwrap();
}

#[test]
fn waiting_for_nothing_uses_no_cpu() {
    let service = connect();
    let used = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    };
    let cpu = current_thread().block_on(drive(async {
        let graph = service.plugin::<Graph>()?;
        let worker = service.worker().plugin(&graph).start().await?;
        graph.task_loopback(&worker, 1).submit()?.await?;
        let before = used();
        tokio::time::sleep(Duration::from_millis(300)).await;
        let cpu = used() - before;
        worker.stop().await?;
        Ok::<_, Error>(cpu)
    }));
    let cpu = cpu.unwrap();
    assert!(cpu < Duration::from_millis(30), "{cpu:?}");
}

#[test]
fn a_future_fails_with_its_own_kind_of_error() {
    let error = current_thread().block_on(drive(async { Err::<(), _>(Box::from("its own")) }));
    let error: Box<dyn std::error::Error> = error.unwrap_err();
    assert_eq!(error.to_string(), "its own");
}

/// What the closures of these tests are given.
struct State {
    graph: graph_protocol::Client<Host>,
    worker: Worker,
    /// Not [`Send`], as most of what hosts have is not.
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
    assert_eq!(sum.unwrap(), (0..64).sum());
}

#[test]
fn closures_that_wait_do_not_keep_others_waiting() {
    let run = async {
        let host = HostThread::start(state).await?;
        let (tell, told) = tokio::sync::oneshot::channel();
        let waiting = host.run(async move |_: &State| Ok::<_, Error>(told.await.expect("told")));
        let telling = host.run(async move |_: &State| {
            tell.send(7).expect("somebody waits");
            Ok::<_, Error>(())
        });
        let (told, _) = tokio::try_join!(waiting, telling)?;
        Ok::<_, Error>(told)
    };
    assert_eq!(within(&multi_thread(), run).unwrap(), 7);
}

#[test]
fn a_closure_whose_caller_left_is_dropped() {
    struct Counted(Arc<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    multi_thread().block_on(async {
        let host = HostThread::start(async || Ok::<_, Error>(())).await.unwrap();
        let dropped = Arc::new(AtomicUsize::new(0));
        let counted = Counted(Arc::clone(&dropped));
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
        let until = Instant::now() + LIMIT;
        while dropped.load(Ordering::Relaxed) == 0 {
            assert!(Instant::now() < until, "never dropped");
            tokio::task::yield_now().await;
        }
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
        assert_eq!(panicked.await.unwrap_err().code(), DocaError::UNEXPECTED);

        let host = HostThread::start(async || Ok::<_, Error>(5)).await.unwrap();
        let failed: Result<()> =
            host.run(async |_: &i32| connect().plugin_named("no_such_plugin").map(drop)).await;
        assert_eq!(failed.unwrap_err().code(), DocaError::NOT_FOUND);
        let panicked =
            host.run::<(), Error, _>(async |_: &i32| panic!("as the test asks")).await.unwrap_err();
        assert!(panicked.to_string().contains("it panicked"), "{panicked}");
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
