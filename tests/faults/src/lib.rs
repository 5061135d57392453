//! Breaks real processes and links of a running service, and checks all other processes.
//!
//! A *suite* is one kind of fault ([`SUITES`]). It starts its own daemons, and hosts that are
//! processes of this package's program ([`host`]). It breaks something at a seeded moment, and
//! fails on a hang, a double or wrong answer, an error without its cause, or resources that are not
//! released.

mod awake;
mod bystander;
mod chaos;
mod crowd;
mod ending;
mod endurance;
pub mod host;
mod hosts;
mod measure;
mod network;
mod plugins;
mod process;
pub mod rude;
mod scale;
mod service;
mod stalls;
mod suite;
mod suites;
mod throng;
mod transports;
mod turnover;
mod vitals;

pub use suite::{Extent, Figure, Length, Outcome, seed_from};
pub use suites::{SUITES, Suite};
