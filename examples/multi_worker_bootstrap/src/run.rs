//! The main thread: starts the service and the threads, lists the groups, and stops all in order.

use std::sync::mpsc;
use std::thread;

use anyhow::{Context, Result, anyhow, ensure};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tracing::info;
use urom_host::{Service, block_on_for};

use crate::Options;
use crate::table;
use crate::worker::{self, LIMIT, Report};

const WORKERS: u64 = 4;
const GROUPS: u64 = 2;

pub(crate) fn run(options: &Options) -> Result<()> {
    // Before the first thread starts, so signals do not kill a thread.
    let mut signals = match options.once {
        true => None,
        false => Some(Signals::new([SIGINT, SIGTERM]).context("cannot wait for signals")?),
    };
    let service = options.common.service().max_workers(WORKERS as u32).connect_blocking()?;
    info!("The service has CPUs {} for workers", service.cpus());

    thread::scope(|scope| {
        let (report, reports) = mpsc::channel();
        let (quits, threads): (Vec<_>, Vec<_>) = (0..WORKERS)
            .map(|id| {
                let (quit, quitting) = mpsc::channel();
                let (handle, common, report) = (service.handle(), &options.common, report.clone());
                (quit, scope.spawn(move || worker::run(&handle, common, id, report, &quitting)))
            })
            .unzip();
        drop(report);
        let result = look(&service, reports.iter().collect(), signals.as_mut());
        // Closing the channels ends the threads, even after an error.
        drop(quits);
        let stopped = threads.into_iter().map(|thread| match thread.join() {
            Ok(stopped) => stopped,
            Err(_) => Err(anyhow!("a worker's thread panicked")),
        });
        result.and(stopped.collect())
    })
}

/// Prints the results and the groups while the workers run, and waits for a signal.
fn look(
    service: &Service,
    reports: Vec<Result<Report>>,
    signals: Option<&mut Signals>,
) -> Result<()> {
    let mut reports = reports.into_iter().collect::<Result<Vec<_>>>()?;
    reports.sort_by_key(|report| report.id);
    print!("{}", table::render(&reports));
    for group in (0..GROUPS).rev() {
        let expected: Vec<u64> = (0..WORKERS).filter(|id| id % GROUPS == group).collect();
        let found = block_on_for(LIMIT, service.workers_of_group(group as u32))??;
        ensure!(
            found == expected,
            "group {group} should be workers {expected:?}, the service says {found:?}"
        );
        let ids: Vec<_> = found.iter().map(u64::to_string).collect();
        println!("workers in group {group}: {}", ids.join(" "));
    }
    if let Some(signals) = signals {
        println!("all workers run; waiting for SIGINT or SIGTERM");
        if let Some(signal) = signals.forever().next() {
            info!("Signal {signal} received, preparing to exit");
        }
    }
    Ok(())
}
