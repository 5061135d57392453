//! The models. `#[path]` includes the code itself, with the types of `sync`.

#![allow(unreachable_pub, reason = "what is public where it comes from")]

#[path = "../../../../urom-wire/src/ring/cells.rs"]
#[allow(dead_code, reason = "the rest of urom-wire uses it")]
mod cells;
#[path = "../../../../urom-wire/src/ring/local.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod local;
#[path = "../../../../urom-wire/src/mailbox.rs"]
mod mailbox;
mod mailboxes;
#[path = "../../../../urom-host/src/wait/notifier.rs"]
mod notifier;
mod rings;
mod sleepers;
mod sync;
mod wakers;
#[path = "../../../../urom-pdk/src/woken.rs"]
mod woken;

use urom_wire::frame;
