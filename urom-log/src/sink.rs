//! Writes lines to a stream of the C library or a file descriptor.

use std::ffi::c_int;
use std::fs::File;
use std::io::Write as _;
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd as _;
use std::ptr::NonNull;

unsafe extern "C" {
    #[link_name = "stdout"]
    static STDOUT: *mut libc::FILE;
    #[link_name = "stderr"]
    static STDERR: *mut libc::FILE;
}

/// A destination of lines: a stream or descriptor of the program, never closed here.
#[derive(Debug)]
pub struct Sink(SinkKind);

#[derive(Debug)]
enum SinkKind {
    Stream(NonNull<libc::FILE>),
    Descriptor(c_int),
}

// SAFETY: the C library locks a stream in each of its functions.
unsafe impl Send for Sink {}
// SAFETY: as above.
unsafe impl Sync for Sink {}

impl Sink {
    /// The process's standard error, bypassing the C library.
    pub(super) const STANDARD_ERROR: Sink = Sink(SinkKind::Descriptor(libc::STDERR_FILENO));

    /// Returns a sink for a stream of the C library; `None` for null. Each line is flushed.
    ///
    /// # Safety
    /// The stream is open and stays open as long as the process logs.
    pub unsafe fn stream(stream: *mut libc::FILE) -> Option<Sink> {
        NonNull::new(stream).map(|stream| Sink(SinkKind::Stream(stream)))
    }

    pub(super) fn stdout() -> Option<Sink> {
        // SAFETY: the C library sets it before any code of a program runs.
        let stream = unsafe { STDOUT };
        // SAFETY: open: a program that closes its standard output must not log to it.
        unsafe { Sink::stream(stream) }
    }

    pub(super) fn stderr() -> Option<Sink> {
        // SAFETY: the C library sets it before any code of a program runs.
        let stream = unsafe { STDERR };
        // SAFETY: open: a program that closes its standard error must not log to it.
        unsafe { Sink::stream(stream) }
    }

    /// Returns a sink for a file descriptor; `None` if negative. If closed, lines are lost.
    pub fn descriptor(descriptor: c_int) -> Option<Sink> {
        (descriptor >= 0).then_some(Sink(SinkKind::Descriptor(descriptor)))
    }

    /// Writes a line in one call, so that lines of several threads do not mix. Errors are ignored.
    pub(super) fn write(&self, line: &str) {
        match self.0 {
            SinkKind::Stream(stream) => {
                // SAFETY: pointer and length of `line`; the sink's maker promised an open stream.
                unsafe { libc::fwrite(line.as_ptr().cast(), 1, line.len(), stream.as_ptr()) };
                // SAFETY: an open stream.
                unsafe { libc::fflush(stream.as_ptr()) };
            }
            SinkKind::Descriptor(descriptor) => {
                // SAFETY: not negative, and not closed here; the program keeps it open.
                let file = ManuallyDrop::new(unsafe { File::from_raw_fd(descriptor) });
                let _ = (&*file).write_all(line.as_bytes());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;
    use std::os::fd::{AsRawFd as _, IntoRawFd as _};

    #[test]
    fn an_invalid_descriptor_or_stream_is_refused() {
        assert!(Sink::descriptor(-1).is_none());
        // SAFETY: null is allowed.
        assert!(unsafe { Sink::stream(std::ptr::null_mut()) }.is_none());
    }

    #[test]
    fn a_descriptor_gets_the_line_and_stays_open() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let sink = Sink::descriptor(writer.as_raw_fd()).unwrap();
        sink.write("one\n");
        sink.write("two\n");
        drop(writer);
        let mut all = String::new();
        reader.read_to_string(&mut all).unwrap();
        assert_eq!(all, "one\ntwo\n");
    }

    #[test]
    fn a_stream_is_flushed_behind_each_line() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        // SAFETY: an open descriptor and a mode.
        let stream = unsafe { libc::fdopen(writer.into_raw_fd(), c"w".as_ptr()) };
        // SAFETY: just opened, and never closed.
        let sink = unsafe { Sink::stream(stream) }.unwrap();
        sink.write("one\n");
        let mut line = [0; 4];
        reader.read_exact(&mut line).unwrap();
        assert_eq!(&line, b"one\n");
    }

    #[test]
    fn a_closed_descriptor_loses_the_line_and_nothing_else() {
        Sink::descriptor(c_int::MAX).unwrap().write("lost\n");
    }
}
