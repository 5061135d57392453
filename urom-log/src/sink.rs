//! How a line gets out: through a stream of the C library, or a file descriptor.

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

/// Where lines are written to. What it stands for stays the program's and is never closed here.
#[derive(Debug)]
pub struct Sink(SinkKind);

#[derive(Debug)]
enum SinkKind {
    Stream(NonNull<libc::FILE>),
    Descriptor(c_int),
}

// SAFETY: the C library locks a stream in each of its functions.
unsafe impl Send for Sink {}
// SAFETY: likewise.
unsafe impl Sync for Sink {}

impl Sink {
    /// The process's standard error, past the C library.
    pub(super) const STANDARD_ERROR: Sink = Sink(SinkKind::Descriptor(libc::STDERR_FILENO));

    /// A stream of the C library; `None` for null. Each line is flushed, so that it stands where it
    /// belongs among those that the program itself prints to the stream.
    ///
    /// # Safety
    /// An open stream that stays open for as long as the process logs.
    pub unsafe fn stream(stream: *mut libc::FILE) -> Option<Sink> {
        NonNull::new(stream).map(|stream| Sink(SinkKind::Stream(stream)))
    }

    pub(super) fn stdout() -> Option<Sink> {
        // SAFETY: the C library has set it before any code of a program ran.
        let stream = unsafe { STDOUT };
        // SAFETY: a program that closes it has no standard output any more, and may not log there
        // either.
        unsafe { Sink::stream(stream) }
    }

    pub(super) fn stderr() -> Option<Sink> {
        // SAFETY: the C library has set it before any code of a program ran.
        let stream = unsafe { STDERR };
        // SAFETY: a program that closes it has no standard error any more, and may not log there
        // either.
        unsafe { Sink::stream(stream) }
    }

    /// A file descriptor; `None` for a negative number. One that is closed loses its lines.
    pub fn descriptor(descriptor: c_int) -> Option<Sink> {
        (descriptor >= 0).then_some(Sink(SinkKind::Descriptor(descriptor)))
    }

    /// Writes a whole line in one call, so that lines of several threads do not mix. There is
    /// nobody to tell when it fails.
    pub(super) fn write(&self, line: &str) {
        match self.0 {
            SinkKind::Stream(stream) => {
                // SAFETY: as many bytes as said, and an open stream, as its maker promised.
                unsafe { libc::fwrite(line.as_ptr().cast(), 1, line.len(), stream.as_ptr()) };
                // SAFETY: an open stream.
                unsafe { libc::fflush(stream.as_ptr()) };
            }
            SinkKind::Descriptor(descriptor) => {
                // SAFETY: not negative; and it is not closed here. That it is still what the
                // program meant is the program's care.
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
    fn what_is_no_place_is_refused() {
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
