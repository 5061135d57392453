//! Attributes that depend on `cfg` and do not change a message: documentation, foreign macros.

#![allow(unexpected_cfgs, reason = "no build of this test sets them")]

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
#[cfg_attr(docs, doc(cfg(feature = "rma")))]
#[derive(Debug)]
pub enum Command {
    #[cfg_attr(docs, doc(cfg(feature = "rma")))]
    #[cfg_attr(not(docs), doc = "Puts.")]
    #[urom(reply = Done)]
    Put {
        #[cfg_attr(docs, doc(cfg(feature = "rma")))]
        #[cfg_attr(cfg_of_this_name, doc(hidden), cfg_attr(docs, doc(cfg(unix))))]
        n: u64,
    },
}

#[urom_notification]
#[derive(Debug)]
pub enum Notification {
    #[cfg_attr(docs, doc(cfg(feature = "rma")))]
    Done,
}

fn main() {
    assert_eq!(Put { n: 1 }.n, 1);
}
