//! Writes the template's C header: the header of a sample plugin, with placeholders for its name.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::Result;
use fs_err as fs;

use super::generate::{Answers, cargo_generate};
use crate::shell;
use crate::workspace::Workspace;

const FILE: &str = "include/{{plugin_name}}.h.liquid";

/// The sample's name, which must not occur elsewhere in the header.
const SAMPLE: &str = "worker_sample";

/// Defines the prefix of identifiers: the plugin's name with repeated `_` merged, at most 45.
const ASSIGN: &str = r#"{%- assign prefix = plugin_name | replace: "__", "_" | replace: "__", "_" | replace: "__", "_" -%}
{%- assign prefix = prefix | replace: "__", "_" | replace: "__", "_" | replace: "__", "_" -%}
{%- assign PREFIX = prefix | upcase -%}
"#;

/// Generates a workspace of each kind in `scratch`, and makes the template's header from both headers.
pub(super) fn write(
    workspace: &Workspace,
    generator: &Path,
    scratch: &Path,
    template: &Path,
) -> Result<()> {
    let made = |kind| made(workspace, generator, &scratch.join(kind), template, kind);
    let header = either(&made("peers")?, &made("answers")?);
    Ok(fs::write(template.join(FILE), ASSIGN.to_owned() + &header)?)
}

/// Returns the header of a sample of a kind, with placeholders.
fn made(
    workspace: &Workspace,
    generator: &Path,
    scratch: &Path,
    template: &Path,
    kind: &'static str,
) -> Result<String> {
    fs::create_dir_all(scratch)?;
    let kit = format!("path={}", workspace.root.display());
    let answers = Answers { c_header: true, kind, ..Answers::of("sample", SAMPLE, &kit) };
    let project =
        cargo_generate(generator, scratch, [OsStr::new("--path"), template.as_os_str()], &answers)?;
    let mut cargo = shell::cargo();
    cargo.args(["test", "-p", "sample-protocol"]).current_dir(&project).env("UROM_BLESS", "1");
    cargo.env("CARGO_TARGET_DIR", &workspace.target_dir);
    shell::step(&format!("template: making the C header of kind {kind}"), &mut cargo)?;
    let header = fs::read_to_string(project.join("include").join(format!("{SAMPLE}.h")))?;
    Ok(with_placeholders(&header))
}

/// Joins the headers of both kinds: a condition around the lines that differ.
fn either(peers: &str, answers: &str) -> String {
    let [peers, answers] = [peers, answers].map(|text| text.lines().collect::<Vec<_>>());
    let same = peers.iter().zip(&answers).take_while(|(one, other)| one == other).count();
    let [one, other] = [&peers[same..], &answers[same..]];
    let end = one.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| a == b).count();
    let parts = [
        &peers[..same],
        &["{%- if kind == \"peers\" %}"],
        &one[..one.len() - end],
        &["{%- else %}"],
        &other[..other.len() - end],
        &["{%- endif %}"],
        &one[one.len() - end..],
    ];
    parts.concat().join("\n") + "\n"
}

/// Replaces the plugin's name in identifiers, and on its own, by different placeholders.
fn with_placeholders(header: &str) -> String {
    let upper = SAMPLE.to_uppercase();
    let header =
        header.replace(&format!("{SAMPLE}_"), "{{prefix}}_").replace(SAMPLE, "{{plugin_name}}");
    header.replace(&upper, "{{PREFIX}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_and_the_name_itself_get_different_placeholders() {
        let header = "#ifndef WORKER_SAMPLE_H\n#define WORKER_SAMPLE_NAME \"worker_sample\"\nstruct worker_sample_command;\n";
        let made = with_placeholders(header);
        let expected = "#ifndef {{PREFIX}}_H\n#define {{PREFIX}}_NAME \"{{plugin_name}}\"\nstruct {{prefix}}_command;\n";
        assert_eq!(made, expected);
    }

    #[test]
    fn lines_that_differ_between_the_kinds_are_in_a_condition() {
        let made = either("a\np\nz\n", "a\nq\nr\nz\n");
        let condition = "{%- if kind == \"peers\" %}\np\n{%- else %}\nq\nr\n{%- endif %}";
        assert_eq!(made, format!("a\n{condition}\nz\n"));
    }
}
