//! The template's answers, and checks of names.

use urom_abi::plugin::PLUGIN_NAME_CAPACITY;

use super::kit::Kit;

#[derive(Debug)]
pub(super) struct Answers {
    /// The workspace's name, the prefix of its packages `-protocol`, `-plugin` and `-host`.
    pub(super) project: String,
    /// The name for services and hosts, and of the library.
    pub(super) plugin: String,
    pub(super) kind: PluginKind,
    pub(super) c_header: bool,
    /// An SPDX expression, or empty.
    pub(super) license: String,
    pub(super) kit: Kit,
}

/// The kind of the plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum PluginKind {
    /// Only answers commands.
    Answers,
    /// Communicates with the plugins of other workers in a domain.
    Peers,
}

impl PluginKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            PluginKind::Answers => "answers",
            PluginKind::Peers => "peers",
        }
    }
}

/// Limit of a plugin's name in bytes: DOCA's structure has 48, including the final 0.
const MOST: usize = PLUGIN_NAME_CAPACITY - 1;

/// Reserved names for a library: crates that it uses, and Rust's keywords.
const TAKEN: &str = "alloc core proc_macro protocol std test ucx ucx_probe ucx_sys urom_abi \
    urom_host urom_pdk urom_service \
    abstract as async await become box break const continue crate do dyn else enum extern false \
    final fn for gen if impl in let loop macro match mod move mut override priv pub ref return \
    self static struct super trait true try type typeof unsafe unsized use virtual where while \
    yield";

/// Whether a text begins with a letter, and is lower-case words with single separators.
fn is_words(text: &str, separator: char) -> bool {
    let is_small = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.split(separator).all(|word| !word.is_empty() && word.bytes().all(is_small))
}

/// Checks a project's name: `kebab-case` or `snake_case`. cargo-generate changes all others.
pub(super) fn project_name(text: &str) -> Result<String, String> {
    if !is_words(text, '-') && !is_words(text, '_') {
        return Err(format!(
            "`{text}` is not a name for a project: it begins with a letter and has small letters and \
             digits, in words with `-` (or `_`) between them"
        ));
    }
    if text == "urom" {
        return Err(
            "`urom` is not a name for a project: `urom-host` is a package of the kit".to_owned()
        );
    }
    Ok(text.to_owned())
}

pub(super) fn crate_name(project: &str) -> String {
    project.replace('-', "_")
}

/// Returns the default name for a project's plugin: with the prefix `worker_`, once.
pub(super) fn usual_plugin_name(project: &str) -> Result<String, String> {
    let name = crate_name(project);
    plugin_name(&format!("worker_{}", name.strip_prefix("worker_").unwrap_or(&name)))
}

pub(super) fn plugin_name(text: &str) -> Result<String, String> {
    if text.len() > MOST {
        let len = text.len();
        return Err(format!("`{text}` has {len} bytes, and the name of a plugin at most {MOST}"));
    }
    // Rust warns of `__` in the names of libraries.
    if !is_words(text, '_') {
        return Err(format!(
            "`{text}` is not a name for a plugin: it begins with a letter, and has small letters and \
             digits, in words with one `_` between them"
        ));
    }
    if TAKEN.split_ascii_whitespace().any(|taken| taken == text) {
        return Err(format!(
            "`{text}` is not a name for a plugin: the library would be called that too, and in Rust \
             it means something else"
        ));
    }
    Ok(text.to_owned())
}

/// Checks the characters of an SPDX expression, but not its identifiers.
pub(super) fn license(text: &str) -> Result<String, String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || ".+-() ".contains(c);
    if !text.contains(|c: char| c.is_ascii_alphanumeric()) || !text.chars().all(is_part) {
        return Err(format!(
            "`{text}` is not an SPDX expression, such as `BSD-3-Clause` or `MIT OR Apache-2.0`"
        ));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projects_have_kebab_case_or_snake_case() {
        for good in ["a", "calc", "calc2", "my-calc", "my_calc", "a-2-b"] {
            assert_eq!(project_name(good).expect(good), good);
        }
        for bad in [
            "", "2a", "Calc", "my calc", "a-", "-a", "a--b", "a__b", "a-b_c", "ä", ".", "a/b",
            "a.b", "urom",
        ] {
            assert!(project_name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn plugins_have_what_is_both_a_file_name_and_a_crate() {
        let longest = "a".repeat(MOST);
        for good in ["a", "worker_calc", "worker_2", &longest] {
            assert_eq!(plugin_name(good).expect(good), good);
        }
        let too_long = "a".repeat(MOST + 1);
        for bad in [
            "", "_a", "a_", "a__b", "2a", "Worker", "a-b", "a.so", "a/b", "ä", "fn", "gen",
            "protocol", &too_long,
        ] {
            assert!(plugin_name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn licences_are_spdx_expressions() {
        for good in ["MIT", "BSD-3-Clause", "(MIT OR Apache-2.0) AND GPL-2.0+"] {
            assert_eq!(license(good).as_deref(), Ok(good));
        }
        for bad in ["", " ", "-", "MIT/Apache-2.0", "MIT\"", "MIT\nx", "{{x}}", "\u{e4}"] {
            assert!(license(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_customary_name_is_the_projects_as_an_identifier() {
        assert_eq!(usual_plugin_name("my-calc").as_deref(), Ok("worker_my_calc"));
        assert_eq!(usual_plugin_name("worker_calc").as_deref(), Ok("worker_calc"));
        let reason = usual_plugin_name(&"a".repeat(41)).expect_err("worker_ has seven letters");
        assert!(reason.contains("48 bytes"), "{reason}");
    }
}
