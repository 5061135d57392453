//! Environment variables, which may be meant for one target only, and which of them a search has
//! read.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::OsString;

/// The name of `variable` that holds for `target` only.
#[must_use]
pub fn of_target(variable: &str, target: &str) -> String {
    format!("{variable}_{}", target.replace('-', "_"))
}

type Read = dyn Fn(&str) -> Option<OsString>;

/// Reads variables and remembers their names: a build script has to be run again when one of them
/// changes.
pub(crate) struct Variables {
    read: Box<Read>,
    names: RefCell<BTreeSet<String>>,
}

impl Variables {
    pub(crate) fn new(read: impl Fn(&str) -> Option<OsString> + 'static) -> Self {
        Self { read: Box::new(read), names: RefCell::default() }
    }

    /// An empty one counts as one that is not set.
    pub(crate) fn get(&self, name: &str) -> Option<OsString> {
        self.names.borrow_mut().insert(name.to_owned());
        (self.read)(name).filter(|value| !value.is_empty())
    }

    /// The value for `target` only, in the two spellings that cargo's build scripts know: with the
    /// triple, or `TARGET_`.
    pub(crate) fn only_of_target(&self, name: &str, target: &str) -> Option<OsString> {
        self.get(&format!("{name}_{target}"))
            .or_else(|| self.get(&of_target(name, target)))
            .or_else(|| self.get(&format!("TARGET_{name}")))
    }

    /// All that were asked for, set or not.
    pub(crate) fn names(&self) -> Vec<String> {
        self.names.borrow().iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_variable_is_not_set_and_every_question_is_remembered() {
        let variables = Variables::new(|name| match name {
            "SET" => Some("value".into()),
            "EMPTY" => Some(OsString::new()),
            _ => None,
        });
        assert_eq!(variables.get("SET"), Some("value".into()));
        assert_eq!(variables.get("EMPTY"), None);
        assert_eq!(variables.get("UNSET"), None);
        assert_eq!(variables.names(), ["EMPTY", "SET", "UNSET"]);
    }

    #[test]
    fn a_variable_for_the_target_has_three_spellings() {
        for set in ["X_a-b-c", "X_a_b_c", "TARGET_X"] {
            let variables = Variables::new(move |name| (name == set).then(|| name.into()));
            assert_eq!(variables.only_of_target("X", "a-b-c"), Some(set.into()));
            assert_eq!(variables.only_of_target("X", "d-e-f").is_some(), set == "TARGET_X");
        }
    }
}
