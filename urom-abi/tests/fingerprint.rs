//! Fingerprints are equal for equal bytes; otherwise the first difference is reported.

use urom_abi::describe::section::{self, Build, Panic};
use urom_abi::describe::{Constant, Messages, Protocol, Type, Variant};
use urom_abi::protocol::Protocol as _;

macro_rules! described {
    ($($item:item)*) => {{
        mod definition {
            #![allow(dead_code, unused_imports, reason = "a description uses no field")]
            use urom_abi::bytemuck::{Pod, Zeroable};
            use urom_abi::{Described, Elements, urom_command, urom_notification};

            $($item)*
        }
        definition::Protocol::DESCRIPTION
    }};
}

macro_rules! tiles {
    (tile $tile:item) => {
        tiles! {
            $tile
            #[urom_command(plugin = "worker_tiles", version = 1)]
            #[derive(Debug)]
            pub(crate) enum Command<'a> {
                #[urom(reply = Done)]
                Put {
                    #[urom(echo)] context: u64,
                    tile: Tile,
                    #[urom(inline)] data: Elements<'a, Tile>,
                },
            }
        }
    };
    (command $command:item) => {
        tiles! {
            #[repr(C)]
            #[derive(Clone, Copy, Debug, Pod, Zeroable, Described)]
            #[bytemuck(crate = "urom_abi::bytemuck")]
            pub(crate) struct Tile { at: [u32; 2], weight: f64 }
            $command
        }
    };
    ($tile:item $command:item) => {
        described! {
            $tile
            $command
            #[urom_notification]
            #[derive(Debug)]
            pub(crate) enum Notification { Done { #[urom(echo)] context: u64, sum: f64 } }
        }
    };
}

fn tiles() -> &'static Protocol {
    tiles! {
        tile
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Pod, Zeroable, Described)]
        #[bytemuck(crate = "urom_abi::bytemuck")]
        pub(crate) struct Tile { at: [u32; 2], weight: f64 }
    }
}

#[test]
fn names_of_lifetimes_documentation_and_what_may_be_left_out_do_not_count() {
    let other = tiles! {
        command
        #[urom_command(plugin = "worker_tiles", version = 1)]
        #[derive(Debug)]
        /// What is asked.
        pub(crate) enum Command<'long> {
            /// Puts a tile.
            #[urom(reply = Done)]
            Put {
                #[urom(echo)] context: u64,
                /// Which.
                #[urom(optional)] tile: Tile,
                #[urom(inline)] data: Elements<'long, Tile>,
            },
        }
    };
    assert_eq!(tiles().difference(other), None);
    assert_eq!(tiles().fingerprint(), other.fingerprint());
}

fn assert_differ(host: &Protocol, plugin: &Protocol, text: &str) {
    assert_eq!(host.difference(plugin).as_deref(), Some(text));
    assert_ne!(host.fingerprint(), plugin.fingerprint(), "{text}");
}

#[test]
fn the_layout_of_a_payloads_elements_counts() {
    let other = tiles! {
        tile
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Pod, Zeroable, Described)]
        #[bytemuck(crate = "urom_abi::bytemuck")]
        pub(crate) struct Tile { at: [i32; 2], weight: f64 }
    };
    let text = "`Put.tile.at` is [u32; 2] (byte 0) at the host, [i32; 2] (byte 0) at the plugin";
    assert_differ(tiles(), other, text);
    let other = tiles! {
        command
        #[urom_command(plugin = "worker_tiles", version = 1)]
        #[derive(Debug)]
        pub(crate) enum Command<'a> {
            #[urom(reply = Done)]
            Put {
                #[urom(echo)] context: u64,
                tile: Tile,
                #[urom(inline)] data: Elements<'a, u64>,
            },
        }
    };
    let text = "`Put.data` is a payload of Tile (length in `data_len`, address in `data_addr`) \
                at the host, a payload of u64 (length in `data_len`, address in `data_addr`) \
                at the plugin";
    assert_differ(tiles(), other, text);
}

#[test]
fn the_length_of_a_fixed_payload_counts() {
    macro_rules! fixed {
        ($len:literal) => {
            tiles! {
                command
                #[urom_command(plugin = "worker_tiles", version = 1)]
                #[derive(Debug)]
                pub(crate) enum Command<'a> {
                    #[urom(reply = Done)]
                    Put { #[urom(echo)] context: u64, #[urom(inline)] data: &'a [u8; $len] },
                }
            }
        };
    }
    let text = "`Put.data` is a payload of 4 u8 (address in `data_addr`) at the host, \
                a payload of 5 u8 (address in `data_addr`) at the plugin";
    assert_differ(fixed!(4), fixed!(5), text);
}

#[test]
fn a_structure_without_a_description_counts_by_name_size_and_alignment() {
    macro_rules! opaque {
        ($weight:ty) => {
            tiles! {
                tile
                #[repr(C)]
                #[derive(Clone, Copy, Debug, Pod, Zeroable)]
                #[bytemuck(crate = "urom_abi::bytemuck")]
                pub(crate) struct Tile { at: [u32; 2], weight: $weight }
            }
        };
    }
    assert_eq!(opaque!(f64).fingerprint(), opaque!(u64).fingerprint());
    let text = "the size of `Put.tile` is 16 bytes (alignment 8) at the host, \
                24 bytes (alignment 8) at the plugin";
    assert_differ(opaque!(f64), opaque!([u64; 2]), text);
    let text = "the host has `Put.tile.at`, which is [u32; 2] (byte 0), and the plugin does not";
    assert_differ(tiles(), opaque!(f64), text);
}

#[test]
fn a_field_of_another_type_name_offset_or_meaning_is_named() {
    macro_rules! answer {
        ($($answer:tt)*) => {
            described! {
                #[urom_command(plugin = "worker_tiles", version = 1)]
                #[derive(Debug)]
                pub(crate) enum Command { #[urom(reply = Done)] Put { #[urom(echo)] context: u64 } }
                #[urom_notification]
                #[derive(Debug)]
                pub(crate) enum Notification { Done { $($answer)* } }
            }
        };
    }
    let host = answer!(#[urom(echo)] context: u64, sum: f64);
    assert_differ(
        host,
        answer!(#[urom(echo)] context: u64, sum: u64),
        "`Done.sum` is f64 (byte 16) at the host, u64 (byte 16) at the plugin",
    );
    assert_differ(
        host,
        answer!(sum: f64, #[urom(echo)] context: u64),
        "the host has `Done.context`, which is u64 (byte 8, echoed), \
         where the plugin has `Done.sum`, which is f64 (byte 8)",
    );
    assert_differ(
        host,
        answer!(#[urom(echo)] context: u64, sum: f64, count: u64),
        "the plugin has `Done.count`, which is u64 (byte 24), and the host does not",
    );
}

#[test]
fn values_widths_and_names_of_enums_count() {
    macro_rules! rounding {
        ($repr:ident { $($values:tt)* }) => {
            described! {
                #[repr($repr)]
                #[derive(Clone, Copy, Debug, zerocopy::TryFromBytes, zerocopy::IntoBytes, zerocopy::Immutable, Described)]
                pub(crate) enum Rounding { $($values)* }
                #[urom_command(plugin = "worker_tiles", version = 1)]
                #[derive(Debug)]
                pub(crate) enum Command { #[urom(reply = Done)] Put { how: Rounding } }
                #[urom_notification]
                #[derive(Debug)]
                pub(crate) enum Notification { Done }
            }
        };
    }
    let host = rounding!(u32 { Floor, Ceil });
    let text = "value 0 of `Rounding` is `Floor` at the host, `Ceil` at the plugin";
    assert_differ(host, rounding!(u32 { Ceil, Floor }), text);
    let text = "value 1 of `Rounding` is `Ceil` at the host, `Up` at the plugin";
    assert_differ(host, rounding!(u32 { Floor, Up }), text);
    let text = "the host has value 1 of `Rounding`, which is `Ceil`, \
                where the plugin has value 2 of `Rounding`, which is `Ceil`";
    assert_differ(host, rounding!(u32 { Floor, Ceil = 2 }), text);
    let text = "the plugin has value 2 of `Rounding`, which is `Zero`, and the host does not";
    assert_differ(host, rounding!(u32 { Floor, Ceil, Zero }), text);
    let text = "the integer type of `Put.how` is u32 at the host, i32 at the plugin";
    assert_differ(host, rounding!(i32 { Floor, Ceil }), text);
}

#[test]
fn differences_of_a_protocol_and_its_messages_are_sentences() {
    macro_rules! protocol {
        ($name:literal, $version:literal, $tag:ident, $number:literal, $reply:ident) => {
            described! {
                #[urom_command(plugin = $name, version = $version, tag = $tag)]
                #[derive(Debug)]
                pub(crate) enum Command { #[urom(reply = $reply, tag = $number)] Put }
                #[urom_notification]
                #[derive(Debug)]
                pub(crate) enum Notification { Done, Ended }
            }
        };
    }
    let host = protocol!("worker_a", 1, u64, 3, Done);
    let cases = [
        (
            protocol!("worker_b", 1, u64, 3, Done),
            "the plugin's name is `worker_a` at the host, `worker_b` at the plugin",
        ),
        (protocol!("worker_a", 2, u64, 3, Done), "`version` is 1 at the host, 2 at the plugin"),
        (
            protocol!("worker_a", 1, u32, 3, Done),
            "the tag of commands is u64 at the host, u32 at the plugin",
        ),
        (
            protocol!("worker_a", 1, u64, 4, Ended),
            "`Put` is a command with tag 3 and answer `Done` at the host, \
             a command with tag 4 and answer `Ended` at the plugin",
        ),
    ];
    for (plugin, text) in cases {
        assert_differ(host, plugin, text);
    }
}

#[test]
fn values_of_constants_in_lengths_and_conditions_count_with_their_names() {
    macro_rules! keys {
        ($ty:ident, $key:expr, $kind:expr, $name:expr) => {
            described! {
                pub(crate) mod limits {
                    pub(crate) const KEY: $ty = $key;
                    pub(crate) const NAME: &str = $name;
                }
                const KIND: i8 = $kind;
                fn is(kind: i8, of: i8, _name: &str) -> bool {
                    kind == of
                }
                #[urom_command(plugin = "worker_keys", version = 1)]
                #[derive(Debug)]
                pub(crate) enum Command<'a> {
                    #[urom(reply = Done)]
                    Put {
                        kind: i8,
                        #[urom(inline, addr = none, len = limits::KEY)]
                        key: &'a [u8],
                        #[urom(inline, addr = none, len = 1, when = is(kind, KIND, limits::NAME))]
                        more: Option<&'a [u8]>,
                    },
                }
                #[urom_notification]
                #[derive(Debug)]
                pub(crate) enum Notification { Done }
            }
        };
    }
    let host = keys!(u32, 4, -1, "a");
    assert_eq!(host.fingerprint(), keys!(u32, 4, -1, "a").fingerprint());
    assert_eq!(host.fingerprint(), keys!(u64, 4, -1, "a").fingerprint(), "the value counts");
    assert_eq!(
        host.fingerprint(),
        keys!(u32, 4, -1, "b").fingerprint(),
        "a text counts by its name"
    );
    let text = "`limits::KEY` in the length of `Put.key` is 4 at the host, 8 at the plugin";
    assert_differ(host, keys!(u32, 8, -1, "a"), text);
    let text = "`KIND` in the condition of `Put.more` is -1 at the host, 3 at the plugin";
    assert_differ(host, keys!(u32, 4, 3, "a"), text);
    // The following memory is never freed, which Miri reports as a leak.
    if cfg!(miri) {
        return;
    }
    let text = "`limits::KEY` in the length of `Put.key` is 4 at the host, no number at the plugin";
    let protocol = keys!(u32, 4, -1, "a");
    let mut payloads = protocol.commands.variants[0].payloads.to_vec();
    let unknown = [Constant { value: None, ..payloads[0].constants[0] }];
    payloads[0].constants = Box::leak(Box::new(unknown));
    let variants = vec![Variant { payloads: payloads.leak(), ..protocol.commands.variants[0] }];
    let commands = Messages { variants: variants.leak(), ..protocol.commands };
    assert_differ(host, &Protocol { commands, ..*protocol }, text);
}

#[test]
fn a_command_that_the_host_lacks_is_named_though_a_notification_of_its_has_the_name() {
    macro_rules! vals {
        ({ $($command:tt)* } { $($notification:tt)* }) => {
            described! {
                #[urom_command(plugin = "worker_vals", version = 1, tag = u8)]
                #[derive(Debug)]
                pub(crate) enum Command { #[urom(reply = Done)] Get, $($command)* }
                #[urom_notification]
                #[derive(Debug)]
                pub(crate) enum Notification { Done, $($notification)* }
            }
        };
    }
    let text = "the plugin has `Vals`, which is a command with tag 1 and answer `Done`, and the host does not";
    for host in [vals!({} {}), vals!({} { Vals })] {
        assert_differ(host, vals!({ #[urom(reply = Done)] Vals } {}), text);
    }
}

/// Fingerprint and difference traverse descriptions separately, but must agree.
#[test]
fn for_every_changed_byte_of_a_description_fingerprint_and_difference_agree() {
    let build = Build { kit: "1", panic: Panic::Unwind };
    let host = tiles();
    let bytes = section::bytes(host, &build, true);
    let mut differ = 0;
    let step = if cfg!(miri) { 97 } else { 1 };
    for at in (0..bytes.len()).step_by(step) {
        for change in [1, 0x20, 0x80] {
            let mut changed = bytes.clone();
            changed[at] ^= change;
            let Ok(plugin) = section::read(&changed) else { continue };
            let is_same = host.fingerprint() == plugin.protocol.fingerprint();
            let difference = host.difference(plugin.protocol);
            assert_eq!(is_same, difference.is_none(), "byte {at}: {difference:?}");
            differ += usize::from(!is_same);
        }
    }
    assert!(differ > bytes.len() / step / 3, "{differ} of {} bytes", bytes.len());
}

#[test]
fn a_name_that_a_file_made_up_cannot_write_to_a_terminal() {
    const WORD: Type = Type::Opaque { name: "\u{1b}[2J", size: 8, align: 8 };
    let host = tiles();
    let mut commands = host.commands;
    commands.tag = WORD;
    let text = host.difference(&Protocol { commands, ..*host });
    let text = text.expect("the tags differ");
    assert!(text.contains("\\u{1b}[2J") && !text.contains('\u{1b}'), "{text}");
}
