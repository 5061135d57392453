//! Commands and their answers.

use std::cell::RefCell;
use std::rc::Rc;

use anyhow::{Result, bail};
use urom_abi::DocaError;
use urom_host::block_on;

use crate::provider::{Provider, graph};

pub(crate) fn a_loopback_returns_what_was_sent(provider: &Provider) -> Result<()> {
    let (_service, graph, worker) = provider.graph()?;
    for data in [0, 3, u64::MAX] {
        assert_eq!(graph.task_loopback(&worker, data).submit()?.wait()?.data, data);
    }
    let answer = block_on(async { graph.task_loopback(&worker, 42).submit()?.await })?;
    assert_eq!(answer.data, 42);
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
        // One completion for each nonzero progress, in the order of submission.
        assert_eq!(order.take(), (round * 64..round * 64 + 64).collect::<Vec<_>>());
    }
    Ok(())
}

pub(crate) fn a_handler_keeps_its_own_code_and_a_panic_is_one_error(
    provider: &Provider,
) -> Result<()> {
    let (_service, faulty, worker) = provider.faulty()?;
    for code in [DocaError::NOT_FOUND, DocaError::AUTHENTICATION, DocaError::from_code(4_000)] {
        let failed = faulty.task_fail(&worker, code.code()).submit()?.wait();
        assert_eq!(failed.map(drop).map_err(|error| error.code()), Err(code));
    }
    // A failure with the code "success" would make the host read undefined fields.
    let lying = faulty.task_fail(&worker, 0).submit()?.wait();
    assert_eq!(lying.map(drop).map_err(|error| error.code()), Err(DocaError::UNEXPECTED));
    let panicked = faulty.task_panic(&worker).submit()?.wait();
    assert_eq!(panicked.map(drop).map_err(|error| error.code()), Err(DocaError::UNEXPECTED));
    assert_eq!(faulty.task_echo(&worker, 5).submit()?.wait()?.data, 5);
    Ok(())
}

pub(crate) fn a_handler_that_sleeps_wakes_in_time_and_delays_no_other_command(
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
    // A worker sleeps up to 1 ms between its calls; a busy machine adds delay.
    anyhow::ensure!((50_000..1_050_000).contains(&took), "{took} us instead of 50000");
    Ok(())
}
