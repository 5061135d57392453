//! The protocols of DOCA's samples and of UCC, as their C headers have them.

use urom_abi::describe::{
    Comparison, Condition, Count, Described, Field, FieldKind, Given, Messages, Payload, Presence,
    Protocol, Sign, Struct, StructField, Term, Type, Variant,
};

use crate::holds;

const U64: Type = u64::TYPE;

/// `stride <= 0`.
const NOT_FORWARDS: Presence = Presence::When(Condition {
    text: "stride <= 0",
    compares: Some(Comparison {
        left: Term::Field("stride"),
        sign: Sign::AtMost,
        right: Term::Number(0),
    }),
});

pub(crate) const fn field(name: &'static str, kind: FieldKind, ty: Type, offset: usize) -> Field {
    Field { name, docs: "", kind, ty, offset, optional: false }
}

const fn word(name: &'static str, offset: usize) -> Field {
    field(name, FieldKind::Plain, U64, offset)
}

const fn address(name: &'static str, of: &'static str, offset: usize) -> Field {
    field(name, FieldKind::Address { of }, U64, offset)
}

const fn length(name: &'static str, of: &'static str, offset: usize) -> Field {
    field(name, FieldKind::Length { of }, U64, offset)
}

pub(crate) const fn variant(name: &'static str, tag: u64, fields: &'static [Field]) -> Variant {
    Variant { name, docs: "", tag, also: None, reply: None, fields, payloads: &[] }
}

pub(crate) const fn bytes(
    name: &'static str,
    count: Count,
    address: Option<&'static str>,
) -> Payload {
    Payload {
        name,
        docs: "",
        ty: u8::TYPE,
        count,
        address,
        presence: Presence::Always,
        constants: &[],
        optional: false,
    }
}

pub(crate) const GRAPH: Protocol = {
    const DATA: &[Field] = &[word("data", 8)];
    const LOOPBACK: Variant = variant("Loopback", 0, DATA);
    const DONE: Variant = variant("LoopbackDone", 0, DATA);
    const MESSAGES: Messages = Messages {
        name: "Command",
        docs: " What a host can ask of the graph plugin.",
        tag: U64,
        len: 16,
        union_at: 8,
        header: &[],
        variants: &[Variant { reply: Some("LoopbackDone"), ..LOOPBACK }],
    };
    Protocol {
        name: "worker_graph",
        version: 1,
        commands: MESSAGES,
        notifications: Messages { name: "Notification", variants: &[DONE], ..MESSAGES },
    }
};

#[test]
fn graph_is_that_of_the_sample() {
    holds(
        &GRAPH,
        "
        sizeof(struct worker_graph_command) == 16
        sizeof(struct worker_graph_notification) == 16
        offsetof(struct worker_graph_command, loopback.data) == 8
        offsetof(struct worker_graph_notification, loopback_done.data) == 8
        sizeof(WORKER_GRAPH_PLUGIN_NAME) == 13
        WORKER_GRAPH_PLUGIN_VERSION == 1
        WORKER_GRAPH_COMMAND_LOOPBACK == 0
        WORKER_GRAPH_NOTIFICATION_LOOPBACK_DONE == 0
        ",
    );
}

pub(crate) const SANDBOX: Protocol = {
    const fn number(name: &'static str, ty: Type, offset: usize) -> StructField {
        StructField { name, docs: "", offset, ty }
    }
    const MAP_PARAMS: Type = Type::Struct(&Struct {
        name: "MapParams",
        docs: " What to map.",
        size: 48,
        align: 8,
        fields: &[
            number("field_mask", U64, 0),
            number("address", U64, 8),
            number("length", U64, 16),
            number("flags", u32::TYPE, 24),
            number("prot", u32::TYPE, 28),
            number("memory_type", u32::TYPE, 32),
            number("reserved", u32::TYPE, 36),
            number("exported_memh_buffer", U64, 40),
        ],
    });
    const CONTEXT: Field = field("context", FieldKind::Echo, U64, 8);
    const DATA: Payload = Payload {
        presence: Presence::Registered,
        ..bytes("data", Count::Word("count"), Some("buffer"))
    };
    Protocol {
        name: "worker_sandbox",
        version: 1,
        commands: Messages {
            name: "Command",
            docs: "",
            tag: U64,
            len: 72,
            union_at: 16,
            header: &[Field { optional: true, ..CONTEXT }],
            variants: &[
                Variant {
                    reply: Some("MemMapped"),
                    payloads: &[bytes(
                        "exported",
                        Count::Word("exported_memh_buffer_len"),
                        Some("map_params.exported_memh_buffer"),
                    )],
                    ..variant(
                        "MemMap",
                        0,
                        &[
                            field("map_params", FieldKind::Plain, MAP_PARAMS, 16),
                            length("exported_memh_buffer_len", "exported", 64),
                        ],
                    )
                },
                Variant {
                    reply: Some("TagSent"),
                    payloads: &[DATA],
                    ..variant(
                        "TagSend",
                        1,
                        &[
                            word("dest", 16),
                            address("buffer", "data", 24),
                            length("count", "data", 32),
                            word("tag", 40),
                            field("memh_id", FieldKind::Selector { of: "data" }, U64, 48),
                        ],
                    )
                },
                Variant {
                    reply: Some("TagReceived"),
                    ..variant(
                        "TagRecv",
                        2,
                        &[
                            word("buffer", 16),
                            word("count", 24),
                            word("tag", 32),
                            word("tag_mask", 40),
                            word("memh_id", 48),
                        ],
                    )
                },
            ],
        },
        notifications: Messages {
            name: "Notification",
            docs: "",
            tag: U64,
            len: 48,
            union_at: 16,
            header: &[CONTEXT],
            variants: &[
                Variant { also: Some(1), ..variant("MemMapped", 0, &[word("memh_id", 16)]) },
                variant("TagSent", 1, &[field("status", FieldKind::Plain, i8::TYPE, 16)]),
                Variant {
                    payloads: &[DATA],
                    ..variant(
                        "TagReceived",
                        2,
                        &[
                            address("buffer", "data", 16),
                            length("count", "data", 24),
                            word("sender_tag", 32),
                            field("status", FieldKind::Plain, i8::TYPE, 40),
                        ],
                    )
                },
            ],
        },
    }
};

#[test]
fn sandbox_is_that_of_the_sample() {
    holds(
        &SANDBOX,
        "
        sizeof(struct worker_sandbox_command) == 72
        offsetof(struct worker_sandbox_command, context) == 8
        offsetof(struct worker_sandbox_command, mem_map.map_params.field_mask) == 16
        offsetof(struct worker_sandbox_command, mem_map.map_params.memory_type) == 48
        offsetof(struct worker_sandbox_command, mem_map.map_params.exported_memh_buffer) == 56
        offsetof(struct worker_sandbox_command, mem_map.exported_memh_buffer_len) == 64
        offsetof(struct worker_sandbox_command, tag_send.buffer) == 24
        offsetof(struct worker_sandbox_command, tag_send.memh_id) == 48
        offsetof(struct worker_sandbox_command, tag_recv.buffer) == 16
        sizeof(struct worker_sandbox_notification) == 48
        offsetof(struct worker_sandbox_notification, mem_mapped.memh_id) == 16
        offsetof(struct worker_sandbox_notification, tag_sent.status) == 16
        offsetof(struct worker_sandbox_notification, tag_received.sender_tag) == 32
        offsetof(struct worker_sandbox_notification, tag_received.status) == 40
        sizeof(struct worker_sandbox_map_params) == 48
        sizeof(((struct worker_sandbox_notification *)0)->tag_sent.status) == 1
        WORKER_SANDBOX_NOTIFICATION_TAG_RECEIVED == 2
        ",
    );
}

/// The command whose words belong to two payloads, and the notification with one.
const RDMO: Protocol = Protocol {
    name: "worker_rdmo",
    version: 1,
    commands: Messages {
        name: "Command",
        docs: "",
        tag: U64,
        len: 56,
        union_at: 8,
        header: &[],
        variants: &[
            Variant {
                payloads: &[bytes("addr", Count::Word("addr_len"), Some("addr"))],
                ..variant(
                    "ClientInit",
                    0,
                    &[word("id", 8), address("addr", "addr", 16), length("addr_len", "addr", 24)],
                )
            },
            variant("RqDestroy", 2, &[word("rq_id", 8)]),
            Variant {
                payloads: &[
                    bytes("packed_rkey", Count::Word("packed_rkey_len"), Some("packed_rkey")),
                    bytes("packed_memh", Count::Word("packed_memh_len"), Some("packed_memh")),
                ],
                ..variant(
                    "MrReg",
                    3,
                    &[
                        word("va", 8),
                        word("len", 16),
                        address("packed_rkey", "packed_rkey", 24),
                        length("packed_rkey_len", "packed_rkey", 32),
                        address("packed_memh", "packed_memh", 40),
                        length("packed_memh_len", "packed_memh", 48),
                    ],
                )
            },
        ],
    },
    notifications: Messages {
        name: "Notification",
        docs: "",
        tag: U64,
        len: 24,
        union_at: 8,
        header: &[],
        variants: &[Variant {
            payloads: &[bytes("addr", Count::Word("addr_len"), Some("addr"))],
            ..variant(
                "ClientInitDone",
                0,
                &[address("addr", "addr", 8), length("addr_len", "addr", 16)],
            )
        }],
    },
};

#[test]
fn rdmo_is_that_of_the_application() {
    holds(
        &RDMO,
        "
        sizeof(struct worker_rdmo_command) == 56
        offsetof(struct worker_rdmo_command, client_init.addr_len) == 24
        offsetof(struct worker_rdmo_command, rq_destroy.rq_id) == 8
        offsetof(struct worker_rdmo_command, mr_reg.packed_rkey) == 24
        offsetof(struct worker_rdmo_command, mr_reg.packed_memh_len) == 48
        sizeof(struct worker_rdmo_notification) == 24
        offsetof(struct worker_rdmo_notification, client_init_done.addr_len) == 16
        ",
    );
}

/// A tag of four bytes, a header field, an opaque type that is a payload, and lengths that are
/// computed.
pub(crate) const UCC: Protocol = {
    const COLL_ARGS: Type = Type::Opaque { name: "CollArgs", size: 200, align: 8 };
    const WORKER: Field = field("dpu_worker_id", FieldKind::Plain, U64, 8);
    const CONTEXT: Variant = variant(
        "ContextCreate",
        2,
        &[
            field("start", FieldKind::Plain, i64::TYPE, 16),
            field("stride", FieldKind::Plain, i64::TYPE, 24),
            field("size", FieldKind::Plain, i64::TYPE, 32),
            word("base_va", 40),
            word("len", 48),
        ],
    );
    Protocol {
        name: "libucc_doca_urom_plugin",
        version: 1,
        commands: Messages {
            name: "Command",
            docs: "",
            tag: u32::TYPE,
            len: 64,
            union_at: 16,
            header: &[WORKER],
            variants: &[
                Variant { reply: Some("LibDestroyed"), ..variant("LibDestroy", 1, &[]) },
                Variant {
                    reply: Some("ContextCreated"),
                    payloads: &[Payload {
                        ty: i64::TYPE,
                        presence: NOT_FORWARDS,
                        ..bytes(
                            "array",
                            Count::Given(Given { text: "size", term: Some(Term::Field("size")) }),
                            None,
                        )
                    }],
                    ..CONTEXT
                },
                Variant {
                    reply: Some("CollDone"),
                    payloads: &[
                        Payload {
                            ty: COLL_ARGS,
                            ..bytes("args", Count::Fixed(1), Some("coll_args"))
                        },
                        bytes("work", Count::Word("work_buffer_size"), Some("work_buffer")),
                        Payload {
                            presence: Presence::When(Condition {
                                text: "is_vector(args)",
                                compares: None,
                            }),
                            ..bytes(
                                "counts",
                                Count::Given(Given {
                                    text: "counts_len(args, team_size)",
                                    term: None,
                                }),
                                None,
                            )
                        },
                    ],
                    ..variant(
                        "Coll",
                        5,
                        &[
                            address("coll_args", "args", 16),
                            word("team", 24),
                            field("use_xgvmi", FieldKind::Plain, i32::TYPE, 32),
                            address("work_buffer", "work", 40),
                            length("work_buffer_size", "work", 48),
                            word("team_size", 56),
                        ],
                    )
                },
            ],
        },
        notifications: Messages {
            name: "Notification",
            docs: "",
            tag: u32::TYPE,
            len: 24,
            union_at: 16,
            header: &[WORKER],
            variants: &[
                variant("LibDestroyed", 1, &[]),
                variant("ContextCreated", 2, &[word("context", 16)]),
                variant("CollDone", 5, &[field("status", FieldKind::Plain, i32::TYPE, 16)]),
            ],
        },
    }
};

#[test]
fn ucc_is_that_of_ucc() {
    holds(
        &UCC,
        "
        sizeof(struct libucc_doca_urom_plugin_command) == 64
        sizeof(((struct libucc_doca_urom_plugin_command *)0)->type) == 4
        offsetof(struct libucc_doca_urom_plugin_command, dpu_worker_id) == 8
        offsetof(struct libucc_doca_urom_plugin_command, context_create.size) == 32
        offsetof(struct libucc_doca_urom_plugin_command, coll.use_xgvmi) == 32
        offsetof(struct libucc_doca_urom_plugin_command, coll.work_buffer) == 40
        offsetof(struct libucc_doca_urom_plugin_command, coll.team_size) == 56
        sizeof(struct libucc_doca_urom_plugin_coll_args) == 200
        sizeof(struct libucc_doca_urom_plugin_notification) == 24
        offsetof(struct libucc_doca_urom_plugin_notification, coll_done.status) == 16
        ",
    );
}
