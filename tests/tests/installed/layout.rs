//! What lies where, and what pkg-config says of it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result};
use urom_tests::c::prefix;

fn names(directory: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(directory).with_context(|| directory.display().to_string())?;
    let mut names = entries
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

/// Nothing else may lie there: a program's own headers must be found.
#[test]
fn the_headers_are_those_of_the_interface_and_the_plugins_have_a_folder() -> Result<()> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut expected = names(&workspace.join("urom-abi/include"))?;
    expected.push("urom".to_owned());
    expected.sort();
    let include = prefix()?.include();
    assert_eq!(names(&include)?, expected);
    assert!(
        expected.iter().all(|name| name.starts_with("doca_") || name.starts_with("urom")),
        "{expected:?}"
    );
    assert_eq!(names(&include.join("urom"))?, ["worker_graph.h", "worker_sandbox.h"]);
    Ok(())
}

#[test]
fn each_library_has_docas_three_names() -> Result<()> {
    let lib = prefix()?.lib();
    let mut expected = Vec::new();
    for library in ["libdoca_argp", "libdoca_common", "libdoca_urom"] {
        let [plain, soname, file] =
            ["so", "so.2", "so.2.7.0"].map(|end| format!("{library}.{end}"));
        assert_eq!(fs::read_link(lib.join(&plain)).context(plain.clone())?, Path::new(&soname));
        assert_eq!(fs::read_link(lib.join(&soname)).context(soname.clone())?, Path::new(&file));
        assert!(fs::symlink_metadata(lib.join(&file))?.is_file());
        expected.extend([plain, soname, file]);
    }
    let found: Vec<_> =
        names(&lib)?.into_iter().filter(|name| name.starts_with("libdoca")).collect();
    assert_eq!(found, expected);
    Ok(())
}

#[test]
fn lib64_is_another_name_of_lib() -> Result<()> {
    let prefix = prefix()?;
    assert_eq!(fs::read_link(prefix.root().join("lib64"))?, Path::new("lib"));
    assert_eq!(names(&prefix.root().join("lib64"))?, names(&prefix.lib())?);
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
fn what_makes_a_service_of_the_daemon_lies_where_packagers_look() -> Result<()> {
    let prefix = prefix()?;
    // UCX is there, too, if it is the kit's.
    let is_other = |name: &String| !name.starts_with("libdoca") && name != "urom-ucx";
    let others: Vec<_> = names(&prefix.lib())?.into_iter().filter(is_other).collect();
    assert_eq!(others, ["pkgconfig", "systemd", "sysusers.d"]);
    assert_eq!(names(&prefix.lib().join("systemd/system"))?, ["uromd.service"]);
    assert_eq!(names(&prefix.lib().join("sysusers.d"))?, ["urom.conf"]);
    let deploy = prefix.root().join("share/urom/deploy");
    assert_eq!(names(&deploy)?, ["container", "uromd.default"]);
    assert_eq!(names(&deploy.join("container"))?, ["Containerfile", "entrypoint", "uromd.yaml"]);
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
fn pkg_config_names_each_library_and_the_folders_of_the_prefix() -> Result<()> {
    let prefix = prefix()?;
    let libs = |module| prefix.pkg_config(&["--libs-only-l", "--libs-only-other"], &[module]);
    assert_eq!(libs("doca-common")?, ["-ldoca_common"]);
    assert_eq!(libs("doca-argp")?, ["-ldoca_argp", "-ldoca_common"]);
    assert_eq!(libs("doca-urom")?, ["-ldoca_urom", "-ldoca_common"]);
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
