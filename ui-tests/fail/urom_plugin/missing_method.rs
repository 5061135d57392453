//! A command that the handler leaves out.

use graph_protocol::Handler;
use urom_pdk::{OpenContext, Result, urom_plugin};

struct Graph;

#[urom_plugin]
impl Handler for Graph {
    fn open(_: &OpenContext) -> Result<Self> {
        Ok(Graph)
    }
}

fn main() {}
