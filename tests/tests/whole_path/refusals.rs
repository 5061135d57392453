//! What is not possible, and how it is said.

use anyhow::{Result, anyhow};
use urom_abi::DocaError;

use crate::provider::{Provider, faulty, graph};

pub(crate) fn a_payload_over_the_limit_is_too_big_and_the_task_stays_with_the_caller(
    provider: &Provider,
) -> Result<()> {
    let (_service, graph, worker) = provider.graph()?;
    let task = worker.task(&graph)?;
    let capacity = task.capacity();
    assert_eq!(capacity, 4096 - 24);
    let rejected = task.submit(&vec![0; capacity + 1]).map(drop).expect_err("one byte too many");
    assert_eq!(rejected.error.code(), DocaError::TOO_BIG);
    assert!(rejected.error.to_string().contains("4073"), "{}", rejected.error);
    // The same task goes again, with bytes that fit.
    let task = rejected.task;
    let full = task
        .submit(&vec![0; capacity])
        .map_err(|rejected| anyhow!("{}", rejected.error))?
        .wait()?;
    assert_eq!(
        full.status,
        DocaError::INVALID_VALUE,
        "it fits, and the plugin says what is wrong with it"
    );
    Ok(())
}

pub(crate) fn more_tasks_than_agreed_are_refused(provider: &Provider) -> Result<()> {
    let service = provider.connect()?;
    let graph = graph(&service)?;
    let worker = service.worker().plugin(&graph).max_inflight(2).start().wait()?;
    let tasks =
        [graph.task_loopback(&worker, 1).submit()?, graph.task_loopback(&worker, 2).submit()?];
    let third = graph.task_loopback(&worker, 3).submit().map(drop).expect_err("two is all");
    assert_eq!(third.code(), DocaError::NO_MEMORY);
    for task in tasks {
        task.wait()?;
    }
    assert_eq!(graph.task_loopback(&worker, 3).submit()?.wait()?.data, 3);
    Ok(())
}

pub(crate) fn an_environment_for_a_worker_that_exists_is_refused(
    provider: &Provider,
) -> Result<()> {
    let service = provider.connect()?;
    let graph = graph(&service)?;
    let _first = service.worker().id(1).plugin(&graph).start().wait()?;
    let second = service.worker().id(1).plugin(&graph).env("A", "b").start().wait();
    let error = second.map(drop).expect_err("it exists");
    assert_eq!(error.code(), DocaError::ALREADY_EXIST);
    assert!(error.to_string().contains("worker 1"), "{error}");
    // Joining without one works.
    service.worker().id(1).plugin(&graph).start().wait()?;
    Ok(())
}

/// The graph plugin, as a host has it that was built with another definition of the same version.
mod other {
    use urom_abi::{urom_command, urom_notification};

    #[urom_command(plugin = "worker_graph", version = 1)]
    pub(super) enum Command {
        #[urom(reply = LoopbackDone)]
        Loopback { data: u64 },
    }

    #[urom_notification]
    pub(super) enum Notification {
        LoopbackDone { low: u32, high: u32 },
    }
}

pub(crate) fn a_plugin_of_another_layout_is_refused_with_the_first_difference(
    provider: &Provider,
) -> Result<()> {
    let service = provider.connect()?;
    graph(&service)?;
    let error = service.plugin::<other::Protocol>().map(drop).expect_err("another layout");
    assert_eq!(error.code(), DocaError::UNSUPPORTED_VERSION);
    let text = "the host has `LoopbackDone.low`, which is u32 (byte 8), where the plugin has `LoopbackDone.data`, which is \
                u64 (byte 8); rebuild the plugin, or raise `version` in the definition that changed";
    assert!(error.to_string().ends_with(text), "{error}");
    Ok(())
}

pub(crate) fn cpus_the_service_does_not_have_are_refused(provider: &Provider) -> Result<()> {
    let service = provider.connect()?;
    let graph = graph(&service)?;
    let error = service
        .worker()
        .plugin(&graph)
        .cpus("1000".parse()?)
        .start()
        .wait()
        .map(drop)
        .expect_err("none");
    assert_eq!(error.code(), DocaError::INVALID_VALUE, "{error}");
    Ok(())
}

pub(crate) fn a_plugin_the_service_does_not_have_is_not_found(provider: &Provider) -> Result<()> {
    let service = provider.connect()?;
    let faulty = faulty(&service)?;
    let graph_only = service.worker().id(3).plugin(&graph(&service)?).start().wait()?;
    // A host that joins a worker must do with the plugins it has.
    let joined =
        service.worker().id(3).plugin(&faulty).start().wait().map(drop).expect_err("graph only");
    assert_eq!(joined.code(), DocaError::INVALID_VALUE);
    assert!(joined.to_string().contains("worker 3"), "{joined}");
    let stray = graph_only.command(&faulty, &[0; 40]).map(drop).expect_err("graph only");
    assert_eq!(stray.code(), DocaError::INVALID_VALUE, "{stray}");
    Ok(())
}

pub(crate) fn more_workers_than_agreed_are_refused(provider: &Provider) -> Result<()> {
    let service = provider.builder().max_workers(2).connect()?;
    let graph = graph(&service)?;
    let _one = service.worker().plugin(&graph).start().wait()?;
    let two = service.worker().plugin(&graph).start().wait()?;
    let error = service.worker().plugin(&graph).start().wait().map(drop).expect_err("two is all");
    assert_eq!(error.code(), DocaError::FULL, "{error}");
    two.stop().wait()?;
    service.worker().plugin(&graph).start().wait()?;
    Ok(())
}
