//! A daemon and one host of its, which does loopbacks: for suites that look at both from outside while they are at work.

use std::process::Command;

use anyhow::{Result, ensure};
use urom_tests::{PluginDirectory, Uromd};

use super::loopback;
use super::loopback::host::{Arguments, Order, Place};
use super::loopback::round::{Done, Side, Work};
use crate::child::Child;
use crate::extent::Extent;
use crate::transport::Transport;

/// How many may be in flight.
pub(super) const DEPTH: u64 = 64;

/// The two, with a worker.
pub(super) struct Pair {
    host: Child,
    daemon: Uromd,
    // As long as the daemon may start workers.
    _plugins: PluginDirectory,
}

impl Pair {
    /// Starts a daemon after `daemon` has added to its command, and a host with the command that `host` makes of its own.
    ///
    /// # Errors
    /// When either does not come up.
    pub(super) fn start(
        extent: &Extent,
        transport: Transport,
        daemon: impl FnOnce(&mut Command) -> &mut Command,
        host: impl FnOnce(Command) -> Command,
    ) -> Result<Pair> {
        let (variable, value) = transport.variable();
        let plugins = PluginDirectory::with(&["worker_graph", "worker_benchpeer"])?;
        let daemon = Uromd::start_with(plugins.variable(), |command| {
            daemon(command.args(["-l", "30"]).env(variable, value))
        })?;
        let arguments = Arguments {
            place: Place::Uromd { address: daemon.address().to_owned() },
            number: 0,
            worker: None,
            in_flight: DEPTH,
            core: extent.cores.host(0),
            worker_core: extent.cores.worker(),
        };
        let mut command = host(Child::command(loopback::NAME, &[arguments])?);
        command.env(variable, value);
        let mut host = Child::of(command)?;
        host.ask::<u64>(&Order::Join)?;
        Ok(Pair { host, daemon, _plugins: plugins })
    }

    /// Does so many loopbacks, `depth` at the same time.
    ///
    /// # Errors
    /// When one fails.
    pub(super) fn loopbacks(&mut self, trips: u64, depth: u64) -> Result<()> {
        let work = Work { trips, depth, single: false };
        let [Done { .. }] = self.host.ask(&Order::Round(Side::Kit, work))?;
        Ok(())
    }

    /// Does so many round trips of raw UCX between the same two threads; how long each took, in nanoseconds.
    ///
    /// # Errors
    /// When the worker does not lend its thread.
    pub(super) fn raw_round_trip(&mut self, trips: u64) -> Result<f64> {
        let work = Work { trips, depth: 1, single: false };
        self.host.ask::<()>(&Order::Serve(Side::Raw))?;
        let [Done { begin, end, .. }] = self.host.ask(&Order::Round(Side::Raw, work))?;
        self.host.ask::<()>(&Order::EndServe)?;
        Ok(end.saturating_sub(begin) as f64 / trips as f64)
    }

    /// Ends both, the host first, and with it the worker.
    ///
    /// # Errors
    /// When either fails.
    pub(super) fn finish(self) -> Result<()> {
        self.host.finish()?;
        ensure!(self.daemon.stop()?.success(), "uromd did not end in order");
        Ok(())
    }
}
