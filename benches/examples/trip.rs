//! scratch
#![allow(warnings)]
use rustix::thread::{CpuSet, sched_setaffinity};
use std::time::Instant;
use urom_host::{Completion, Host, Service, Worker, block_on};
fn pin(core: usize) {
    let mut s = CpuSet::new();
    s.set(core);
    sched_setaffinity(None, &s).unwrap();
}
#[inline(never)]
fn submit(
    graph: &graph_protocol::Client<Host>,
    worker: &Worker,
    data: u64,
) -> Completion<graph_protocol::Loopback> {
    graph.task_loopback(worker, data).submit().unwrap()
}
#[inline(never)]
fn take(sent: Completion<graph_protocol::Loopback>) -> u64 {
    sent.wait().unwrap().data
}
fn main() {
    let mut args = std::env::args().skip(1);
    let plugins = args.next().unwrap();
    let rounds: usize = args.next().unwrap().parse().unwrap();
    let trips: u64 = args.next().unwrap().parse().unwrap();
    let calm: u64 = args.next().map_or(0, |s| s.parse().unwrap());
    pin(1);
    let service = Service::builder().plugin_path(&plugins).connect().unwrap();
    let graph = service.plugin::<graph_protocol::Protocol>().unwrap();
    let worker = block_on(service.worker().plugin(graph.plugin()).any_id().max_inflight(64).start()).unwrap();
    pin(0);
    let mut all = Vec::new();
    for _ in 0..rounds {
        for d in 0..1000.min(trips) {
            assert_eq!(take(submit(&graph, &worker, d)), d);
        }
        let b = Instant::now();
        for d in 0..trips {
            let s = submit(&graph, &worker, d);
            if calm > 0 {
                let t = Instant::now();
                while (t.elapsed().as_nanos() as u64) < calm {}
            }
            assert_eq!(take(s), d);
        }
        all.push(b.elapsed().as_nanos() as f64 / trips as f64);
    }
    all.sort_by(f64::total_cmp);
    println!("{:.1} {:.1}", all[rounds / 2], all[0]);
}
