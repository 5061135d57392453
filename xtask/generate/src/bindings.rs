//! Generates or compares the bindings of `ucx-sys`, from UCX 1.16's headers. Needs libclang.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use bindgen::callbacks::{EnumVariantCustomBehavior, EnumVariantValue, ParseCallbacks};

use crate::committed::{Committed, first_difference};

/// The workspace's `rust-version`.
const RUST: (u64, u64) = (88, 0);

/// The safe layer's functions, without `ucp_`. UCX deprecates three of them without a replacement:
/// `rkey_pack`, `rkey_buffer_release` and `worker_get_address`.
const FUNCTIONS: [&str; 14] = [
    "config_(read|release|modify)",
    "get_version(_string)?|init_version|cleanup|context_query",
    "worker_(create|destroy|query|get_address|address_query|release_address)",
    "worker_(progress|get_efd|arm|fence|flush_nbx|set_am_recv_handler)",
    "ep_(create|close_nbx|flush_nbx|query|rkey_unpack)",
    "request_(free|cancel|check_status)",
    "mem_(map|unmap|query)",
    "memh_(pack|buffer_release)",
    "rkey_(pack|buffer_release|destroy|ptr)",
    "am_(send_nbx|recv_data_nbx|data_release)",
    "tag_(send_nbx|recv_nbx|probe_nb|msg_recv_nbx)",
    "(put|get)_nbx",
    "atomic_op_nbx",
    "request_query",
];

/// All targets share one file of bindings. The path is a non-default one of libc's headers.
const TARGETS: [(&str, Option<&str>); 2] = [
    ("x86_64-unknown-linux-gnu", None),
    ("aarch64-unknown-linux-gnu", Some("/usr/aarch64-linux-gnu/include")),
];

pub(crate) fn run(root: &Path, headers: &Path, check: bool) -> Result<()> {
    ensure!(
        headers.join("ucp/api/ucp.h").is_file(),
        "{} holds no ucp/api/ucp.h",
        headers.display()
    );
    let rustfmt = root.join("rustfmt.toml");
    let [fresh, others @ ..] = TARGETS.map(|target| generate(target, headers, &rustfmt));
    let fresh = fresh?;
    for (target, other) in TARGETS[1..].iter().zip(others) {
        if let Some(line) = first_difference(&fresh, &other?) {
            bail!(
                "ucx-sys has one file for all targets, and the bindings for {} differ from those \
                 for {} from line {line} on",
                target.0,
                TARGETS[0].0
            );
        }
    }
    let path = root.join("ucx-sys/src/bindings/mod.rs");
    let mut files = Committed::new(check);
    files.put(&path, &fresh)?;
    files.finish("UCX's headers by this bindgen", "bindings")
}

fn generate(
    (triple, sysroot): (&str, Option<&str>),
    include: &Path,
    rustfmt: &Path,
) -> Result<String> {
    let mut builder = bindgen::Builder::default()
        .header_contents("ucx.h", "#include <ucp/api/ucp.h>\n")
        .clang_arg(format!("--target={triple}"))
        .clang_arg(format!("-I{}", include.display()));
    if let Some(sysroot) = sysroot {
        ensure!(
            Path::new(sysroot).is_dir(),
            "{sysroot} is missing: install Debian's libc6-dev-arm64-cross"
        );
        builder = builder.clang_arg(format!("-isystem{sysroot}"));
    }
    let rust =
        bindgen::RustTarget::stable(RUST.0, RUST.1).map_err(|error| anyhow::anyhow!("{error}"))?;
    builder = builder
        .allowlist_function(format!("ucs_status_string|ucp_({})", FUNCTIONS.join("|")))
        .allowlist_type("ucp_.*|ucs_status_t|ucs_status_ptr_t")
        .allowlist_var("UCP_.*")
        // The C library's types come from the crate `libc`.
        .blocklist_type("sockaddr.*|socklen_t|sa_family_t|FILE|_IO_.*|__.*")
        .raw_line("use libc::{sockaddr, sockaddr_storage, socklen_t};")
        // Enums are integers: a value of C that a Rust `enum` lacks is undefined behaviour.
        .default_enum_style(bindgen::EnumVariation::Consts)
        .newtype_global_enum("ucs_status_t")
        .prepend_enum_name(false)
        .parse_callbacks(Box::new(Callbacks))
        .generate_comments(false)
        .layout_tests(true)
        .use_core()
        .rust_target(rust)
        .rust_edition(bindgen::RustEdition::Edition2024)
        .formatter(bindgen::Formatter::Rustfmt)
        .rustfmt_configuration_file(Some(rustfmt.to_owned()));
    // bindgen panics when it cannot load libclang.
    match catch_unwind(AssertUnwindSafe(|| builder.generate())) {
        Ok(bindings) => Ok(bindings.with_context(|| format!("bindgen for {triple}"))?.to_string()),
        Err(_) => bail!("bindgen gave up for {triple}: is libclang there? Debian: libclang-14-dev"),
    }
}

/// Omits the constants whose value differs between UCX versions.
#[derive(Debug)]
struct Callbacks;

impl ParseCallbacks for Callbacks {
    fn enum_variant_behavior(
        &self,
        _enum_name: Option<&str>,
        variant: &str,
        _value: EnumVariantValue,
    ) -> Option<EnumVariantCustomBehavior> {
        matches!(variant, "UCS_MEMORY_TYPE_UNKNOWN" | "UCS_MEMORY_TYPE_LAST")
            .then_some(EnumVariantCustomBehavior::Hide)
    }
}
