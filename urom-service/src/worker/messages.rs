//! What a worker's two threads tell each other.

use urom_wire::control::{Attach, Failure, PluginAddress};
use urom_wire::pass::Pass;

/// A host's control stream.
pub(crate) type LinkKey = u64;

/// Control thread to data thread.
#[derive(Debug)]
pub(crate) enum ToData {
    /// Let a host in, whose messages begin with this pass; `host` is what log lines call it.
    Attach { link: LinkKey, host: String, attach: Attach, pass: Pass },
    /// A host is gone.
    Detach { link: LinkKey },
    /// Close the plugins, answer what is in flight, and end.
    Stop,
}

/// Data thread to control thread.
#[derive(Debug)]
pub(crate) enum ToControl {
    /// The plugins are open.
    Ready,
    /// The worker cannot work.
    Failed(Failure),
    /// A host is in.
    Attached {
        link: LinkKey,
        ucx_address: Vec<u8>,
        channel: u16,
        max_message: u64,
        plugins: Vec<PluginAddress>,
    },
    /// A host is not let in, or thrown out.
    Refused { link: LinkKey, failure: Failure },
    /// Everything is closed and sent.
    Ended,
}
