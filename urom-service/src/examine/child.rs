//! The process in which a plugin is examined. It writes one [`Step`] for each that it has done.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Result, ensure};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, getppid, getrlimit, set_parent_process_death_signal, setrlimit,
};

use super::{MOST, Step};
use crate::plugin_file::{Loaded, missing};

/// Examines `file` for the process `parent`, as [`EXAMINE`](super::EXAMINE) with both as arguments.
pub(crate) fn run(parent: &OsStr, file: &Path) -> Result<()> {
    end_with(parent)?;
    // No core dump of a process that is expected to crash.
    lower(Resource::Core, 0)?;
    lower(Resource::Fsize, MOST)?;
    let mut out = crate::take_stdout()?;
    match ask(file, &mut out) {
        Err(error) => tell(&mut out, &Step::Refused(error.downcast()?)),
        told => told,
    }
}

/// Makes this process end with its parent. A parent that ended before this call sends no signal, but
/// this process then has another one.
fn end_with(parent: &OsStr) -> Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let parent = parent.to_str().and_then(|parent| parent.parse().ok()).and_then(Pid::from_raw);
    ensure!(getppid() == parent, "the process that asked for this is gone");
    Ok(())
}

fn lower(resource: Resource, most: u64) -> Result<()> {
    let Rlimit { current, maximum } = getrlimit(resource);
    let lower = |limit: Option<u64>| Some(limit.map_or(most, |limit| limit.min(most)));
    Ok(setrlimit(resource, Rlimit { current: lower(current), maximum: lower(maximum) })?)
}

fn ask(file: &Path, out: &mut File) -> Result<()> {
    let loaded = Loaded::load(file)?;
    tell(out, &Step::Loaded)?;
    tell(out, &Step::Version(loaded.version()?))?;
    let iface = loaded.iface()?;
    tell(out, &Step::Iface { word: iface.api_version as u64, missing: missing(&iface).collect() })
}

fn tell(out: &mut File, step: &Step) -> Result<()> {
    Ok(out.write_all(&postcard::to_stdvec(step)?)?)
}
