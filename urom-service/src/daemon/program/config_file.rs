//! The file of `--config`: TOML with the options of the command line as keys.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use toml::de::DeTable;
use urom_os::named_file;

use super::option_value::{Entry, OptionValue, Source};
use crate::daemon::args::DaemonArgs;

/// Size limit of the file in bytes.
const MOST: usize = 16 << 20;

#[derive(Debug)]
pub(super) struct ConfigFile {
    path: PathBuf,
    text: String,
}

impl ConfigFile {
    pub(super) fn read(path: &Path) -> Result<ConfigFile, String> {
        let bytes =
            named_file::read(path, MOST).map_err(|error| format!("{}: {error}", path.display()))?;
        let path = path.to_owned();
        match String::from_utf8(bytes) {
            Ok(text) => Ok(ConfigFile { path, text }),
            Err(error) => {
                let end = error.utf8_error().valid_up_to();
                let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
                Err(ConfigFile { path, text }.at(end, &"it is not UTF-8"))
            }
        }
    }

    /// Returns an error's text with file, line and column, which editors can open.
    pub(super) fn at(&self, position: usize, why: &dyn Display) -> String {
        let before = self.text.get(..position).unwrap_or(&self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        format!("{}:{line}:{column}: {why}", self.path.display())
    }

    pub(super) fn options(&self) -> Result<DaemonArgs, String> {
        let table = DeTable::parse(&self.text).map_err(|error| {
            self.at(error.span().map_or(0, |span| span.start), &error.message())
        })?;
        let mut entries: Vec<_> = table.get_ref().iter().collect();
        // The table is sorted by keys; the first wrong line is the one to report.
        entries.sort_by_key(|(key, _)| key.span().start);
        let mut args = DaemonArgs::default();
        for (key, value) in entries {
            let source = Source::Entry(Entry { file: self, key: key.span().start, value });
            args.set(OptionValue { option: key.get_ref(), source })?;
        }
        Ok(args)
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;
    use crate::daemon::program::{CommandLine, OPTIONS};

    fn of(text: &str) -> Result<DaemonArgs, String> {
        ConfigFile { path: "uromd.toml".into(), text: text.to_owned() }.options()
    }

    /// Reads a command line behind `--config` with a file of this text.
    fn read(text: &str, words: &[&str]) -> Result<DaemonArgs, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, text).unwrap();
        let config = [OsString::from("--config"), file.path().into()];
        match CommandLine::read(config.into_iter().chain(words.iter().map(OsString::from)))? {
            CommandLine::Run(args, _) => Ok(*args),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_option_of_the_help_is_set_by_a_file_as_by_words() {
        // By the kind of value in the help: an entry, and words of the same meaning.
        let values = [
            ("ADDR[:PORT]", "'[::1]:0'", &["[::1]:0"][..]),
            ("BYTES", "0x10_001", &["65537"]),
            ("COMMAND", "['a b', \"c'd\"]", &["'a b' \"c'd\""]),
            ("DIR", "'/tmp'", &["/tmp"]),
            ("FILE", "'/key'", &["/key"]),
            ("FORMAT", "'json'", &["json"]),
            ("LEVEL", "60", &["60"]),
            ("LIST", "'0-3'", &["0-3"]),
            ("N", "7", &["7"]),
            ("NAME", "['one', 'two']", &["one", "two"]),
            ("NAME[=VALUE]", "['A=b', 'C']", &["A=b", "C"]),
            ("NAME|PREFIX*", "['A*']", &["A*"]),
            ("SECONDS", "9", &["9"]),
        ];
        let mut count = 0;
        for line in OPTIONS.lines().map(str::trim_start).filter(|line| line.starts_with('-')) {
            let (_, option) = line.split_once("--").unwrap();
            let (name, kind) = option.split_once(' ').unwrap_or((option, ""));
            if ["config", "help", "version"].contains(&name) {
                assert!(of(&format!("{name} = 'x'")).unwrap_err().contains("unknown"), "{name}");
                continue;
            }
            let found = values.iter().find(|(other, ..)| *other == kind);
            let (entry, words) =
                found.map_or(("true", &[][..]), |(_, entry, words)| (entry, words));
            let mut line = vec![format!("--{name}")];
            if !words.is_empty() {
                line = words.iter().map(|word| format!("--{name}={word}")).collect();
            }
            let by_words = CommandLine::read(line.iter().map(OsString::from)).unwrap();
            let CommandLine::Run(by_words, _) = by_words else { panic!("{name}") };
            let by_file = of(&format!("# A comment.\n{name} = {entry}\n"));
            assert_eq!(by_file.as_ref(), Ok(&*by_words), "{name}");
            assert_ne!(by_file, Ok(DaemonArgs::default()), "{name} changes something");
            count += 1;
        }
        assert_eq!(count, 27);
    }

    #[test]
    fn the_command_line_overrides_the_file() {
        let text =
            "max-hosts = 3\nmax-workers = 4\nworker-env = ['A', 'B']\nworker-env-allow = ['C']\n";
        let args = read(text, &["--max-hosts", "5", "--worker-env", "D", "--worker-env", "E"]);
        let args = args.unwrap();
        assert_eq!((args.limits.hosts, args.limits.workers), (5, 4));
        assert_eq!(
            (args.worker_env, args.worker_env_allow),
            (vec!["D".into(), "E".into()], vec!["C".into()])
        );
    }

    #[test]
    fn false_and_other_forms_of_a_value_are_read() {
        let args =
            of("plain-doca = false\npeer-timeout = 3.5\nworker-launcher = 'a \"b c\"'\n").unwrap();
        assert!(!args.plain_doca);
        assert_eq!(args.peer_timeout, Some("3.5".parse().unwrap()));
        assert_eq!(args.worker_launcher, ["a", "b c"]);
        assert_eq!(of("peer-timeout = 'off'").unwrap().peer_timeout, Some("off".parse().unwrap()));
        assert_eq!(of(""), Ok(DaemonArgs::default()));
    }

    #[test]
    fn a_wrong_entry_is_named_with_line_and_column() {
        for (text, place, parts) in [
            ("max-hosts = 3\n max-host = 3", "2:2", &["unknown option 'max-host'"][..]),
            ("config = 'x'", "1:1", &["unknown option 'config'"]),
            ("l = 50", "1:1", &["unknown option 'l'"]),
            ("[daemon]\nmax-hosts = 3", "1:", &["unknown option 'daemon'"]),
            ("max-hosts.x = 3", "1:", &["'max-hosts' takes a number", "table"]),
            ("max-hosts = '3'", "1:13", &["'max-hosts' takes a number", "string"]),
            ("max-hosts = true", "1:13", &["takes a number", "boolean"]),
            ("max-hosts = [3]", "1:13", &["takes a number", "array"]),
            ("max-hosts = 1979-05-27", "1:13", &["takes a number", "datetime"]),
            ("\n\nmax-hosts = 0", "3:13", &["'0'", "'max-hosts'", "1048576"]),
            ("max-hosts = 3.0", "1:13", &["'3.0'", "1048576"]),
            ("max-hosts = -3", "1:13", &["'-3'", "1048576"]),
            ("max-hosts = 99999999999999999999", "1:13", &["'max-hosts'"]),
            ("listen = 127", "1:10", &["'listen' takes a string", "integer"]),
            ("listen = 'local'", "1:10", &["'local'", "127.0.0.1"]),
            ("log-level = 'info'", "1:13", &["takes a number", "string"]),
            ("log-format = 'xml'", "1:14", &["'xml'", "text, json or journal"]),
            ("peer-timeout = 'none'", "1:16", &["'none'", "'peer-timeout'"]),
            ("peer-timeout = nan", "1:16", &["'nan'", "'peer-timeout'"]),
            ("plain-doca = 'yes'", "1:14", &["takes true or false", "string"]),
            ("plain-doca = 1", "1:14", &["takes true or false", "integer"]),
            ("worker-env = 'A'", "1:14", &["an array of strings", "string"]),
            ("worker-env = [\n'A',\n '=b']", "3:2", &["'=b'", "'worker-env'"]),
            ("worker-env = ['A', 3]", "1:20", &["takes a string", "integer"]),
            ("worker-launcher = []", "1:19", &["a program"]),
            ("worker-launcher = ['']", "1:19", &["a program"]),
            ("worker-launcher = \"'a\"", "1:19", &["quotation"]),
            ("worker-launcher = ['a', \"b\\u0000\"]", "1:25", &["'worker-launcher'", "zero"]),
            ("worker-env = [\"A\\u0000=b\"]", "1:15", &["'worker-env'", "zero"]),
            ("key-file = \"a\\u0000b\"", "1:12", &["'key-file'", "zero"]),
            ("max-hosts = 3\nmax-hosts = 4", "2:1", &["duplicate key"]),
            ("ü = 'ä' max", "1:9", &[]),
            ("max-hosts =", "1:", &[]),
        ] {
            let error = of(text).expect_err(text);
            assert!(error.starts_with(&format!("uromd.toml:{place}")), "{text:?}: {error}");
            assert!(parts.iter().all(|part| error.contains(part)), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_wrong_entry_is_an_error_even_if_the_command_line_overrides_it() {
        let error = read("max-hosts = 0", &["--max-hosts", "3"]).unwrap_err();
        assert!(error.contains(":1:13: "), "{error}");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, b"max-hosts = 3\nlisten = '\xff'").unwrap();
        let error = ConfigFile::read(file.path()).unwrap_err();
        assert!(error.ends_with(":2:11: it is not UTF-8"), "{error}");
        for path in ["/no/such.toml", "/"] {
            assert!(ConfigFile::read(Path::new(path)).unwrap_err().starts_with(path), "{path}");
        }
    }
}
