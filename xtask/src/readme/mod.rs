//! `cargo xtask readme`: each published crate's README.md, made from its front page, the `//!` comment of its root.
//!
//! So what a README shows is what the documentation tests run. The workspace's own README has a part between two marks
//! that is the beginning of `urom-pdk`'s front page.

mod front_page;
pub(crate) mod markdown;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use crate::bindings::first_difference;
use crate::workspace::{Published, Workspace};

/// The crate whose front page opens the workspace's README.
const FIRST: &str = "urom-pdk";

/// Around that part, each in a line of its own.
const BEGIN: &str = "<!-- The front page of urom-pdk; cargo xtask readme writes it. -->";
const END: &str = "<!-- The end of the front page. -->";

/// Writes them; with `check`, compares instead and fails when one is out of date.
pub(crate) fn run(workspace: &Workspace, check: bool) -> Result<()> {
    let mut stale = Vec::new();
    for package in workspace.published() {
        put(&package.folder.join("README.md"), &of(&package)?, check, &mut stale)?;
        if package.name == FIRST {
            let path = workspace.root.join("README.md");
            let text =
                fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
            let page = front_page::read(package.front_page)?;
            let fresh = with_part(&text, &markdown::convert(front_page::opening(&page), 0)?);
            put(&path, &fresh.with_context(|| path.display().to_string())?, check, &mut stale)?;
        }
    }
    if !stale.is_empty() {
        bail!("not what the front pages say:\n  {}\nrun: cargo xtask readme", stale.join("\n  "));
    }
    Ok(())
}

/// Writes `fresh`, or notes how the file differs from it.
fn put(path: &Path, fresh: &str, check: bool, stale: &mut Vec<String>) -> Result<()> {
    if !check {
        fs::write(path, fresh).with_context(|| format!("writing {}", path.display()))?;
        println!("wrote {}", path.display());
        return Ok(());
    }
    match fs::read_to_string(path) {
        Ok(found) => match first_difference(&found, fresh) {
            Some(line) => {
                stale.push(format!("{} (first difference in line {line})", path.display()))
            }
            None => println!("{} is up to date", path.display()),
        },
        Err(error) => stale.push(format!("{} ({error})", path.display())),
    }
    Ok(())
}

/// The README of a crate.
fn of(package: &Published) -> Result<String> {
    let page = front_page::read(package.front_page)?;
    let body =
        markdown::convert(&page, 1).with_context(|| package.front_page.display().to_string())?;
    let licence =
        package.license.with_context(|| format!("{}: no licence in its manifest", package.name))?;
    Ok(format!(
        "<!-- Made from this crate's front page by `cargo xtask readme`. -->\n\n# {name}\n\n{body}\n\
         ## Documentation and licence\n\n\
         Every item is described on [docs.rs](https://docs.rs/{name}); what changed stands in\n\
         [CHANGELOG.md](CHANGELOG.md). Licence: [{licence}](LICENSE).\n",
        name = package.name,
    ))
}

/// `text` with `part` between the marks.
fn with_part(text: &str, part: &str) -> Result<String> {
    let halves = text.split_once(BEGIN).zip(text.split_once(END));
    let Some(((before, rest), (_, after))) = halves else {
        bail!("no lines `{BEGIN}` and `{END}`");
    };
    ensure!(rest.contains(END), "`{END}` stands before `{BEGIN}`");
    Ok(format!("{before}{BEGIN}\n\n{part}\n{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_up_to_date_until_it_is_changed() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let (path, mut stale) = (folder.path().join("README.md"), Vec::new());
        put(&path, "one\ntwo\n", true, &mut stale).expect("nothing is written");
        assert!(stale.len() == 1 && stale[0].contains("README.md"), "{stale:?}");
        put(&path, "one\ntwo\n", false, &mut stale).expect("it can be written");
        put(&path, "one\ntwo\n", true, &mut stale).expect("it can be read");
        assert_eq!(stale.len(), 1, "it was just written");
        put(&path, "one\n2\n", true, &mut stale).expect("it can be read");
        assert!(stale[1].contains("first difference in line 2"), "{stale:?}");
    }

    #[test]
    fn a_part_takes_the_place_of_the_one_before() {
        let text = format!("# Title\n\n{BEGIN}\nold\n{END}\nrest\n");
        let once = with_part(&text, "new\n").expect("both marks are there");
        assert_eq!(once, format!("# Title\n\n{BEGIN}\n\nnew\n\n{END}\nrest\n"));
        assert_eq!(with_part(&once, "new\n").expect("still there"), once);
    }

    #[test]
    fn marks_that_are_missing_or_the_wrong_way_round_are_refused() {
        for text in ["", BEGIN, END, &format!("{END}\n{BEGIN}\n")] {
            assert!(with_part(text, "new\n").is_err(), "{text}");
        }
    }
}
