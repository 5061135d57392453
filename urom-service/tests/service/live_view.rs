//! The live view of `uromd top` in a pseudo-terminal, whose screen these tests read.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, ioctl_tiocsctty, kill_process, pidfd_open, setsid};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};
use urom_abi::DocaStatus;

use super::Watched;
use crate::support::TIMEOUT;
use crate::support::client::{Client, any, op};
use crate::support::uromd::Uromd;

/// A child in its own terminal, and its output.
struct Terminal {
    ours: File,
    /// Keeps the terminal's modes and unread output after the child's end.
    theirs: File,
    child: Child,
    modes: Termios,
    output: Vec<u8>,
}

impl Terminal {
    fn start(mut top: Command, columns: u16, rows: u16) -> Terminal {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        let path = Path::new(std::ffi::OsStr::from_bytes(name.to_bytes()));
        let theirs = File::options().read(true).write(true).open(path).unwrap();
        Terminal {
            modes: tcgetattr(&theirs).unwrap(),
            child: {
                resize(theirs.as_fd(), columns, rows);
                let ends = [(); 3].map(|()| Stdio::from(theirs.try_clone().unwrap()));
                let [stdin, stdout, stderr] = ends;
                top.stdin(stdin).stdout(stdout).stderr(stderr).env("TERM", "xterm");
                // SAFETY: after the fork, the closure makes two system calls, without locks or
                // allocations. Standard input is the terminal by then.
                unsafe { top.pre_exec(own_terminal) };
                top.spawn().unwrap()
            },
            ours: File::from(ours),
            theirs,
            output: Vec::new(),
        }
    }

    fn press(&mut self, keys: &str) {
        self.ours.write_all(keys.as_bytes()).unwrap();
    }

    /// Reads output until it draws a screen with this property.
    fn wait_for(&mut self, what: &str, holds: impl Fn(&[String]) -> bool) -> Vec<String> {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let screen = drawn(&self.output);
            if holds(&screen) {
                return screen;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "no {what} on the screen:\n{}", screen.join("\n"));
            let left = Timespec::try_from(left).unwrap();
            if poll(&mut [PollFd::new(&self.ours, PollFlags::IN)], Some(&left)).unwrap() > 0 {
                self.read();
            }
        }
    }

    fn shows(&mut self, part: &str) -> Vec<String> {
        self.wait_for(part, |screen| screen.iter().any(|line| line.contains(part)))
    }

    fn read(&mut self) {
        let mut part = [0; 4096];
        let len = self.ours.read(&mut part).unwrap();
        self.output.extend_from_slice(&part[..len]);
    }

    /// Waits for a successful end, and compares the terminal's modes with the modes at the start.
    fn ends_restored(mut self) {
        let ended = pidfd_open(Pid::from_child(&self.child), PidfdFlags::empty()).unwrap();
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "it does not end:\n{}", drawn(&self.output).join("\n"));
            let left = Timespec::try_from(left).unwrap();
            let [output, end] = [self.ours.as_fd(), ended.as_fd()]
                .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
            let mut both = [output, end];
            poll(&mut both, Some(&left)).unwrap();
            let [has_output, has_ended] = both.map(|fd| fd.revents().contains(PollFlags::IN));
            // All output is read before the end counts.
            match (has_output, has_ended) {
                (true, _) => self.read(),
                (false, true) => break,
                (false, false) => {}
            }
        }
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}");
        let after = tcgetattr(&self.theirs).unwrap();
        let modes = |termios: &Termios| {
            (termios.input_modes, termios.output_modes, termios.local_modes, termios.control_modes)
        };
        assert_eq!(modes(&after), modes(&self.modes));
        let output = String::from_utf8_lossy(&self.output);
        let last = |code: &str| output.rfind(code);
        // The screen of before, and the cursor.
        assert!(last("\x1b[?1049l") > last("\x1b[?1049h"), "{output:?}");
        assert!(last("\x1b[?25h") > last("\x1b[?25l"), "{output:?}");
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn own_terminal() -> std::io::Result<()> {
    setsid()?;
    ioctl_tiocsctty(rustix::stdio::stdin())?;
    Ok(())
}

fn resize(terminal: BorrowedFd<'_>, columns: u16, rows: u16) {
    let size = Winsize { ws_col: columns, ws_row: rows, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).unwrap();
}

/// Returns the lines of the screen after this output, as far as the view's sequences go: the
/// cursor's position, erasing, text.
fn drawn(output: &[u8]) -> Vec<String> {
    let output = String::from_utf8_lossy(output);
    let mut lines: Vec<Vec<char>> = Vec::new();
    let (mut row, mut column) = (0, 0);
    let mut rest = output.chars();
    while let Some(letter) = rest.next() {
        match letter {
            '\x1b' => {
                let mut text = String::new();
                let end = rest.by_ref().skip(1).find(|letter| {
                    let ends = letter.is_ascii_alphabetic();
                    if !ends {
                        text.push(*letter);
                    }
                    ends
                });
                let mut numbers = text.split(';').map(|number| number.parse().unwrap_or(1_usize));
                match end {
                    Some('H') => {
                        row = numbers.next().unwrap_or(1) - 1;
                        column = numbers.next().unwrap_or(1) - 1;
                    }
                    Some('J') => lines.clear(),
                    _ => {}
                }
            }
            letter if letter.is_control() => {}
            letter => {
                lines.resize_with(lines.len().max(row + 1), Vec::new);
                let line = &mut lines[row];
                line.resize(line.len().max(column + 1), ' ');
                line[column] = letter;
                column += 1;
            }
        }
    }
    lines.into_iter().map(|line| String::from_iter(line).trim_end().to_owned()).collect()
}

#[test]
fn keys_change_the_view_and_q_leaves_the_terminal_as_it_was() {
    let service = Watched::start();
    let mut client = Client::connect(service.uromd.address);
    let host = client.attach(any(), 8);
    assert_eq!(host.call(op::ECHO, 1).status, DocaStatus::SUCCESS);
    assert_ne!(host.call(op::STATUS, 6).status, DocaStatus::SUCCESS);
    let mut terminal = Terminal::start(service.top(), 100, 24);
    let screen = terminal.shows("auto-1");
    for part in ["uromd ", "hosts: 1;", "PLUGIN", "obedient", "PER SECOND*", "Workers", "ready"] {
        assert!(screen.iter().any(|line| line.contains(part)), "{part}:\n{}", screen.join("\n"));
    }
    let first = |screen: &[String], command: u64| {
        let start = format!("obedient  {command} ");
        screen
            .iter()
            .find(|line| line.starts_with("obedient"))
            .is_some_and(|line| line.starts_with(&start))
    };
    // By commands in flight, by failures per second, by failures.
    terminal.press("sss");
    terminal.wait_for("failed command first", |screen| first(screen, op::STATUS));
    terminal.shows("FAILED*");
    terminal.press("r");
    terminal.shows("FAILED~");
    terminal.wait_for("other command first", |screen| first(screen, op::ECHO));
    // The view follows the service.
    host.ask(3, op::HOLD, 0);
    terminal.shows("1 in flight");
    terminal.press("?");
    terminal.shows("select the row above");
    terminal.press("x/auto");
    terminal.shows("filter: auto_");
    terminal.wait_for("filtered table", |screen| {
        !screen.iter().any(|line| line.starts_with("obedient"))
    });
    terminal.press("\r");
    terminal.shows("filter: auto  q quit");
    terminal.press("p");
    terminal.shows("paused");
    terminal.press("q");
    terminal.ends_restored();
}

#[test]
fn a_service_that_is_lost_and_returns_is_shown_again() {
    let mut service = Watched::start();
    let mut terminal = Terminal::start(service.top(), 90, 20);
    terminal.shows("serves");
    service.uromd.signal(Signal::TERM);
    service.uromd.wait();
    terminal.shows("no answer since");
    terminal.shows("no service listens");
    let socket = service.socket();
    service.uromd = Uromd::obedient(&["--control", socket.to_str().unwrap()]);
    terminal.wait_for("service", |screen| !screen.iter().any(|line| line.contains("no answer")));
    let address = service.uromd.address.to_string();
    terminal.shows(&address);
    kill_process(Pid::from_child(&terminal.child), Signal::TERM).unwrap();
    terminal.ends_restored();
}

#[test]
fn small_terminals_and_control_c_end_well() {
    let service = Watched::start();
    let mut terminal = Terminal::start(service.top(), 10, 3);
    terminal.shows("uromd 0.1");
    terminal.press("?s/x\r\t");
    resize(terminal.theirs.as_fd(), 100, 24);
    terminal.shows("Workers");
    resize(terminal.theirs.as_fd(), 1, 1);
    terminal.press("\x03");
    terminal.ends_restored();
}
