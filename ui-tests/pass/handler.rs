//! A plugin as its author writes it, here without exports because this is no cdylib.

use graph_protocol::{Handler, Loopback, LoopbackDone};
use urom_pdk::{Context, OpenContext, Result, urom_plugin};

struct Graph;

#[urom_plugin(export = false)]
impl Handler for Graph {
    fn open(_: &OpenContext) -> Result<Self> {
        Ok(Graph)
    }

    async fn loopback(&self, _: &Context, cmd: Loopback) -> Result<LoopbackDone> {
        Ok(LoopbackDone { data: cmd.data })
    }
}

mod exported {
    use urom_pdk::{Context, OpenContext, Result};

    struct Graph;

    #[urom_pdk::urom_plugin]
    impl graph_protocol::Handler for Graph {
        fn open(_: &OpenContext) -> Result<Self> {
            Ok(Graph)
        }

        fn progress(&self) -> bool {
            false
        }

        async fn loopback(
            &self,
            _: &Context,
            cmd: graph_protocol::Loopback,
        ) -> Result<graph_protocol::LoopbackDone> {
            Ok(graph_protocol::LoopbackDone { data: cmd.data })
        }
    }
}

fn main() {}
