//! What cargo is told to build: a profile and a target, from this verb's options, from arguments that are passed on to cargo, or
//! from cargo's own configuration.

use std::ffi::OsString;

use anyhow::{Context, Result, bail};
use cargo_config2::Config;

use super::Args;

/// What `cargo build` is run with.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Choice {
    /// The target triple, where cargo builds for one.
    pub(super) target: Option<String>,
    /// Cargo's arguments.
    pub(super) arguments: Vec<OsString>,
}

impl Choice {
    /// Puts the options together.
    ///
    /// # Errors
    /// Cargo's configuration cannot be read, or it names several targets.
    pub(super) fn of(args: &Args) -> Result<Choice> {
        let passed_target = last_value(&args.cargo, "--target");
        let configured = match (&args.target, &passed_target) {
            (None, None) => configured_target()?,
            _ => None,
        };
        Ok(Choice {
            target: args.target.clone().or(passed_target).or(configured),
            arguments: arguments(args),
        })
    }
}

fn arguments(args: &Args) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = Vec::new();
    let passed_profile = args.cargo.iter().any(|word| word == "--release" || word == "-r")
        || last_value(&args.cargo, "--profile").is_some();
    match (&args.profile, args.debug || passed_profile) {
        (Some(profile), _) => arguments.extend(["--profile".into(), profile.into()]),
        (None, true) => {}
        (None, false) => arguments.push("--release".into()),
    }
    if let Some(triple) = &args.target {
        arguments.extend(["--target".into(), triple.into()]);
    }
    if let Some(manifest) = &args.manifest_path {
        arguments.extend(["--manifest-path".into(), manifest.into()]);
    }
    arguments.extend(args.cargo.iter().cloned());
    arguments
}

/// The target that cargo builds for without being told: that of `CARGO_BUILD_TARGET`, or of `build.target`.
fn configured_target() -> Result<Option<String>> {
    let config = Config::load().context("cannot read cargo's configuration")?;
    let mut targets = config.build_target_for_cli(None::<&str>)?;
    match (targets.pop(), targets.is_empty()) {
        (target, true) => Ok(target),
        (last, false) => {
            targets.extend(last);
            bail!(
                "cargo's configuration names several targets: say which with --target ({})",
                targets.join(", ")
            )
        }
    }
}

/// The value of an option among cargo's arguments: `--option value` or `--option=value`, the last one.
fn last_value(arguments: &[OsString], option: &str) -> Option<String> {
    let words: Vec<_> = arguments.iter().map(|word| word.to_string_lossy()).collect();
    let value = |(at, word): (usize, &std::borrow::Cow<'_, str>)| match word.split_once('=') {
        Some((name, value)) => (name == option).then(|| value.to_owned()),
        None => words.get(at + 1).filter(|_| *word == option).map(|next| next.clone().into_owned()),
    };
    words.iter().enumerate().rev().find_map(value)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Verb {
        #[command(flatten)]
        args: Args,
    }

    /// What cargo is given for these words of the verb's, and the target that is meant.
    fn choice(words: &str) -> (String, Option<String>) {
        let verb = Verb::parse_from(["build"].into_iter().chain(words.split_whitespace()));
        let choice = Choice::of(&verb.args).expect("cargo can be configured so");
        let words = choice.arguments.iter().map(|word| word.to_string_lossy().into_owned());
        (words.collect::<Vec<_>>().join(" "), choice.target)
    }

    #[test]
    fn there_is_one_profile_whoever_named_it() {
        for (words, given) in [
            ("", "--release"),
            ("--debug", ""),
            ("--profile dist", "--profile dist"),
            ("-- --profile dist", "--profile dist"),
            ("-- --profile=dist", "--profile=dist"),
            ("-- --release", "--release"),
            ("-- -r", "-r"),
            ("--debug -- --profile dist", "--profile dist"),
            ("-- --offline", "--release --offline"),
        ] {
            assert_eq!(choice(words).0, given, "{words}");
        }
        assert!(Verb::try_parse_from(["build", "--debug", "--profile", "dist"]).is_err());
    }

    #[test]
    fn the_target_is_known_whoever_named_it() {
        const ARM: &str = "aarch64-unknown-linux-gnu";
        for words in ["--target aarch64", &format!("-- --target {ARM}"), &format!("-- --target={ARM}")] {
            assert_eq!(choice(words).1.as_deref(), Some(ARM), "{words}");
        }
        assert_eq!(choice("").1, None);
    }
}
