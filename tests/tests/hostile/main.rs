//! Programs and plugins in C that do what they must not, and cost nobody else anything.

mod hosts;
mod plugins;
mod tables;
