//! `cargo urom call`: sends commands from the command line.

mod args;
mod line;
mod memory;
mod report;
mod request;
mod target;
mod worker_group;

use std::fs::File;
use std::io::{self, BufReader};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use urom_abi::Quantity;
use urom_abi::describe::Protocol;
use urom_host::{DocaError, Service};

use crate::elf::ElfMachine;
use crate::exit::usage;
use crate::{exit, output, plugin_path};
use args::MOST_WORKERS;
use line::CommandSpec;
use memory::NamedMemories;
use request::CommandRequest;
use target::CallTarget;
use urom_message::{self as message, Memories};
use worker_group::{CommandOutcome, WorkerGroup};

pub(crate) use args::CallArgs;

struct Batch {
    /// Prefix of messages, such as `line 3 of FILE: `. Empty for arguments.
    prefix: String,
    commands: Vec<(usize, CommandRequest)>,
}

type CommandLine = Result<(String, Vec<CommandSpec>)>;

pub(crate) fn run(args: &CallArgs) -> Result<u8> {
    let lines = lines(args)?;
    let target = CallTarget::find(&args.plugin, args.service.is_some())?;
    let memory = NamedMemories::make(args)?;
    let call = CallSession { args, plugin: &target.name, memories: &memory.ranges() };
    let described = || target.protocol(args.protocol.as_deref());
    let protocol = match args.raw {
        // For raw bytes, a description is optional.
        Some(_) if args.protocol.is_none() => described().ok(),
        _ => Some(described()?),
    };
    let batch = |line: CommandLine| {
        let (prefix, line) = line?;
        call.batch(protocol.context("nothing describes the commands")?, prefix, line)
    };
    // All commands except those from standard input are checked before the first is sent.
    let (mut known, mut input) = (Vec::new(), None);
    if let Some(raw) = &args.raw {
        let bytes = message::bytes(raw).map_err(|why| usage(format!("--raw: {why}")))?;
        let commands = vec![(0, CommandRequest::raw(bytes, protocol))];
        known.push(Batch { prefix: String::new(), commands });
    } else if args.words == ["-"] {
        input = Some(lines.map(batch));
    } else {
        known = lines.map(batch).collect::<Result<_>>()?;
    }
    let service = connect(args, &target)?;
    // Raw bytes may be for any version of the plugin.
    let plugin = match protocol.filter(|_| args.raw.is_none()) {
        Some(protocol) => service.plugin_with(&target.name, protocol)?,
        None => service.plugin_named(&target.name)?,
    };
    let mut group = WorkerGroup::start(&service, plugin, args.worker, args.workers)?;
    for named in &memory.0 {
        let limit = Duration::from_secs(args.timeout);
        let paths = group.share(&named.map, limit);
        let paths = paths.with_context(|| format!("memory `{}` cannot be shared", named.name))?;
        if args.verbose {
            let len = Quantity(named.map.len() as usize, "byte");
            for (worker, path) in paths.into_iter().enumerate() {
                let with = format!("memory `{}`, {len}, with worker {worker}", named.name);
                output::progress("Shared", &format!("{with}: {}", path.name()));
            }
        }
    }
    let mut batches = known.into_iter().map(Ok).chain(input.into_iter().flatten());
    let code = batches.try_fold(exit::DONE, |worst, batch| match batch {
        Ok(batch) => Ok(worst.max(call.send(&mut group, &batch)?)),
        // An error in one line does not stop the other lines.
        Err(error) if exit::is_usage(&error) => {
            output::error(&error);
            Ok(exit::USAGE)
        }
        Err(error) => Err(error),
    });
    let stopped = group.stop();
    let code = code?;
    // The workers no longer use the memory.
    memory.report(args.json)?;
    stopped?;
    Ok(code)
}

fn lines(args: &CallArgs) -> Result<Box<dyn Iterator<Item = CommandLine> + '_>> {
    Ok(match &args.words[..] {
        [word] if word == "-" => Box::new(line::lines(io::stdin().lock(), "standard input")),
        [word] if word == "@" => {
            return Err(usage("`@` does not name a file: write @FILE, or `-` for standard input"));
        }
        [word] if word.starts_with('@') => {
            let file = &word[1..];
            let text = File::open(file).with_context(|| format!("cannot read {file}"))?;
            Box::new(line::lines(BufReader::new(text), file))
        }
        [] => Box::new(std::iter::once(Ok((String::new(), Vec::new())))),
        words => {
            let line = line::read(words).map_err(usage)?;
            Box::new(std::iter::once(Ok((String::new(), line))))
        }
    })
}

fn connect(args: &CallArgs, target: &CallTarget) -> Result<Service> {
    let mut builder = Service::builder();
    builder = match (&args.service, &target.file) {
        (Some(address), _) => builder.address_from(address, "--service"),
        // The file alone: a service would load all plugins of the directory.
        (None, Some(file)) => {
            if let Some(ours) = ElfMachine::ours().filter(|ours| file.elf.machine != Ok(*ours)) {
                bail!(
                    "{}: it is for {}, and this program runs on {}; build it for this machine, or \
                     name a service that has it with --service",
                    file.path.display(),
                    file.elf.machine_name(),
                    ours.name()
                );
            }
            plugin_path::fresh(&file.path)?;
            builder.plugin_paths([plugin_path::only(&file.path)?])
        }
        (None, None) => {
            bail!("the file of `{}` is missing for a service in this process", target.name)
        }
    };
    if let Some(file) = &args.key_file {
        builder = builder.key_file(file);
    }
    if let Some(bytes) = args.max_msg_size {
        builder = builder.max_message_size(bytes);
    }
    builder.connect_blocking().map_err(|error| match error.code() {
        // For instance an invalid address, before anything was sent.
        DocaError::INVALID_VALUE => usage(error),
        _ => error.into(),
    })
}

#[derive(Clone, Copy)]
struct CallSession<'a> {
    args: &'a CallArgs,
    plugin: &'a str,
    memories: &'a Memories,
}

impl CallSession<'_> {
    /// Makes the commands of a line. For an empty line, the error lists all commands.
    fn batch(
        self,
        protocol: &'static Protocol,
        prefix: String,
        line: Vec<CommandSpec>,
    ) -> Result<Batch> {
        if line.is_empty() {
            let list = message::signatures(&protocol.commands).join("\n  ");
            return Err(usage(format!(
                "say which command to send to `{}`:\n  {list}",
                self.plugin
            )));
        }
        let one = |CommandSpec { worker, command, fields }: CommandSpec| {
            if worker >= self.args.workers.unwrap_or(1) {
                let command = command.escape_debug();
                let remedy = match worker {
                    _ if self.args.worker.is_some() => {
                        ": the worker of --worker has number 0".to_owned()
                    }
                    0..MOST_WORKERS => format!(": --workers {} starts it", worker + 1),
                    _ => format!(", and at most {MOST_WORKERS} can be"),
                };
                return Err(format!("worker {worker} does not exist for {command}{remedy}"));
            }
            let request = CommandRequest::described(protocol, &command, &fields, self.memories)
                .map_err(|why| format!("plugin `{}`: {why}", self.plugin))?;
            request.remarks.iter().for_each(|remark| output::note(&format!("{prefix}{remark}")));
            Ok((worker, request))
        };
        let commands = line.into_iter().map(one).collect::<Result<_, String>>();
        Ok(Batch { commands: commands.map_err(|why| usage(format!("{prefix}{why}")))?, prefix })
    }

    fn send(self, group: &mut WorkerGroup, batch: &Batch) -> Result<u8> {
        let outcomes = group.send(&batch.commands, Duration::from_secs(self.args.timeout));
        let mut code = exit::DONE;
        for ((number, request), outcome) in batch.commands.iter().zip(outcomes) {
            let problems = match outcome {
                CommandOutcome::Answered(answer, took) => {
                    let reading = request.read(&answer);
                    match self.args.json {
                        true => output::json(&self.json(request, &answer, &reading, took))?,
                        false => report::answer(&answer, &reading, took)?,
                    }
                    self.problems(request, &answer, reading, group.failure(*number))
                }
                other => vec![self.unanswered(request, &other)],
            };
            for problem in problems {
                output::error(&anyhow!("{}{problem}", batch.prefix));
                code = exit::FAILED;
            }
        }
        Ok(code)
    }
}
