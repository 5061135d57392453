//! C headers of protocols, compiled by C and C++ compilers. A header asserts all its sizes and
//! offsets, so compiling it compares them with the description. Tests assert expected numbers.

#![cfg(not(miri))]

mod derived;
mod known;
mod odd;
mod text;
mod values;

use std::path::Path;

use c_interface::Language;
use urom_abi::describe::{Protocol, c_header};

fn check(protocol: &Protocol, code: &str) -> Result<(), String> {
    let header = c_header(protocol);
    assert_eq!(header, c_header(protocol), "the same protocol makes the same header");
    for &language in Language::ALL {
        // Twice, to test the include guard.
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

#[track_caller]
fn holds(protocol: &Protocol, facts: &str) {
    let facts = facts.lines().map(str::trim).filter(|fact| !fact.is_empty());
    let code =
        facts.map(|fact| format!("static_assert({fact}, \"{}\");\n", fact.replace('"', "'")));
    if let Err(complaints) = check(protocol, &code.collect::<String>()) {
        panic!("{complaints}");
    }
}
