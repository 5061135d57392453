//! Plugins of this kit, driven by a C program that knows nothing of the kit: plain, and under valgrind.
//!
//! The program is `c_driver.c`; it is compiled here against this project's own `doca_urom_plugin.h`.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The driver, compiled once.
fn driver() -> &'static Path {
    static DRIVER: OnceLock<PathBuf> = OnceLock::new();
    DRIVER.get_or_init(|| {
        let compiler = cc::Build::new()
            .cargo_metadata(false)
            .target(&format!("{}-unknown-linux-gnu", env::consts::ARCH))
            .host("x86_64-unknown-linux-gnu")
            .opt_level(1)
            .debug(true)
            .try_get_compiler()
            .expect("a C compiler: run `cargo xtask setup`");
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("c_driver-{}", env::consts::ARCH));
        let status = compiler
            .to_command()
            .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-I"])
            .arg(here.join("../../../urom-abi/include"))
            .arg(here.join("tests/c_driver.c"))
            .arg("-o")
            .arg(&program)
            .arg("-ldl")
            .status()
            .expect("the C compiler starts: run `cargo xtask setup`");
        assert!(status.success(), "c_driver.c does not compile");
        program
    })
}

/// A plugin that was built beside this test.
fn plugin(package: &str, name: &str) -> PathBuf {
    let this = env::current_exe().expect("the path of this test");
    let profile = this.ancestors().nth(2).expect("tests are built in PROFILE/deps");
    let path = profile.join(format!("lib{name}.so"));
    assert!(
        path.is_file(),
        "{} does not exist: `cargo build -p {package}` builds it, and `cargo xtask test` does that first",
        path.display()
    );
    path
}

/// Cargo's runner for this test's target: an emulator, when the target is another machine.
fn emulator() -> Vec<String> {
    let variable =
        format!("CARGO_TARGET_{}_UNKNOWN_LINUX_GNU_RUNNER", env::consts::ARCH.to_ascii_uppercase());
    let runner = env::var(variable).unwrap_or_default();
    runner.split_whitespace().map(str::to_owned).collect()
}

/// Runs the driver behind the words of `wrapper`; it must end well and say so.
fn drive(wrapper: &[String], which: &str, plugin: &Path) {
    let mut words = wrapper.iter();
    let mut command = match words.next() {
        Some(program) => Command::new(program),
        None => Command::new(driver()),
    };
    if !wrapper.is_empty() {
        command.args(words).arg(driver());
    }
    let output = command.arg(which).arg(plugin).output().unwrap_or_else(|error| {
        panic!("{:?} does not start ({error}): run `cargo xtask setup`", command.get_program())
    });
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{out}{err}", output.status);
    assert_eq!(out, format!("{which}: every rule holds\n"));
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

#[test]
fn the_graph_plugin_keeps_the_rules() {
    drive(&emulator(), "graph", &plugin("graph-plugin", "worker_graph"));
}

#[test]
fn a_plugin_that_panics_fails_and_hangs_keeps_the_rules() {
    drive(&emulator(), "faulty", &plugin("faulty-plugin", "worker_faulty"));
}

#[test]
#[cfg_attr(not(target_arch = "x86_64"), ignore = "valgrind does not run inside an emulator")]
fn the_graph_plugin_leaks_and_overreads_nothing() {
    drive(&valgrind(), "graph", &plugin("graph-plugin", "worker_graph"));
}

#[test]
#[cfg_attr(not(target_arch = "x86_64"), ignore = "valgrind does not run inside an emulator")]
fn a_plugin_that_panics_fails_and_hangs_leaks_and_overreads_nothing() {
    drive(&valgrind(), "faulty", &plugin("faulty-plugin", "worker_faulty"));
}
