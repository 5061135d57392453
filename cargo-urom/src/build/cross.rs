//! Requirements of a build for another machine: Rust's standard library, and a linker with a C
//! library. Reports all missing parts at once, except UCX, which the build reports.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use cargo_config2::{Config, ResolveOptions};

use crate::elf::ElfMachine;

pub(crate) fn prepare(triple: &str) -> Result<Vec<(String, String)>> {
    let directory = env::current_dir().context("the working directory is unknown")?;
    BuildMachine::new(&directory, |name| env::var_os(name), ResolveOptions::default())?
        .prepare(triple)
}

type Variables = dyn Fn(&str) -> Option<OsString>;

struct BuildMachine {
    config: Config,
    variable: Box<Variables>,
}

fn lack(what: impl Display, remedies: &[String]) -> String {
    let remedies: String = remedies.iter().map(|remedy| format!("\n      {remedy}")).collect();
    format!("\n  - {what}{remedies}")
}

const DEBIAN: &str = "on Debian or Ubuntu";

/// Returns C compilers of Debian, crosstool-NG and Arm, and packages for the first.
fn compilers(machine: ElfMachine) -> ([String; 3], [&'static str; 2]) {
    let (arch, packages) = match machine {
        ElfMachine::Aarch64 => ("aarch64", ["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"]),
        ElfMachine::X86_64 => ("x86_64", ["gcc-x86-64-linux-gnu", "libc6-dev-amd64-cross"]),
    };
    let ends = ["linux-gnu", "unknown-linux-gnu", "none-linux-gnu"];
    (ends.map(|end| format!("{arch}-{end}-gcc")), packages)
}

impl BuildMachine {
    fn new(
        directory: &Path,
        variable: impl Fn(&str) -> Option<OsString> + 'static,
        options: ResolveOptions,
    ) -> Result<BuildMachine> {
        let config = Config::load_with_options(directory, options)
            .context("cannot read cargo's configuration")?;
        Ok(BuildMachine { config, variable: Box::new(variable) })
    }

    fn prepare(&self, triple: &str) -> Result<Vec<(String, String)>> {
        let machine = ElfMachine::of_target(triple).with_context(|| {
            format!("cannot build for {triple}: a service runs on x86_64 and aarch64 Linux")
        })?;
        let (compilers, packages) = compilers(machine);
        let name = triple.replace('-', "_").to_uppercase();
        let linker_variable = format!("CARGO_TARGET_{name}_LINKER");
        let (mut missing, mut environment) = (Vec::new(), Vec::new());
        if !self.has_standard_library(triple)? {
            // Rustup sets this variable to its toolchain.
            let toolchain = (self.variable)("RUSTUP_TOOLCHAIN");
            let toolchain = toolchain.map(|name| format!("--toolchain {} ", name.display()));
            let remedy =
                format!("with rustup: rustup target add {}{triple}", toolchain.unwrap_or_default());
            missing.push(lack("Rust's standard library for it", &[remedy]));
        }
        // An environment variable or cargo's configuration may set a linker.
        let about = || format!("cannot read cargo's configuration of {triple}");
        let flags = self.config.rustflags(triple).with_context(about)?;
        let is_linker = |flag: &String| flag.contains("linker=");
        if let Some(linker) = self.config.linker(triple).with_context(about)? {
            if self.on_path(&linker).is_none() {
                let linker = linker.display();
                missing.push(lack(
                    format!("the linker `{linker}`, which cargo's configuration names for it"),
                    &["install it, or take its name out of the configuration or the environment"
                        .into()],
                ));
            }
        } else if flags.is_some_and(|flags| flags.flags.iter().any(is_linker)) {
        } else if let Some((compiler, program)) =
            compilers.iter().find_map(|name| Some((name, self.on_path(name)?)))
        {
            // Debian's C library is optional. Without it, the output is the bare name.
            let output = Command::new(program).arg("-print-file-name=libc.so").output();
            if !output.is_ok_and(|output| output.stdout.contains(&b'/')) {
                let remedy = format!("{DEBIAN}: apt-get install {}", packages[1]);
                let is_debians = *compiler == compilers[0];
                missing.push(lack(
                    format!("the C library that {compiler} links with"),
                    if is_debians { std::slice::from_ref(&remedy) } else { &[] },
                ));
            }
            environment.push((linker_variable, compiler.clone()));
            let own = ucx_probe::of_target("CC", triple);
            let is_set = |name: &str| (self.variable)(name).is_some();
            if ![&format!("CC_{triple}"), &own, "TARGET_CC"].into_iter().any(is_set) {
                environment.push((own, compiler.clone()));
            }
        } else {
            missing.push(lack(
                format!("a linker for it: none of {} is on the PATH", compilers.join(", ")),
                &[
                    format!("{DEBIAN}: apt-get install {}", packages.join(" ")),
                    format!("{linker_variable}=PROGRAM, for one with another name"),
                ],
            ));
        }
        if missing.is_empty() {
            return Ok(environment);
        }
        bail!("cannot build for {triple} yet; this machine lacks{}", missing.concat())
    }

    fn has_standard_library(&self, triple: &str) -> Result<bool> {
        let mut rustc = Command::from(self.config.rustc());
        rustc.args(["--print", "target-libdir", "--target", triple]);
        let output = rustc.output().context("cannot run rustc")?;
        let first = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned()
        };
        if !output.status.success() {
            bail!("rustc does not support the target {triple}: {}", first(&output.stderr));
        }
        let is_std =
            |entry: fs::DirEntry| entry.file_name().as_encoded_bytes().starts_with(b"libstd-");
        Ok(fs::read_dir(first(&output.stdout)).into_iter().flatten().flatten().any(is_std))
    }

    fn on_path(&self, program: impl AsRef<OsStr>) -> Option<PathBuf> {
        let path = (self.variable)("PATH").unwrap_or_default();
        // `join` with an absolute path returns that path.
        let mut files = env::split_paths(&path).map(|directory| directory.join(program.as_ref()));
        files.find(|file| {
            fs::metadata(file)
                .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
        })
    }
}

#[cfg(test)]
#[path = "cross_tests.rs"]
mod tests;
