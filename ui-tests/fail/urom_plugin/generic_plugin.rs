//! A handler that is many types.

use graph_protocol::{Handler, Loopback, LoopbackDone};
use urom_pdk::{Context, OpenContext, Result, urom_plugin};

struct Graph<T>(T);

#[urom_plugin]
impl<T: 'static + Default> Handler for Graph<T> {
    fn open(_: &OpenContext) -> Result<Self> {
        Ok(Graph(T::default()))
    }

    async fn loopback(&self, _: &Context, cmd: Loopback) -> Result<LoopbackDone> {
        Ok(LoopbackDone { data: cmd.data })
    }
}

fn main() {}
