//! A handler without `#[urom_plugin]`.

use graph_protocol::{Handler, Loopback, LoopbackDone};
use urom_pdk::{Context, OpenContext, Result};

struct Graph;

impl Handler for Graph {
    fn open(_: &OpenContext) -> Result<Self> {
        Ok(Graph)
    }

    async fn loopback(&self, _: &Context, cmd: Loopback) -> Result<LoopbackDone> {
        Ok(LoopbackDone { data: cmd.data })
    }
}

fn main() {}
