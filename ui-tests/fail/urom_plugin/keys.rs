//! Keys that do not exist, and values they cannot have.

use graph_protocol::{Handler, Loopback, LoopbackDone};
use urom_pdk::{Context, OpenContext, Result, urom_plugin};

struct Graph;

#[urom_plugin(exports = false, export = "no", abort = "maybe", crate)]
impl Handler for Graph {
    fn open(_: &OpenContext) -> Result<Self> {
        Ok(Graph)
    }

    async fn loopback(&self, _: &Context, cmd: Loopback) -> Result<LoopbackDone> {
        Ok(LoopbackDone { data: cmd.data })
    }
}

fn main() {}
