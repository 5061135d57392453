//! The list of suites.

mod allreduce;
pub(crate) mod codec;
pub(crate) mod counted;
mod faults;
mod idle;
pub(crate) mod instructions;
pub(crate) mod loopback;
mod memory;
pub(crate) mod peers;
mod perftest;
mod plugin_in_c;
mod rdma;
mod rdmo;
mod sandbox;
mod two_workers;

use anyhow::{Context, Result};

use crate::figure::Figure;
use crate::launch::Launch;
use crate::transport::Transport;

pub(crate) struct Suite {
    /// Name on the command line, and beginning of its figures' names.
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) parts: &'static [Part],
}

pub(crate) struct Part {
    /// Transports, with one launch each, and their values of `UCX_TLS`.
    pub(crate) transports: &'static [(Transport, &'static str)],
    pub(crate) variables: &'static [(&'static str, &'static str)],
    /// Measured in the first launch only: counts, and slow measurements.
    pub(crate) once: bool,
    pub(crate) processes: usize,
    pub(crate) measure: fn(&Launch) -> Result<Vec<Figure>>,
}

/// Values of `UCX_TLS` that restrict UCX to one transport.
const BOTH: &[(Transport, &str)] = &[(Transport::SharedMemory, "self,sm"), (Transport::Tcp, "tcp")];
const SHM: &[(Transport, &str)] = &[BOTH[0]];
const TCP: &[(Transport, &str)] = &[BOTH[1]];

impl Part {
    const fn new(measure: fn(&Launch) -> Result<Vec<Figure>>) -> Part {
        Part { transports: BOTH, variables: &[], once: false, processes: 1, measure }
    }

    /// Measures over shared memory, with the settings of plugins' UCX for raw UCX.
    const fn with_kit_settings(measure: fn(&Launch) -> Result<Vec<Figure>>) -> Part {
        Part { transports: SHM, variables: KIT_SETTINGS, ..Part::new(measure) }
    }
}

pub(crate) const SUITES: &[Suite] = &[
    Suite {
        name: "loopback",
        about: "loopback commands against raw UCX active messages of the same sizes",
        parts: &[Part::new(loopback::measure)],
    },
    Suite {
        name: "ucx_perftest",
        about: "the raw loop against ucx_perftest",
        parts: &[Part::new(perftest::measure)],
    },
    Suite {
        name: "plugin-in-c",
        about: "a Rust plugin against the same plugin in C",
        // Code and memory lie differently in each process, which changes a round trip by 1 %: more
        // than the language does. The median needs fifty processes.
        parts: &[Part { processes: 10, ..Part::new(plugin_in_c::measure) }],
    },
    Suite {
        name: "sandbox",
        about: "messages through the sandbox plugin against raw UCX tag messages",
        parts: &[
            // UCX may also use TCP, as in a user's process, and does not.
            Part {
                transports: &[(Transport::SharedMemory, "self,sm,tcp"), BOTH[1]],
                ..Part::new(sandbox::measure)
            },
            Part::with_kit_settings(sandbox::same_settings),
        ],
    },
    Suite {
        name: "memory",
        about: "a host's memory in a plugin's hands, against memcpy and the kernel's copies",
        parts: &[Part { transports: SHM, ..Part::new(memory::measure) }],
    },
    Suite {
        name: "rdma",
        about: "writes and reads through the RDMA plugin against a relay of raw UCX",
        parts: &[
            Part {
                transports: &[(Transport::SharedMemory, "self,sm,tcp"), BOTH[1]],
                ..Part::new(rdma::measure)
            },
            Part { variables: &[counted::PRELOAD], ..Part::new(rdma::allocations) },
        ],
    },
    Suite {
        name: "rdmo",
        about: "appends through the RDMO plugin against a raw UCX active message and a raw put",
        parts: &[Part { transports: SHM, ..Part::new(rdmo::measure) }],
    },
    Suite {
        name: "allreduce",
        about: "an allreduce of four members on their workers against MPI's own",
        parts: &[Part { transports: SHM, ..Part::new(allreduce::measure) }],
    },
    Suite {
        name: "instructions",
        about: "instructions of a command, at the host and in the worker",
        parts: &[Part { transports: SHM, once: true, ..Part::new(instructions::measure) }],
    },
    Suite {
        name: "codec",
        about: "instructions of each kind of command, and of whole plugins, against C",
        parts: &[Part { transports: SHM, once: true, ..Part::new(codec::measure) }],
    },
    Suite {
        name: "peers",
        about: "round trips against a tonic unary echo",
        parts: &[Part::new(peers::measure)],
    },
    Suite {
        name: "allocations",
        about: "heap allocations of a command, at the host and in the worker",
        parts: &[
            Part { variables: &[counted::PRELOAD], ..Part::new(counted::allocations) },
            Part { variables: &[counted::PRELOAD], ..Part::new(counted::allocations_of_doca) },
        ],
    },
    Suite {
        name: "messages",
        about: "UCX messages of a command over TCP, alone and with others",
        parts: &[Part {
            transports: TCP,
            variables: &[counted::PRELOAD],
            ..Part::new(counted::messages)
        }],
    },
    Suite {
        name: "idle",
        about: "the CPU of an idle worker, and the first command after a pause",
        parts: &[
            Part::with_kit_settings(idle::measure),
            Part { transports: TCP, ..Part::new(idle::measure) },
        ],
    },
    Suite {
        name: "scale",
        about: "256 workers on one daemon, 62 plugins in one worker; not in a first look",
        parts: &[Part { transports: SHM, once: true, ..Part::new(faults::scale) }],
    },
    Suite {
        name: "losses",
        about: "how soon the loss of a peer is noticed",
        parts: &[Part { transports: SHM, once: true, ..Part::new(faults::losses) }],
    },
];

/// Settings of plugins' UCX over shared memory, for raw UCX that needs the same. By default UCX
/// uses `sysv`, which they do not affect.
const KIT_SETTINGS: &[(&str, &str)] = &[
    ("UCX_TLS", "self,posix,cma,tcp"),
    ("UCX_POSIX_ERROR_HANDLING", "y"),
    ("UCX_KEEPALIVE_INTERVAL", "500ms"),
    ("UCX_RNDV_SCHEME", "get_zcopy"),
    ("UCX_POSIX_FIFO_SIZE", "64"),
    ("UCX_POSIX_FIFO_ELEM_SIZE", "4224"),
    ("UCX_POSIX_SEG_SIZE", "8256"),
];

pub(crate) fn select(names: &[String]) -> Result<Vec<&'static Suite>> {
    if names.is_empty() {
        return Ok(SUITES.iter().collect());
    }
    names.iter().map(|name| find(name)).collect()
}

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
}
