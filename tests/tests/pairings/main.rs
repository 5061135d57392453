//! Host programs and plugins of two makes each, C and Rust, in all pairings, with a daemon and embedded.
//!
//! The C programs and plugins were written from the description of the interface and of the messages, and share nothing
//! with those in Rust. Every host says what it sees, line by line, and must see the same whoever is at the other end.
//! `expected` holds what that is.

mod expected;
mod side_by_side;

use std::path::PathBuf;

use anyhow::{Context, Result};
use urom_tests::c::{Host, Output, Service, Source};
use urom_tests::{PluginDirectory, profile_directory};

/// Who made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Make {
    Rust,
    C,
    /// In C, with the address sanitizer, which also looks for leaks when a program ends.
    SanitizedC,
}

/// Where the plugins run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Uromd,
    /// A daemon whose workers have the sanitizer's library.
    SanitizedUromd,
    Embedded,
}

/// Which messages.
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

    /// What a host of this make says.
    fn transcript(self, host: Make) -> String {
        let whole = match self {
            Protocol::Graph => expected::GRAPH,
            Protocol::Sandbox => expected::SANDBOX,
        };
        let lines = whole.lines().filter(|line| host != Make::Rust || !line.starts_with(expected::ONLY_C));
        lines.flat_map(|line| [line, "\n"]).collect()
    }
}

/// Adds a plugin of some make to those that a service finds.
fn add_plugin(plugins: &mut PluginDirectory, protocol: Protocol, make: Make) -> Result<()> {
    let name = format!("worker_{}", protocol.name());
    if make == Make::Rust {
        return plugins.add_built(&name);
    }
    let source = c_source(&format!("{}_plugin.c", protocol.name()), make);
    let source = if protocol == Protocol::Sandbox { source.ucx() } else { source };
    plugins.add(&source.plugin(&name)?)
}

fn c_source(file: &str, make: Make) -> Source {
    let source = Source::new(file);
    if make == Make::SanitizedC { source.asan() } else { source }
}

/// A host program of some make: an example of this package, or compiled now.
fn host_program(name: &str, make: Make) -> Result<PathBuf> {
    match make {
        Make::Rust => Ok(profile_directory()?.join("examples").join(name)),
        _ => c_source(&format!("{name}.c"), make).program(),
    }
}

fn service(place: Place, plugins: PluginDirectory) -> Result<Service> {
    match place {
        Place::Uromd => Service::daemon(plugins),
        Place::SanitizedUromd => Service::sanitized(plugins),
        Place::Embedded => Service::embedded(plugins),
    }
}

/// Runs a host to its good end.
fn run(service: &Service, name: &str, make: Make) -> Result<Output> {
    let output = Host::new(host_program(name, make)?).run(service).and_then(Output::success);
    output.with_context(|| format!("{name} in {make:?}"))
}

/// One pairing.
fn check(protocol: Protocol, host: Make, plugin: Make, place: Place) -> Result<()> {
    let mut plugins = PluginDirectory::with(&[])?;
    add_plugin(&mut plugins, protocol, plugin)?;
    let service = service(place, plugins)?;
    let output = run(&service, &format!("{}_host", protocol.name()), host)?;
    pretty_assertions_eq(&output, &protocol.transcript(host));
    Ok(())
}

/// Fails with the first line that is another.
fn pretty_assertions_eq(output: &Output, expected: &str) {
    for (at, (found, expected)) in output.stdout.lines().zip(expected.lines()).enumerate() {
        assert_eq!(found, expected, "line {} of\n{}{}", at + 1, output.stdout, output.stderr);
    }
    assert_eq!(output.stdout, expected, "{}", output.stderr);
}

/// Makes tests of pairings: `name: protocol, host, plugin, place;`.
macro_rules! pairings {
    ($($name:ident: $protocol:ident, $host:ident, $plugin:ident, $place:ident;)*) => {
        $(
            #[test]
            fn $name() -> Result<()> {
                check(Protocol::$protocol, Make::$host, Make::$plugin, Place::$place)
            }
        )*
    };
}

mod graph {
    use super::*;

    pairings! {
        c_host_and_c_plugin_with_uromd: Graph, C, C, Uromd;
        c_host_and_rust_plugin_with_uromd: Graph, C, Rust, Uromd;
        rust_host_and_c_plugin_with_uromd: Graph, Rust, C, Uromd;
        rust_host_and_rust_plugin_with_uromd: Graph, Rust, Rust, Uromd;
        c_host_and_c_plugin_embedded: Graph, C, C, Embedded;
        c_host_and_rust_plugin_embedded: Graph, C, Rust, Embedded;
        rust_host_and_c_plugin_embedded: Graph, Rust, C, Embedded;
        rust_host_and_rust_plugin_embedded: Graph, Rust, Rust, Embedded;

        sanitized_host_and_c_plugin_with_uromd: Graph, SanitizedC, C, Uromd;
        sanitized_host_and_rust_plugin_with_uromd: Graph, SanitizedC, Rust, Uromd;
        sanitized_host_and_rust_plugin_embedded: Graph, SanitizedC, Rust, Embedded;
        sanitized_host_and_sanitized_plugin_embedded: Graph, SanitizedC, SanitizedC, Embedded;
        rust_host_and_sanitized_plugin_with_uromd: Graph, Rust, SanitizedC, SanitizedUromd;
    }
}

mod sandbox {
    use super::*;

    pairings! {
        c_host_and_c_plugin_with_uromd: Sandbox, C, C, Uromd;
        c_host_and_rust_plugin_with_uromd: Sandbox, C, Rust, Uromd;
        rust_host_and_c_plugin_with_uromd: Sandbox, Rust, C, Uromd;
        rust_host_and_rust_plugin_with_uromd: Sandbox, Rust, Rust, Uromd;
        c_host_and_c_plugin_embedded: Sandbox, C, C, Embedded;
        c_host_and_rust_plugin_embedded: Sandbox, C, Rust, Embedded;
        rust_host_and_c_plugin_embedded: Sandbox, Rust, C, Embedded;
        rust_host_and_rust_plugin_embedded: Sandbox, Rust, Rust, Embedded;

        sanitized_host_and_c_plugin_with_uromd: Sandbox, SanitizedC, C, Uromd;
        sanitized_host_and_rust_plugin_with_uromd: Sandbox, SanitizedC, Rust, Uromd;
        sanitized_host_and_rust_plugin_embedded: Sandbox, SanitizedC, Rust, Embedded;
        sanitized_host_and_sanitized_plugin_embedded: Sandbox, SanitizedC, SanitizedC, Embedded;
        rust_host_and_sanitized_plugin_with_uromd: Sandbox, Rust, SanitizedC, SanitizedUromd;
    }
}

/// Otherwise a clean run of a program with the sanitizer would mean nothing.
#[test]
fn the_sanitizer_finds_what_a_program_leaks() -> Result<()> {
    let mut plugins = PluginDirectory::with(&[])?;
    add_plugin(&mut plugins, Protocol::Graph, Make::Rust)?;
    let service = Service::embedded(plugins)?;
    let host = Source::new("graph_host.c").asan().define("LEAK", "1").program()?;
    let output = Host::new(host).run(&service)?;
    assert!(output.stderr.contains("LeakSanitizer"), "{}", output.stderr);
    assert!(!output.status.success());
    Ok(())
}
