//! A host process that speaks the private protocol itself, since the library never misbehaves: it
//! floods a worker or a daemon, or reads nothing. It reports the result on standard output.

#[path = "../../../../urom-service/tests/service/support/link.rs"]
#[allow(dead_code, reason = "the service's tests use all of it")]
mod link;
#[path = "../../../../urom-service/tests/service/support/way.rs"]
mod way;
mod wire;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::ValueEnum;
use rustix::process::{Signal, set_parent_process_death_signal};
use serde::{Deserialize, Serialize};
use tokio::net::TcpSocket;
use urom_wire::control::{HostToDaemon, StartWorker, WorkerToHost};
use urom_wire::hello::{Hello, Role};
use urom_wire::peer_timeout::PeerTimeout;
use urom_wire::stream;

use crate::process::TIMEOUT;
use wire::{Daemon, MAX_IN_FLIGHT, Ware, Wire};

/// Kinds of misbehaviour of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum Manner {
    /// Uses a task slot beyond the requested slots.
    Beyond,
    /// Sends commands into busy slots, also after its disconnect.
    Floods,
    /// Reuses its slots without reading an answer.
    SendsWithoutReading,
    /// Fills its slots once with commands of long answers, and reads nothing, which is allowed.
    StopsReading,
    /// Asks the daemon questions as fast as it can, and reads no answer.
    AsksWithoutReading,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Outcry {
    Begins,
    /// The host cannot send more without reading.
    Hung,
    Disconnected(String),
}

const PAUSE: Duration = Duration::from_micros(500);

/// Requested receive buffer of the kernel, in bytes.
const RECEIVE_BUFFER: u32 = 4096;

/// Time from the disconnect to the end of the misbehaviour.
const ENCORE: Duration = Duration::from_secs(1);

/// Misbehaves until this process is killed.
pub fn serve(address: SocketAddr, worker: u64, manner: Manner) -> Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL)).context("asking to end with the parent")?;
    if manner == Manner::AsksWithoutReading {
        return ask_without_reading(address, worker);
    }
    let daemon = Daemon::connect(address)?;
    let mut wire = Wire::attach(daemon.start(worker)?, Ware::of(manner)?)?;
    say(&Outcry::Begins)?;
    match manner {
        Manner::Beyond => wire.send(MAX_IN_FLIGHT..MAX_IN_FLIGHT + 1),
        Manner::StopsReading => wire.fill(),
        _ => {}
    }
    while wire.is_hung() {
        wire.progress();
    }
    let (mut disconnected, mut hung): (Option<Instant>, bool) = (None, false);
    loop {
        match wire.link.try_receive() {
            Some(Ok(WorkerToHost::Refused(failure))) if disconnected.is_none() => {
                say(&Outcry::Disconnected(failure.text))?;
                disconnected = Some(Instant::now());
            }
            Some(Err(error)) if disconnected.is_none() => {
                say(&Outcry::Disconnected(format!("{error:#}")))?;
                disconnected = Some(Instant::now());
            }
            _ => {}
        }
        let over = disconnected.is_some_and(|since| since.elapsed() > ENCORE);
        match manner {
            Manner::Floods if !over => {
                if !wire.is_hung() {
                    wire.fill();
                }
                wire.progress();
            }
            Manner::SendsWithoutReading if !over && !hung => {
                let waits = wire.is_hung();
                // A worker always reads its rings.
                hung = waits && !wire.has_ring();
                if hung {
                    say(&Outcry::Hung)?;
                } else if !waits {
                    wire.fill();
                }
                // Slow enough for the worker, so that the way back is full first.
                std::thread::sleep(PAUSE);
            }
            _ => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

fn ask_without_reading(address: SocketAddr, worker: u64) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let error = runtime.block_on(async {
        let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        // Answers are short: the default buffer would take a million of them.
        socket.set_recv_buffer_size(RECEIVE_BUFFER)?;
        let mut stream = socket.connect(address).await?;
        stream::handshake(
            &mut stream,
            Hello::new(Role::Host),
            Role::Daemon,
            None,
            PeerTimeout::default(),
        )
        .await?;
        say(&Outcry::Begins)?;
        loop {
            // A running worker cannot get an environment: the answer is a long error.
            let env = Some(Vec::new());
            let worker = StartWorker { id: worker, plugins: 1, gid: 0, env, cpus: None };
            let question = HostToDaemon::Start { request: 1, worker };
            if let Err(error) = stream::send(&mut stream, &question).await {
                return anyhow::Ok(error);
            }
        }
    })?;
    say(&Outcry::Disconnected(error.to_string()))?;
    loop {
        std::thread::park();
    }
}

fn say(outcry: &Outcry) -> Result<()> {
    println!("{}", serde_json::to_string(outcry)?);
    Ok(())
}
