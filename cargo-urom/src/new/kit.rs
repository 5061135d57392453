//! The source of the kit's crates for a new workspace.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result, anyhow, bail, ensure};

use super::vendor;

const COPY: &str = "kit";

/// The source of the kit's crates, as answers to two questions of the template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kit {
    pub(super) kind: &'static str,
    /// A clone, relative to the new workspace, or an address for cargo with an optional `#` and
    /// commit. Empty for the registry, and for the clone that this tool was built from.
    pub(super) source: String,
}

impl Kit {
    /// Copies the kit to the workspace, or checks the clone and makes its path relative.
    pub(super) fn put_into(self, workspace: &Path) -> Result<Kit> {
        match self.kind {
            "vendor" => {
                vendor::copy(sources_of_this_tool()?, &workspace.join(&self.source))?;
                Ok(self)
            }
            "path" => {
                let directory = match &*self.source {
                    "" => sources_of_this_tool()?.to_owned(),
                    source => workspace.join(source),
                };
                ensure!(
                    is_clone(&directory),
                    "{} does not hold the kit, as seen from {}: give the directory that has \
                     urom-pdk and urom-host in it",
                    self.source,
                    workspace.display()
                );
                if !self.source.is_empty() && Path::new(&self.source).is_relative() {
                    return Ok(self);
                }
                let relative = relative(&directory, workspace)?;
                format!("path={relative}").parse().map_err(|reason| {
                    anyhow!("the kit cannot be used there: {reason}; say --kit SOURCE")
                })
            }
            _ => Ok(self),
        }
    }

    /// Returns the clone, address or registry that cargo installed this tool from.
    pub(super) fn of_this_tool() -> Result<Kit> {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR"));
        if is_cargos(sources, "git/checkouts") {
            let program = std::env::current_exe().context("this program's file is unknown")?;
            let address = noted_address(&program).context(
                "this tool was built by `cargo install --git`: say --kit git=ADDRESS with the same \
                 address, or --kit path=DIR with a clone of yours",
            )?;
            return address.parse().map_err(|reason| anyhow!("{reason}; say --kit SOURCE"));
        }
        let kind = if is_cargos(sources, "registry/src") { "registry" } else { "path" };
        Ok(Kit { kind, source: String::new() })
    }

    pub(super) fn described(&self) -> String {
        let source = &self.source;
        match self.kind {
            "vendor" => {
                format!("a copy in {source}/ of the workspace; other machines need no more")
            }
            "path" => format!(
                "{source}, as seen from the workspace; another machine needs it there, or a \
                 workspace with --kit vendor"
            ),
            "git" => format!("from {source}; other machines must reach this address"),
            _ => format!("version {} from the registry", env!("CARGO_PKG_VERSION")),
        }
    }
}

fn sources_of_this_tool() -> Result<&'static Path> {
    let clone = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("/"));
    if !is_clone(clone) {
        bail!(
            "the clone that this tool was built from is gone from {}: install the tool from a \
             clone again, or say --kit path=DIR or --kit git=ADDRESS",
            clone.display()
        );
    }
    Ok(clone)
}

/// Returns the path from one directory to another. Both must exist.
fn relative(directory: &Path, from: &Path) -> Result<String> {
    let real = |path: &Path| {
        path.canonicalize().with_context(|| format!("cannot resolve {}", path.display()))
    };
    let (directory, from) = (real(directory)?, real(from)?);
    let same = directory.components().zip(from.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(same).map(|_| Component::ParentDir);
    let relative: PathBuf = up.chain(directory.components().skip(same)).collect();
    let text = relative.to_str().with_context(|| {
        format!("{} is not UTF-8, which Cargo.toml demands", relative.display())
    })?;
    Ok(text.to_owned())
}

/// Returns the address and commit that `cargo install --git` recorded beside the installed program.
fn noted_address(program: &Path) -> Option<String> {
    let notes = fs::read(program.parent()?.parent()?.join(".crates2.json")).ok()?;
    let notes: serde_json::Value = serde_json::from_slice(&notes).ok()?;
    notes.get("installs")?.as_object()?.keys().find_map(|package| {
        let (_, source) = package.strip_prefix("cargo-urom ")?.split_once(" (git+")?;
        let (address, commit) = source.strip_suffix(')')?.rsplit_once('#')?;
        // Removes the requested branch, tag or commit.
        let asked = ["?branch=", "?tag=", "?rev="].iter().find_map(|sign| address.rfind(sign));
        Some(format!("git={}#{commit}", &address[..asked.unwrap_or(address.len())]))
    })
}

fn is_clone(directory: &Path) -> bool {
    ["urom-abi", "urom-pdk", "urom-host"]
        .iter()
        .all(|krate| directory.join(krate).join("Cargo.toml").is_file())
}

/// Whether a directory is in this part of cargo's own directory, where cargo may remove it.
fn is_cargos(directory: &Path, part: &str) -> bool {
    directory.to_string_lossy().contains(&format!("/{part}/"))
}

impl FromStr for Kit {
    type Err = String;

    fn from_str(text: &str) -> Result<Kit, String> {
        let mut parts = text.splitn(2, '=');
        let (kind, source) = match (parts.next().unwrap_or_default(), parts.next()) {
            ("registry", None) => ("registry", ""),
            ("path", None) => ("path", ""),
            ("vendor", None) => ("vendor", COPY),
            ("path", Some("")) => return Err("`path` lacks its directory: path=DIRECTORY".into()),
            ("git", None | Some("")) => return Err("`git` lacks its address: git=ADDRESS".into()),
            ("path", Some(source)) => ("path", source),
            ("git", Some(source)) => ("git", source),
            _ => {
                let expected = "`vendor`, `path`, `path=DIRECTORY`, `git=ADDRESS` or `registry`";
                return Err(format!("expected {expected}"));
            }
        };
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
    fn a_source_has_a_kind_and_a_location() {
        for (text, kind, source) in [
            ("registry", "registry", ""),
            ("vendor", "vendor", "kit"),
            ("git=https://a/kit#0123", "git", "https://a/kit#0123"),
            ("path", "path", ""),
            ("path=../kit", "path", "../kit"),
            ("git=file:///kit?a=b", "git", "file:///kit?a=b"),
        ] {
            let kit: Kit = text.parse().expect(text);
            assert_eq!((kit.kind, &*kit.source), (kind, source));
        }
    }

    #[test]
    fn an_incomplete_source_or_one_that_would_break_a_manifest_is_refused() {
        let lacking = "path= git git= registry=x vendor=x svn=x".split(' ');
        for bad in lacking.chain(["", "path=a\"b", "path=a\\b", "git=a\nb"]) {
            assert!(bad.parse::<Kit>().is_err(), "{bad}");
        }
    }

    #[test]
    fn cargos_own_copies_are_recognized() {
        let checkout = Path::new("/home/a/.cargo/git/checkouts/kit-0123/4567/cargo-urom");
        assert!(is_cargos(checkout, "git/checkouts"));
        assert!(!is_cargos(checkout, "registry/src"));
        assert!(!is_cargos(Path::new("/home/a/git/kit/checkouts/cargo-urom"), "git/checkouts"));
    }

    #[test]
    fn a_directory_is_seen_from_beside_from_below_and_through_links() {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let at = |path: &str| scratch.path().join(path);
        fs::create_dir_all(at("a/kit")).expect("a directory");
        fs::create_dir_all(at("a/b/calc")).expect("a directory");
        std::os::unix::fs::symlink(at("a/b"), at("link")).expect("a link");
        for (directory, from, expected) in [
            ("a/kit", "a/b/calc", "../../kit"),
            ("a/kit", "link/calc", "../../kit"),
            ("a/b/calc", "a", "b/calc"),
            ("a", "a/b/calc", "../.."),
        ] {
            assert_eq!(relative(&at(directory), &at(from)).expect("both are there"), expected);
        }
        let far = relative(Path::new("/proc"), &at("a/kit")).expect("both are there");
        assert!(far.starts_with("../") && at("a/kit").join(&far).join("self").exists(), "{far}");
        assert!(relative(&at("nowhere"), &at("a")).is_err());
    }

    #[test]
    fn the_address_of_an_installation_is_read_from_cargos_notes() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let program = root.path().join("bin/cargo-urom");
        assert_eq!(noted_address(&program), None);
        for (source, expected) in [
            ("git+https://a/kit#01ab", Some("git=https://a/kit#01ab")),
            ("git+https://a/kit?branch=main#01ab", Some("git=https://a/kit#01ab")),
            ("git+file:///kit?a=b&x=y#01ab", Some("git=file:///kit?a=b&x=y#01ab")),
            ("path+file:///kit", None),
        ] {
            let notes =
                format!(r#"{{"installs":{{"x 1 (y)":{{}},"cargo-urom 0.1.0 ({source})":{{}}}}}}"#);
            fs::write(root.path().join(".crates2.json"), notes).expect("a file");
            assert_eq!(noted_address(&program).as_deref(), expected);
        }
        fs::write(root.path().join(".crates2.json"), "{").expect("a file");
        assert_eq!(noted_address(&program), None);
    }

    #[test]
    fn a_directory_without_the_kits_crates_is_no_clone() {
        let clone = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the clone");
        assert!(is_clone(clone));
        assert!(!is_clone(&clone.join("cargo-urom")));
    }
}
