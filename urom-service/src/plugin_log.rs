//! The log that workers give to plugins of the kit: in `uromd` and its workers, the process's log.
//! In a Rust host with an embedded service, lines are events of the target `urom_plugin`, or
//! without a subscriber lines of the service's log. In a C host, plugins use the program's
//! `doca_log`.

use tracing::level_filters::LevelFilter;
use tracing::subscriber::NoSubscriber;
use tracing::{Level as Grade, dispatcher, event};
use urom_abi::log::{DISABLE, Level, Line};
use urom_abi::worker_log::{self, WorkerLog};
use urom_log::{Origin, Output, guard_or, sdk};
use urom_wire::control::cut;

use crate::host_names;
use crate::log::{self, Log, LogLevel};

static WORKER_LOG: WorkerLog = WorkerLog { size: size_of::<WorkerLog>(), limit, write, host };

pub(crate) fn worker_log() -> Option<&'static WorkerLog> {
    let is_of_program = dispatcher::get_default(sdk::is_log_of);
    (!is_of_program).then_some(&WORKER_LOG)
}

/// Asks the service's own log, if it takes this thread's lines. Events for the program's subscriber
/// must follow this call: `tracing` drops them inside `get_default`.
fn of_log<T>(ask: impl Fn(&Log) -> T) -> Option<T> {
    if let Some(log) = Log::of_process() {
        return Some(ask(log));
    }
    dispatcher::get_default(|current| match current.downcast_ref::<Log>() {
        Some(log) => Some(ask(log)),
        // A thread of the plugin does not have the worker's log.
        None if current.is::<NoSubscriber>() => Some(ask(&Log::embedded())),
        None => None,
    })
}

extern "C" fn limit() -> u32 {
    guard_or(DISABLE, || match of_log(|log| log.plugins().number()) {
        Some(limit) => limit.into(),
        None => LogLevel::of_filter(LevelFilter::current()).number().into(),
    })
}

unsafe extern "C" fn write(line: *const Line) {
    guard_or((), || {
        // SAFETY: the plugin passes its own line, or NULL.
        let Some(line) = (unsafe { line.as_ref() }) else { return };
        let Some(level) = Level::from_number(line.level) else { return };
        // SAFETY: see above; the texts live as long as the call.
        let [file, plugin, target, text] =
            [line.file, line.source, line.target, line.text].map(|text| unsafe { text.get() });
        let source = worker_log::source(&plugin, &target);
        let origin = Origin { level, file: &file, line: line.line, function: Some(&source) };
        let to_log = |log: &Log| {
            if log.wants(level) {
                log.write(&origin, &text);
            }
        };
        if of_log(to_log).is_none() {
            to_subscriber(&origin, &text);
        }
    });
}

fn to_subscriber(origin: &Origin<'_>, text: &str) {
    let (source, at) = (origin.function.unwrap_or_default(), origin.location());
    let trace = log::trace().map_or_else(String::new, |id| format!(" trace={id:032x}"));
    macro_rules! line {
        ($level:expr) => {
            match &at {
                Some(at) => event!(target: "urom_plugin", $level, %source, at = %at, "{text}{trace}"),
                None => event!(target: "urom_plugin", $level, %source, "{text}{trace}"),
            }
        };
    }
    match origin.level {
        Level::Crit | Level::Error => line!(Grade::ERROR),
        Level::Warning => line!(Grade::WARN),
        Level::Info => line!(Grade::INFO),
        Level::Debug => line!(Grade::DEBUG),
        Level::Trace => line!(Grade::TRACE),
    }
}

unsafe extern "C" fn host(dest_id: u64, name: *mut u8, capacity: usize) -> usize {
    guard_or(0, || {
        let Some(found) = host_names::find(dest_id).filter(|_| !name.is_null()) else { return 0 };
        let len = cut(&found, capacity).len();
        // SAFETY: `len` fits the plugin's buffer, and the name does not overlap it.
        unsafe { std::ptr::copy_nonoverlapping(found.as_ptr(), name, len) };
        len
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host_names::HostName;

    #[test]
    fn a_name_is_cut_where_the_buffer_ends() {
        let _name = HostName::new(7, "abcü");
        let mut buffer = [0xee; 5];
        let mut ask = |dest_id, len| {
            // SAFETY: the buffer has `len` bytes.
            let len = unsafe { host(dest_id, buffer.as_mut_ptr(), len) };
            buffer[..len].to_vec()
        };
        assert_eq!(ask(7, 5), "abcü".as_bytes());
        assert_eq!(ask(7, 4), b"abc");
        assert_eq!(ask(7, 0), b"");
        assert_eq!(ask(8, 5), b"");
        // SAFETY: the length does not fit, so nothing is written.
        assert_eq!(unsafe { host(7, std::ptr::null_mut(), 5) }, 0);
    }
}
