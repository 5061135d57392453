//! Kills workers and hosts during RDMA operations: the other end fails and can then continue.

use std::time::Instant;

use anyhow::{Result, ensure};
use rdma_host::{Rdma, RemoteAddress, RemoteMmap, State};
use rustix::process::{Signal, kill_process};
use urom_host::memory::Mmap;
use urom_host::{DocaError, block_on};

use crate::deadlines::process;
use crate::host_process::HostProcess;
use crate::provider::{Given, Provider, faulty};
use crate::rdma::{ALL, LIMIT, LOCAL, MAKES, RdmaPair, started};

type Wait = Box<dyn FnOnce() -> urom_host::Result<()>>;

/// Operations of the surviving host at the kill, with its own memory and the other end's memory.
type Point = fn(&Rdma, &Mmap, &RemoteMmap) -> Vec<Wait>;

/// Begins eight operations, so that one is in progress at the kill.
fn several<O: Future<Output = urom_host::Result<T>> + 'static, T>(
    begin: impl Fn(u64) -> O,
) -> Vec<Wait> {
    let begun = (0..8).map(|at| -> Wait {
        let operation = begin(at);
        Box::new(move || block_on(operation).map(drop))
    });
    begun.collect()
}

const PART: u64 = 4 << 20;

/// Errors after the other end's death. The worker refuses later operations.
const FAILED: [DocaError; 2] = [DocaError::CONNECTION_ABORTED, DocaError::BAD_STATE];

/// Whether the operations cannot complete, and the operations.
const POINTS: [(bool, Point); 5] = [
    (false, |_, _, _| Vec::new()),
    (true, |rdma, own, _| several(|at| rdma.send(own.slice(at..at + 1)))),
    (false, |rdma, own, far| several(|at| rdma.write(own.slice(..PART), far.at(at)))),
    (false, |rdma, own, far| {
        several(|at| rdma.read(far.at(0), own.slice(at * PART..(at + 1) * PART)))
    }),
    (false, |rdma, own, far| {
        several(|at| rdma.fetch_add(far.at(0), 1, own.slice(at * 8..(at + 1) * 8)))
    }),
];

pub(crate) fn a_worker_that_is_killed_is_a_failure_of_the_other_end_at_each_point(
    provider: &Provider,
) -> Result<()> {
    let service = provider.connect()?;
    let (plugin, faulty) = (service.plugin::<rdma_protocol::Protocol>()?, faulty(&service)?);
    let stays = service.worker().id(14).plugin(&plugin).start().wait()?;
    let two = started(&stays)?.within(LIMIT);
    let own = MAKES[0](vec![0; 8 * PART as usize], LOCAL);
    block_on(two.register(&own))?;
    for point in POINTS.iter().map(Some).chain([None]) {
        let doomed = service.worker().id(13).plugin(&plugin).plugin(&faulty).start().wait()?;
        let (one, idle) = (started(&doomed)?, started(&doomed)?.within(LIMIT));
        let there = MAKES[0](vec![0; 2 * PART as usize], ALL);
        let far = block_on(async {
            let (first, second) = (one.export().await?, two.export().await?);
            two.connect(&first).await?;
            if point.is_some() {
                one.connect(&second).await?;
            }
            let exported = one.export_mmap(&there).await?;
            RemoteMmap::import(&two, &exported).await
        })?;
        let process = process(&faulty, &doomed)?;
        let (receive, lost) = (two.receive(()), idle.receive(()));
        let begun = match point {
            Some((_, point)) => {
                two.write((), RemoteAddress::NOWHERE).wait()?;
                point(&two, &own, &far)
            }
            None => several(|_| two.write((), RemoteAddress::NOWHERE)),
        };
        kill_process(process, Signal::KILL)?;
        let failed: Vec<_> = begun.into_iter().filter_map(|wait| wait().err()).collect();
        assert!(failed.iter().all(|error| FAILED.contains(&error.code())), "{failed:?}");
        // Sends lack a receive, and an unconnected end does not answer.
        let cannot_complete = point.is_none_or(|(cannot_complete, _)| *cannot_complete);
        assert!(!cannot_complete || failed.len() == 8, "{failed:?}");
        assert_eq!(lost.wait().map(drop).unwrap_err().code(), DocaError::CONNECTION_RESET);
        assert_eq!(receive.wait().map(drop).unwrap_err().code(), DocaError::CONNECTION_ABORTED);
        let (state, failed) = block_on(two.state())?;
        assert_eq!(state, State::Error);
        assert_eq!(failed.map(|failed| failed.code), Some(DocaError::CONNECTION_RESET));
        block_on(async {
            two.stop().await?;
            two.start().await
        })?;
    }
    Ok(())
}

const AT_WORK: [&str; 7] = ["idle", "send", "receive", "write", "read", "add", "unconnected"];

pub(crate) fn a_host_that_is_killed_is_a_failure_of_the_other_end_at_each_point(
    provider: &Provider,
) -> Result<()> {
    let pair = RdmaPair::given(provider)?;
    let two = started(&pair.two.worker)?.within(LIMIT);
    let own = MAKES[0](vec![0; PART as usize], ALL);
    block_on(two.register(&own))?;
    // The killed host has its own worker: a host that dies during a command may disconnect other
    // hosts of its worker.
    for (id, what) in (20..).zip(AT_WORK) {
        let id = u32::to_string(&id);
        let mut other = HostProcess::start(provider, "rdma_host_at_work", &[&id, what])?;
        let mut hear = || -> Result<Vec<u8>> { Ok(serde_json::from_str(&other.line()?)?) };
        let (details, _) = (hear()?, hear()?);
        for bytes in [block_on(two.export())?, block_on(two.export_mmap(&own))?] {
            other.tell(&serde_json::to_string(&bytes)?)?;
        }
        block_on(two.connect(&details))?;
        assert_eq!(other.line()?, "ready", "{what}");
        // It waits for a receive, or for the other end's connect.
        let send = (what != "receive").then(|| two.send(own.slice(..8)));
        other.signal(Signal::KILL)?;
        let killed = Instant::now();
        while block_on(two.state())?.0 != State::Error {
            ensure!(killed.elapsed() < LIMIT, "{what}: the other end does not notice");
            pair.two.rdma.write((), RemoteAddress::NOWHERE).wait()?;
        }
        if let Some(send) = send {
            let code = send.wait().unwrap_err().code();
            assert!(FAILED.contains(&code), "{what}: {code:?}");
        }
        let (_, failed) = block_on(two.state())?;
        assert_eq!(failed.map(|failed| failed.code), Some(DocaError::CONNECTION_RESET), "{what}");
        pair.one.rdma.write((), RemoteAddress::NOWHERE).wait()?;
        block_on(async {
            two.stop().await?;
            two.start().await
        })?;
    }
    Ok(())
}
