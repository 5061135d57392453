//! The models. What a file here includes with `#[path]` is the code itself; where it says that it restates something, a
//! change there has to be made here too.

#[path = "../../../../urom-service/src/mailbox.rs"]
mod mailbox;
mod mailboxes;
mod notifier;
mod sync;
mod wakers;
