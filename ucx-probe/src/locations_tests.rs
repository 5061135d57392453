//! Tests of the whole search with fake trees and variables.

use std::collections::HashMap;

use super::*;
use crate::test_trees::Sample;

const THIS: &str = "x86_64-unknown-linux-gnu";
const OTHER: &str = "aarch64-unknown-linux-gnu";

/// A search for `target` on an x86_64 machine, isolated from the real system.
fn search(sample: &Sample, target: &str, variables: &[(&str, &Path)]) -> Search {
    let mut variables: HashMap<String, OsString> = variables
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.as_os_str().to_owned()))
        .collect();
    variables.entry("PKG_CONFIG".to_owned()).or_insert_with(|| sample.path("no-pkg-config").into());
    let mut search = Search::with(target, move |name| variables.get(name).cloned());
    search.foreign = target != THIS;
    search.kit = sample.path("kit");
    search.system = sample.path("system");
    search.target_directory(sample.path("project/target"))
}

fn refusal(search: &Search) -> String {
    search.find().expect_err("nothing fits").attempts().join("\n")
}

#[test]
fn the_variable_comes_before_every_other_location() {
    let sample = Sample::new();
    let named = sample.ucx("named", (1, 17), "x86_64");
    sample.ucx("project/target/ucx/1.22.0-x86_64/libucx", (1, 22), "x86_64");
    let found = search(&sample, THIS, &[("UROM_UCX_DIR", &named)]).find().expect("it is named");
    assert_eq!(found.source, Source::Variable("UROM_UCX_DIR".to_owned()));
    assert_eq!((found.version, found.rpath()), ((1, 17), Some(&*named.join("lib"))));
}

#[test]
fn the_variable_of_the_target_comes_before_the_general_one() {
    let sample = Sample::new();
    let (own, arm) = (sample.ucx("own", (1, 17), "x86_64"), sample.ucx("arm", (1, 18), "aarch64"));
    let variables = [("UROM_UCX_DIR", &*own), ("UROM_UCX_DIR_aarch64_unknown_linux_gnu", &*arm)];
    let found =
        |target| search(&sample, target, &variables).find().expect("both are named").version;
    assert_eq!((found(THIS), found(OTHER)), ((1, 17), (1, 18)));
}

#[test]
fn a_named_one_that_does_not_fit_ends_the_search() {
    let sample = Sample::new();
    sample.ucx("project/target/ucx/1.22.0-x86_64/libucx", (1, 22), "x86_64");
    let old = sample.ucx("old", (1, 15), "x86_64");
    let arm = sample.ucx("arm", (1, 22), "aarch64");
    for (named, why) in
        [(old, "is of UCX 1.15"), (arm, "is not for x86_64"), (sample.path("gone"), "No such file")]
    {
        for variable in ["UROM_UCX_DIR", "UROM_UCX_DIR_x86_64_unknown_linux_gnu"] {
            let missing = search(&sample, THIS, &[(variable, &named)]).find();
            let missing = missing.expect_err("it does not fit");
            let reason = missing.attempts().join("\n");
            assert!(
                reason.starts_with(&format!("{variable}: ")) && reason.contains(why),
                "{reason}"
            );
            // Other remedies do not help.
            let ends = [format!("{variable}=DIR"), format!("unset {variable}")];
            assert_eq!(missing.remedies().len(), ends.len(), "{missing}");
            for (remedy, end) in missing.remedies().iter().zip(ends) {
                assert!(remedy.ends_with(&end), "{remedy}");
            }
        }
    }
}

#[test]
fn a_general_variable_for_this_machine_does_not_concern_a_foreign_target() {
    let sample = Sample::new();
    let own = sample.ucx("own", (1, 22), "x86_64");
    sample.ucx("project/target/ucx/1.22.0-aarch64/libucx", (1, 22), "aarch64");
    let found =
        search(&sample, OTHER, &[("UROM_UCX_DIR", &own)]).find().expect("the build tree has one");
    assert_eq!(found.source, Source::BuildTree);
    let reason =
        refusal(&search(&sample, OTHER, &[("UROM_UCX_DIR_aarch64_unknown_linux_gnu", &own)]));
    assert!(reason.contains("is not for aarch64"), "{reason}");
}

#[test]
fn an_empty_variable_is_none_and_a_relative_one_is_refused() {
    let sample = Sample::new();
    sample.ucx("project/target/ucx/1.22.0-x86_64/libucx", (1, 22), "x86_64");
    let found =
        search(&sample, THIS, &[("UROM_UCX_DIR", Path::new(""))]).find().expect("it is not set");
    assert_eq!(found.source, Source::BuildTree);
    let reason = refusal(&search(&sample, THIS, &[("UROM_UCX_DIR", Path::new("target/ucx"))]));
    assert!(reason.contains("UROM_UCX_DIR=target/ucx is relative"), "{reason}");
}

#[test]
fn debians_directory_of_the_target_needs_no_search_path() {
    let sample = Sample::new();
    let libraries = sample.library("system/usr/lib/aarch64-linux-gnu", "aarch64");
    sample.header("system/usr/include", (1, 18));
    let found = search(&sample, OTHER, &[]).find().expect("the system has one");
    assert_eq!(found.source, Source::Multiarch);
    assert_eq!((found.directory.as_deref(), found.rpath()), (Some(&*libraries), None));
    // The architecture's own headers come first.
    sample.header("system/usr/include/aarch64-linux-gnu", (1, 13));
    let reason = refusal(&search(&sample, OTHER, &[]));
    assert!(reason.contains("is of UCX 1.13"), "{reason}");
}

#[test]
fn a_failed_search_has_a_reason_for_each_location_and_a_command_for_the_clone() {
    let sample = Sample::new();
    let missing = search(&sample, OTHER, &[]).find().expect_err("it is missing");
    assert_eq!(missing.attempts().len(), 4, "{missing}");
    let starts = [
        "neither UROM_UCX_DIR_aarch64",
        "pkg-config",
        "reading",
        "no ucx/<version>-aarch64/libucx",
    ];
    for (attempt, start) in missing.attempts().iter().zip(starts) {
        assert!(attempt.starts_with(start), "{attempt}");
    }
    assert!(!missing.to_string().contains("xtask"), "{missing}");
    fs::create_dir_all(sample.path("kit/xtask")).expect("a directory");
    let missing = search(&sample, OTHER, &[]).find().expect_err("it is missing");
    assert!(missing.to_string().contains("cargo xtask setup --target aarch64"), "{missing}");
}

#[test]
fn a_machine_without_bindings_is_refused_at_once() {
    let sample = Sample::new();
    for target in ["riscv64gc-unknown-linux-gnu", "", "i686-unknown-linux-gnu"] {
        assert!(refusal(&search(&sample, target, &[])).contains("x86_64 and aarch64"));
    }
}

#[test]
fn files_and_variables_of_the_search_are_watched() {
    let sample = Sample::new();
    let named = sample.ucx("named", (1, 22), "x86_64");
    let search = search(&sample, THIS, &[("UROM_UCX_DIR", &named)]);
    let found = search.find().expect("it is named");
    assert!(found.files.contains(&named.join("lib/libucp.so")), "{found:?}");
    let names = search.variables();
    for name in ["UROM_UCX_DIR_x86_64_unknown_linux_gnu", "TARGET_PKG_CONFIG_PATH", "PKG_CONFIG"] {
        assert!(names.contains(&name.to_owned()), "{names:?}");
    }
}

#[test]
fn a_variable_for_the_target_has_three_spellings() {
    for set in ["X_a-b-c", "X_a_b_c", "TARGET_X"] {
        let read = |target| {
            let search = Search::with(target, move |name| (name == set).then(|| name.into()));
            search.variable_of_target("X")
        };
        assert_eq!(read("a-b-c"), Some(set.into()));
        assert_eq!(read("d-e-f").is_some(), set == "TARGET_X");
    }
}

#[test]
fn the_target_directory_is_known_from_what_cargo_gives_a_build_script() {
    let of = |out: &str| crate::search::target_directory_of(Path::new(out), OTHER);
    assert_eq!(of("/w/target/debug/build/ucx-sys-1234/out"), Some("/w/target".into()));
    assert_eq!(
        of("/w/target/aarch64-unknown-linux-gnu/release/build/ucx-1/out"),
        Some("/w/target".into())
    );
    assert_eq!(of("/out"), None);
}
