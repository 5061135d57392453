//! The template's files, as cargo-generate renders them.
//!
//! They lie in the tool, because a package leaves out what other packages lie in: `template.json`
//! has each file of `templates/plugin` once for all answers, or once for each answer that its text
//! depends on. Only names are left to be put in. `cargo xtask template --bless` makes it.

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use super::answers::{Answers, crate_name};

/// What is carried: a list of [`Carried`].
const FILES: &str = include_str!("template.json");

/// A file with placeholders, and the answers that it is for; every answer where none is named.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Carried {
    path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kit: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ucx: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    c_header: Option<bool>,
    lines: Vec<String>,
}

impl Carried {
    fn is_for(&self, kit: &str, ucx: bool, c_header: bool) -> bool {
        self.kit.as_deref().is_none_or(|wanted| wanted == kit)
            && self.ucx.is_none_or(|wanted| wanted == ucx)
            && self.c_header.is_none_or(|wanted| wanted == c_header)
    }
}

/// All files for these answers: their paths within the workspace, and their texts.
pub(super) fn render(answers: &Answers) -> Result<Vec<(String, String)>> {
    let files: Vec<Carried> =
        serde_json::from_str(FILES).context("the template in this program is broken")?;
    let wanted =
        files.iter().filter(|file| file.is_for(answers.kit.kind, answers.ucx, answers.c_header));
    let names = names(answers);
    let rendered = wanted
        .map(|file| (put_in(&file.path, &names), put_in(&(file.lines.join("\n") + "\n"), &names)));
    Ok(rendered.collect())
}

/// The placeholders, under the names that they have in `cargo-generate.toml`; the first two are
/// cargo-generate's own, the last one stands in the C header.
fn names(answers: &Answers) -> [(&'static str, String); 5] {
    [
        ("{{project-name}}", answers.project.clone()),
        ("{{crate_name}}", crate_name(&answers.project)),
        ("{{plugin_name}}", answers.plugin.clone()),
        ("{{kit_source}}", answers.kit.source.clone()),
        ("{{PLUGIN_NAME}}", answers.plugin.to_uppercase()),
    ]
}

/// No name has braces in it, so none is taken for a placeholder; a kit's place comes last.
fn put_in(text: &str, names: &[(&str, String)]) -> String {
    names.iter().fold(text.to_owned(), |text, (placeholder, name)| text.replace(placeholder, name))
}

#[cfg(test)]
#[path = "template_tests.rs"]
mod tests;
