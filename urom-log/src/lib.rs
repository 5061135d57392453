//! DOCA's logging: `doca_log` and its outputs. Does not need UCX.
//!
//! `libdoca_common.so` exports `doca_log` to host programs, with the program's
//! [backends](backend::BACKENDS), and `uromd` to plugins, with [the process's
//! log](set_process_log).
//!
//! Any thread may call everything here, even before other constructors: no setup is needed.

pub mod backend;
mod budget;
mod call;
mod changes;
mod guard;
mod line;
pub mod sdk;
mod sink;
mod source;

pub use budget::{LeftOut, LineBudget};
#[doc(hidden)]
pub use call::urom_doca_log;
pub use call::{Output, set_process_log};
pub use guard::{guard, guard_or};
pub use line::{Origin, filter_of, level_of, origin_of, text_of};
pub use sink::Sink;
pub use source::{register, unregister};

/// Exports the three functions of DOCA's log from the program or C library that contains the call.
///
/// This crate does not export them itself: a Rust host may use NVIDIA's at the same time.
#[macro_export]
macro_rules! export_doca_log {
    () => {
        /// `doca_log`: a jump, because only C can read the arguments and only Rust symbols are
        /// exported.
        // SAFETY: this is the only symbol with DOCA's name.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn doca_log() {
            #[cfg(target_arch = "x86_64")]
            ::core::arch::naked_asm!("jmp {}", sym $crate::urom_doca_log);
            #[cfg(target_arch = "aarch64")]
            ::core::arch::naked_asm!("b {}", sym $crate::urom_doca_log);
        }

        /// `doca_log_register_source`: assigns an id to a source of lines.
        // SAFETY: this is the only symbol with DOCA's name.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn doca_log_register_source(
            name: *const ::core::ffi::c_char,
            source: *mut ::core::ffi::c_int,
        ) -> ::urom_abi::DocaStatus {
            // SAFETY: the caller's promises are the same.
            unsafe { $crate::register(name, source) }
        }

        /// `doca_log_unregister_source`: releases an id.
        // SAFETY: this is the only symbol with DOCA's name.
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn doca_log_unregister_source(source: ::core::ffi::c_int) -> ::urom_abi::DocaStatus {
            $crate::unregister(source)
        }
    };
}
