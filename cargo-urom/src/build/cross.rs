//! What a build for another machine needs: Rust's standard library, and a linker with a C library.
//! Everything that is missing is reported at once; the build itself reports a missing UCX. Nothing
//! of the target is run.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use cargo_config2::{Config, ResolveOptions};

use crate::elf::Machine;

/// The environment in which cargo builds for `triple` here.
pub(crate) fn prepare(triple: &str) -> Result<Vec<(String, String)>> {
    let directory = env::current_dir().context("cannot tell the working directory")?;
    Here::new(&directory, |name| env::var_os(name), ResolveOptions::default())?.prepare(triple)
}

type Variables = dyn Fn(&str) -> Option<OsString>;

/// This machine.
struct Here {
    config: Config,
    variable: Box<Variables>,
}

/// A line on what is missing, and the remedies, of which one helps.
fn lack(what: impl Display, remedies: &[String]) -> String {
    let remedies: String = remedies.iter().map(|remedy| format!("\n      {remedy}")).collect();
    format!("\n  - {what}{remedies}")
}

/// The C compilers for a machine, as Debian, crosstool-NG and Arm name them, and Debian's packages
/// of the first and of its C library.
fn compilers(machine: Machine) -> ([String; 3], [&'static str; 2]) {
    let (arch, packages) = match machine {
        Machine::Aarch64 => ("aarch64", ["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"]),
        Machine::X86_64 => ("x86_64", ["gcc-x86-64-linux-gnu", "libc6-dev-amd64-cross"]),
    };
    let ends = ["linux-gnu", "unknown-linux-gnu", "none-linux-gnu"];
    (ends.map(|end| format!("{arch}-{end}-gcc")), packages)
}

impl Here {
    fn new(
        directory: &Path,
        variable: impl Fn(&str) -> Option<OsString> + 'static,
        options: ResolveOptions,
    ) -> Result<Here> {
        let config = Config::load_with_options(directory, options)
            .context("cannot read cargo's configuration")?;
        Ok(Here { config, variable: Box::new(variable) })
    }

    fn prepare(&self, triple: &str) -> Result<Vec<(String, String)>> {
        let machine = Machine::of_target(triple).with_context(|| {
            format!("cannot build for {triple}: a service runs on x86_64 and aarch64 Linux")
        })?;
        let (compilers, packages) = compilers(machine);
        let linker_variable =
            format!("CARGO_TARGET_{}_LINKER", triple.replace('-', "_").to_uppercase());
        let mut missing: Vec<String> = self.without_standard_library(triple)?.into_iter().collect();
        let mut environment = Vec::new();
        if self.has_linker_of_the_users(triple)? {
            missing.extend(self.without_configured_linker(triple)?);
        } else if let Some(compiler) = compilers.iter().find(|name| self.on_path(name).is_some()) {
            missing.extend(self.without_c_library(compiler, packages[1]));
            environment.push((linker_variable, compiler.clone()));
            let names = [
                format!("CC_{triple}"),
                ucx_probe::of_target("CC", triple),
                "TARGET_CC".to_owned(),
            ];
            if names.iter().all(|name| (self.variable)(name).is_none()) {
                environment.push((names[1].clone(), compiler.clone()));
            }
        } else {
            missing.push(lack(
                format!("a linker for it: none of {} is on the PATH", compilers.join(", ")),
                &[
                    format!("apt-get install {}", packages.join(" ")),
                    format!("{linker_variable}=PROGRAM, for one with another name"),
                ],
            ));
        }
        if missing.is_empty() {
            return Ok(environment);
        }
        bail!("cannot build for {triple} yet; this machine lacks{}", missing.concat())
    }

    fn without_standard_library(&self, triple: &str) -> Result<Option<String>> {
        let mut rustc = Command::from(self.config.rustc());
        rustc.args(["--print", "target-libdir", "--target", triple]);
        let output = rustc.output().context("cannot run rustc")?;
        let first = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned()
        };
        if !output.status.success() {
            bail!("rustc does not know the target {triple}: {}", first(&output.stderr));
        }
        let is_std =
            |entry: fs::DirEntry| entry.file_name().as_encoded_bytes().starts_with(b"libstd-");
        if fs::read_dir(first(&output.stdout)).into_iter().flatten().flatten().any(is_std) {
            return Ok(None);
        }
        // Rustup tells which of its toolchains this is.
        let toolchain = (self.variable)("RUSTUP_TOOLCHAIN");
        let toolchain =
            toolchain.map_or_else(String::new, |name| format!("--toolchain {} ", name.display()));
        let remedy = format!("rustup target add {toolchain}{triple}");
        Ok(Some(lack("Rust's standard library for it", &[remedy])))
    }

    /// Whether a variable or cargo's configuration says how to link for the target.
    fn has_linker_of_the_users(&self, triple: &str) -> Result<bool> {
        let about = || format!("cannot read cargo's configuration of {triple}");
        let flags = self.config.rustflags(triple).with_context(about)?;
        let in_flags =
            flags.is_some_and(|flags| flags.flags.iter().any(|flag| flag.contains("linker=")));
        Ok(in_flags || self.config.linker(triple).with_context(about)?.is_some())
    }

    fn without_configured_linker(&self, triple: &str) -> Result<Option<String>> {
        let linker = self.config.linker(triple)?;
        Ok(linker.filter(|linker| self.on_path(linker).is_none()).map(|linker| {
            lack(
                format!(
                    "the linker `{}`, which cargo's configuration names for it",
                    linker.display()
                ),
                &["install it, or take its name out of the configuration or the environment"
                    .into()],
            )
        }))
    }

    /// Without recommended packages, Debian's cross compiler comes without a C library.
    fn without_c_library(&self, compiler: &str, package: &str) -> Option<String> {
        let program = self.on_path(compiler)?;
        let output = Command::new(program).arg("-print-file-name=libc.so").output();
        // It answers with the bare name when there is none.
        let has_one = output.is_ok_and(|output| output.stdout.contains(&b'/'));
        let remedy = format!("apt-get install {package}");
        (!has_one).then(|| lack(format!("the C library that {compiler} links with"), &[remedy]))
    }

    /// Where a program is: on the PATH, or at its own path.
    fn on_path(&self, program: impl AsRef<OsStr>) -> Option<PathBuf> {
        let path = (self.variable)("PATH").unwrap_or_default();
        // Joining an absolute path gives that path.
        let mut places = env::split_paths(&path).map(|directory| directory.join(program.as_ref()));
        places.find(|file| {
            fs::metadata(file)
                .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
        })
    }
}

#[cfg(test)]
#[path = "cross_tests.rs"]
mod tests;
