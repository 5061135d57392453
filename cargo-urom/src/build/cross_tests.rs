//! Simulated machines: directories for `PATH`, shell scripts as tools, cargo's configuration.

use std::collections::HashMap;
use std::process::Stdio;

use super::*;

const ARM: &str = "aarch64-unknown-linux-gnu";
const GCC: &str = "aarch64-linux-gnu-gcc";
const LINKER: &str = "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER";
const CC: &str = "CC_aarch64_unknown_linux_gnu";

const COMPILER: &str = "echo /usr/lib/libc.so";

struct Sample {
    root: tempfile::TempDir,
    variables: HashMap<String, OsString>,
}

impl Sample {
    fn bare() -> Sample {
        let root = tempfile::tempdir().expect("a temporary directory");
        let path = root.path().join("bin");
        let sample = Sample { variables: HashMap::from([("PATH".to_owned(), path.into())]), root };
        for directory in ["bin", "lib", "home", "project/.cargo"] {
            fs::create_dir_all(sample.path(directory)).expect("a directory");
        }
        sample.tool("rustc", &format!("echo '{}'", sample.path("lib").display()));
        sample
    }

    fn whole() -> Sample {
        let sample = Sample::bare();
        sample.file("lib/libstd-0123.rlib", "");
        sample.tool(GCC, COMPILER);
        sample
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.root.path().join(relative)
    }

    fn file(&self, relative: &str, text: &str) {
        fs::write(self.path(relative), text).expect("a file");
    }

    /// Uses a shell: a file that another test's child has open for writing cannot be run.
    fn tool(&self, name: &str, script: &str) {
        let mut shell = Command::new("sh");
        shell.args(["-c", "cat >\"$0\" && chmod +x \"$0\""]).arg(self.path("bin").join(name));
        let mut shell = shell.stdin(Stdio::piped()).spawn().expect("a shell");
        let mut input = shell.stdin.take().expect("it is piped");
        std::io::Write::write_all(&mut input, format!("#!/bin/sh\n{script}\n").as_bytes())
            .expect("it reads");
        drop(input);
        assert!(shell.wait().expect("it ends").success());
    }

    fn set(&mut self, name: &str, value: &str) {
        self.variables.insert(name.to_owned(), value.into());
    }

    fn prepare_for(&self, triple: &str) -> Result<HashMap<String, String>> {
        let options = ResolveOptions::default()
            .env(self.variables.clone())
            .cargo_home(self.path("home"))
            .rustc(cargo_config2::PathAndArgs::new(self.path("bin/rustc")));
        let variables = self.variables.clone();
        let here = BuildMachine::new(
            &self.path("project"),
            move |name| variables.get(name).cloned(),
            options,
        )?;
        Ok(here.prepare(triple)?.into_iter().collect())
    }

    fn prepare(&self) -> Result<HashMap<String, String>> {
        self.prepare_for(ARM)
    }

    fn refuses(&self, parts: &[&str]) {
        let text = self.prepare().expect_err("something is missing").to_string();
        for part in parts {
            assert!(text.contains(part), "`{part}` is not in:\n{text}");
        }
        assert_eq!(text.contains("rustup"), parts.iter().any(|part| part.contains("rustup")));
    }
}

#[test]
fn a_machine_that_has_all_gets_linker_and_compiler_set() {
    for name in [GCC, "aarch64-unknown-linux-gnu-gcc", "aarch64-none-linux-gnu-gcc"] {
        let sample = Sample::whole();
        fs::remove_file(sample.path("bin").join(GCC)).expect("it is there");
        sample.tool(name, COMPILER);
        let set = [LINKER, CC].map(|variable| (variable.to_owned(), name.to_owned()));
        assert_eq!(sample.prepare().expect("it has all"), HashMap::from(set));
    }
}

#[test]
fn everything_that_is_missing_is_said_at_once_with_its_command() {
    let mut sample = Sample::bare();
    sample.refuses(&[
        "cannot build for aarch64-unknown-linux-gnu yet; this machine lacks\n",
        "\n      with rustup: rustup target add aarch64-unknown-linux-gnu\n",
        "none of aarch64-linux-gnu-gcc, aarch64-unknown-linux-gnu-gcc, aarch64-none-linux-gnu-gcc \
         is on the PATH",
        "\n      on Debian or Ubuntu: apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross\n",
        "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=PROGRAM",
    ]);
    sample.set("RUSTUP_TOOLCHAIN", "nightly");
    sample.refuses(&["rustup target add --toolchain nightly aarch64-unknown-linux-gnu"]);
    let other = sample.prepare_for("x86_64-unknown-linux-gnu").expect_err("it is bare");
    let text = other.to_string();
    assert!(text.contains("apt-get install gcc-x86-64-linux-gnu libc6-dev-amd64-cross"), "{text}");
}

#[test]
fn a_compiler_without_a_c_library_is_found_out_before_the_build() {
    let sample = Sample::whole();
    for script in ["echo libc.so", "exit 1"] {
        sample.tool(GCC, script);
        sample.refuses(&["C library", "apt-get install libc6-dev-arm64-cross"]);
    }
    // Debian's package is not for Arm's compiler.
    fs::remove_file(sample.path("bin").join(GCC)).expect("it is there");
    sample.tool("aarch64-none-linux-gnu-gcc", "exit 1");
    let text = sample.prepare().expect_err("it lacks a C library").to_string();
    assert!(text.contains("C library") && !text.contains("apt-get"), "{text}");
}

#[test]
fn an_unexecutable_file_is_not_a_compiler() {
    let sample = Sample::whole();
    let gcc = sample.path("bin").join(GCC);
    fs::set_permissions(&gcc, fs::Permissions::from_mode(0o644)).expect("it is ours");
    sample.refuses(&["none of"]);
    fs::remove_file(&gcc).expect("it is there");
    fs::create_dir(&gcc).expect("a directory");
    sample.refuses(&["none of"]);
}

#[test]
fn the_users_linker_is_left_as_it_is() {
    let configuration = "[target.aarch64-unknown-linux-gnu]\nlinker = \"my-linker\"\n";
    let flags = "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS";
    let ways: [&dyn Fn(&mut Sample); 3] = [
        &|sample| sample.set(LINKER, "my-linker"),
        &|sample| sample.file("project/.cargo/config.toml", configuration),
        &|sample| sample.set(flags, "-Clinker=my-linker"),
    ];
    for way in ways {
        let mut sample = Sample::whole();
        way(&mut sample);
        sample.tool("my-linker", "exit 1");
        assert_eq!(sample.prepare().expect("it has all"), HashMap::new());
    }
}

#[test]
fn a_configured_linker_that_is_not_there_is_named() {
    let mut sample = Sample::whole();
    sample.set(LINKER, "my-linker");
    sample.refuses(&["the linker `my-linker`"]);
    let absolute = sample.path("elsewhere/ld").display().to_string();
    sample.set(LINKER, &absolute);
    sample.refuses(&[&absolute]);
}

#[test]
fn the_users_c_compiler_is_left_as_it_is() {
    for name in [CC, "CC_aarch64-unknown-linux-gnu", "TARGET_CC"] {
        let mut sample = Sample::whole();
        sample.set(name, "clang");
        let environment = sample.prepare().expect("it has all");
        assert!(!environment.contains_key(CC), "{name}: {environment:?}");
    }
}

#[test]
fn an_unknown_target_is_refused_at_once() {
    let sample = Sample::bare();
    let refusal = |triple| sample.prepare_for(triple).expect_err("it is unknown").to_string();
    assert!(refusal("riscv64gc-unknown-linux-gnu").contains("x86_64 and aarch64"));
    sample.tool("rustc", "echo >&2; echo 'error: no such target' >&2; exit 1");
    assert_eq!(
        refusal("aarch64-unknown-nothing"),
        "rustc does not support the target aarch64-unknown-nothing: error: no such target"
    );
}

#[test]
fn a_configuration_that_is_none_is_an_error() {
    let sample = Sample::whole();
    sample.file("project/.cargo/config.toml", "[target\n");
    let error = sample.prepare().expect_err("it is broken");
    assert!(format!("{error:#}").contains("cannot read cargo's configuration"), "{error:#}");
}
