//! A command with a tag that nobody knows, and that the tag of an answer may be too narrow for.

mod protocol {
    use urom_abi::{urom_command, urom_notification};

    #[urom_command(plugin = "p", version = 1, tag = u16)]
    #[derive(Debug)]
    pub(crate) enum Command {
        #[urom(reply = Done, tag = 7)]
        Work { value: u16 },
    }

    #[urom_notification(tag = u8)]
    #[derive(Debug)]
    pub(crate) enum Notification {
        #[urom(tag = 3)]
        Done { value: u8 },
    }
}

use urom_abi::protocol::Protocol as _;

#[test]
fn an_unknown_tag_is_repeated_where_it_fits_and_0_otherwise() {
    let tag_of = |command: &[u8]| protocol::Protocol::refusal(command).unwrap().payload()[0];
    for (tag, want) in [(7, 3), (9, 9), (255, 255), (256, 0), (259, 0), (u16::MAX, 0)] {
        let [low, high] = u16::to_le_bytes(tag);
        assert_eq!(tag_of(&[low, high, 0, 0]), want, "{tag}");
        assert_eq!(tag_of(&[low, high]), want, "{tag}, cut");
    }
    assert_eq!(tag_of(&[9]), 0);
}
