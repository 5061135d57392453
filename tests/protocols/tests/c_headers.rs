//! Compiles the C headers of these protocols. A header asserts structure sizes and member offsets;
//! `bytes` compares the same definitions with C's bytes.

use std::path::Path;

use c_interface::Language;
use test_protocols::ucc;
use urom_abi::describe::c_header;
use urom_abi::protocol::Protocol as _;

#[test]
#[cfg_attr(miri, ignore = "compilers are other processes")]
fn every_size_and_offset_is_that_of_the_description() {
    for protocol in [rdmo_protocol::Protocol::DESCRIPTION, ucc::Protocol::DESCRIPTION] {
        let header = c_header(protocol);
        let fields = |variants: &[urom_abi::describe::Variant]| {
            variants.iter().map(|variant| variant.fields.len()).sum::<usize>()
        };
        let members = fields(protocol.commands.variants) + fields(protocol.notifications.variants);
        assert!(header.matches("offsetof(struct ").count() >= members, "{header}");
        for &language in Language::ALL {
            if let Err(complaints) = c_interface::check(language, Path::new("."), &header) {
                panic!("{language:?}:\n{complaints}\n{header}");
            }
        }
    }
}

#[test]
fn payloads_are_described_in_comments() {
    let header = c_header(ucc::Protocol::DESCRIPTION);
    for payload in [
        "1. `coll_args`: 1 element of `struct libucc_doca_urom_plugin_coll_args`;",
        "their address word is `coll_args_addr`.",
        "2. `work_buffer`: `work_buffer_len` bytes;",
        "their address word is `work_buffer_addr`.",
        "3. `source_counts`: `array(coll_args, team_size, COUNT_64BIT)` bytes if `carries_counts(coll_args)`, else none.",
    ] {
        assert!(header.contains(payload), "{payload} is not in\n{header}");
    }
}
