//! `cargo urom inspect`: shows the protocol of a plugin's file.

mod table;

use std::path::PathBuf;
use urom_message::plain;

use anyhow::{Result, bail};
use serde_json::{Value, json};
use urom_abi::describe::c_header;
use urom_abi::describe::section::Panic;

use crate::description::{InspectedFile, json};
use crate::elf::SYMBOLS;
use crate::{exit, output};

#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("help.txt"))]
pub(crate) struct InspectArgs {
    /// The plugin's file.
    #[arg(value_name = "FILE.so")]
    file: PathBuf,
    /// The output format.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// The same as --format json.
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people.
    Table,
    /// For scripts.
    Json,
    /// For hosts and plugins in C.
    CHeader,
}

pub(crate) fn run(args: &InspectArgs) -> Result<u8> {
    let file = InspectedFile::look(&args.file)?;
    let format = if args.json { Format::Json } else { args.format };
    match (format, &file.description) {
        (Format::Json, _) => output::json(&json_of(&file))?,
        (Format::Table, _) => output::result(&table::file(&file))?,
        (Format::CHeader, Some(description)) => {
            // The documentation in it is not trusted.
            let header = c_header(description.protocol);
            let lines: String = header.lines().map(|line| lined(line) + "\n").collect();
            output::result(&lines)?;
        }
        (Format::CHeader, None) => bail!(
            "{} does not describe its messages, so there is no header to be made: a plugin in C \
             has one of its own",
            file.path.display()
        ),
    }
    match file.missing() {
        Some(symbol) => {
            bail!("{} is not a plugin: it does not export `{symbol}`", file.path.display())
        }
        None => Ok(exit::DONE),
    }
}

/// Fields may be added, but not removed.
fn json_of(file: &InspectedFile) -> Value {
    let elf = &file.elf;
    let protocol = file.description.map(|description| {
        let mut protocol = json::protocol(description.protocol);
        let panic = match description.build.panic {
            Panic::Unwind => "unwind",
            Panic::Abort => "abort",
        };
        protocol["build"] = json!({ "kit": description.build.kit, "panic": panic });
        protocol
    });
    let symbol = |name| json!({ "name": name, "exported": elf.export(name).is_some() });
    json!({
        "file": file.path,
        "plugin": file.plugin_name().ok(),
        "machine": elf.machine.as_ref().ok(),
        "symbols": SYMBOLS.map(symbol),
        "needed": elf.needed,
        "described": protocol.is_some(),
        "protocol": protocol,
    })
}

/// Escapes control characters in a line, except tabs.
fn lined(line: &str) -> String {
    line.split('\t').map(plain).collect::<Vec<_>>().join("\t")
}
