//! `panic = "abort"` is a profile's setting, which a case of `fail/` cannot have: so cargo builds a
//! plugin with it.

use std::path::Path;
use std::process::{Command, Output};

fn check_with_abort(package: &str) -> Output {
    Command::new(env!("CARGO"))
        .args([
            "check",
            "--frozen",
            "--quiet",
            "--color=never",
            "--config",
            "profile.dev.panic='abort'",
        ])
        .args(["--package", package, "--target-dir"])
        .arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join("panic-abort"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap()
}

#[test]
fn a_plugin_that_aborts_on_panics_is_refused_unless_that_is_allowed() {
    let refused = check_with_abort("graph-plugin");
    let stderr = String::from_utf8(refused.stderr).unwrap();
    let error = stderr.lines().find(|line| line.starts_with("error: "));
    let expected = include_str!("../fail/urom_plugin/panic_abort.stderr");
    assert!(!refused.status.success());
    assert_eq!(error, expected.lines().next(), "{stderr}");

    let allowed = check_with_abort("ui-tests-renamed");
    assert!(allowed.status.success(), "{}", String::from_utf8_lossy(&allowed.stderr));
}
