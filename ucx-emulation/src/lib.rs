//! `liburom_ucx_emulation.so`: UCX's exported memory handles on machines without an RDMA device.
//!
//! On a BlueField a host exports memory (`ucp_memh_pack` with EXPORT), and a plugin imports it
//! (`ucp_mem_map` with `exported_memh_buffer`). UCX needs RDMA hardware for both. This library,
//! preloaded into host and worker, intercepts UCX and `malloc`:
//!
//! - large blocks of `malloc` lie in an *arena*: a sealed memfd, at an address unique among the
//!   user's processes ([`slot`], [`memfd`], [`arena`], [`runs`], [`malloc`]);
//! - a packed handle contains a range and its arena's process and descriptor ([`handle`]);
//! - an import maps the arena at the same address and registers the range ([`import`], [`peek`]);
//! - a forked child gets its own arena ([`fork`]).
//!
//! With an RDMA device every call goes to UCX unchanged. See the user guide, "Programs that need a
//! BlueField's cross-GVMI, on a laptop".

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
