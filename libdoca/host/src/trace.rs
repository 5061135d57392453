//! Traces of commands: which are sampled, and the file of their spans.
//!
//! The file is an array of Chrome's trace events, which Perfetto reads. Each line is one event. The
//! array has no end, which the format allows: the file of a program that crashed is readable.

use std::cell::Cell;
use std::env;
use std::fmt::{self, Write as _};
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

pub use urom_abi::trace::TraceContext;
use urom_os::clock;
use urom_wire::key::fill_random;

/// The file of the trace. Without it, only a program with its own spans is traced.
const FILE_VARIABLE: &str = "UROM_TRACE";
/// The number N: one trace in N is sampled.
const SAMPLE_VARIABLE: &str = "UROM_TRACE_SAMPLE";
/// The context of the program that started this one.
const PARENT_VARIABLE: &str = "TRACEPARENT";

static TRACER: OnceLock<Tracer> = OnceLock::new();

thread_local! {
    static CURRENT: Cell<Option<TraceContext>> = const { Cell::new(None) };
}

/// The traces of this process.
#[derive(Debug)]
pub struct Tracer {
    file: Option<File>,
    every: NonZeroU32,
    /// Count of traces that began here.
    roots: AtomicU32,
    parent: Option<TraceContext>,
    /// The process whose name is in the file: a child after a fork is another one.
    named: AtomicU32,
    is_full: AtomicBool,
}

/// Returns the process's tracer; `None` if neither the environment nor the program began one.
pub(crate) fn tracer() -> Option<&'static Tracer> {
    find().unwrap_or_else(|error| {
        log!(warn, "commands are not traced: {error}");
        None
    })
}

fn find() -> io::Result<Option<&'static Tracer>> {
    if let Some(tracer) = TRACER.get() {
        return Ok(Some(tracer));
    }
    let file = env::var_os(FILE_VARIABLE).filter(|file| !file.is_empty());
    let Some(file) = file else { return Ok(None) };
    let every = env::var(SAMPLE_VARIABLE).map_or(Ok(NonZeroU32::MIN), |every| every.parse());
    let every = every.map_err(|_| {
        let text = format!("{SAMPLE_VARIABLE}: expected a number from 1 on");
        io::Error::new(io::ErrorKind::InvalidInput, text)
    })?;
    let tracer = Tracer::new(Some(file.as_ref()), every)?;
    Ok(Some(TRACER.get_or_init(|| tracer)))
}

/// Returns the tracer of the environment, or else begins one for a program with its own spans.
///
/// # Errors
/// The file cannot be written, or a variable is wrong.
pub fn start(file: Option<&Path>, every: NonZeroU32) -> io::Result<&'static Tracer> {
    match find()? {
        Some(tracer) => Ok(tracer),
        None => Tracer::new(file, every).map(|tracer| TRACER.get_or_init(|| tracer)),
    }
}

/// Makes this the context of the thread's next commands. Returns the context before.
pub fn set_current(context: Option<TraceContext>) -> Option<TraceContext> {
    CURRENT.replace(context)
}

impl Tracer {
    fn new(file: Option<&Path>, every: NonZeroU32) -> io::Result<Tracer> {
        let parent = env::var(PARENT_VARIABLE).ok().and_then(|text| text.parse().ok());
        Ok(Tracer {
            file: file.map(open).transpose()?,
            every,
            roots: AtomicU32::new(0),
            parent,
            named: AtomicU32::new(0),
            is_full: AtomicBool::new(false),
        })
    }

    /// Returns the context of a new span. Without a parent, it begins a trace or continues the
    /// trace of [`PARENT_VARIABLE`].
    pub fn span(&self, parent: Option<TraceContext>) -> TraceContext {
        let parent = parent.or(self.parent).unwrap_or_else(|| {
            let is_sampled = self.roots.fetch_add(1, Relaxed).is_multiple_of(self.every.get());
            TraceContext { trace_id: 0, span_id: 0, flags: u8::from(is_sampled) }
        });
        if !parent.is_sampled() {
            return parent;
        }
        let mut bytes = [0; 24];
        // Without random numbers, ids repeat.
        let _ = fill_random(&mut bytes);
        let (trace, span) = bytes.split_at(16);
        let number = |bytes: &[u8]| bytes.iter().fold(0, |sum, byte| sum << 8 | u128::from(*byte));
        let trace_id = if parent.trace_id == 0 { number(trace) | 1 } else { parent.trace_id };
        TraceContext { trace_id, span_id: number(span) as u64 | 1, flags: parent.flags }
    }

    /// Begins the span of a command if it is sampled.
    pub(crate) fn command(&self) -> Option<CommandSpan> {
        let parent = CURRENT.get();
        if parent.is_none() && self.file.is_none() {
            return None;
        }
        let context = self.span(parent);
        let begun = || CommandSpan { context, parent, thread: thread(), begin: clock::monotonic() };
        context.is_sampled().then(begun)
    }

    /// Writes that a span of the program begins, or else ends, on this thread.
    pub fn write_span(&self, name: &str, begins: bool, context: &TraceContext) {
        let (phase, time) = (if begins { "B" } else { "E" }, clock::monotonic());
        let mut events = Events::default();
        events.add(phase, thread(), time, name, format_args!(",\"args\":{{{}}}", Ids(context)));
        self.write(&events);
    }

    pub(crate) fn write(&self, Events(lines): &Events) {
        let Some(mut file) = self.file.as_ref() else { return };
        let process = std::process::id();
        let mut all = String::new();
        if self.named.swap(process, Relaxed) != process {
            let name = crate::worker_link::program();
            let mut events = Events::default();
            let name = Quoted(&name);
            events.add("M", 0, 0, "process_name", format_args!(",\"args\":{{\"name\":{name}}}"));
            all = events.0;
        }
        all += lines;
        // One write to the end of the file: several processes may use it.
        if let Err(error) = file.write_all(all.as_bytes())
            && !self.is_full.swap(true, Relaxed)
        {
            log!(warn, "the trace is incomplete: {error}");
        }
    }
}

/// The first process that opens the file begins the array.
fn open(path: &Path) -> io::Result<File> {
    let append = || OpenOptions::new().append(true).to_owned();
    let opened = match append().create_new(true).open(path) {
        Ok(mut file) => file.write_all(b"[\n").map(|()| file),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => append().open(path),
        Err(error) => Err(error),
    };
    opened.map_err(|error| {
        let text = format!("cannot write the trace {}: {error}", path.display());
        io::Error::new(error.kind(), text)
    })
}

fn thread() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()
}

/// A sampled command from its submission on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommandSpan {
    pub(crate) context: TraceContext,
    pub(crate) parent: Option<TraceContext>,
    pub(crate) thread: u32,
    pub(crate) begin: u64,
}

/// Lines of the file.
#[derive(Debug, Default)]
pub(crate) struct Events(pub(crate) String);

impl Events {
    /// Adds an event; `rest` are more members, each behind a comma.
    pub(crate) fn add(
        &mut self,
        phase: &str,
        thread: u32,
        time: u64,
        name: &str,
        rest: fmt::Arguments<'_>,
    ) {
        let (process, name) = (std::process::id(), Quoted(name));
        let (micros, nanos) = (time / 1000, time % 1000);
        // Writing to a text does not fail.
        let _ = writeln!(
            self.0,
            "{{\"ph\":\"{phase}\",\"cat\":\"urom\",\"pid\":{process},\"tid\":{thread},\
             \"ts\":{micros}.{nanos:03},\"name\":{name}{rest}}},"
        );
    }
}

/// The ids of a span as members of a JSON object.
pub(crate) struct Ids<'a>(pub(crate) &'a TraceContext);

impl fmt::Display for Ids<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TraceContext { trace_id, span_id, .. } = self.0;
        write!(f, "\"trace_id\":\"{trace_id:032x}\",\"span_id\":\"{span_id:016x}\"")
    }
}

/// A text in JSON.
pub(crate) struct Quoted<'a>(pub(crate) &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                _ => f.write_char(if c.is_control() { ' ' } else { c })?,
            }
        }
        f.write_char('"')
    }
}
