//! Emulates a slow file system: look-ups of files that take as long as a test requires.
//!
//! The kernel asks this process about each `statx` of another process and its children, and waits
//! for the reply (seccomp's user notifications).

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use anyhow::{Context, Result, anyhow};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

#[derive(Debug)]
pub(super) struct Held {
    holds: Arc<AtomicBool>,
    /// One message for each held look-up.
    held: mpsc::Receiver<()>,
    /// A byte releases all held look-ups.
    release: UnixStream,
}

#[derive(Debug)]
pub(super) struct Asked(UnixStream);

/// Makes a command's process and its children ask about each look-up.
pub(super) fn ask(command: &mut Command) -> Result<Asked> {
    let (ours, theirs) = UnixStream::pair()?;
    let send = move || {
        let listener = listen()?;
        send_one(theirs.as_fd(), listener.as_fd())
    };
    // SAFETY: between fork and exec the closure makes plain system calls: no lock, no allocation.
    unsafe { command.pre_exec(send) };
    Ok(Asked(ours))
}

impl Asked {
    /// Starts to answer the questions, after the start of the command.
    pub(super) fn answer(self, about: &str) -> Result<Held> {
        let listener = receive_one(self.0.as_fd())?;
        let holds = Arc::new(AtomicBool::new(false));
        let (tell, held) = mpsc::channel();
        let (release, released) = UnixStream::pair()?;
        let (does_hold, about) = (Arc::clone(&holds), about.to_owned());
        thread::Builder::new().name("look-ups".to_owned()).spawn(move || {
            // The thread ends with the last process that can ask.
            let _ = serve(&listener, &about, &does_hold, &tell, released);
        })?;
        Ok(Held { holds, held, release })
    }
}

impl Held {
    pub(super) fn hold(&self) {
        self.holds.store(true, Ordering::SeqCst);
    }

    pub(super) fn wait(&self, limit: std::time::Duration) -> Result<()> {
        self.held.recv_timeout(limit).map_err(|_| anyhow!("no look-up was held within {limit:?}"))
    }

    pub(super) fn release(&mut self) -> Result<()> {
        self.holds.store(false, Ordering::SeqCst);
        Ok(self.release.write_all(&[1])?)
    }
}

fn serve(
    listener: &OwnedFd,
    about: &str,
    holds: &AtomicBool,
    tell: &mpsc::Sender<()>,
    mut released: UnixStream,
) -> io::Result<()> {
    let mut waiting = Vec::new();
    loop {
        let mut fds = [PollFd::new(listener, PollFlags::IN), PollFd::new(&released, PollFlags::IN)];
        poll(&mut fds, None)?;
        let [asked, let_go] = fds.map(|fd| fd.revents());
        if !let_go.is_empty() {
            released.read_exact(&mut [0])?;
            waiting.drain(..).for_each(|id| go_on(listener, id));
        }
        if asked.contains(PollFlags::IN) {
            let Some(question) = question(listener) else { continue };
            let is_about = path_of(&question).is_some_and(|path| path.contains(about));
            if is_about && holds.load(Ordering::SeqCst) {
                waiting.push(question.id);
                // The test may be over.
                let _ = tell.send(());
            } else {
                go_on(listener, question.id);
            }
        } else if !asked.is_empty() {
            return Ok(());
        }
    }
}

/// Makes the kernel ask about `statx`, and allow all other calls.
fn listen() -> io::Result<OwnedFd> {
    let nr = u32::try_from(std::mem::offset_of!(libc::seccomp_data, nr)).unwrap_or_default();
    let statx = u32::try_from(libc::SYS_statx).unwrap_or_default();
    let code = |code: u32| u16::try_from(code).unwrap_or_default();
    let step = |class: u32, jt, jf, k| libc::sock_filter { code: code(class), jt, jf, k };
    let mut steps = [
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, nr),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, statx),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_USER_NOTIF),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: the arguments are numbers, not pointers.
    if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `program` points to `steps` with their length, and both outlive the call.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_NEW_LISTENER,
            &raw const program,
        )
    };
    let fd = i32::try_from(fd).ok().filter(|fd| *fd >= 0).ok_or_else(io::Error::last_os_error)?;
    // SAFETY: the kernel just created the descriptor for this process; nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn question(listener: &OwnedFd) -> Option<libc::seccomp_notif> {
    // SAFETY: all fields are integers, so zeros are valid; the kernel requires zeros.
    let mut question: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    // SAFETY: `question` is a writable structure of the type that the kernel fills.
    let told = unsafe {
        libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut question)
    };
    // The process that asked may have ended.
    (told == 0).then_some(question)
}

fn path_of(question: &libc::seccomp_notif) -> Option<String> {
    let memory = std::fs::File::open(format!("/proc/{}/mem", question.pid)).ok()?;
    let mut bytes = [0; 4096];
    // The page after the text may be unmapped.
    let len = (1..=8)
        .rev()
        .find_map(|pages| memory.read_at(&mut bytes[..pages * 512], question.data.args[1]).ok())?;
    let text = bytes[..len].split(|byte| *byte == 0).next()?;
    String::from_utf8(text.to_vec()).ok()
}

fn go_on(listener: &OwnedFd, id: u64) {
    // SAFETY: all fields are integers, so zeros are valid.
    let mut answer: libc::seccomp_notif_resp = unsafe { std::mem::zeroed() };
    answer.id = id;
    answer.flags = u32::try_from(libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE).unwrap_or_default();
    // The process that asked may have ended, and then needs no answer.
    // SAFETY: `answer` is an initialised structure of the type that the kernel reads.
    let _ = unsafe {
        libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw const answer)
    };
}

fn send_one(to: BorrowedFd<'_>, fd: BorrowedFd<'_>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let fds = [fd];
    ancillary.push(SendAncillaryMessage::ScmRights(&fds));
    sendmsg(to, &[IoSlice::new(&[1])], &mut ancillary, SendFlags::empty())?;
    Ok(())
}

fn receive_one(from: BorrowedFd<'_>) -> Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    recvmsg(from, &mut [IoSliceMut::new(&mut [0])], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let fds = ancillary.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
        _ => None,
    });
    fds.last()
        .context("the process sent no descriptor: does the kernel know seccomp's notifications?")
}
