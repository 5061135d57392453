//! DOCA's memory maps, buffers, inventories, pools and sync events, in safe Rust.
//!
//! Hosts, plugins and this project's C library use these types. A host shares an [`Mmap`] by
//! `Mmap::share` of `urom_host::memory`; a plugin opens it with `Context::memory` of `urom_pdk`.
//!
//! | type | is | in DOCA |
//! | --- | --- | --- |
//! | [`Mmap`] | a range of this process's memory, with permissions | `doca_mmap` |
//! | [`Exported`], [`RemoteMmap`] | a map as bytes, and another process's map made from them | `doca_mmap_export_pci`, `doca_mmap_create_from_export` |
//! | [`View`] | bytes that another process may write at any time | the pointer of `doca_mmap_get_memrange` |
//! | [`Buffer`] | a part of a map, and the data in it; lists | `doca_buf` |
//! | [`Inventory`], [`Pool`] | allocators of buffers | `doca_buf_inventory`, `doca_buf_pool` |
//! | [`SyncEvent`] | a counter that threads and processes share and wait for | `doca_sync_event` |
//! | [`MemoryRange`] | a part of a map, as a command carries it | an address and a length |
//!
//! DOCA's objects are created, configured, started, used, stopped and destroyed, and most calls
//! fail in some of these states. Here a value exists only while it is started. Buffers, inventories
//! and pools stay on one thread; all other types may be used on any thread.
//!
//! ```
//! use urom_memory::{Access, Mmap};
//!
//! let map = Mmap::allocate(4096, Access::LOCAL_READ_WRITE | Access::PCI_READ_ONLY)?;
//! map.view().copy_from(16, b"hello")?;
//! let mut bytes = [0; 5];
//! map.view().copy_to(16, &mut bytes)?;
//! assert_eq!(&bytes, b"hello");
//! // What a command says of these five bytes.
//! let range = map.range().slice(16..21);
//! assert_eq!((range.memory, range.len), (map.id(), 5));
//! # Ok::<(), urom_memory::Error>(())
//! ```

mod buffer;
mod copy;
#[doc(hidden)]
pub mod engine;
mod error;
mod exported;
mod frame;
mod futex;
mod inner;
mod inventory;
mod map;
#[doc(hidden)]
pub mod memfd;
mod mmap;
mod pool;
mod range;
mod remote;
mod slice;
mod sync_event;
mod view;
mod watcher;
mod word;

pub use buffer::Buffer;
#[doc(hidden)]
pub use buffer::{BufferSpan, Element};
pub use error::{Error, Result};
pub use exported::Exported;
pub use inventory::Inventory;
pub use map::Map;
#[doc(hidden)]
pub use memfd::require_file_size;
pub use mmap::Mmap;
#[doc(hidden)]
pub use mmap::ShareGuard;
pub use pool::Pool;
pub use remote::RemoteMmap;
pub use slice::Slice;
pub use sync_event::{SyncEvent, Wait};
pub use urom_abi::memory::{Access, MemoryRange};
pub use urom_abi::sync_event::Condition;
pub use view::{Chunks, View};
#[doc(hidden)]
pub use watcher::Watch;
#[doc(hidden)]
pub use word::Word;
