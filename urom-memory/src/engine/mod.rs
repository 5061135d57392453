//! The engine behind hosts' memory in plugins. It alone checks the use of that memory.
//!
//! A host shares memory with a worker, and commands of the same connection name parts of it. A
//! plugin opens such a part, runs operations on it, and closes it. The worker and the test kit of
//! plugins both have a [`Shares`]; the plugin side calls it through the worker's C functions, which
//! `functions.rs` writes once for both.
//!
//! | type | holds | made by |
//! | --- | --- | --- |
//! | [`Shares`] | the memories of all connections, and the parts that plugins have open | a worker, the test kit |
//! | [`Region`] | one memory: its range, its permissions, its path | `Shares::share` |
//! | [`Path`] | the way of the bytes between this process and the memory | one file each: below |
//!
//! | path | bytes move by | in |
//! | --- | --- | --- |
//! | [`Mapped`] | copies in this process | this crate |
//! | [`Process`] | the kernel; atomic operations go over the network | this crate |
//! | network | questions to the host's library over UCX | `urom-service`, because UCX stays out of this crate |
//! | played | the test's own bytes, now or later | `urom-pdk`'s test kit |
//!
//! Checks, in this order and nowhere else: the connection shares the memory (`open`); the part lies
//! in it (`open`, [`HostMemory::part`]); the handle is open (`run`); the operation lies in the part
//! and the permissions allow it (`run`, [`HostMemory::check`]); the operation has a place for its
//! bytes; the host is there, or the memory is mapped. A path gets the operations that passed. The
//! host's library repeats [`HostMemory::check`] for each question, because it does not trust the
//! worker, and runs the operation with [`run_in_place`].
//!
//! A further path is a file with an implementation of [`Path`], and one line where the worker
//! chooses it (`open_path` of `urom-service`'s `worker/memory/shared.rs`).
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
