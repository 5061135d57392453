//! DOCA's logging: `doca_log`, and where its lines go. Needs no UCX.
//!
//! `libdoca_common.so` exports `doca_log` to host programs: lines go to the program's
//! [backends](backend::BACKENDS). `uromd` exports it to the plugins of its workers: lines go to
//! [the log of the process](set_process_log).
//!
//! Any thread may call everything here, before any other constructor too: nothing needs to be set
//! up.

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

/// Exports `doca_log`, `doca_log_register_source` and `doca_log_unregister_source` from the program
/// or C library in which it stands.
///
/// They are not exported by this crate itself: a Rust host that has it built in may use NVIDIA's at
/// the same time.
#[macro_export]
macro_rules! export_doca_log {
    () => {
        /// `doca_log`: logs one line. Only C can take the arguments apart, and only Rust symbols
        /// are exported: a jump.
        // SAFETY: no other symbol here has DOCA's name.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn doca_log() {
            #[cfg(target_arch = "x86_64")]
            ::core::arch::naked_asm!("jmp {}", sym $crate::urom_doca_log);
            #[cfg(target_arch = "aarch64")]
            ::core::arch::naked_asm!("b {}", sym $crate::urom_doca_log);
        }

        /// `doca_log_register_source`: gives a source of lines an id.
        // SAFETY: no other symbol here has DOCA's name.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn doca_log_register_source(
            name: *const ::core::ffi::c_char,
            source: *mut ::core::ffi::c_int,
        ) -> ::urom_abi::DocaError {
            // SAFETY: the caller's promises are the same.
            unsafe { $crate::register(name, source) }
        }

        /// `doca_log_unregister_source`: takes an id back.
        // SAFETY: no other symbol here has DOCA's name.
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn doca_log_unregister_source(source: ::core::ffi::c_int) -> ::urom_abi::DocaError {
            $crate::unregister(source)
        }
    };
}
