//! A protocol as a C header, for hosts and plugins in C or C++.

mod comments;
mod messages;
mod names;
mod payloads;
mod structs;

use std::fmt::Write as _;

use super::Protocol;
use messages::MessageNames;
use names::{Scope, identifier};
use structs::Structs;

/// Returns the C header of a protocol: deterministic, valid C11 and C++17 for gcc and clang.
///
/// It contains, all named after the plugin: its name and version, the tags, structures of each
/// message and plain type, all commands and all notifications, and assertions of sizes and offsets.
/// Comments contain the documentation and the order, length and condition of each payload.
///
/// ```
/// # mod graph {
/// # use urom_abi::{urom_command, urom_notification};
/// # #[urom_command(plugin = "worker_graph", version = 1)]
/// # pub enum Command { #[urom(reply = Done)] Loopback { data: u64 } }
/// # #[urom_notification]
/// # pub enum Notification { Done { data: u64 } }
/// # }
/// use urom_abi::describe::c_header;
/// use urom_abi::protocol::Protocol as _;
///
/// let header = c_header(graph::Protocol::DESCRIPTION);
/// assert!(header.contains("struct worker_graph_command {"));
/// ```
#[must_use]
pub fn c_header(protocol: &Protocol) -> String {
    let prefix = identifier(protocol.name);
    let upper = prefix.to_uppercase();
    let guard = format!("UROM_PLUGIN_{upper}_H");
    let assert = format!("{upper}_ASSERT");

    // The messages' names come first: a plain structure of the same name is renamed.
    let mut scope = Scope::new(&[]);
    let commands = MessageNames::new(&prefix, "command", &protocol.commands, &mut scope);
    let notifications =
        MessageNames::new(&prefix, "notification", &protocol.notifications, &mut scope);
    let mut structs = Structs::new(&prefix, &assert, scope);
    commands.structs(&mut structs);
    notifications.structs(&mut structs);
    // The comments of the tags name structures, so they are generated last and written first.
    let tags = [commands.tags(Some(&notifications), &structs), notifications.tags(None, &structs)];

    let mut out = String::new();
    _ = writeln!(
        out,
        "/*\n * The messages of the plugin {}, version {}, for C and C++.\n *",
        protocol.name, protocol.version
    );
    out.push_str(RULES);
    _ = write!(
        out,
        "\
#ifndef {guard}
#define {guard}

{includes}#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define {assert}(condition) static_assert(condition, #condition)
#else
#define {assert}(condition) _Static_assert(condition, #condition)
#endif

/** The plugin's name: its file's name without .so. */
#define {upper}_PLUGIN_NAME \"{name}\"
/** The return value of its urom_plugin_get_version. */
#define {upper}_PLUGIN_VERSION UINT64_C({version})

{tags}{structs}#undef {assert}

#endif
",
        name = protocol.name.replace('\\', "\\\\").replace('"', "\\\""),
        version = protocol.version,
        tags = tags.concat(),
        includes = if structs.has_bool { "#include <stdbool.h>\n" } else { "" },
        structs = structs.out,
    );
    out
}

const RULES: &str = " \
* Made from the protocol's Rust definition: change that, not this file.
 *
 * A message is the whole struct of its direction, whatever its type, and behind it the payloads of
 * its type in the order given below, without padding between them. It is exactly that long, or it
 * is refused.
 *  - Set all bytes of the struct to zero first: unset bytes are zero.
 *  - An address word is not 0 if its payload has bytes, or is optional and present; otherwise it is
 *    0. The receiver does not use it as an address, except for words of registered memory: payloads
 *    follow the struct.
 *  - Lengths count bytes where the elements are bytes, and else elements.
 *  - Numbers are little-endian. Payloads may lie at any address: copy values that need alignment.
 *  - Where a condition or a length is given as an expression, it is Rust's.
 */
";
