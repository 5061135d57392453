//! Messages through the sandbox plugin against raw UCX that does the same: a host tells one worker to send, and another receives.
//!
//! *Inline*: the bytes travel with the command. The time is that of the send alone, from the host's call to its answer, as receives
//! are under way before. Raw UCX's host sends as many bytes to a loop in the same worker, which sends them on and answers: a round
//! trip of the command's sizes and a tag send.
//!
//! *Relayed*: the same against raw UCX that sends on what came, with the copies that DOCA's interface asks for: a host's command is
//! written into its task, a worker makes a block of it for the plugin, which frees it, and what another worker receives goes by way
//! of a block and a message into memory of the host. *Copies alone*: that raw UCX against the one that sends bytes of its own, so
//! what the copies take.
//!
//! *Same settings*: both of these against raw UCX that has the kit's settings and its kind of shared memory. Else raw UCX is as it
//! comes.
//!
//! *Registered*: the bytes lie in memory of the workers, and the time ends when both have answered.

mod host;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use urom_tests::{PluginDirectory, Uromd};

use super::Suite;
use crate::child::Child;
use crate::extent::Extent;
use crate::figure::Figure;
use crate::transport::Transport;

pub(crate) const SUITE: Suite = Suite {
    name: NAME,
    about: "messages through the sandbox plugin against raw UCX tag messages",
    run,
    child: Some(host::run),
};

const NAME: &str = "sandbox";

/// The sizes that travel inline. The last is what the budget is about.
const INLINE: [usize; 6] = [8, 64, 512, 1024, 2048, 4000];
/// The sizes in registered memory.
const REGISTERED: [usize; 7] = [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20];

/// Where raw UCX is measured with the kit's settings, too: where these change most, and what the budget is about.
const SAME_SETTINGS: (Transport, usize) = (Transport::SharedMemory, 4000);

/// What the host of a launch is started with.
#[derive(Debug, Serialize, Deserialize)]
struct Arguments {
    address: String,
    transport: Transport,
    /// The cores of the host, the sender and the receiver.
    cores: [usize; 3],
    rounds: usize,
    round: std::time::Duration,
}

fn run(extent: &Extent) -> Result<Vec<Figure>> {
    let [host, sender] = extent.cores.pair();
    let receiver = extent.cores.host(1);
    let note = (receiver == host).then_some(
        "three spinning parties have two cores: the receiving worker shares the host's, which is why a figure is the median of \
         single messages, most of which it does not disturb",
    );
    extent.launches(NAME, |_| {
        let mut figures = Vec::new();
        for transport in Transport::ALL {
            let (variable, mut value) = transport.variable();
            if transport == Transport::SharedMemory {
                // As a user has it: UCX may take TCP, and does not.
                value = "self,sm,tcp";
            }
            let plugins = PluginDirectory::with(&["worker_sandbox", "worker_benchpeer"])?;
            let daemon = Uromd::start_with(plugins.variable(), |command| {
                command.args(["-l", "30"]).env(variable, value)
            })?;
            let arguments = Arguments {
                address: daemon.address().to_owned(),
                transport,
                cores: [host, sender, receiver],
                rounds: extent.rounds(),
                round: extent.round(),
            };
            let mut host = Child::start(NAME, &arguments, |command| command.env(variable, value))?;
            figures.extend(host.answer::<Vec<Figure>>()?);
            host.finish()?;
            ensure!(daemon.stop()?.success(), "uromd did not end in order");
        }
        Ok(figures
            .into_iter()
            .map(|figure| note.iter().fold(figure, |figure, note| figure.note(*note)))
            .collect())
    })
}

#[cfg(test)]
mod tests {
    use ucx::{Context, Features};

    #[test]
    fn raw_ucx_with_the_same_settings_has_those_that_the_kit_has() {
        let builder = || Context::builder(Features::AM);
        let same = bench_raw::SETTINGS
            .iter()
            .fold(builder(), |builder, (name, value)| builder.config(*name, *value));
        assert_eq!(format!("{same:?}"), format!("{:?}", builder().watched_shared_memory()));
    }
}
