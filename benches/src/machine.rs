//! What a figure was measured on.

use std::fs;
use std::process::Command;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::cores::Cores;

/// The machine, as a reader of the figures wants to know it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Machine {
    /// The processor's name, as the kernel has it.
    pub(crate) cpu: String,
    /// How many cores this program may use.
    pub(crate) cores: usize,
    /// The kernel's name and release.
    pub(crate) kernel: String,
    /// The release of UCX.
    pub(crate) ucx: String,
    /// The day of the measurement, in UTC.
    pub(crate) date: String,
    /// Whether the kernel says that this is a virtual machine.
    pub(crate) is_virtual: bool,
}

impl Machine {
    /// Looks around.
    ///
    /// # Errors
    /// When the system does not say what its cores are.
    pub(crate) fn find() -> Result<Machine> {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let field = |name: &str| {
            let line = cpuinfo.lines().find(|line| line.starts_with(name))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        };
        let uname = rustix::system::uname();
        let machine = uname.machine().to_string_lossy();
        let version = ucx::version();
        Ok(Machine {
            cpu: field("model name")
                .unwrap_or_else(|| format!("a processor without a name, {machine}")),
            cores: Cores::find()?.count(),
            kernel: format!(
                "{} {}",
                uname.sysname().to_string_lossy(),
                uname.release().to_string_lossy()
            ),
            ucx: version.to_string(),
            date: today(),
            is_virtual: field("flags")
                .is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor")),
        })
    }

    /// All of it in a line.
    pub(crate) fn line(&self) -> String {
        let Machine { cpu, cores, kernel, ucx, date, is_virtual } = self;
        let what = if *is_virtual { "cores of a virtual machine" } else { "cores" };
        format!("{date}: {cores} {what}, {cpu}; {kernel}; UCX {ucx}")
    }
}

/// `2026-01-31`, of the system's own making: nothing else here needs a calendar.
fn today() -> String {
    let output = Command::new("date").args(["-u", "+%Y-%m-%d"]).output();
    output.map_or_else(
        |_| "a day without a date".to_owned(),
        |o| String::from_utf8_lossy(&o.stdout).trim().to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_described_in_one_line() {
        let line = Machine::find().unwrap().line();
        assert!(
            line.starts_with("20") && line.contains("UCX 1.") && !line.contains('\n'),
            "{line}"
        );
    }
}
