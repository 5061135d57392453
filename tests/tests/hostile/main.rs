//! Programs and plugins in C that do what they must not: errors and log lines come of it, and everything else goes on.

mod hosts;
mod plugins;
