//! The smallest host program for the graph plugin: sends two values, and prints the answers.

use graph_protocol::Protocol;
use urom_host::{Result, Service, block_on};

fn main() -> Result<()> {
    block_on(async {
        // The service in the environment, or one in this process, with the plugin that cargo built.
        let service = Service::connect().await?;
        let graph = service.plugin::<Protocol>()?;
        let worker = service.worker().plugin(&graph).start().await?;
        // Both tasks run before the first answer arrives.
        let tasks = [42, u64::MAX].map(|data| (data, graph.task_loopback(&worker, data).submit()));
        for (data, task) in tasks {
            println!("sent {data}, got {} back", task?.await?.data);
        }
        worker.stop().await
    })
}
