//! The engine for plugins' access to hosts' memory. Only this module checks that access.
//!
//! A host shares memory with a worker, and commands of the same connection name parts of it. A
//! plugin opens a part, runs operations on it, and closes it. The worker and the plugin test kit
//! both have a [`Shares`]. Plugins call it through the C functions of `functions.rs`.
//!
//! | type | holds | made by |
//! | --- | --- | --- |
//! | [`Shares`] | the memories of all connections, and the open parts | a worker, the test kit |
//! | [`Region`] | one memory: its range, its permissions, its path | `Shares::share` |
//! | [`Path`] | access to the memory's bytes from this process | one file each: below |
//!
//! | path | bytes move by | in |
//! | --- | --- | --- |
//! | [`Mapped`] | copies in this process | this crate |
//! | [`Process`] | the kernel; atomic operations go over the network | this crate |
//! | network | requests to the host's library over UCX | `urom-service`, because this crate lacks UCX |
//! | played | the test's own bytes, now or later | `urom-pdk`'s test kit |
//!
//! Checks, in this order: the connection shares the memory (`open`); the part lies in it (`open`,
//! [`HostMemory::part`]); the handle is open (`run`); the operation lies in the part and the
//! permissions allow it (`run`, [`HostMemory::check`]); the operation has a buffer; the host is
//! connected, or the memory is mapped. Paths get only checked operations. The host's library
//! distrusts the worker: it repeats [`HostMemory::check`], and uses [`run_in_place`].
//!
//! A new path needs an implementation of [`Path`], and one line where the worker chooses it
//! (`open_path` of `urom-service`'s `worker/memory/shared.rs`).
//!
//! [`HostMemory::part`]: urom_abi::host_memory::HostMemory::part
//! [`HostMemory::check`]: urom_abi::host_memory::HostMemory::check

mod functions;
mod mapped;
mod process;
mod region;
mod shares;

pub use self::functions::{Site, functions};
pub use self::mapped::Mapped;
pub use self::process::Process;
pub use self::region::{Offered, Path, Region, run_in_place};
pub use self::shares::{MOST_OF_HOST, Open, Shares};
