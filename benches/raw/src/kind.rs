//! The features and settings of a peer's UCX.

use std::ffi::CString;
use std::ptr;

use anyhow::Result;
use ucx_sys as sys;

use crate::check;

/// The kit's settings for shared memory, beside those of the environment. A test of the benchmark
/// compares them with the kit.
pub const SETTINGS: [(&str, &str); 6] = [
    ("POSIX_ERROR_HANDLING", "y"),
    ("KEEPALIVE_INTERVAL", "500ms"),
    ("RNDV_SCHEME", "get_zcopy"),
    ("POSIX_FIFO_SIZE", "64"),
    ("POSIX_FIFO_ELEM_SIZE", "4224"),
    ("POSIX_SEG_SIZE", "8256"),
];

/// The kit's kind of shared memory. By itself UCX uses `sysv`, which these settings do not affect.
const TRANSPORTS: (&str, &str) = ("TLS", "self,posix,cma,tcp");

/// Peers of one kind are connected with each other: over shared memory a sender assumes that its
/// peer's queue is like its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kind {
    /// Tag messages besides active messages.
    pub tags: bool,
    /// The kit's [`SETTINGS`].
    pub same_settings: bool,
    /// Asleep while nothing comes: it serves in [`Style::AtOnce`](crate::Style::AtOnce) only.
    pub sleeps: bool,
}

impl Kind {
    /// The number of kinds.
    pub const COUNT: usize = 8;

    /// The kind's number in a command to a worker: below [`COUNT`](Self::COUNT).
    #[must_use]
    pub fn number(self) -> u64 {
        u64::from(self.tags) + 2 * u64::from(self.same_settings) + 4 * u64::from(self.sleeps)
    }

    /// The kind of a number. `None` when there is none.
    #[must_use]
    pub fn of(number: u64) -> Option<Kind> {
        let is = |bit| number & bit != 0;
        (number < Self::COUNT as u64).then_some(Kind {
            tags: is(1),
            same_settings: is(2),
            sleeps: is(4),
        })
    }

    pub(crate) fn context(self) -> Result<sys::ucp_context_h> {
        // SAFETY: a C structure of integers and pointers, for which zero is a value.
        let mut params: sys::ucp_params_t = unsafe { std::mem::zeroed() };
        let tags = if self.tags { sys::UCP_FEATURE_TAG } else { 0 };
        params.field_mask = u64::from(sys::UCP_PARAM_FIELD_FEATURES);
        let wakeup = if self.sleeps { sys::UCP_FEATURE_WAKEUP } else { 0 };
        params.features = u64::from(sys::UCP_FEATURE_AM | tags | wakeup);
        let config = self.same_settings.then(Config::with_settings).transpose()?;
        let config = config.as_ref().map_or(ptr::null_mut(), |config| config.0);
        let mut context = ptr::null_mut();
        // SAFETY: the parameters say which field is set; a null configuration is the environment's,
        // and another is live.
        check("ucp_init", unsafe { sys::ucp_init(&params, config, &mut context) })?;
        Ok(context)
    }
}

/// A configuration that is freed on every path.
struct Config(*mut sys::ucp_config_t);

impl Config {
    /// That of the environment, and the kit's settings over it.
    fn with_settings() -> Result<Config> {
        let mut config = ptr::null_mut();
        // SAFETY: no prefix and no file means the environment; the result can be written to.
        let status = unsafe { sys::ucp_config_read(ptr::null(), ptr::null(), &mut config) };
        check("ucp_config_read", status)?;
        let config = Config(config);
        for setting in SETTINGS.into_iter().chain([TRANSPORTS]) {
            let (name, value) = (CString::new(setting.0)?, CString::new(setting.1)?);
            // SAFETY: the configuration is live, and UCX copies both strings.
            let status = unsafe { sys::ucp_config_modify(config.0, name.as_ptr(), value.as_ptr()) };
            check(setting.0, status)?;
        }
        Ok(config)
    }
}

impl Drop for Config {
    fn drop(&mut self) {
        // SAFETY: from `ucp_config_read`, released once.
        unsafe { sys::ucp_config_release(self.0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_number_of_its_own() {
        for number in 0..Kind::COUNT as u64 {
            assert_eq!(Kind::of(number).map(Kind::number), Some(number));
        }
        assert_eq!(Kind::of(Kind::COUNT as u64), None);
    }
}
