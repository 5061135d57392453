//! The models. What a file here includes with `#[path]` is the code itself, with the types of `sync` in the place of its own.

#[path = "../../../../urom-service/src/mailbox.rs"]
mod mailbox;
mod mailboxes;
#[path = "../../../../urom-host/src/wait/notifier.rs"]
mod notifier;
#[path = "../../../../urom-service/src/queue/probe_state.rs"]
mod probe_state;
mod probe_states;
mod sleepers;
mod sync;
mod wakers;
#[path = "../../../../urom-pdk/src/woken.rs"]
mod woken;
