//! An embedded service with the graph plugin, and waiting with a limit.

#![allow(dead_code, unreachable_pub, reason = "every test program uses a part of it")]

use std::cell::RefCell;
use std::future::Future;
use std::time::{Duration, Instant};

pub use graph_protocol::Protocol as Graph;
use urom_abi::protocol::Protocol;
use urom_host::{DocaError, Host, Result, Service, Worker, block_on_for};
use urom_tests::PluginDirectory;

pub type Client = <Graph as Protocol>::Client<Host>;

pub const LIMIT: Duration = Duration::from_secs(30);

pub fn plugins() -> PluginDirectory {
    PluginDirectory::with(&["worker_graph"]).expect("the graph plugin was built")
}

thread_local! {
    static PLUGINS: RefCell<Vec<PluginDirectory>> = const { RefCell::new(Vec::new()) };
}

pub fn connect() -> Service {
    let plugins = plugins();
    let service = Service::builder()
        .plugin_paths([plugins.path()])
        .connect_blocking()
        .expect("an embedded service");
    PLUGINS.with_borrow_mut(|all| all.push(plugins));
    service
}

pub fn start(service: &Service) -> (Client, Worker) {
    let graph = service.plugin::<Graph>().unwrap();
    let worker = soon(service.worker().plugin(&graph).start()).unwrap();
    (graph, worker)
}

#[track_caller]
pub fn fails<T>(result: Result<T>, code: DocaError, texts: &[&str]) {
    let error = result.map(drop).unwrap_err();
    assert_eq!(error.code(), code, "{error}");
    for text in texts {
        assert!(error.to_string().contains(text), "{error}");
    }
}

#[track_caller]
pub fn soon<F: Future>(future: F) -> F::Output {
    block_on_for(LIMIT, future).unwrap()
}

#[track_caller]
pub fn until(mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !done() {
        assert!(Instant::now() < deadline, "it did not happen within {LIMIT:?}");
    }
}
