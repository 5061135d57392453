//! A plugin with another message layout is refused, if the library has its description.

use urom_abi::describe;
use urom_abi::describe::section::{self, Build, Panic};
use urom_abi::protocol::Protocol as _;
use urom_host::{DocaError, Service};

use crate::fake;
use crate::{Graph, connect, fails};

/// Another definition of the plugin `worker_graph`, version 1.
mod other {
    use urom_abi::{urom_command, urom_notification};

    #[urom_command(plugin = "worker_graph", version = 1)]
    pub(crate) enum Command {
        #[urom(reply = LoopbackDone)]
        Loopback { data: u64 },
    }

    #[urom_notification]
    pub(crate) enum Notification {
        LoopbackDone { data: f64 },
    }
}

fn serve(protocol: &describe::Protocol, description: Vec<u8>) {
    *fake::DESCRIPTION.lock().unwrap() = Some((protocol.fingerprint(), description));
}

#[test]
fn a_plugin_of_another_layout_is_refused_with_the_first_difference() {
    let _clean = fake::clean();
    let build = Build { kit: "0.1.0", panic: Panic::Unwind };
    let described = |protocol| serve(protocol, section::bytes(protocol, &build, false));
    described(Graph::DESCRIPTION);
    let found = connect().plugin::<Graph>().unwrap();
    assert_eq!(found.plugin().fingerprint(), Some(Graph::DESCRIPTION.fingerprint()));
    described(other::Protocol::DESCRIPTION);
    let error = connect().plugin::<Graph>().unwrap_err();
    assert_eq!(error.code(), DocaError::UNSUPPORTED_VERSION);
    let text = error.to_string();
    assert!(text.contains("`worker_graph` version 1"), "{text}");
    assert!(
        text.contains("at the plugin")
            && text.contains("rebuild host and plugin from one definition"),
        "{text}"
    );
    let error = connect().plugin_with("worker_graph", Graph::DESCRIPTION).unwrap_err();
    assert_eq!(error.to_string(), text);
    assert!(connect().plugin_with("worker_graph", other::Protocol::DESCRIPTION).is_ok());
}

#[test]
fn a_plugin_of_another_layout_is_refused_when_its_description_cannot_be_had() {
    let _clean = fake::clean();
    for description in [vec![], b"no description".to_vec(), vec![0; 2 << 20]] {
        serve(other::Protocol::DESCRIPTION, description);
        fails(
            connect().plugin::<Graph>(),
            DocaError::UNSUPPORTED_VERSION,
            &["lay out messages differently"],
        );
    }
}

#[test]
fn a_library_that_cannot_tell_fingerprints_goes_by_versions() {
    let _clean = fake::clean();
    serve(other::Protocol::DESCRIPTION, Vec::new());
    let service = Service::builder().library(fake::plain_library()).connect_blocking().unwrap();
    assert_eq!(service.plugin::<Graph>().unwrap().plugin().fingerprint(), None);
}
