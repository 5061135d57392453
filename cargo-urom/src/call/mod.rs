//! `cargo urom call`: commands by hand.

mod args;
mod crew;
mod line;
mod repeat;
mod report;
mod request;
mod target;

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use urom_abi::describe::Protocol;
use urom_abi::{Count, machine};
use urom_host::{Answer, DocaError, Service, Worker};

use crate::exit::usage;
use crate::message;
use crate::{exit, output, plugin_path};
use args::MOST_WORKERS;
use crew::{Crew, Outcome, Shape};
use line::Written;
use request::{Reading, Request};
use target::Target;

pub(crate) use args::Args;

/// Commands that are in flight together.
struct Batch {
    /// Where they are written, for messages, unless that is in arguments.
    place: Option<String>,
    /// Each with the number of its worker.
    commands: Vec<(usize, Request)>,
}

impl Batch {
    /// Says what became of one of them.
    fn complain(&self, what: impl fmt::Display) {
        output::error(&match &self.place {
            Some(place) => anyhow!("{place}: {what}"),
            None => anyhow!("{what}"),
        });
    }
}

/// Where the commands come from.
enum Source {
    /// Known, and found good.
    Known(Vec<Batch>),
    /// On standard input, to be read as they are sent.
    Input,
}

/// What came of all commands; the worst of some is what came of them together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Good,
    /// One was not answered as it should be.
    Failed,
    /// One was wrong, and not sent.
    Wrong,
}

impl Verdict {
    fn of(is_good: bool) -> Verdict {
        if is_good { Verdict::Good } else { Verdict::Failed }
    }
}

/// How many commands of a line may be in flight at a worker.
const IN_FLIGHT: usize = 64;

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let source = source(args)?;
    let count = args.workers.unwrap_or(1);
    let workers = match args.worker {
        Some(first) => crew::ids(first, count).map_err(usage)?,
        None => vec![None; count],
    };
    let target = Target::find(&args.plugin, args.service.is_some())?;
    let source = match source {
        None => return Err(no_command(args, &target)?),
        Some(Words::Input) => Source::Input,
        Some(Words::Raw(raw)) => {
            let commands = vec![(0, raw_request(args, &target, raw)?)];
            Source::Known(vec![Batch { place: None, commands }])
        }
        Some(Words::Line(line)) => Source::Known(vec![batch(args, &target, None, line)?]),
        Some(Words::File(file)) => {
            let text = File::open(file).with_context(|| format!("cannot read {file}"))?;
            let lines = line::lines(BufReader::new(text), file);
            let batches = lines
                .map(|line| line.and_then(|(place, line)| batch(args, &target, Some(place), line)));
            Source::Known(batches.collect::<Result<_>>()?)
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
        Source::Known(batches) => {
            batches.iter().map(|batch| batch.commands.len()).max().unwrap_or_default()
        }
        Source::Input => IN_FLIGHT,
    };
    let window = args.in_flight.max(most.min(IN_FLIGHT));
    let mut crew =
        Crew::start(&service, plugin, Shape { workers, domain: args.workers.is_some(), window })?;
    let done = match (source, args.repeat) {
        (Source::Known(batches), Some(count)) => {
            repeated(args, &target, &crew, &batches[0].commands[0].1, count).map(Verdict::of)
        }
        (Source::Known(batches), None) => {
            batches.iter().try_fold(Verdict::Good, |verdict, batch| {
                Ok(verdict.max(send(args, &target, &mut crew, batch)?))
            })
        }
        (Source::Input, _) => from_input(args, &target, &mut crew),
    };
    let stopped = crew.stop();
    let verdict = done?;
    stopped?;
    Ok(match verdict {
        Verdict::Good => exit::DONE,
        Verdict::Failed => exit::FAILED,
        Verdict::Wrong => exit::USAGE.into(),
    })
}

/// What the arguments say that is to be sent.
enum Words<'a> {
    Raw(&'a str),
    Line(Vec<Written>),
    File(&'a str),
    Input,
}

/// Reads the arguments; nothing when there is no command.
fn source(args: &Args) -> Result<Option<Words<'_>>> {
    if let Some(raw) = &args.raw {
        return Ok(Some(Words::Raw(raw)));
    }
    let source = match args.words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => return Ok(None),
        ["-"] => Words::Input,
        ["@"] => return Err(usage("`@` names no file: write @FILE, or `-` for standard input")),
        [word] if word.starts_with('@') => Words::File(&word[1..]),
        _ => Words::Line(line::read(&args.words).map_err(usage)?),
    };
    let is_one = matches!(&source, Words::Line(line) if line.len() == 1);
    if args.repeat.is_some() && !is_one {
        return Err(usage("--repeat takes one command, as arguments"));
    }
    Ok(Some(source))
}

/// Commands of standard input, a line at a time; what is wrong with one keeps the others from nothing.
fn from_input(args: &Args, target: &Target, crew: &mut Crew) -> Result<Verdict> {
    let mut verdict = Verdict::Good;
    for line in line::lines(io::stdin().lock(), "standard input") {
        let batch = line.and_then(|(place, line)| batch(args, target, Some(place), line));
        verdict = verdict.max(match batch {
            Ok(batch) => send(args, target, crew, &batch)?,
            Err(error) if exit::is_usage(&error) => {
                output::error(&error);
                Verdict::Wrong
            }
            Err(error) => return Err(error),
        });
    }
    Ok(verdict)
}

/// What describes the commands, if it is known.
fn protocol(args: &Args, target: &Target, source: &Source) -> Result<Option<&'static Protocol>> {
    match source {
        Source::Known(batches) => {
            let mut commands = batches.iter().flat_map(|batch| &batch.commands);
            Ok(commands.find_map(|(_, request)| request.protocol()))
        }
        Source::Input => target.protocol(args.protocol.as_deref()).map(Some),
    }
}

/// Says which commands there are. Nothing was sent, so this is no success.
fn no_command(args: &Args, target: &Target) -> Result<anyhow::Error> {
    let protocol = target.protocol(args.protocol.as_deref())?;
    let list: String =
        message::signatures(&protocol.commands).iter().map(|line| format!("\n  {line}")).collect();
    Ok(usage(format!("say which command to send to `{}`:{list}", target.name)))
}

/// The command of `--raw`.
fn raw_request(args: &Args, target: &Target, raw: &str) -> Result<Request> {
    let bytes = message::bytes(raw).map_err(|why| usage(format!("--raw: {why}")))?;
    // For the answer; that nothing describes it is why bytes are given.
    let protocol = match &args.protocol {
        Some(_) => Some(target.protocol(args.protocol.as_deref())?),
        None => target.protocol(None).ok(),
    };
    Ok(Request::raw(bytes, protocol))
}

/// The commands of a line, as they will be sent.
fn batch(args: &Args, target: &Target, place: Option<String>, line: Vec<Written>) -> Result<Batch> {
    let protocol = target.protocol(args.protocol.as_deref())?;
    let workers = args.workers.unwrap_or(1);
    let at = place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
    let one = |Written { worker, command, fields }: Written| {
        if worker >= workers {
            let command = command.escape_debug();
            return Err(usage(
                match worker.checked_add(1).filter(|count| *count <= MOST_WORKERS) {
                    Some(count) => {
                        format!(
                            "{at}there is no worker {worker} for {command}: --workers {count} starts it"
                        )
                    }
                    None => format!(
                        "{at}there is no worker {worker} for {command}, and at most {MOST_WORKERS} can be"
                    ),
                },
            ));
        }
        let request = Request::described(protocol, &command, &fields)
            .map_err(|why| usage(format!("{at}plugin `{}`: {why}", target.name)))?;
        request.remarks.iter().for_each(|remark| output::note(&format!("{at}{remark}")));
        Ok((worker, request))
    };
    let commands = line.into_iter().map(one).collect::<Result<_>>()?;
    Ok(Batch { place, commands })
}

fn connect(args: &Args, target: &Target) -> Result<Service> {
    let mut builder = Service::builder();
    builder = match (&args.service, &target.file) {
        (Some(address), _) => builder.address_from(address, "--service"),
        // The file alone: a service would load whatever else lies beside it.
        (None, Some(file)) => {
            for_this_machine(&file.path)?;
            plugin_path::fresh(&file.path)?;
            builder.plugin_path(plugin_path::only(&file.path)?)
        }
        (None, None) => {
            bail!("there is no file of `{}` for a service in this process", target.name)
        }
    };
    if let Some(file) = &args.key_file {
        builder = builder.key_file(file);
    }
    if let Some(bytes) = args.max_msg_size {
        builder = builder.max_message_size(bytes);
    }
    builder.connect().map_err(|error| match error.code() {
        // An address that is none, say: the service has not been asked for anything.
        DocaError::INVALID_VALUE => usage(error),
        _ => error.into(),
    })
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
fn send(args: &Args, target: &Target, crew: &mut Crew, batch: &Batch) -> Result<Verdict> {
    let outcomes = crew.send(&batch.commands, Duration::from_secs(args.timeout));
    let mut verdict = Verdict::Good;
    for ((number, request), outcome) in batch.commands.iter().zip(outcomes) {
        let which = format!("{} of `{}`", request.name, target.name);
        let problems = match outcome {
            Outcome::Answered(answer, took) => {
                let reading = request.read(&answer);
                match args.json {
                    true => output::json(&report::answer_json(
                        &target.name,
                        request,
                        &answer,
                        &reading,
                        took,
                    ))?,
                    // A failed command's notification has a status, and zeros for the rest: nothing to read for an answer.
                    false if answer.status == DocaError::SUCCESS => report::answer(&reading, took)?,
                    false => {}
                }
                problems(args, crew.worker(*number), &which, &answer, &reading)
            }
            Outcome::Refused(error) => vec![format!("{which}: {error:#}")],
            Outcome::Late => vec![format!(
                "{which} was not answered within {} s: wait longer with --timeout, or see the worker's log",
                args.timeout
            )],
            Outcome::Unsent(late) => vec![format!(
                "{which} was not sent: its worker has not answered {}, and takes no more before that",
                Count(late, "earlier command")
            )],
        };
        problems.iter().for_each(|problem| batch.complain(problem));
        verdict = verdict.max(Verdict::of(problems.is_empty()));
    }
    Ok(verdict)
}

/// What is wrong with an answer.
fn problems(
    args: &Args,
    worker: Option<&Worker>,
    which: &str,
    answer: &Answer,
    reading: &Reading,
) -> Vec<String> {
    if let Err(code) = answer.status.check() {
        let reason = reason(args, worker, answer);
        return vec![format!(
            "{which} ended with {} ({}): {reason}",
            code.name(),
            code.description()
        )];
    }
    let one = |problem: &String| {
        format!(
            "the answer to {which} is not what it should be: {problem}; does the description fit the \
             plugin that runs?"
        )
    };
    reading.problems.iter().map(one).collect()
}

/// Why a command failed, as far as it is known here.
fn reason(args: &Args, worker: Option<&Worker>, answer: &Answer) -> String {
    if let Some(why) = worker.and_then(Worker::failure) {
        return why;
    }
    match (&answer.bytes, &args.service) {
        (None, _) if answer.status == DocaError::TOO_BIG => {
            "the answer is longer than a message may be: ask for less, or raise --max-msg-size, and \
             that of a `uromd` that is called"
                .to_owned()
        }
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
    crew: &Crew,
    request: &Request,
    count: usize,
) -> Result<bool> {
    let worker = crew.worker(0).context("there is no worker")?;
    let plugin = crew.plugin;
    let warm_up = args.warm_up.unwrap_or((count / 10).min(1000));
    let limit = Duration::from_secs(args.timeout);
    output::progress(
        "Repeating",
        &format!("{} of {} {}", request.name, target.name, Count(count, "time")),
    );
    let before = repeat::run((worker, plugin), request, (warm_up, args.in_flight), limit);
    let done = before.samples();
    if let Some(error) = before.broken {
        return Err(error.context(format!("the warm-up ended after {}", Count(done, "command"))));
    }
    let tally = repeat::run((worker, plugin), request, (count, args.in_flight), limit);
    let shape = report::Shape { asked: count, in_flight: args.in_flight, warm_up };
    match args.json {
        true => output::json(&report::tally_json(&target.name, request, &tally, &shape))?,
        false => output::result(&report::tally(&tally, &shape))?,
    }
    if let Some(error) = &tally.broken {
        output::error(&anyhow!(
            "it ended after {} of {}: {error:#}",
            tally.samples(),
            Count(count, "command")
        ));
    }
    for (what, count) in &tally.errors {
        output::error(&anyhow!("{count} of {}: {what}", Count(tally.samples(), "answer")));
    }
    Ok(tally.failed() == 0 && tally.broken.is_none())
}
