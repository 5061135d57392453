//! Runs `pass/` and `fail/`. `TRYBUILD=overwrite` rewrites the expected errors; review them.

#[test]
fn correct_definitions_compile_and_run() {
    trybuild::TestCases::new().pass("pass/*.rs");
}

#[test]
fn incorrect_definitions_are_refused_with_these_messages() {
    trybuild::TestCases::new().compile_fail("fail/*/*.rs");
}
