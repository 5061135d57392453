//! Names that are keywords in Rust, a later edition, C or C++, on both sides.

#![deny(warnings)]

mod protocol {
    use urom_abi::{urom_command, urom_notification};

    #[urom_command(plugin = "worker_k", version = 1)]
    #[derive(Debug, Clone, Copy)]
    pub enum Command {
        #[urom(reply = Union)]
        Gen {
            r#gen: u64,
            #[urom(optional)]
            r#async: u8,
            #[urom(echo)]
            r#type: u32,
        },
        #[urom(reply = Union)]
        Async {
            #[urom(echo)]
            r#type: u32,
            register: u8,
            class: u8,
        },
        #[urom(reply = Register)]
        Try,
        #[urom(reply = Register)]
        Delete,
    }

    #[urom_notification]
    #[derive(Debug)]
    pub enum Notification {
        Union {
            #[urom(echo)]
            r#type: u32,
            r#gen: u8,
            typename: u8,
        },
        Register,
    }
}

use protocol::{Async, Delete, Gen, Handler, Register, Try, Union};
use urom_abi::protocol::Protocol as _;
use urom_pdk::prelude::*;

struct Plugin;

#[urom_plugin]
impl Handler for Plugin {
    fn open(_: &OpenContext) -> Result<Self> {
        Ok(Plugin)
    }

    async fn r#gen(&self, _: &Context, cmd: Gen) -> Result<Union> {
        Ok(Union { r#gen: cmd.r#async, typename: 0 })
    }

    async fn r#async(&self, _: &Context, cmd: Async) -> Result<Union> {
        Ok(Union { r#gen: cmd.register, typename: cmd.class })
    }

    async fn r#try(&self, _: &Context, _: Try) -> Result<Register> {
        Ok(Register)
    }

    async fn delete(&self, _: &Context, _: Delete) -> Result<Register> {
        Ok(Register)
    }
}

#[allow(dead_code, reason = "only its types are of interest")]
fn asked<H: urom_abi::protocol::HostSide>(client: &protocol::Client<H>, worker: &H::Worker) {
    let _ = client.task_gen(worker, 1).r#async(2).r#type(3);
    let _ = client.task_async(worker, 1, 2).r#type(3);
    let _ = (client.task_try(worker), client.task_delete(worker));
}

fn main() {
    let header = urom_abi::describe::c_header(protocol::Protocol::DESCRIPTION);
    for part in [
        "WORKER_K_COMMAND_GEN = 0,",
        "struct worker_k_command_gen gen;",
        "struct worker_k_command_async async;",
        "struct worker_k_notification_union union_;",
        "uint64_t gen;",
        "uint8_t class_;",
        "uint8_t typename_;",
    ] {
        assert!(header.contains(part), "{part}\n{header}");
    }
}
