//! A host that speaks the private protocol itself, because the library is never rude: it floods a
//! worker or a daemon, or reads nothing. It is a process of its own and says on its standard output
//! what comes of it.

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
use urom_wire::patience::Patience;
use urom_wire::stream;

use crate::process::PATIENCE;
use wire::{Daemon, MAX_IN_FLIGHT, Ware, Wire};

/// Ways in which a host misbehaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum Manner {
    /// Uses a task slot beyond those that it asked for.
    Beyond,
    /// Sends commands into slots that are not free yet, also after it was told to go.
    Floods,
    /// Uses its slots again and again without ever reading an answer.
    SendsWithoutReading,
    /// Fills its slots once with commands of long answers, and reads nothing: that is no offence.
    StopsReading,
    /// Asks the daemon questions as fast as it can, and reads no answer.
    AsksWithoutReading,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Outcry {
    /// It is let in, and begins.
    Begins,
    /// It cannot send any more without reading.
    Stuck,
    /// It was thrown out, for this reason.
    ThrownOut(String),
}

/// How long it waits between messages for which it reads no answers.
const PAUSE: Duration = Duration::from_micros(500);

/// How many bytes of answers the kernel is asked to keep for it.
const ROOM: u32 = 4096;

/// How long it goes on after it was thrown out.
const ENCORE: Duration = Duration::from_secs(1);

/// Is rude until this process is killed.
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
    while wire.is_stuck() {
        wire.progress();
    }
    let (mut thrown_out, mut stuck): (Option<Instant>, bool) = (None, false);
    loop {
        match wire.link.try_receive() {
            Some(Ok(WorkerToHost::Refused(failure))) if thrown_out.is_none() => {
                say(&Outcry::ThrownOut(failure.text))?;
                thrown_out = Some(Instant::now());
            }
            Some(Err(error)) if thrown_out.is_none() => {
                say(&Outcry::ThrownOut(format!("{error:#}")))?;
                thrown_out = Some(Instant::now());
            }
            _ => {}
        }
        let over = thrown_out.is_some_and(|since| since.elapsed() > ENCORE);
        match manner {
            Manner::Floods if !over => {
                if !wire.is_stuck() {
                    wire.fill();
                }
                wire.progress();
            }
            Manner::SendsWithoutReading if !over && !stuck => {
                let waits = wire.is_stuck();
                // A worker always reads its rings.
                stuck = waits && !wire.has_ring();
                if stuck {
                    say(&Outcry::Stuck)?;
                } else if !waits {
                    wire.fill();
                }
                // The worker keeps up with it: what is full first is the way back.
                std::thread::sleep(PAUSE);
            }
            _ => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// Asks until the daemon hangs up.
fn ask_without_reading(address: SocketAddr, worker: u64) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let error = runtime.block_on(async {
        let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        // Answers are short: with the usual room it would take a million of them.
        socket.set_recv_buffer_size(ROOM)?;
        let mut stream = socket.connect(address).await?;
        stream::greet(&mut stream, Hello::new(Role::Host), Role::Daemon, None, Patience::default())
            .await?;
        say(&Outcry::Begins)?;
        loop {
            // A worker that is there can be given no environment: the answer says so at length.
            let env = Some(Vec::new());
            let worker = StartWorker { id: worker, plugins: 1, gid: 0, env, cpus: None };
            let question = HostToDaemon::Start { request: 1, worker };
            if let Err(error) = stream::send(&mut stream, &question).await {
                return anyhow::Ok(error);
            }
        }
    })?;
    say(&Outcry::ThrownOut(error.to_string()))?;
    loop {
        std::thread::park();
    }
}

fn say(outcry: &Outcry) -> Result<()> {
    println!("{}", serde_json::to_string(outcry)?);
    Ok(())
}
