//! `urom-wire/src/mailbox.rs`: from control threads to a data thread.

use loom::sync::Arc;
use loom::thread;

use crate::mailbox::Mailbox;

fn post(mailbox: &Arc<Mailbox<u32>>, messages: &'static [u32]) -> thread::JoinHandle<()> {
    let mailbox = Arc::clone(mailbox);
    thread::spawn(move || messages.iter().for_each(|message| mailbox.post(*message)))
}

#[test]
fn a_reader_that_sleeps_gets_every_message_once_and_then_sleeps_again() {
    loom::model(|| {
        let mailbox = Arc::new(Mailbox::new().unwrap());
        let posters = [post(&mailbox, &[1]), post(&mailbox, &[2])];
        let mut got = Vec::new();
        while got.len() < 2 {
            mailbox.wake().wait();
            got.extend(mailbox.take());
        }
        got.sort_unstable();
        assert_eq!(got, [1, 2]);
        posters.into_iter().for_each(|poster| poster.join().unwrap());
        assert!(
            !mailbox.has_post() && !mailbox.wake().is_readable(),
            "a sleeper would be woken for nothing"
        );
    });
}

#[test]
fn messages_of_one_thread_stay_in_their_order() {
    loom::model(|| {
        let mailbox = Arc::new(Mailbox::new().unwrap());
        let poster = post(&mailbox, &[1, 2]);
        let mut got = mailbox.take();
        poster.join().unwrap();
        got.extend(mailbox.take());
        assert_eq!(got, [1, 2]);
    });
}

#[test]
fn the_flag_agrees_with_the_queue() {
    loom::model(|| {
        let mailbox = Arc::new(Mailbox::new().unwrap());
        let poster = post(&mailbox, &[1]);
        if mailbox.has_post() {
            assert_eq!(mailbox.take(), [1]);
        }
        poster.join().unwrap();
        let left = mailbox.has_post();
        assert_eq!(left, mailbox.wake().is_readable());
        assert_eq!(left, !mailbox.take().is_empty());
    });
}

#[test]
fn a_message_that_arrives_during_the_close_does_not_stay() {
    loom::model(|| {
        let mailbox = Arc::new(Mailbox::new().unwrap());
        let poster = post(&mailbox, &[1]);
        mailbox.close();
        poster.join().unwrap();
        assert!(mailbox.is_closed() && !mailbox.has_post() && !mailbox.wake().is_readable());
        assert!(mailbox.take().is_empty());
    });
}
