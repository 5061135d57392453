//! The targets, and the requirements of building and running for each.

use std::process::Command;
use std::str::FromStr;

use anyhow::Context;

use crate::shell;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BuildTarget {
    /// Laptops and servers.
    X86_64,
    /// BlueField's cores.
    Aarch64,
}

impl BuildTarget {
    pub(crate) fn host() -> anyhow::Result<Self> {
        match std::env::consts::ARCH {
            "x86_64" => Ok(Self::X86_64),
            "aarch64" => Ok(Self::Aarch64),
            other => anyhow::bail!(
                "{other} is not supported: the UCX bindings exist for x86_64 and aarch64 Linux only"
            ),
        }
    }

    pub(crate) fn triple(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64-unknown-linux-gnu",
            Self::Aarch64 => "aarch64-unknown-linux-gnu",
        }
    }

    /// The processor's name in pip's platforms and the UCX directory.
    pub(crate) fn arch(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }

    /// Cargo's `LINKER` of this target, or the `RUNNER` of its programs, on `host`. `None` if cargo
    /// does not need one.
    pub(crate) fn program(self, purpose: &str, host: Self) -> Option<&'static str> {
        let is_it = |(name, _): &&(&str, _)| name.ends_with(&format!("_{purpose}"));
        self.environment(host).iter().find(is_it).map(|(_, words)| *words)
    }

    /// Cargo's variables to link and run programs of this target on `host`. Empty for the host
    /// itself. The emulator uses the cross compiler's C library.
    pub(crate) fn environment(self, host: Self) -> &'static [(&'static str, &'static str)] {
        match (self, host) {
            (Self::Aarch64, Self::X86_64) => &[
                ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc"),
                (
                    "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER",
                    "qemu-aarch64-static -L /usr/aarch64-linux-gnu",
                ),
                ("CC_aarch64_unknown_linux_gnu", "aarch64-linux-gnu-gcc"),
            ],
            _ => &[],
        }
    }
}

impl FromStr for BuildTarget {
    type Err = anyhow::Error;

    fn from_str(triple: &str) -> anyhow::Result<Self> {
        let all = [Self::X86_64, Self::Aarch64];
        let found = all.into_iter().find(|target| target.triple() == triple);
        let names = || all.map(Self::triple).join(" or ");
        found.with_context(|| format!("`{triple}` is not supported: name {}", names()))
    }
}

/// Cargo's `subcommand` for a target, or by default for this machine.
pub(crate) fn cargo(target: Option<BuildTarget>, subcommand: &str) -> anyhow::Result<Command> {
    let mut command = shell::cargo();
    command.arg(subcommand);
    if let Some(target) = target {
        let environment = target.environment(BuildTarget::host()?);
        command.args(["--target", target.triple()]).envs(environment.iter().copied());
    }
    Ok(command)
}

pub(crate) fn selected<'a>(
    packages: impl IntoIterator<Item = &'a str>,
) -> impl Iterator<Item = &'a str> {
    packages.into_iter().flat_map(|package| ["-p", package])
}
