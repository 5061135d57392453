//! The types that threads share. The crate `models` compiles [`mailbox`](crate::mailbox) and the
//! cells of a [`ring`](crate::ring) with loom's types instead, and tries all interleavings.

pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
pub(crate) use std::sync::{Arc, Mutex, PoisonError};

pub(crate) use urom_os::EventFd;

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Weak};

    use crate::mailbox::Mailbox;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    #[test]
    fn a_message_wakes_a_sleeper_on_another_thread_and_comes_out_once() {
        let mailbox = Mailbox::new().unwrap();
        assert!(!mailbox.has_post());
        std::thread::scope(|scope| {
            scope.spawn(|| mailbox.post(7));
            let limit = Timespec { tv_sec: 10, tv_nsec: 0 };
            let ready =
                poll(&mut [PollFd::new(mailbox.wake(), PollFlags::IN)], Some(&limit)).unwrap();
            assert_eq!(ready, 1);
        });
        assert!(mailbox.has_post());
        assert_eq!(mailbox.take(), [7]);
        assert!(!mailbox.has_post() && mailbox.take().is_empty());
        let none = Timespec { tv_sec: 0, tv_nsec: 0 };
        assert_eq!(
            poll(&mut [PollFd::new(mailbox.wake(), PollFlags::IN)], Some(&none)).unwrap(),
            0
        );
    }

    struct Posts(Weak<Mailbox<Option<Posts>>>);

    impl Drop for Posts {
        fn drop(&mut self) {
            self.0.upgrade().unwrap().post(None);
        }
    }

    #[test]
    fn a_closed_mailbox_drops_queued_and_later_messages() {
        let mailbox = Mailbox::new().unwrap();
        let message = Arc::new(());
        mailbox.post(Arc::clone(&message));
        assert!(!mailbox.is_closed());
        mailbox.close();
        assert!(mailbox.is_closed() && !mailbox.has_post());
        assert_eq!(Arc::strong_count(&message), 1);
        mailbox.post(Arc::clone(&message));
        assert!(!mailbox.has_post() && mailbox.take().is_empty());
        assert_eq!(Arc::strong_count(&message), 1);
    }

    #[test]
    fn messages_that_post_when_they_are_dropped_wait_for_no_lock() {
        let mailbox = Arc::new(Mailbox::new().unwrap());
        mailbox.post(Some(Posts(Arc::downgrade(&mailbox))));
        mailbox.close();
        mailbox.post(Some(Posts(Arc::downgrade(&mailbox))));
        assert!(mailbox.take().is_empty());
    }
}
