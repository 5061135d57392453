//! A host with the feature `builtin` and without `embedded`, like this, contains no daemon.
#![cfg(all(feature = "builtin", not(feature = "embedded")))]

use urom_host::{DocaError, Library, Service};

#[test]
fn a_service_without_an_address_is_an_error_that_names_the_three_ways_out() {
    let builder = || Service::builder().library(Library::builtin());
    for builder in [builder(), builder().embedded(), builder().plugin_paths(["/nowhere"])] {
        let error = builder.connect_blocking().map(drop).unwrap_err();
        assert_eq!(error.code(), DocaError::NOT_SUPPORTED, "{error}");
        for part in ["the address of a daemon", "DOCA_UROM_SERVICE_FILE", "feature `embedded`"] {
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}

#[test]
fn the_program_has_the_library_s_symbols_and_none_of_the_daemon() {
    let program = std::fs::read("/proc/self/exe").unwrap();
    // A crate's name in a mangled symbol, assembled so that this file does not contain it.
    let has = |name: &str| {
        let mangled = format!("{}{name}", name.len());
        program.windows(mangled.len()).any(|bytes| bytes == mangled.as_bytes())
    };
    assert!(has("libdoca_host"));
    assert!(!has("urom_service"));
}
