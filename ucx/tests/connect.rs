//! Endpoints by worker address: how they connect, fail and close.

mod common;

use std::cell::Cell;
use std::rc::Rc;

use common::{finish, log, pattern, until};
use ucx::{AmFlags, CloseMode, Endpoint, Message, Status, Worker};

const TRANSPORTS: [&str; 2] = ["tcp", "tcp,shm,self"];

fn worker(transports: &str) -> Worker {
    common::context(transports).worker().unwrap()
}

struct Connected {
    to_server: Endpoint,
    to_client: Endpoint,
    client: Worker,
    server: Worker,
}

impl Connected {
    fn new(transports: &str) -> Connected {
        let (client, server) = (worker(transports), worker(transports));
        let to_server = client.connect(&server.address().unwrap()).unwrap();
        let to_client = server.connect(&client.address().unwrap()).unwrap();
        for endpoint in [&to_server, &to_client] {
            assert_eq!(finish(&[&client, &server], endpoint.flush()).0, Ok(()));
        }
        Connected { to_server, to_client, client, server }
    }

    fn until(&self, what: &str, done: impl FnMut() -> bool) {
        until(&[&self.client, &self.server], what, done);
    }
}

#[test]
fn a_worker_that_was_gone_before_is_an_error_and_no_hang() {
    let client = worker("tcp");
    let gone = worker("tcp").address().unwrap();
    let endpoint = match client.connect(&gone) {
        Ok(endpoint) => endpoint,
        // On one machine, UCX may detect at once that no worker listens.
        Err(error) => return assert_eq!(error.status(), Status::UNREACHABLE),
    };
    let (result, buffer) = finish(&[&client], endpoint.am_send(1, b"h", pattern(1 << 20)));
    assert!(result.is_err());
    assert_eq!(buffer, pattern(1 << 20));
    until(&[&client], "the error", || endpoint.is_failed());
}

#[test]
fn a_worker_that_goes_fails_what_waits_for_it_and_the_hook_is_called_once() {
    for transports in TRANSPORTS {
        let (client, server) = (worker(transports), worker(transports));
        let (seen, log) = log();
        let to_server = client
            .endpoint()
            .on_error(move |status| log.borrow_mut().push(status))
            .connect(&server.address().unwrap())
            .unwrap();
        assert_eq!(finish(&[&client, &server], to_server.flush()).0, Ok(()));
        let waiting = to_server.am_send_with(1, b"", pattern(1 << 20), AmFlags::RENDEZVOUS);
        assert!(!to_server.is_failed());
        drop(server);
        let (result, buffer) = finish(&[&client], waiting);
        assert!(result.is_err());
        assert!(buffer == pattern(1 << 20));
        until(&[&client], "the error", || !seen.borrow().is_empty());
        assert_eq!(to_server.error(), Some(seen.borrow()[0]));
        let (result, _) = finish(&[&client], to_server.am_send(1, b"", pattern(1 << 20)));
        assert!(result.is_err());
        to_server.close(CloseMode::Flush);
        client.progress();
        assert_eq!(seen.borrow().len(), 1);
    }
}

#[test]
fn an_endpoint_can_be_closed_or_dropped_in_a_handler_and_in_its_own_hook() {
    for transports in TRANSPORTS {
        let Connected { to_server, to_client, client, server } = Connected::new(transports);
        let holder = Rc::new(Cell::new(Some(to_client)));
        let in_handler = Rc::clone(&holder);
        let closed = Rc::new(Cell::new(false));
        let done = Rc::clone(&closed);
        server
            .set_am_handler(1, move |_| {
                in_handler.take().unwrap().close(CloseMode::Force);
                done.set(true);
            })
            .unwrap();
        let both = [&client, &server];
        assert_eq!(finish(&both, to_server.am_send(1, b"", vec![1])).0, Ok(()));
        until(&both, "the close", || closed.get());

        let own = Rc::new(Cell::new(None));
        let in_hook = Rc::clone(&own);
        let endpoint = client
            .endpoint()
            .on_error(move |_| drop(in_hook.take()))
            .connect(&server.address().unwrap())
            .unwrap();
        assert_eq!(finish(&both, endpoint.flush()).0, Ok(()));
        own.set(Some(endpoint));
        drop(server);
        until(&[&client], "the hook", || {
            let endpoint = own.take();
            let gone = endpoint.is_none();
            own.set(endpoint);
            gone
        });
    }
}

#[test]
fn closing_with_flush_loses_nothing() {
    for transports in TRANSPORTS {
        let connected = Connected::new(transports);
        let count = Rc::new(Cell::new(0));
        let counter = Rc::clone(&count);
        connected.server.set_am_handler(1, move |_| counter.set(counter.get() + 1)).unwrap();
        for _ in 0..1000 {
            connected.to_server.am_send(1, b"", pattern(100)).detach();
        }
        let Connected { to_server, to_client, client, server } = connected;
        to_server.close(CloseMode::Flush);
        until(&[&client, &server], "the messages", || count.get() == 1000);
        to_client.close(CloseMode::Flush);
    }
}

#[test]
fn many_messages_both_ways_arrive_in_order() {
    for transports in TRANSPORTS {
        let connected = Connected::new(transports);
        let number = |message: &Message<'_>| u64::from_le_bytes(message.header.try_into().unwrap());
        let (at_server, log) = log();
        let answer = move |message: Message<'_>| {
            log.borrow_mut().push(number(&message));
            message.reply().unwrap().am_send(2, message.header, ()).detach();
        };
        connected.server.set_am_handler(1, answer).unwrap();
        let (at_client, log) = common::log();
        let keep = move |message: Message<'_>| log.borrow_mut().push(number(&message));
        connected.client.set_am_handler(2, keep).unwrap();
        let count = 5000;
        for number in 0..count {
            connected
                .to_server
                .am_send_with(1, &u64::to_le_bytes(number), (), AmFlags::REPLY)
                .detach();
            if number % 64 == 0 {
                connected.client.progress();
                connected.server.progress();
            }
        }
        connected.until("the answers", || at_client.borrow().len() as u64 == count);
        assert!(at_server.take().into_iter().eq(0..count));
        assert!(at_client.take().into_iter().eq(0..count));
    }
}
