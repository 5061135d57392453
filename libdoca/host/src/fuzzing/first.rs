//! What a daemon and a worker say to a host first: what a host makes of it.

use serde::de::DeserializeOwned;
use urom_abi::cpu::CpuSet;
use urom_wire::control::{DaemonToHost, Failure, WorkerToHost};
use urom_wire::fuzzing::now;
use urom_wire::pass::Pass;
use urom_wire::patience::Patience;
use urom_wire::relay::Message;
use urom_wire::stream::receive;

use super::{loopback, stream};
use crate::address::Address;
use crate::{daemon_link, worker_link};

/// The most that the host's service allows.
const LIMIT: u64 = 256;

/// The worker's id.
const ID: u64 = 9;

/// What counts of a stream: its first message that is no heartbeat, if there is one.
fn first<T: Message + DeserializeOwned>(said: &[u8]) -> Option<T> {
    let mut said = said;
    loop {
        let message: T = now(receive(&mut said, Patience::default())).ok()?;
        if !message.is_ping() {
            return Some(message);
        }
    }
}

/// A failure is one. What the peer itself says of it may be nothing.
fn is_told(failure: &Failure, by_peer: bool) {
    assert!(
        failure.code != 0 && (by_peer || !failure.text.is_empty()),
        "it failed with success: {failure:?}"
    );
}

/// A service is taken as its daemon describes it, or not at all and with a reason.
pub(super) fn of_daemon(said: &[u8]) {
    let heard: Result<_, Failure> = now(async {
        let (stream, welcome) =
            daemon_link::welcome(&Address::embedded(loopback()), stream(said)).await?;
        stream.close().await;
        Ok(welcome)
    });
    match (heard, first(said)) {
        (Ok(welcome), Some(DaemonToHost::Welcome { plugins, cpus, max_message })) => {
            assert_eq!(welcome.cpus.to_string().parse(), Ok(welcome.cpus), "{cpus:?}");
            assert_eq!((welcome.max_message as u64, welcome.daemon), (max_message, loopback()));
            let of_use = plugins.iter().filter(|plugin| (1..48).contains(&plugin.name.len()));
            let of_use = of_use.filter(|plugin| !plugin.name.contains('\0'));
            let of_use =
                of_use.map(|plugin| (plugin.id, plugin.build.version, Some(&*plugin.name)));
            let infos = welcome.plugins();
            assert!(infos.iter().map(|info| (info.id, info.version, info.name())).eq(of_use));
        }
        (Err(failure), Some(DaemonToHost::Refused(why))) => {
            assert_eq!((failure.code, &failure.text), (why.code, &why.text));
            is_told(&failure, true);
        }
        (Err(failure), other) => {
            if let Some(DaemonToHost::Welcome { cpus, .. }) = other {
                assert!(cpus.parse::<CpuSet>().is_err(), "a welcome was refused: {failure}");
            }
            is_told(&failure, false);
        }
        (Ok(_), other) => panic!("no welcome: {other:?}"),
    }
}

/// A worker's word lets the host in, with messages of the length that it allows, or is told with a
/// reason.
pub(super) fn of_worker(said: &[u8]) {
    let heard: Result<_, Failure> = now(async {
        let mut stream = stream(said);
        let pass = Pass::default();
        let attached = worker_link::admission(&mut stream, ID, loopback(), LIMIT, pass).await?;
        stream.close().await;
        Ok(attached)
    });
    match (heard, first(said)) {
        (Ok(attached), Some(WorkerToHost::Attached { .. })) => {
            assert!(attached.id == ID && attached.max_message as u64 <= LIMIT);
        }
        (Err(failure), Some(WorkerToHost::Refused(_))) => is_told(&failure, true),
        (Err(failure), _) => is_told(&failure, false),
        (Ok(_), other) => panic!("no word of a worker: {other:?}"),
    }
}
