//! `liburom_ucx_emulation.so`: UCX's exported memory handles on machines without an RDMA device.
//!
//! On a BlueField a host exports memory (`ucp_memh_pack` with EXPORT), and a plugin imports it
//! (`ucp_mem_map` with `exported_memh_buffer`). UCX needs RDMA hardware for both. This library,
//! preloaded into host and worker, stands in front of UCX and of `malloc`:
//!
//! - large blocks of `malloc` lie in an *arena*: a sealed memfd, at an address that no other
//!   process of the user has for its own ([`slot`], [`memfd`], [`arena`], [`runs`], [`malloc`]);
//! - a packed handle says where a range is, and by which descriptor of which process its arena can
//!   be opened ([`handle`]);
//! - an import opens and maps that arena at the same address, and registers the range as ordinary
//!   memory ([`import`], [`peek`]);
//! - a forked child gets an arena of its own ([`fork`]).
//!
//! Where there is an RDMA device, every call goes on unchanged. For users there is the guide's page
//! "Programs that need a BlueField's cross-GVMI, on a laptop".

#![cfg_attr(test, expect(dead_code, reason = "tests do not preload the library"))]

mod arena;
mod fork;
mod handle;
mod import;
mod lock;
mod malloc;
mod memfd;
mod note;
mod peek;
mod real;
mod runs;
mod slot;
mod start;
mod ucp;
mod ucp_types;
