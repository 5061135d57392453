//! The cargo commands in README and CI of a generated workspace.

use anyhow::{Context, Result, ensure};

use super::tree::Tree;

/// Returns README lines indented by four spaces, and CI steps, without `cargo install`.
pub(super) fn promised(files: &Tree) -> Result<Vec<String>> {
    let text = |path: &str| files.get(path).with_context(|| format!("the workspace lacks {path}"));
    let readme = text("README.md")?.lines().filter_map(|line| line.strip_prefix("    "));
    let ci = text(".github/workflows/ci.yml")?.lines();
    let steps = ci.filter_map(|line| line.trim_start_matches([' ', '-']).strip_prefix("run: "));
    let mut promises = Vec::new();
    for line in readme.chain(steps).map(str::to_owned) {
        // Variables may precede the program.
        let program = line.split_whitespace().find(|word| !word.contains('='));
        let is_promise = program == Some("cargo") && !line.starts_with("cargo install");
        if is_promise && !promises.contains(&line) {
            promises.push(line);
        }
    }
    for needed in
        ["cargo run", "cargo test", "cargo fmt --check", "cargo clippy", "cargo urom build"]
    {
        ensure!(
            promises.iter().any(|promise| promise.starts_with(needed)),
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
        [("README.md", readme), (".github/workflows/ci.yml", STEPS)]
            .map(|(path, text)| (path.to_owned(), text.to_owned()))
            .into()
    }

    #[test]
    fn commands_come_from_both_and_each_once() {
        let found = promised(&tree(TEXT)).expect("all are there");
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
    fn a_workspace_with_missing_commands_is_refused() {
        let error = promised(&tree("    cargo fmt --check\n")).expect_err("no test").to_string();
        assert!(error.contains("`cargo test`"), "{error}");
        assert!(promised(&Tree::new()).is_err());
    }
}
