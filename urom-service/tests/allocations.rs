//! The worker's data thread allocates nothing on the Rust heap while commands run.

#[path = "plugins/compile.rs"]
mod compile;

#[path = "service/support/mod.rs"]
#[allow(dead_code, reason = "most of it is for the tests beside this one")]
mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

use urom_abi::DocaError;
use urom_service::embedded::{Embedded, EmbeddedOptions};
use urom_wire::control::StartWorker;

use support::client::{Client, any, op};
use support::plugins::Plugins;

/// Counts what one thread allocates.
struct Counting;

static WATCHED: AtomicI32 = AtomicI32::new(0);
static COUNT: AtomicUsize = AtomicUsize::new(0);

fn note() {
    let watched = WATCHED.load(Ordering::Relaxed);
    if watched != 0 && rustix::thread::gettid().as_raw_nonzero().get() == watched {
        COUNT.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: everything is the system's allocator's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note();
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note();
        // SAFETY: the caller's promise.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn thread_named(name: &str) -> i32 {
    let mut threads = fs::read_dir("/proc/self/task").unwrap().map(|entry| entry.unwrap().path());
    let path = threads
        .find(|path| fs::read_to_string(path.join("comm")).unwrap().trim() == name)
        .expect(name);
    path.file_name().unwrap().to_str().unwrap().parse().unwrap()
}

#[test]
fn commands_in_steady_state_allocate_nothing() {
    let plugins = Plugins::obedient();
    let plugin_path = Some(plugins.path().into());
    let service =
        Embedded::start(EmbeddedOptions { plugin_path, ..EmbeddedOptions::default() }).unwrap();
    let mut client = Client::connect_with(service.address(), Some(service.key())).unwrap();
    let host = client.attach(StartWorker { id: 1, ..any() }, 64);
    let round = || {
        let words = |word: u64| [op::ECHO.to_le_bytes(), word.to_le_bytes()].concat();
        let frames: Vec<_> = (0..64).map(|slot| host.frame(slot, 0, &words(slot.into()))).collect();
        host.send_bytes(frames.concat());
        for _ in 0..64 {
            assert_eq!(host.note().status, DocaError::SUCCESS);
        }
    };
    let single = || assert_eq!(host.call(op::BIG, 4064).status, DocaError::SUCCESS);
    for _ in 0..50 {
        round();
        single();
    }
    WATCHED.store(thread_named("urom-worker-1"), Ordering::Relaxed);
    for _ in 0..500 {
        round();
        single();
    }
    assert_eq!(COUNT.load(Ordering::Relaxed), 0, "for 33,000 commands");
    let _another = client.attach(StartWorker { id: 1, ..any() }, 64);
    assert_ne!(COUNT.load(Ordering::Relaxed), 0, "a new connection does, and is counted");
}
