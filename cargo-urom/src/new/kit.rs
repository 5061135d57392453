//! Where a new workspace takes the kit's crates from.

use std::path::{Component, Path};
use std::str::FromStr;

use anyhow::bail;

/// One place for all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kit {
    /// The registry, as cargo is set up.
    Registry,
    /// A clone: absolute, or as seen from the new workspace.
    Path(String),
    /// An address that cargo clones.
    Git(String),
}

impl Kit {
    /// The answer to the template's question of that name.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Kit::Registry => "registry",
            Kit::Path(_) => "path",
            Kit::Git(_) => "git",
        }
    }

    /// The answer to the next one; empty where it is not asked.
    pub(super) fn source(&self) -> &str {
        match self {
            Kit::Registry => "",
            Kit::Path(source) | Kit::Git(source) => source,
        }
    }

    /// Fails when it is a directory without the kit, as seen from a workspace.
    pub(super) fn check_from(&self, workspace: &Path) -> anyhow::Result<()> {
        match self {
            Kit::Path(source) if !is_clone(&workspace.join(source)) => bail!(
                "{source} does not hold the kit, as seen from {}: give the directory that has urom-pdk and urom-host in it",
                workspace.display()
            ),
            _ => Ok(()),
        }
    }

    /// The clone that this tool was built from, as long as it is there; else the registry.
    pub(super) fn of_this_tool() -> anyhow::Result<Kit> {
        let Some(clone) = Path::new(env!("CARGO_MANIFEST_DIR")).parent() else {
            return Ok(Kit::Registry);
        };
        if !is_clone(clone) {
            return Ok(Kit::Registry);
        }
        if is_cargos(clone) {
            bail!(
                "this tool was built by `cargo install --git`: say --kit git=ADDRESS with the same address, or --kit path=DIR \
                 with a clone of yours"
            );
        }
        match clone.to_str().map(|clone| format!("path={clone}").parse()) {
            Some(Ok(kit)) => Ok(kit),
            Some(Err(reason)) => {
                bail!(
                    "the clone this tool was built from cannot be used: {reason}; say --kit PLACE"
                )
            }
            None => {
                bail!("{} is no text, which Cargo.toml demands; say --kit PLACE", clone.display())
            }
        }
    }
}

/// Whether the kit's crates lie in a directory.
fn is_clone(directory: &Path) -> bool {
    ["urom-abi", "urom-pdk", "urom-host"]
        .iter()
        .all(|krate| directory.join(krate).join("Cargo.toml").is_file())
}

/// Whether it is cargo's own copy of a repository, which cargo may remove at any time.
fn is_cargos(directory: &Path) -> bool {
    let parts: Vec<_> = directory.components().collect();
    parts.windows(2).any(|pair| {
        pair == [Component::Normal("git".as_ref()), Component::Normal("checkouts".as_ref())]
    })
}

impl FromStr for Kit {
    type Err = String;

    fn from_str(text: &str) -> Result<Kit, String> {
        let (kind, source) = match text.split_once('=') {
            Some((kind, source)) => (kind, Some(source)),
            None => (text, None),
        };
        let source_of = |what: &str| match source {
            None | Some("") => {
                Err(format!("`{kind}` says nothing of {what}: {kind}={}", what.to_uppercase()))
            }
            Some(source) if source.contains(['"', '\\']) || source.contains(char::is_control) => {
                Err(format!(
                    "`{source}` has quotes, backslashes or control characters, which Cargo.toml would misread"
                ))
            }
            Some(source) => Ok(source.to_owned()),
        };
        match kind {
            "registry" if source.is_none() => Ok(Kit::Registry),
            "path" => source_of("directory").map(Kit::Path),
            "git" => source_of("address").map(Kit::Git),
            _ => Err("expected `registry`, `path=DIRECTORY` or `git=ADDRESS`".to_owned()),
        }
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
            assert_eq!((kit.kind(), kit.source()), (kind, source));
        }
    }

    #[test]
    fn a_place_that_says_too_little_or_would_break_a_manifest_is_refused() {
        for bad in [
            "",
            "path",
            "path=",
            "git",
            "git=",
            "registry=x",
            "svn=x",
            "path=a\"b",
            "path=a\\b",
            "git=a\nb",
        ] {
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
