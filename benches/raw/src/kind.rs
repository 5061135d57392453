//! The features and settings of a peer's UCX.

use std::ffi::CString;
use std::ptr;

use anyhow::Result;
use bench_protocol::Kind;
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

/// Initializes UCX with the features and settings of a kind.
pub(crate) fn context(kind: Kind) -> Result<sys::ucp_context_h> {
    // SAFETY: a C structure of integers and pointers, for which zero is a value.
    let mut params: sys::ucp_params_t = unsafe { std::mem::zeroed() };
    let tags = if kind.tags { sys::UCP_FEATURE_TAG } else { 0 };
    let wakeup = if kind.sleeps { sys::UCP_FEATURE_WAKEUP } else { 0 };
    params.field_mask = u64::from(sys::UCP_PARAM_FIELD_FEATURES);
    params.features = u64::from(sys::UCP_FEATURE_AM | tags | wakeup);
    let config = kind.same_settings.then(Config::with_settings).transpose()?;
    let config = config.as_ref().map_or(ptr::null_mut(), |config| config.0);
    let mut context = ptr::null_mut();
    // SAFETY: the parameters say which field is set; a null configuration is the environment's, and
    // another is live.
    check("ucp_init", unsafe { sys::ucp_init(&params, config, &mut context) })?;
    Ok(context)
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
