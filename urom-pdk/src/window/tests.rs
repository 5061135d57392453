//! Windows, ordered and not.

use std::pin::pin;

use futures_util::FutureExt;
use futures_util::task::noop_waker;

use super::*;

#[test]
fn all_operations_finish_at_once_and_keep_what_a_take_could_have() {
    for (window, changed) in
        [(Window::ordered(8), [1, 102, 103, 104]), (Window::unordered(8), [1, 102, 3, 104])]
    {
        (1..5).for_each(|key| window.begin(key, key).unwrap());
        window.finish(1);
        window.finish(3);
        let mut last = pin!(window.take(4));
        assert_eq!(last.as_mut().now_or_never(), None);
        drop(window.take(2));
        window.finish_all(|value| *value += 100);
        assert_eq!(last.now_or_never(), Some(changed[3]));
        // Operation 2 was cancelled.
        for key in [1, 3] {
            assert_eq!(window.take(key).now_or_never(), Some(changed[key as usize - 1]));
        }
        assert!(window.state.borrow().entries.is_empty());
    }
}

#[test]
fn values_of_an_ordered_window_come_in_the_order_of_their_keys() {
    let window = Window::ordered(8);
    for key in 0..3 {
        window.begin(key, key * 10).unwrap();
    }
    let mut second = pin!(window.take(1));
    window.finish(1);
    assert_eq!(second.as_mut().now_or_never(), None, "operation 0 runs");
    window.finish(0);
    assert_eq!(second.now_or_never(), Some(10));
    assert_eq!(window.take(0).now_or_never(), Some(0));
    assert!(window.finish(2) && !window.finish(2));
    assert_eq!(window.take(2).now_or_never(), Some(20));
    assert!(window.state.borrow().entries.is_empty());
}

#[test]
fn values_of_an_unordered_window_come_as_they_are_finished() {
    let window = Window::unordered(8);
    window.begin(0, 'a').unwrap();
    window.begin(1, 'b').unwrap();
    assert_eq!(window.edit(1, |value| std::mem::replace(value, 'c')), Some('b'));
    window.finish(1);
    assert_eq!(window.edit(1, |_| ()), None, "it is finished");
    assert_eq!(window.take(1).now_or_never(), Some('c'));
}

#[test]
fn a_mailbox_keeps_what_comes_before_its_take() {
    let mailbox = Window::unordered(2);
    mailbox.put((1, 0), "early").unwrap();
    assert_eq!(mailbox.take((1, 0)).now_or_never(), Some("early"));
    let mut late = pin!(mailbox.take((0, 5)));
    assert_eq!(late.as_mut().now_or_never(), None);
    mailbox.put((0, 5), "late").unwrap();
    assert_eq!(late.now_or_never(), Some("late"));
}

#[test]
fn a_full_window_refuses_operations_until_it_has_capacity() {
    let window = Window::ordered(2);
    window.begin(0, ()).unwrap();
    window.begin(1, ()).unwrap();
    assert_eq!(window.begin(2, ()).unwrap_err().code(), DocaError::FULL);
    assert_eq!(window.put(3, ()).unwrap_err().code(), DocaError::FULL);
    let mut waits = pin!(window.free_slot());
    assert_eq!(waits.as_mut().poll(&mut Context::from_waker(&noop_waker())), Poll::Pending);
    window.finish(0);
    window.take(0).now_or_never().unwrap();
    assert!(waits.now_or_never().is_some());
    window.begin(2, ()).unwrap();
    assert_eq!(window.begin(3, ()).unwrap_err().code(), DocaError::FULL);
}

#[test]
fn two_operations_have_different_keys() {
    let window = Window::unordered(8);
    window.begin(1, ()).unwrap();
    assert_eq!(window.begin(1, ()).unwrap_err().code(), DocaError::ALREADY_EXIST);
    assert_eq!(window.put(1, ()).unwrap_err().code(), DocaError::ALREADY_EXIST);
}

#[test]
fn a_cancelled_operation_keeps_its_position_until_it_is_finished() {
    let window = Window::ordered(8);
    window.begin(0, ()).unwrap();
    window.begin(1, ()).unwrap();
    drop(window.take(0));
    window.finish(1);
    assert_eq!(window.take(1).now_or_never(), None, "operation 0 runs");
    // Polled and dropped: also cancelled.
    window.begin(2, ()).unwrap();
    assert!(window.edit(0, |()| ()).is_some());
    window.finish(0);
    assert!(window.finish(2));
    assert_eq!(window.take(2).now_or_never(), Some(()));
    assert!(window.state.borrow().entries.is_empty());
}

#[test]
fn a_take_that_is_dropped_before_its_put_leaves_nothing() {
    let mailbox = Window::unordered(1);
    assert_eq!(mailbox.take(7).now_or_never(), None);
    mailbox.put(8, "value").unwrap();
    assert_eq!(mailbox.take(8).now_or_never(), Some("value"));
}

#[test]
fn a_value_whose_take_was_woken_is_not_discarded() {
    let mailbox = Window::unordered(8);
    let mut waits = pin!(mailbox.take(1));
    assert_eq!(waits.as_mut().now_or_never(), None);
    mailbox.put(1, "awaited").unwrap();
    mailbox.put(2, "unclaimed").unwrap();
    mailbox.discard(|_| true);
    assert_eq!(waits.now_or_never(), Some("awaited"));
    assert_eq!(mailbox.take(2).now_or_never(), None);
}

#[test]
fn a_take_that_is_dropped_before_its_operation_begins_holds_up_none_behind_it() {
    let window = Window::ordered(8);
    let mut early = Box::pin(window.take(0));
    assert_eq!(early.as_mut().now_or_never(), None);
    window.begin(1, "behind").unwrap();
    let mut behind = pin!(window.take(1));
    window.finish(1);
    assert_eq!(behind.as_mut().now_or_never(), None);
    drop(early);
    assert_eq!(behind.now_or_never(), Some("behind"));
}

#[test]
fn a_finished_value_that_is_not_taken_goes_with_its_take() {
    let window = Window::ordered(8);
    window.begin(0, std::rc::Rc::new(())).unwrap();
    let value = window.edit(0, |value| std::rc::Rc::downgrade(value)).unwrap();
    let take = window.take(0);
    window.finish(0);
    drop(take);
    assert!(value.upgrade().is_none());
}
