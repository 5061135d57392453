//! `cargo urom call`: commands by hand.

mod args;
mod crew;
mod line;
mod report;
mod request;
mod target;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use serde_json::json;
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

/// A line's commands, and where it is: see [`Batch`].
type Line = Result<(String, Vec<Written>)>;

pub(crate) fn run(args: &Args) -> Result<u8> {
    let lines = lines(args)?;
    let count = args.workers.unwrap_or(1);
    let ids = match args.worker {
        Some(first) => crew::ids(first, count).map_err(usage)?,
        None => vec![None; count],
    };
    let target = Target::find(&args.plugin, args.service.is_some())?;
    let call = Call { args, plugin: &target.name };
    let described = || target.protocol(args.protocol.as_deref());
    let protocol = match args.raw {
        // A description is optional: bytes are given because there is none.
        Some(_) if args.protocol.is_none() => described().ok(),
        _ => Some(described()?),
    };
    let batch = |line: Line| {
        let (place, line) = line?;
        call.batch(protocol.context("nothing describes the commands")?, place, line)
    };
    // All commands that are known are checked before anything is sent.
    let (mut known, mut input) = (Vec::new(), None);
    if let Some(raw) = &args.raw {
        let bytes = message::bytes(raw).map_err(|why| usage(format!("--raw: {why}")))?;
        let commands = vec![(0, Request::raw(bytes, protocol))];
        known.push(Batch { place: String::new(), commands });
    } else if args.words == ["-"] {
        input = Some(lines.map(batch));
    } else {
        known = lines.map(batch).collect::<Result<_>>()?;
    }
    let service = connect(args, &target)?;
    // Bytes may be for any version of the plugin.
    let plugin = match protocol.filter(|_| args.raw.is_none()) {
        Some(protocol) => service.plugin_with(&target.name, protocol)?,
        None => service.plugin_named(&target.name)?,
    };
    let lens = known.iter().map(|batch| batch.commands.len());
    let most = if input.is_some() { IN_FLIGHT } else { lens.max().unwrap_or_default() };
    let window = args.in_flight.max(most.min(IN_FLIGHT));
    let mut crew = Crew::start(&service, plugin, &ids, args.workers.is_some(), window)?;
    let code = match args.repeat {
        Some(count) => call.repeat(&mut crew, &known[0].commands[0], count),
        None => {
            let mut batches = known.into_iter().map(Ok).chain(input.into_iter().flatten());
            batches.try_fold(exit::DONE, |worst, batch| match batch {
                Ok(batch) => Ok(worst.max(call.send(&mut crew, &batch)?)),
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

/// The commands that are written in the arguments, or in the file or input that these name.
fn lines(args: &Args) -> Result<Box<dyn Iterator<Item = Line> + '_>> {
    let repeat = |is_one: bool| match args.repeat {
        Some(_) if !is_one => Err(usage("--repeat takes one command, as arguments")),
        _ => Ok(()),
    };
    match &args.words[..] {
        [word] if word == "-" => {
            repeat(false)?;
            Ok(Box::new(line::lines(io::stdin().lock(), "standard input")))
        }
        [word] if word == "@" => {
            Err(usage("`@` names no file: write @FILE, or `-` for standard input"))
        }
        [word] if word.starts_with('@') => {
            repeat(false)?;
            let file = &word[1..];
            let text = File::open(file).with_context(|| format!("cannot read {file}"))?;
            Ok(Box::new(line::lines(BufReader::new(text), file)))
        }
        words => {
            let line =
                if words.is_empty() { Vec::new() } else { line::read(words).map_err(usage)? };
            repeat(line.len() <= 1)?;
            Ok(Box::new(std::iter::once(Ok((String::new(), line)))))
        }
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

impl Call<'_> {
    /// The commands of a line. Without any, the error lists those that there are.
    fn batch(
        self,
        protocol: &'static Protocol,
        place: String,
        line: Vec<Written>,
    ) -> Result<Batch> {
        if line.is_empty() {
            let list = message::signatures(&protocol.commands).join("\n  ");
            return Err(usage(format!(
                "say which command to send to `{}`:\n  {list}",
                self.plugin
            )));
        }
        let one = |Written { worker, command, fields }: Written| {
            if worker >= self.args.workers.unwrap_or(1) {
                let command = command.escape_debug();
                let remedy = match worker {
                    0..MOST_WORKERS => format!(": --workers {} starts it", worker + 1),
                    _ => format!(", and at most {MOST_WORKERS} can be"),
                };
                return Err(format!("there is no worker {worker} for {command}{remedy}"));
            }
            let request = Request::described(protocol, &command, &fields)
                .map_err(|why| format!("plugin `{}`: {why}", self.plugin))?;
            request.remarks.iter().for_each(|remark| output::note(&format!("{place}{remark}")));
            Ok((worker, request))
        };
        let commands = line.into_iter().map(one).collect::<Result<_, String>>();
        Ok(Batch { commands: commands.map_err(|why| usage(format!("{place}{why}")))?, place })
    }

    /// Sends commands together and prints the answers in their order. Returns the exit code.
    fn send(self, crew: &mut Crew, batch: &Batch) -> Result<u8> {
        let mut outcomes: Vec<_> = batch.commands.iter().map(|_| None).collect();
        let limit = Duration::from_secs(self.args.timeout);
        let keep = |at: usize, outcome| {
            outcomes[at] = Some(outcome);
            true
        };
        crew.send(batch.commands.len(), |at| &batch.commands[at], limit, keep);
        let mut code = exit::DONE;
        for ((number, request), outcome) in batch.commands.iter().zip(outcomes) {
            let problems = match outcome.context("nothing came of a command")? {
                Outcome::Answered(answer, took) => {
                    let reading = request.read(&answer);
                    match self.args.json {
                        true => output::json(&self.json(request, &answer, &reading, took))?,
                        false => report::answer(&answer, &reading, took)?,
                    }
                    self.problems(request, &answer, reading, crew.failure(*number))
                }
                other => vec![self.unanswered(request, &other)],
            };
            for problem in problems {
                output::error(&anyhow!("{}{problem}", batch.place));
                code = exit::FAILED;
            }
        }
        Ok(code)
    }

    /// Sends one command many times, each as soon as an earlier one is answered. Returns the exit
    /// code.
    fn repeat(self, crew: &mut Crew, command: &(usize, Request), asked: usize) -> Result<u8> {
        let Call { args, plugin } = self;
        let request = &command.1;
        let what = format!("{} of {plugin} {}", request.name, Count(asked, "time"));
        output::progress("Repeating", &what);
        let mut errors_by_kind: BTreeMap<String, usize> = BTreeMap::new();
        let (mut count, mut ended_early, mut last) = (0_usize, None, None);
        let (start, limit) = (Instant::now(), Duration::from_secs(args.timeout));
        let tally = |_, outcome| {
            let Outcome::Answered(answer, _) = outcome else {
                ended_early.get_or_insert(self.unanswered(request, &outcome));
                return false;
            };
            count += 1;
            // Most answers equal the one before and need no second look.
            let problem: Option<String> = match last.take() {
                Some((same, problem)) if same == answer => problem,
                _ => {
                    let reading = request.read(&answer);
                    self.problems(request, &answer, reading, None).into_iter().next()
                }
            };
            if let Some(problem) = &problem {
                *errors_by_kind.entry(problem.clone()).or_default() += 1;
            }
            last = Some((answer, problem));
            true
        };
        crew.send(asked, |_| command, limit, tally);
        let (seconds, in_flight) = (start.elapsed().as_secs_f64(), args.in_flight);
        let rate = count as f64 / seconds.max(f64::MIN_POSITIVE);
        let errors: usize = errors_by_kind.values().sum();
        match args.json {
            // Fields may be added, and none is removed.
            true => output::json(&json!({
                "plugin": plugin, "command": request.name, "asked": asked, "in_flight": in_flight,
                "count": count, "errors": errors, "errors_by_kind": errors_by_kind,
                "ended_early": ended_early, "seconds": seconds, "rate": rate,
            }))?,
            false => output::result(&format!(
                "commands    {count} of {asked}, {in_flight} in flight\n\
                 errors      {errors}\n\
                 rate        {rate:.0} per second, in {seconds:.3} s\n"
            ))?,
        }
        if let Some(why) = &ended_early {
            let asked = Count(asked, "command");
            output::error(&anyhow!("it ended after {count} of {asked}: {why}"));
        }
        for (what, errors) in &errors_by_kind {
            output::error(&anyhow!("{errors} of {}: {what}", Count(count, "answer")));
        }
        Ok(if errors == 0 && ended_early.is_none() { exit::DONE } else { exit::FAILED })
    }
}
