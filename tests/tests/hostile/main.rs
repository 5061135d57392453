//! Misbehaving programs and plugins in C; they must not affect other processes.

mod hosts;
mod plugins;
mod tables;
