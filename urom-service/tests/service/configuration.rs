//! The configuration file, and its check without a daemon.

use std::path::PathBuf;
use std::process::Output;

use crate::support::client::Client;
use crate::support::uromd::{Uromd, command};

struct Config {
    _directory: tempfile::TempDir,
    path: PathBuf,
}

impl Config {
    fn new(text: &str) -> Config {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("uromd.toml");
        std::fs::write(&path, text).unwrap();
        Config { _directory: directory, path }
    }

    fn path(&self) -> &str {
        self.path.to_str().unwrap()
    }

    fn check(&self, args: &[&str]) -> (Option<i32>, String, String) {
        check(&[&["--config", self.path()], args].concat())
    }
}

fn check(args: &[&str]) -> (Option<i32>, String, String) {
    let mut command = command();
    command.env_remove("UROM_KEY_FILE").arg("check-config").args(args);
    let Output { status, stdout, stderr } = command.output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

#[test]
fn a_daemon_has_the_options_of_its_file_unless_words_override_them() {
    let config = Config::new("cpus = '0-7'\nmax-msg-size = 70_000\n");
    let uromd = Uromd::start_with(&[], &["--config", config.path(), "-m", "80000"]);
    let client = Client::connect(uromd.address);
    assert_eq!((client.cpus.as_str(), client.max_message), ("0-7", 80_000));
}

#[test]
fn a_correct_file_is_confirmed_and_nothing_starts() {
    let config = Config::new("max-hosts = 3\nlog-file = '/no/such/log'\n");
    let correct = format!("{}: correct\n", config.path());
    assert_eq!(config.check(&[]), (Some(0), correct, String::new()));
    let correct = "the options: correct\n".to_owned();
    assert_eq!(check(&["--max-hosts", "3"]), (Some(0), correct, String::new()));
}

#[test]
fn a_wrong_file_is_an_error_of_the_check_and_of_the_daemon() {
    for (text, args, parts) in [
        ("max-hosts = 3\nmax-host = 3\n", &[][..], &["toml:2:1: ", "'max-host'"][..]),
        ("max-hosts = 'x'", &["--max-hosts", "3"], &["toml:1:13: ", "a number"]),
        ("max-hosts = 3", &["--max-hosts", "x"], &["'--max-hosts'"]),
        ("max-hosts = 3", &["word"], &["unexpected argument 'word'"]),
    ] {
        let config = Config::new(text);
        let (code, output, error) = config.check(args);
        assert_eq!((code, output.as_str()), (Some(2), ""), "{text}");
        assert!(parts.iter().all(|part| error.contains(part)), "{text}: {error}");
        let daemon = command().args(["--config", config.path()]).args(args).output().unwrap();
        assert_eq!(daemon.status.code(), Some(2), "{text}");
        assert_eq!(String::from_utf8(daemon.stderr).unwrap(), error);
    }
}

#[test]
fn the_check_finds_options_that_do_not_fit_each_other_or_the_environment() {
    for (text, part) in [
        ("max-unread = 1", "--max-unread has to be at least"),
        ("listen = '192.0.2.1'", "no key"),
        ("metrics = '127.0.0.1:18700'", "--listen and --metrics"),
        ("key-file = '/no/such/key'", "/no/such/key"),
    ] {
        let config = Config::new(text);
        let (code, output, error) = config.check(&[]);
        assert_eq!((code, output.as_str()), (Some(2), ""), "{text}");
        assert!(error.contains(config.path()) && error.contains(part), "{text}: {error}");
    }
    let (code, _, error) = check(&["--config", "/no/such.toml"]);
    assert!(code == Some(2) && error.contains("/no/such.toml: "), "{error}");
}
