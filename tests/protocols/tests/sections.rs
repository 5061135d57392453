//! The descriptions of these protocols as bytes, made by the compiler as for a plugin's file.

use test_protocols::{rdmo, ucc};
use urom_abi::describe::section::{self, Build, Panic};
use urom_abi::describe::{Protocol, c_header};
use urom_abi::protocol::Protocol as _;

const BUILD: Build = Build { kit: env!("CARGO_PKG_VERSION"), panic: Panic::Unwind };

static RDMO: [u8; section::len(rdmo::Protocol::DESCRIPTION, &BUILD)] =
    section::array(rdmo::Protocol::DESCRIPTION, &BUILD);
static UCC: [u8; section::len(ucc::Protocol::DESCRIPTION, &BUILD)] =
    section::array(ucc::Protocol::DESCRIPTION, &BUILD);

const ALL: [(&[u8], &Protocol); 2] =
    [(&RDMO, rdmo::Protocol::DESCRIPTION), (&UCC, ucc::Protocol::DESCRIPTION)];

#[test]
#[cfg_attr(
    miri,
    ignore = "these protocols are large; what reads descriptions runs under Miri in urom-abi"
)]
fn they_read_back_as_they_were_and_make_the_same_headers() {
    for (bytes, protocol) in ALL {
        let description = section::read(bytes).unwrap();
        assert_eq!((description.protocol, description.build), (protocol, BUILD));
        assert_eq!(c_header(description.protocol), c_header(protocol));
    }
}
