//! The graph plugin: answers a loopback command with the same data.
//!
//! The protocol is written out by hand until `#[urom_command]` writes it.

use std::future::Future;

use urom_abi::descriptor::NotificationDesc;
use urom_abi::plugin::{GetIfaceFn, GetVersionFn, PluginIface};
use urom_abi::protocol::{HostSide, Protocol, Serve};
use urom_abi::wire::{DecodeError, DecodeProblem, EncodeError, get, put};
use urom_pdk::{Context, DocaError, OpenContext, Result, Side};

/// The handler: it has no state.
struct Graph;

/// Commands and notifications: `{ uint64_t type = 0; uint64_t data; }`.
struct Loopback;

fn notification(data: u64) -> Result<NotificationDesc, EncodeError> {
    let mut reply =
        NotificationDesc::zeroed(16).map_err(|_| EncodeError::NoMemory { message: "LoopbackDone" })?;
    put(reply.payload_mut(), 8, &data);
    Ok(reply)
}

fn decode(command: &[u8]) -> Result<u64, DecodeError> {
    let wrong = |field, problem| DecodeError { message: "Loopback", field, problem };
    let found = command.len();
    match (get::<u64>(command, 0), get::<u64>(command, 8)) {
        (Some(0), Some(data)) if found == 16 => Ok(data),
        (Some(0) | None, _) => Err(wrong("length", DecodeProblem::Length { found, expected: 16 })),
        (Some(found), _) => Err(wrong("tag", DecodeProblem::OtherTag { found, expected: 0 })),
    }
}

impl Protocol for Loopback {
    const NAME: &'static str = "worker_graph";
    const VERSION: u64 = 1;
    const COMMAND_LEN: usize = 16;
    const NOTIFICATION_LEN: usize = 16;
    type Client<H: HostSide> = ();

    fn client<H: HostSide>(_: H::Plugin) {}

    fn refusal(command: &[u8]) -> Result<NotificationDesc, EncodeError> {
        let mut reply = notification(0)?;
        put(reply.payload_mut(), 0, &get::<u64>(command, 0).unwrap_or(0));
        Ok(reply)
    }
}

impl Serve<Side, Graph> for Loopback {
    fn open(_: &OpenContext) -> Result<Graph> {
        Ok(Graph)
    }

    fn address(_: &Graph) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }

    fn progress(_: &Graph) -> bool {
        false
    }

    #[allow(clippy::manual_async_fn, reason = "the trait says when the future borrows what")]
    fn serve<'a>(
        _: &'a Graph,
        _: &'a Context,
        command: &'a [u8],
    ) -> impl Future<Output = Result<NotificationDesc>> + 'a {
        async move { Ok(notification(decode(command)?)?) }
    }
}

const _: GetIfaceFn = urom_plugin_get_iface;
const _: GetVersionFn = urom_plugin_get_version;

// SAFETY: a plugin exports exactly this symbol, and no other crate in this library does.
#[unsafe(no_mangle)]
unsafe extern "C" fn urom_plugin_get_iface(iface: *mut PluginIface) -> DocaError {
    // SAFETY: the caller's promise is the same.
    unsafe { urom_pdk::__private::get_iface::<Graph, Loopback>(iface) }
}

// SAFETY: a plugin exports exactly this symbol, and no other crate in this library does.
#[unsafe(no_mangle)]
unsafe extern "C" fn urom_plugin_get_version(version: *mut u64) -> DocaError {
    // SAFETY: the caller's promise is the same.
    unsafe { urom_pdk::__private::get_version::<Loopback>(version) }
}
