//! What can be measured: a list of suites, each of which gives figures.

mod codec;
pub(crate) mod counted;
mod faults;
mod idle;
mod loopback;
mod peers;
mod perftest;
mod plugin_in_c;
mod sandbox;
mod stages;

use anyhow::{Context, Result};

use crate::figure::Figure;
use crate::launch::Launch;
use crate::transport::Transport;

pub(crate) struct Suite {
    /// Its name on the command line, and the beginning of its figures' names.
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) parts: &'static [Part],
    /// Its processes beside the launches, given their arguments.
    pub(crate) process: Option<fn(&str) -> Result<()>>,
}

pub(crate) struct Part {
    /// One launch for each, with its value of `UCX_TLS`.
    pub(crate) transports: &'static [(Transport, &'static str)],
    /// More variables of the launches and of all their processes.
    pub(crate) variables: &'static [(&'static str, &'static str)],
    /// Measured in the first launch only.
    pub(crate) once: bool,
    /// The processes in each launch.
    pub(crate) processes: usize,
    pub(crate) measure: fn(&Launch) -> Result<Vec<Figure>>,
}

impl Part {
    /// Measured over shared memory and TCP, in each launch.
    pub(crate) const fn new(measure: fn(&Launch) -> Result<Vec<Figure>>) -> Part {
        let transports = &[Transport::SHM_ALONE, Transport::TCP_ALONE];
        Part { transports, variables: &[], once: false, processes: 1, measure }
    }

    /// Measured in one process of the run: counts, and what takes long.
    pub(crate) const fn once(measure: fn(&Launch) -> Result<Vec<Figure>>) -> Part {
        let transports = &[Transport::SHM_ALONE];
        Part { transports, once: true, ..Part::new(measure) }
    }
}

/// All of them, in the order in which they run.
pub(crate) const SUITES: &[Suite] = &[
    loopback::SUITE,
    perftest::SUITE,
    plugin_in_c::SUITE,
    sandbox::SUITE,
    stages::SUITE,
    codec::SUITE,
    peers::SUITE,
    counted::ALLOCATIONS,
    counted::MESSAGES,
    idle::SUITE,
    faults::SCALE,
    faults::LOSSES,
];

/// The kit's settings of UCX over shared memory, for raw UCX that shall have them too. By itself UCX
/// uses `sysv`, which they do not affect.
pub(crate) const KIT_SETTINGS: &[(&str, &str)] = &[
    ("UCX_TLS", "self,posix,cma,tcp"),
    ("UCX_POSIX_ERROR_HANDLING", "y"),
    ("UCX_KEEPALIVE_INTERVAL", "500ms"),
    ("UCX_RNDV_SCHEME", "get_zcopy"),
    ("UCX_POSIX_FIFO_SIZE", "64"),
    ("UCX_POSIX_FIFO_ELEM_SIZE", "4224"),
    ("UCX_POSIX_SEG_SIZE", "8256"),
];

/// The suites of these names; all when there are none.
pub(crate) fn select(names: &[String]) -> Result<Vec<&'static Suite>> {
    if names.is_empty() {
        return Ok(SUITES.iter().collect());
    }
    names.iter().map(|name| find(name)).collect()
}

/// The suite of this name.
pub(crate) fn find(name: &str) -> Result<&'static Suite> {
    SUITES.iter().find(|suite| suite.name == name).with_context(|| {
        let all = SUITES.iter().map(|suite| format!("\n{}: {}", suite.name, suite.about));
        format!("no suite `{name}`. There are{}", all.collect::<String>())
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
    fn raw_ucx_with_the_same_settings_has_those_of_the_kit() {
        use ucx::{Context, Features};
        let builder = || Context::builder(Features::AM);
        let settings = KIT_SETTINGS.iter().skip(1).map(|(name, value)| (&name[4..], value));
        let same = settings.fold(builder(), |builder, (name, value)| builder.config(name, *value));
        assert_eq!(format!("{same:?}"), format!("{:?}", builder().watched_shared_memory()));
    }

    #[test]
    fn every_suite_has_a_name_of_its_own() {
        for (at, suite) in SUITES.iter().enumerate() {
            assert!(SUITES[..at].iter().all(|other| other.name != suite.name), "{}", suite.name);
        }
    }
}
