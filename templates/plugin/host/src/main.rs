//! The host program: starts a worker with the plugin, sends it values, and prints the answers.

use protocol::Protocol;

use urom_host::{Result, Service, block_on};

fn main() -> Result<()> {
    block_on(async {
        // The service of the environment, as on a host with a DPU. Otherwise a service in this
        // process, with the plugin that cargo built beside this program.
        let service = Service::connect().await?;
        let plugin = service.plugin::<Protocol>()?;
        let worker = service.worker().plugin(&plugin).start().await?;
        // Both are submitted before the first answer arrives.
        let first = plugin.task_accumulate(&worker, &[1.0, 2.0]).submit()?;
        let second = plugin.task_accumulate(&worker, &[3.5]).submit()?;
        for answer in [first.await?, second.await?] {
            println!("the sum of {} values is {}", answer.count, answer.sum);
        }
        worker.stop().await
    })
}
