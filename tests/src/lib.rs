//! Shared code of the end-to-end tests and the benchmark: finds the built programs and plugins, and
//! starts `uromd`.
#![allow(missing_docs, reason = "the crate is for tests: names describe the rest")]

mod built;
pub mod c;
mod command;
pub mod expected;
mod launcher;
mod library;
mod participants;
pub mod program;
mod transcript;
mod uromd;

pub use built::{PluginDirectory, built, profile_directory};
pub use command::{copy_program, run, without_service};
pub use launcher::{free_address, mpirun};
pub use library::{doca_library, plain_doca_library};
pub use participants::Participants;
pub use transcript::Transcript;
pub use uromd::Uromd;
