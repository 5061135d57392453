//! C hosts paired with C and Rust plugins, with a daemon and embedded. `whole_path` pairs Rust
//! hosts with C plugins.
//!
//! The C programs and plugins are independent implementations of the interface and the messages.
//! Each host prints a transcript, which is the same for every plugin: `urom_tests::expected`.

mod side_by_side;

use std::path::PathBuf;

use anyhow::{Context, Result};
use urom_tests::c::{Host, Output, Service, Source};
use urom_tests::{PluginDirectory, expected};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Make {
    Rust,
    C,
    /// C with the address sanitizer, which also finds leaks of programs.
    SanitizedC,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Graph,
    Sandbox,
}

impl Protocol {
    fn name(self) -> &'static str {
        match self {
            Protocol::Graph => "graph",
            Protocol::Sandbox => "sandbox",
        }
    }

    fn transcript(self) -> &'static str {
        match self {
            Protocol::Graph => expected::GRAPH,
            Protocol::Sandbox => expected::SANDBOX,
        }
    }
}

fn c_source(file: &str, make: Make) -> Source {
    let source = Source::new(file);
    if make == Make::SanitizedC { source.asan() } else { source }
}

fn plugins(wanted: &[(Protocol, Make)]) -> Result<PluginDirectory> {
    let name = |protocol: Protocol| format!("worker_{}", protocol.name());
    let in_rust: Vec<String> = wanted
        .iter()
        .filter(|(_, make)| *make == Make::Rust)
        .map(|(protocol, _)| name(*protocol))
        .collect();
    let mut plugins =
        PluginDirectory::with(&in_rust.iter().map(String::as_str).collect::<Vec<_>>())?;
    for (protocol, make) in wanted.iter().filter(|(_, make)| *make != Make::Rust) {
        let source = c_source(&format!("{}_plugin.c", protocol.name()), *make);
        let source = if *protocol == Protocol::Sandbox { source.ucx() } else { source };
        plugins.add(&source.plugin(&name(*protocol))?)?;
    }
    Ok(plugins)
}

fn host_program(name: &str, make: Make) -> Result<PathBuf> {
    c_source(&format!("{name}.c"), make).program()
}

fn check(protocol: Protocol, host: Make, service: &Service) -> Result<()> {
    let program = host_program(&format!("{}_host", protocol.name()), host)?;
    let output = Host::new(program).run(service).and_then(Output::success)?;
    expected::check(&output, protocol.transcript());
    Ok(())
}

/// Tests of pairings: `name: host, plugin, service;`.
macro_rules! pairings {
    ($protocol:ident: $($name:ident: $host:ident, $plugin:ident, $service:ident;)*) => {
        $(
            #[test]
            fn $name() -> anyhow::Result<()> {
                use crate::{Make, Protocol, Service, check, plugins};
                let plugins = plugins(&[(Protocol::$protocol, Make::$plugin)])?;
                check(Protocol::$protocol, Make::$host, &Service::$service(plugins)?)
            }
        )*
    };
}

macro_rules! all_pairings {
    ($($module:ident: $protocol:ident;)*) => {
        $(
            mod $module {
                pairings! { $protocol:
                    c_host_and_c_plugin_with_uromd: C, C, daemon;
                    c_host_and_rust_plugin_with_uromd: C, Rust, daemon;
                    c_host_and_c_plugin_embedded: C, C, embedded;
                    c_host_and_rust_plugin_embedded: C, Rust, embedded;
                    sanitized_host_and_c_plugin_with_uromd: SanitizedC, C, daemon;
                    sanitized_host_and_rust_plugin_with_uromd: SanitizedC, Rust, daemon;
                    sanitized_host_and_c_plugin_embedded: SanitizedC, C, embedded;
                    sanitized_host_and_rust_plugin_embedded: SanitizedC, Rust, embedded;
                    sanitized_host_and_sanitized_plugin_embedded: SanitizedC, SanitizedC, embedded;
                    sanitized_host_and_sanitized_plugin_with_uromd: SanitizedC, SanitizedC, sanitized;
                }
            }
        )*
    };
}

all_pairings! {
    graph: Graph;
    sandbox: Sandbox;
}

/// Proves that the leak check works.
#[test]
fn a_sanitized_program_that_leaks_is_found_out() -> Result<()> {
    let service = Service::embedded(plugins(&[(Protocol::Graph, Make::Rust)])?)?;
    let output = Host::new(host_program("leaking_host", Make::SanitizedC)?).run(&service)?;
    let is_named =
        ["LeakSanitizer", "definitely lost"].iter().any(|words| output.stderr.contains(words));
    assert!(is_named, "{}", output.stderr);
    assert!(output.success().context("it leaks").is_err());
    Ok(())
}
