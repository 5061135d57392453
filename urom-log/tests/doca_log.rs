//! Calls the exported `doca_log` as C would. One test, because backends are process-wide.

use std::ffi::{c_char, c_int};
use std::io::{BufRead, BufReader};
use std::os::fd::AsRawFd as _;

use urom_abi::DocaStatus;
use urom_abi::log::Level;
use urom_log::Sink;
use urom_log::backend::{BACKENDS, BackendKind};

urom_log::export_doca_log!();

mod c {
    use super::*;

    unsafe extern "C" {
        pub(super) fn doca_log(
            level: u32,
            source: c_int,
            file: *const c_char,
            line: c_int,
            func: *const c_char,
            format: *const c_char,
            ...
        ) -> DocaStatus;
    }
}

macro_rules! raw {
    ($level:expr, $file:expr, $func:expr, $format:expr $(, $argument:expr)*) => {
        // SAFETY: the arguments match the format; strings end in NUL, or are null.
        unsafe { c::doca_log($level, 1, $file, 12, $func, $format $(, $argument)*) }
    };
}

macro_rules! info {
    ($format:literal $(, $argument:expr)*) => {
        raw!(Level::Info.number(), c"dir/file.c".as_ptr(), c"func".as_ptr(), $format.as_ptr() $(, $argument)*)
    };
}

#[test]
fn arguments_of_all_kinds_arrive() {
    let (reader, writer) = std::io::pipe().unwrap();
    BACKENDS.create(BackendKind::Program, Sink::descriptor(writer.as_raw_fd()).unwrap());
    let mut lines = BufReader::new(reader).lines();
    let mut expect = |text: &str| {
        let line = lines.next().unwrap().unwrap();
        assert!(line.ends_with(&format!("[DOCA][INF][file.c:12][func] {text}")), "{line}");
    };

    assert_eq!(info!(c"plain"), DocaStatus::SUCCESS);
    expect("plain");
    // More arguments of each kind than fit in registers.
    assert_eq!(
        info!(c"%d %d %d %d %ld %s", 1, 2, 3, 4, i64::MIN, c"six".as_ptr()),
        DocaStatus::SUCCESS
    );
    expect(&format!("1 2 3 4 {} six", i64::MIN));
    let sent = info!(
        c"%.1f %d %.1f %d %.1f %d %.1f %d %.1f %d %.1f %.1f %.1f %.1f",
        0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6.5, 7.5, 8.5
    );
    assert_eq!(sent, DocaStatus::SUCCESS);
    expect("0.5 1 1.5 2 2.5 3 3.5 4 4.5 5 5.5 6.5 7.5 8.5");
    // Around the longest text on the stack, and far beyond; less than a pipe holds.
    for len in [1022, 1023, 1024, 1025, 60_000] {
        assert_eq!(info!(c"%0*d", len, 7), DocaStatus::SUCCESS);
        expect(&format!("{:0width$}", 7, width = len as usize));
    }

    let (file, func, text) = (c"f.c".as_ptr(), c"f".as_ptr(), c"text".as_ptr());
    let (info, null) = (Level::Info.number(), std::ptr::null());
    for refused in [
        raw!(info, null, func, text),
        raw!(info, file, null, text),
        raw!(info, file, func, null),
        raw!(0, file, func, text),
        raw!(55, file, func, text),
    ] {
        assert_eq!(refused, DocaStatus::INVALID_VALUE);
    }
    assert_eq!(raw!(Level::Debug.number(), file, func, text), DocaStatus::SUCCESS);
    assert_eq!(info!(c"nothing came before"), DocaStatus::SUCCESS);
    expect("nothing came before");
}
