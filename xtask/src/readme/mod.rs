//! `cargo xtask readme`: each published crate's README.md, made from its front page, the `//!`
//! comment of its root.
//!
//! So what a README shows is what the documentation tests run. The workspace's own README has a
//! part between two marks that is the beginning of `urom-pdk`'s front page.

mod front_page;
mod markdown;

use anyhow::{Context, Result, bail, ensure};
use fs_err as fs;

use crate::committed::Committed;
use crate::workspace::{Published, Workspace};

/// The crate whose front page opens the workspace's README.
const FIRST: &str = "urom-pdk";

/// Around that part, each in a line of its own.
const BEGIN: &str = "<!-- The front page of urom-pdk; cargo xtask readme writes it. -->";
const END: &str = "<!-- The end of the front page. -->";

/// Writes them; with `check`, compares instead and fails when one is out of date.
pub(crate) fn run(workspace: &Workspace, check: bool) -> Result<()> {
    let mut files = Committed::new(check);
    for package in workspace.published() {
        files.put(&package.folder.join("README.md"), &of(&package)?)?;
        if package.name == FIRST {
            let path = workspace.root.join("README.md");
            let page = front_page::read(package.front_page)?;
            let part = markdown::convert(front_page::opening(&page), 0)?;
            let fresh = with_part(&fs::read_to_string(&path)?, &part);
            files.put(&path, &fresh.with_context(|| path.display().to_string())?)?;
        }
    }
    files.finish("the front pages", "readme")
}

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
