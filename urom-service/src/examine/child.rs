//! The process that examines a plugin. It writes one [`ExamineStep`] for each completed step.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::mpsc;
use std::thread;

use anyhow::Result;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{
    Resource, Rlimit, Signal, getpid, getrlimit, kill_process, set_parent_process_death_signal,
    setrlimit,
};
use urom_abi::driver::Methods;

use super::{ExamineStep, MOST};
use crate::plugin_file::Loaded;

pub(crate) fn run(file: &Path) -> Result<()> {
    end_with_parent()?;
    lower(Resource::Core, 0)?;
    lower(Resource::Fsize, MOST)?;
    let mut out = crate::take_stdout()?;
    match ask(file, &mut out) {
        Err(error) => tell(&mut out, &ExamineStep::Refused(error.downcast()?)),
        told => told,
    }
}

/// Makes this process end with its client (not always the parent), which holds the other end of
/// standard input. A thread polls: a sibling between fork and exec briefly holds that end.
fn end_with_parent() -> Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let pipe = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    let (runs, running) = mpsc::channel();
    thread::Builder::new().name("parent".to_owned()).spawn(move || {
        let mut pipe = [PollFd::new(&pipe, PollFlags::empty())];
        let _ = runs.send(());
        while poll(&mut pipe, None) == Err(Errno::INTR) {}
        let _ = kill_process(getpid(), Signal::KILL);
    })?;
    // Wait for the thread: its start takes the loader lock, which is held while a plugin is loaded.
    Ok(running.recv()?)
}

fn lower(resource: Resource, most: u64) -> Result<()> {
    let Rlimit { current, maximum } = getrlimit(resource);
    let lower = |limit: Option<u64>| Some(limit.map_or(most, |limit| limit.min(most)));
    Ok(setrlimit(resource, Rlimit { current: lower(current), maximum: lower(maximum) })?)
}

fn ask(file: &Path, out: &mut File) -> Result<()> {
    // SAFETY: this process only runs this file; its limits and its end protect other processes.
    let loaded = unsafe { Loaded::load(file) }?;
    tell(out, &ExamineStep::Loaded)?;
    tell(out, &ExamineStep::Version(loaded.version()?))?;
    let iface = loaded.iface()?;
    tell(
        out,
        &ExamineStep::Iface {
            word: iface.api_version as u64,
            missing: Methods::missing(&iface).collect(),
        },
    )
}

fn tell(out: &mut File, step: &ExamineStep) -> Result<()> {
    Ok(out.write_all(&postcard::to_stdvec(step)?)?)
}
