//! Renders the template's files like cargo-generate.
//!
//! The tool contains `template.json`, written by `cargo xtask template --bless`.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};

use super::answers::{Answers, PluginKind, crate_name};
use super::liquid::{self, Values};

/// The files of `templates/plugin` by path, as lists of lines.
const FILES: &str = include_str!("template.json");

type Files = BTreeMap<String, Vec<String>>;

pub(super) fn render(answers: &Answers) -> Result<Vec<(String, String)>> {
    let files: Files =
        serde_json::from_str(FILES).context("the template in this program is broken")?;
    let values = values(answers);
    let put_in = |text: &str| liquid::render(text, &values);
    let wanted = files.iter().filter(|(path, _)| is_wanted(path, answers));
    let rendered = wanted.map(|(path, lines)| {
        let about = || format!("the template's {path} in this program is broken");
        let text = lines.join("\n") + "\n";
        Ok((put_in(path).with_context(about)?, put_in(&text).with_context(about)?))
    });
    rendered.collect()
}

/// Returns the values of `cargo-generate.toml`, cargo-generate's own, and the `assign` results.
fn values(answers: &Answers) -> Values {
    let text = |flag: bool| if flag { "true".to_owned() } else { String::new() };
    let (git, commit) = answers.kit.source.split_once('#').unwrap_or((&answers.kit.source, ""));
    Values::from([
        ("project-name", answers.project.clone()),
        ("crate_name", crate_name(&answers.project)),
        ("plugin_name", answers.plugin.clone()),
        ("kit", answers.kit.kind.to_owned()),
        ("kit_source", answers.kit.source.clone()),
        ("kind", answers.kind.name().to_owned()),
        ("c_header", text(answers.c_header)),
        ("license", answers.license.clone()),
        ("git[0]", git.to_owned()),
        ("git[1]", commit.to_owned()),
        ("prefix", answers.plugin.clone()),
        ("PREFIX", answers.plugin.to_uppercase()),
    ])
}

/// Whether `cargo-generate.toml` keeps a file for these answers.
fn is_wanted(path: &str, answers: &Answers) -> bool {
    let for_c = path.starts_with("include/") || path.starts_with("protocol/tests/");
    (answers.kind == PluginKind::Peers || path != "plugin/build.rs") && (answers.c_header || !for_c)
}

#[cfg(test)]
#[path = "template_tests.rs"]
mod tests;
