//! One mistake in a notification is one error, although commands, handler and host use it.

use urom_abi::{urom_command, urom_notification};

#[urom_notification]
enum Notification {
    Done {
        #[urom(echo)]
        context: u64,
        value: u64,
        length: usize,
    },
}

#[urom_command(plugin = "p", version = 1)]
enum Command {
    #[urom(reply = Done)]
    Work {
        #[urom(echo)]
        context: u64,
    },
}

struct Worker;

#[urom_pdk::urom_plugin]
impl Handler for Worker {
    fn open(_: &urom_pdk::OpenContext) -> urom_pdk::Result<Self> {
        Ok(Worker)
    }

    async fn work(&self, _: &urom_pdk::Context, _: Work) -> urom_pdk::Result<Done> {
        Err(urom_pdk::DocaError::NOT_FOUND.into())
    }
}

fn host<H: urom_abi::protocol::HostSide>(client: &Client<H>, worker: &H::Worker) -> Option<H::Completion<Done>> {
    client.task_work(worker).context(3).submit().ok()
}

fn main() {}
