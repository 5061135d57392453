//! The graph plugin: answers a loopback command with its data.

use graph_protocol::{Handler, Loopback, LoopbackDone};
use urom_pdk::prelude::*;

struct Graph;

#[urom_plugin]
impl Handler for Graph {
    fn open(_cx: &OpenContext) -> Result<Self> {
        Ok(Graph)
    }

    async fn loopback(&self, _cx: &Context, cmd: Loopback) -> Result<LoopbackDone> {
        Ok(LoopbackDone { data: cmd.data })
    }
}

#[cfg(test)]
mod tests;
