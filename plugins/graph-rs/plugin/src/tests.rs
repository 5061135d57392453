//! The plugin under the test kit.

use graph_protocol::{Loopback, LoopbackDone, Protocol};
use urom_pdk::test_util::Worker;

use super::Graph;

#[test]
fn data_comes_back() {
    let worker = Worker::<Protocol>::open::<Graph>();
    for data in [0, 1, u64::MAX] {
        assert_eq!(worker.call(Loopback { data }), Ok(LoopbackDone { data }));
    }
}

#[test]
fn commands_that_come_together_are_answered_by_the_next_progress() {
    let worker = Worker::<Protocol>::open::<Graph>();
    let sent: Vec<_> = (0..200).map(|data| worker.queue(Loopback { data })).collect();
    worker.flush();
    assert_eq!((worker.in_flight(), worker.progress()), (200, 200));
    for (data, sent) in sent.iter().enumerate() {
        assert_eq!(worker.answer(sent), Some(Ok(LoopbackDone { data: data as u64 })));
    }
}
