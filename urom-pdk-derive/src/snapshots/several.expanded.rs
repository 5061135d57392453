use urom_abi::{urom_command, urom_notification};
/// Commands of several kinds.
#[derive(Debug)]
pub(crate) enum Command<'m> {
    /// Numbers and an echo.
    TagSend {
        /// Repeated by the answer.
        context: u64,
        dest: u64,
        key: [u8; 16],
    },
    /// A structure, which only the compiler knows to be plain data.
    Move { to: Point },
    /// With expressions and a codec.
    Sum {
        color: Color,
        rows: u32,
        place: Point,
        table: Elements<'m, u16>,
        rest: Option<&'m [u8]>,
    },
}
#[cfg_attr(not(doctest), doc = " Numbers and an echo.")]
#[cfg_attr(doctest, doc = " The command `TagSend`.")]
#[derive(Debug, ::core::clone::Clone, ::core::cmp::PartialEq, ::core::marker::Copy)]
pub(crate) struct TagSend {
    #[cfg_attr(not(doctest), doc = " Repeated by the answer.")]
    #[cfg_attr(doctest, doc = " The field `context`.")]
    pub(crate) context: u64,
    /// The field `dest`.
    pub(crate) dest: u64,
    /// The field `key`.
    pub(crate) key: [u8; 16],
}
#[cfg_attr(
    not(doctest),
    doc = " A structure, which only the compiler knows to be plain data."
)]
#[cfg_attr(doctest, doc = " The command `Move`.")]
#[derive(Debug)]
pub(crate) struct Move {
    /// The field `to`.
    pub(crate) to: Point,
}
#[cfg_attr(not(doctest), doc = " With expressions and a codec.")]
#[cfg_attr(doctest, doc = " The command `Sum`.")]
#[derive(Debug)]
pub(crate) struct Sum<'m> {
    /// The field `color`.
    pub(crate) color: Color,
    /// The field `rows`.
    pub(crate) rows: u32,
    /// The field `place`.
    pub(crate) place: Point,
    /// The field `table`.
    pub(crate) table: Elements<'m, u16>,
    /// The field `rest`.
    pub(crate) rest: Option<&'m [u8]>,
}
/// The protocol of the plugin `worker_several`: its commands and notifications as one type.
#[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
pub(crate) struct Protocol;
/// What a plugin `worker_several` does: one method for each command, which ends with the notification that answers it.
///
/// `#[urom_plugin] impl Handler for YourType` fills in the side and exports the plugin. A method that fails,
/// panics or is dropped at close is answered all the same, with zeros and the fitting status.
pub(crate) trait Handler<
    AnySide: kit::abi::protocol::PluginSide
        = <Self as kit::abi::protocol::FilledIn>::Side,
>: ::core::marker::Sized + 'static {
    /// Makes the handler, when a worker opens the plugin.
    ///
    /// # Errors
    /// The worker does not start then.
    fn open(cx: &AnySide::OpenContext) -> ::core::result::Result<Self, AnySide::Error>;
    /// The plugin's own network address; it has none unless it says so.
    ///
    /// # Errors
    /// The worker reports the failure and has no address of this plugin then.
    fn address(
        &self,
    ) -> ::core::result::Result<
        kit::abi::wire::Vec<::core::primitive::u8>,
        AnySide::Error,
    > {
        ::core::result::Result::Ok(kit::abi::wire::Vec::new())
    }
    /// Advances work of the plugin's own, such as a UCX worker; returns whether anything moved.
    ///
    /// The worker has it called again and again; on every second of its turns only, while answers are ready and no
    /// command is pending, so that they leave sooner.
    fn progress(&self) -> ::core::primitive::bool {
        false
    }
    #[cfg_attr(not(doctest), doc = " Numbers and an echo.")]
    #[cfg_attr(doctest, doc = " Answers the command [`TagSend`].")]
    async fn tag_send(
        &self,
        cx: &AnySide::Context,
        cmd: TagSend,
    ) -> ::core::result::Result<answers::Done, AnySide::Error>;
    #[cfg_attr(
        not(doctest),
        doc = " A structure, which only the compiler knows to be plain data."
    )]
    #[cfg_attr(doctest, doc = " Answers the command [`Move`].")]
    async fn r#move(
        &self,
        cx: &AnySide::Context,
        cmd: Move,
    ) -> ::core::result::Result<answers::Moved, AnySide::Error>;
    #[cfg_attr(not(doctest), doc = " With expressions and a codec.")]
    #[cfg_attr(doctest, doc = " Answers the command [`Sum`].")]
    async fn sum(
        &self,
        cx: &AnySide::Context,
        cmd: Sum<'_>,
    ) -> ::core::result::Result<answers::Table, AnySide::Error>;
    #[doc(hidden)]
    fn __made_by_urom_command() -> Protocol {
        Protocol
    }
}
/// Sends commands to the plugin `worker_several`: one `task_*` method for each command.
pub(crate) struct Client<AnyHost: kit::abi::protocol::HostSide> {
    plugin: AnyHost::Plugin,
}
/// A command [`TagSend`] that is ready to be submitted.
#[must_use = "a task does nothing until it is submitted"]
pub(crate) struct TagSendTask<'task, AnyHost: kit::abi::protocol::HostSide> {
    plugin: &'task AnyHost::Plugin,
    worker: &'task AnyHost::Worker,
    command: TagSend,
    deadline: ::core::option::Option<::core::time::Duration>,
}
/// A command [`Move`] that is ready to be submitted.
#[must_use = "a task does nothing until it is submitted"]
pub(crate) struct MoveTask<'task, AnyHost: kit::abi::protocol::HostSide> {
    plugin: &'task AnyHost::Plugin,
    worker: &'task AnyHost::Worker,
    command: Move,
    deadline: ::core::option::Option<::core::time::Duration>,
}
/// A command [`Sum`] that is ready to be submitted.
#[must_use = "a task does nothing until it is submitted"]
pub(crate) struct SumTask<'task, AnyHost: kit::abi::protocol::HostSide> {
    plugin: &'task AnyHost::Plugin,
    worker: &'task AnyHost::Worker,
    command: Sum<'task>,
    deadline: ::core::option::Option<::core::time::Duration>,
}
const _: () = {
    use kit::abi::wire::NotAnyBytes as _;
    use kit::abi::wire::layout as __layout;
    const __TAG: kit::abi::wire::Field<::core::primitive::u16, 0, __LEN> = kit::abi::wire::field::<
        ::core::primitive::u16,
        0,
        __LEN,
    >();
    const __UNION: __layout::Extent = __layout::union(
        &[
            __layout::structure(&__EXTENTS_TagSend),
            __layout::structure(&__EXTENTS_Move),
            __layout::structure(&__EXTENTS_Sum),
        ],
    );
    const __PARTS: [__layout::Extent; 2usize] = [
        __layout::Extent::of::<::core::primitive::u16>(),
        __UNION,
    ];
    const __PARTS_AT: [::core::primitive::usize; 2usize] = __layout::offsets(0, __PARTS);
    const __UNION_AT: ::core::primitive::usize = __PARTS_AT[2usize - 1];
    const __LEN: ::core::primitive::usize = __layout::structure(&__PARTS).size;
    const __KNOWN: &[(&::core::primitive::str, ::core::primitive::u64)] = &[
        ("TagSend", 4u64),
        ("Move", 5u64),
        ("Sum", 6u64),
    ];
    const __EXTENTS_TagSend: [__layout::Extent; 3usize] = [
        __layout::Extent::of::<u64>(),
        __layout::Extent::of::<u64>(),
        __layout::Extent::of::<[u8; 16]>(),
    ];
    const __OFFSETS_TagSend: [::core::primitive::usize; 3usize] = __layout::offsets(
        __UNION_AT,
        __EXTENTS_TagSend,
    );
    const __AT_TagSend_context: kit::abi::wire::Field<
        u64,
        { __OFFSETS_TagSend[0usize] },
        __LEN,
    > = kit::abi::wire::field::<u64, { __OFFSETS_TagSend[0usize] }, __LEN>();
    const __AT_TagSend_dest: kit::abi::wire::Field<
        u64,
        { __OFFSETS_TagSend[1usize] },
        __LEN,
    > = kit::abi::wire::field::<u64, { __OFFSETS_TagSend[1usize] }, __LEN>();
    const __AT_TagSend_key: kit::abi::wire::Field<
        [u8; 16],
        { __OFFSETS_TagSend[2usize] },
        __LEN,
    > = kit::abi::wire::field::<[u8; 16], { __OFFSETS_TagSend[2usize] }, __LEN>();
    const __EXTENTS_Move: [__layout::Extent; 1usize] = [__layout::Extent::of::<Point>()];
    const __OFFSETS_Move: [::core::primitive::usize; 1usize] = __layout::offsets(
        __UNION_AT,
        __EXTENTS_Move,
    );
    const __AT_Move_to: kit::abi::wire::Field<
        Point,
        { __OFFSETS_Move[0usize] },
        __LEN,
        { <kit::abi::wire::AnyBytes<Point>>::ANY },
    > = kit::abi::wire::any_field::<
        Point,
        { __OFFSETS_Move[0usize] },
        __LEN,
        { <kit::abi::wire::AnyBytes<Point>>::ANY },
    >();
    const __EXTENTS_Sum: [__layout::Extent; 4usize] = [
        __layout::Extent::of::<codecs::color::Wire>(),
        __layout::Extent::of::<u32>(),
        __layout::Extent::of::<Point>(),
        __layout::Extent::of::<u8>(),
    ];
    const __OFFSETS_Sum: [::core::primitive::usize; 4usize] = __layout::offsets(
        __UNION_AT,
        __EXTENTS_Sum,
    );
    const __AT_Sum_color: kit::abi::wire::Field<
        codecs::color::Wire,
        { __OFFSETS_Sum[0usize] },
        __LEN,
        { <kit::abi::wire::AnyBytes<codecs::color::Wire>>::ANY },
    > = kit::abi::wire::any_field::<
        codecs::color::Wire,
        { __OFFSETS_Sum[0usize] },
        __LEN,
        { <kit::abi::wire::AnyBytes<codecs::color::Wire>>::ANY },
    >();
    const __AT_Sum_rows: kit::abi::wire::Field<u32, { __OFFSETS_Sum[1usize] }, __LEN> = kit::abi::wire::field::<
        u32,
        { __OFFSETS_Sum[1usize] },
        __LEN,
    >();
    const __AT_Sum_place: kit::abi::wire::Field<
        Point,
        { __OFFSETS_Sum[2usize] },
        __LEN,
        { <kit::abi::wire::AnyBytes<Point>>::ANY },
    > = kit::abi::wire::any_field::<
        Point,
        { __OFFSETS_Sum[2usize] },
        __LEN,
        { <kit::abi::wire::AnyBytes<Point>>::ANY },
    >();
    const __AT_Sum_count: kit::abi::wire::Field<u8, { __OFFSETS_Sum[3usize] }, __LEN> = kit::abi::wire::field::<
        u8,
        { __OFFSETS_Sum[3usize] },
        __LEN,
    >();
    const _: () = ::core::assert!(
        __LEN <= kit::abi::DEFAULT_MAX_MESSAGE - ::core::mem::size_of:: <
        kit::abi::plugin::WorkerCmd > (), "{}", kit::abi::wire::too_big(& [("TagSend",
        __layout::structure(& __EXTENTS_TagSend).size), ("Move", __layout::structure(&
        __EXTENTS_Move).size), ("Sum", __layout::structure(& __EXTENTS_Sum).size)],
        __LEN, ::core::mem::size_of:: < kit::abi::plugin::WorkerCmd > (),
        "a message has at most 4096 bytes by default, and every variant takes as many as the largest: send what is large as an inline payload")
        .as_str(),
    );
    const _: () = ::core::assert!(
        kit::abi::wire::element:: < u16 > () > 0,
        "`u16` has no bytes, so nothing could count such elements: use a type with at least one"
    );
    const _: () = ::core::assert!(
        kit::abi::wire::element:: < u8 > () > 0,
        "`u8` has no bytes, so nothing could count such elements: use a type with at least one"
    );
    use kit::abi::describe as __describe;
    use kit::abi::describe::NotDescribed as _;
    const __DESCRIPTION: __describe::Messages = __describe::Messages {
        name: "Command",
        docs: " Commands of several kinds.",
        tag: <::core::primitive::u16 as __describe::Described>::TYPE,
        len: __LEN,
        union_at: __UNION_AT,
        header: &[],
        variants: &[
            __describe::Variant {
                name: "TagSend",
                docs: " Numbers and an echo.",
                tag: 4u64,
                also: ::core::option::Option::None,
                reply: ::core::option::Option::Some("Done"),
                fields: &[
                    __describe::Field {
                        name: "context",
                        docs: " Repeated by the answer.",
                        kind: __describe::FieldKind::Echo,
                        ty: __describe::found_or_opaque::<
                            u64,
                        >(<__describe::Probe<u64>>::FOUND, "u64"),
                        offset: __OFFSETS_TagSend[0usize],
                        optional: true,
                    },
                    __describe::Field {
                        name: "dest",
                        docs: "",
                        kind: __describe::FieldKind::Plain,
                        ty: __describe::found_or_opaque::<
                            u64,
                        >(<__describe::Probe<u64>>::FOUND, "u64"),
                        offset: __OFFSETS_TagSend[1usize],
                        optional: false,
                    },
                    __describe::Field {
                        name: "key",
                        docs: "",
                        kind: __describe::FieldKind::Plain,
                        ty: __describe::Type::Array {
                            of: &__describe::found_or_opaque::<
                                u8,
                            >(<__describe::Probe<u8>>::FOUND, "u8"),
                            len: 16,
                        },
                        offset: __OFFSETS_TagSend[2usize],
                        optional: false,
                    },
                ],
                payloads: &[],
            },
            __describe::Variant {
                name: "Move",
                docs: " A structure, which only the compiler knows to be plain data.",
                tag: 5u64,
                also: ::core::option::Option::None,
                reply: ::core::option::Option::Some("Moved"),
                fields: &[
                    __describe::Field {
                        name: "to",
                        docs: "",
                        kind: __describe::FieldKind::Plain,
                        ty: __describe::found_or_opaque::<
                            Point,
                        >(<__describe::Probe<Point>>::FOUND, "Point"),
                        offset: __OFFSETS_Move[0usize],
                        optional: false,
                    },
                ],
                payloads: &[],
            },
            __describe::Variant {
                name: "Sum",
                docs: " With expressions and a codec.",
                tag: 6u64,
                also: ::core::option::Option::None,
                reply: ::core::option::Option::Some("Table"),
                fields: &[
                    __describe::Field {
                        name: "color",
                        docs: "",
                        kind: __describe::FieldKind::Plain,
                        ty: __describe::found_or_opaque::<
                            codecs::color::Wire,
                        >(
                            <__describe::Probe<codecs::color::Wire>>::FOUND,
                            "codecs::color::Wire",
                        ),
                        offset: __OFFSETS_Sum[0usize],
                        optional: false,
                    },
                    __describe::Field {
                        name: "rows",
                        docs: "",
                        kind: __describe::FieldKind::Plain,
                        ty: __describe::found_or_opaque::<
                            u32,
                        >(<__describe::Probe<u32>>::FOUND, "u32"),
                        offset: __OFFSETS_Sum[1usize],
                        optional: false,
                    },
                    __describe::Field {
                        name: "place",
                        docs: "",
                        kind: __describe::FieldKind::Plain,
                        ty: __describe::found_or_opaque::<
                            Point,
                        >(<__describe::Probe<Point>>::FOUND, "Point"),
                        offset: __OFFSETS_Sum[2usize],
                        optional: false,
                    },
                    __describe::Field {
                        name: "count",
                        docs: "",
                        kind: __describe::FieldKind::Length {
                            of: "rest",
                        },
                        ty: __describe::found_or_opaque::<
                            u8,
                        >(<__describe::Probe<u8>>::FOUND, "u8"),
                        offset: __OFFSETS_Sum[3usize],
                        optional: false,
                    },
                ],
                payloads: &[
                    __describe::Payload {
                        name: "table",
                        docs: "",
                        ty: __describe::found_or_opaque::<
                            u16,
                        >(<__describe::Probe<u16>>::FOUND, "u16"),
                        count: __describe::Count::Given("cells(rows, color)"),
                        address: ::core::option::Option::Some("place.x"),
                        when: ::core::option::Option::None,
                        constants: &[],
                        registered: false,
                        optional: false,
                    },
                    __describe::Payload {
                        name: "rest",
                        docs: "",
                        ty: __describe::found_or_opaque::<
                            u8,
                        >(<__describe::Probe<u8>>::FOUND, "u8"),
                        count: __describe::Count::Word("count"),
                        address: ::core::option::Option::None,
                        when: ::core::option::Option::Some("table.len() > 3"),
                        constants: &[],
                        registered: false,
                        optional: false,
                    },
                ],
            },
        ],
    };
    #[inline]
    fn __len_of_Sum_table(color: &Color, rows: u32) -> impl kit::abi::wire::Count {
        let _ = color;
        let _ = rows;
        cells(rows, color)
    }
    #[inline]
    fn __when_of_Sum_rest<'m>(table: Elements<'m, u16>) -> ::core::primitive::bool {
        let _ = table;
        table.len() > 3
    }
    const __encode_of_Sum_color: fn(&Color) -> codecs::color::Wire = |value| codecs::color::encode(
        value,
    );
    const __decode_of_Sum_color: fn(
        codecs::color::Wire,
    ) -> ::core::result::Result<Color, &'static ::core::primitive::str> = |value| codecs::color::decode(
        value,
    );
    kit::abi::__arbitrary! {
        fn __arbitrary_TagSend < 'm > (input : & mut kit::abi::arbitrary::Unstructured <
        'm >,) -> ::core::result::Result < Command < 'm >, kit::abi::arbitrary::Unfit > {
        let mut field_0 = kit::abi::arbitrary::plain(input, __AT_TagSend_context) ?; let
        mut field_1 = kit::abi::arbitrary::plain(input, __AT_TagSend_dest) ?; let mut
        field_2 = kit::abi::arbitrary::plain(input, __AT_TagSend_key) ?;
        ::core::result::Result::Ok(Command::TagSend { context : field_0, dest : field_1,
        key : field_2 }) } fn __arbitrary_Move < 'm > (input : & mut
        kit::abi::arbitrary::Unstructured < 'm >,) -> ::core::result::Result < Command <
        'm >, kit::abi::arbitrary::Unfit > { let mut field_0 =
        kit::abi::arbitrary::value(input, __AT_Move_to, const { &
        __describe::found_or_opaque:: < Point > (< __describe::Probe < Point >> ::FOUND,
        "Point") }) ?; ::core::result::Result::Ok(Command::Move { to : field_0 }) } fn
        __arbitrary_Sum < 'm > (input : & mut kit::abi::arbitrary::Unstructured < 'm >,)
        -> ::core::result::Result < Command < 'm >, kit::abi::arbitrary::Unfit > { let
        field_0 = kit::abi::arbitrary::coded(input, __AT_Sum_color, const { &
        __describe::found_or_opaque:: < codecs::color::Wire > (< __describe::Probe <
        codecs::color::Wire >> ::FOUND, "codecs::color::Wire") }, __decode_of_Sum_color)
        ?; let mut field_1 = kit::abi::arbitrary::plain(input, __AT_Sum_rows) ?; let mut
        field_2 = kit::abi::arbitrary::value(input, __AT_Sum_place, const { &
        __describe::found_or_opaque:: < Point > (< __describe::Probe < Point >> ::FOUND,
        "Point") }) ?; let is_there = true; let field_3 = kit::abi::arbitrary::borrowed::
        < Elements < 'm, u16 > > (input, is_there,
        kit::abi::arbitrary::Length::Given(__len_of_Sum_table(& field_0, field_1))) ?;
        field_2.x = kit::abi::wire::address_word("Sum", "table", & field_3) ?; let
        is_there = __when_of_Sum_rest(field_3); let field_4 =
        kit::abi::arbitrary::borrowed:: < Option < & 'm[u8] > > (input, is_there,
        kit::abi::arbitrary::Length:: < ::core::primitive::u64 > ::Short) ?;
        ::core::result::Result::Ok(Command::Sum { color : field_0, rows : field_1, place
        : field_2, table : field_3, rest : field_4 }) } #[automatically_derived] impl <
        'm > kit::abi::arbitrary::Arbitrary < 'm > for Command < 'm > { fn
        arbitrary(input : & mut kit::abi::arbitrary::Unstructured < 'm >,) ->
        kit::abi::arbitrary::Result < Self > { kit::abi::arbitrary::attempt(input, |
        input | { let chosen = kit::abi::arbitrary::choose(input, 3usize) ?; match chosen
        { 0usize => __arbitrary_TagSend(input), 1usize => __arbitrary_Move(input), 2usize
        => __arbitrary_Sum(input), _ =>
        ::core::result::Result::Err(kit::abi::arbitrary::Unfit), } }, | made | {
        kit::abi::arbitrary::can_be_written(Command::encoded_len(made), | out |
        Command::encode(made, out)) }) } } #[automatically_derived] impl < 'm >
        kit::abi::arbitrary::Arbitrary < 'm > for TagSend { fn arbitrary(input : & mut
        kit::abi::arbitrary::Unstructured < 'm >,) -> kit::abi::arbitrary::Result < Self
        > { match kit::abi::arbitrary::attempt(input, __arbitrary_TagSend, | made | {
        kit::abi::arbitrary::can_be_written(Command::encoded_len(made), | out |
        Command::encode(made, out)) }) ? { Command::TagSend { context, dest, key, .. } =>
        ::core::result::Result::Ok(TagSend { context, dest, key }), _ =>
        ::core::result::Result::Err(kit::abi::arbitrary::Error::IncorrectFormat), } } }
        #[automatically_derived] impl < 'm > kit::abi::arbitrary::Arbitrary < 'm > for
        Move { fn arbitrary(input : & mut kit::abi::arbitrary::Unstructured < 'm >,) ->
        kit::abi::arbitrary::Result < Self > { match kit::abi::arbitrary::attempt(input,
        __arbitrary_Move, | made | {
        kit::abi::arbitrary::can_be_written(Command::encoded_len(made), | out |
        Command::encode(made, out)) }) ? { Command::Move { to, .. } =>
        ::core::result::Result::Ok(Move { to }), _ =>
        ::core::result::Result::Err(kit::abi::arbitrary::Error::IncorrectFormat), } } }
        #[automatically_derived] impl < 'm > kit::abi::arbitrary::Arbitrary < 'm > for
        Sum < 'm > { fn arbitrary(input : & mut kit::abi::arbitrary::Unstructured < 'm
        >,) -> kit::abi::arbitrary::Result < Self > { match
        kit::abi::arbitrary::attempt(input, __arbitrary_Sum, | made | {
        kit::abi::arbitrary::can_be_written(Command::encoded_len(made), | out |
        Command::encode(made, out)) }) ? { Command::Sum { color, rows, place, table,
        rest, .. } => ::core::result::Result::Ok(Sum { color, rows, place, table, rest
        }), _ =>
        ::core::result::Result::Err(kit::abi::arbitrary::Error::IncorrectFormat), } } }
    }
    type __Notifications = answers::Answer;
    const __ANSWERS: &kit::abi::describe::Messages = &<answers::Answer as kit::abi::wire::Notifications>::DESCRIPTION;
    const _: () = kit::abi::wire::assert_notification(__ANSWERS, "Done");
    const _: () = kit::abi::wire::assert_notification(__ANSWERS, "Moved");
    const _: () = kit::abi::wire::assert_notification(__ANSWERS, "Table");
    const _: () = {
        let _ = Command::decode;
        let _ = Command::encode;
    };
    #[automatically_derived]
    impl<'m> Command<'m> {
        /// The size in bytes of every message without its inline payloads.
        pub(crate) const FIXED_LEN: ::core::primitive::usize = __LEN;
        /// Reads a message of any variant.
        ///
        /// # Errors
        /// Which field is wrong, and how; a tag that no variant has lists those there are.
        #[inline]
        pub(crate) fn decode(
            bytes: &'m [::core::primitive::u8],
        ) -> ::core::result::Result<Command<'m>, kit::abi::wire::DecodeError> {
            ::core::result::Result::Ok(
                match kit::abi::wire::tag::<
                    ::core::primitive::u16,
                    __LEN,
                >("Command", bytes)? {
                    4u64 => {
                        <Command<
                            'm,
                        > as ::core::convert::From<
                            TagSend,
                        >>::from(TagSend::decode(bytes)?)
                    }
                    5u64 => {
                        <Command<
                            'm,
                        > as ::core::convert::From<Move>>::from(Move::decode(bytes)?)
                    }
                    6u64 => {
                        <Command<
                            'm,
                        > as ::core::convert::From<Sum<'m>>>::from(Sum::decode(bytes)?)
                    }
                    found => {
                        ::core::result::Result::Err(
                            kit::abi::wire::unknown_tag("Command", found, __KNOWN),
                        )?
                    }
                },
            )
        }
        /// Writes the message to the start of `out` and returns how many bytes it took.
        ///
        /// # Errors
        /// `TooBig` when `out` is too short, `Mismatch` when a payload contradicts the fields that describe it;
        /// nothing is written then.
        #[inline]
        pub(crate) fn encode(
            &self,
            out: &mut [::core::primitive::u8],
        ) -> ::core::result::Result<
            ::core::primitive::usize,
            kit::abi::wire::EncodeError,
        > {
            match self {
                Command::TagSend { context: field_0, dest: field_1, key: field_2 } => {
                    __write_TagSend(out, (field_0, field_1, field_2))
                }
                Command::Move { to: field_0 } => __write_Move(out, (field_0,)),
                Command::Sum {
                    color: field_0,
                    rows: field_1,
                    place: field_2,
                    table: field_3,
                    rest: field_4,
                } => __write_Sum(out, (field_0, field_1, field_2, field_3, field_4)),
            }
        }
        /// How many bytes `encode` writes; `None` when that cannot be counted in a `usize`.
        #[inline]
        pub(crate) fn encoded_len(
            &self,
        ) -> ::core::option::Option<::core::primitive::usize> {
            match self {
                Command::TagSend { context: field_0, dest: field_1, key: field_2 } => {
                    ::core::option::Option::Some(__LEN)
                }
                Command::Move { to: field_0 } => ::core::option::Option::Some(__LEN),
                Command::Sum {
                    color: field_0,
                    rows: field_1,
                    place: field_2,
                    table: field_3,
                    rest: field_4,
                } => {
                    kit::abi::wire::total(
                        __LEN,
                        &[
                            kit::abi::wire::bytes(field_3).len(),
                            kit::abi::wire::bytes(field_4).len(),
                        ],
                    )
                }
            }
        }
    }
    const _: () = ::core::assert!(
        kit::abi::wire::echoes_all(< < answers::Done as kit::abi::wire::Answer <
        __Notifications >> ::Echo as kit::abi::wire::Echo > ::NAMES, &
        [kit::abi::wire::echo_name("context")]),
        "`answers::Done` echoes a field that `TagSend` does not: mark the command's field of the same name `#[urom(echo)]`, or remove `echo` in the notification",
    );
    #[inline(always)]
    fn __write_TagSend(
        out: &mut [::core::primitive::u8],
        (field_0, field_1, field_2): (&u64, &u64, &[u8; 16]),
    ) -> ::core::result::Result<::core::primitive::usize, kit::abi::wire::EncodeError> {
        let fixed = kit::abi::wire::room::<__LEN>("TagSend", out)?;
        __TAG.write(fixed, &4);
        __AT_TagSend_context.write(fixed, field_0);
        __AT_TagSend_dest.write(fixed, field_1);
        __AT_TagSend_key.write(fixed, field_2);
        ::core::result::Result::Ok(__LEN)
    }
    #[automatically_derived]
    impl<'m> ::core::convert::From<TagSend> for Command<'m> {
        #[inline]
        fn from(message: TagSend) -> Command<'m> {
            Command::TagSend {
                context: message.context,
                dest: message.dest,
                key: message.key,
            }
        }
    }
    #[automatically_derived]
    impl TagSend {
        /// Reads the command.
        ///
        /// # Errors
        /// Which field is wrong, and how.
        #[inline]
        pub(crate) fn decode(
            bytes: &[::core::primitive::u8],
        ) -> ::core::result::Result<TagSend, kit::abi::wire::DecodeError> {
            let fixed = kit::abi::wire::exact::<__LEN>("TagSend", bytes)?;
            kit::abi::wire::own_tag(
                "TagSend",
                __TAG.read(fixed),
                4u64,
                ::core::option::Option::None,
            )?;
            ::core::result::Result::Ok(TagSend {
                context: __AT_TagSend_context.read(fixed),
                dest: __AT_TagSend_dest.read(fixed),
                key: __AT_TagSend_key.read(fixed),
            })
        }
    }
    #[automatically_derived]
    impl kit::abi::protocol::Request for TagSend {
        type Protocol = Protocol;
        type Reply = <answers::Done as kit::abi::wire::Answer<__Notifications>>::This;
        type Kind = TagSend;
        #[inline]
        fn encoded_len(&self) -> ::core::option::Option<::core::primitive::usize> {
            ::core::option::Option::Some(__LEN)
        }
        #[inline]
        fn encode(
            &self,
            out: &mut [::core::primitive::u8],
        ) -> ::core::result::Result<
            ::core::primitive::usize,
            kit::abi::wire::EncodeError,
        > {
            __write_TagSend(out, (&self.context, &self.dest, &self.key))
        }
        #[inline]
        fn echo(
            &self,
        ) -> <answers::Done as kit::abi::wire::Answer<__Notifications>>::Echo {
            let mut __echo = <<answers::Done as kit::abi::wire::Answer<
                __Notifications,
            >>::Echo as kit::abi::wire::Echo>::zero();
            kit::abi::wire::Echoes::<
                { kit::abi::wire::echo_name("context") },
            >::set(&mut __echo, __AT_TagSend_context.copy(&self.context));
            __echo
        }
    }
    #[automatically_derived]
    impl ::core::clone::Clone for Move {
        fn clone(&self) -> Move {
            Move {
                to: __AT_Move_to.copy(&self.to),
            }
        }
    }
    const _: () = ::core::assert!(
        kit::abi::wire::echoes_all(< < answers::Moved as kit::abi::wire::Answer <
        __Notifications >> ::Echo as kit::abi::wire::Echo > ::NAMES, & []),
        "`answers::Moved` echoes a field that `Move` does not: mark the command's field of the same name `#[urom(echo)]`, or remove `echo` in the notification",
    );
    #[inline(always)]
    fn __write_Move(
        out: &mut [::core::primitive::u8],
        (field_0,): (&Point,),
    ) -> ::core::result::Result<::core::primitive::usize, kit::abi::wire::EncodeError> {
        let fixed = kit::abi::wire::room::<__LEN>("Move", out)?;
        __TAG.write(fixed, &5);
        __AT_Move_to.write(fixed, field_0);
        ::core::result::Result::Ok(__LEN)
    }
    #[automatically_derived]
    impl<'m> ::core::convert::From<Move> for Command<'m> {
        #[inline]
        fn from(message: Move) -> Command<'m> {
            Command::Move { to: message.to }
        }
    }
    #[automatically_derived]
    impl Move {
        /// Reads the command.
        ///
        /// # Errors
        /// Which field is wrong, and how.
        #[inline]
        pub(crate) fn decode(
            bytes: &[::core::primitive::u8],
        ) -> ::core::result::Result<Move, kit::abi::wire::DecodeError> {
            let fixed = kit::abi::wire::exact::<__LEN>("Move", bytes)?;
            kit::abi::wire::own_tag(
                "Move",
                __TAG.read(fixed),
                5u64,
                ::core::option::Option::None,
            )?;
            ::core::result::Result::Ok(Move {
                to: __AT_Move_to
                    .checked(
                        fixed,
                        "Move",
                        "to",
                        const {
                            &__describe::found_or_opaque::<
                                Point,
                            >(<__describe::Probe<Point>>::FOUND, "Point")
                        },
                    )?,
            })
        }
    }
    #[automatically_derived]
    impl kit::abi::protocol::Request for Move {
        type Protocol = Protocol;
        type Reply = <answers::Moved as kit::abi::wire::Answer<__Notifications>>::This;
        type Kind = Move;
        #[inline]
        fn encoded_len(&self) -> ::core::option::Option<::core::primitive::usize> {
            ::core::option::Option::Some(__LEN)
        }
        #[inline]
        fn encode(
            &self,
            out: &mut [::core::primitive::u8],
        ) -> ::core::result::Result<
            ::core::primitive::usize,
            kit::abi::wire::EncodeError,
        > {
            __write_Move(out, (&self.to,))
        }
        #[inline]
        fn echo(
            &self,
        ) -> <answers::Moved as kit::abi::wire::Answer<__Notifications>>::Echo {
            let __echo = <<answers::Moved as kit::abi::wire::Answer<
                __Notifications,
            >>::Echo as kit::abi::wire::Echo>::zero();
            __echo
        }
    }
    #[automatically_derived]
    impl<'m> ::core::clone::Clone for Sum<'m> {
        fn clone(&self) -> Sum<'m> {
            Sum {
                color: {
                    let __this = self;
                    ::core::clone::Clone::clone(&__this.color)
                },
                rows: __AT_Sum_rows.copy(&self.rows),
                place: __AT_Sum_place.copy(&self.place),
                table: {
                    let __this = self;
                    ::core::clone::Clone::clone(&__this.table)
                },
                rest: {
                    let __this = self;
                    ::core::clone::Clone::clone(&__this.rest)
                },
            }
        }
    }
    const _: () = ::core::assert!(
        kit::abi::wire::echoes_all(< < answers::Table as kit::abi::wire::Answer <
        __Notifications >> ::Echo as kit::abi::wire::Echo > ::NAMES, & []),
        "`answers::Table` echoes a field that `Sum` does not: mark the command's field of the same name `#[urom(echo)]`, or remove `echo` in the notification",
    );
    #[inline(always)]
    fn __write_Sum(
        out: &mut [::core::primitive::u8],
        (
            field_0,
            field_1,
            field_2,
            field_3,
            field_4,
        ): (&Color, &u32, &Point, &Elements<'_, u16>, &Option<&'_ [u8]>),
    ) -> ::core::result::Result<::core::primitive::usize, kit::abi::wire::EncodeError> {
        let mut copy_of_place = __AT_Sum_place.copy(field_2);
        copy_of_place.x = kit::abi::wire::address_word("Sum", "table", field_3)?;
        let word_count: u8 = kit::abi::wire::length_word("Sum", "rest", field_4)?;
        kit::abi::wire::agrees(
            "Sum",
            "table",
            field_3,
            __len_of_Sum_table(field_0, __AT_Sum_rows.copy(field_1)),
        )?;
        kit::abi::wire::agrees_when(
            "Sum",
            "rest",
            field_4,
            __when_of_Sum_rest(*field_3),
        )?;
        kit::abi::wire::message::<
            __LEN,
            _,
        >(
            "Sum",
            out,
            [kit::abi::wire::bytes(field_3), kit::abi::wire::bytes(field_4)],
            |fixed| {
                __TAG.write(fixed, &6);
                __AT_Sum_color.write(fixed, &__encode_of_Sum_color(field_0));
                __AT_Sum_rows.write(fixed, field_1);
                __AT_Sum_place.write(fixed, &copy_of_place);
                __AT_Sum_count.write(fixed, &word_count);
            },
        )
    }
    #[automatically_derived]
    impl<'m> ::core::convert::From<Sum<'m>> for Command<'m> {
        #[inline]
        fn from(message: Sum<'m>) -> Command<'m> {
            Command::Sum {
                color: message.color,
                rows: message.rows,
                place: message.place,
                table: message.table,
                rest: message.rest,
            }
        }
    }
    #[automatically_derived]
    impl<'m> Sum<'m> {
        /// Reads the command.
        ///
        /// # Errors
        /// Which field is wrong, and how.
        #[inline]
        pub(crate) fn decode(
            bytes: &'m [::core::primitive::u8],
        ) -> ::core::result::Result<Sum<'m>, kit::abi::wire::DecodeError> {
            let (fixed, mut behind) = kit::abi::wire::start::<__LEN>("Sum", bytes)?;
            kit::abi::wire::own_tag(
                "Sum",
                __TAG.read(fixed),
                6u64,
                ::core::option::Option::None,
            )?;
            let field_0 = match __decode_of_Sum_color(
                __AT_Sum_color
                    .checked(
                        fixed,
                        "Sum",
                        "color",
                        const {
                            &__describe::found_or_opaque::<
                                codecs::color::Wire,
                            >(
                                <__describe::Probe<codecs::color::Wire>>::FOUND,
                                "codecs::color::Wire",
                            )
                        },
                    )?,
            ) {
                ::core::result::Result::Ok(value) => value,
                ::core::result::Result::Err(what) => {
                    return ::core::result::Result::Err(
                        kit::abi::wire::invalid("Sum", "color", what),
                    );
                }
            };
            let field_1 = __AT_Sum_rows.read(fixed);
            let field_2 = __AT_Sum_place
                .checked(
                    fixed,
                    "Sum",
                    "place",
                    const {
                        &__describe::found_or_opaque::<
                            Point,
                        >(<__describe::Probe<Point>>::FOUND, "Point")
                    },
                )?;
            let field_3 = behind
                .take::<
                    Elements<'m, u16>,
                >("table", true, __len_of_Sum_table(&field_0, field_1))?;
            let field_4 = behind
                .take::<
                    Option<&'m [u8]>,
                >("rest", __when_of_Sum_rest(field_3), __AT_Sum_count.read(fixed))?;
            behind.end()?;
            ::core::result::Result::Ok(Sum {
                color: field_0,
                rows: field_1,
                place: field_2,
                table: field_3,
                rest: field_4,
            })
        }
    }
    #[automatically_derived]
    impl<'m> kit::abi::protocol::Request for Sum<'m> {
        type Protocol = Protocol;
        type Reply = <answers::Table as kit::abi::wire::Answer<__Notifications>>::This;
        type Kind = Sum<'static>;
        #[inline]
        fn encoded_len(&self) -> ::core::option::Option<::core::primitive::usize> {
            kit::abi::wire::total(
                __LEN,
                &[
                    kit::abi::wire::bytes(&self.table).len(),
                    kit::abi::wire::bytes(&self.rest).len(),
                ],
            )
        }
        #[inline]
        fn encode(
            &self,
            out: &mut [::core::primitive::u8],
        ) -> ::core::result::Result<
            ::core::primitive::usize,
            kit::abi::wire::EncodeError,
        > {
            __write_Sum(
                out,
                (&self.color, &self.rows, &self.place, &self.table, &self.rest),
            )
        }
        #[inline]
        fn echo(
            &self,
        ) -> <answers::Table as kit::abi::wire::Answer<__Notifications>>::Echo {
            let __echo = <<answers::Table as kit::abi::wire::Answer<
                __Notifications,
            >>::Echo as kit::abi::wire::Echo>::zero();
            __echo
        }
    }
    #[automatically_derived]
    impl kit::abi::protocol::Protocol for Protocol {
        const NAME: &'static ::core::primitive::str = "worker_several";
        const VERSION: ::core::primitive::u64 = 2u64;
        const COMMAND_LEN: ::core::primitive::usize = __LEN;
        const NOTIFICATION_LEN: ::core::primitive::usize = <answers::Answer as kit::abi::wire::Notifications>::LEN;
        const DESCRIPTION: &'static kit::abi::describe::Protocol = &kit::abi::describe::Protocol {
            name: "worker_several",
            version: 2u64,
            commands: __DESCRIPTION,
            notifications: <answers::Answer as kit::abi::wire::Notifications>::DESCRIPTION,
        };
        type Client<AnyHost: kit::abi::protocol::HostSide> = Client<AnyHost>;
        fn client<AnyHost: kit::abi::protocol::HostSide>(
            plugin: AnyHost::Plugin,
        ) -> Client<AnyHost> {
            Client { plugin }
        }
        fn refusal(
            command: &[::core::primitive::u8],
        ) -> ::core::result::Result<
            kit::abi::descriptor::NotificationDesc,
            kit::abi::wire::EncodeError,
        > {
            match kit::abi::wire::tag::<
                ::core::primitive::u16,
                __LEN,
            >("Command", command) {
                ::core::result::Result::Ok(4u64) => {
                    let __echoed = {
                        let mut __echo = <<answers::Done as kit::abi::wire::Answer<
                            __Notifications,
                        >>::Echo as kit::abi::wire::Echo>::zero();
                        kit::abi::wire::Echoes::<
                            { kit::abi::wire::echo_name("context") },
                        >::set(&mut __echo, __AT_TagSend_context.read_or_zero(command));
                        __echo
                    };
                    __echoed.refusal()
                }
                ::core::result::Result::Ok(5u64) => {
                    let __echoed = {
                        let __echo = <<answers::Moved as kit::abi::wire::Answer<
                            __Notifications,
                        >>::Echo as kit::abi::wire::Echo>::zero();
                        __echo
                    };
                    __echoed.refusal()
                }
                ::core::result::Result::Ok(6u64) => {
                    let __echoed = {
                        let __echo = <<answers::Table as kit::abi::wire::Answer<
                            __Notifications,
                        >>::Echo as kit::abi::wire::Echo>::zero();
                        __echo
                    };
                    __echoed.refusal()
                }
                ::core::result::Result::Ok(found) => {
                    <answers::Answer as kit::abi::wire::Notifications>::refusal(found)
                }
                ::core::result::Result::Err(_) => {
                    <answers::Answer as kit::abi::wire::Notifications>::refusal(0)
                }
            }
        }
    }
    #[automatically_derived]
    impl<AnySide, AnyHandler> kit::abi::protocol::Serve<AnySide, AnyHandler> for Protocol
    where
        AnySide: kit::abi::protocol::PluginSide,
        AnyHandler: Handler<AnySide>,
    {
        fn open(
            cx: &AnySide::OpenContext,
        ) -> ::core::result::Result<AnyHandler, AnySide::Error> {
            <AnyHandler as Handler<AnySide>>::open(cx)
        }
        fn address(
            handler: &AnyHandler,
        ) -> ::core::result::Result<
            kit::abi::wire::Vec<::core::primitive::u8>,
            AnySide::Error,
        > {
            <AnyHandler as Handler<AnySide>>::address(handler)
        }
        fn progress(handler: &AnyHandler) -> ::core::primitive::bool {
            <AnyHandler as Handler<AnySide>>::progress(handler)
        }
        async fn serve<'command>(
            handler: &'command AnyHandler,
            cx: &'command AnySide::Context,
            bytes: &'command [::core::primitive::u8],
        ) -> ::core::result::Result<
            kit::abi::descriptor::NotificationDesc,
            AnySide::Error,
        > {
            ::core::result::Result::Ok(
                match kit::abi::wire::tag::<
                    ::core::primitive::u16,
                    __LEN,
                >("Command", bytes)? {
                    4u64 => {
                        kit::abi::wire::serve(
                                move || TagSend::decode(bytes),
                                move |command| <AnyHandler as Handler<
                                    AnySide,
                                >>::tag_send(handler, cx, command),
                            )
                            .await?
                    }
                    5u64 => {
                        kit::abi::wire::serve(
                                move || Move::decode(bytes),
                                move |command| <AnyHandler as Handler<
                                    AnySide,
                                >>::r#move(handler, cx, command),
                            )
                            .await?
                    }
                    6u64 => {
                        kit::abi::wire::serve(
                                move || Sum::decode(bytes),
                                move |command| <AnyHandler as Handler<
                                    AnySide,
                                >>::sum(handler, cx, command),
                            )
                            .await?
                    }
                    found => {
                        ::core::result::Result::Err(
                            kit::abi::wire::unknown_tag("Command", found, __KNOWN),
                        )?
                    }
                },
            )
        }
    }
    #[automatically_derived]
    impl<AnyHost: kit::abi::protocol::HostSide> ::core::clone::Clone
    for Client<AnyHost> {
        fn clone(&self) -> Self {
            Client {
                plugin: ::core::clone::Clone::clone(&self.plugin),
            }
        }
    }
    #[automatically_derived]
    impl<AnyHost: kit::abi::protocol::HostSide> ::core::fmt::Debug for Client<AnyHost> {
        fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
            ::core::fmt::Formatter::write_str(
                f,
                ::core::concat!("Client(", "worker_several", ")"),
            )
        }
    }
    #[automatically_derived]
    impl<AnyHost: kit::abi::protocol::HostSide> ::core::convert::AsRef<AnyHost::Plugin>
    for Client<AnyHost> {
        fn as_ref(&self) -> &AnyHost::Plugin {
            &self.plugin
        }
    }
    #[automatically_derived]
    impl<AnyHost: kit::abi::protocol::HostSide> Client<AnyHost> {
        /// The plugin as the service knows it.
        pub(crate) fn plugin(&self) -> &AnyHost::Plugin {
            &self.plugin
        }
        #[cfg_attr(not(doctest), doc = " Numbers and an echo.")]
        #[cfg_attr(doctest, doc = " Makes the command [`TagSend`].")]
        pub(crate) fn task_tag_send<'task>(
            &'task self,
            worker: &'task AnyHost::Worker,
            dest: u64,
            key: [u8; 16],
        ) -> TagSendTask<'task, AnyHost> {
            TagSendTask {
                plugin: &self.plugin,
                worker: worker,
                command: TagSend {
                    context: __AT_TagSend_context.zero(),
                    dest,
                    key,
                },
                deadline: ::core::option::Option::None,
            }
        }
        #[cfg_attr(
            not(doctest),
            doc = " A structure, which only the compiler knows to be plain data."
        )]
        #[cfg_attr(doctest, doc = " Makes the command [`Move`].")]
        pub(crate) fn task_move<'task>(
            &'task self,
            worker: &'task AnyHost::Worker,
            to: Point,
        ) -> MoveTask<'task, AnyHost> {
            MoveTask {
                plugin: &self.plugin,
                worker: worker,
                command: Move { to },
                deadline: ::core::option::Option::None,
            }
        }
        #[cfg_attr(not(doctest), doc = " With expressions and a codec.")]
        #[cfg_attr(doctest, doc = " Makes the command [`Sum`].")]
        pub(crate) fn task_sum<'task>(
            &'task self,
            worker: &'task AnyHost::Worker,
            color: Color,
            rows: u32,
            place: Point,
            table: impl ::core::convert::Into<Elements<'task, u16>>,
            rest: impl ::core::convert::Into<Option<&'task [u8]>>,
        ) -> SumTask<'task, AnyHost> {
            SumTask {
                plugin: &self.plugin,
                worker: worker,
                command: Sum {
                    color,
                    rows,
                    place,
                    table: ::core::convert::Into::into(table),
                    rest: ::core::convert::Into::into(rest),
                },
                deadline: ::core::option::Option::None,
            }
        }
    }
    #[automatically_derived]
    impl<'task, AnyHost: kit::abi::protocol::HostSide> TagSendTask<'task, AnyHost> {
        #[cfg_attr(not(doctest), doc = " Repeated by the answer.")]
        #[cfg_attr(
            doctest,
            doc = " Sets `context`, which the answer repeats; 0 unless set."
        )]
        pub(crate) fn context(mut self, context: u64) -> Self {
            self.command.context = context;
            self
        }
        /// Fails the task with `TIME_OUT` when it is not answered within `limit` of its submission. In place of
        /// what the worker was started with; the longest there is means no deadline.
        pub(crate) fn deadline(mut self, limit: ::core::time::Duration) -> Self {
            self.deadline = ::core::option::Option::Some(limit);
            self
        }
        /// Submits the command. What it returns resolves to the notification.
        ///
        /// # Errors
        /// What stopped it; nothing was sent then.
        pub(crate) fn submit(
            self,
        ) -> ::core::result::Result<AnyHost::Completion<TagSend>, AnyHost::Error> {
            <AnyHost as kit::abi::protocol::HostSide>::submit(
                self.plugin,
                self.worker,
                &self.command,
                self.deadline,
            )
        }
        /// Submits the command and calls `callback` inside the progress call that completes it. What it returns
        /// can cancel the task, and may be dropped.
        ///
        /// # Errors
        /// What stopped it; nothing was sent then, and `callback` is dropped without a call.
        pub(crate) fn submit_with<AnyCallback>(
            self,
            callback: AnyCallback,
        ) -> ::core::result::Result<AnyHost::Handle, AnyHost::Error>
        where
            AnyCallback: ::core::ops::FnOnce(
                    ::core::result::Result<answers::Done, AnyHost::Error>,
                ) + 'static,
        {
            <AnyHost as kit::abi::protocol::HostSide>::submit_with(
                self.plugin,
                self.worker,
                &self.command,
                self.deadline,
                callback,
            )
        }
    }
    #[automatically_derived]
    impl<'task, AnyHost: kit::abi::protocol::HostSide> MoveTask<'task, AnyHost> {
        /// Fails the task with `TIME_OUT` when it is not answered within `limit` of its submission. In place of
        /// what the worker was started with; the longest there is means no deadline.
        pub(crate) fn deadline(mut self, limit: ::core::time::Duration) -> Self {
            self.deadline = ::core::option::Option::Some(limit);
            self
        }
        /// Submits the command. What it returns resolves to the notification.
        ///
        /// # Errors
        /// What stopped it; nothing was sent then.
        pub(crate) fn submit(
            self,
        ) -> ::core::result::Result<AnyHost::Completion<Move>, AnyHost::Error> {
            <AnyHost as kit::abi::protocol::HostSide>::submit(
                self.plugin,
                self.worker,
                &self.command,
                self.deadline,
            )
        }
        /// Submits the command and calls `callback` inside the progress call that completes it. What it returns
        /// can cancel the task, and may be dropped.
        ///
        /// # Errors
        /// What stopped it; nothing was sent then, and `callback` is dropped without a call.
        pub(crate) fn submit_with<AnyCallback>(
            self,
            callback: AnyCallback,
        ) -> ::core::result::Result<AnyHost::Handle, AnyHost::Error>
        where
            AnyCallback: ::core::ops::FnOnce(
                    ::core::result::Result<answers::Moved, AnyHost::Error>,
                ) + 'static,
        {
            <AnyHost as kit::abi::protocol::HostSide>::submit_with(
                self.plugin,
                self.worker,
                &self.command,
                self.deadline,
                callback,
            )
        }
    }
    #[automatically_derived]
    impl<'task, AnyHost: kit::abi::protocol::HostSide> SumTask<'task, AnyHost> {
        /// Fails the task with `TIME_OUT` when it is not answered within `limit` of its submission. In place of
        /// what the worker was started with; the longest there is means no deadline.
        pub(crate) fn deadline(mut self, limit: ::core::time::Duration) -> Self {
            self.deadline = ::core::option::Option::Some(limit);
            self
        }
        /// Submits the command. What it returns resolves to the notification.
        ///
        /// # Errors
        /// What stopped it; nothing was sent then.
        pub(crate) fn submit(
            self,
        ) -> ::core::result::Result<AnyHost::Completion<Sum<'static>>, AnyHost::Error> {
            <AnyHost as kit::abi::protocol::HostSide>::submit(
                self.plugin,
                self.worker,
                &self.command,
                self.deadline,
            )
        }
        /// Submits the command and calls `callback` inside the progress call that completes it. What it returns
        /// can cancel the task, and may be dropped.
        ///
        /// # Errors
        /// What stopped it; nothing was sent then, and `callback` is dropped without a call.
        pub(crate) fn submit_with<AnyCallback>(
            self,
            callback: AnyCallback,
        ) -> ::core::result::Result<AnyHost::Handle, AnyHost::Error>
        where
            AnyCallback: ::core::ops::FnOnce(
                    ::core::result::Result<answers::Table, AnyHost::Error>,
                ) + 'static,
        {
            <AnyHost as kit::abi::protocol::HostSide>::submit_with(
                self.plugin,
                self.worker,
                &self.command,
                self.deadline,
                callback,
            )
        }
    }
};
#[repr(u64)]
pub enum Answer {
    /// With an echo and a value.
    Done { context: u64, status: i8 } = 9,
    /// With a structure.
    #[deprecated]
    #[expect(dead_code)]
    Moved { from: Point } = 10,
    /// With two payloads.
    Table { first: Payload<u16>, second: Option<Payload> } = 11,
}
#[cfg_attr(not(doctest), doc = " With an echo and a value.")]
#[cfg_attr(doctest, doc = " The notification `Done`.")]
#[derive(
    ::core::clone::Clone,
    ::core::fmt::Debug,
    ::core::cmp::PartialEq,
    ::core::marker::Copy
)]
#[allow(dead_code, reason = "the definition allows this")]
#[allow(deprecated, reason = "the definition deprecates it")]
pub struct Done {
    /// The field `status`.
    pub status: i8,
}
/// The fields of `Done` that repeat the command's.
#[doc(hidden)]
#[derive(::core::clone::Clone, ::core::marker::Copy)]
#[allow(dead_code, reason = "the definition allows this")]
#[allow(deprecated, reason = "the definition deprecates it")]
pub struct DoneEcho {
    /// The field `context`.
    pub context: u64,
}
#[cfg_attr(not(doctest), doc = " With a structure.")]
#[cfg_attr(doctest, doc = " The notification `Moved`.")]
#[allow(dead_code, reason = "the definition allows this")]
#[allow(deprecated, reason = "the definition deprecates it")]
pub struct Moved {
    /// The field `from`.
    pub from: Point,
}
/// The fields of `Moved` that repeat the command's.
#[doc(hidden)]
#[derive(::core::clone::Clone, ::core::marker::Copy)]
#[allow(dead_code, reason = "the definition allows this")]
#[allow(deprecated, reason = "the definition deprecates it")]
pub struct MovedEcho;
#[cfg_attr(not(doctest), doc = " With two payloads.")]
#[cfg_attr(doctest, doc = " The notification `Table`.")]
#[derive(::core::clone::Clone, ::core::fmt::Debug, ::core::cmp::PartialEq)]
#[allow(dead_code, reason = "the definition allows this")]
#[allow(deprecated, reason = "the definition deprecates it")]
pub struct Table {
    /// The field `first`.
    pub first: Payload<u16>,
    /// The field `second`.
    pub second: Option<Payload>,
}
/// The fields of `Table` that repeat the command's.
#[doc(hidden)]
#[derive(::core::clone::Clone, ::core::marker::Copy)]
#[allow(dead_code, reason = "the definition allows this")]
#[allow(deprecated, reason = "the definition deprecates it")]
pub struct TableEcho;
#[allow(dead_code, reason = "the definition allows this")]
#[allow(deprecated, reason = "the definition deprecates it")]
const _: () = {
    use kit::abi::wire::NotAnyBytes as _;
    use kit::abi::wire::layout as __layout;
    const __TAG: kit::abi::wire::Field<::core::primitive::u64, 0, __LEN> = kit::abi::wire::field::<
        ::core::primitive::u64,
        0,
        __LEN,
    >();
    const __UNION: __layout::Extent = __layout::union(
        &[
            __layout::structure(&__EXTENTS_Done),
            __layout::structure(&__EXTENTS_Moved),
            __layout::structure(&__EXTENTS_Table),
        ],
    );
    const __PARTS: [__layout::Extent; 2usize] = [
        __layout::Extent::of::<::core::primitive::u64>(),
        __UNION,
    ];
    const __PARTS_AT: [::core::primitive::usize; 2usize] = __layout::offsets(0, __PARTS);
    const __UNION_AT: ::core::primitive::usize = __PARTS_AT[2usize - 1];
    const __LEN: ::core::primitive::usize = __layout::structure(&__PARTS).size;
    const __KNOWN: &[(&::core::primitive::str, ::core::primitive::u64)] = &[
        ("Done", 9u64),
        ("Moved", 10u64),
        ("Table", 11u64),
    ];
    const __EXTENTS_Done: [__layout::Extent; 2usize] = [
        __layout::Extent::of::<u64>(),
        __layout::Extent::of::<i8>(),
    ];
    const __OFFSETS_Done: [::core::primitive::usize; 2usize] = __layout::offsets(
        __UNION_AT,
        __EXTENTS_Done,
    );
    const __AT_Done_context: kit::abi::wire::Field<
        u64,
        { __OFFSETS_Done[0usize] },
        __LEN,
    > = kit::abi::wire::field::<u64, { __OFFSETS_Done[0usize] }, __LEN>();
    const __AT_Done_status: kit::abi::wire::Field<
        i8,
        { __OFFSETS_Done[1usize] },
        __LEN,
    > = kit::abi::wire::field::<i8, { __OFFSETS_Done[1usize] }, __LEN>();
    const __EXTENTS_Moved: [__layout::Extent; 1usize] = [
        __layout::Extent::of::<Point>(),
    ];
    const __OFFSETS_Moved: [::core::primitive::usize; 1usize] = __layout::offsets(
        __UNION_AT,
        __EXTENTS_Moved,
    );
    const __AT_Moved_from: kit::abi::wire::Field<
        Point,
        { __OFFSETS_Moved[0usize] },
        __LEN,
        { <kit::abi::wire::AnyBytes<Point>>::ANY },
    > = kit::abi::wire::any_field::<
        Point,
        { __OFFSETS_Moved[0usize] },
        __LEN,
        { <kit::abi::wire::AnyBytes<Point>>::ANY },
    >();
    const __EXTENTS_Table: [__layout::Extent; 3usize] = [
        __layout::Extent::of::<::core::primitive::u64>(),
        __layout::Extent::of::<::core::primitive::u64>(),
        __layout::Extent::of::<::core::primitive::u64>(),
    ];
    const __OFFSETS_Table: [::core::primitive::usize; 3usize] = __layout::offsets(
        __UNION_AT,
        __EXTENTS_Table,
    );
    const __ADDRESS_OF_Table_first: kit::abi::wire::Field<
        ::core::primitive::u64,
        { __OFFSETS_Table[0usize] },
        __LEN,
    > = kit::abi::wire::field::<
        ::core::primitive::u64,
        { __OFFSETS_Table[0usize] },
        __LEN,
    >();
    const __LENGTH_OF_Table_first: kit::abi::wire::Field<
        ::core::primitive::u64,
        { __OFFSETS_Table[1usize] },
        __LEN,
    > = kit::abi::wire::field::<
        ::core::primitive::u64,
        { __OFFSETS_Table[1usize] },
        __LEN,
    >();
    const __ADDRESS_OF_Table_second: kit::abi::wire::Field<
        ::core::primitive::u64,
        { __OFFSETS_Table[2usize] },
        __LEN,
    > = kit::abi::wire::field::<
        ::core::primitive::u64,
        { __OFFSETS_Table[2usize] },
        __LEN,
    >();
    const _: () = ::core::assert!(
        __LEN <= kit::abi::DEFAULT_MAX_MESSAGE - ::core::mem::size_of:: <
        kit::abi::plugin::WorkerNotify > (), "{}", kit::abi::wire::too_big(& [("Done",
        __layout::structure(& __EXTENTS_Done).size), ("Moved", __layout::structure(&
        __EXTENTS_Moved).size), ("Table", __layout::structure(& __EXTENTS_Table).size)],
        __LEN, ::core::mem::size_of:: < kit::abi::plugin::WorkerNotify > (),
        "a message has at most 4096 bytes by default, and every variant takes as many as the largest: send what is large as an inline payload")
        .as_str(),
    );
    const _: () = ::core::assert!(
        kit::abi::wire::element:: < u16 > () > 0,
        "`u16` has no bytes, so nothing could count such elements: use a type with at least one"
    );
    use kit::abi::describe as __describe;
    use kit::abi::describe::NotDescribed as _;
    const __DESCRIPTION: __describe::Messages = __describe::Messages {
        name: "Answer",
        docs: "",
        tag: <::core::primitive::u64 as __describe::Described>::TYPE,
        len: __LEN,
        union_at: __UNION_AT,
        header: &[],
        variants: &[
            __describe::Variant {
                name: "Done",
                docs: " With an echo and a value.",
                tag: 9u64,
                also: ::core::option::Option::None,
                reply: ::core::option::Option::None,
                fields: &[
                    __describe::Field {
                        name: "context",
                        docs: "",
                        kind: __describe::FieldKind::Echo,
                        ty: __describe::found_or_opaque::<
                            u64,
                        >(<__describe::Probe<u64>>::FOUND, "u64"),
                        offset: __OFFSETS_Done[0usize],
                        optional: false,
                    },
                    __describe::Field {
                        name: "status",
                        docs: "",
                        kind: __describe::FieldKind::Plain,
                        ty: __describe::found_or_opaque::<
                            i8,
                        >(<__describe::Probe<i8>>::FOUND, "i8"),
                        offset: __OFFSETS_Done[1usize],
                        optional: false,
                    },
                ],
                payloads: &[],
            },
            __describe::Variant {
                name: "Moved",
                docs: " With a structure.",
                tag: 10u64,
                also: ::core::option::Option::None,
                reply: ::core::option::Option::None,
                fields: &[
                    __describe::Field {
                        name: "from",
                        docs: "",
                        kind: __describe::FieldKind::Plain,
                        ty: __describe::found_or_opaque::<
                            Point,
                        >(<__describe::Probe<Point>>::FOUND, "Point"),
                        offset: __OFFSETS_Moved[0usize],
                        optional: false,
                    },
                ],
                payloads: &[],
            },
            __describe::Variant {
                name: "Table",
                docs: " With two payloads.",
                tag: 11u64,
                also: ::core::option::Option::None,
                reply: ::core::option::Option::None,
                fields: &[
                    __describe::Field {
                        name: "first_addr",
                        docs: "",
                        kind: __describe::FieldKind::Address {
                            of: "first",
                        },
                        ty: __describe::found_or_opaque::<
                            ::core::primitive::u64,
                        >(
                            <__describe::Probe<::core::primitive::u64>>::FOUND,
                            "::core::primitive::u64",
                        ),
                        offset: __OFFSETS_Table[0usize],
                        optional: false,
                    },
                    __describe::Field {
                        name: "first_len",
                        docs: "",
                        kind: __describe::FieldKind::Length {
                            of: "first",
                        },
                        ty: __describe::found_or_opaque::<
                            ::core::primitive::u64,
                        >(
                            <__describe::Probe<::core::primitive::u64>>::FOUND,
                            "::core::primitive::u64",
                        ),
                        offset: __OFFSETS_Table[1usize],
                        optional: false,
                    },
                    __describe::Field {
                        name: "second_addr",
                        docs: "",
                        kind: __describe::FieldKind::Address {
                            of: "second",
                        },
                        ty: __describe::found_or_opaque::<
                            ::core::primitive::u64,
                        >(
                            <__describe::Probe<::core::primitive::u64>>::FOUND,
                            "::core::primitive::u64",
                        ),
                        offset: __OFFSETS_Table[2usize],
                        optional: false,
                    },
                ],
                payloads: &[
                    __describe::Payload {
                        name: "first",
                        docs: "",
                        ty: __describe::found_or_opaque::<
                            u16,
                        >(<__describe::Probe<u16>>::FOUND, "u16"),
                        count: __describe::Count::Word("first_len"),
                        address: ::core::option::Option::Some("first_addr"),
                        when: ::core::option::Option::None,
                        constants: &[],
                        registered: false,
                        optional: false,
                    },
                    __describe::Payload {
                        name: "second",
                        docs: "",
                        ty: __describe::found_or_opaque::<
                            ::core::primitive::u8,
                        >(
                            <__describe::Probe<::core::primitive::u8>>::FOUND,
                            "::core::primitive::u8",
                        ),
                        count: __describe::Count::Given("first.len()"),
                        address: ::core::option::Option::Some("second_addr"),
                        when: ::core::option::Option::Some("second_addr != 0"),
                        constants: &[],
                        registered: false,
                        optional: false,
                    },
                ],
            },
        ],
    };
    #[inline]
    fn __len_of_Table_second(
        first: <Payload<u16> as kit::abi::wire::Owned>::View<'_>,
    ) -> impl kit::abi::wire::Count {
        let _ = first;
        first.len()
    }
    kit::abi::__arbitrary! {
        fn __arbitrary_Done < 'arbitrary > (input : & mut
        kit::abi::arbitrary::Unstructured < 'arbitrary >,) -> ::core::result::Result <
        Answer, kit::abi::arbitrary::Unfit > { let mut field_0 =
        kit::abi::arbitrary::plain(input, __AT_Done_context) ?; let mut field_1 =
        kit::abi::arbitrary::plain(input, __AT_Done_status) ?;
        ::core::result::Result::Ok(Answer::Done { context : field_0, status : field_1 })
        } fn __arbitrary_Moved < 'arbitrary > (input : & mut
        kit::abi::arbitrary::Unstructured < 'arbitrary >,) -> ::core::result::Result <
        Answer, kit::abi::arbitrary::Unfit > { let mut field_0 =
        kit::abi::arbitrary::value(input, __AT_Moved_from, const { &
        __describe::found_or_opaque:: < Point > (< __describe::Probe < Point >> ::FOUND,
        "Point") }) ?; ::core::result::Result::Ok(Answer::Moved { from : field_0 }) } fn
        __arbitrary_Table < 'arbitrary > (input : & mut kit::abi::arbitrary::Unstructured
        < 'arbitrary >,) -> ::core::result::Result < Answer, kit::abi::arbitrary::Unfit >
        { let is_there = true; let field_0 = kit::abi::arbitrary::owned:: < Payload < u16
        > > (input, is_there, kit::abi::arbitrary::Length:: < ::core::primitive::u64 >
        ::Free) ?; let is_there = kit::abi::arbitrary::flip(input) ?; let field_1 =
        kit::abi::arbitrary::owned:: < Option < Payload > > (input, is_there,
        kit::abi::arbitrary::Length::Given(__len_of_Table_second(kit::abi::wire::Owned::view(&
        field_0)))) ?; ::core::result::Result::Ok(Answer::Table { first : field_0, second
        : field_1 }) } #[automatically_derived] impl < 'arbitrary >
        kit::abi::arbitrary::Arbitrary < 'arbitrary > for Answer { fn arbitrary(input : &
        mut kit::abi::arbitrary::Unstructured < 'arbitrary >,) ->
        kit::abi::arbitrary::Result < Self > { kit::abi::arbitrary::attempt(input, |
        input | { let chosen = kit::abi::arbitrary::choose(input, 3usize) ?; match chosen
        { 0usize => __arbitrary_Done(input), 1usize => __arbitrary_Moved(input), 2usize
        => __arbitrary_Table(input), _ =>
        ::core::result::Result::Err(kit::abi::arbitrary::Unfit), } }, | made | {
        kit::abi::arbitrary::can_be_written(Answer::encoded_len(made), | out |
        Answer::encode(made, out)) }) } } #[automatically_derived] impl < 'arbitrary >
        kit::abi::arbitrary::Arbitrary < 'arbitrary > for Done { fn arbitrary(input : &
        mut kit::abi::arbitrary::Unstructured < 'arbitrary >,) ->
        kit::abi::arbitrary::Result < Self > { match kit::abi::arbitrary::attempt(input,
        __arbitrary_Done, | made | {
        kit::abi::arbitrary::can_be_written(Answer::encoded_len(made), | out |
        Answer::encode(made, out)) }) ? { Answer::Done { status, .. } =>
        ::core::result::Result::Ok(Done { status }), _ =>
        ::core::result::Result::Err(kit::abi::arbitrary::Error::IncorrectFormat), } } }
        #[automatically_derived] impl < 'arbitrary > kit::abi::arbitrary::Arbitrary <
        'arbitrary > for Moved { fn arbitrary(input : & mut
        kit::abi::arbitrary::Unstructured < 'arbitrary >,) -> kit::abi::arbitrary::Result
        < Self > { match kit::abi::arbitrary::attempt(input, __arbitrary_Moved, | made |
        { kit::abi::arbitrary::can_be_written(Answer::encoded_len(made), | out |
        Answer::encode(made, out)) }) ? { Answer::Moved { from, .. } =>
        ::core::result::Result::Ok(Moved { from }), _ =>
        ::core::result::Result::Err(kit::abi::arbitrary::Error::IncorrectFormat), } } }
        #[automatically_derived] impl < 'arbitrary > kit::abi::arbitrary::Arbitrary <
        'arbitrary > for Table { fn arbitrary(input : & mut
        kit::abi::arbitrary::Unstructured < 'arbitrary >,) -> kit::abi::arbitrary::Result
        < Self > { match kit::abi::arbitrary::attempt(input, __arbitrary_Table, | made |
        { kit::abi::arbitrary::can_be_written(Answer::encoded_len(made), | out |
        Answer::encode(made, out)) }) ? { Answer::Table { first, second, .. } =>
        ::core::result::Result::Ok(Table { first, second }), _ =>
        ::core::result::Result::Err(kit::abi::arbitrary::Error::IncorrectFormat), } } }
    }
    const _: () = {
        let _ = Answer::decode;
        let _ = Answer::encode;
    };
    #[automatically_derived]
    impl Answer {
        /// The size in bytes of every message without its inline payloads.
        pub const FIXED_LEN: ::core::primitive::usize = __LEN;
        /// Reads a message of any variant.
        ///
        /// # Errors
        /// Which field is wrong, and how; a tag that no variant has lists those there are.
        #[inline]
        pub fn decode(
            bytes: &[::core::primitive::u8],
        ) -> ::core::result::Result<Answer, kit::abi::wire::DecodeError> {
            ::core::result::Result::Ok(
                match kit::abi::wire::tag::<
                    ::core::primitive::u64,
                    __LEN,
                >("Answer", bytes)? {
                    9u64 => {
                        let (message, echo) = __read_Done(
                            bytes,
                            ::core::option::Option::None,
                        )?;
                        Answer::Done {
                            context: echo.context,
                            status: message.status,
                        }
                    }
                    10u64 => {
                        let (message, echo) = __read_Moved(
                            bytes,
                            ::core::option::Option::None,
                        )?;
                        Answer::Moved {
                            from: message.from,
                        }
                    }
                    11u64 => {
                        let (message, echo) = __read_Table(
                            bytes,
                            ::core::option::Option::None,
                        )?;
                        Answer::Table {
                            first: message.first,
                            second: message.second,
                        }
                    }
                    found => {
                        ::core::result::Result::Err(
                            kit::abi::wire::unknown_tag("Answer", found, __KNOWN),
                        )?
                    }
                },
            )
        }
        /// Writes the message to the start of `out` and returns how many bytes it took.
        ///
        /// # Errors
        /// `TooBig` when `out` is too short, `Mismatch` when a payload contradicts the fields that describe it;
        /// nothing is written then.
        #[inline]
        pub fn encode(
            &self,
            out: &mut [::core::primitive::u8],
        ) -> ::core::result::Result<
            ::core::primitive::usize,
            kit::abi::wire::EncodeError,
        > {
            match self {
                Answer::Done { context: field_0, status: field_1 } => {
                    let fixed = kit::abi::wire::room::<__LEN>("Done", out)?;
                    __TAG.write(fixed, &9);
                    __AT_Done_context.write(fixed, field_0);
                    __AT_Done_status.write(fixed, field_1);
                    ::core::result::Result::Ok(__LEN)
                }
                Answer::Moved { from: field_0 } => {
                    let fixed = kit::abi::wire::room::<__LEN>("Moved", out)?;
                    __TAG.write(fixed, &10);
                    __AT_Moved_from.write(fixed, field_0);
                    ::core::result::Result::Ok(__LEN)
                }
                Answer::Table { first: field_0, second: field_1 } => {
                    let address_word_of_first: ::core::primitive::u64 = kit::abi::wire::address_word(
                        "Table",
                        "first",
                        field_0,
                    )?;
                    let length_word_of_first: ::core::primitive::u64 = kit::abi::wire::length_word(
                        "Table",
                        "first",
                        field_0,
                    )?;
                    let address_word_of_second: ::core::primitive::u64 = kit::abi::wire::address_word(
                        "Table",
                        "second",
                        field_1,
                    )?;
                    kit::abi::wire::agrees(
                        "Table",
                        "second",
                        field_1,
                        __len_of_Table_second(kit::abi::wire::Owned::view(field_0)),
                    )?;
                    kit::abi::wire::message::<
                        __LEN,
                        _,
                    >(
                        "Table",
                        out,
                        [kit::abi::wire::bytes(field_0), kit::abi::wire::bytes(field_1)],
                        |fixed| {
                            __TAG.write(fixed, &11);
                            __ADDRESS_OF_Table_first
                                .write(fixed, &address_word_of_first);
                            __LENGTH_OF_Table_first.write(fixed, &length_word_of_first);
                            __ADDRESS_OF_Table_second
                                .write(fixed, &address_word_of_second);
                        },
                    )
                }
            }
        }
        /// How many bytes `encode` writes; `None` when that cannot be counted in a `usize`.
        #[inline]
        pub fn encoded_len(&self) -> ::core::option::Option<::core::primitive::usize> {
            match self {
                Answer::Done { context: field_0, status: field_1 } => {
                    ::core::option::Option::Some(__LEN)
                }
                Answer::Moved { from: field_0 } => ::core::option::Option::Some(__LEN),
                Answer::Table { first: field_0, second: field_1 } => {
                    kit::abi::wire::total(
                        __LEN,
                        &[
                            kit::abi::wire::bytes(field_0).len(),
                            kit::abi::wire::bytes(field_1).len(),
                        ],
                    )
                }
            }
        }
    }
    #[automatically_derived]
    impl kit::abi::wire::Notifications for Answer {
        const LEN: ::core::primitive::usize = __LEN;
        const DESCRIPTION: kit::abi::describe::Messages = __DESCRIPTION;
        fn refusal(
            tag: ::core::primitive::u64,
        ) -> ::core::result::Result<
            kit::abi::descriptor::NotificationDesc,
            kit::abi::wire::EncodeError,
        > {
            let tag = <::core::primitive::u64 as kit::abi::wire::Word>::from_u64(tag);
            kit::abi::wire::notification::<
                __LEN,
            >(
                "Answer",
                |fixed| {
                    __TAG.write(fixed, &::core::option::Option::unwrap_or_default(tag));
                },
            )
        }
    }
    #[inline(always)]
    fn __read_Done(
        incoming: impl kit::abi::protocol::Incoming,
        echo: ::core::option::Option<&DoneEcho>,
    ) -> ::core::result::Result<(Done, DoneEcho), kit::abi::wire::DecodeError> {
        let fixed = kit::abi::wire::exact::<
            __LEN,
        >("Done", kit::abi::protocol::Incoming::bytes(&incoming))?;
        kit::abi::wire::own_tag(
            "Done",
            __TAG.read(fixed),
            9u64,
            ::core::option::Option::None,
        )?;
        if let ::core::option::Option::Some(echo) = echo {
            kit::abi::wire::repeats(
                "Done",
                "context",
                __AT_Done_context.holds(fixed, &echo.context),
            )?;
        }
        ::core::result::Result::Ok((
            Done {
                status: __AT_Done_status.read(fixed),
            },
            DoneEcho {
                context: __AT_Done_context.read(fixed),
            },
        ))
    }
    #[automatically_derived]
    impl kit::abi::protocol::Reply for Done {
        type Echo = DoneEcho;
        #[inline]
        fn decode(
            incoming: impl kit::abi::protocol::Incoming,
            echo: &DoneEcho,
        ) -> ::core::result::Result<Done, kit::abi::wire::DecodeError> {
            let (message, _) = __read_Done(
                incoming,
                ::core::option::Option::Some(echo),
            )?;
            ::core::result::Result::Ok(message)
        }
        #[inline]
        fn into_descriptor(
            self,
            echo: &DoneEcho,
        ) -> ::core::result::Result<
            kit::abi::descriptor::NotificationDesc,
            kit::abi::wire::EncodeError,
        > {
            kit::abi::wire::notification::<
                __LEN,
            >(
                "Done",
                |fixed| {
                    __TAG.write(fixed, &9);
                    __AT_Done_context.write(fixed, &echo.context);
                    __AT_Done_status.write(fixed, &self.status);
                },
            )
        }
    }
    #[automatically_derived]
    impl kit::abi::wire::Echoes<{ kit::abi::wire::echo_name("context") }> for DoneEcho {
        type Value = u64;
        #[inline]
        fn set(&mut self, value: u64) {
            self.context = value;
        }
    }
    #[automatically_derived]
    impl kit::abi::wire::Answer<Answer> for Done {
        type This = Done;
        type Echo = DoneEcho;
    }
    #[automatically_derived]
    impl kit::abi::wire::Echo for DoneEcho {
        const NAMES: &'static [::core::primitive::u64] = &[
            kit::abi::wire::echo_name("context"),
        ];
        #[inline]
        fn zero() -> DoneEcho {
            DoneEcho {
                context: __AT_Done_context.zero(),
            }
        }
    }
    #[automatically_derived]
    impl DoneEcho {
        #[doc(hidden)]
        pub fn refusal(
            &self,
        ) -> ::core::result::Result<
            kit::abi::descriptor::NotificationDesc,
            kit::abi::wire::EncodeError,
        > {
            kit::abi::wire::notification::<
                __LEN,
            >(
                "Done",
                |fixed| {
                    __TAG.write(fixed, &9);
                    __AT_Done_context.write(fixed, &self.context);
                },
            )
        }
    }
    #[automatically_derived]
    impl ::core::clone::Clone for Moved {
        fn clone(&self) -> Moved {
            Moved {
                from: __AT_Moved_from.copy(&self.from),
            }
        }
    }
    #[automatically_derived]
    impl ::core::convert::From<Moved> for Answer {
        #[inline]
        fn from(message: Moved) -> Answer {
            Answer::Moved {
                from: message.from,
            }
        }
    }
    #[inline(always)]
    fn __read_Moved(
        incoming: impl kit::abi::protocol::Incoming,
        _echo: ::core::option::Option<&MovedEcho>,
    ) -> ::core::result::Result<(Moved, MovedEcho), kit::abi::wire::DecodeError> {
        let fixed = kit::abi::wire::exact::<
            __LEN,
        >("Moved", kit::abi::protocol::Incoming::bytes(&incoming))?;
        kit::abi::wire::own_tag(
            "Moved",
            __TAG.read(fixed),
            10u64,
            ::core::option::Option::None,
        )?;
        ::core::result::Result::Ok((
            Moved {
                from: __AT_Moved_from
                    .checked(
                        fixed,
                        "Moved",
                        "from",
                        const {
                            &__describe::found_or_opaque::<
                                Point,
                            >(<__describe::Probe<Point>>::FOUND, "Point")
                        },
                    )?,
            },
            MovedEcho {},
        ))
    }
    #[automatically_derived]
    impl kit::abi::protocol::Reply for Moved {
        type Echo = MovedEcho;
        #[inline]
        fn decode(
            incoming: impl kit::abi::protocol::Incoming,
            echo: &MovedEcho,
        ) -> ::core::result::Result<Moved, kit::abi::wire::DecodeError> {
            let (message, _) = __read_Moved(
                incoming,
                ::core::option::Option::Some(echo),
            )?;
            ::core::result::Result::Ok(message)
        }
        #[inline]
        fn into_descriptor(
            self,
            echo: &MovedEcho,
        ) -> ::core::result::Result<
            kit::abi::descriptor::NotificationDesc,
            kit::abi::wire::EncodeError,
        > {
            kit::abi::wire::notification::<
                __LEN,
            >(
                "Moved",
                |fixed| {
                    __TAG.write(fixed, &10);
                    __AT_Moved_from.write(fixed, &self.from);
                },
            )
        }
    }
    #[automatically_derived]
    impl kit::abi::wire::Answer<Answer> for Moved {
        type This = Moved;
        type Echo = MovedEcho;
    }
    #[automatically_derived]
    impl kit::abi::wire::Echo for MovedEcho {
        const NAMES: &'static [::core::primitive::u64] = &[];
        #[inline]
        fn zero() -> MovedEcho {
            MovedEcho {}
        }
    }
    #[automatically_derived]
    impl MovedEcho {
        #[doc(hidden)]
        pub fn refusal(
            &self,
        ) -> ::core::result::Result<
            kit::abi::descriptor::NotificationDesc,
            kit::abi::wire::EncodeError,
        > {
            kit::abi::wire::notification::<
                __LEN,
            >(
                "Moved",
                |fixed| {
                    __TAG.write(fixed, &10);
                },
            )
        }
    }
    #[automatically_derived]
    impl ::core::convert::From<Table> for Answer {
        #[inline]
        fn from(message: Table) -> Answer {
            Answer::Table {
                first: message.first,
                second: message.second,
            }
        }
    }
    #[inline(always)]
    fn __read_Table(
        incoming: impl kit::abi::protocol::Incoming,
        _echo: ::core::option::Option<&TableEcho>,
    ) -> ::core::result::Result<(Table, TableEcho), kit::abi::wire::DecodeError> {
        let (fixed, mut behind) = kit::abi::wire::start::<
            __LEN,
        >("Table", kit::abi::protocol::Incoming::bytes(&incoming))?;
        kit::abi::wire::own_tag(
            "Table",
            __TAG.read(fixed),
            11u64,
            ::core::option::Option::None,
        )?;
        let (_view_0, field_0) = behind
            .part::<Payload<u16>>("first", true, __LENGTH_OF_Table_first.read(fixed))?;
        let (_view_1, field_1) = behind
            .part::<
                Option<Payload>,
            >(
                "second",
                kit::abi::wire::by_address::<
                    Option<Payload>,
                >(__ADDRESS_OF_Table_second.read(fixed)),
                __len_of_Table_second(_view_0),
            )?;
        behind.end()?;
        let mut tail = kit::abi::wire::Tail::of(incoming, __LEN);
        ::core::result::Result::Ok((
            Table {
                first: tail.take::<Payload<u16>>(field_0),
                second: tail.take::<Option<Payload>>(field_1),
            },
            TableEcho {},
        ))
    }
    #[automatically_derived]
    impl kit::abi::protocol::Reply for Table {
        type Echo = TableEcho;
        #[inline]
        fn decode(
            incoming: impl kit::abi::protocol::Incoming,
            echo: &TableEcho,
        ) -> ::core::result::Result<Table, kit::abi::wire::DecodeError> {
            let (message, _) = __read_Table(
                incoming,
                ::core::option::Option::Some(echo),
            )?;
            ::core::result::Result::Ok(message)
        }
        #[inline]
        fn into_descriptor(
            self,
            echo: &TableEcho,
        ) -> ::core::result::Result<
            kit::abi::descriptor::NotificationDesc,
            kit::abi::wire::EncodeError,
        > {
            let address_word_of_first: ::core::primitive::u64 = kit::abi::wire::address_word(
                "Table",
                "first",
                &self.first,
            )?;
            let length_word_of_first: ::core::primitive::u64 = kit::abi::wire::length_word(
                "Table",
                "first",
                &self.first,
            )?;
            let address_word_of_second: ::core::primitive::u64 = kit::abi::wire::address_word(
                "Table",
                "second",
                &self.second,
            )?;
            kit::abi::wire::agrees(
                "Table",
                "second",
                &self.second,
                __len_of_Table_second(kit::abi::wire::Owned::view(&self.first)),
            )?;
            kit::abi::wire::reply::<
                __LEN,
                _,
            >(
                "Table",
                [kit::abi::wire::give(self.first), kit::abi::wire::give(self.second)],
                |fixed| {
                    __TAG.write(fixed, &11);
                    __ADDRESS_OF_Table_first.write(fixed, &address_word_of_first);
                    __LENGTH_OF_Table_first.write(fixed, &length_word_of_first);
                    __ADDRESS_OF_Table_second.write(fixed, &address_word_of_second);
                },
            )
        }
    }
    #[automatically_derived]
    impl kit::abi::wire::Answer<Answer> for Table {
        type This = Table;
        type Echo = TableEcho;
    }
    #[automatically_derived]
    impl kit::abi::wire::Echo for TableEcho {
        const NAMES: &'static [::core::primitive::u64] = &[];
        #[inline]
        fn zero() -> TableEcho {
            TableEcho {}
        }
    }
    #[automatically_derived]
    impl TableEcho {
        #[doc(hidden)]
        pub fn refusal(
            &self,
        ) -> ::core::result::Result<
            kit::abi::descriptor::NotificationDesc,
            kit::abi::wire::EncodeError,
        > {
            kit::abi::wire::notification::<
                __LEN,
            >(
                "Table",
                |fixed| {
                    __TAG.write(fixed, &11);
                },
            )
        }
    }
};
