//! Workers: ids, groups, sharing, environment, CPUs.

use std::thread;

use anyhow::{Result, anyhow};
use urom_host::ProgressEngine;

use crate::deadlines::process;
use crate::provider::{Provider, faulty, faulty_worker, graph, variable};

pub(crate) fn four_workers_in_two_groups_from_four_threads(provider: &Provider) -> Result<()> {
    let service = provider.connect()?;
    let (running, wait_running) = std::sync::mpsc::channel();
    let done = std::sync::Barrier::new(5);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..4u64)
            .map(|id| {
                let (handle, running, done) = (service.handle(), running.clone(), &done);
                scope.spawn(move || -> Result<()> {
                    let loopback = || -> Result<_> {
                        let graph = handle.plugin::<graph_protocol::Protocol>()?;
                        let engine = ProgressEngine::with_library(handle.library())?;
                        let builder = handle.worker().engine(&engine).id(id).group(id as u32 % 2);
                        let worker = builder.plugin(&graph).max_inflight(2).start().wait()?;
                        assert_eq!((worker.id(), worker.group()?), (id, id as u32 % 2));
                        assert_eq!(graph.task_loopback(&worker, id).submit()?.wait()?.data, id);
                        Ok(worker)
                    };
                    let worker = loopback();
                    running.send(worker.is_ok())?;
                    done.wait();
                    Ok(worker?.stop().wait()?)
                })
            })
            .collect();
        let all_run = (0..4).all(|_| wait_running.recv() == Ok(true));
        let groups = [1, 0].map(|group| all_run.then(|| service.workers_of_group(group).wait()));
        done.wait();
        for thread in threads {
            thread.join().map_err(|_| anyhow!("a thread panicked"))??;
        }
        let [odd, even] = groups.map(|ids| ids.ok_or_else(|| anyhow!("not all workers ran")));
        assert_eq!((odd??, even??), (vec![1, 3], vec![0, 2]));
        Ok(())
    })
}

pub(crate) fn two_hosts_share_one_worker(provider: &Provider) -> Result<()> {
    let (one, other) = (provider.connect()?, provider.connect()?);
    let (first, second) = (faulty(&one)?, faulty(&other)?);
    let a = one.worker().id(9).plugin(&first).start().wait()?;
    let b = other.worker().id(9).plugin(&second).start().wait()?;
    let pid = |task: urom_host::Result<faulty_protocol::Process>| task.map(|process| process.pid);
    assert_eq!(
        pid(first.task_pid(&a).submit()?.wait())?,
        pid(second.task_pid(&b).submit()?.wait())?
    );
    let mut pairs = Vec::new();
    for data in 0..32 {
        pairs.push((
            data,
            first.task_echo(&a, data).submit()?,
            second.task_echo(&b, !data).submit()?,
        ));
    }
    for (data, from_a, from_b) in pairs {
        assert_eq!(
            (from_a.wait()?.data, from_b.wait()?.data),
            (data, !data),
            "each host gets its own answers"
        );
    }
    // One host leaves; the worker stays for the other.
    a.stop().wait()?;
    assert_eq!(second.task_echo(&b, 1).submit()?.wait()?.data, 1);
    Ok(())
}

pub(crate) fn a_worker_gets_an_id_when_it_asks_for_any(provider: &Provider) -> Result<()> {
    let service = provider.connect()?;
    let graph = graph(&service)?;
    let chosen = service.worker().id(0).plugin(&graph).start().wait()?;
    let one = service.worker().any_id().plugin(&graph).start().wait()?;
    let other = service.worker().any_id().plugin(&graph).start().wait()?;
    let mut ids = vec![chosen.id(), one.id(), other.id()];
    ids.sort_unstable();
    let all = service.workers_of_group(0).wait()?;
    assert_eq!(all, ids, "three different ones, in rising order");
    assert!(!ids.contains(&u64::MAX));
    Ok(())
}

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
    // A thread cannot have an environment of its own; the service logs that it is left out.
    assert_eq!(colour.as_deref(), provider.has_processes().then_some("deep=blue"));
    assert_eq!(variable(&faulty, &worker, "UROM_TEST_ABSENT")?, None);
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
        // CPUs cannot be set for one worker among threads; the service logs that they are left out.
        assert_ne!(mask[0] & 1, 0);
    }
    Ok(())
}

pub(crate) fn a_group_without_workers_is_empty(provider: &Provider) -> Result<()> {
    let (service, _graph, _worker) = provider.graph()?;
    assert_eq!(service.workers_of_group(77).wait()?, []);
    Ok(())
}

pub(crate) fn the_service_keeps_going_when_a_host_leaves(provider: &Provider) -> Result<()> {
    let stays = provider.connect()?;
    let (faulty, worker) = faulty_worker(&stays)?;
    let leaves = provider.connect()?;
    let (other, other_worker) = faulty_worker(&leaves)?;
    let pending = other.task_hang(&other_worker).submit()?;
    drop(pending);
    drop(other_worker);
    drop(leaves);
    assert_eq!(faulty.task_echo(&worker, 3).submit()?.wait()?.data, 3);
    Ok(())
}

pub(crate) fn a_worker_is_shown_as_what_it_is(provider: &Provider) -> Result<()> {
    let (_service, faulty, worker) = provider.faulty()?;
    let place = format!("/proc/{}", process(&faulty, &worker)?.as_raw_nonzero());
    let command_line = std::fs::read(format!("{place}/cmdline"))?;
    assert!(command_line.starts_with(b"uromd\0worker\0--id\0auto-1\0"), "{command_line:?}");
    assert_eq!(std::fs::read_to_string(format!("{place}/comm"))?, "uromd-worker\n");
    Ok(())
}
