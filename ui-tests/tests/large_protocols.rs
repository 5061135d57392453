//! The compile time of a protocol grows linearly with its commands.
#![cfg(not(miri))]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;
use std::{env, fs};

fn protocol(commands: usize) -> String {
    let mut text = String::from(
        "#[urom_abi::urom_notification] #[derive(Debug)] pub enum Notification { Done }
        #[urom_abi::urom_command(plugin = \"worker_large\", version = 1)]
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub enum Command {\n",
    );
    for number in 0..commands {
        writeln!(
            text,
            "#[urom(reply = Done)] Ask{number} {{ a: u32, b: u32, c: u32, d: u32, e: u32, f: u32 }},"
        )
        .expect("a text grows");
    }
    text + "}\n"
}

/// Returns rustc's user time in seconds for a source, or `None` on an error.
fn check(source: &str, dependencies: &Path, urom_abi: &Path) -> Option<f64> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = directory.join("large.rs");
    fs::write(&file, source).expect("the target directory takes files");
    let before = children();
    let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(["--edition=2024", "--crate-type=lib", "--emit=metadata", "--cap-lints=allow"]);
    rustc.arg("-L").arg(dependencies).arg("--out-dir").arg(directory).arg(&file);
    let urom_abi = format!("urom_abi={}", urom_abi.display());
    let output = rustc.args(["--extern", &urom_abi]).output().expect("there is a rustc");
    output.status.success().then(|| children() - before)
}

fn children() -> f64 {
    // SAFETY: zeros are a valid value of the structure.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is a writable local variable.
    let code = unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage) };
    assert_eq!(code, 0);
    usage.ru_utime.tv_sec as f64 + usage.ru_utime.tv_usec as f64 / 1e6
}

fn builds(dependencies: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dependencies).expect("the directory of this test");
    let mut found: Vec<(SystemTime, PathBuf)> = entries
        .flatten()
        .filter(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            name.starts_with("liburom_abi-") && name.ends_with(".rlib")
        })
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    found.sort();
    found.into_iter().rev().map(|(_, path)| path).collect()
}

#[test]
fn four_times_the_commands_take_about_four_times_the_time() {
    let program = env::current_exe().expect("a test is a file");
    let dependencies = program.parent().expect("it lies in a directory");
    let small = protocol(1);
    // A build may have other dependencies than the current ones.
    let builds = builds(dependencies);
    let urom_abi = builds.iter().find(|build| check(&small, dependencies, build).is_some());
    let urom_abi =
        urom_abi.unwrap_or_else(|| panic!("none of {builds:?} fits the rustc of this test"));
    let [start, some, many] = [1, 125, 500].map(|commands| {
        let took = check(&protocol(commands), dependencies, urom_abi);
        took.unwrap_or_else(|| panic!("a protocol of {commands} commands does not compile"))
    });
    let growth = (many - start) / (some - start);
    println!("125 commands take {some:.1} s, 500 take {many:.1} s: {growth:.1} times as long");
    // Quadratic growth would be 16. On a busy machine, with shared caches, 4 can become 6.
    assert!(growth < 8.0, "125 commands take {some:.1} s, and 500 take {many:.1} s");
}
