//! Common parts: two workers in one thread, and waiting with a deadline.
#![allow(dead_code, reason = "every test program uses a part of it")]

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use ucx::{
    AmData, Context, ContextBuilder, Endpoint, ErrorMode, Features, Mesh, Message, Rendezvous,
    Request, Status, Worker,
};

pub(crate) const TRANSPORTS: [&str; 2] = ["tcp", "shm,self"];

/// A generous timeout, because the tests also run under valgrind and emulated.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

pub(crate) fn all_features() -> Features {
    Features::AM | Features::TAG | Features::RMA | Features::AMO64 | Features::WAKEUP
}

pub(crate) fn builder(transports: &str) -> ContextBuilder {
    Context::builder(all_features()).config("TLS", transports)
}

pub(crate) fn context(transports: &str) -> Context {
    builder(transports).build().unwrap()
}

pub(crate) fn is_from(major: u32, minor: u32) -> bool {
    (ucx::version().major, ucx::version().minor) >= (major, minor)
}

pub(crate) fn mesh(transports: &str) -> Mesh {
    Mesh::open(builder(transports).watched_shared_memory(), |_| Ok(()), |_| ()).unwrap()
}

pub(crate) fn watched(transports: &str) -> Worker {
    builder(transports).watched_shared_memory().build().unwrap().worker().unwrap()
}

pub(crate) struct Pair {
    pub(crate) to_b: Rc<Endpoint>,
    pub(crate) a: Worker,
    pub(crate) b: Worker,
}

impl Pair {
    pub(crate) fn new(transports: &str) -> Pair {
        Pair::of(transports, &builder(transports))
    }

    /// Like `new`, with rendezvous above 64 KiB. By default, UCX 1.18 sends several MiB eagerly.
    pub(crate) fn announcing(transports: &str) -> Pair {
        Pair::of(transports, &builder(transports).config("RNDV_THRESH", "64k"))
    }

    fn of(transports: &str, builder: &ContextBuilder) -> Pair {
        let [a, b] = [(); 2].map(|()| builder.clone().build().unwrap().worker().unwrap());
        let to_b = connect(&a, &b, transports).into();
        Pair { to_b, a, b }
    }

    pub(crate) fn without_errors(transports: &str) -> Pair {
        let [a, b] = [(); 2].map(|()| context(transports).worker().unwrap());
        let to_b = a.endpoint().error_mode(ErrorMode::None).connect(&b.address().unwrap()).unwrap();
        Pair { to_b: to_b.into(), a, b }
    }

    pub(crate) fn until(&self, what: &str, done: impl FnMut() -> bool) {
        until(&[&self.a, &self.b], what, done);
    }

    pub(crate) fn finish<B, T: ucx::Outcome>(
        &self,
        request: Request<B, T>,
    ) -> (Result<T, Status>, B) {
        finish(&[&self.a, &self.b], request)
    }
}

/// Connects `a` to `b`. Plain shared memory cannot detect a lost peer.
pub(crate) fn connect(a: &Worker, b: &Worker, transports: &str) -> Endpoint {
    let mode = if transports.contains("tcp") { ErrorMode::Peer } else { ErrorMode::None };
    a.endpoint().error_mode(mode).connect(&b.address().unwrap()).unwrap()
}

pub(crate) fn until(workers: &[&Worker], what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !done() {
        for worker in workers {
            worker.progress();
        }
        assert!(Instant::now() < deadline, "timed out waiting for {what}");
    }
}

pub(crate) fn finish<B, T: ucx::Outcome>(
    workers: &[&Worker],
    request: Request<B, T>,
) -> (Result<T, Status>, B) {
    until(workers, "a request", || request.is_done());
    request.into_done().unwrap()
}

pub(crate) fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index * 7 + index / 251) as u8).collect()
}

pub(crate) struct Process {
    pub(crate) child: Child,
    lines: Box<dyn Iterator<Item = String>>,
}

const MARK: &str = "said: ";

pub(crate) fn say(bytes: &[u8]) {
    println!("\n{MARK}{}", hex(bytes));
    std::io::stdout().flush().unwrap();
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn unhex(hex: &str) -> Vec<u8> {
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(byte).collect()
}

impl Process {
    pub(crate) fn start(mut command: Command) -> Process {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let lines = lines.filter_map(|line| line.strip_prefix(MARK).map(str::to_owned));
        Process { child, lines: Box::new(lines) }
    }

    pub(crate) fn heard(&mut self) -> Option<Vec<u8>> {
        self.lines.next().map(|line| unhex(&line))
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

pub(crate) fn again(name: &str) -> Command {
    let program = std::env::current_exe().unwrap();
    // An emulated test needs the emulator to start its own kind.
    let runner = std::env::var("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER").unwrap_or_default();
    let words = runner.split_whitespace().filter(|_| cfg!(target_arch = "aarch64"));
    let mut words = words.map(Into::into).chain([program.into_os_string()]);
    let mut command = Command::new(words.next().unwrap());
    command.args(words).args(["--exact", "--ignored", "--nocapture", name]);
    command
}

pub(crate) fn headers(worker: &Worker, id: u16) -> Log<Vec<u8>> {
    let (seen, log) = log();
    let handler = move |message: Message<'_>| log.borrow_mut().push(message.header.to_vec());
    worker.set_am_handler(id, handler).unwrap();
    seen
}

pub(crate) fn eager(worker: &Worker, id: u16) -> Log<(Vec<u8>, Vec<u8>)> {
    let (seen, log) = log();
    let handler = move |message: Message<'_>| match message.data {
        AmData::Eager(data) => log.borrow_mut().push((message.header.to_vec(), data.to_vec())),
        AmData::Rendezvous(_) => panic!("it was announced"),
    };
    worker.set_am_handler(id, handler).unwrap();
    seen
}

pub(crate) fn announcements(worker: &Worker, id: u16) -> Log<Rendezvous> {
    let (seen, log) = log();
    let handler = move |message: Message<'_>| log.borrow_mut().push(announced(message));
    worker.set_am_handler(id, handler).unwrap();
    seen
}

pub(crate) fn announced(message: Message<'_>) -> Rendezvous {
    match message.data {
        AmData::Rendezvous(rendezvous) => rendezvous,
        AmData::Eager(_) => panic!("it came whole"),
    }
}

pub(crate) type Log<T> = Rc<RefCell<Vec<T>>>;

/// Returns two handles of a list: one for the handler, one for the test.
pub(crate) fn log<T>() -> (Log<T>, Log<T>) {
    let log = Log::default();
    (Rc::clone(&log), log)
}
