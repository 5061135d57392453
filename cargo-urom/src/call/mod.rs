//! `cargo urom call`: commands by hand.

mod args;
mod crew;
mod line;
mod report;
mod request;
mod target;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use urom_abi::Count;
use urom_abi::describe::Protocol;
use urom_host::{DocaError, Service};

use crate::elf::Machine;
use crate::exit::usage;
use crate::message;
use crate::{exit, output, plugin_path};
use args::MOST_WORKERS;
use crew::{Crew, Outcome};
use line::Written;
use report::Tally;
use request::Request;
use target::Target;

pub(crate) use args::Args;

/// How many commands of a line may be in flight at a worker.
const IN_FLIGHT: usize = 64;

/// Commands that are in flight together, each with the number of its worker.
struct Batch {
    /// Where they are written, such as `line 3 of FILE: `, as a prefix of messages. Empty for
    /// arguments.
    place: String,
    commands: Vec<(usize, Request)>,
}

enum Words<'a> {
    Nothing,
    Raw(&'a str),
    Line(Vec<Written>),
    File(&'a str),
    Input,
}

pub(crate) fn run(args: &Args) -> Result<u8> {
    let words = words(args)?;
    let count = args.workers.unwrap_or(1);
    let ids = match args.worker {
        Some(first) => crew::ids(first, count).map_err(usage)?,
        None => vec![None; count],
    };
    let target = Target::find(&args.plugin, args.service.is_some())?;
    let plugin = &target.name;
    let mut protocol = None;
    let mut reader = || -> Result<Reader<'_>> {
        let described = target.protocol(args.protocol.as_deref())?;
        Ok(Reader { args, plugin, protocol: protocol.insert(described) })
    };
    // All commands that are known are checked before anything is sent.
    let mut known = Vec::new();
    let mut input = None;
    match words {
        Words::Nothing => return Err(reader()?.no_command()),
        Words::Raw(raw) => {
            let bytes = message::bytes(raw).map_err(|why| usage(format!("--raw: {why}")))?;
            let described = target.protocol(args.protocol.as_deref());
            // A description is optional: bytes are given because there is none.
            let described = if args.protocol.is_some() { Some(described?) } else { described.ok() };
            let commands = vec![(0, Request::raw(bytes, described))];
            known.push(Batch { place: String::new(), commands });
        }
        Words::Line(line) => known.push(reader()?.batch(String::new(), line)?),
        Words::File(file) => {
            let text = File::open(file).with_context(|| format!("cannot read {file}"))?;
            known = reader()?.batches(BufReader::new(text), file).collect::<Result<_>>()?;
        }
        Words::Input => input = Some(reader()?.batches(io::stdin().lock(), "standard input")),
    }
    let service = connect(args, &target)?;
    // Bytes may be for any version of the plugin.
    let plugin = match protocol {
        Some(protocol) => service.plugin_with(&target.name, protocol)?,
        None => service.plugin_named(&target.name)?,
    };
    let lens = known.iter().map(|batch| batch.commands.len());
    let most = if input.is_some() { IN_FLIGHT } else { lens.max().unwrap_or_default() };
    let window = args.in_flight.max(most.min(IN_FLIGHT));
    let mut crew = Crew::start(&service, plugin, &ids, args.workers.is_some(), window)?;
    let call = Call { args, plugin: &target.name };
    let code = match args.repeat {
        Some(count) => repeat(call, &mut crew, &known[0].commands[0], count),
        None => {
            let mut batches = known.into_iter().map(Ok).chain(input.into_iter().flatten());
            batches.try_fold(exit::DONE, |worst, batch| match batch {
                Ok(batch) => Ok(worst.max(send(call, &mut crew, &batch)?)),
                // An error in one line does not stop the other lines.
                Err(error) if exit::is_usage(&error) => {
                    output::error(&error);
                    Ok(exit::USAGE)
                }
                Err(error) => Err(error),
            })
        }
    };
    let stopped = crew.stop();
    let code = code?;
    stopped?;
    Ok(code)
}

fn words(args: &Args) -> Result<Words<'_>> {
    if let Some(raw) = &args.raw {
        return Ok(Words::Raw(raw));
    }
    let words = match args.words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => return Ok(Words::Nothing),
        ["-"] => Words::Input,
        ["@"] => return Err(usage("`@` names no file: write @FILE, or `-` for standard input")),
        [word] if word.starts_with('@') => Words::File(&word[1..]),
        _ => Words::Line(line::read(&args.words).map_err(usage)?),
    };
    let is_one = matches!(&words, Words::Line(line) if line.len() == 1);
    if args.repeat.is_some() && !is_one {
        return Err(usage("--repeat takes one command, as arguments"));
    }
    Ok(words)
}

struct Reader<'a> {
    args: &'a Args,
    plugin: &'a str,
    protocol: &'static Protocol,
}

impl Reader<'_> {
    /// Lists the commands. Nothing was sent, so this is no success.
    fn no_command(&self) -> anyhow::Error {
        let list = message::signatures(&self.protocol.commands).join("\n  ");
        usage(format!("say which command to send to `{}`:\n  {list}", self.plugin))
    }

    fn batch(&self, place: String, line: Vec<Written>) -> Result<Batch> {
        let one = |Written { worker, command, fields }: Written| {
            if worker >= self.args.workers.unwrap_or(1) {
                let command = command.escape_debug();
                let remedy = match worker {
                    0..MOST_WORKERS => format!(": --workers {} starts it", worker + 1),
                    _ => format!(", and at most {MOST_WORKERS} can be"),
                };
                return Err(format!("there is no worker {worker} for {command}{remedy}"));
            }
            let request = Request::described(self.protocol, &command, &fields)
                .map_err(|why| format!("plugin `{}`: {why}", self.plugin))?;
            request.remarks.iter().for_each(|remark| output::note(&format!("{place}{remark}")));
            Ok((worker, request))
        };
        let commands = line.into_iter().map(one).collect::<Result<_, String>>();
        Ok(Batch { commands: commands.map_err(|why| usage(format!("{place}{why}")))?, place })
    }

    /// Those of a text, a line at a time.
    fn batches(self, text: impl BufRead, of: &str) -> impl Iterator<Item = Result<Batch>> {
        line::lines(text, of).map(move |line| {
            let (place, line) = line?;
            self.batch(place + ": ", line)
        })
    }
}

fn connect(args: &Args, target: &Target) -> Result<Service> {
    let mut builder = Service::builder();
    builder = match (&args.service, &target.file) {
        (Some(address), _) => builder.address_from(address, "--service"),
        // The file alone: a service would load whatever else lies beside it.
        (None, Some(file)) => {
            if let Some(ours) = Machine::ours().filter(|ours| file.elf.machine != Ok(*ours)) {
                bail!(
                    "{}: it is for {}, and this program runs on {}; build it for this machine, or \
                     name a service that has it with --service",
                    file.path.display(),
                    file.elf.machine_name(),
                    ours.name()
                );
            }
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
        // For instance an invalid address: nothing was sent to a service.
        DocaError::INVALID_VALUE => usage(error),
        _ => error.into(),
    })
}

/// What every message about a command names.
#[derive(Clone, Copy)]
struct Call<'a> {
    args: &'a Args,
    plugin: &'a str,
}

/// Sends commands together and prints what was answered, in their order. Returns the exit code.
fn send(call: Call<'_>, crew: &mut Crew, batch: &Batch) -> Result<u8> {
    let mut outcomes: Vec<_> = batch.commands.iter().map(|_| None).collect();
    let limit = Duration::from_secs(call.args.timeout);
    crew.send(
        outcomes.len(),
        |at| &batch.commands[at],
        limit,
        |at, outcome| {
            outcomes[at] = Some(outcome);
            true
        },
    );
    let mut code = exit::DONE;
    for ((number, request), outcome) in batch.commands.iter().zip(outcomes) {
        let problems = match outcome.context("nothing came of a command")? {
            Outcome::Answered(answer, took) => {
                let reading = request.read(&answer);
                match call.args.json {
                    true => output::json(&report::answer_json(
                        call.plugin,
                        request,
                        &answer,
                        &reading,
                        took,
                    ))?,
                    false => report::answer(&answer, &reading, took)?,
                }
                report::problems(call, request, &answer, reading, crew.failure(*number))
            }
            other => vec![report::unanswered(call, request, &other)],
        };
        for problem in problems {
            output::error(&anyhow!("{}{problem}", batch.place));
            code = exit::FAILED;
        }
    }
    Ok(code)
}

/// Sends one command many times, each as soon as an earlier one is answered. Returns the exit code.
fn repeat(call: Call<'_>, crew: &mut Crew, command: &(usize, Request), asked: usize) -> Result<u8> {
    let (args, plugin, request) = (call.args, call.plugin, &command.1);
    let what = format!("{} of {plugin} {}", request.name, Count(asked, "time"));
    output::progress("Repeating", &what);
    let mut errors_by_kind = BTreeMap::new();
    let (mut count, mut ended_early, mut last) = (0, None, None);
    let (start, limit) = (Instant::now(), Duration::from_secs(args.timeout));
    crew.send(
        asked,
        |_| command,
        limit,
        |_, outcome| {
            let Outcome::Answered(answer, _) = outcome else {
                ended_early.get_or_insert(report::unanswered(call, request, &outcome));
                return false;
            };
            count += 1;
            // Most answers equal the one before and need no second look.
            let problem: Option<String> = match last.take() {
                Some((same, problem)) if same == answer => problem,
                _ => {
                    let reading = request.read(&answer);
                    report::problems(call, request, &answer, reading, None).into_iter().next()
                }
            };
            if let Some(problem) = &problem {
                *errors_by_kind.entry(problem.clone()).or_default() += 1;
            }
            last = Some((answer, problem));
            true
        },
    );
    let seconds = start.elapsed().as_secs_f64();
    let tally = Tally {
        plugin,
        command: &request.name,
        asked,
        in_flight: args.in_flight,
        count,
        errors: errors_by_kind.values().sum(),
        errors_by_kind,
        ended_early,
        seconds,
        rate: count as f64 / seconds.max(f64::MIN_POSITIVE),
    };
    match args.json {
        true => output::json(&tally)?,
        false => output::result(&tally.text())?,
    }
    if let Some(why) = &tally.ended_early {
        let asked = Count(asked, "command");
        output::error(&anyhow!("it ended after {count} of {asked}: {why}"));
    }
    for (what, errors) in &tally.errors_by_kind {
        output::error(&anyhow!("{errors} of {}: {what}", Count(count, "answer")));
    }
    let is_good = tally.errors == 0 && tally.ended_early.is_none();
    Ok(if is_good { exit::DONE } else { exit::FAILED })
}
