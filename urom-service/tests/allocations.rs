//! Checks that the worker's data thread does not use the Rust heap while commands run.

#[path = "plugins/compile.rs"]
mod compile;

#[path = "service/support/mod.rs"]
#[allow(dead_code, reason = "most of it is for the tests beside this one")]
mod support;

use std::fs;

use urom_abi::DocaStatus;
use urom_service::embedded::{Embedded, EmbeddedOptions};
use urom_wire::control::StartWorker;
use urom_wire::fuzzing::Counting;
use urom_wire::fuzzing::memory::{watch, watched_calls};

use support::client::{Client, any, op};
use support::plugins::Plugins;

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
            assert_eq!(host.note().status, DocaStatus::SUCCESS);
        }
    };
    let single = || assert_eq!(host.call(op::BIG, 4064).status, DocaStatus::SUCCESS);
    for _ in 0..50 {
        round();
        single();
    }
    watch(thread_named("urom-worker-1"));
    for _ in 0..500 {
        round();
        single();
    }
    assert_eq!(watched_calls(), 0, "for 33,000 commands");
    let _another = client.attach(StartWorker { id: 1, ..any() }, 64);
    assert_ne!(watched_calls(), 0, "a new connection does, and is counted");
}
