//! What lies where, and what pkg-config says of it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result};
use urom_tests::c::prefix;

/// The names in a directory, in order.
fn names(directory: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(directory).with_context(|| directory.display().to_string())?;
    let mut names = entries
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

#[test]
fn the_headers_are_those_of_the_interface_and_of_the_plugins() -> Result<()> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut expected = names(&workspace.join("urom-abi/include"))?;
    expected.extend(["worker_graph.h", "worker_sandbox.h"].map(str::to_owned));
    expected.sort();
    assert_eq!(names(&prefix()?.include())?, expected);
    Ok(())
}

#[test]
fn six_names_lead_to_one_library() -> Result<()> {
    let lib = prefix()?.lib();
    let one = "libdoca_urom.so.2.7.0";
    let mut expected = vec![one.to_owned()];
    for library in ["libdoca_argp", "libdoca_common", "libdoca_urom"] {
        for end in ["so", "so.2"] {
            let name = format!("{library}.{end}");
            assert_eq!(fs::read_link(lib.join(&name)).context(name.clone())?, Path::new(one));
            expected.push(name);
        }
    }
    expected.sort();
    let found: Vec<_> = names(&lib)?.into_iter().filter(|name| name.starts_with("libdoca")).collect();
    assert_eq!(found, expected);
    assert!(fs::symlink_metadata(lib.join(one))?.is_file());
    Ok(())
}

#[test]
fn the_daemon_can_be_started_by_everybody() -> Result<()> {
    let prefix = prefix()?;
    assert_eq!(names(&prefix.root().join("bin"))?, ["uromd"]);
    assert_eq!(fs::metadata(prefix.uromd())?.permissions().mode() & 0o555, 0o555);
    Ok(())
}

#[test]
fn pkg_config_knows_the_modules_their_version_and_what_they_need() -> Result<()> {
    let prefix = prefix()?;
    for (module, requires) in
        [("doca-common", &[][..]), ("doca-argp", &["doca-common"]), ("doca-urom", &["doca-common"])]
    {
        assert_eq!(prefix.pkg_config(&["--modversion"], &[module])?, ["2.7.0"]);
        assert_eq!(prefix.pkg_config(&["--print-requires"], &[module])?, requires);
        assert!(prefix.pkg_config(&["--atleast-version=2.8"], &[module]).is_err());
    }
    assert!(prefix.pkg_config(&["--cflags"], &["doca-no-such-module"]).is_err());
    Ok(())
}

#[test]
fn pkg_config_names_each_library_with_its_major_version() -> Result<()> {
    let prefix = prefix()?;
    let libs = |module| prefix.pkg_config(&["--libs-only-l", "--libs-only-other"], &[module]);
    assert_eq!(libs("doca-common")?, ["-l:libdoca_common.so.2"]);
    assert_eq!(libs("doca-argp")?, ["-l:libdoca_argp.so.2", "-l:libdoca_common.so.2"]);
    assert_eq!(libs("doca-urom")?, ["-l:libdoca_urom.so.2", "-l:libdoca_common.so.2"]);
    let same = |flag: &str, start: &str, place: &Path| -> Result<()> {
        let answer = prefix.pkg_config(&[flag], &["doca-urom", "doca-argp"])?;
        let [only] = &answer[..] else { anyhow::bail!("{flag}: {answer:?}") };
        let directory = only.strip_prefix(start).with_context(|| format!("{flag}: {only}"))?;
        assert_eq!(fs::canonicalize(directory)?, fs::canonicalize(place)?);
        Ok(())
    };
    same("--cflags", "-I", &prefix.include())?;
    same("--libs-only-L", "-L", &prefix.lib())
}
