//! Memory of a program with the library preloaded.

use anyhow::Result;
use urom_tests::c::Source;

use crate::{count, preloaded, run, well};

fn source() -> Source {
    Source::new("emulated_memory.c").flag("-D_GNU_SOURCE").flag("-pthread")
}

fn passes(test: &str) -> Result<()> {
    let log = well(&preloaded(&source(), &[test])?)?;
    assert_eq!(log, "", "it has nothing to say in a program without UCX");
    Ok(())
}

macro_rules! passes {
    ($($name:ident: $test:literal;)*) => {
        $(
            #[test]
            fn $name() -> Result<()> {
                passes($test)
            }
        )*
    };
}

passes! {
    blocks_from_the_threshold_on_are_shared_and_aligned: "sizes";
    sizes_that_cannot_be_are_refused_as_by_the_c_library: "wrong-sizes";
    blocks_keep_their_content_across_the_threshold: "realloc";
    calloc_gives_zeros: "zero";
    threads_have_blocks_of_their_own: "threads";
    freed_memory_is_given_back: "given-back";
    an_exhausted_arena_leaves_the_request_to_the_c_library: "exhausted";
    the_descriptor_is_sealed_closed_on_exec_and_out_of_the_way: "descriptor";
    a_program_that_closes_all_descriptors_keeps_its_memory: "closed";
    a_forked_child_has_a_copy: "fork";
    a_fork_takes_time_in_proportion_to_the_memory_and_not_to_its_blocks: "fork-blocks";
    programs_with_threads_fork: "fork-threads";
    a_child_that_was_forked_by_the_bare_system_call_does_no_harm: "bare-fork";
    children_that_exec_have_an_arena_of_their_own: "exec";
}

#[test]
fn blocks_that_malloc_did_not_return_end_the_program() -> Result<()> {
    for wrong in ["inside", "unaligned", "twice"] {
        let output = run(&preloaded(&source(), &["damage", wrong])?)?;
        assert!(!output.status.success(), "{wrong}");
        assert_eq!(count(&output.stderr, "an address that malloc() did not return"), 1, "{wrong}");
    }
    Ok(())
}

#[test]
fn limits_make_the_arena_smaller_and_end_nothing() -> Result<()> {
    for limit in ["addresses", "files"] {
        let output = run(&preloaded(&source(), &["limit", limit])?)?;
        assert_eq!(output.status.code(), Some(42), "{limit}: {}", output.stderr);
    }
    let output = run(&preloaded(&source(), &["limit", "no-files"])?)?;
    assert_eq!(output.status.code(), Some(0), "the arena is missing: {}", output.stderr);
    Ok(())
}

#[test]
fn a_variable_sets_the_threshold() -> Result<()> {
    let is_shared = |size: &str, threshold: &str| -> Result<_> {
        let host = preloaded(&source(), &["where", size])?;
        let output = run(&host.env("UROM_EMULATION_THRESHOLD", threshold))?;
        Ok((output.status.code() == Some(1), output.stderr))
    };
    for (size, threshold, expected) in
        [("100", "100", true), ("99", "100", false), ("65535", "65536", false), ("1", "1", true)]
    {
        let (shared, log) = is_shared(size, threshold)?;
        assert_eq!((shared, log.as_str()), (expected, ""), "{size} of {threshold}");
    }
    for (size, expected) in [("4095", false), ("4096", true)] {
        let (shared, log) = is_shared(size, "4k")?;
        assert_eq!(shared, expected, "{size}");
        assert_eq!(count(&log, "UROM_EMULATION_THRESHOLD=4k is not a number of bytes"), 1, "{log}");
    }
    Ok(())
}
