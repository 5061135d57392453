//! The installed prefix: what is in it, what compilers and loaders make of it, and its moves.

mod container;
mod documented;
mod layout;
mod linking;
mod loading;
mod meson;
mod moved;
mod programs;
mod unit;
mod versions;

use std::process::Command;

/// A compiler with the warnings that every program must do without.
fn compiler(name: &str) -> Command {
    let mut command = Command::new(name);
    command.args(["-Wall", "-Wextra", "-Werror", "-DDOCA_ALLOW_EXPERIMENTAL_API"]);
    command
}
