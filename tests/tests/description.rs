//! Descriptions in plugin files that cargo built in various ways; the files are never loaded.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use object::{Object, ObjectSection, SectionFlags};
use urom_abi::describe::section::{self, Description, Panic, SECTION};
use urom_abi::describe::{Protocol, c_header};
use urom_abi::protocol::Protocol as _;

const PLUGINS: [(&str, &Protocol); 3] = [
    ("worker_graph", graph_protocol::Protocol::DESCRIPTION),
    ("worker_rdmo", rdmo_protocol::Protocol::DESCRIPTION),
    ("worker_sandbox", sandbox_protocol::Protocol::DESCRIPTION),
];

/// Builds the plugins in release mode in a separate directory.
fn released(rustc: &[&str]) -> Result<PathBuf> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("description");
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["build", "--frozen", "--quiet", "--color=never", "--release"])
        .args(["-p", "graph-plugin", "-p", "rdmo-plugin", "-p", "sandbox-plugin", "--target-dir"])
        .arg(&target)
        .env("CARGO_ENCODED_RUSTFLAGS", rustc.join("\u{1f}"))
        .current_dir(manifest);
    urom_tests::run(&mut cargo)?;
    Ok(target.join("release"))
}

/// Returns a file's description, and whether the file has debug symbol names.
fn look(file: &Path) -> Result<(Description, bool)> {
    let bytes = fs::read(file).with_context(|| format!("reading {}", file.display()))?;
    let elf = object::File::parse(&*bytes)?;
    let section = elf.section_by_name(SECTION).context("no section")?;
    let SectionFlags::Elf { sh_flags, .. } = section.flags() else { anyhow::bail!("not of ELF") };
    ensure!(
        sh_flags == object::elf::SHF_ALLOC,
        "the section is more than read-only data: {sh_flags:?}"
    );
    let at = section.address()..section.address() + section.size();
    let mut relocations = elf.dynamic_relocations().into_iter().flatten();
    ensure!(relocations.all(|(address, _)| !at.contains(&address)), "the description is relocated");
    Ok((section::read(section.data()?)?, elf.section_by_name(".symtab").is_some()))
}

fn each_describes_its_protocol(directory: &Path, panic: Panic, stripped: bool) -> Result<()> {
    for (name, protocol) in PLUGINS {
        let (description, symbols) = look(&directory.join(format!("lib{name}.so")))?;
        assert_eq!(description.protocol, protocol);
        assert_eq!(c_header(description.protocol), c_header(protocol));
        assert_eq!(
            (description.build.kit, description.build.panic),
            (env!("CARGO_PKG_VERSION"), panic)
        );
        assert_eq!(symbols, !stripped, "{name}");
    }
    Ok(())
}

#[test]
fn a_debug_build_describes_its_protocol() -> Result<()> {
    each_describes_its_protocol(&urom_tests::profile_directory()?, Panic::Unwind, false)
}

#[test]
fn a_stripped_release_build_describes_its_protocol() -> Result<()> {
    let directory = released(&["-Clink-arg=-Wl,--gc-sections", "-Cstrip=symbols"])?;
    each_describes_its_protocol(&directory, Panic::Unwind, true)
}

#[test]
fn strip_leaves_the_description() -> Result<()> {
    let directory = tempfile::tempdir()?;
    for (name, _) in PLUGINS {
        let file = directory.path().join(format!("lib{name}.so"));
        fs::copy(urom_tests::profile_directory()?.join(format!("lib{name}.so")), &file)?;
        urom_tests::run(Command::new("strip").arg("--strip-all").arg(&file))?;
    }
    each_describes_its_protocol(directory.path(), Panic::Unwind, true)
}

#[test]
fn programs_carry_no_description() -> Result<()> {
    let bytes = fs::read(env::current_exe()?)?;
    assert!(object::File::parse(&*bytes)?.section_by_name(SECTION).is_none());
    Ok(())
}
