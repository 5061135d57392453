//! The template's files, rendered as cargo-generate does it.
//!
//! They lie in the tool, because a package leaves out what other packages lie in: `template.json` is made of
//! `templates/plugin` by `cargo xtask template --bless`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Context as _;
use liquid::{Object, Parser, ParserBuilder};

use super::answers::Answers;

/// Each file's path and its lines, both of which may depend on the answers.
const FILES: &str = include_str!("template.json");

/// A file of the new workspace.
#[derive(Debug)]
pub(super) struct File {
    /// Within the workspace.
    pub(super) path: PathBuf,
    pub(super) text: String,
}

/// All files for these answers.
pub(super) fn render(answers: &Answers) -> anyhow::Result<Vec<File>> {
    let files: BTreeMap<String, Vec<String>> =
        serde_json::from_str(FILES).context("the template in this program is broken")?;
    let parser = ParserBuilder::with_stdlib().build().context("the template engine does not start")?;
    let values = values(answers);
    let wanted = files.into_iter().filter(|(path, _)| is_wanted(path, answers));
    wanted
        .map(|(path, lines)| {
            let text = lines.join("\n") + "\n";
            let rendered = render_text(&parser, &path, &values)
                .and_then(|to| Ok(File { path: to.into(), text: render_text(&parser, &text, &values)? }));
            rendered.with_context(|| format!("the template's file {path} is broken"))
        })
        .collect()
}

fn render_text(parser: &Parser, text: &str, values: &Object) -> anyhow::Result<String> {
    Ok(parser.parse(text)?.render(values)?)
}

/// The placeholders, under the names they have in `cargo-generate.toml`; the first two are cargo-generate's own.
fn values(answers: &Answers) -> Object {
    liquid::object!({
        "project-name": answers.project.to_string(),
        "crate_name": answers.project.crate_name(),
        "plugin_name": answers.plugin.to_string(),
        "ucx": answers.ucx,
        "c_header": answers.c_header,
        "kit": answers.kit.kind(),
        "kit_source": answers.kit.source(),
    })
}

/// What `cargo-generate.toml` has under `[conditional]`.
fn is_wanted(path: &str, answers: &Answers) -> bool {
    let for_ucx = path == "plugin/build.rs";
    let for_c = path.starts_with("include/") || path.starts_with("protocol/tests/");
    (answers.ucx || !for_ucx) && (answers.c_header || !for_c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(ucx: bool, c_header: bool, kit: &str) -> Vec<File> {
        let answers = Answers {
            project: "my-calc".parse().expect("a name"),
            plugin: "worker_calc".parse().expect("a name"),
            ucx,
            c_header,
            kit: kit.parse().expect("a place"),
        };
        render(&answers).expect("the template is good")
    }

    #[test]
    fn no_placeholder_is_left_for_any_answers() {
        for bits in 0..4 {
            for kit in ["registry", "path=../kit", "git=file:///kit"] {
                for file in all(bits & 1 != 0, bits & 2 != 0, kit) {
                    let path = file.path.to_string_lossy();
                    for sign in ["{{", "{%", "%}", ".liquid"] {
                        assert!(!path.contains(sign) && !file.text.contains(sign), "{path}: {sign}");
                    }
                }
            }
        }
    }

    #[test]
    fn files_are_there_for_the_answers_that_want_them() {
        let has = |ucx, c_header, path: &str| {
            all(ucx, c_header, "registry").iter().any(|file| file.path == std::path::Path::new(path))
        };
        for answer in [false, true] {
            assert_eq!(has(answer, false, "plugin/build.rs"), answer);
            assert_eq!(has(false, answer, "include/worker_calc.h"), answer);
            assert_eq!(has(false, answer, "protocol/tests/c_header.rs"), answer);
            assert!(has(answer, answer, "Cargo.toml") && has(answer, answer, ".github/workflows/ci.yml"));
        }
    }
}
