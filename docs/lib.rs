//! The guide's Rust code as documentation tests: each page in `src/` is the text of a module here.
//!
//! The test `every_page_with_rust_is_compiled` finds a page that is missing here.

use std::path::{Path, PathBuf};

/// Makes a module for each page whose blocks are compiled.
macro_rules! pages {
    ($($module:ident: $file:literal,)*) => {
        $(
            #[cfg(doctest)]
            #[doc = include_str!($file)]
            pub mod $module {}
        )*

        /// The pages whose Rust is compiled, as paths from this folder.
        pub const PAGES: &[&str] = &[$($file),*];
    };
}

pages! {
    guarantees: "src/guarantees.md",
    deadlines: "src/deadlines.md",
    cancellation: "src/cancellation.md",
    errors: "src/errors.md",
    host_state: "src/host-state.md",
    other_workers: "src/other-workers.md",
    domains: "src/domains.md",
    from_c_graph: "src/from-c/graph.md",
    from_c_sandbox: "src/from-c/sandbox.md",
    from_c_rdmo: "src/from-c/rdmo.md",
    graph_async: "src/graph-async.md",
    host: "src/host.md",
    host_tokio: "src/tokio.md",
    memory: "src/memory.md",
    peers: "src/peers.md",
    rdma: "src/rdma.md",
    rdmo: "src/rdmo.md",
    readme: "../README.md",
    reference_described: "src/reference/described.md",
    reference_fields: "src/reference/fields.md",
    reference_messages: "src/reference/messages.md",
    reference_payloads: "src/reference/payloads.md",
    reference_plugin: "src/reference/plugin.md",
    deployment: "src/deployment.md",
    logging: "src/logging.md",
    project: "src/project.md",
    start: "src/start.md",
    sync: "src/sync.md",
    laptop: "src/laptop.md",
    recordings: "src/recordings.md",
    testing: "src/testing.md",
    traces: "src/traces.md",
    sandbox: "src/sandbox.md",
    ucx: "src/ucx.md",
}

/// Returns the directory of the plugins that `cargo xtask test` built, for `UROM_PLUGIN_PATH`.
///
/// # Panics
/// If they were not built.
pub fn plugins() -> PathBuf {
    // target/PROFILE/build/guide-HASH/out
    let profile = Path::new(env!("OUT_DIR"))
        .ancestors()
        .nth(3)
        .expect("the build directory lies in its profile's");
    let plugins = profile.join("plugins");
    assert!(
        plugins.join("worker_sandbox.so").exists(),
        "no plugins in {}: run `cargo xtask test -p guide`, which builds them first",
        plugins.display()
    );
    plugins
}

/// Sets `UROM_PLUGIN_PATH` to [`plugins`], as in a user's shell. Call it before any thread starts.
///
/// # Panics
/// As [`plugins`].
pub fn set_plugin_path() {
    // SAFETY: a documentation test is a separate process and calls this first, so no other thread
    // reads the environment.
    unsafe { std::env::set_var("UROM_PLUGIN_PATH", plugins()) };
}

/// Returns the bytes of a command or a notification on the wire. The buffer is filled with 0xee
/// before, which shows bytes that are not written.
#[macro_export]
macro_rules! wire {
    ($message:expr) => {{
        let message = $message;
        let mut bytes = vec![0xee; message.encoded_len().expect("its length can be counted")];
        let written = message.encode(&mut bytes).expect("its payloads are as its fields say");
        assert_eq!(written, bytes.len());
        bytes
    }};
}
