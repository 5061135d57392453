//! What a peer's UCX is made for, and how it is set up.

use std::ffi::CString;
use std::ptr;

use ucx_sys as sys;

use crate::check;

/// What the kit sets for shared memory, beside what the environment says: with queues as the kit has them. A test of the benchmark's
/// holds this against the kit.
pub const SETTINGS: [(&str, &str); 6] = [
    ("POSIX_ERROR_HANDLING", "y"),
    ("KEEPALIVE_INTERVAL", "500ms"),
    ("RNDV_SCHEME", "get_zcopy"),
    ("POSIX_FIFO_SIZE", "64"),
    ("POSIX_FIFO_ELEM_SIZE", "4224"),
    ("POSIX_SEG_SIZE", "8256"),
];

/// The kit's kind of shared memory. By itself UCX takes `sysv`, which these settings are not about.
const TRANSPORTS: (&str, &str) = ("TLS", "self,posix,cma,tcp");

/// What a peer is made for, and how. Peers of one kind are connected with each other: over shared memory a sender takes its
/// peer's queue to be like its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kind {
    /// For tag messages, and not for active messages only.
    pub tags: bool,
    /// With the kit's [`SETTINGS`], and not as UCX comes.
    pub same_settings: bool,
    /// With UCX's wake-up, and asleep when nothing comes: it serves in [`Style::ShortAtOnce`](crate::Style::ShortAtOnce) alone.
    pub sleeps: bool,
}

impl Kind {
    /// How many there are.
    pub const COUNT: usize = 8;

    /// As a command to a worker has it: below [`COUNT`](Self::COUNT).
    #[must_use]
    pub fn number(self) -> u64 {
        u64::from(self.tags) + 2 * u64::from(self.same_settings) + 4 * u64::from(self.sleeps)
    }

    /// The kind of a number; nothing when there is none.
    #[must_use]
    pub fn of(number: u64) -> Option<Kind> {
        let is = |bit| number & bit != 0;
        (number < Self::COUNT as u64).then_some(Kind {
            tags: is(1),
            same_settings: is(2),
            sleeps: is(4),
        })
    }

    /// A context of this kind.
    pub(crate) fn context(self) -> Result<sys::ucp_context_h, String> {
        // SAFETY: a C structure of integers and pointers, for which zero is a value.
        let mut params: sys::ucp_params_t = unsafe { std::mem::zeroed() };
        let tags = if self.tags { sys::UCP_FEATURE_TAG } else { 0 };
        params.field_mask = u64::from(sys::UCP_PARAM_FIELD_FEATURES);
        let wakeup = if self.sleeps { sys::UCP_FEATURE_WAKEUP } else { 0 };
        params.features = u64::from(sys::UCP_FEATURE_AM | tags | wakeup);
        let config = self.same_settings.then(Config::with_settings).transpose()?;
        let config = config.as_ref().map_or(ptr::null_mut(), |config| config.0);
        let mut context = ptr::null_mut();
        // SAFETY: the parameters say which field is set; a null configuration is the environment's, and another is live.
        check("ucp_init", unsafe { sys::ucp_init(&params, config, &mut context) })?;
        Ok(context)
    }
}

/// A configuration that is freed on every path.
struct Config(*mut sys::ucp_config_t);

impl Config {
    /// That of the environment, and the kit's settings over it.
    fn with_settings() -> Result<Config, String> {
        let mut config = ptr::null_mut();
        // SAFETY: no prefix and no file means the environment; the result can be written to.
        let status = unsafe { sys::ucp_config_read(ptr::null(), ptr::null(), &mut config) };
        check("ucp_config_read", status)?;
        let config = Config(config);
        for setting in SETTINGS.into_iter().chain([TRANSPORTS]) {
            let [name, value] = [setting.0, setting.1].map(CString::new);
            let (name, value) =
                (name.map_err(|e| e.to_string())?, value.map_err(|e| e.to_string())?);
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
