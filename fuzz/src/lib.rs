//! What every fuzz target is: a program around one body.

pub use libfuzzer_sys::fuzz_target;

/// Calls `$body` with each input; `$allocator` limits the memory that it may take.
#[macro_export]
macro_rules! target {
    ($body:path, $allocator:path) => {
        #[global_allocator]
        static ALLOCATOR: $allocator = $allocator;

        $crate::fuzz_target!(|input: &[u8]| $body(input));
    };
}
