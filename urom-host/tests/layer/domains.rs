//! Domains: start and stop, lifetimes, and refusals.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use urom_host::gather::{AllGather, BoxError, InProcess};
use urom_host::{
    ContextState, DocaError, Domain, DomainBuffer, DomainBuilder, Service, Worker, block_on_for,
};

use crate::fake::{self, HABIT, TABLES, Told, habit};
use crate::{LIMIT, connected, fails, send, start, world};

pub(crate) fn alone() -> InProcess {
    InProcess::alone()
}

pub(crate) fn domain(service: &Service, worker: &Worker) -> DomainBuilder {
    service.domain().worker(7, worker).gather(alone())
}

pub(crate) fn run(builder: DomainBuilder) -> Domain {
    block_on_for(LIMIT, builder.start()).unwrap().unwrap()
}

#[test]
fn a_domain_runs_once_everybody_knows_everything() {
    let (_clean, service) = connected();
    let ((_, a), (_, b)) = (start(&service, 0), start(&service, 1));
    let buffer = DomainBuffer {
        address: 0x1000,
        length: 4096,
        memory_handle: vec![1, 2],
        key: vec![3; 100],
    };
    let mut group = InProcess::group(2);
    let other = domain(&service, &a).worker(9, &b).gather(group.remove(1)).start();
    let builder = service.domain().worker(u64::MAX, &a).gather(group.remove(0));
    let one = run(builder.buffer(buffer).buffer(DomainBuffer::default()));
    let other = other.wait().unwrap();
    assert_eq!((one.index(), one.participants()), (0, 2));
    assert_eq!((other.index(), other.ids().collect::<Vec<_>>()), (1, vec![7, 9]));
    assert_eq!(one.state().unwrap(), ContextState::Running);
    assert!(format!("{one:?}").contains("Running"));
    let buffers = vec![(0x1000, 4096, vec![1, 2], vec![3; 100]), (0, 0, vec![], vec![])];
    let told = [Told { ids: vec![u64::MAX], buffers }, Told { ids: vec![7, 9], buffers: vec![] }];
    let table: Vec<_> = told.iter().map(|told| format!("{told:?}")).collect();
    assert_eq!(*TABLES.lock().unwrap(), [table.clone(), table]);
    one.stop_blocking().unwrap();
}

#[test]
fn a_start_wakes_any_executor_when_it_is_over() {
    struct Count(std::sync::atomic::AtomicUsize);
    impl std::task::Wake for Count {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let (_clean, service, _, worker) = world(0);
    let mut group = InProcess::group(2);
    let (theirs, mine) = (group.pop().unwrap(), group.pop().unwrap());
    let count = std::sync::Arc::new(Count(Default::default()));
    let waker = std::task::Waker::from(std::sync::Arc::clone(&count));
    let mut start = std::pin::pin!(domain(&service, &worker).gather(mine).start());
    let mut poll = || start.as_mut().poll(&mut std::task::Context::from_waker(&waker));
    assert!(poll().is_pending());
    assert!(!service.progress());
    assert_eq!(count.0.load(Ordering::SeqCst), 0, "nothing to look at yet");
    let other = domain(&service, &worker).gather(theirs).start();
    while count.0.load(Ordering::SeqCst) == 0 {
        service.progress();
    }
    let std::task::Poll::Ready(done) = poll() else { panic!("woken for nothing") };
    drop(other);
    done.unwrap().stop_blocking().unwrap();
}

#[test]
fn several_domains_share_a_worker_and_take_turns_with_an_all_gather() {
    let (_clean, service, _, worker) = world(0);
    let gather = Rc::new(RefCell::new(alone()));
    let one = run(domain(&service, &worker).gather(Rc::clone(&gather)));
    let two = run(service.domain().worker(8, &worker).gather(gather));
    one.stop_blocking().unwrap();
    assert_eq!(two.state().unwrap(), ContextState::Running);
    assert_eq!(TABLES.lock().unwrap().len(), 2);
}

#[test]
fn a_worker_in_a_domain_stops_after_it() {
    let (_clean, service, graph, worker) = world(0);
    let domain = run(domain(&service, &worker));
    fails(worker.stop().wait(), DocaError::IN_USE, &["worker 0 failed", "in a domain"]);
    domain.stop_blocking().unwrap();
    let (_, worker) = start(&service, 0);
    run(self::domain(&service, &worker)).stop_blocking().unwrap();
    assert_eq!(send(&graph, &worker, 1).wait().unwrap().data, 1);
    worker.stop().wait().unwrap();
}

#[test]
fn everything_can_be_dropped_in_any_order() {
    for order in 0..6 {
        let (_clean, service, _, worker) = world(0);
        let domain = run(domain(&service, &worker));
        let (mut service, mut worker, mut domain) = (Some(service), Some(worker), Some(domain));
        for step in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]][order] {
            match step {
                0 => drop(service.take()),
                1 => drop(worker.take()),
                _ => drop(domain.take()),
            }
        }
        assert_eq!(fake::live(), 0);
    }
}

#[test]
fn a_start_that_is_dropped_is_taken_back() {
    let (_clean, service, _, worker) = world(0);
    let mut group = InProcess::group(2);
    let mut start = domain(&service, &worker).gather(group.remove(0)).start();
    fails(block_on_for(Duration::from_millis(3), &mut start), DocaError::TIME_OUT, &[]);
    drop(start);
    drop(domain(&service, &worker));
    let mut group = InProcess::group(2);
    drop(domain(&service, &worker).gather(group.remove(0)).start());
    // The library has its own code for this.
    fails(
        domain(&service, &worker).gather(group.remove(0)).start().wait(),
        DocaError::NOT_FOUND,
        &["participant 0 has left"],
    );
}

#[test]
fn a_domain_dropped_inside_a_callback_goes_when_that_returns() {
    let (_clean, service, graph, worker) = world(0);
    let domains = [(); 2].map(|()| run(domain(&service, &worker)));
    let live = fake::live();
    graph
        .task_loopback(&worker, 1)
        .submit_with(move |_| {
            let [one, other] = domains;
            let text = "a completion callback is running";
            fails(other.stop_blocking(), DocaError::BAD_STATE, &[text]);
            drop(one);
            assert_eq!(
                fake::live(),
                live + 1,
                "they are still there, and the task is kept for the next command"
            );
        })
        .unwrap();
    while service.progress() {}
    assert_eq!(fake::live(), live - 2 + 1);
}

#[test]
fn settings_that_cannot_be_are_refused() {
    struct Nobody(u32, u32);
    impl AllGather for Nobody {
        fn participants(&self) -> u32 {
            self.0
        }
        fn index(&self) -> u32 {
            self.1
        }
        fn begin(&mut self, _block: &[u8]) -> Result<(), BoxError> {
            unreachable!()
        }
        fn test(&mut self, _blocks: &mut [u8]) -> Result<bool, BoxError> {
            unreachable!()
        }
    }
    let (_clean, service, _, worker) = world(0);
    for (builder, text) in [
        (service.domain().gather(alone()), "lacks a worker"),
        (service.handle().domain().gather(alone()), "lacks a worker"),
        (service.domain().worker(0, &worker), "lacks an all-gather"),
        (domain(&service, &worker).worker(7, &worker), "two of its workers have the id 7"),
        (domain(&service, &worker).worker(8, &worker), "is in it twice, as 7 and as 8"),
        (domain(&service, &worker).gather(Nobody(0, 0)), "calls itself 0 of 0"),
        (domain(&service, &worker).gather(Nobody(2, 2)), "calls itself 2 of 2"),
    ] {
        fails(builder.start().wait(), DocaError::INVALID_VALUE, &[text]);
    }
    let handle = service.handle();
    drop(run(handle.domain().worker(1, &worker).gather(alone())));
}

#[test]
fn a_library_that_refuses_or_fails_is_quoted() {
    for (habit, code, text) in [
        (habit::CREATES_NULL, DocaError::UNEXPECTED, "success with a NULL pointer"),
        (
            habit::REFUSES_WORKERS,
            DocaError::NO_MEMORY,
            "setting the workers of a domain as participant 0 of 1",
        ),
        (habit::REFUSES_START, DocaError::NOT_PERMITTED, "starting a domain"),
        (habit::FAILS, DocaError::NOT_FOUND, fake::FAILURE),
    ] {
        let (_clean, service, _, worker) = world(0);
        HABIT.store(habit, Ordering::SeqCst);
        fails(domain(&service, &worker).start().wait(), code, &[text]);
    }
}

#[test]
fn a_worker_that_is_gone_fails_the_start() {
    let (_clean, service, graph, worker) = world(0);
    let death = send(&graph, &worker, fake::script::DIE | 12);
    death.wait().unwrap_err();
    let error = domain(&service, &worker).start().wait().unwrap_err();
    assert!(error.to_string().contains(fake::FAILURE), "{error}");
}

#[test]
fn a_library_that_does_not_stop_at_once_is_waited_for() {
    let (_clean, service, _, worker) = world(0);
    let live = fake::live();
    let domain = run(domain(&service, &worker));
    HABIT.store(habit::STOPS_LATER, Ordering::SeqCst);
    domain.stop_blocking().unwrap();
    assert_eq!(fake::live(), live);
}
