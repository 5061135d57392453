//! Workers: ids, environment, CPUs.

use anyhow::{Context, Result};
use urom_host::gather::InProcess;
use urom_host::{DocaError, DomainBuffer};

use crate::deadlines::process;
use crate::provider::{Provider, faulty, graph, variable};

pub(crate) fn a_stopped_worker_s_id_can_be_used_again(provider: &Provider) -> Result<()> {
    let service = provider.connect()?;
    let graph = graph(&service)?;
    for round in 0..20 {
        let worker = service.worker().id(5).plugin(&graph).start().wait()?;
        assert_eq!(graph.task_loopback(&worker, round).submit()?.wait()?.data, round);
        worker.stop().wait()?;
    }
    Ok(())
}

pub(crate) fn environment_reaches_the_worker(provider: &Provider) -> Result<()> {
    let service = provider.connect()?;
    let faulty = faulty(&service)?;
    let worker =
        service.worker().plugin(&faulty).env("UROM_TEST_COLOUR", "deep=blue").start().wait()?;
    let colour = variable(&faulty, &worker, "UROM_TEST_COLOUR")?;
    // A thread cannot have its own environment; the service logs that it ignores it.
    assert_eq!(colour.as_deref(), provider.has_processes().then_some("deep=blue"));
    assert_eq!(variable(&faulty, &worker, "UROM_TEST_ABSENT")?, None);
    Ok(())
}

/// Like UCC's test program: each context has a service, a worker of its rank, and a domain with a
/// buffer.
pub(crate) fn a_second_context_has_the_same_worker_and_a_domain_of_its_own(
    provider: &Provider,
) -> Result<()> {
    let services = [provider.connect()?, provider.connect()?];
    let faulty = [faulty(&services[0])?, faulty(&services[1])?];
    let builder = |at: usize| services[at].worker().id(0).plugin(&faulty[at]);
    let start =
        |at, value| builder(at).env("UROM_TEST_A", "same").env("UROM_TEST_B", value).start().wait();
    let workers = [start(0, "b")?, start(1, "b")?];
    assert_eq!(process(&faulty[0], &workers[0])?, process(&faulty[1], &workers[1])?);
    let mut domains = Vec::new();
    for at in [0, 1] {
        let address = 0x1000 * (at as u64 + 1);
        let buffer = DomainBuffer { address, length: 4096, ..DomainBuffer::default() };
        let domain = services[at].domain().worker(0, &workers[at]).buffer(buffer);
        domains.push(domain.gather(InProcess::alone()).start().wait()?);
    }
    domains.into_iter().try_for_each(|domain| domain.stop_blocking())?;
    let refused = start(1, "other").err().context("it has another environment")?;
    assert_eq!(refused.code(), DocaError::ALREADY_EXIST);
    assert!(refused.to_string().contains("`UROM_TEST_B`"), "{refused}");
    Ok(())
}

pub(crate) fn cpus_reach_the_worker(provider: &Provider) -> Result<()> {
    let service = provider.connect()?;
    let faulty = faulty(&service)?;
    let worker = service.worker().plugin(&faulty).cpus("0".parse()?).start().wait()?;
    let mask = faulty.task_affinity(&worker).submit()?.wait()?.mask;
    if provider.has_processes() {
        assert_eq!((mask[0], &mask[1..]), (1, &[0; 15][..]));
        assert_eq!(service.cpus(), "0-7".parse()?, "reported as given, whatever the machine has");
    } else {
        // Thread workers share the CPUs; the service logs that it ignores the setting.
        assert_ne!(mask[0] & 1, 0);
    }
    Ok(())
}

pub(crate) fn a_worker_is_shown_as_what_it_is(provider: &Provider) -> Result<()> {
    let (_service, faulty, worker) = provider.faulty()?;
    let directory = format!("/proc/{}", process(&faulty, &worker)?.as_raw_nonzero());
    let command_line = std::fs::read(format!("{directory}/cmdline"))?;
    assert!(command_line.starts_with(b"uromd\0worker\0--id\0auto-1\0"), "{command_line:?}");
    assert_eq!(std::fs::read_to_string(format!("{directory}/comm"))?, "uromd-worker\n");
    Ok(())
}
