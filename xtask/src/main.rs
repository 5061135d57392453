//! Tasks for contributors and the CI: `cargo xtask help`.
//!
//! They only need Rust and a C linker. The set-up, which runs first, installs everything else.

mod cross;
mod deb;
mod debian;
mod demo;
mod directory;
mod filter;
mod fuzz;
mod generate;
mod guide;
mod install;
mod linked_ucx;
mod measure;
mod package;
mod pkgconfig;
mod plugins;
mod process;
mod prose;
mod releases;
mod sanitize;
mod setup;
mod shell;
mod slurm;
mod steps;
mod target;
mod template;
mod test;
mod tools;
mod ucx;
mod upgrade;
mod workspace;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail, ensure};
use lexopt::Arg::{Long, Short, Value};
use lexopt::{Parser, ValueExt};

use sanitize::Check;
use target::BuildTarget;
use workspace::Workspace;

const HELP: &str = "\
The tasks of this project's contributors

Usage: cargo xtask TASK [OPTIONS]

  setup [--target T]            installs Debian packages, UCX and the target's own tools
  demo                          starts the service and runs the examples against it
  test [-p PACKAGE].. [--target T] [--mpi] [-- ARGS]
                                runs every test, or those of packages; --mpi: those of MPI too
  test --ucx VERSION            runs the tests that use UCX on that release, such as 1.16.0
  slurm                         runs the examples under Slurm, on one node and on two
  cross                         runs host programs against a service for BlueField, emulated
  upgrade                       runs hosts of the previous protocol against this service, and back
  plugins [--release] [--target T]
                                builds the plugins; prints the directory for UROM_PLUGIN_PATH
  install --prefix DIR [--target T]
                                builds and installs uromd, DOCA's libraries and headers
  install --deb [--target T]    makes a Debian package of these
  bench [ARGS]                  measures the kit against raw UCX; `bench --help` lists ARGS
  faults [ARGS]                 breaks processes and links of a running service
  api [--check]                 writes, or compares, the lists of the crates' public items
  bindings [--check]            writes, or compares, the UCX bindings
  headers [--check]             writes, or compares, the plugins' C headers
  deny                          checks the dependencies against deny.toml
  guide                         runs the guide's start page, and builds the guide
  prose                         checks the English of comments, messages and pages
  package [--allow-dirty]       packages the published crates, and builds each from its package
  template [--quick | --bless]  makes, builds and runs workspaces of the template
  sanitize [--full] [CHECK]..   runs tests under sanitizers, valgrind and Miri
  miri                          runs tests under Miri
  fuzz [TARGET] [--runs N] [--unsanitized | --merge]
                                runs the fuzz targets, or adds what runs found

T is x86_64-unknown-linux-gnu or aarch64-unknown-linux-gnu. CHECK is asan, tsan, valgrind or miri.
";

fn main() -> ExitCode {
    let Err(error) = run(Parser::from_env()) else { return ExitCode::SUCCESS };
    eprintln!("error: {error:#}");
    // The exit code of the failed command, unless it was killed.
    let code = error.downcast_ref::<shell::FailedCommand>().and_then(|failed| failed.status.code());
    code.and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
}

#[derive(Default)]
struct Options {
    target: Option<BuildTarget>,
    packages: Vec<String>,
    ucx: Option<String>,
    prefix: Option<PathBuf>,
    runs: Option<u64>,
    flags: Vec<String>,
    values: Vec<String>,
    rest: Vec<String>,
}

impl Options {
    /// Parses options, which must be in `allowed`; `VALUE` and `--` permit values and a rest.
    fn read(parser: &mut Parser, task: &str, allowed: &[&str]) -> Result<Options> {
        let mut options = Options::default();
        loop {
            // Arguments after `--` are for another program.
            if let Some(raw) = parser.try_raw_args()
                && raw.peek().is_some_and(|word| word == "--")
            {
                ensure!(allowed.contains(&"--"), "`cargo xtask {task}` does not take `--`");
                options.rest = raw.skip(1).map(text).collect::<Result<_>>()?;
                return Ok(options);
            }
            let Some(argument) = parser.next()? else { return Ok(options) };
            let name = match &argument {
                Short('p') => "--package".to_owned(),
                Short(letter) => format!("-{letter}"),
                Long(name) => format!("--{name}"),
                Value(_) => "VALUE".to_owned(),
            };
            let shown = match &argument {
                Value(value) => value.display().to_string(),
                _ => name.clone(),
            };
            ensure!(
                allowed.contains(&&*name),
                "`cargo xtask {task}` does not take `{shown}`: see cargo xtask help"
            );
            match argument {
                Value(value) => options.values.push(text(value)?),
                _ if name == "--target" => options.target = Some(parser.value()?.parse()?),
                _ if name == "--package" => options.packages.push(text(parser.value()?)?),
                _ if name == "--ucx" => {
                    options.ucx = Some(parser.value()?.parse_with(ucx::release)?)
                }
                _ if name == "--prefix" => options.prefix = Some(parser.value()?.into()),
                _ if name == "--runs" => options.runs = Some(parser.value()?.parse()?),
                _ => options.flags.push(name),
            }
        }
    }

    fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|given| given == flag)
    }
}

fn text(word: OsString) -> Result<String> {
    word.into_string().map_err(|word| anyhow::anyhow!("`{}` is not UTF-8", word.display()))
}

fn run(mut parser: Parser) -> Result<()> {
    let task = match parser.next()? {
        Some(Value(task)) => text(task)?,
        Some(Long("help") | Short('h')) => "help".to_owned(),
        Some(other) => return Err(other.unexpected().into()),
        None => bail!("no task is named\n\n{HELP}"),
    };
    let parser = &mut parser;
    let mut options = |allowed: &[&str]| Options::read(parser, &task, allowed);
    if task == "help" {
        print!("{HELP}");
        return Ok(());
    }
    let workspace = &Workspace::load()?;
    match &*task {
        "setup" => setup::run(workspace, options(&["--target"])?.target),
        "plugins" => {
            let options = options(&["--release", "--target"])?;
            setup::run(workspace, options.target)?;
            plugins::run(workspace, options.target, options.has("--release"))
        }
        "install" => {
            let options = options(&["--prefix", "--target", "--deb"])?;
            match (&options.prefix, options.has("--deb")) {
                (Some(prefix), false) => install::run(workspace, prefix, options.target),
                (None, true) => deb::run(workspace, options.target),
                (None, false) => {
                    bail!("name the directory, --prefix DIR, or make a package: --deb")
                }
                (Some(_), true) => bail!("a package has directories of its own: --deb or --prefix"),
            }
        }
        "test" => {
            let options = options(&["--target", "--package", "--ucx", "--mpi", "--"])?;
            match &options.ucx {
                Some(version) => {
                    let others = options.target.is_some() || !options.packages.is_empty();
                    ensure!(!others && options.rest.is_empty(), "--ucx goes without other options");
                    releases::run(workspace, version)
                }
                None => {
                    let Options { target, packages, rest, .. } = &options;
                    test::run(workspace, *target, packages, options.has("--mpi"), rest)
                }
            }
        }
        "prose" => options(&[]).and_then(|_| prose::run(workspace)),
        "cross" => options(&[]).and_then(|_| cross::run(workspace)),
        "upgrade" => options(&[]).and_then(|_| upgrade::run(workspace)),
        "slurm" => options(&[]).and_then(|_| slurm::run(workspace)),
        "demo" => options(&[]).and_then(|_| demo::run(workspace)),
        "bench" => measure::BENCH.run(workspace, &others(parser)?),
        "faults" => measure::FAULTS.run(workspace, &others(parser)?),
        "bindings" => generate::bindings(workspace, options(&["--check"])?.has("--check")),
        "api" | "headers" => generate::run(&[&task], options(&["--check"])?.has("--check")),
        "template" => {
            let options = options(&["--quick", "--bless"])?;
            match options.has("--bless") {
                true => template::bless(workspace),
                false => template::run(workspace, options.has("--quick")),
            }
        }
        "deny" => {
            options(&[])?;
            shell::run(&mut tools::deny(workspace, &workspace.root.join("Cargo.toml"))?)
        }
        "sanitize" => {
            let options = options(&["--full", "VALUE"])?;
            let checks = options.values.iter().map(|name| Check::named(name));
            sanitize::run(workspace, &checks.collect::<Result<Vec<_>>>()?, options.has("--full"))
        }
        "miri" => options(&[]).and_then(|_| sanitize::run(workspace, &[Check::Miri], true)),
        "fuzz" => {
            let options = options(&["--runs", "--unsanitized", "--merge", "VALUE"])?;
            let sanitized = !options.has("--unsanitized");
            let inputs = options.runs.unwrap_or(1_000_000);
            let run = fuzz::FuzzTask::Run { inputs, sanitized };
            let fuzz_task = if options.has("--merge") { fuzz::FuzzTask::Merge } else { run };
            fuzz::run(workspace, options.values.first().map(String::as_str), &fuzz_task)
        }
        "guide" => options(&[]).and_then(|_| guide::run(workspace)),
        "package" => {
            let options = options(&["--allow-dirty"])?;
            setup::run(workspace, None)?;
            package::run(workspace, options.has("--allow-dirty"))
        }
        other => bail!("no task is called `{other}`\n\n{HELP}"),
    }
}

/// Returns the remaining arguments, without a leading `--`.
fn others(parser: &mut Parser) -> Result<Vec<String>> {
    let words: Vec<String> = parser.raw_args()?.map(text).collect::<Result<_>>()?;
    Ok(words.into_iter().skip_while(|word| word == "--").collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str], allowed: &[&str]) -> Result<Options> {
        Options::read(&mut Parser::from_args(words), "test", allowed)
    }

    #[test]
    fn options_values_and_the_rest_are_separated() {
        let words = ["-p", "ucx", "--package=rdma", "--mpi", "asan", "--", "-p", "--no-capture"];
        let options = read(&words, &["--package", "--mpi", "VALUE", "--"]).expect("all are known");
        assert_eq!(options.packages, ["ucx", "rdma"]);
        assert!(options.has("--mpi") && !options.has("--full"));
        assert_eq!(options.values, ["asan"]);
        assert_eq!(options.rest, ["-p", "--no-capture"]);
    }

    #[test]
    fn an_option_of_another_task_is_refused_with_both_names() {
        for word in ["--mpi", "-x", "value", "--"] {
            let error = read(&[word], &["--package"]).err().expect("it is refused").to_string();
            assert!(error.contains("xtask test") && error.contains(word), "{error}");
        }
    }

    #[test]
    fn an_installation_needs_either_a_prefix_or_a_package() {
        for (words, part) in [
            (&["install"][..], "--prefix DIR"),
            (&["install", "--deb", "--prefix", "/opt/urom"], "--deb or --prefix"),
            (&["install", "--deb", "--check"], "`--check`"),
        ] {
            let error = run(Parser::from_args(words)).expect_err("it is refused").to_string();
            assert!(error.contains(part), "{words:?}: {error}");
        }
    }

    #[test]
    fn a_value_that_is_not_right_is_refused() {
        assert!(read(&["--target", "riscv64"], &["--target"]).is_err());
        assert!(read(&["--ucx", "new"], &["--ucx"]).is_err());
        assert!(read(&["--runs", "many"], &["--runs"]).is_err());
        assert!(read(&["--target"], &["--target"]).is_err());
    }
}
