//! Generated files that are committed: writes or compares them.

use std::path::Path;

use anyhow::{Context, Result, bail};
use fs_err as fs;

pub(crate) struct Committed {
    check: bool,
    stale: Vec<String>,
}

impl Committed {
    pub(crate) fn new(check: bool) -> Self {
        Self { check, stale: Vec::new() }
    }

    pub(crate) fn put(&mut self, path: &Path, fresh: &str) -> Result<()> {
        if !self.check {
            fs::create_dir_all(path.parent().context("a file lies in a directory")?)?;
            fs::write(path, fresh)?;
            println!("wrote {}", path.display());
            return Ok(());
        }
        let shown = path.display();
        match fs::read_to_string(path).map(|found| first_difference(&found, fresh)) {
            Ok(Some(line)) => self.stale.push(format!("{shown} (first difference in line {line})")),
            Ok(None) => println!("{shown} is up to date"),
            Err(error) => self.stale.push(error.to_string()),
        }
        Ok(())
    }

    pub(crate) fn finish(self, source: &str, task: &str) -> Result<()> {
        if !self.stale.is_empty() {
            bail!("not made of {source}:\n  {}\nrun: cargo xtask {task}", self.stale.join("\n  "));
        }
        Ok(())
    }
}

/// Returns the number of the first line that differs.
pub(crate) fn first_difference(a: &str, b: &str) -> Option<usize> {
    if a == b {
        return None;
    }
    let same = a.lines().zip(b.lines()).take_while(|(a, b)| a == b).count();
    Some(same + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_written_is_up_to_date_until_it_is_changed() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let path = folder.path().join("include/README.md");
        let put = |check, text| {
            let mut files = Committed::new(check);
            files.put(&path, text).and_then(|()| files.finish("the protocols", "headers"))
        };
        let missing = put(true, "one\ntwo\n").expect_err("nothing is there yet").to_string();
        assert!(missing.contains("README.md"), "{missing}");
        assert!(missing.ends_with("run: cargo xtask headers"), "{missing}");
        put(false, "one\ntwo\n").expect("it can be written");
        put(true, "one\ntwo\n").expect("it was just written");
        let stale = put(true, "one\n2\n").expect_err("a line differs").to_string();
        assert!(stale.contains("first difference in line 2"), "{stale}");
    }
}
