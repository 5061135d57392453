//! DOCA's log, as programs and plugins use it.

mod facades;
mod line;
mod plugins;
mod programs;
