//! DOCA's logging: `doca_log` and where its lines go.
//!
//! | part | holds | DOCA's counterpart |
//! | --- | --- | --- |
//! | `call` | the way of one line from C into this crate | `doca_log` |
//! | `source` | ids of those who log | `doca_log_register_source`, `doca_log_unregister_source` |
//! | [`backend`] | where lines go, and up to which level | `doca_log_backend_*`, `doca_log_level_*` |
//! | `sink` | how a line gets there | - |
//! | `sdk` | what this library itself has to say | the SDK's messages |
//!
//! Two kinds of process export `doca_log`. In a host program with `libdoca_urom.so`, lines go to the program's backends. In
//! `uromd` and its workers they are lines of plugins, and go to [the process's log](crate::log::Log::install).
//!
//! Everything here may be called by any thread and before any other constructor: nothing needs to be set up.

pub mod backend;
mod call;
mod sdk;
mod sink;
mod source;

pub use call::urom_doca_log;
pub(crate) use call::{most_of_programs, write_to_programs};
pub use sdk::install as install_sdk;
pub(crate) use sdk::is_to_backends;
pub use sink::Sink;
pub use source::{register, unregister};

/// Exports `doca_log`, `doca_log_register_source` and `doca_log_unregister_source` from the program or C library in which
/// it stands.
///
/// They are not exported by this crate itself: a Rust host that has it built in may use NVIDIA's at the same time.
#[macro_export]
macro_rules! export_doca_log {
    () => {
        /// `doca_log`: logs one line. Only C can take the arguments apart, and only Rust symbols are exported: a jump.
        // SAFETY: no other symbol here has DOCA's name.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn doca_log() {
            #[cfg(target_arch = "x86_64")]
            ::core::arch::naked_asm!("jmp {}", sym $crate::doca_log::urom_doca_log);
            #[cfg(target_arch = "aarch64")]
            ::core::arch::naked_asm!("b {}", sym $crate::doca_log::urom_doca_log);
        }

        /// `doca_log_register_source`: gives a source of lines an id.
        // SAFETY: no other symbol here has DOCA's name.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn doca_log_register_source(
            name: *const ::core::ffi::c_char,
            source: *mut ::core::ffi::c_int,
        ) -> ::urom_abi::DocaError {
            // SAFETY: the caller's promises are the same.
            unsafe { $crate::doca_log::register(name, source) }
        }

        /// `doca_log_unregister_source`: takes an id back.
        // SAFETY: no other symbol here has DOCA's name.
        #[unsafe(no_mangle)]
        extern "C" fn doca_log_unregister_source(source: ::core::ffi::c_int) -> ::urom_abi::DocaError {
            $crate::doca_log::unregister(source)
        }
    };
}
