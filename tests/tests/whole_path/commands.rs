//! Commands and their answers.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use anyhow::{Result, bail};
use urom_abi::DocaError;
use urom_host::block_on;

use crate::provider::{Provider, faulty, graph};

pub(crate) fn a_loopback_returns_what_was_sent(provider: &Provider) -> Result<()> {
    let (_service, graph, worker) = provider.graph()?;
    for data in [0, 3, u64::MAX] {
        assert_eq!(graph.task_loopback(&worker, data).submit()?.wait()?.data, data);
    }
    let answer = block_on(async { graph.task_loopback(&worker, 42).submit()?.await })?;
    assert_eq!(answer.data, 42);
    Ok(())
}

pub(crate) fn a_callback_gets_the_answer_inside_progress(provider: &Provider) -> Result<()> {
    let (service, graph, worker) = provider.graph()?;
    let got = Rc::new(Cell::new(None));
    let callback = Rc::clone(&got);
    graph
        .task_loopback(&worker, 7)
        .submit_with(move |answer| callback.set(Some(answer.map(|done| done.data))))?;
    while !service.progress() {}
    match got.take() {
        Some(answer) => assert_eq!(answer?, 7),
        None => bail!("progress returned true before the callback ran"),
    }
    assert!(!service.progress(), "nothing else is due");
    Ok(())
}

pub(crate) fn sixty_four_in_flight_complete_in_order(provider: &Provider) -> Result<()> {
    let service = provider.connect()?;
    let graph = graph(&service)?;
    let worker = service.worker().plugin(&graph).max_inflight(64).start().wait()?;
    let order = Rc::new(RefCell::new(Vec::new()));
    for round in 0..50 {
        for data in 0..64 {
            let order = Rc::clone(&order);
            graph.task_loopback(&worker, round * 64 + data).submit_with(move |answer| {
                order.borrow_mut().push(answer.map_or(u64::MAX, |done| done.data));
            })?;
        }
        let mut completed = 0;
        while completed < 64 {
            completed += u64::from(service.progress());
        }
        // One completion for each progress that says so, in the order of submission.
        assert_eq!(order.take(), (round * 64..round * 64 + 64).collect::<Vec<_>>());
    }
    Ok(())
}

pub(crate) fn commands_of_many_tasks_can_be_submitted_from_callbacks(
    provider: &Provider,
) -> Result<()> {
    let (service, graph, worker) = provider.graph()?;
    let worker = Rc::new(worker);
    let left = Rc::new(Cell::new(1000u64));

    fn next(
        graph: graph_protocol::Client<urom_host::Host>,
        worker: Rc<urom_host::Worker>,
        left: Rc<Cell<u64>>,
    ) {
        let data = left.get();
        let (again, at) = (graph.clone(), Rc::clone(&worker));
        let submitted = graph.task_loopback(&worker, data).submit_with(move |answer| {
            assert_eq!(answer.map(|done| done.data).ok(), Some(data));
            left.set(data - 1);
            if data > 1 {
                next(again, at, left);
            }
        });
        assert!(submitted.is_ok(), "{submitted:?}");
    }

    next(graph, worker, Rc::clone(&left));
    while left.get() > 0 {
        service.progress();
    }
    Ok(())
}

pub(crate) fn a_panic_in_a_handler_is_one_error_and_the_plugin_lives(
    provider: &Provider,
) -> Result<()> {
    let (_service, faulty, worker) = provider.faulty()?;
    let panicked = faulty.task_panic(&worker).submit()?.wait();
    assert_eq!(panicked.map(drop).map_err(|error| error.code()), Err(DocaError::UNEXPECTED));
    assert_eq!(faulty.task_echo(&worker, 5).submit()?.wait()?.data, 5);
    Ok(())
}

pub(crate) fn a_handler_keeps_its_own_code(provider: &Provider) -> Result<()> {
    let (_service, faulty, worker) = provider.faulty()?;
    for code in [DocaError::NOT_FOUND, DocaError::AUTHENTICATION, DocaError(4_000)] {
        let failed = faulty.task_fail(&worker, code.0).submit()?.wait();
        assert_eq!(failed.map(drop).map_err(|error| error.code()), Err(code));
    }
    // A failure that says "success" would make the host read fields that mean nothing.
    let lying = faulty.task_fail(&worker, 0).submit()?.wait();
    assert_eq!(lying.map(drop).map_err(|error| error.code()), Err(DocaError::UNEXPECTED));
    Ok(())
}

pub(crate) fn a_handler_that_waits_is_woken(provider: &Provider) -> Result<()> {
    let (_service, faulty, worker) = provider.faulty()?;
    let slow = faulty.task_yield(&worker, 1000, 11).submit()?;
    let quick = faulty.task_echo(&worker, 12).submit()?;
    assert_eq!(quick.wait()?.data, 12, "overtakes the one that waits");
    assert_eq!(slow.wait()?.data, 11);
    Ok(())
}

pub(crate) fn a_handler_that_sleeps_wakes_in_time_and_holds_up_nobody(
    provider: &Provider,
) -> Result<()> {
    let (service, faulty, worker) = provider.faulty()?;
    let answers = Rc::new(RefCell::new(Vec::new()));
    let note = |what: &'static str| {
        let answers = Rc::clone(&answers);
        move |answer: Result<faulty_protocol::Echoed, urom_host::Error>| {
            answers.borrow_mut().push((what, answer.map(|echoed| echoed.data)));
        }
    };
    faulty.task_sleep(&worker, 50_000).submit_with(note("asleep"))?;
    faulty.task_echo(&worker, 7).submit_with(note("awake"))?;
    while answers.borrow().len() < 2 {
        service.progress();
    }
    let answers = answers.take();
    let [("awake", Ok(7)), ("asleep", Ok(took))] = answers[..] else { bail!("{answers:?}") };
    // A worker pauses up to a millisecond between its calls; the machine may do more.
    anyhow::ensure!((50_000..1_050_000).contains(&took), "{took} us instead of 50000");
    Ok(())
}

pub(crate) fn two_plugins_in_one_worker_answer_side_by_side(provider: &Provider) -> Result<()> {
    let service = provider.connect()?;
    let (graph, faulty) = (graph(&service)?, faulty(&service)?);
    let worker = service.worker().plugin(&graph).plugin(&faulty).start().wait()?;
    for data in 0..100 {
        let (a, b) = (
            graph.task_loopback(&worker, data).submit()?,
            faulty.task_echo(&worker, !data).submit()?,
        );
        assert_eq!((b.wait()?.data, a.wait()?.data), (!data, data));
    }
    Ok(())
}
