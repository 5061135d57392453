//! Faults: real processes and links of a running service are broken, and everybody else is watched.
//!
//! A *suite* is one way of breaking things ([`SUITES`]). It starts its own daemons, and hosts that
//! are processes of this package's program ([`host`]), breaks something at a moment that its seed
//! chose, and fails when anybody hangs, gets an answer twice or a wrong one, an error that does not
//! say what happened, or does not get back to where it was.

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
