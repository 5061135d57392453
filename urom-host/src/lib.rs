//! Drive DOCA UROM workers from a Rust host program.
#![cfg_attr(
    not(feature = "builtin"),
    allow(rustdoc::broken_intra_doc_links, reason = "the built-in library is off")
)]

mod device;
mod engine;
mod error;
mod host;
mod id;
mod library;
mod plugin;
mod service;
mod signals;
mod task;
mod thread;
mod wait;
mod worker;

#[cfg(feature = "builtin")]
pub use device::devices;
pub use device::{DeviceInfo, devices_of};
pub use engine::ProgressEngine;
pub use error::{Error, Result};
pub use host::Host;
pub use id::worker_id;
pub use library::Library;
pub use plugin::Plugin;
pub use service::{GroupQuery, Service, ServiceBuilder, ServiceHandle};
pub use task::{Completion, RawCompletion, RawTask, Rejected};
pub use urom_abi::DocaError;
pub use urom_abi::WORKER_ID_ANY;
pub use urom_abi::cpu::CpuSet;
pub use wait::{block_on, block_on_for};
pub use worker::{Answer, Starting, State, Stopping, Worker, WorkerBuilder};
