//! The process in which a plugin is examined. It writes one [`Step`] for each that it has done.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Result, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setrlimit,
};

use super::{MOST, Step};
use crate::plugin_file::{Loaded, missing};

pub(crate) fn run(file: &Path) -> Result<()> {
    end_with_parent()?;
    // No core dump of a process that is expected to crash.
    lower(Resource::Core, 0)?;
    lower(Resource::Fsize, MOST)?;
    let mut out = crate::take_stdout()?;
    match ask(file, &mut out) {
        Err(error) => tell(&mut out, &Step::Refused(error.downcast()?)),
        told => told,
    }
}

/// Makes this process end with its parent. The parent has the other end of standard input: one that
/// was gone before has closed it.
fn end_with_parent() -> Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let mut stdin = [PollFd::from_borrowed_fd(rustix::stdio::stdin(), PollFlags::empty())];
    poll(&mut stdin, Some(&Timespec::default()))?;
    ensure!(stdin[0].revents().is_empty(), "the process that asked for this is gone");
    Ok(rustix::stdio::dup2_stdin(File::open("/dev/null")?)?)
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
