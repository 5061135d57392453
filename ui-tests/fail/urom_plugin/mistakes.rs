//! Items that are not handlers, and keys that do not exist.

use graph_protocol::{Handler, Loopback, LoopbackDone};
use urom_pdk::{Context, OpenContext, Result, urom_plugin};

mod generic_plugin {
    use super::*;

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
}

mod handler_with_arguments {
    use super::*;

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
}

mod keys {
    use super::*;

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
}

mod not_a_handler_impl {
    use super::*;

    #[urom_plugin]
    struct Graph;

    #[urom_plugin]
    impl Graph {
        fn new() -> Graph {
            Graph
        }
    }

    #[urom_plugin]
    enum Other {}
}

fn main() {}
