//! What lies where, and what pkg-config says of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
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

/// What a library defines for others, of DOCA's and of the kit's names.
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
    // By which two of them find each other.
    let private = "urom_libdoca_join".to_owned();
    expected.get_mut("libdoca_common").context("no functions")?.insert(private);
    for (library, names) in &expected {
        assert_eq!(exported(&lib.join(format!("{library}.so")))?, *names, "{library}");
    }
    assert_eq!(expected.len(), 3);
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
