//! The C headers of protocols, read by C and C++ compilers.
//!
//! A header asserts all its own sizes and offsets, so that it compiles at all says that they are
//! those of the description. What the numbers should be is stated here a second time, as facts
//! about the C structures.

// Miri runs no compilers.
#![cfg(not(miri))]

mod derived;
mod known;
mod odd;
mod text;
mod values;

use std::path::Path;

use c_interface::Language;
use urom_abi::describe::{Protocol, c_header};

/// Writes the header of `protocol`, and compiles `code` behind it in every language.
fn check(protocol: &Protocol, code: &str) -> Result<(), String> {
    let header = c_header(protocol);
    assert_eq!(header, c_header(protocol), "the same protocol makes the same header");
    for &language in Language::ALL {
        // Twice, for the guard.
        let assert = "#ifndef __cplusplus\n#define static_assert _Static_assert\n#endif\n";
        c_interface::check(
            language,
            Path::new("."),
            &format!("{header}\n{header}\n{assert}{code}"),
        )
        .map_err(|complaints| format!("{language:?}:\n{complaints}\n{header}"))?;
    }
    Ok(())
}

/// Asserts that the header compiles, and that each of `facts` holds behind it.
#[track_caller]
fn holds(protocol: &Protocol, facts: &str) {
    let facts = facts.lines().map(str::trim).filter(|fact| !fact.is_empty());
    let code =
        facts.map(|fact| format!("static_assert({fact}, \"{}\");\n", fact.replace('"', "'")));
    if let Err(complaints) = check(protocol, &code.collect::<String>()) {
        panic!("{complaints}");
    }
}
