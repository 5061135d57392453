//! `cargo xtask api`, `bindings` and `headers`: committed files that are generated.
//!
//! Arguments: `api`, `bindings INCLUDE` with UCX 1.16's headers, or `headers`; then `--check` to
//! compare.

mod api;
mod bindings;
mod committed;
mod headers;

use std::path::Path;

use anyhow::{Context, Result, bail};

fn main() -> Result<()> {
    api::stand_in()?;
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let check = words.last().is_some_and(|word| word == "--check");
    words.truncate(words.len() - usize::from(check));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    let root = root.context("xtask lies in the workspace")?;
    match &words[..] {
        [task, include] if task == "bindings" => bindings::run(root, Path::new(include), check),
        [task] if task == "api" => api::run(root, check),
        [task] if task == "headers" => headers::run(root, check),
        other => bail!("`{}`: use cargo xtask api, bindings or headers", other.join(" ")),
    }
}
