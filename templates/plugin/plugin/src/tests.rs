//! Tests the plugin in process, through the C methods that a worker calls.
//!
//! A dropped `Worker` checks that each command was answered once and that all memory was freed.

use protocol::{Accumulate, Accumulated, Protocol};

use urom_pdk::DocaError;
use urom_pdk::test_util::Worker;

use super::Reduction;

fn accumulate(values: &[f64]) -> Accumulate<'_> {
    Accumulate {
        values: values.into(),
    }
}

#[test]
fn values_add_up_over_commands() {
    let worker = Worker::<Protocol>::open::<Reduction>();
    let answer = |sum, count| Ok(Accumulated { sum, count });
    assert_eq!(worker.call(accumulate(&[1.0, 2.0])), answer(3.0, 2));
    assert_eq!(worker.call(accumulate(&[0.5])), answer(3.5, 3));
    assert_eq!(worker.call(accumulate(&[])), answer(3.5, 3));
}

#[test]
fn each_worker_has_a_sum_of_its_own() {
    let [first, second] = [(); 2].map(|()| Worker::<Protocol>::open::<Reduction>());
    for worker in [first, second] {
        let answer = Accumulated { sum: 1.0, count: 1 };
        assert_eq!(worker.call(accumulate(&[1.0])), Ok(answer));
    }
}

#[test]
fn values_without_a_sum_are_refused_and_leave_nothing_behind() {
    let worker = Worker::<Protocol>::open::<Reduction>();
    for values in [[f64::NAN, 1.0], [f64::INFINITY, 1.0], [f64::MAX, f64::MAX]] {
        let refused = worker.call(accumulate(&values));
        assert_eq!(refused, Err(DocaError::INVALID_VALUE));
    }
    let answer = Accumulated { sum: 1.0, count: 1 };
    assert_eq!(worker.call(accumulate(&[1.0])), Ok(answer));
}
