//! Protocols with every kind of word and condition.

use urom_abi::describe::{
    Comparison, Condition, Count, Field, FieldKind, Given, Payload, Presence, Protocol, Sign, Term,
    Type, Variant,
};
use urom_abi::protocol::Protocol as _;

use crate::holds;

pub(crate) const fn field(name: &'static str, kind: FieldKind, ty: Type, offset: usize) -> Field {
    Field { name, docs: "", kind, ty, offset, optional: false }
}

pub(crate) const fn variant(name: &'static str, tag: u64, fields: &'static [Field]) -> Variant {
    Variant { name, docs: "", tag, also: None, reply: None, fields, payloads: &[] }
}

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

pub(crate) const SANDBOX: Protocol = *sandbox::Protocol::DESCRIPTION;

#[test]
fn members_have_the_names_and_offsets_of_the_definition() {
    holds(
        &SANDBOX,
        "
        offsetof(struct worker_sandbox_command, context) == 8
        offsetof(struct worker_sandbox_command, mem_map.map_params.memory_type) == 48
        offsetof(struct worker_sandbox_command, tag_send.memh_id) == 48
        sizeof(struct worker_sandbox_map_params) == 48
        sizeof(((struct worker_sandbox_notification *)0)->tag_sent.status) == 1
        WORKER_SANDBOX_NOTIFICATION_TAG_RECEIVED == 2
        sizeof(WORKER_SANDBOX_PLUGIN_NAME) == 15
        ",
    );
}

#[test]
fn registered_memory_and_echoes_are_described() {
    let [_, send, _] = SANDBOX.commands.variants else { panic!("{SANDBOX:?}") };
    let memory = send.fields.last().map(|field| field.kind);
    assert_eq!(memory, Some(FieldKind::Selector { of: "data" }));
    let presence = |variant: &Variant| variant.payloads[0].presence;
    assert_eq!(presence(send), Presence::Registered);
    assert_eq!(presence(&SANDBOX.notifications.variants[2]), Presence::Registered);
    let [context] = SANDBOX.commands.header else { panic!("{SANDBOX:?}") };
    assert_eq!((context.kind, context.optional), (FieldKind::Echo, true));
    let also = SANDBOX.notifications.variants.iter().map(|variant| variant.also);
    assert!(also.eq([Some(1), None, None]));
}

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

    #[urom_command(plugin = "ucc", version = 1, tag = u32)]
    #[derive(Debug)]
    pub(crate) enum Command<'a> {
        #[urom(reply = CollDone)]
        Coll {
            #[urom(word)]
            coll_args: u64,
            #[urom(inline, addr = coll_args, len = 1)]
            args: Elements<'a, CollArgs>,
            stride: i64,
            size: i64,
            #[urom(inline, addr = none, len = size, when = stride <= 0)]
            array: Option<Elements<'a, i64>>,
            team_size: u64,
            #[urom(inline, addr = none, len = counts_len(args, team_size), when = is_vector(args))]
            counts: Option<&'a [u8]>,
        },
    }

    #[urom_notification(tag = u32)]
    #[derive(Debug)]
    pub(crate) enum Notification {
        CollDone { status: i32 },
    }
}

pub(crate) const UCC: Protocol = *ucc::Protocol::DESCRIPTION;

#[test]
fn expressions_are_described_with_their_structure() {
    let payload = |at: usize| UCC.commands.variants[0].payloads[at];
    let Payload { count, presence, address, .. } = payload(1);
    assert_eq!(count, Count::Given(Given { text: "size", term: Some(Term::Field("size")) }));
    let (left, right) = (Term::Field("stride"), Term::Number(0));
    let compares = Some(Comparison { left, sign: Sign::AtMost, right });
    assert_eq!(presence, Presence::When(Condition { text: "stride <= 0", compares }));
    assert_eq!(address, None);
    let Payload { count, ty, .. } = payload(0);
    assert_eq!(count, Count::Fixed(1));
    assert_eq!(ty, Type::Opaque { name: "CollArgs", size: 200, align: 8 });
    // Complex conditions and lengths are described only by their text.
    let Payload { count, presence, .. } = payload(2);
    let text = "counts_len(args, team_size)";
    assert_eq!(count, Count::Given(Given { text, term: None }));
    let condition = Condition { text: "is_vector(args)", compares: None };
    assert_eq!(presence, Presence::When(condition));
}
