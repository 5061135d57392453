//! The final report about memory, and misuse of memory by a test.

use std::cell::RefCell;
use std::time::Duration;

use urom_pdk::memory::{Access, HostMemory, MemoryPath};
use urom_pdk::test_util::{Fault, Kept as KeptMemory, Worker};

use crate::plugin::*;

thread_local! {
    static LEAKED: RefCell<Vec<HostMemory>> = const { RefCell::new(Vec::new()) };
}

#[test]
fn memory_that_is_open_after_the_close_is_a_fault() {
    let (worker, memory) = open(BOTH, MemoryPath::MAPPED);
    done(&worker, memory.slice(8..24), async |cx, range| {
        let memory = cx.memory(range)?;
        LEAKED.with_borrow_mut(|leaked| leaked.extend([memory.clone(), memory.slice(1..), memory]));
        Ok(0)
    })
    .unwrap();
    let range = memory.slice(8..24);
    let report = worker.finish();
    let kept = KeptMemory { range, connection: 1, times: 3 };
    assert_eq!(report.faults, [Fault::MemoryKept(kept)]);
    let text = format!(
        "{range}, which the host of connection 1 shares, is open though the plugin is closed, \
         3 times: drop every `HostMemory` with the handler"
    );
    assert!(report.to_string().ends_with(&text), "{report}");
}

#[test]
#[should_panic(expected = "1 operation on paused memory waits for `resume`")]
fn a_wait_for_paused_memory_is_reported() {
    let (worker, memory) = open(BOTH, MemoryPath::NETWORK);
    worker.set_timeout(Duration::from_millis(1));
    memory.pause();
    act(async |cx, range| cx.memory(range)?.fetch_add(0, 1).await);
    let _ = worker.call(Act { memory: memory.range() });
}

#[test]
#[should_panic(expected = "memory has at least one byte")]
fn memory_without_bytes_cannot_be_shared() {
    let worker = Worker::<Protocol>::open::<Plugin>();
    let _ = worker.share([], BOTH, MemoryPath::MAPPED);
}

#[test]
#[should_panic(expected = "allows only the host to read: add PCI_READ_ONLY or PCI_READ_WRITE")]
fn memory_that_is_its_owner_s_alone_cannot_be_shared() {
    let worker = Worker::<Protocol>::open::<Plugin>();
    let _ = worker.share([1], Access::LOCAL_READ_WRITE, MemoryPath::MAPPED);
}

#[test]
#[should_panic(expected = "the host of connection 7 has left: it can share no memory")]
fn a_host_that_has_left_shares_nothing() {
    let worker = Worker::<Protocol>::open::<Plugin>();
    worker.leave(7);
    let _ = worker.share_from(7, [1], BOTH, MemoryPath::MAPPED);
}
