//! `cargo urom call`: commands by hand.

mod crew;
mod line;
mod repeat;
mod report;
mod request;
mod target;

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::builder::RangedU64ValueParser;
use urom_abi::describe::Protocol;
use urom_abi::{WorkerId, machine};
use urom_host::{Answer, DocaError, Service, Worker};

use crate::message;
use crate::{exit, output, plugin_path};
use crew::{Crew, Shape};
use line::Written;
use request::Request;
use target::Target;

const EXAMPLES: &str = "\
Examples:
  cargo urom call target/debug/libworker_graph.so loopback data=42
  cargo urom call target/debug/libworker_graph.so loopback data=1 + loopback data=2
  echo 'loopback data=42' | cargo urom call target/debug/libworker_graph.so -
  cargo urom call target/debug/libworker_sandbox.so --workers 2 0:tag_recv count=5 tag=7 tag_mask=255 + 1:tag_send dest=0 tag=7 data=hello
  cargo urom call target/debug/libworker_graph.so loopback data=42 --repeat 10000 --in-flight 16
  cargo urom call target/debug/libworker_graph.so loopback data=42 --service 127.0.0.1:18700
  UROM_PLUGIN_PATH=target/debug cargo urom call worker_sandbox mem_map 'map_params={field_mask=7,address=4096,length=4096,flags=2}'
  cargo urom call worker_graph.so loopback data=42 --protocol target/debug/libworker_graph.so
  cargo urom call worker_graph --raw hex:00000000000000002a00000000000000 --service 127.0.0.1:18700

Values:
  integers      7  -7  0x1f  1_000
  floats        0.5  1e-3  inf
  bool, char    true  false; x  ' '  0x1f600
  enums         the name of a value, or its number
  text          any text; text:@no-file
  bytes         any text; hex:0a0b or 0x0a0b; @file; text:@no-file
  arrays        [1,2,3]; an array of u8 also as bytes, with zeros behind them
  structures    {a=1,b=[2,3]}, or single members: params.a=1 params.b[0]=2; the rest is zero
  elements      [1,2,3] or [{a=1},{a=2}]
  any type      hex:.. or @file, with exactly its bytes
A shell wants quotes around what has brackets. A field that the answer repeats is 0 unless it is given. The words of payloads (addresses, lengths) are filled in; give one
to send another. Data in registered memory: its id, address and length words in place of the data.

Several commands stand with a `+` between them. They go to one worker, which stays until the last of them is answered, and are in
flight together. In place of commands, `-` stands for those on standard input and @FILE for those in a file, one line after the
other: a line waits for the answers of the line before. `#` begins a comment there. What is wrong in a file, or in arguments, is said
before anything is sent.

With --workers N there are N workers, numbered from 0, in a domain whose ids are these numbers. 1:COMMAND is for worker 1; without a
number it is worker 0.

With --repeat a time runs from before a command is submitted to after its answer is there, whatever the answer, and a
percentile is one of these times, by the nearest rank. Each answer brings the next command: what the plugin holds up delays
the commands behind it and is not counted for them too.

The embedded service is right for a first try. Its worker is a thread of this process, so a plugin that crashes ends it.
Without --workers there is no domain: commands that need one, to reach another worker's plugin, are refused by their plugin.
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
    /// The command and what it carries; loopback, Loopback and loop-back are the same. Further commands behind a `+`; `-` or
    /// @FILE for commands in lines. Without any, those that there are are listed.
    #[arg(value_name = "COMMAND [FIELD=VALUE].. [+ ..]", conflicts_with = "raw")]
    words: Vec<String>,
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
    /// Starts so many workers and makes a domain of them. With --worker ID, that is the id of the first one.
    #[arg(long, value_name = "N", conflicts_with = "repeat",
        value_parser = RangedU64ValueParser::<usize>::new().range(1..=256))]
    workers: Option<usize>,
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
    /// Prints JSON: an object for each command.
    #[arg(long)]
    json: bool,
}

/// Commands that are in flight together, each with the number of its worker.
type Batch = Vec<(usize, Request)>;

/// Where the commands come from.
enum Source {
    /// Known, and found good.
    Known(Vec<Batch>),
    /// On standard input, to be read as they are sent.
    Input,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let Ok(source) = source(args) else {
        return Ok(exit::USAGE.into());
    };
    let target = Target::find(&args.plugin, args.service.is_some())?;
    let source = match source {
        None => return no_command(args, &target),
        Some(Words::Input) => Source::Input,
        Some(Words::Raw(raw)) => Source::Known(vec![vec![(0, raw_request(args, &target, raw)?)]]),
        Some(Words::Line(line)) => Source::Known(vec![batch(args, &target, line)?]),
        Some(Words::File(file)) => {
            let text = File::open(file).with_context(|| format!("cannot read {file}"))?;
            let batches = line::lines(BufReader::new(text)).map(|line| batch(args, &target, line?));
            Source::Known(batches.collect::<Result<_>>().with_context(|| file.to_owned())?)
        }
    };
    let service = connect(args, &target)?;
    // Who gives the bytes by hand answers for their layout.
    let protocol = protocol(args, &target, &source)?.filter(|_| args.raw.is_none());
    let plugin = match protocol {
        Some(protocol) => service.plugin_with(&target.name, protocol)?,
        None => service.plugin_named(&target.name)?,
    };
    let most = match &source {
        Source::Known(batches) => batches.iter().map(Vec::len).max().unwrap_or_default(),
        Source::Input => IN_LINE,
    };
    let shape = Shape {
        domain: args.workers,
        first: args.worker.map(|WorkerId(id)| id),
        window: args.in_flight.max(most),
    };
    let crew = Crew::start(&service, plugin, shape)?;
    let done = match (source, args.repeat) {
        (Source::Known(batches), Some(count)) => repeated(args, &target, &crew, &batches[0][0].1, count),
        (Source::Known(batches), None) => {
            batches.iter().try_fold(true, |good, batch| Ok(send(args, &target, &crew, batch)? && good))
        }
        (Source::Input, _) => from_input(args, &target, &crew),
    };
    let stopped = crew.stop();
    let good = done?;
    stopped?;
    Ok(if good { exit::DONE } else { exit::FAILED })
}

/// How many commands of a line of standard input may be in flight.
const IN_LINE: usize = 64;

/// What the arguments say that is to be sent.
enum Words<'a> {
    Raw(&'a str),
    Line(Vec<Written>),
    File(&'a str),
    Input,
}

/// Reads the arguments; nothing when there is no command. What is wrong has been said.
fn source(args: &Args) -> Result<Option<Words<'_>>, ()> {
    let wrong = |why: String| output::error(&anyhow!(why));
    if let Some(raw) = &args.raw {
        return Ok(Some(Words::Raw(raw)));
    }
    let source = match args.words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => return Ok(None),
        ["-"] => Words::Input,
        [word] if word.starts_with('@') => Words::File(&word[1..]),
        _ => Words::Line(line::read(&args.words).map_err(wrong)?),
    };
    let is_one = matches!(&source, Words::Line(line) if line.len() == 1);
    if args.repeat.is_some() && !is_one {
        wrong("--repeat takes one command, as arguments".to_owned());
        return Err(());
    }
    Ok(Some(source))
}

/// Commands of standard input, a line at a time; what is wrong with one keeps the others from nothing.
fn from_input(args: &Args, target: &Target, crew: &Crew) -> Result<bool> {
    let mut good = true;
    for line in line::lines(io::stdin().lock()) {
        good &= match line.and_then(|line| batch(args, target, line)) {
            Ok(batch) => send(args, target, crew, &batch)?,
            Err(error) => {
                output::error(&error);
                false
            }
        };
    }
    Ok(good)
}

/// What describes the commands, if it is known.
fn protocol(args: &Args, target: &Target, source: &Source) -> Result<Option<&'static Protocol>> {
    match source {
        Source::Known(batches) => Ok(batches.iter().flatten().find_map(|(_, request)| request.protocol())),
        Source::Input => target.protocol(args.protocol.as_deref()).map(Some),
    }
}

/// Says which commands there are. Nothing was sent, so this is no success.
fn no_command(args: &Args, target: &Target) -> Result<ExitCode> {
    let protocol = target.protocol(args.protocol.as_deref())?;
    let list: String =
        message::signatures(&protocol.commands).iter().map(|line| format!("\n  {line}")).collect();
    output::error(&anyhow!("say which command to send to `{}`:{list}", target.name));
    Ok(exit::USAGE.into())
}

/// The command of `--raw`.
fn raw_request(args: &Args, target: &Target, raw: &str) -> Result<Request> {
    let bytes = message::bytes(raw).map_err(|why| anyhow!("--raw: {why}"))?;
    // For the answer; that nothing describes it is why bytes are given.
    let protocol = match &args.protocol {
        Some(_) => Some(target.protocol(args.protocol.as_deref())?),
        None => target.protocol(None).ok(),
    };
    Ok(Request::raw(bytes, protocol))
}

/// The commands of a line, as they will be sent.
fn batch(args: &Args, target: &Target, line: Vec<Written>) -> Result<Batch> {
    let protocol = target.protocol(args.protocol.as_deref())?;
    let workers = args.workers.unwrap_or(1);
    let one = |Written { worker, command, fields }: Written| {
        ensure!(
            worker < workers,
            "there is no worker {worker} for {command}: --workers {} starts it",
            worker.saturating_add(1)
        );
        let request = Request::described(protocol, &command, &fields)
            .map_err(|why| anyhow!("plugin `{}`: {why}", target.name))?;
        request.remarks.iter().for_each(|remark| output::note(remark));
        Ok((worker, request))
    };
    line.into_iter().map(one).collect()
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

/// Sends commands together and prints what was answered, in their order; whether all is as it should be.
fn send(args: &Args, target: &Target, crew: &Crew, batch: &Batch) -> Result<bool> {
    let outcomes = crew.send(batch, Duration::from_secs(args.timeout));
    let mut good = true;
    for ((number, request), outcome) in batch.iter().zip(outcomes) {
        good &= match outcome {
            Some(Ok((answer, took))) => answered(args, target, crew, (*number, request), &answer, took)?,
            Some(Err(error)) => {
                output::error(&anyhow!(error).context(format!("{} of `{}`", request.name, target.name)));
                false
            }
            None => {
                output::error(&anyhow!(
                    "{} of `{}` was not answered within {} s: wait longer with --timeout, or see the worker's log",
                    request.name,
                    target.name,
                    args.timeout
                ));
                false
            }
        };
    }
    Ok(good)
}

fn answered(
    args: &Args,
    target: &Target,
    crew: &Crew,
    (number, request): (usize, &Request),
    answer: &Answer,
    took: Duration,
) -> Result<bool> {
    let reading = request.read(answer);
    match args.json {
        true => output::json(&report::answer_json(&target.name, request, answer, &reading, took))?,
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
            reason(args, crew.worker(number), answer)
        ));
        return Ok(false);
    }
    for problem in &reading.problems {
        output::error(&anyhow!(
            "the answer to {} of `{}` is not what it should be: {problem}; does the description fit the plugin that runs?",
            request.name,
            target.name
        ));
    }
    Ok(reading.problems.is_empty())
}

/// Why a command failed, as far as it is known here.
fn reason(args: &Args, worker: Option<&Worker>, answer: &Answer) -> String {
    if let Some(why) = worker.and_then(Worker::failure) {
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

fn repeated(args: &Args, target: &Target, crew: &Crew, request: &Request, count: usize) -> Result<bool> {
    let worker = crew.worker(0).context("there is no worker")?;
    let plugin = crew.plugin;
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
    Ok(tally.failed() == 0 && tally.broken.is_none())
}
