//! What to do with a new workspace, and what this machine lacks for it.

use std::path::Path;

use super::answers::Answers;
use crate::output;

/// Prints the next steps to standard output, and what is missing for them to standard error.
///
/// # Errors
/// Nobody reads it.
pub(super) fn print(directory: &Path, answers: &Answers) -> anyhow::Result<()> {
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let target_directory =
        std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| directory.join("target").into());
    let target_directory =
        std::path::absolute(&target_directory).unwrap_or_else(|_| target_directory.into());
    let search = ucx_probe::Search::new(&target).target_directory(target_directory);
    if let Err(missing) = search.find() {
        output::say(&format!("missing on this machine: {missing}"));
    }
    output::result(&format!(
        "next:\n    cd {}\n    cargo run           # builds plugin and host, and prints what the plugin answers\n    \
         cargo test          # in process, and through a service\n    \
         cargo urom build    # {}.so, as a service wants it\n",
        directory.display(),
        answers.plugin
    ))
}
