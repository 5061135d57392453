//! What the macros say of a definition is what was written by hand.

use urom_abi::describe::{
    self, Count, Described as _, Field, FieldKind, Messages, Payload, Presence, StructField, Type,
    Variant,
};
use urom_abi::protocol::Protocol as _;

use crate::holds;
use crate::known::{SANDBOX, UCC};

/// The sandbox, with every kind of word.
mod sandbox {
    use urom_abi::{Data, Described, Received, urom_command, urom_notification};

    /// What to map.
    #[repr(C)]
    #[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable, Described)]
    pub(crate) struct MapParams {
        field_mask: u64,
        address: u64,
        length: u64,
        flags: u32,
        prot: u32,
        memory_type: u32,
        reserved: u32,
        exported_memh_buffer: u64,
    }

    #[urom_command(plugin = "worker_sandbox", version = 1)]
    #[derive(Debug)]
    pub(crate) enum Command<'a> {
        #[urom(reply = MemMapped)]
        MemMap {
            #[urom(header, echo)]
            context: u64,
            map_params: MapParams,
            #[urom(inline, addr = map_params.exported_memh_buffer, len = exported_memh_buffer_len)]
            exported: &'a [u8],
            #[urom(word)]
            exported_memh_buffer_len: u64,
        },
        #[urom(reply = TagSent)]
        TagSend {
            #[urom(header, echo)]
            context: u64,
            dest: u64,
            #[urom(word)]
            buffer: u64,
            #[urom(inline, addr = buffer, len = count, unless = memh_id)]
            data: Data<'a>,
            #[urom(word)]
            count: u64,
            tag: u64,
            #[urom(word)]
            memh_id: u64,
        },
        #[urom(reply = TagReceived)]
        TagRecv {
            #[urom(header, echo)]
            context: u64,
            buffer: u64,
            count: u64,
            tag: u64,
            tag_mask: u64,
            memh_id: u64,
        },
    }

    #[urom_notification]
    #[derive(Debug)]
    pub(crate) enum Notification {
        #[urom(also = 1)]
        MemMapped {
            #[urom(header, echo)]
            context: u64,
            memh_id: u64,
        },
        TagSent {
            #[urom(header, echo)]
            context: u64,
            status: i8,
        },
        TagReceived {
            #[urom(header, echo)]
            context: u64,
            #[urom(word)]
            buffer: u64,
            #[urom(inline, addr = buffer, len = count)]
            data: Received,
            #[urom(word)]
            count: u64,
            sender_tag: u64,
            status: i8,
        },
    }
}

#[test]
fn the_sandbox_is_described_as_by_hand() {
    let derived = sandbox::Protocol::DESCRIPTION;
    assert_eq!(derived.commands, SANDBOX.commands);
    assert_eq!(derived.notifications, SANDBOX.notifications);
    assert_eq!(*derived, SANDBOX);
}

/// UCC, with an opaque type, literal lengths and conditions.
mod ucc {
    use urom_abi::{Elements, urom_command, urom_notification};

    #[repr(C)]
    #[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
    pub(crate) struct CollArgs([u64; 25]);

    fn is_vector(args: Elements<'_, CollArgs>) -> bool {
        args.get(0).is_some_and(|args| args.0[0] != 0)
    }

    fn counts_len(args: Elements<'_, CollArgs>, team_size: u64) -> Option<u64> {
        args.get(0)?.0[1].checked_mul(team_size)
    }

    #[urom_command(plugin = "libucc_doca_urom_plugin", version = 1, tag = u32)]
    #[derive(Debug)]
    pub(crate) enum Command<'a> {
        #[urom(tag = 1, reply = LibDestroyed)]
        LibDestroy {
            #[urom(header)]
            dpu_worker_id: u64,
        },
        #[urom(tag = 2, reply = ContextCreated)]
        ContextCreate {
            #[urom(header)]
            dpu_worker_id: u64,
            start: i64,
            stride: i64,
            size: i64,
            #[urom(inline, addr = none, len = size, when = stride <= 0)]
            array: Option<Elements<'a, i64>>,
            base_va: u64,
            len: u64,
        },
        #[urom(tag = 5, reply = CollDone)]
        Coll {
            #[urom(header)]
            dpu_worker_id: u64,
            #[urom(word)]
            coll_args: u64,
            #[urom(inline, addr = coll_args, len = 1)]
            args: Elements<'a, CollArgs>,
            team: u64,
            use_xgvmi: i32,
            #[urom(word)]
            work_buffer: u64,
            #[urom(inline, addr = work_buffer, len = work_buffer_size)]
            work: &'a [u8],
            #[urom(word)]
            work_buffer_size: u64,
            team_size: u64,
            #[urom(inline, addr = none, len = counts_len(args, team_size), when = is_vector(args))]
            counts: Option<&'a [u8]>,
        },
    }

    #[urom_notification(tag = u32)]
    #[derive(Debug)]
    pub(crate) enum Notification {
        #[urom(tag = 1)]
        LibDestroyed {
            #[urom(header)]
            dpu_worker_id: u64,
        },
        #[urom(tag = 2)]
        ContextCreated {
            #[urom(header)]
            dpu_worker_id: u64,
            context: u64,
        },
        #[urom(tag = 5)]
        CollDone {
            #[urom(header)]
            dpu_worker_id: u64,
            status: i32,
        },
    }
}

#[test]
fn ucc_is_described_as_by_hand() {
    let derived = ucc::Protocol::DESCRIPTION;
    assert_eq!(derived.notifications, UCC.notifications);
    assert_eq!(derived.commands, UCC.commands);
    assert_eq!(*derived, UCC);
}

/// What neither of them has: words without names, and codecs.
mod rest {
    use urom_abi::{Payload, urom_command, urom_notification};

    /// Percent as a byte.
    pub(crate) mod percent {
        /// What travels.
        pub(crate) type Wire = [u16; 2];

        /// Writes.
        pub(crate) fn encode(value: &f64) -> Wire {
            [(value * 100.0) as u16, 0]
        }

        /// Reads.
        pub(crate) fn decode(wire: Wire) -> Result<f64, &'static str> {
            Ok(f64::from(wire[0]) / 100.0)
        }
    }

    /// All commands.
    ///
    /// And more.
    #[urom_command(plugin = "rest", version = 7, tag = u8)]
    #[derive(Debug)]
    pub(crate) enum Command<'a> {
        /// Asks.
        #[urom(reply = Done)]
        Ask {
            /// A payload.
            #[urom(inline)]
            data: &'a [u8],
            /// A number.
            r#type: u8,
            /// Perhaps.
            #[urom(inline)]
            maybe: Option<&'a [u8]>,
            #[urom(inline)]
            key: &'a [u8; 12],
            /// A share.
            #[urom(with = percent)]
            share: f64,
        },
    }

    #[urom_notification(tag = u16)]
    #[derive(Debug)]
    pub(crate) enum Notification {
        Done {
            #[urom(inline)]
            words: Payload<[u32; 3]>,
        },
    }
}

#[test]
fn words_without_names_are_named_after_their_payload() {
    const BYTE: Type = u8::TYPE;
    const WORD: Type = u64::TYPE;
    const fn word(name: &'static str, kind: FieldKind, offset: usize) -> Field {
        Field { name, docs: "", kind, ty: WORD, offset, optional: false }
    }
    const DATA: Payload = Payload {
        name: "data",
        docs: " A payload.",
        ty: BYTE,
        count: Count::Word("data_len"),
        address: Some("data_addr"),
        presence: Presence::Always,
        constants: &[],
        optional: false,
    };
    const ASK: Variant = Variant {
        name: "Ask",
        docs: " Asks.",
        tag: 0,
        also: None,
        reply: Some("Done"),
        fields: &[
            word("data_addr", FieldKind::Address { of: "data" }, 8),
            word("data_len", FieldKind::Length { of: "data" }, 16),
            Field {
                name: "type",
                docs: " A number.",
                kind: FieldKind::Plain,
                ty: BYTE,
                offset: 24,
                optional: false,
            },
            word("maybe_addr", FieldKind::Address { of: "maybe" }, 32),
            word("maybe_len", FieldKind::Length { of: "maybe" }, 40),
            word("key_addr", FieldKind::Address { of: "key" }, 48),
            Field {
                name: "share",
                docs: " A share.",
                kind: FieldKind::Plain,
                ty: Type::Array { of: &u16::TYPE, len: 2 },
                offset: 56,
                optional: false,
            },
        ],
        payloads: &[
            DATA,
            Payload {
                name: "maybe",
                docs: " Perhaps.",
                count: Count::Word("maybe_len"),
                address: Some("maybe_addr"),
                presence: Presence::ByAddress,
                ..DATA
            },
            Payload {
                name: "key",
                docs: "",
                count: Count::Fixed(12),
                address: Some("key_addr"),
                ..DATA
            },
        ],
    };
    const DONE: Variant = Variant {
        name: "Done",
        docs: "",
        reply: None,
        fields: &[
            word("words_addr", FieldKind::Address { of: "words" }, 8),
            word("words_len", FieldKind::Length { of: "words" }, 16),
        ],
        payloads: &[Payload {
            name: "words",
            docs: "",
            ty: Type::Array { of: &u32::TYPE, len: 3 },
            count: Count::Word("words_len"),
            address: Some("words_addr"),
            ..DATA
        }],
        ..ASK
    };
    const COMMANDS: Messages = Messages {
        name: "Command",
        docs: " All commands.\n\n And more.",
        tag: BYTE,
        len: 64,
        union_at: 8,
        header: &[],
        variants: &[ASK],
    };
    let derived = rest::Protocol::DESCRIPTION;
    assert_eq!((derived.name, derived.version), ("rest", 7));
    assert_eq!(derived.commands, COMMANDS);
    assert_eq!(
        derived.notifications,
        Messages {
            name: "Notification",
            docs: "",
            tag: u16::TYPE,
            len: 24,
            variants: &[DONE],
            ..COMMANDS
        }
    );
    holds(
        derived,
        "
        sizeof(struct rest_command) == 64
        offsetof(struct rest_command, ask.type) == 24
        offsetof(struct rest_command, ask.key_addr) == 48
        offsetof(struct rest_notification, done.words_len) == 16
        REST_PLUGIN_VERSION == 7
        ",
    );
}

#[test]
fn the_whole_description_is_there_at_compile_time() {
    const PROTOCOL: &describe::Protocol = sandbox::Protocol::DESCRIPTION;
    const FIRST: Option<StructField> = match PROTOCOL.commands.variants[0].fields[0].ty {
        Type::Struct(of) => Some(of.fields[0]),
        _ => None,
    };
    assert_eq!(FIRST.map(|field| (field.name, field.offset)), Some(("field_mask", 0)));
}
