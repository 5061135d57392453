//! What the template asks for, and which names are good.

use std::fmt;
use std::str::FromStr;

use urom_abi::plugin::PLUGIN_NAME_CAPACITY;

use super::kit::Kit;

/// Everything that the files depend on.
#[derive(Debug)]
pub(super) struct Answers {
    pub(super) project: ProjectName,
    pub(super) plugin: PluginName,
    pub(super) ucx: bool,
    pub(super) c_header: bool,
    pub(super) kit: Kit,
}

/// The longest name of a plugin in bytes: DOCA's structure has 48, and the last is 0.
const MOST: usize = PLUGIN_NAME_CAPACITY - 1;

/// Names that a library cannot have beside those it uses.
const TAKEN: [&str; 13] = [
    "alloc",
    "core",
    "proc_macro",
    "protocol",
    "std",
    "test",
    "ucx",
    "ucx_probe",
    "ucx_sys",
    "urom_abi",
    "urom_host",
    "urom_pdk",
    "urom_service",
];

/// Rust's keywords, those that are only reserved too.
const KEYWORDS: &str = "abstract as async await become box break const continue crate do dyn else enum extern false final \
    fn for gen if impl in let loop macro match mod move mut override priv pub ref return self static struct super trait \
    true try type typeof unsafe unsized use virtual where while yield";

/// What the workspace is called. Its packages have this name with `-protocol`, `-plugin` and `-host` behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProjectName(String);

impl ProjectName {
    /// As an identifier.
    pub(super) fn crate_name(&self) -> String {
        self.0.replace('-', "_")
    }

    /// The customary name for its plugin: with `worker_` in front, once.
    pub(super) fn plugin(&self) -> Result<PluginName, String> {
        let name = self.crate_name();
        format!("worker_{}", name.strip_prefix("worker_").unwrap_or(&name)).parse()
    }
}

impl FromStr for ProjectName {
    type Err = String;

    /// Either `kebab-case` or `snake_case`: cargo-generate turns all else into one of them.
    fn from_str(text: &str) -> Result<ProjectName, String> {
        let words = |separator| {
            let mut words = text.split(separator);
            words.all(|word: &str| !word.is_empty() && word.bytes().all(is_small))
        };
        if !text.starts_with(|c: char| c.is_ascii_lowercase()) || !(words('-') || words('_')) {
            return Err(format!(
                "`{text}` is no name for a project: it begins with a letter and has small letters and digits, in words with \
                 `-` (or `_`) between them"
            ));
        }
        if text == "urom" {
            return Err(
                "`urom` is no name for a project: `urom-host` is a package of the kit".to_owned()
            );
        }
        Ok(ProjectName(text.to_owned()))
    }
}

/// What services and hosts know the plugin by. It is the library's name in cargo too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PluginName(String);

impl FromStr for PluginName {
    type Err = String;

    fn from_str(text: &str) -> Result<PluginName, String> {
        if text.len() > MOST {
            return Err(format!(
                "`{text}` has {} bytes, and the name of a plugin at most {MOST}",
                text.len()
            ));
        }
        let good = text.starts_with(|c: char| c.is_ascii_lowercase())
            && text.bytes().all(|byte| is_small(byte) || byte == b'_')
            && !text.ends_with('_')
            // Rust warns of it in the names of libraries.
            && !text.contains("__");
        if !good {
            return Err(format!(
                "`{text}` is no name for a plugin: it begins with a letter, and has small letters and digits, in words with \
                 one `_` between them"
            ));
        }
        if KEYWORDS.split_ascii_whitespace().any(|keyword| keyword == text) || TAKEN.contains(&text)
        {
            return Err(format!(
                "`{text}` is no name for a plugin: the library would be called that too, and in Rust it means something else"
            ));
        }
        Ok(PluginName(text.to_owned()))
    }
}

fn is_small(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

impl fmt::Display for ProjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for PluginName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projects_have_kebab_case_or_snake_case() {
        for good in ["a", "calc", "calc2", "my-calc", "my_calc", "a-2-b"] {
            let project: ProjectName = good.parse().expect(good);
            assert_eq!(project.to_string(), good);
        }
        for bad in [
            "", "2a", "Calc", "my calc", "a-", "-a", "a--b", "a__b", "a-b_c", "ä", ".", "a/b",
            "a.b", "urom",
        ] {
            assert!(bad.parse::<ProjectName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn plugins_have_what_is_both_a_file_name_and_a_crate() {
        let longest = "a".repeat(MOST);
        for good in ["a", "worker_calc", "worker_2", &longest] {
            assert_eq!(good.parse::<PluginName>().expect(good).to_string(), good);
        }
        let too_long = "a".repeat(MOST + 1);
        for bad in [
            "", "_a", "a_", "a__b", "2a", "Worker", "a-b", "a.so", "a/b", "ä", "fn", "gen",
            "protocol", &too_long,
        ] {
            assert!(bad.parse::<PluginName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_customary_name_is_the_projects_as_an_identifier() {
        let plugin = |project: &str| project.parse::<ProjectName>().expect("good").plugin();
        assert_eq!(plugin("my-calc").expect("good").to_string(), "worker_my_calc");
        assert_eq!(plugin("worker_calc").expect("good").to_string(), "worker_calc");
        let reason = plugin(&"a".repeat(41)).expect_err("worker_ has seven letters");
        assert!(reason.contains("48 bytes"), "{reason}");
    }
}
