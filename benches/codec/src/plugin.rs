//! What is measured of plugins: the instructions of a command, the worker's part of the descriptors included.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use crate::figure::Figure;
use crate::{callgrind, twin};

/// The plugins, what each is given to do, in which numbers, and in how many turns: of an exchange so many that how often UCX looks for
/// messages averages out.
const WORKS: [Work; 2] = [
    Work { name: "graph", work: "loopback", numbers: [1, 32], turns: 4096 },
    Work { name: "sandbox", work: "exchange", numbers: [2, 32], turns: 8192 },
];

struct Work {
    name: &'static str,
    work: &'static str,
    numbers: [usize; 2],
    /// Of one command each.
    turns: usize,
}

/// All figures of plugins.
///
/// # Errors
/// When one was not built, or does not do its work.
pub(crate) fn figures() -> Result<Vec<Figure>> {
    let directory = tempfile::tempdir()?;
    let mut figures = Vec::new();
    for Work { name, work, numbers, turns } in WORKS {
        let (rust, c) = (built(name)?, twin::compile(name, directory.path())?);
        for commands in numbers {
            let per_command = |file: &Path| -> Result<f64> {
                let commands_word = commands.to_string();
                let words = ["plugin".into(), file.into(), work.into(), commands_word.into()];
                Ok(callgrind::per_round(&words.map(|word: OsString| word), turns / commands)?
                    / commands as f64)
            };
            let (value, in_c) = (per_command(&rust)?, per_command(&c)?);
            figures.push(Figure::instructions(
                format!("plugin/{name}/{work}/{commands}-a-turn"),
                value,
                ("the same plugin in C", in_c),
                "a command, with worker_cmd, progress, notif_pack and both descriptors' malloc and free",
            ));
        }
    }
    Ok(figures)
}

/// A plugin of this build.
fn built(name: &str) -> Result<PathBuf> {
    let file = twin::beside()?.join(format!("libworker_{name}.so"));
    ensure!(
        file.exists(),
        "{} is not there: run `cargo build --release -p {name}-plugin`",
        file.display()
    );
    Ok(file)
}
