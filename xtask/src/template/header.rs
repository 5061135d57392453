//! Writes the template's C header: the header of a sample plugin, with placeholders for its name.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::Result;
use fs_err as fs;

use super::generate::{Answers, Generator};
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

/// Generates a workspace in `scratch`, and makes the template's header from its header.
pub(super) fn write(
    workspace: &Workspace,
    generator: &Generator,
    scratch: &Path,
    template: &Path,
) -> Result<()> {
    let kit = format!("path={}", workspace.root.display());
    let answers = Answers { c_header: true, ..Answers::of("sample", SAMPLE, &kit) };
    let project =
        generator.make(scratch, [OsStr::new("--path"), template.as_os_str()], &answers)?;
    let mut cargo = shell::cargo();
    cargo.args(["test", "-p", "sample-protocol"]).current_dir(&project).env("UROM_BLESS", "1");
    cargo.env("CARGO_TARGET_DIR", &workspace.target_dir);
    shell::step("template: making the C header", &mut cargo)?;
    let made = project.join("include").join(format!("{SAMPLE}.h"));
    let header = fs::read_to_string(&made)?;
    let path = template.join(FILE);
    Ok(fs::write(&path, with_placeholders(&header))?)
}

/// Replaces the plugin's name in identifiers, and on its own, by different placeholders.
fn with_placeholders(header: &str) -> String {
    let upper = SAMPLE.to_uppercase();
    let header =
        header.replace(&format!("{SAMPLE}_"), "{{prefix}}_").replace(SAMPLE, "{{plugin_name}}");
    ASSIGN.to_owned() + &header.replace(&upper, "{{PREFIX}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_and_the_name_itself_get_different_placeholders() {
        let header = "#ifndef WORKER_SAMPLE_H\n#define WORKER_SAMPLE_NAME \"worker_sample\"\nstruct worker_sample_command;\n";
        let made = with_placeholders(header);
        let made = made.strip_prefix(ASSIGN).expect("it begins with its includes");
        let expected = "#ifndef {{PREFIX}}_H\n#define {{PREFIX}}_NAME \"{{plugin_name}}\"\nstruct {{prefix}}_command;\n";
        assert_eq!(made, expected);
    }
}
