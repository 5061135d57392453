//! What a worker is started with.

use std::time::Duration;

use urom_abi::cpu::CpuSet;

use crate::plugin::Plugin;

#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) id: u64,
    pub(super) group: Option<u32>,
    pub(super) plugins: Vec<Plugin>,
    pub(super) env: Vec<(String, String)>,
    pub(super) cpus: Option<CpuSet>,
    pub(crate) max_inflight: u32,
    pub(crate) deadline: Option<Duration>,
}
