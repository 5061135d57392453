//! Domains: what members know of each other, and how starts fail.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use reader_protocol::{Found, checksum};
use rustix::time::{ClockId, clock_gettime};
use urom_host::gather::InProcess;
use urom_host::{Buffer, DocaError, ProgressEngine, State, block_on_for};

use crate::provider::{Provider, graph, reader};

const LIMIT: Duration = Duration::from_secs(60);

pub(crate) fn eight_workers_in_four_processes_read_each_other_s_buffers(
    provider: &Provider,
) -> Result<()> {
    provider.participants("domain_participant", 4)?.finish()
}

fn buffers(index: u64, count: u64) -> impl Iterator<Item = Buffer> {
    (0..count).map(move |number| Buffer {
        address: ((index + 1) << 32) + number * 0x1000,
        length: 0x800,
        memory_handle: vec![number as u8; number as usize % 7],
        key: vec![!number as u8 ^ index as u8; 200],
    })
}

pub(crate) fn members_know_each_other_s_buffers_however_many(provider: &Provider) -> Result<()> {
    // Together far more than one message takes; none at all is fine, too.
    const COUNTS: [u64; 3] = [1, 0, 600];
    thread::scope(|scope| {
        let mut threads = Vec::new();
        for gather in InProcess::group(3) {
            threads.push(scope.spawn(move || -> Result<()> {
                let index = u64::from(urom_host::gather::AllGather::index(&gather));
                let service = provider.connect()?;
                let reader = reader(&service)?;
                let worker = service.worker().id(index).plugin(&reader).start().wait()?;
                let mut builder = service.domain().worker(index << 40, &worker).gather(gather);
                for buffer in buffers(index, COUNTS[index as usize]) {
                    builder = builder.buffer(buffer);
                }
                let domain = block_on_for(LIMIT, builder.start())??;
                for (other, count) in (0..).zip(COUNTS) {
                    let mut addresses = Vec::new();
                    for (buffer, segment) in
                        buffers(other, count).zip(0..).filter(|(_, at)| at % 50 == 0)
                    {
                        let found = reader
                            .task_look(&worker, other << 40, buffer.address + 0x7ff)
                            .submit()?;
                        let found = block_on_for(LIMIT, found)??;
                        let (handle, key) =
                            (checksum(&buffer.memory_handle), checksum(&buffer.key));
                        assert_eq!(found, Found { segment, address: found.address, handle, key });
                        addresses.push(found.address);
                        let gap = reader
                            .task_look(&worker, other << 40, buffer.address + 0x800)
                            .submit()?;
                        let error =
                            block_on_for(LIMIT, gap)?.err().context("there is no such address")?;
                        assert_eq!(error.code(), DocaError::NOT_FOUND, "{error}");
                    }
                    addresses.dedup();
                    assert!(addresses.len() <= 1, "one address for each member");
                }
                domain.stop()?;
                Ok(())
            }));
        }
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| anyhow!("a thread panicked"))?)
    })
}

pub(crate) fn several_domains_share_a_worker_and_end_one_by_one(provider: &Provider) -> Result<()> {
    let service = provider.connect()?;
    let reader = reader(&service)?;
    let worker = service.worker().plugin(&reader).start().wait()?;
    let start = |id: u64| {
        let alone = InProcess::group(1).remove(0);
        let builder = service.domain().worker(id, &worker).gather(alone);
        block_on_for(
            LIMIT,
            builder.buffer(Buffer { address: 16, length: 16, ..Buffer::default() }).start(),
        )
    };
    let look = |id| -> Result<DocaError> {
        let found = block_on_for(LIMIT, reader.task_look(&worker, id, 17).submit()?)?;
        Ok(found.map_or_else(|error| error.code(), |_| DocaError::SUCCESS))
    };
    let (one, other) = (start(1)??, start(2)??);
    assert_eq!(
        (look(1)?, look(2)?, look(3)?),
        (DocaError::SUCCESS, DocaError::SUCCESS, DocaError::NOT_FOUND)
    );
    one.stop()?;
    assert_eq!((look(1)?, look(2)?), (DocaError::NOT_FOUND, DocaError::SUCCESS));
    assert_eq!(other.state()?, State::Running);
    drop(other);
    assert_eq!((look(1)?, look(2)?), (DocaError::NOT_FOUND, DocaError::NOT_FOUND));
    // And an id can be used again.
    let again = start(1)??;
    assert_eq!(look(1)?, DocaError::SUCCESS);
    drop(again);
    worker.stop().wait()?;
    Ok(())
}

pub(crate) fn a_participant_that_dies_fails_the_start_of_the_others(
    provider: &Provider,
) -> Result<()> {
    let (service, graph, worker) = provider.graph()?;
    let mut group = InProcess::group(2);
    let start = service.domain().worker(0, &worker).gather(group.remove(0)).start();
    drop(group);
    let error = block_on_for(LIMIT, start)?.err().context("a participant is missing")?;
    assert!(error.to_string().contains("participant 1 is gone"), "{error}");
    assert_eq!(error.code(), DocaError::CONNECTION_RESET, "{error}");
    // The worker is none the worse for it.
    assert_eq!(graph.task_loopback(&worker, 3).submit()?.wait()?.data, 3);
    Ok(())
}

pub(crate) fn an_id_that_two_processes_use_fails_the_start_of_both(
    provider: &Provider,
) -> Result<()> {
    let (service, _graph, worker) = provider.graph()?;
    let group = InProcess::group(2);
    let starts =
        group.into_iter().map(|gather| service.domain().worker(7, &worker).gather(gather).start());
    for start in starts.collect::<Vec<_>>() {
        let error = block_on_for(LIMIT, start)?.err().context("they have one id")?;
        assert!(error.to_string().contains('7'), "{error}");
    }
    Ok(())
}

pub(crate) fn a_setting_that_is_refused_is_explained(provider: &Provider) -> Result<()> {
    let (service, _graph, worker) = provider.graph()?;
    let domain = || service.domain().worker(3, &worker).gather(InProcess::group(1).remove(0));
    let refusal = |builder: urom_host::DomainBuilder| {
        block_on_for(LIMIT, builder.start())?.err().context("it cannot start")
    };
    let error = refusal(domain().worker(4, &worker))?;
    assert!(error.to_string().contains("in it twice, as 3 and as 4"), "{error}");
    let error = refusal(domain().buffer(Buffer { address: 0x1000, ..Buffer::default() }))?;
    assert!(error.to_string().contains("0 bytes at 0x1000"), "{error}");
    Ok(())
}

pub(crate) fn a_domain_is_on_the_engine_of_its_workers(provider: &Provider) -> Result<()> {
    let service = provider.connect()?;
    let graph = graph(&service)?;
    let engine = ProgressEngine::with_library(service.library())?;
    let worker = service.worker().engine(&engine).plugin(&graph).start().wait()?;
    let domain = || service.domain().worker(0, &worker).gather(InProcess::group(1).remove(0));
    drop(block_on_for(LIMIT, domain().start())??);
    let error = block_on_for(LIMIT, domain().engine(service.engine()).start())?
        .err()
        .context("two engines")?;
    assert!(error.to_string().contains("another progress engine"), "{error}");
    Ok(())
}

pub(crate) fn waiting_for_a_domain_neither_hangs_nor_spins(provider: &Provider) -> Result<()> {
    let (service, _graph, worker) = provider.graph()?;
    let mut group = InProcess::group(2);
    let mut start = service.domain().worker(0, &worker).gather(group.remove(0)).start();
    let before = clock_gettime(ClockId::ThreadCPUTime);
    let wait = Duration::from_millis(500);
    let error = block_on_for(wait, &mut start).err().context("nobody else is there")?;
    assert_eq!(error.code(), DocaError::TIME_OUT);
    let used = clock_gettime(ClockId::ThreadCPUTime) - before;
    let used = Duration::new(used.tv_sec.try_into()?, used.tv_nsec.try_into()?);
    assert!(used < wait / 2, "{used:?} of computing in {wait:?} of waiting");
    // Nothing but the library's own notice wakes the thread for what the other participant,
    // elsewhere, does.
    let late = group.remove(0);
    let began = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| -> Result<()> {
            let (service, _graph, worker) = provider.graph()?;
            drop(block_on_for(LIMIT, service.domain().worker(1, &worker).gather(late).start())??);
            Ok(())
        });
        block_on_for(LIMIT, start)?.map(drop).map_err(anyhow::Error::from)
    })?;
    assert!(began.elapsed() < LIMIT / 2, "took {:?}", began.elapsed());
    Ok(())
}

/// A domain that runs already is left to be stopped.
pub(crate) fn a_worker_that_dies_fails_the_start_of_its_domain_and_of_the_next(
    provider: &Provider,
) -> Result<()> {
    let (service, faulty, worker) = provider.faulty()?;
    let mut group = InProcess::group(2);
    let mut starts =
        [0, 1].map(|id| service.domain().worker(id, &worker).gather(group.remove(0)).start());
    let running = starts
        .iter_mut()
        .map(|start| block_on_for(LIMIT, start))
        .collect::<Result<Result<Vec<_>, _>, _>>()??;
    let mut group = InProcess::group(2);
    let starting = service.domain().worker(2, &worker).gather(group.remove(0)).start();
    let crashed = block_on_for(LIMIT, faulty.task_crash(&worker).submit()?)?;
    assert!(crashed.is_err() && worker.failure().is_some());
    let healthy = service.worker().plugin(&faulty).start().wait()?;
    let other = service.domain().worker(3, &healthy).gather(group.remove(0)).start();
    let alone = InProcess::group(1).remove(0);
    let next = service.domain().worker(4, &worker).gather(alone).start();
    for start in [starting, next] {
        let error = block_on_for(LIMIT, start)?.err().context("the worker is gone")?;
        assert!(error.to_string().contains("worker"), "{error}");
    }
    // A domain runs everywhere or nowhere, and all participants are told why.
    let error = block_on_for(LIMIT, other)?.err().context("the other participant failed")?;
    assert!(error.to_string().contains("participant 0 of the domain failed"), "{error}");
    running.into_iter().try_for_each(|domain| Ok(domain.stop()?))
}
