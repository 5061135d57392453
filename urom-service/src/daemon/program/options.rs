//! Reads the options of `uromd`, from words or a file. An option needs a field of [`DaemonArgs`],
//! [`DaemonArgs::set`] and `options.txt`.

use std::ffi::{OsStr, OsString};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use lexopt::{Arg, Parser};
use urom_wire::control::DEFAULT_PORT;
use urom_wire::frame::{MAX_MAX_MESSAGE, MIN_MAX_MESSAGE};

use super::config_file::ConfigFile;
use super::option_value::Kind::{Number, NumberOrText, Text};
use super::option_value::{OptionValue, Source};
use crate::daemon::args::DaemonArgs;
use crate::daemon::environment::{allowed, given};
use crate::daemon::operations::{LEAST_RECORDED, takes_files};

/// The help text of all options.
pub const OPTIONS: &str = include_str!("options.txt");

/// The port of metrics, if `--metrics` names none.
pub(crate) const METRICS_PORT: u16 = DEFAULT_PORT + 1;

/// The longest path of a Unix socket, in bytes.
pub(crate) const LONGEST_SOCKET: usize = 107;

/// Longest path of a socket folder: a worker's name has some 40 bytes.
const LONGEST_SOCKET_DIR: usize = 64;

impl DaemonArgs {
    /// Sets an option, from the command line or from the file.
    pub(super) fn set(&mut self, value: OptionValue<'_>) -> Result<(), String> {
        match value.option {
            "listen" => self.listen = value.read(Text, listen_address)?,
            "metrics" => self.metrics = Some(value.read(Text, metrics_address)?),
            "control" => self.control = Some(value.read_bytes(Text, socket_path)?),
            "address-file" => self.address_file = Some(value.path()?),
            "key-file" => self.key_file = Some(value.path()?),
            "max-hosts" => self.limits.hosts = value.read(Number, count)?,
            "max-workers" => self.limits.workers = value.read(Number, count)?,
            "max-workers-per-host" => self.limits.workers_per_host = value.read(Number, count)?,
            "peer-timeout" => self.peer_timeout = Some(value.read(NumberOrText, str::parse)?),
            "plugin-timeout" => self.plugin_timeout = Some(value.read(Number, seconds)?),
            "plain-doca" => self.plain_doca = value.flag()?,
            "socket-dir" => self.socket_dir = Some(value.read(Text, socket_dir)?),
            "emulate-exported-memory" => self.emulate_exported_memory = value.flag()?,
            "log-level" => self.log_level = value.read(Number, str::parse)?,
            "sdk-log-level" => self.sdk_log_level = Some(value.read(Number, str::parse)?),
            "log-format" => self.log_format = Some(value.read(Text, str::parse)?),
            "log-file" => self.log_file = Some(value.read(Text, |path| std::path::absolute(path))?),
            "record" => self.record = Some(value.read(Text, recordings)?),
            "record-limit" => self.record_limit = value.read(Number, record_limit)?,
            "record-plugin" => value.add_to(&mut self.record_plugin, plugin_name)?,
            "record-memory" => self.record_memory = value.flag()?,
            "max-msg-size" => self.max_message = value.read(Number, max_message)?,
            "max-unread" => self.max_unread = Some(value.read(Number, number)?),
            "cpus" => self.cpus = Some(value.read(Text, str::parse)?),
            "worker-launcher" => self.worker_launcher = value.command(command)?,
            "worker-env" => value.add_to(&mut self.worker_env, given)?,
            "worker-env-allow" => value.add_to(&mut self.worker_env_allow, allowed)?,
            _ => return Err(value.unknown()),
        }
        Ok(())
    }
}

/// A parsed command line.
#[derive(Debug)]
pub enum CommandLine {
    /// Run a daemon. The values are words that do not belong to an option.
    Run(Box<DaemonArgs>, Vec<OsString>),
    /// Print [`OPTIONS`].
    Help,
    /// Print the version.
    Version,
}

impl CommandLine {
    /// Parses the words after the program's name, and the file of `--config`, which they override.
    ///
    /// # Errors
    /// An option is unknown, lacks its value, or has an invalid value; the text names both, and the
    /// line of the file.
    pub fn read(words: impl IntoIterator<Item = OsString>) -> Result<CommandLine, String> {
        let words: Vec<_> = words.into_iter().collect();
        let line = CommandLine::read_over(DaemonArgs::default(), &words)?;
        match &line {
            CommandLine::Run(args, _) => match &args.config {
                Some(path) => CommandLine::read_over(ConfigFile::read(path)?.options()?, &words),
                None => Ok(line),
            },
            _ => Ok(line),
        }
    }

    fn read_over(mut args: DaemonArgs, words: &[OsString]) -> Result<CommandLine, String> {
        let (mut parser, mut values) = (Parser::from_args(words), Vec::new());
        let mut given_before: Vec<String> = Vec::new();
        while let Some(word) = parser.next().map_err(|error| error.to_string())? {
            let option = match word {
                Arg::Value(value) => {
                    values.push(value);
                    continue;
                }
                Arg::Short('l') => "log-level".to_owned(),
                Arg::Short('m') => "max-msg-size".to_owned(),
                Arg::Short('h') => return Ok(CommandLine::Help),
                Arg::Short('V') => return Ok(CommandLine::Version),
                Arg::Short(letter) => return Err(format!("unknown option '-{letter}'")),
                Arg::Long("help") => return Ok(CommandLine::Help),
                Arg::Long("version") => return Ok(CommandLine::Version),
                Arg::Long(name) => name.to_owned(),
            };
            let is_again = given_before.contains(&option);
            let source = Source::Words { parser: &mut parser, is_again };
            let value = OptionValue { option: &option, source };
            match &*option {
                "config" => args.config = Some(value.path()?),
                _ => args.set(value)?,
            }
            given_before.push(option);
        }
        Ok(CommandLine::Run(Box::new(args), values))
    }
}

fn number<T: FromStr>(text: &str) -> Result<T, &'static str> {
    text.parse().map_err(|_| "expected a number")
}

fn count(text: &str) -> Result<usize, &'static str> {
    let in_range = number(text).ok().filter(|count| (1..=1 << 20).contains(count));
    in_range.ok_or("expected a number from 1 to 1048576")
}

fn seconds(text: &str) -> Result<u32, &'static str> {
    let in_range = number(text).ok().filter(|seconds| *seconds > 0);
    in_range.ok_or("expected a number of seconds from 1 to 4294967295")
}

fn command(text: &str) -> Result<Vec<OsString>, &'static str> {
    let words = shlex::split(text).ok_or("a quotation mark is not closed")?;
    match words.first() {
        Some(program) if !program.is_empty() => Ok(words.into_iter().map(OsString::from).collect()),
        _ => Err("expected a program and its arguments"),
    }
}

fn listen_address(text: &str) -> Result<SocketAddr, &'static str> {
    let address = address(text, DEFAULT_PORT);
    address.ok_or("expected an address such as 127.0.0.1, 0.0.0.0:18700 or [::1]:0")
}

fn metrics_address(text: &str) -> Result<SocketAddr, &'static str> {
    let address = address(text, METRICS_PORT);
    address.ok_or("expected an address such as 127.0.0.1, 0.0.0.0:18701 or [::1]:0")
}

fn address(text: &str, port: u16) -> Option<SocketAddr> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let with_port = |_| bare.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, port));
    text.parse().or_else(with_port).ok()
}

/// Reads the path of a control socket.
///
/// # Errors
/// It is empty, or too long.
pub(crate) fn socket_path(path: &OsStr) -> Result<PathBuf, String> {
    match path.len() {
        0 => Err("expected a path".to_owned()),
        len if len > LONGEST_SOCKET => Err(format!(
            "it has {len} bytes, and {LONGEST_SOCKET} is the limit of a socket's path: choose a \
             shorter path"
        )),
        _ => Ok(path.into()),
    }
}

fn socket_dir(text: &str) -> Result<PathBuf, String> {
    let folder = directory(text)?;
    let len = folder.as_os_str().len();
    if len > LONGEST_SOCKET_DIR {
        return Err(format!(
            "its path has {len} bytes, and {LONGEST_SOCKET_DIR} is the limit: a socket's path has \
             {LONGEST_SOCKET} at most, with the worker's name; choose a shorter path"
        ));
    }
    Ok(folder)
}

fn directory(text: &str) -> Result<PathBuf, String> {
    let folder = std::path::absolute(text).map_err(|error| error.to_string())?;
    match std::fs::metadata(&folder) {
        Ok(found) if found.is_dir() => Ok(folder),
        Ok(_) => Err("it is not a folder".to_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err("there is no such folder: make it first".to_owned())
        }
        Err(error) => Err(error.to_string()),
    }
}

fn recordings(text: &str) -> Result<PathBuf, String> {
    let folder = directory(text)?;
    takes_files(&folder).map(|()| folder)
}

fn record_limit(text: &str) -> Result<u64, String> {
    let limit = number(text).ok().filter(|limit| *limit >= LEAST_RECORDED);
    limit.ok_or_else(|| format!("expected a number of bytes from {LEAST_RECORDED} on"))
}

fn plugin_name(text: &str) -> Result<String, &'static str> {
    let is_name = !text.is_empty() && !text.contains('/');
    is_name.then(|| text.to_owned()).ok_or("expected the name of a plugin")
}

fn max_message(text: &str) -> Result<usize, String> {
    let size = number(text).ok().filter(|size| (MIN_MAX_MESSAGE..=MAX_MAX_MESSAGE).contains(size));
    size.ok_or_else(|| {
        format!("expected a number of bytes from {MIN_MAX_MESSAGE} to {MAX_MAX_MESSAGE}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::args::DaemonLimits;

    fn read(words: &[&str]) -> Result<(DaemonArgs, Vec<OsString>), String> {
        match CommandLine::read(words.iter().map(OsString::from))? {
            CommandLine::Run(args, values) => Ok((*args, values)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_option_that_the_help_describes_is_read() {
        let values = [
            ("ADDR[:PORT]", "[::1]:0"),
            ("BYTES", "65536"),
            ("COMMAND", "valgrind -q"),
            ("DIR", "/tmp"),
            ("FILE", "/key"),
            ("FORMAT", "json"),
            ("LEVEL", "60"),
            ("LIST", "0-3"),
            ("N", "7"),
            ("NAME", "worker_graph"),
            ("NAME[=VALUE]", "A=b"),
            ("NAME|PREFIX*", "A*"),
            ("SECONDS", "9"),
        ];
        let lines = OPTIONS.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
        let lines: Vec<_> = lines.filter(|line| !line.starts_with("-h")).collect();
        assert_eq!(lines.len(), 28 + 1, "{lines:?}");
        for line in lines {
            let words: Vec<_> = line.split_ascii_whitespace().collect();
            let option = words.iter().position(|word| word.starts_with("--")).expect("long");
            let value = words.get(option + 1).map(|value| {
                let value = values.iter().find(|(name, _)| name == value);
                value.unwrap_or_else(|| panic!("{line}")).1
            });
            if ["--version", "--config"].contains(&words[option]) {
                continue;
            }
            let asked: Vec<_> = [words[option]].into_iter().chain(value).collect();
            assert!(read(&asked).is_ok(), "{line}: {:?}", read(&asked));
        }
    }

    #[test]
    fn the_help_has_the_defaults() {
        let args = DaemonArgs::default();
        let DaemonLimits { hosts, workers, workers_per_host } = args.limits;
        let section = |option: &str| {
            let (_, rest) = OPTIONS.split_once(&format!("--{option} ")).expect(option);
            rest.split_once("\n  -").map_or(rest, |(section, _)| section).to_owned()
        };
        for (option, default) in [
            ("listen", args.listen.ip().to_string()),
            ("max-hosts", hosts.to_string()),
            ("max-workers", workers.to_string()),
            ("max-workers-per-host", workers_per_host.to_string()),
            ("max-msg-size", args.max_message.to_string()),
            ("log-level", args.log_level.to_string()),
            ("sdk-log-level", args.sdk_log_level().to_string()),
        ] {
            assert!(section(option).contains(&format!("[{default}]")), "{option}: {default}");
        }
        assert!(section("listen").contains(&DEFAULT_PORT.to_string()));
    }

    #[test]
    fn options_that_may_be_repeated_and_values_that_look_like_options_are_taken() {
        let words = ["--worker-env", "A", "--worker-env", "B", "--address-file=--odd"];
        let (args, _) = read(&words).expect("all are good");
        assert_eq!(args.worker_env, ["A", "B"]);
        assert_eq!(args.address_file, Some("--odd".into()));
    }

    #[test]
    fn options_and_values_may_stand_in_any_order() {
        let (args, values) = read(&["a", "--max-hosts=3", "b", "-l", "60"]).expect("all are good");
        assert_eq!((args.limits.hosts, args.log_level.to_string()), (3, "60".to_owned()));
        assert_eq!(values, ["a", "b"]);
        assert!(matches!(CommandLine::read(["--help".into()]), Ok(CommandLine::Help)));
        assert!(matches!(CommandLine::read(["-V".into()]), Ok(CommandLine::Version)));
    }

    #[test]
    fn a_wrong_word_is_named_with_its_option() {
        let long = &*("/dev/".to_owned() + &"../dev/".repeat(14) + "../..");
        for (words, parts) in [
            (&["--listn", "x"][..], &["--listn"][..]),
            (&["-x"], &["-x"]),
            (&["--listen"], &["--listen"]),
            (&["--listen", "local"], &["'local'", "'--listen'", "127.0.0.1"]),
            (&["--metrics", "here"], &["'here'", "'--metrics'", "18701"]),
            (&["--max-hosts", "0"], &["'0'", "'--max-hosts'", "1048576"]),
            (&["--plugin-timeout", "0"], &["'--plugin-timeout'", "seconds"]),
            (&["--max-msg-size", "1"], &["'1'", "'--max-msg-size'", "64"]),
            (&["--max-unread", "-1"], &["'-1'", "'--max-unread'"]),
            (&["--worker-launcher", "'a"], &["'--worker-launcher'", "quotation"]),
            (&["--worker-launcher", ""], &["'--worker-launcher'", "a program"]),
            (&["--socket-dir", "/no such"], &["'--socket-dir'", "make it first"]),
            (&["--socket-dir", "/dev/null"], &["'--socket-dir'", "it is not a folder"]),
            (&["--socket-dir", long], &["'--socket-dir'", long, "64", "shorter"]),
            (&["--control", long], &["'--control'", long, "108 bytes", "107", "shorter"]),
            (&["--control", ""], &["''", "'--control'"]),
            (&["--address-file="], &["''", "'--address-file'"]),
            (&["--key-file", ""], &["''", "'--key-file'"]),
            (&["--worker-env", "=a"], &["'--worker-env'"]),
            (&["--plain-doca=yes"], &["--plain-doca"]),
            (&["--address-file", "--plain-doca"], &["missing", "'--address-file'"]),
            (&["--key-file"], &["missing", "--key-file"]),
            (&["--log-format", "xml"], &["'xml'", "'--log-format'", "json"]),
            (&["--log-file", ""], &["''", "'--log-file'"]),
            (&["--config"], &["missing", "--config"]),
            (&["--config", "a", "--config", "b"], &["'--config'", "twice"]),
            (&["--config", "/no/such"], &["/no/such: "]),
            (&["--max-hosts", "3", "--max-hosts=4"], &["'--max-hosts'", "twice"]),
            (&["-l", "50", "--log-level", "60"], &["'--log-level'", "twice"]),
        ] {
            let error = read(words).expect_err("it is wrong");
            assert!(parts.iter().all(|part| error.contains(part)), "{words:?}: {error}");
        }
    }
}
