//! Profile and target of the build: from options, arguments for cargo, or cargo's configuration.

use std::ffi::OsString;

use anyhow::{Context, Result};
use cargo_config2::Config;

use super::BuildArgs;
use crate::exit::usage;

/// Returns the target triple, if one is set. `configuration` reads cargo's configuration.
pub(super) fn target(
    args: &BuildArgs,
    configuration: impl FnOnce() -> Result<Config, cargo_config2::Error>,
) -> Result<Option<String>> {
    if let Some(target) = args.target.clone().or_else(|| last_value(&args.cargo, "--target")) {
        return Ok(Some(target));
    }
    let config = configuration().context("cannot read cargo's configuration")?;
    match &config.build_target_for_cli(None::<&str>)?[..] {
        [] => Ok(None),
        [target] => Ok(Some(target.clone())),
        several => Err(usage(format!(
            "cargo's configuration names several targets: say which with --target ({})",
            several.join(", ")
        ))),
    }
}

pub(super) fn arguments(args: &BuildArgs) -> Vec<OsString> {
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

fn last_value(arguments: &[OsString], option: &str) -> Option<String> {
    let words: Vec<_> = arguments.iter().map(|word| word.to_string_lossy()).collect();
    let words: Vec<_> = words.iter().flat_map(|word| word.splitn(2, '=')).collect();
    let mut pairs = words.windows(2).rev();
    pairs.find(|pair| pair[0] == option).map(|pair| pair[1].to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use cargo_config2::ResolveOptions;
    use clap::Parser;

    use super::*;

    const ARM: &str = "aarch64-unknown-linux-gnu";

    #[derive(Debug, Parser)]
    struct Parsed {
        #[command(flatten)]
        args: BuildArgs,
    }

    /// Returns cargo's arguments and the target. Only `file` and `variables` configure cargo.
    fn configured(
        words: &str,
        file: &str,
        variables: &[(&str, &str)],
    ) -> Result<(String, Option<String>)> {
        let verb = Parsed::parse_from(["build"].into_iter().chain(words.split_whitespace()));
        let directory = tempfile::tempdir()?;
        fs::create_dir(directory.path().join(".cargo"))?;
        fs::write(directory.path().join(".cargo/config.toml"), file)?;
        let options = ResolveOptions::default()
            .env(variables.iter().copied())
            .cargo_home(directory.path().join("home"));
        let target = target(&verb.args, || Config::load_with_options(directory.path(), options))?;
        let arguments = arguments(&verb.args);
        let words = arguments.iter().map(|word| word.to_string_lossy().into_owned());
        Ok((words.collect::<Vec<_>>().join(" "), target))
    }

    fn choice(words: &str) -> (String, Option<String>) {
        configured(words, "", &[]).expect("cargo can be configured so")
    }

    #[test]
    fn one_profile_is_selected_from_every_source() {
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
        assert!(Parsed::try_parse_from(["build", "--debug", "--profile", "dist"]).is_err());
    }

    #[test]
    fn the_target_is_found_in_every_source() {
        for words in
            ["--target aarch64", &format!("-- --target {ARM}"), &format!("-- --target={ARM}")]
        {
            assert_eq!(choice(words).1.as_deref(), Some(ARM), "{words}");
        }
        assert_eq!(choice("").1, None);
        let file = format!("[build]\ntarget = {ARM:?}\n");
        let of_file = configured("", &file, &[]).expect("a target");
        assert_eq!(of_file, ("--release".to_owned(), Some(ARM.to_owned())));
        let variables = [("CARGO_BUILD_TARGET", ARM)];
        assert_eq!(configured("", "", &variables).expect("a target").1.as_deref(), Some(ARM));
        let given = configured("--target x86_64", &file, &variables).expect("a target");
        assert_eq!(given.1.as_deref(), Some("x86_64-unknown-linux-gnu"));
    }

    #[test]
    fn a_configuration_that_names_no_one_target_is_refused() {
        let several = format!("[build]\ntarget = [{ARM:?}, \"x86_64-unknown-linux-gnu\"]\n");
        let error = configured("", &several, &[]).expect_err("two targets").to_string();
        assert!(error.contains("say which with --target (") && error.contains(ARM), "{error}");
        let error = configured("", "[build\n", &[]).expect_err("no configuration");
        assert!(error.to_string().contains("cannot read cargo's configuration"), "{error:#}");
    }
}
