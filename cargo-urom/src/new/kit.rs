//! Where a new workspace takes the kit's crates from.

use std::path::Path;
use std::str::FromStr;

use anyhow::{Context, Result, anyhow, bail, ensure};

/// The place of the kit's crates, as the answers to two of the template's questions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kit {
    pub(super) kind: &'static str,
    /// A clone, absolute or seen from the new workspace, or an address that cargo clones. Empty for
    /// the registry.
    pub(super) source: String,
}

impl Kit {
    /// Checks that a directory holds the kit, as seen from a workspace.
    pub(super) fn check_from(&self, workspace: &Path) -> Result<()> {
        ensure!(
            self.kind != "path" || is_clone(&workspace.join(&self.source)),
            "{} does not hold the kit, as seen from {}: give the directory that has urom-pdk and \
             urom-host in it",
            self.source,
            workspace.display()
        );
        Ok(())
    }

    /// The clone that this tool was built from, as long as it is there; else the registry.
    pub(super) fn of_this_tool() -> Result<Kit> {
        let clone = match Path::new(env!("CARGO_MANIFEST_DIR")).parent() {
            Some(clone) if is_clone(clone) => clone,
            _ => return Ok(Kit { kind: "registry", source: String::new() }),
        };
        if is_cargos(clone) {
            bail!(
                "this tool was built by `cargo install --git`: say --kit git=ADDRESS with the same \
                 address, or --kit path=DIR with a clone of yours"
            );
        }
        let text = clone.to_str().with_context(|| {
            format!("{} is no text, which Cargo.toml demands; say --kit PLACE", clone.display())
        })?;
        format!("path={text}").parse().map_err(|reason| {
            anyhow!("the clone this tool was built from cannot be used: {reason}; say --kit PLACE")
        })
    }
}

fn is_clone(directory: &Path) -> bool {
    ["urom-abi", "urom-pdk", "urom-host"]
        .iter()
        .all(|krate| directory.join(krate).join("Cargo.toml").is_file())
}

/// Whether it is cargo's own copy of a repository, which cargo may remove at any time.
fn is_cargos(directory: &Path) -> bool {
    directory.to_string_lossy().contains("/git/checkouts/")
}

impl FromStr for Kit {
    type Err = String;

    fn from_str(text: &str) -> Result<Kit, String> {
        let (kind, source) = text.split_once('=').unwrap_or((text, ""));
        let (kind, what) = match kind {
            "registry" if kind == text => {
                return Ok(Kit { kind: "registry", source: String::new() });
            }
            "path" => ("path", "directory"),
            "git" => ("git", "address"),
            _ => return Err("expected `registry`, `path=DIRECTORY` or `git=ADDRESS`".to_owned()),
        };
        if source.is_empty() {
            return Err(format!("`{kind}` says nothing of {what}: {kind}={}", what.to_uppercase()));
        }
        if source.contains(['"', '\\']) || source.contains(char::is_control) {
            return Err(format!(
                "`{source}` has quotes, backslashes or control characters, which Cargo.toml would \
                 misread"
            ));
        }
        Ok(Kit { kind, source: source.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_kind_and_where_it_is() {
        for (text, kind, source) in [
            ("registry", "registry", ""),
            ("path=../kit", "path", "../kit"),
            ("git=file:///kit?a=b", "git", "file:///kit?a=b"),
        ] {
            let kit: Kit = text.parse().expect(text);
            assert_eq!((kit.kind, &*kit.source), (kind, source));
        }
    }

    #[test]
    fn a_place_that_says_too_little_or_would_break_a_manifest_is_refused() {
        let lacking = "path path= git git= registry=x svn=x".split(' ');
        for bad in lacking.chain(["", "path=a\"b", "path=a\\b", "git=a\nb"]) {
            assert!(bad.parse::<Kit>().is_err(), "{bad}");
        }
    }

    #[test]
    fn cargos_own_copy_of_a_repository_is_known() {
        assert!(is_cargos(Path::new("/home/a/.cargo/git/checkouts/kit-0123/4567")));
        assert!(!is_cargos(Path::new("/home/a/git/kit/checkouts")));
    }

    #[test]
    fn a_directory_without_the_kits_crates_is_no_clone() {
        let clone = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the clone");
        assert!(is_clone(clone));
        assert!(!is_clone(&clone.join("cargo-urom")));
    }
}
