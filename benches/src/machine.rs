//! The machine that was measured.

use std::fs;
use std::process::Command;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::cores::Cores;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Machine {
    cpu: String,
    /// The cores that this program may use.
    cores: usize,
    kernel: String,
    ucx: String,
    /// The day of the measurement, in UTC.
    date: String,
    /// Whether the kernel says that this is a virtual machine.
    is_virtual: bool,
}

impl Machine {
    /// Describes this machine.
    pub(crate) fn find() -> Result<Machine> {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let field = |name: &str| {
            let line = cpuinfo.lines().find(|line| line.starts_with(name))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        };
        let uname = rustix::system::uname();
        let [machine, system, release] =
            [uname.machine(), uname.sysname(), uname.release()].map(|name| name.to_string_lossy());
        Ok(Machine {
            cpu: field("model name").unwrap_or_else(|| format!("an unnamed {machine} processor")),
            cores: Cores::find()?.count(),
            kernel: format!("{system} {release}"),
            ucx: ucx::version().to_string(),
            date: today(),
            is_virtual: field("flags")
                .is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor")),
        })
    }

    pub(crate) fn line(&self) -> String {
        let Machine { cpu, cores, kernel, ucx, date, is_virtual } = self;
        let what = if *is_virtual { "cores of a virtual machine" } else { "cores" };
        format!("{date}: {cores} {what}, {cpu}; {kernel}; UCX {ucx}")
    }
}

/// `2026-01-31`, from the system's program: nothing else here needs a calendar.
fn today() -> String {
    let output = Command::new("date").args(["-u", "+%Y-%m-%d"]).output();
    output.map_or_else(
        |_| "an unknown day".to_owned(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
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
