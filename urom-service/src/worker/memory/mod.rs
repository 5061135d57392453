//! Memory that hosts share with this worker, and what plugins do with it.
//!
//! | file | what |
//! | --- | --- |
//! | `door` | where a host hands descriptors over |
//! | `region` | one memory, and the way to it |
//! | `process` | the kernel's copies from and to a host's process |
//! | `remote` | questions to a host's library over UCX |
//! | `table` | the memory of all hosts, and what plugins have open |
//! | `services` | the plugin's functions |

pub(crate) mod door;
mod process;
mod region;
pub(crate) mod remote;
pub(super) mod services;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use region::Shared;
pub(crate) use table::{MOST_OF_HOST, Memories};
