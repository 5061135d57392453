//! A handler that answers with something else.

use graph_protocol::{Handler, Loopback};
use urom_pdk::{Context, OpenContext, Result, urom_plugin};

struct Graph;

#[urom_plugin]
impl Handler for Graph {
    fn open(_: &OpenContext) -> Result<Self> {
        Ok(Graph)
    }

    async fn loopback(&self, _: &Context, cmd: Loopback) -> Result<u64> {
        Ok(cmd.data)
    }
}

fn main() {}
