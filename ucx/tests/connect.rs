//! Listeners, and endpoints by socket address and by worker address: how they come about, fail and end.

mod common;

use std::cell::Cell;
use std::future::Future;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context as TaskContext, Wake, Waker};

use common::{finish, log, pattern, until};
use ucx::{AmFlags, CloseMode, ConnectionRequest, Data, Endpoint, Listener, Status, Worker};

const ANY_PORT: &str = "127.0.0.1:0";
const TRANSPORTS: [&str; 2] = ["tcp", "tcp,shm,self"];

fn worker(transports: &str) -> Worker {
    common::context(transports).worker().unwrap()
}

fn any_port() -> SocketAddr {
    ANY_PORT.parse().unwrap()
}

fn next(workers: &[&Worker], listener: &Listener) -> ConnectionRequest {
    let mut request = None;
    until(workers, "a connection", || {
        request = request.take().or_else(|| listener.next());
        request.is_some()
    });
    request.unwrap()
}

/// A client and a server with a connection between them.
struct Connected {
    to_server: Endpoint,
    to_client: Endpoint,
    client: Worker,
    server: Worker,
}

impl Connected {
    fn new(transports: &str) -> Connected {
        let (client, server) = (worker(transports), worker(transports));
        let listener = Listener::bind(&server, any_port()).unwrap();
        let to_server = client.connect_socket(listener.local_addr().unwrap()).unwrap();
        let request = next(&[&client, &server], &listener);
        let to_client = server.endpoint().accept(request).unwrap();
        assert_eq!(finish(&[&client, &server], to_server.flush()).0, Ok(()));
        Connected { to_server, to_client, client, server }
    }

    fn until(&self, what: &str, done: impl FnMut() -> bool) {
        until(&[&self.client, &self.server], what, done);
    }
}

#[test]
fn a_client_connects_to_the_port_that_was_picked() {
    for transports in TRANSPORTS {
        let (client, server) = (worker(transports), worker(transports));
        let listener = Listener::bind(&server, any_port()).unwrap();
        let address = listener.local_addr().unwrap();
        assert_ne!(address.port(), 0);
        assert!(listener.next().is_none());
        let to_server = client.connect_socket(address).unwrap();
        let both = [&client, &server];
        let request = next(&both, &listener);
        assert_eq!(request.peer().unwrap().ip(), address.ip());
        drop(listener);
        let to_client = server.endpoint().accept(request).unwrap();
        let (seen, log) = log();
        for worker in both {
            let log = Rc::clone(&log);
            worker
                .set_am_handler(1, move |message| {
                    let Data::Eager(data) = message.data else { panic!("short") };
                    log.borrow_mut().push((message.endpoint(), data.to_vec()));
                })
                .unwrap();
        }
        let there = to_server.am_send_with(1, b"", b"there".to_vec(), AmFlags::REPLY);
        assert_eq!(finish(&both, there).0, Ok(()));
        until(&both, "the message", || seen.borrow().len() == 1);
        let back = to_client.am_send(1, b"", b"back".to_vec());
        assert_eq!(finish(&both, back).0, Ok(()));
        until(&both, "the answer", || seen.borrow().len() == 2);
        assert_eq!(
            seen.take(),
            [(Some(to_client.id()), b"there".to_vec()), (None, b"back".to_vec())]
        );
    }
}

#[test]
fn a_refused_client_learns_it() {
    let (client, server) = (worker("tcp"), worker("tcp"));
    let listener = Listener::bind(&server, any_port()).unwrap();
    let status = Rc::new(Cell::new(None));
    let hook = Rc::clone(&status);
    let endpoint = client
        .endpoint()
        .on_error(move |status| hook.set(Some(status)))
        .connect_socket(listener.local_addr().unwrap())
        .unwrap();
    next(&[&client, &server], &listener).reject();
    until(&[&client, &server], "the refusal", || status.get().is_some());
    assert_eq!(status.get(), Some(Status::REJECTED));
    assert_eq!(endpoint.error(), Some(Status::REJECTED));
    let sent = endpoint.am_send(1, b"", pattern(10));
    assert!(finish(&[&client], sent).0.is_err());
}

#[test]
fn nobody_listening_is_an_error_and_no_hang() {
    let client = worker("tcp");
    let port = {
        let socket = TcpListener::bind(ANY_PORT).unwrap();
        socket.local_addr().unwrap()
    };
    let endpoint = client.connect_socket(port).unwrap();
    let (result, buffer) = finish(&[&client], endpoint.am_send(1, b"h", pattern(10)));
    assert!(result.is_err());
    assert_eq!(buffer, pattern(10));
    until(&[&client], "the error", || endpoint.is_failed());
}

#[test]
fn an_address_in_use_or_of_another_machine_is_refused() {
    let server = worker("tcp");
    let taken = TcpListener::bind(ANY_PORT).unwrap();
    for address in [taken.local_addr().unwrap(), "192.0.2.1:0".parse().unwrap()] {
        let error = Listener::bind(&server, address).unwrap_err();
        assert!(error.to_string().contains(&address.to_string()), "{error}");
    }
}

#[test]
fn without_tcp_there_is_no_connection_by_socket_address() {
    let (client, server) = (worker("shm,self"), worker("tcp,shm,self"));
    let listener = Listener::bind(&server, any_port()).unwrap();
    let endpoint = client.connect_socket(listener.local_addr().unwrap()).unwrap();
    until(&[&client, &server], "the error", || endpoint.is_failed());
}

#[test]
fn connections_that_nobody_takes_are_refused_when_the_listener_goes() {
    let (client, server) = (worker("tcp"), worker("tcp"));
    let listener = Listener::bind(&server, any_port()).unwrap();
    let address = listener.local_addr().unwrap();
    let connect = |_| client.connect_socket(address).unwrap();
    let mut endpoints: Vec<_> = (0..3).map(connect).collect();
    let first = next(&[&client, &server], &listener);
    drop(first);
    drop(listener);
    // Some were waiting, some on their way, and these come later.
    endpoints.extend((0..2).map(connect));
    until(&[&client, &server], "the refusals", || endpoints.iter().all(Endpoint::is_failed));
    drop(server);
    // Nobody listens there any more.
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn a_task_that_waits_for_a_connection_is_woken() {
    struct Flag(AtomicBool);
    impl Wake for Flag {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let (client, server) = (worker("tcp"), worker("tcp"));
    let listener = Listener::bind(&server, any_port()).unwrap();
    let woken = Arc::new(Flag(AtomicBool::new(false)));
    let waker = Waker::from(Arc::clone(&woken));
    let mut cx = TaskContext::from_waker(&waker);
    let mut connection = pin!(listener.connection());
    assert!(connection.as_mut().poll(&mut cx).is_pending());
    let _to_server = client.connect_socket(listener.local_addr().unwrap()).unwrap();
    until(&[&client, &server], "the wake", || woken.0.load(Ordering::Relaxed));
    assert!(connection.as_mut().poll(&mut cx).is_ready());
}

#[test]
fn another_workers_connection_is_not_accepted() {
    let (client, server, other) = (worker("tcp"), worker("tcp"), worker("tcp"));
    let listener = Listener::bind(&server, any_port()).unwrap();
    let to_server = client.connect_socket(listener.local_addr().unwrap()).unwrap();
    let request = next(&[&client, &server], &listener);
    assert_eq!(other.endpoint().accept(request).unwrap_err().status(), Status::INVALID_PARAM);
    until(&[&client, &server], "the refusal", || to_server.is_failed());
}

#[test]
fn a_peer_that_closes_fails_the_endpoint_and_calls_the_hook_once() {
    for transports in TRANSPORTS {
        let (client, server) = (worker(transports), worker(transports));
        let listener = Listener::bind(&server, any_port()).unwrap();
        let (seen, log) = log();
        let to_server = client
            .endpoint()
            .on_error(move |status| log.borrow_mut().push(status))
            .connect_socket(listener.local_addr().unwrap())
            .unwrap();
        let to_client = server.endpoint().accept(next(&[&client, &server], &listener)).unwrap();
        assert_eq!(finish(&[&client, &server], to_server.flush()).0, Ok(()));
        assert!(!to_server.is_failed());
        drop(to_client);
        until(&[&client, &server], "the error", || !seen.borrow().is_empty());
        assert_eq!(to_server.error(), Some(seen.borrow()[0]));
        let (result, _) = finish(&[&client, &server], to_server.am_send(1, b"", pattern(1 << 20)));
        assert!(result.is_err());
        assert_eq!(to_server.close(CloseMode::Flush).wait(), Ok(()));
        assert_eq!(seen.borrow().len(), 1);
    }
}

#[test]
fn a_worker_that_is_gone_fails_what_waits_for_it() {
    for transports in TRANSPORTS {
        let Connected { to_server, to_client, client, server } = Connected::new(transports);
        let waiting = to_server.am_send_with(1, b"", pattern(1 << 20), AmFlags::RENDEZVOUS);
        drop(to_client);
        drop(server);
        let (result, buffer) = finish(&[&client], waiting);
        assert!(result.is_err());
        assert!(buffer == pattern(1 << 20));
    }
}

#[test]
fn an_endpoint_can_be_closed_or_dropped_in_a_handler_and_in_its_own_hook() {
    for transports in TRANSPORTS {
        let Connected { to_server, to_client, client, server } = Connected::new(transports);
        let holder = Rc::new(Cell::new(Some(to_client)));
        let in_handler = Rc::clone(&holder);
        server
            .set_am_handler(1, move |_| {
                drop(in_handler.take().unwrap().close(CloseMode::Force));
            })
            .unwrap();
        let both = [&client, &server];
        assert_eq!(finish(&both, to_server.am_send(1, b"", vec![1])).0, Ok(()));
        until(&both, "the close", || to_server.is_failed());

        let listener = Listener::bind(&server, any_port()).unwrap();
        let own = Rc::new(Cell::new(None));
        let in_hook = Rc::clone(&own);
        let endpoint = client
            .endpoint()
            .on_error(move |_| drop(in_hook.take()))
            .connect_socket(listener.local_addr().unwrap())
            .unwrap();
        own.set(Some(endpoint));
        next(&both, &listener).reject();
        until(&both, "the hook", || {
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
        let close = to_server.close(CloseMode::Flush);
        until(&[&client, &server], "the messages", || count.get() == 1000);
        // The close of a connection by socket address ends when both sides have closed.
        let other = to_client.close(CloseMode::Flush);
        until(&[&client, &server], "the close", || close.is_done() && other.is_done());
        assert_eq!(close.wait(), Ok(()));
        assert_eq!(count.get(), 1000);
    }
}

#[test]
fn many_messages_both_ways_arrive_in_order() {
    for transports in TRANSPORTS {
        let connected = Connected::new(transports);
        let (at_server, log) = log();
        connected
            .server
            .set_am_handler(1, move |message| {
                let header: [u8; 8] = message.header.try_into().unwrap();
                log.borrow_mut().push(u64::from_le_bytes(header));
                message.reply().unwrap().am_send(2, message.header, ()).detach();
            })
            .unwrap();
        let (at_client, log) = common::log();
        connected
            .client
            .set_am_handler(2, move |message| {
                let header: [u8; 8] = message.header.try_into().unwrap();
                log.borrow_mut().push(u64::from_le_bytes(header));
            })
            .unwrap();
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
