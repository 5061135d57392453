//! Contexts: their configuration and lifetimes.

mod common;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::{Pair, context, is_from};
use ucx::{AmFlags, Context, ErrorMode, Features, Memory, Request, Status, WorkerAddress};

const FLOODS: usize = 12;

#[test]
fn an_unknown_name_is_refused_and_named() {
    let built = Context::builder(Features::AM).config("TLX", "tcp").build();
    if !is_from(1, 20) {
        // UCX may read it as a transport's setting, when a worker is made; then it only warns.
        assert!(built.unwrap().worker().is_ok());
        return;
    }
    let error = built.unwrap_err();
    assert!(matches!(error.status(), Status::NO_ELEM | Status::INVALID_PARAM), "{error}");
    assert!(error.to_string().contains("TLX"), "{error}");
}

#[test]
#[ignore = "the other process of the next test"]
fn watched_workers_of_all_kinds() {
    for transports in
        ["tcp", "tcp,self", "shm,self", "tcp,shm,self", "posix", "sysv,self", "all", "^posix"]
    {
        common::watched(transports);
    }
}

#[test]
fn ucx_does_not_complain_of_the_settings_that_the_crate_makes() {
    let mut workers = common::again("watched_workers_of_all_kinds");
    let output =
        workers.env("UCX_LOG_LEVEL", "warn").env("UCX_LOG_FILE", "stdout").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    assert!(!said.contains("UCX  WARN"), "{said}");
}

#[test]
fn invalid_settings_are_refused_and_named() {
    let builder = || Context::builder(Features::AM);
    for (builder, status, named) in [
        (builder().config("MAX_EAGER_LANES", "many"), None, "many"),
        (builder().config("T\0LS", "tcp"), Some(Status::INVALID_PARAM), "zero byte"),
        (builder().config("TLS", "t\0cp"), Some(Status::INVALID_PARAM), "zero byte"),
        (builder().name("a\0b"), Some(Status::INVALID_PARAM), "zero byte"),
        (builder().config("TLS", "carrier_pigeon"), Some(Status::NO_DEVICE), "carrier_pigeon"),
    ] {
        let error = builder.build().unwrap_err();
        assert!(status.is_none_or(|status| status == error.status()), "{error}");
        assert!(error.status().is_error() && error.to_string().contains(named), "{error}");
    }
}

#[test]
#[ignore = "the other process of the next test"]
fn a_worker_with_the_variables_of_its_environment() {
    let made = |builder: ucx::ContextBuilder| builder.build()?.worker();
    let connected = made(Context::builder(Features::AM)).and_then(|worker| {
        let other = made(Context::builder(Features::AM).config("TLS", "tcp"))?;
        worker.connect(&other.address()?)
    });
    println!("<{}>", connected.map_or_else(|error| error.to_string(), |_| "connected".to_owned()));
}

#[test]
fn an_error_that_a_variable_may_cause_lists_the_variables_and_the_process() {
    for (variables, expected) in [
        (&[("UCX_TLS", "self")][..], "runs with UCX_TLS=self: UCX_TLS and UCX_NET_DEVICES of both"),
        (&[("UCX_TLS", "rc_nothing")], "runs with UCX_TLS=rc_nothing, which may be the cause"),
        (
            &[("UCX_TLS", "tcp"), ("UCX_NET_DEVICES", "none0"), ("UCX_LOG_LEVEL", "fatal")],
            "runs with UCX_NET_DEVICES=none0 UCX_TLS=tcp, which may be the cause",
        ),
    ] {
        let mut process = common::again("a_worker_with_the_variables_of_its_environment");
        process.env_remove("UCX_MEM_EVENTS").envs(variables.iter().copied());
        let output = process.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains(expected) && said.contains("(`context-"), "{variables:?}: {said}");
    }
    let to_tcp = Context::builder(Features::AM).config("TLS", "tcp").build().unwrap();
    let to_itself = Context::builder(Features::AM).config("TLS", "self").build().unwrap();
    let (other, worker) = (to_tcp.worker().unwrap(), to_itself.worker().unwrap());
    let error = worker.connect(&other.address().unwrap()).unwrap_err().to_string();
    assert!(error.contains(") runs with ") && error.contains(": UCX_TLS and"), "{error}");
}

#[test]
fn whatever_is_dropped_first_the_rest_works_on() {
    let Pair { to_b, a, b } = Pair::new("tcp");
    let seen = common::headers(&b, 1);
    let keeper = a.clone();
    drop(a);
    let weak = keeper.downgrade();
    drop(keeper);
    let a = weak.upgrade().expect("the endpoint holds the worker");
    common::finish(&[&a, &b], to_b.am_send(1, b"still here", ())).0.unwrap();
    common::until(&[&a, &b], "the message", || !seen.borrow().is_empty());
    drop(a);
    drop(to_b);
    assert!(weak.upgrade().is_none());
}

#[test]
fn a_dropped_worker_drops_its_handlers() {
    let worker = context("self").worker().unwrap();
    let owned = Rc::new(RefCell::new(0));
    let weak = worker.downgrade();
    for id in 0..3 {
        let owned = (Rc::clone(&owned), weak.clone());
        worker.set_am_handler(id, move |_| *owned.0.borrow_mut() += 1).unwrap();
    }
    assert_eq!(Rc::strong_count(&owned), 4);
    drop(worker);
    assert_eq!(Rc::strong_count(&owned), 1);
}

/// Sends to a worker until told to stop, or until a hanging test has failed.
fn flood(address: &[u8], goes_on: &AtomicBool) {
    let worker = context("tcp").worker().unwrap();
    // SAFETY: from a worker of this test.
    let address = unsafe { WorkerAddress::from_bytes(address) }.unwrap();
    let endpoint = worker.endpoint().error_mode(ErrorMode::None).connect(&address).unwrap();
    let (begin, mut sending) = (Instant::now(), VecDeque::new());
    while goes_on.load(Ordering::Relaxed) && begin.elapsed() < 10 * BRIEFLY {
        while sending.len() < 64 {
            sending.push_back(endpoint.am_send(1, b"", vec![0; 8000]));
        }
        worker.progress();
        while sending.front().is_some_and(Request::is_done) {
            sending.pop_front();
        }
    }
    // The receiver may have been leaked, so these sends may never end.
    sending.into_iter().for_each(Request::detach);
    std::mem::forget((endpoint, worker));
}

const BRIEFLY: Duration = Duration::from_secs(3);

#[test]
fn a_worker_that_is_dropped_ends_soon_however_much_its_peers_send() {
    let worker = context("tcp").worker().unwrap();
    let count = Rc::new(Cell::new(0));
    let came = Rc::clone(&count);
    worker.set_am_handler(1, move |_| came.set(came.get() + 1)).unwrap();
    let address = worker.address().unwrap().as_bytes().to_vec();
    let goes_on = AtomicBool::new(true);
    std::thread::scope(|threads| {
        for _ in 0..FLOODS {
            threads.spawn(|| flood(&address, &goes_on));
        }
        common::until(&[&worker], "the flood", || count.get() > 1000);
        let silent = context("tcp").worker().unwrap();
        let address = silent.address().unwrap();
        let endpoint = worker.endpoint().error_mode(ErrorMode::None).connect(&address).unwrap();
        endpoint.am_send(1, b"", vec![0; 4 << 20]).detach();
        drop(endpoint);
        let begin = Instant::now();
        drop(worker);
        let took = begin.elapsed();
        goes_on.store(false, Ordering::Relaxed);
        assert!(took < BRIEFLY, "{took:?}");
    });
}

#[test]
fn threads_have_contexts_of_their_own_at_the_same_time() {
    let threads: Vec<_> = (0..4)
        .map(|_| {
            std::thread::spawn(|| {
                for _ in 0..5 {
                    let pair = Pair::new("tcp");
                    pair.b.set_am_handler(9, |_| ()).unwrap();
                    assert_eq!(pair.finish(pair.to_b.am_send(9, b"", ())).0, Ok(()));
                    assert_eq!(pair.finish(pair.to_b.flush()).0, Ok(()));
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn without_its_feature_nothing_is_done() {
    let unsupported = |error: ucx::Error| assert_eq!(error.status(), Status::UNSUPPORTED);
    for features in [Features::AM, Features::TAG] {
        let context = Context::builder(features).config("TLS", "shm,self").build().unwrap();
        let worker = context.worker().unwrap();
        let endpoint = Rc::new(common::connect(&worker, &worker, "shm,self"));
        let refused = (Err(Status::UNSUPPORTED), vec![7]);
        if features == Features::TAG {
            unsupported(worker.set_am_handler(1, |_| ()).unwrap_err());
            let sent = endpoint.am_send_now(0, &[], vec![7], AmFlags::NONE).unwrap();
            assert_eq!(sent, refused);
        } else {
            assert_eq!(endpoint.tag_send(1, vec![7]).wait(), refused);
            let receive = worker.tag_recv(1, 0, vec![7]).wait();
            assert_eq!(receive, (Err(Status::UNSUPPORTED), vec![7]));
            assert_eq!(worker.tag_probe(0, 0), None);
        }
        unsupported(worker.event_fd().unwrap_err());
        unsupported(worker.arm().unwrap_err());
        let memory = Memory::allocate(&context, 64).unwrap();
        unsupported(memory.remote_key().unwrap_err());
        unsupported(memory.export().unwrap_err());
        // SAFETY: without the feature, the call never reaches UCX.
        unsupported(unsafe { endpoint.remote_memory(&[0; 20], 0, 8) }.unwrap_err());
    }
}
