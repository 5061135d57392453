//! Installed files, exports and dependencies of the libraries, and the results of pkg-config and
//! loaders.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use urom_tests::Transcript;
use urom_tests::c::prefix;

fn transcript(file: &str) -> Result<()> {
    let (mut transcript, prefix) = (Transcript::new()?, prefix()?);
    let warnings = "-Wall -Wextra -Werror -DDOCA_ALLOW_EXPERIMENTAL_API";
    transcript.set("PREFIX", prefix.root());
    transcript.set("PKG_CONFIG_PATH", prefix.lib().join("pkgconfig"));
    transcript.set("LIBRARIES", prefix.library_path());
    transcript.set("WARNINGS", warnings);
    transcript.set("CC", format!("cc {warnings}"));
    transcript.check(Path::new("installed").join(file))
}

#[test]
fn files_and_modules() -> Result<()> {
    transcript("layout.md")
}

#[test]
fn linkers_and_loaders() -> Result<()> {
    transcript("linking.md")
}

fn exported(library: &Path) -> Result<BTreeSet<String>> {
    let listed = Command::new("nm").args(["-D", "--defined-only"]).arg(library).output()?;
    ensure!(listed.status.success(), "nm: {}", String::from_utf8_lossy(&listed.stderr));
    let text = String::from_utf8(listed.stdout)?;
    let names = text.lines().filter_map(|line| line.split(' ').nth(2));
    let is_ours = |name: &&str| name.starts_with("doca_") || name.starts_with("urom_");
    Ok(names.filter(is_ours).map(str::to_owned).collect())
}

#[test]
fn each_library_exports_the_functions_that_the_headers_declare_of_it() -> Result<()> {
    let lib = prefix()?.lib();
    let owner = |name: &str| match name {
        _ if name.starts_with("doca_argp_") => "libdoca_argp",
        _ if name.starts_with("doca_urom_") || name.starts_with("urom_") => "libdoca_urom",
        _ => "libdoca_common",
    };
    let mut expected = BTreeMap::<&str, BTreeSet<String>>::new();
    for name in c_interface::declared() {
        if !name.starts_with("urom_plugin_") {
            expected.entry(owner(&name)).or_default().insert(name);
        }
    }
    for (library, names) in &expected {
        assert_eq!(exported(&lib.join(format!("{library}.so")))?, *names, "{library}");
    }
    assert_eq!(expected.len(), 3);
    let all = expected.into_values().flatten().collect();
    assert_eq!(exported(&lib.join("liburom_doca.so"))?, all);
    Ok(())
}
