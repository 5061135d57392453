//! A host and a plugin built by meson against the prefix: they link as with pkg-config alone, and
//! still work after the prefix is moved.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use urom_tests::c::{DEVICE, Host, Prefix, Service, prefix};
use urom_tests::{PluginDirectory, run};

use crate::linking::{LIBRARIES, entries, needed_of_doca};

const PROJECT: &str = "\
project('program', 'c', default_options: ['warning_level=2', 'werror=true', 'c_std=c11'])
add_project_arguments('-DDOCA_ALLOW_EXPERIMENTAL_API', '-D_GNU_SOURCE', language: 'c')
doca = [dependency('doca-urom', version: '>=2.7'), dependency('doca-common'), dependency('doca-argp')]
executable('host', 'service_start.c', dependencies: doca, link_args: '-Wl,--no-as-needed')
shared_module('worker_quiet', 'quiet_plugin.c', name_prefix: '', dependencies: dependency('doca-common'))
";

#[test]
fn programs_built_with_meson_need_docas_names_and_work_after_the_prefix_moved() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let (first, second) =
        (directory.path().join("first"), directory.path().join("second directory"));
    run(Command::new("cp").arg("-a").arg(prefix()?.root()).arg(&first))?;
    let sources = directory.path().join("program");
    fs::create_dir(&sources)?;
    fs::write(sources.join("meson.build"), PROJECT)?;
    for name in ["service_start.c", "quiet_plugin.c", "quiet.h", "check.h"] {
        fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("c").join(name), sources.join(name))?;
    }
    let build = sources.join("build");
    run(Command::new("meson")
        .arg("setup")
        .args([&build, &sources])
        .env("PKG_CONFIG_PATH", first.join("lib/pkgconfig")))?;
    run(Command::new("ninja").arg("-C").arg(&build))?;
    let (host, plugin) = (build.join("host"), build.join("worker_quiet.so"));
    assert_eq!(needed_of_doca(&host)?, LIBRARIES);
    assert_eq!(needed_of_doca(&plugin)?, ["libdoca_common.so.2"]);

    // Meson's run path to uninstalled libraries, which the rename breaks.
    ensure!(!entries(&plugin, "RUNPATH")?.is_empty(), "the plugin has a run path of its own");
    fs::rename(&first, &second)?;
    let moved = Prefix::at(&second);
    let mut plugins = PluginDirectory::with(&[])?;
    plugins.add(&plugin)?;
    let service =
        Service::daemon_of(&moved, plugins, |command| command.env_remove("LD_LIBRARY_PATH"))?;
    let output = Host::new(host).arg(DEVICE).run(&service)?.success()?;
    ensure!(output.stdout.contains("plugin worker_quiet\n"), "{}", output.stdout);
    let is_of_prefix = |line: &&str| line.contains("libdoca_");
    let mapped: Vec<_> = output.stdout.lines().filter(is_of_prefix).collect();
    let root = fs::canonicalize(&second)?.display().to_string();
    ensure!(!mapped.is_empty() && mapped.iter().all(|line| line.contains(&root)), "{mapped:?}");
    Ok(())
}
