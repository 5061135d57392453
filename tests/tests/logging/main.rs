//! DOCA's log in programs and plugins.

mod facades;
mod line;
mod plugins;
mod programs;
