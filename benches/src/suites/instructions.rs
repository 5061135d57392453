//! Instructions of a command at its host and in the worker, of the kit and of C.
//!
//! callgrind runs a host with an embedded worker. The two take turns at a gate (`c/gate.h`), so
//! empty polls are not counted: the host submits some commands, the worker receives, runs and
//! answers them, the host takes the answers. An idle turn of the worker is counted separately, and
//! subtracted. The two share a ring, without UCX.
//!
//! No function of the kit is named here. All instructions in the plugin's file count as the
//! plugin's.

use std::collections::BTreeMap;
use std::ffi::{OsString, c_uint, c_void};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use graph_protocol::{Client, LoopbackDone, Protocol};
use tempfile::TempDir;
use urom_abi::protocol::Protocol as _;
use urom_host::{Completion, Host, Service, Worker, block_on};
use urom_tests::PluginDirectory;
use urom_tests::c;

use crate::figure::Figure;
use crate::in_c;
use crate::launch::{DEPTH, Launch};
use crate::party::answered;
use crate::process::Process;

const GATE: &str = "worker_gate";

pub(super) fn measure(_: &Launch) -> Result<Vec<Figure>> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("instructions: left out without valgrind, which `cargo xtask setup` installs");
        return Ok(Vec::new());
    }
    let gate =
        in_c::source(concat!(env!("CARGO_MANIFEST_DIR"), "/c/gate_plugin.c"))?.plugin(GATE)?;
    let mut plugins = PluginDirectory::with(&["worker_graph"])?;
    plugins.add(&gate)?;
    let own = Process::Gated.command()?;
    let words = [own.get_program()].into_iter().chain(own.get_args()).map(OsString::from);
    let kit = Counts::of(words.collect(), plugins)?;

    let name = in_c::name("graph");
    let mut plugins = PluginDirectory::with(&[])?;
    plugins.add(&in_c::plugin("graph")?)?;
    plugins.add(&gate)?;
    let host = in_c::source(concat!(env!("CARGO_MANIFEST_DIR"), "/c/gated_host.c"))?.program()?;
    let c = Counts::of(vec![host.into(), name.into()], plugins)?;

    let mut figures = Vec::new();
    for (by, counts) in [("kit", kit), ("c", c)] {
        figures.extend(counts.figures(by)?);
    }
    Ok(figures)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Owner {
    Kit,
    Plugin,
}

impl Owner {
    /// Returns the owner of an object file. The kit's share includes the C library.
    fn of(object: &str) -> Owner {
        let file = object.rsplit('/').next().unwrap_or_default();
        match file.starts_with("libworker_") || file.starts_with("worker_") {
            true => Owner::Plugin,
            false => Owner::Kit,
        }
    }
}

/// Instructions of the dumps, by name and owner, and the number of dumps by name.
#[derive(Debug, Default)]
struct Counts {
    instructions: BTreeMap<(String, Owner), u64>,
    dumps: BTreeMap<String, u64>,
}

impl Counts {
    fn of(words: Vec<OsString>, plugins: PluginDirectory) -> Result<Counts> {
        let directory = TempDir::new()?;
        let mut out = OsString::from("--callgrind-out-file=");
        out.push(directory.path().join("out"));
        let mut host = c::Host::new("valgrind").env("UCX_MEM_EVENTS", "n").arg(out);
        for option in [
            "--tool=callgrind",
            "--collect-atstart=no",
            "--compress-strings=no",
            "--compress-pos=no",
            // Threads that wait for each other take turns.
            "--fair-sched=try",
        ] {
            host = host.arg(option);
        }
        words.iter().fold(host, c::Host::arg).run(&c::Service::embedded(plugins)?)?.success()?;
        let mut counts = Counts::default();
        for file in directory.path().read_dir()? {
            counts.add(&std::fs::read_to_string(file?.path())?)?;
        }
        Ok(counts)
    }

    /// Adds a dump. A line that begins with a digit ends with a cost of the last named object file.
    /// After `calls=` it is the cost of a call, which the called functions include.
    fn add(&mut self, dump: &str) -> Result<()> {
        let (mut name, mut owner, mut of_call) = (None, Owner::Kit, false);
        for line in dump.lines() {
            if let Some(cause) = line.strip_prefix("desc: Trigger: Client Request: ") {
                name = Some(cause.to_owned());
                *self.dumps.entry(cause.to_owned()).or_default() += 1;
            } else if let Some(object) = line.strip_prefix("ob=") {
                owner = Owner::of(object);
            } else if line.starts_with("calls=") {
                of_call = true;
            } else if line.starts_with(|first: char| first.is_ascii_digit())
                && !std::mem::take(&mut of_call)
                && let Some(name) = &name
            {
                let cost = line.split(' ').next_back().context("a line of costs")?;
                *self.instructions.entry((name.clone(), owner)).or_default() +=
                    cost.parse::<u64>()?;
            }
        }
        Ok(())
    }

    fn mean(&self, name: &str, owner: Owner) -> Result<f64> {
        let dumps = *self.dumps.get(name).with_context(|| format!("no dump is called {name}"))?;
        let all = self.instructions.get(&(name.to_owned(), owner)).copied().unwrap_or_default();
        Ok(all as f64 / dumps as f64)
    }

    fn figures(&self, by: &str) -> Result<Vec<Figure>> {
        let mut figures = Vec::new();
        for (stage, dump) in
            [("host/submit", "submit"), ("host/take", "take"), ("worker", "worker")]
        {
            for depth in [1, 8, DEPTH] {
                let each = |owner| -> Result<f64> {
                    let idle = match dump {
                        "worker" => self.mean(&format!("idle/{depth}"), owner)?,
                        _ => 0.0,
                    };
                    Ok((self.mean(&format!("{dump}/{depth}"), owner)? - idle) / depth as f64)
                };
                let [kit, plugin] = [each(Owner::Kit)?, each(Owner::Plugin)?];
                ensure!(kit > 0.0, "nothing is counted at the {stage} with {depth} in flight");
                let mut figure = |what: &str, value, note: &str| {
                    let name = format!("instructions/{stage}/{depth}/{by}{what}");
                    figures.push(Figure::new(name, "instructions", value).note(note));
                };
                figure("", kit + plugin, "a command");
                if dump == "worker" {
                    figure("/plugin", plugin, "of these, those in the plugin's file");
                }
            }
        }
        Ok(figures)
    }
}

type GateWork = unsafe extern "C" fn(host: *mut c_void, count: c_uint);

unsafe extern "C" {
    safe fn bench_gate() -> *mut c_void;
    fn bench_gate_rounds(submit: GateWork, take: GateWork, host: *mut c_void);
}

struct GatedHost {
    graph: Client<Host>,
    worker: Worker,
    sent: Vec<(u64, Completion<LoopbackDone>)>,
}

unsafe extern "C" fn submit(host: *mut c_void, count: c_uint) {
    // SAFETY: `host` lends itself to the rounds, which only pass the pointer on.
    let host = unsafe { &mut *host.cast::<GatedHost>() };
    for data in 0..count.into() {
        let task = host.graph.task_loopback(&host.worker, data).submit();
        host.sent.push((data, task.expect("the worker takes as many commands")));
    }
}

unsafe extern "C" fn take(host: *mut c_void, _: c_uint) {
    // SAFETY: as in `submit`.
    let host = unsafe { &mut *host.cast::<GatedHost>() };
    for (data, task) in host.sent.drain(..) {
        answered(data, task).expect("the worker answers every command");
    }
}

/// The process under callgrind: a host with an embedded worker, like `c/gated_host.c`.
pub(crate) fn host() -> Result<()> {
    let service = Service::connect_blocking()?;
    let graph = service.plugin::<Protocol>()?;
    let gates = service.plugin_named(GATE)?;
    let start = || {
        let builder = service.worker().id(5).max_inflight(DEPTH as u32);
        block_on(builder.plugin(graph.plugin()).plugin(gates).start())
    };
    // A separate connection for the gate, so that the first one is idle at the start of a round.
    let (worker, other) = (start()?, start()?);
    let gate = bench_gate() as u64;
    let opened = Protocol::client::<Host>(gates).task_loopback(&other, gate).submit()?;
    let sent = Vec::with_capacity(DEPTH as usize);
    let mut host = GatedHost { graph, worker, sent };
    // SAFETY: the functions take this host, which nothing else uses meanwhile.
    unsafe { bench_gate_rounds(submit, take, (&raw mut host).cast()) };
    answered(gate, opened)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_of_a_function_belongs_to_its_own_file_and_that_of_its_calls_to_others() {
        let dump = "events: Ir\ndesc: Trigger: Client Request: worker/8\n\n\
                    ob=/x/uromd\nfn=receive\n12 100\n\
                    cob=/x/worker_graph.so\ncfn=call\ncalls=1 7\n13 30\n14 20\n\
                    ob=/x/worker_graph.so\nfn=call\n3 30\nob=/x/libc.so.6\nfn=memcpy\n7 4\n";
        let mut counts = Counts::default();
        [dump, dump, &dump.replace("worker/8", "idle/8")]
            .iter()
            .try_for_each(|dump| counts.add(dump))
            .unwrap();
        let means = [Owner::Kit, Owner::Plugin].map(|owner| counts.mean("worker/8", owner));
        assert_eq!(means.map(Result::unwrap), [124.0, 30.0]);
        assert!(counts.mean("take/8", Owner::Kit).is_err());
    }
}
