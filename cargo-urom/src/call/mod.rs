//! `cargo urom call`: one command, or many, by hand.

mod repeat;
mod report;
mod request;
mod target;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use clap::builder::RangedU64ValueParser;
use urom_abi::{WorkerId, machine};
use urom_host::{Answer, DocaError, Plugin, Service, Worker, block_on_for};

use crate::message::{self, Assignment};
use crate::{exit, output, plugin_path};
use request::Request;
use target::Target;

const EXAMPLES: &str = "\
Examples:
  cargo urom call target/debug/libworker_graph.so loopback data=42
  cargo urom call target/debug/libworker_graph.so loopback data=42 --repeat 10000 --in-flight 16
  cargo urom call target/debug/libworker_graph.so loopback data=42 --service 127.0.0.1:18700
  UROM_PLUGIN_PATH=target/debug cargo urom call worker_sandbox mem_map 'map_params={field_mask=7,address=4096,length=4096,flags=2}'
  cargo urom call worker_graph.so loopback data=42 --protocol target/debug/libworker_graph.so
  cargo urom call worker_graph --raw hex:00000000000000002a00000000000000 --service 127.0.0.1:18700

Values:
  integers      7  -7  0x1f  1_000
  floats        0.5  1e-3  inf
  bytes         any text; hex:0a0b or 0x0a0b; @file; text:@no-file
  arrays        [1,2,3]; an array of u8 also as bytes, with zeros behind them
  structures    {a=1,b=[2,3]}, or single members: params.a=1 params.b[0]=2; the rest is zero
  elements      [1,2,3] or [{a=1},{a=2}]
  any type      hex:.. or @file, with exactly its bytes
A shell wants quotes around what has brackets. A field that the answer repeats is 0 unless it is given. The words of payloads (addresses, lengths) are filled in; give one
to send another. Data in registered memory: its id, address and length words in place of the data.

With --repeat a time runs from before a command is submitted to after its answer is there, whatever the answer, and a
percentile is one of these times, by the nearest rank. Each answer brings the next command: what the plugin holds up delays
the commands behind it and is not counted for them too.

The embedded service is right for a first try. Its worker is a thread of this process, so a plugin that crashes ends it.
There is no domain: commands that need one, to reach another worker's plugin, are refused by their plugin.
A plugin in C needs the lib directory of its DOCA in LD_LIBRARY_PATH.

Exit codes: 0 when every command was answered with DOCA_SUCCESS and the notification it calls for, 1 when not, 2 for a
wrong command line.";

/// The verb's arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The plugin: its .so, or its name. A name is looked for in UROM_PLUGIN_PATH, also with --service: the file there says
    /// what the commands are.
    #[arg(value_name = "FILE.so|NAME")]
    plugin: String,
    /// The command; loopback, Loopback and loop-back are the same. Without one, those that there are are listed.
    #[arg(conflicts_with = "raw")]
    command: Option<String>,
    /// What the command carries.
    #[arg(value_name = "FIELD=VALUE")]
    fields: Vec<Assignment>,
    /// The service to use, in place of one in this process.
    #[arg(long, value_name = "ADDR:PORT")]
    service: Option<String>,
    /// The key that the service asks for: a copy of its key file, of this user and of mode 0600. That of UROM_KEY_FILE if not
    /// given.
    #[arg(long, value_name = "FILE", requires = "service")]
    key_file: Option<PathBuf>,
    /// A plugin of the same protocol, whose file describes the commands: for plugins in C, and for those that are only on
    /// the service's machine.
    #[arg(long, value_name = "FILE.so")]
    protocol: Option<PathBuf>,
    /// The command's bytes, tag and all, in place of a command and its fields: hex:.., @file or text.
    #[arg(long, value_name = "BYTES")]
    raw: Option<String>,
    /// The worker to send it to, which is started unless it runs; without it, a new one. A worker ends with its last host,
    /// and this command is one.
    #[arg(long, value_name = "ID")]
    worker: Option<WorkerId>,
    /// Sends the command so many times and prints what that took.
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=100_000_000))]
    repeat: Option<usize>,
    /// How many of them are in flight at a time.
    #[arg(long, value_name = "M", default_value_t = 1, requires = "repeat",
        value_parser = RangedU64ValueParser::<usize>::new().range(1..=4096))]
    in_flight: usize,
    /// How many go before and are not counted; a tenth of --repeat and at most 1000 if not given.
    #[arg(long, value_name = "N", requires = "repeat")]
    warm_up: Option<usize>,
    /// How long to wait for an answer, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
    /// The longest message in bytes, UROM's header of 24 or 32 bytes included; a service has its own limit.
    #[arg(long, value_name = "BYTES")]
    max_msg_size: Option<usize>,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let target = Target::find(&args.plugin, args.service.is_some())?;
    if args.command.is_none() && args.raw.is_none() {
        return no_command(args, &target);
    }
    let request = request(args, &target)?;
    for remark in &request.remarks {
        output::note(remark);
    }
    let service = connect(args, &target)?;
    let plugin = service.plugin_named(&target.name)?;
    if let Some(protocol) = request.protocol().filter(|protocol| protocol.version != plugin.version()) {
        bail!(
            "the service has version {} of `{}`, and the commands that are described here are of version {}: build both from \
             the same version of the protocol, or give the command's bytes with --raw and no --protocol",
            plugin.version(),
            target.name,
            protocol.version
        );
    }
    let window = args.in_flight.next_power_of_two().try_into()?;
    let mut worker = service.worker().plugin(plugin).max_inflight(window);
    if let Some(WorkerId(id)) = args.worker {
        worker = worker.id(id);
    }
    let worker = worker.start().wait()?;
    let code = match args.repeat {
        None => once(args, &target, &request, (&worker, plugin)),
        Some(count) => repeated(args, &target, &request, (&worker, plugin), count),
    };
    let stopped = worker.stop().wait();
    let code = code?;
    stopped.context("the worker did not stop in order")?;
    Ok(code)
}

/// Says which commands there are. Nothing was sent, so this is no success.
fn no_command(args: &Args, target: &Target) -> Result<ExitCode> {
    let protocol = target.protocol(args.protocol.as_deref())?;
    let list: String =
        message::signatures(&protocol.commands).iter().map(|line| format!("\n  {line}")).collect();
    output::error(&anyhow!("say which command to send to `{}`:{list}", target.name));
    Ok(exit::USAGE.into())
}

/// What is to be sent.
fn request(args: &Args, target: &Target) -> Result<Request> {
    if let Some(raw) = &args.raw {
        let bytes = message::bytes(raw).map_err(|why| anyhow!("--raw: {why}"))?;
        // For the answer; that nothing describes it is why bytes are given.
        let protocol = match &args.protocol {
            Some(_) => Some(target.protocol(args.protocol.as_deref())?),
            None => target.protocol(None).ok(),
        };
        return Ok(Request::raw(bytes, protocol));
    }
    let protocol = target.protocol(args.protocol.as_deref())?;
    let command = args.command.as_deref().unwrap_or_default();
    Request::described(protocol, command, &args.fields)
        .map_err(|why| anyhow!("plugin `{}`: {why}", target.name))
}

fn connect(args: &Args, target: &Target) -> Result<Service> {
    let mut builder = Service::builder();
    builder = match (&args.service, &target.file) {
        (Some(address), _) => builder.address_from(address, "--service"),
        // The file alone: a service would load whatever else lies beside it.
        (None, Some(file)) => {
            for_this_machine(&file.path)?;
            builder.plugin_path(plugin_path::only(&file.path)?)
        }
        (None, None) => bail!("there is no file of `{}` for a service in this process", target.name),
    };
    if let Some(file) = &args.key_file {
        builder = builder.key_file(file);
    }
    if let Some(bytes) = args.max_msg_size {
        builder = builder.max_message_size(bytes);
    }
    Ok(builder.connect()?)
}

/// A service in this process loads the file.
fn for_this_machine(file: &Path) -> Result<()> {
    let mut header = [0; machine::HEADER_LEN];
    let read = File::open(file).and_then(|mut opened| opened.read_exact(&mut header));
    read.with_context(|| format!("reading {}", file.display()))?;
    match machine::foreign(&header) {
        Some(remark) => {
            bail!(
                "{}: {remark}; build it for this machine, or name a service that has it with --service",
                file.display()
            )
        }
        None => Ok(()),
    }
}

fn once(
    args: &Args,
    target: &Target,
    request: &Request,
    (worker, plugin): (&Worker, Plugin),
) -> Result<ExitCode> {
    let start = Instant::now();
    let completion = worker.command(plugin, &request.bytes)?;
    let answer = block_on_for(Duration::from_secs(args.timeout), completion).map_err(|_| {
        anyhow!(
            "{} of `{}` was not answered within {} s: wait longer with --timeout, or see the worker's log",
            request.name,
            target.name,
            args.timeout
        )
    })?;
    let took = start.elapsed();
    let reading = request.read(&answer);
    match args.json {
        true => output::json(&report::answer_json(&target.name, request, &answer, &reading, took))?,
        // A failed command's notification has a status, and zeros for the rest: nothing to read for an answer.
        false if answer.status == DocaError::SUCCESS => report::answer(&reading, took)?,
        false => {}
    }
    if let Err(code) = answer.status.check() {
        output::error(&anyhow!(
            "{} of `{}` ended with {} ({}): {}",
            request.name,
            target.name,
            code.name(),
            code.description(),
            reason(args, worker, &answer)
        ));
        return Ok(exit::FAILED);
    }
    for problem in &reading.problems {
        output::error(&anyhow!(
            "the answer to {} of `{}` is not what it should be: {problem}; does the description fit the plugin that runs?",
            request.name,
            target.name
        ));
    }
    Ok(if reading.problems.is_empty() { exit::DONE } else { exit::FAILED })
}

/// Why a command failed, as far as it is known here.
fn reason(args: &Args, worker: &Worker, answer: &Answer) -> String {
    if let Some(why) = worker.failure() {
        return why;
    }
    match (&answer.bytes, &args.service) {
        (Some(_), Some(_)) => {
            "the plugin answered with this status; its reason is in the worker's log, which the service writes".to_owned()
        }
        (Some(_), None) => {
            "the plugin answered with this status; its reason, if it logged one, stands above".to_owned()
        }
        (None, _) => {
            "the service ended it without a notification; its log, which stands above for a service in this process, says why"
                .to_owned()
        }
    }
}

fn repeated(
    args: &Args,
    target: &Target,
    request: &Request,
    (worker, plugin): (&Worker, Plugin),
    count: usize,
) -> Result<ExitCode> {
    let warm_up = args.warm_up.unwrap_or((count / 10).min(1000));
    let limit = Duration::from_secs(args.timeout);
    output::progress("Repeating", &format!("{} of {} {count} times", request.name, target.name));
    let before = repeat::run((worker, plugin), request, (warm_up, args.in_flight), limit);
    let done = before.samples();
    if let Some(error) = before.broken {
        return Err(error).with_context(|| format!("the warm-up ended after {done} commands"));
    }
    let tally = repeat::run((worker, plugin), request, (count, args.in_flight), limit);
    let shape = report::Shape { asked: count, in_flight: args.in_flight, warm_up };
    match args.json {
        true => output::json(&report::tally_json(&target.name, request, &tally, &shape))?,
        false => output::result(&report::tally(&tally, &shape))?,
    }
    if let Some(error) = &tally.broken {
        output::error(&anyhow!("it ended after {} of {count} commands: {error}", tally.samples()));
    }
    for (what, count) in &tally.errors {
        output::error(&anyhow!("{count} of {} answers: {what}", tally.samples()));
    }
    Ok(if tally.failed() == 0 && tally.broken.is_none() { exit::DONE } else { exit::FAILED })
}
