//! UCX in a process that was forked from a process that uses UCX.
//!
//! UCX accepts TCP connections on a background thread, one per process, which sleeps on an epoll
//! instance. A forked child lacks this thread and shares the epoll instance with its parent: UCX in
//! the child would add its sockets to the parent's instance. Before its first context, the child
//! therefore replaces the instance under the same descriptor, and starts a thread that serves it.
//! UCX's timers run on UCX's own thread only; only the unreliable datagram transports use them.
//!
//! During the fork, a thread of the parent may hold a lock of UCX for reading, for example inside
//! `munmap`. A child's contexts disable the registration cache, the only writer of that lock.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rustix::event::{EventfdFlags, epoll, eventfd};
use ucx_sys as sys;

const THREAD_MUTEX: libc::c_int = 2;
const READ: u8 = 1;
const WRITE: u8 = 2;
const ERROR: u8 = 4;

/// The pause after a handler that UCX could not run because its worker was busy.
const PAUSE: Duration = Duration::from_micros(100);

unsafe extern "C" {
    // `ucs/async/async_fwd.h`.
    fn ucs_async_set_event_handler(
        mode: libc::c_int,
        fd: libc::c_int,
        events: u8,
        handler: extern "C" fn(libc::c_int, u8, *mut libc::c_void),
        argument: *mut libc::c_void,
        of: *mut libc::c_void,
    ) -> sys::ucs_status_t;
    fn ucs_async_remove_handler(id: libc::c_int, sync: libc::c_int) -> sys::ucs_status_t;
    fn ucs_async_dispatch_handlers(
        ids: *mut libc::c_int,
        count: usize,
        events: u8,
    ) -> sys::ucs_status_t;
}

/// The process whose UCX has its thread; 0 before the first context.
static HOME: AtomicU64 = AtomicU64::new(0);

/// Flag: the process of `HOME` was forked from a process with UCX.
const FORKED: u64 = 1 << 62;
/// Flag: a thread of that process is inside [`move_here`].
const MOVING: u64 = 1 << 63;

/// Prepares UCX before a context is made; fails without descriptors or threads. Returns whether a
/// parent process used UCX.
pub(crate) fn prepare() -> io::Result<bool> {
    let here = u64::from(std::process::id());
    loop {
        let home = HOME.load(Ordering::Acquire);
        let (moving, next) = match home {
            0 => (here, here),
            _ if home & !FORKED == here => return Ok(home & FORKED != 0),
            _ if home == here | MOVING => {
                thread::yield_now();
                continue;
            }
            _ => (here | MOVING, here | FORKED),
        };
        let first = HOME.compare_exchange(home, moving, Ordering::AcqRel, Ordering::Acquire);
        if first.is_ok() && next != here {
            let moved = move_here();
            HOME.store(if moved.is_ok() { next } else { home }, Ordering::Release);
            moved?;
        }
    }
}

extern "C" fn never(_: libc::c_int, _: u8, _: *mut libc::c_void) {}

fn move_here() -> io::Result<()> {
    // The mark never becomes readable. It only identifies UCX's epoll instance.
    let mark = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
    let id = mark.as_raw_fd();
    let before = descriptors()?;
    // SAFETY: the handler does nothing, and is removed before its descriptor is closed.
    let added = unsafe {
        let none = ptr::null_mut();
        ucs_async_set_event_handler(THREAD_MUTEX, id, READ, never, none, none)
    };
    if added != sys::UCS_OK {
        return Err(io::Error::other("UCX does not watch a descriptor"));
    }
    let is_inherited = |set: &RawFd| before.contains(set);
    let set = descriptors()?.into_iter().find(|set| watches(*set, id)).filter(is_inherited);
    let moved = set.map_or(Ok(()), |set| replace(set, &mark));
    // SAFETY: the handler from above. Without an inherited thread, this call ends the new one.
    unsafe { ucs_async_remove_handler(id, 0) };
    moved
}

fn descriptors() -> io::Result<Vec<RawFd>> {
    let entries = fs::read_dir("/proc/self/fdinfo")?;
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect())
}

/// Returns whether `set` is an epoll instance that watches `descriptor`, as UCX registers it.
fn watches(set: RawFd, descriptor: RawFd) -> bool {
    let Ok(text) = fs::read_to_string(format!("/proc/self/fdinfo/{set}")) else { return false };
    text.lines().filter(|line| line.starts_with("tfd:")).any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let word_after = |name| Some(words[words.iter().position(|word| *word == name)? + 1]);
        let number = |name, radix| i64::from_str_radix(word_after(name)?, radix).ok();
        [number("tfd:", 10), number("data:", 16)] == [Some(descriptor.into()); 2]
    })
}

fn replace(set: RawFd, mark: &OwnedFd) -> io::Result<()> {
    // SAFETY: UCX keeps the descriptor open while it has handlers, such as the parent's.
    let inherited = unsafe { BorrowedFd::borrow_raw(set) };
    // Restores the parent's instance.
    epoll::delete(inherited, mark)?;
    let own = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(&own, mark, epoll::EventData::new_u64(0), epoll::EventFlags::empty())?;
    // SAFETY: closes this process's descriptor of the parent's instance, which only UCX uses.
    if unsafe { libc::dup3(own.as_raw_fd(), set, libc::O_CLOEXEC) } < 0 {
        return Err(io::Error::last_os_error());
    }
    thread::Builder::new().name("urom-ucx".to_owned()).spawn(move || serve(inherited)).map(drop)
}

fn serve(set: BorrowedFd<'static>) {
    let mut ready = Vec::with_capacity(16);
    loop {
        ready.clear();
        match epoll::wait(set, rustix::buffer::spare_capacity(&mut ready), None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => {
                tracing::error!("UCX in this forked process accepts no connections: {error}");
                return;
            }
        }
        let mut rest = false;
        for event in &ready {
            let (flags, data) = (event.flags, event.data);
            let mut id = data.u64() as libc::c_int;
            let has = |flag, bit| if flags.contains(flag) { bit } else { 0 };
            let events = has(epoll::EventFlags::IN, READ)
                | has(epoll::EventFlags::OUT, WRITE)
                | has(epoll::EventFlags::ERR, ERROR);
            // SAFETY: `id` is a local variable. UCX ignores the id of a removed handler.
            rest |= unsafe { ucs_async_dispatch_handlers(&mut id, 1, events) } != sys::UCS_OK;
        }
        if rest {
            thread::sleep(PAUSE);
        }
    }
}
