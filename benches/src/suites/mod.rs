//! What can be measured: a list of suites, each of which gives figures.

mod allocations;
mod codec;
mod counted;
mod host_in_c;
mod idle;
mod in_c;
mod inline;
mod loopback;
mod losses;
mod messages;
mod pair;
mod peers;
mod perftest;
mod plugin_in_c;
mod sandbox;
mod scale;
mod sleeper;
mod stages;
mod startup;
mod system_calls;

use anyhow::{Context, Result};

use crate::extent::Extent;
use crate::figure::Figure;

/// Something that is measured as a whole.
pub(crate) struct Suite {
    /// What it is called on the command line and how its figures' names begin.
    pub(crate) name: &'static str,
    /// What it measures, in a few words.
    pub(crate) about: &'static str,
    /// Measures it.
    pub(crate) run: fn(&Extent) -> Result<Vec<Figure>>,
    /// Its part as a [`Child`](crate::child::Child), given the arguments it was started with.
    pub(crate) child: Option<fn(&str) -> Result<()>>,
}

/// All of them, in the order in which they run.
pub(crate) const SUITES: &[Suite] = &[
    loopback::SUITE,
    perftest::SUITE,
    plugin_in_c::SUITE,
    host_in_c::SUITE,
    sandbox::SUITE,
    stages::SUITE,
    codec::SUITE,
    peers::SUITE,
    allocations::SUITE,
    messages::SUITE,
    system_calls::SUITE,
    idle::SUITE,
    startup::SUITE,
    scale::SUITE,
    losses::SUITE,
];

/// The suites of these names; all when there are none.
///
/// # Errors
/// When there is no such suite; with those there are.
pub(crate) fn select(names: &[String]) -> Result<Vec<&'static Suite>> {
    if names.is_empty() {
        return Ok(SUITES.iter().collect());
    }
    names.iter().map(|name| find(name)).collect()
}

/// The suite of this name.
///
/// # Errors
/// As [`select`].
pub(crate) fn find(name: &str) -> Result<&'static Suite> {
    SUITES.iter().find(|suite| suite.name == name).with_context(|| {
        let all: Vec<String> =
            SUITES.iter().map(|suite| format!("{}: {}", suite.name, suite.about)).collect();
        format!("no suite `{name}`. There are\n{}", all.join("\n"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_are_selected_by_name_and_all_without() {
        let names = |names: &[&str]| {
            let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
            select(&names).map(|suites| suites.iter().map(|suite| suite.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&["loopback"]).unwrap(), ["loopback"]);
        assert_eq!(names(&[]).unwrap().len(), SUITES.len());
        let error = names(&["loopback", "nothing"]).unwrap_err().to_string();
        assert!(error.contains("`nothing`") && error.contains("loopback: "), "{error}");
    }

    #[test]
    fn every_suite_has_a_name_of_its_own() {
        for (at, suite) in SUITES.iter().enumerate() {
            assert!(SUITES[..at].iter().all(|other| other.name != suite.name), "{}", suite.name);
        }
    }
}
