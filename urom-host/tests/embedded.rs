//! The whole path on the embedded service: a real service, real workers on threads, the real graph plugin.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use graph_protocol::{LoopbackDone, Protocol as Graph};
use urom_abi::protocol::Protocol;
use urom_host::{
    CpuSet, DocaError, Host, ProgressEngine, Service, ServiceHandle, State, Worker, block_on, block_on_for,
};
use urom_tests::PluginDirectory;

type Client = <Graph as Protocol>::Client<Host>;

const LIMIT: Duration = Duration::from_secs(30);

fn plugins() -> PluginDirectory {
    PluginDirectory::with(&["worker_graph"]).expect("the graph plugin was built")
}

fn connect(plugins: &PluginDirectory) -> Service {
    Service::builder().plugin_path(plugins.path()).connect().expect("an embedded service")
}

fn start(service: &Service) -> (Client, Worker) {
    let graph = service.plugin::<Graph>().unwrap();
    let worker = block_on_for(LIMIT, service.worker().plugin(graph.plugin()).start()).unwrap().unwrap();
    (graph, worker)
}

#[test]
fn a_loopback_comes_back() {
    let plugins = plugins();
    let service = connect(&plugins);
    let (graph, worker) = start(&service);
    assert_eq!(worker.state().unwrap(), State::Running);
    for data in [0, 1, u64::MAX] {
        let done = graph.task_loopback(&worker, data).submit().unwrap();
        assert_eq!(block_on_for(LIMIT, done).unwrap().unwrap().data, data);
    }
    assert_eq!(graph.task_loopback(&worker, 7).submit().unwrap().wait().unwrap().data, 7);
    worker.stop().wait().unwrap();
}
