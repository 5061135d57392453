//! The side is the macro's to fill in.

use graph_protocol::{Handler, Loopback, LoopbackDone};
use urom_pdk::{Context, OpenContext, Result, urom_plugin};

struct Graph;

#[urom_plugin]
impl Handler<urom_pdk::Side> for Graph {
    fn open(_: &OpenContext) -> Result<Self> {
        Ok(Graph)
    }

    async fn loopback(&self, _: &Context, cmd: Loopback) -> Result<LoopbackDone> {
        Ok(LoopbackDone { data: cmd.data })
    }
}

fn main() {}
