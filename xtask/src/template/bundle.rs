//! The template's files in one, which cargo-urom carries: a package leaves out what other packages lie in.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use super::tree::{self, Tree};
use crate::bindings::first_difference;

/// Where it is committed: a JSON object from paths to lines.
const FILE: &str = "cargo-urom/src/new/template.json";

/// Writes it anew.
pub(super) fn write(root: &Path, template: &Path) -> Result<()> {
    let path = root.join(FILE);
    fs::write(&path, make(template)?).with_context(|| format!("writing {}", path.display()))?;
    println!("wrote {}", path.display());
    Ok(())
}

/// Fails when it is not what it would be made anew.
pub(super) fn check(root: &Path, template: &Path) -> Result<()> {
    let committed = fs::read_to_string(root.join(FILE)).with_context(|| format!("reading {FILE}"))?;
    match first_difference(&committed, &make(template)?) {
        Some(line) => bail!(
            "{FILE} is not the template as it is (first difference in line {line}): run cargo xtask template --bless"
        ),
        None => Ok(()),
    }
}

fn make(template: &Path) -> Result<String> {
    let mut files = BTreeMap::new();
    for (path, text) in sources(tree::read(template)?) {
        let lines =
            text.strip_suffix('\n').with_context(|| format!("{path} does not end with a line's end"))?;
        ensure!(!text.contains('\r'), "{path} has line ends of another system");
        files.insert(path, lines.split('\n').map(str::to_owned).collect::<Vec<_>>());
    }
    Ok(serde_json::to_string_pretty(&files).context("texts can be written as JSON")? + "\n")
}

/// What is rendered, under the names of what it gives: `NAME.liquid` stands for NAME and takes its place.
fn sources(mut files: Tree) -> Tree {
    files.remove("cargo-generate.toml");
    let liquid =
        files.keys().filter_map(|path| path.strip_suffix(".liquid")).map(str::to_owned).collect::<Vec<_>>();
    for path in liquid {
        if let Some(text) = files.remove(&format!("{path}.liquid")) {
            files.insert(path, text);
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Workspace;

    #[test]
    fn what_cargo_urom_carries_is_the_template() {
        let root = Workspace::load().expect("cargo knows this workspace").root;
        check(&root, &root.join(super::super::FOLDER)).expect("it is up to date");
    }

    #[test]
    fn a_liquid_file_takes_the_place_of_the_one_it_renders_to() {
        let tree = |files: &[(&str, &str)]| {
            files.iter().map(|&(path, text)| (path.to_owned(), text.to_owned())).collect::<Tree>()
        };
        let files = tree(&[
            ("a", "in place"),
            ("a.liquid", "rendered"),
            ("b", ""),
            ("c.liquid", "c"),
            ("cargo-generate.toml", ""),
        ]);
        assert_eq!(sources(files), tree(&[("a", "rendered"), ("b", ""), ("c", "c")]));
    }

    #[test]
    fn a_changed_template_needs_another_one() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let template = root.path().join("template");
        fs::create_dir_all(root.path().join(FILE).parent().expect("a directory")).expect("a directory");
        fs::create_dir(&template).expect("a directory");
        fs::write(template.join("a"), "x\n").expect("a file");
        write(root.path(), &template).expect("it can be made");
        check(root.path(), &template).expect("it was just made");
        fs::write(template.join("a"), "y\n").expect("a file");
        let error = check(root.path(), &template).expect_err("a line has changed").to_string();
        assert!(error.ends_with("run cargo xtask template --bless"), "{error}");
    }
}
