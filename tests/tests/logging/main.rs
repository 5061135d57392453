//! DOCA's log, as programs and plugins use it.

mod line;
mod plugins;
mod programs;
