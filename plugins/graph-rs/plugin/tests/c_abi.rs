//! Plugins of this kit, driven by C programs that do not use the kit: directly, and under valgrind.
//! The programs are compiled here against this project's own `doca_urom_plugin.h`.

mod support;

use std::env;
use std::path::PathBuf;
use std::process::Command;

use support::{compile, plugin};

fn program(name: &str, test: &str) -> PathBuf {
    compile(name, test, &["-rdynamic"], &["-ldl"])
}

fn graph() -> PathBuf {
    plugin("graph-plugin", "worker_graph")
}

fn faulty() -> PathBuf {
    plugin("faulty-plugin", "worker_faulty")
}

fn talkative() -> PathBuf {
    plugin("talkative-plugin", "worker_talkative")
}

/// Returns Cargo's runner for this test's target: an emulator for another machine.
fn emulator() -> Vec<String> {
    let variable =
        format!("CARGO_TARGET_{}_UNKNOWN_LINUX_GNU_RUNNER", env::consts::ARCH.to_ascii_uppercase());
    let runner = env::var(variable).unwrap_or_default();
    runner.split_whitespace().map(str::to_owned).collect()
}

fn valgrind() -> Vec<String> {
    let words = [
        "valgrind",
        "--quiet",
        "--error-exitcode=1",
        "--leak-check=full",
        "--errors-for-leak-kinds=definite,indirect,possible",
        "--show-leak-kinds=definite,indirect,possible",
    ];
    words.map(str::to_owned).to_vec()
}

struct Written {
    out: String,
    err: String,
}

fn run(words: impl IntoIterator<Item = PathBuf>) -> Written {
    let mut words = words.into_iter();
    let program = words.next().expect("a program");
    let output = Command::new(&program).args(words).output().unwrap_or_else(|error| {
        panic!("{} does not start ({error}): run `cargo xtask setup`", program.display())
    });
    let [out, err] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(output.status.success(), "{}\n{out}{err}", output.status);
    Written { out, err }
}

fn drive(wrapper: Vec<String>, which: &str, plugin: PathBuf, test: &str) {
    let words = [program("c_driver", test), which.into(), plugin];
    let written = run(wrapper.into_iter().map(PathBuf::from).chain(words));
    assert_eq!(written.out, format!("{which}: every rule holds\n"));
}

#[test]
fn the_graph_plugin_keeps_the_rules() {
    drive(emulator(), "graph", graph(), "graph");
}

#[test]
fn a_plugin_that_panics_fails_and_hangs_keeps_the_rules() {
    drive(emulator(), "faulty", faulty(), "faulty");
}

#[test]
#[cfg_attr(not(target_arch = "x86_64"), ignore = "valgrind does not run inside an emulator")]
fn the_graph_plugin_leaks_and_overreads_nothing() {
    drive(valgrind(), "graph", graph(), "graph-valgrind");
}

#[test]
#[cfg_attr(not(target_arch = "x86_64"), ignore = "valgrind does not run inside an emulator")]
fn a_plugin_that_panics_fails_and_hangs_leaks_and_overreads_nothing() {
    drive(valgrind(), "faulty", faulty(), "faulty-valgrind");
}

#[test]
fn a_plugin_writes_to_docas_log_where_there_is_one() {
    for (plugin, test) in [(faulty(), "log"), (talkative(), "log-by-others")] {
        let words = [program("c_log", test), plugin];
        let written = run(emulator().into_iter().map(PathBuf::from).chain(words));
        assert_eq!(written.out, "the plugin found the log\n");
        assert_eq!(written.err, "", "nothing goes to standard error as well");
    }
}
