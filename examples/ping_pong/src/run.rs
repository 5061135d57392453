//! Starts service, worker and domain, plays, and stops them in order.

use std::time::Duration;

use anyhow::{Context, Result};
use example_common::Launch;
use sandbox_protocol::Protocol as Sandbox;
use tracing::info;
use urom_host::{ProgressEngine, block_on_for};

use crate::buffers::Buffers;
use crate::game::Player;
use crate::message::Message;
use crate::options::Options;
use crate::partner::Partner;

const LIMIT: Duration = Duration::from_secs(30);

pub(crate) fn run(options: &Options, launch: &Launch) -> Result<()> {
    let (rank, rounds, message) = (launch.rank(), options.iterations, Message::of(options));
    let partner = Partner::meet(launch.gather.clone(), rounds, message.len() as u32)?;

    let service = options.common.service().max_workers(32).connect_blocking()?;
    // DOCA's sample requires CPUs 0 to 7; this program does not.
    info!("The service has CPUs {} for workers", service.cpus());
    let sandbox = service.plugin::<Sandbox>()?;
    let engine = ProgressEngine::with_library(service.library())?;
    let worker = service.worker().engine(&engine).id(rank.into()).max_inflight(16).plugin(&sandbox);
    let worker = block_on_for(LIMIT, options.common.worker_log(worker).start())?
        .context("this process's worker did not start")?;
    let domain = service.domain().worker(rank.into(), &worker).gather(launch.gather.clone());
    let domain = block_on_for(LIMIT, domain.start())?
        .context("the domain of both processes did not start")?;

    let (len, how) = (message.len(), if options.registered { "registered" } else { "inline" });
    let buffers = match options.registered {
        true => Buffers::registered(len, &service, &sandbox, &worker)?,
        false => Buffers::inline(len),
    };
    let mut player =
        Player { rank, sandbox: &sandbox, worker: &worker, message: &message, buffers, partner };
    let report = match rank {
        0 => player.serve(rounds).map(|()| None)?,
        _ => Some(player.play(rounds)?),
    };
    player.partner.part()?;
    domain.stop_blocking()?;
    block_on_for(LIMIT, worker.stop())??;
    if let Some(report) = report {
        print!("{}", report.table(launch.name, len, how));
    }
    Ok(())
}
