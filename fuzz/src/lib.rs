//! The common part of all fuzz targets: a program around one body.

pub use libfuzzer_sys::fuzz_target;

/// Calls `$body` with each input; `$allocator` limits its memory.
#[macro_export]
macro_rules! target {
    ($body:path, $allocator:path) => {
        #[global_allocator]
        static ALLOCATOR: $allocator = $allocator;

        $crate::fuzz_target!(|input: &[u8]| $body(input));
    };
}
