//! Plugin files that misbehave during loading, and their permissions.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Instant;

use rustix::process::Signal;
use urom_abi::{DocaError, DocaStatus};

use crate::discovery::source;
use crate::support::TIMEOUT;
use crate::support::client::{Client, any, op, serving};
use crate::support::plugins::Plugins;
use crate::support::uromd::Uromd;

#[test]
fn a_plugin_that_hangs_as_it_is_loaded_is_left_out_and_keeps_nobody_from_the_others() {
    let plugins = Plugins::obedient();
    plugins.add_source("hang", &hanging());
    let mut uromd = Uromd::start(&plugins);
    for _ in 0..2 {
        let mut client = Client::connect(uromd.address);
        let names: Vec<_> = client.plugins.iter().map(|entry| &entry.name[..]).collect();
        assert_eq!(names, ["obedient"]);
        let host = client.attach(any(), 1);
        assert_eq!(host.call(op::ECHO, 5).status, DocaStatus::SUCCESS);
    }
    uromd.logged(&["hang.so is not served", "it is being examined"]);
    uromd.signal(Signal::TERM);
    assert!(uromd.wait().success());
}

/// C code of a plugin that blocks its loader for ever.
pub(crate) fn hanging() -> String {
    as_loaded("for (;;) pause();")
}

/// C code of a plugin that runs a statement during loading.
fn as_loaded(what: &str) -> String {
    let text = source("*version = 1; return 0;", "return 0;");
    let head =
        "#include <signal.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n";
    format!("{head}{text}__attribute__((constructor)) static void as_loaded(void) {{ {what} }}\n")
}

#[test]
fn whatever_a_file_does_as_it_is_loaded_costs_a_line_of_the_log() {
    let plugins = Plugins::obedient();
    plugins.add_source("aborts", &as_loaded("puts(\"farewell\"); fflush(stdout); abort();"));
    plugins.add_source("exits", &as_loaded("exit(0);"));
    plugins.add_source("prints", &as_loaded("for (;;) puts(\"again\");"));
    let uromd = Uromd::start(&plugins);
    for _ in 0..2 {
        let names = Client::connect(uromd.address).plugins.into_iter().map(|entry| entry.name);
        assert_eq!(names.collect::<Vec<_>>(), ["obedient"]);
    }
    uromd.logged(&[
        "aborts.so is not served",
        "SIGABRT",
        "while it was loaded, and printed: farewell",
    ]);
    uromd.logged(&["exits.so is not served", "exit status: 0", "while it was loaded"]);
    // A search waits two seconds, and this may take longer.
    let begin = Instant::now();
    while uromd.lines_with_all(&["prints.so is not served", "it wrote 16 MiB"]) == 0 {
        assert!(begin.elapsed() < TIMEOUT, "it is not told");
        Client::connect(uromd.address);
    }
    for file in ["aborts", "exits"] {
        assert_eq!(uromd.lines_with_all(&["[WRN]", &format!("{file}.so is not served")]), 1);
    }
}

#[test]
fn no_plugin_is_examined_any_more_once_the_daemon_was_killed() {
    let plugins = Plugins::new();
    for spinning in 0..4 {
        plugins.add_source(&format!("spins{spinning}"), &as_loaded("for (;;) {}"));
    }
    // Kills the daemon while the others start, or at any later time.
    plugins.add_source("kills", &as_loaded("kill(getppid(), SIGKILL);"));
    let mut uromd = Uromd::start(&plugins);
    uromd.wait();
    let directory = plugins.path().to_str().unwrap();
    let is_examined = |process: &fs::DirEntry| {
        let words = fs::read(process.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&words).contains(directory)
    };
    let begin = Instant::now();
    while fs::read_dir("/proc").unwrap().map(Result::unwrap).any(|process| is_examined(&process)) {
        assert!(begin.elapsed() < TIMEOUT, "a plugin is examined");
        std::thread::yield_now();
    }
}

#[test]
fn a_plugin_that_misses_docas_libraries_is_told_where_they_are() {
    let (plugins, absent) = (Plugins::new(), Plugins::new());
    let library = absent.add_source("libdoca_common", "int doca_log;\n");
    // Linked with a library that is missing when the plugin is loaded.
    let uses = "extern int doca_log; int *address(void) { return &doca_log; }\n";
    let text = format!("{}{uses}", source("*version = 1; return 0;", "return 0;"));
    plugins.add_linked("orphan", &text, &library);
    fs::remove_file(library).unwrap();
    let uromd = Uromd::start(&plugins);
    Client::connect(uromd.address);
    uromd.logged(&["orphan.so is not served", "libdoca_common", "LD_LIBRARY_PATH"]);
}

#[test]
fn paths_that_others_may_write_to_are_skipped_with_the_reason() {
    let (open, sticky, good) = (Plugins::new(), Plugins::new(), Plugins::new());
    let text = source("*version = 1; return 0;", "return 0;");
    for (plugins, name) in [(&open, "a"), (&sticky, "b"), (&good, "c"), (&good, "d")] {
        plugins.add_source(name, &text);
    }
    let set =
        |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    set(open.path(), 0o777);
    set(sticky.path(), 0o1777);
    set(&good.path().join("d.so"), 0o666);
    // The file itself, in a directory that others may write to, and through a link.
    let file = open.path().join("a.so");
    std::os::unix::fs::symlink(&file, good.path().join("e.so")).unwrap();
    let entries =
        [open.path(), sticky.path(), &file, good.path()].map(|path| path.to_str().unwrap());
    let uromd = Uromd::start_with(&entries, &[]);
    let names: Vec<_> =
        Client::connect(uromd.address).plugins.into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["c"]);
    for parts in [
        [entries[0], "is skipped: others", "mode 0777"],
        [entries[1], "is skipped: others", "mode 1777"],
        [entries[2], "is not served: others", "mode 0777"],
        ["d.so is not served: others", "mode 0666", "chmod go-w"],
        ["e.so is not served: others", entries[0], "mode 0777"],
    ] {
        uromd.logged(&parts);
    }
    uromd.logged(&["found the plugin", "c.so"]);
    assert_eq!(uromd.lines_with("found the plugin"), 1);
    // The next host finds repaired files.
    set(open.path(), 0o755);
    let names: Vec<_> =
        Client::connect(uromd.address).plugins.into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["a", "c", "e"]);
}

#[test]
fn a_plugin_that_others_came_to_write_to_is_not_loaded_for_a_host_that_was_told_of_it() {
    let plugins = Plugins::obedient();
    let file = plugins.path().join("obedient.so");
    let set = |mode| fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
    let (_uromd, mut client) = serving(&plugins);
    set(0o666);
    let failure = client.start(any()).unwrap_err();
    assert_eq!(failure.code, DocaError::NOT_PERMITTED, "{failure}");
    for part in ["obedient.so is not loaded any more", "mode 0666", "chmod go-w"] {
        assert!(failure.text.contains(part), "{failure}");
    }
    // A repaired file is loaded.
    set(0o755);
    let host = client.attach(any(), 1);
    assert_eq!(host.call(op::ECHO, 1).status, DocaStatus::SUCCESS);
}
