//! The measured machine.

use std::fs;
use std::process::Command;

use crate::cores::Cores;
use anyhow::Result;

/// Describes in one line this machine, the parts available to this program, and the day in UTC.
pub(crate) fn describe() -> Result<String> {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = cpuinfo.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim())
    };
    let uname = rustix::system::uname();
    let [system, release] = [uname.sysname(), uname.release()].map(|name| name.to_string_lossy());
    let unnamed = format!("an unnamed {} processor", std::env::consts::ARCH);
    let cpu = field("model name").unwrap_or(&unnamed);
    let is_virtual = field("flags").is_some_and(|flags| flags.contains("hypervisor"));
    let what = if is_virtual { "cores of a virtual machine" } else { "cores" };
    let (date, cores, ucx) = (today(), Cores::find()?.count(), ucx::version());
    Ok(format!("{date}: {cores} {what}, {cpu}; {system} {release}; UCX {ucx}"))
}

/// Returns the day, such as `2026-01-31`, from `date`: only this function needs a calendar.
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
        let line = describe().unwrap();
        assert!(
            line.starts_with("20") && line.contains("UCX 1.") && !line.contains('\n'),
            "{line}"
        );
    }
}
