//! One mistake in a command is one error, although handler and host use what it makes.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command {
    #[urom(reply = Done)]
    Work { value: u64, count: usize },
    #[urom(reply = Done)]
    Rest,
}

struct Worker;

#[urom_pdk::urom_plugin]
impl Handler for Worker {
    fn open(_: &urom_pdk::OpenContext) -> urom_pdk::Result<Self> {
        Ok(Worker)
    }

    async fn work(&self, _: &urom_pdk::Context, cmd: Work) -> urom_pdk::Result<Done> {
        let _: u64 = cmd.value;
        Ok(Done)
    }

    async fn rest(&self, _: &urom_pdk::Context, _: Rest) -> urom_pdk::Result<Done> {
        Ok(Done)
    }
}

fn host<H: urom_abi::protocol::HostSide>(client: &Client<H>, worker: &H::Worker) -> Option<H::Completion<Done>> {
    client.task_rest(worker).submit().ok()
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
