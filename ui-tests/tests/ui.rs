//! Runs `pass/` and `fail/`. `TRYBUILD=overwrite` rewrites the expected errors; review them.

#[test]
fn what_is_right_compiles_and_runs() {
    trybuild::TestCases::new().pass("pass/*.rs");
}

#[test]
fn what_is_wrong_is_refused_in_these_words() {
    trybuild::TestCases::new().compile_fail("fail/*/*.rs");
}
