//! Incomplete handlers, and a handler without a protocol.

use graph_protocol::{Handler, Loopback, LoopbackDone};
use urom_pdk::{Context, OpenContext, Result, urom_plugin};

struct Forgotten;

impl Handler for Forgotten {
    fn open(_: &OpenContext) -> Result<Self> {
        Ok(Forgotten)
    }

    async fn loopback(&self, _: &Context, cmd: Loopback) -> Result<LoopbackDone> {
        Ok(LoopbackDone { data: cmd.data })
    }
}

struct LacksMethod;

#[urom_plugin(export = false)]
impl Handler for LacksMethod {
    fn open(_: &OpenContext) -> Result<Self> {
        Ok(LacksMethod)
    }
}

struct WrongReply;

#[urom_plugin(export = false)]
impl Handler for WrongReply {
    fn open(_: &OpenContext) -> Result<Self> {
        Ok(WrongReply)
    }

    async fn loopback(&self, _: &Context, cmd: Loopback) -> Result<u64> {
        Ok(cmd.data)
    }
}

trait Other<S> {}

#[urom_plugin]
impl Other for LacksMethod {}

fn main() {}
