//! The template's C header: what the protocol makes for one plugin's name, with placeholders in the
//! name's places.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::Result;
use fs_err as fs;

use super::generate::{Answers, Generator};
use crate::shell;
use crate::workspace::Workspace;

/// Where it is committed, within the template.
const FILE: &str = "include/{{plugin_name}}.h.liquid";

/// The name that the header is made for; it occurs in no text of the protocol.
const SAMPLE: &str = "worker_sample";

/// What begins the identifiers: the plugin's name with one `_` wherever it has several, of which it
/// has 45 at most.
const ASSIGN: &str = r#"{%- assign prefix = plugin_name | replace: "__", "_" | replace: "__", "_" | replace: "__", "_" -%}
{%- assign prefix = prefix | replace: "__", "_" | replace: "__", "_" | replace: "__", "_" -%}
{%- assign PREFIX = prefix | upcase -%}
"#;

/// Generates a workspace in `scratch`, has its protocol write the header, and writes the
/// template's.
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

/// Names of the header go on behind the plugin's; where it stands alone, it is the plugin's as it
/// is.
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
        let made = made.strip_prefix(ASSIGN).expect("it begins with what it needs");
        let expected = "#ifndef {{PREFIX}}_H\n#define {{PREFIX}}_NAME \"{{plugin_name}}\"\nstruct {{prefix}}_command;\n";
        assert_eq!(made, expected);
    }
}
