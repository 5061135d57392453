//! The cargo commands that a generated workspace promises to work: those of its README and of its
//! CI.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::tree::Tree;

/// The README, whose commands are indented by four spaces.
const README: &str = "README.md";
/// The CI, whose steps begin with this.
const CI: &str = ".github/workflows/ci.yml";
const STEP: &str = "run: ";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Promise(pub(super) String);

impl Promise {
    /// Variables, the program cargo, and its arguments.
    fn parse(line: &str) -> Option<Promise> {
        let mut words = line.split_whitespace().skip_while(|word| is_variable(word));
        (words.next() == Some("cargo")).then(|| Promise(line.to_owned()))
    }

    /// Adds variables and arguments to cargo.
    pub(super) fn give_to(&self, cargo: &mut Command) {
        let words = self.0.split_whitespace();
        for variable in words.clone().take_while(|word| is_variable(word)) {
            if let Some((name, value)) = variable.split_once('=') {
                cargo.env(name, value);
            }
        }
        cargo.args(words.skip_while(|word| is_variable(word)).skip(1));
    }

    /// Whether it is for another machine's plugin, which takes the tools for that machine.
    pub(super) fn is_for_aarch64(&self) -> bool {
        self.0.contains("aarch64")
    }
}

fn is_variable(word: &str) -> bool {
    word.split_once('=')
        .is_some_and(|(name, _)| name.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
}

/// All of them, each once. What installs cargo-urom is not among them: it is there.
pub(super) fn promised(files: &Tree) -> Result<Vec<Promise>> {
    let text = |path: &str| files.get(path).with_context(|| format!("the workspace has no {path}"));
    let readme = text(README)?.lines().filter_map(|line| line.strip_prefix("    "));
    let ci =
        text(CI)?.lines().filter_map(|line| line.trim_start_matches([' ', '-']).strip_prefix(STEP));
    let mut promises = Vec::new();
    for promise in readme.chain(ci).filter_map(Promise::parse) {
        if !promise.0.starts_with("cargo install") && !promises.contains(&promise) {
            promises.push(promise);
        }
    }
    for needed in
        ["cargo run", "cargo test", "cargo fmt --check", "cargo clippy", "cargo urom build"]
    {
        ensure!(
            promises.iter().any(|promise| promise.0.starts_with(needed)),
            "neither README nor CI of the workspace has `{needed}`"
        );
    }
    Ok(promises)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# Title

    cargo run
    cargo test

cargo is a word here, and no command:

    UROM_BLESS=1 cargo test
    let code = 1;
    cargo fmt --check
";

    const STEPS: &str = "\
      - run: cargo install cargo-urom
        run: cargo run
      - run: cargo urom build
        run: cargo clippy -- -D warnings
        run: |
          for x in y
";

    fn tree(readme: &str) -> Tree {
        [(README, readme), (CI, STEPS)]
            .map(|(path, text)| (path.to_owned(), text.to_owned()))
            .into()
    }

    #[test]
    fn commands_come_from_both_and_each_once() {
        let found = promised(&tree(TEXT)).expect("all are there");
        let found = found.iter().map(|promise| promise.0.as_str()).collect::<Vec<_>>();
        let all = [
            "cargo run",
            "cargo test",
            "UROM_BLESS=1 cargo test",
            "cargo fmt --check",
            "cargo urom build",
            "cargo clippy -- -D warnings",
        ];
        assert_eq!(found, all);
    }

    #[test]
    fn a_workspace_that_says_too_little_is_refused() {
        let error = promised(&tree("    cargo fmt --check\n")).expect_err("no test").to_string();
        assert!(error.contains("`cargo test`"), "{error}");
        assert!(promised(&Tree::new()).is_err());
    }

    #[test]
    fn variables_and_arguments_reach_cargo() {
        let mut cargo = Command::new("cargo");
        Promise("A_B=1 cargo test -- x=y".to_owned()).give_to(&mut cargo);
        assert_eq!(crate::shell::display(&cargo), "A_B=1 cargo test -- x=y");
    }
}
