use bytemuck::{Pod, Zeroable};
use urom_abi::{Data, Received, urom_command, urom_notification};
/// Which memory to map: `ucp_mem_map_params_t` of UCX 1.16 and newer, 48 bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable, urom_abi::Described)]
pub struct MapParams {
    /// Which of the other fields count: a bit each, in UCX's order, `ADDRESS` first.
    pub field_mask: u64,
    /// Where the memory begins, in the addresses that later commands use for it.
    pub address: u64,
    /// How long it is, in bytes.
    pub length: u64,
    /// 2 (`UCP_MEM_MAP_ALLOCATE`) for memory that the plugin allocates.
    pub flags: u32,
    /// Not used by the plugin.
    pub prot: u32,
    /// Not used by the plugin.
    pub memory_type: u32,
    /// C's padding.
    pub pad: u32,
    /// C has the address of the exported handle here.
    pub exported_memh_buffer: u64,
}
impl MapParams {
    /// Bit of [`field_mask`](Self::field_mask): the address counts (`UCP_MEM_MAP_PARAM_FIELD_ADDRESS`).
    pub const FIELD_ADDRESS: u64 = 1;
    /// Bit of [`field_mask`](Self::field_mask): the length counts.
    pub const FIELD_LENGTH: u64 = 2;
    /// Bit of [`field_mask`](Self::field_mask): the flags count.
    pub const FIELD_FLAGS: u64 = 4;
    /// Bit of [`field_mask`](Self::field_mask): there is an exported handle.
    pub const FIELD_EXPORTED: u64 = 0x20;
    /// Bit of [`flags`](Self::flags): the plugin allocates the memory (`UCP_MEM_MAP_ALLOCATE`).
    pub const ALLOCATE: u32 = 2;
    /// Memory that the plugin allocates, `length` bytes; later commands call its first byte `address`.
    pub fn allocate(address: u64, length: u64) -> MapParams {
        let field_mask = Self::FIELD_ADDRESS | Self::FIELD_LENGTH | Self::FIELD_FLAGS;
        MapParams {
            field_mask,
            address,
            length,
            flags: Self::ALLOCATE,
            ..Self::zeroed()
        }
    }
    /// What [`asking_for_windows`](Self::asking_for_windows) is answered with as `memh_id` by a plugin that opens windows.
    pub const TAKES_WINDOWS: u64 = u64::from_le_bytes(*b"\x01windows");
    /// Asks a plugin of this name whether it opens what `ucx::Memory::window` makes: [`TAKES_WINDOWS`](Self::TAKES_WINDOWS) is
    /// the answer then. Ask before you send one with [`exported`](Self::exported): another plugin, such as DOCA's sample, takes
    /// the bytes for a handle of UCX's, which crashes its worker.
    ///
    /// To such a plugin this is memory of no length, which UCX registers or refuses.
    ///
    /// ```
    /// use sandbox_protocol::MapParams;
    ///
    /// let question = MapParams::asking_for_windows();
    /// assert!(question.asks_for_windows() && question.length == 0);
    /// assert!(!MapParams::allocate(0, 0).asks_for_windows());
    /// ```
    pub fn asking_for_windows() -> MapParams {
        MapParams::allocate(u64::from_le_bytes(*b"windows?"), 0)
    }
    /// Whether this is [`asking_for_windows`](Self::asking_for_windows).
    pub fn asks_for_windows(&self) -> bool {
        *self == MapParams::asking_for_windows()
    }
    /// The host's own memory, whose exported handle goes with the command; later commands call its first byte
    /// `address`. What a window is: [`asking_for_windows`](Self::asking_for_windows).
    pub fn exported(address: u64) -> MapParams {
        MapParams {
            field_mask: Self::FIELD_ADDRESS | Self::FIELD_EXPORTED,
            address,
            ..Self::zeroed()
        }
    }
}
/// What a host can ask of the sandbox plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command<'a> {
    /// Registers memory for later sends and receives. The registration lasts as long as the worker, and is of use to the
    /// host that made it only.
    MemMap {
        /// Any value; the answer repeats it.
        context: u64,
        /// Which memory.
        map_params: MapParams,
        /// The exported handle of the host's memory; empty for memory that the plugin allocates. The Rust plugin takes
        /// what `ucx::Memory::window` makes.
        exported_memh: &'a [u8],
    },
    /// Sends `data` to worker `dest` of the domain.
    TagSend {
        /// Any value; the answer repeats it.
        context: u64,
        /// The receiver's id in the domain.
        dest: u64,
        /// Travels with the command, or lies in registered memory; nothing unless set. Any number of sends may share
        /// registered bytes.
        data: Data<'a>,
        /// The tag to send with.
        tag: u64,
    },
    /// Receives the first message whose tag matches.
    TagRecv {
        /// Any value; the answer repeats it.
        context: u64,
        /// Where to receive in registered memory; not used without `memh_id`.
        buffer: u64,
        /// How many bytes fit.
        count: u64,
        /// The tag to match.
        tag: u64,
        /// Which bits of the tag must match.
        tag_mask: u64,
        /// Which registered memory to receive into, where no other command may have these bytes (`UCS_ERR_BUSY`); 0
        /// (unless set) receives into the answer.
        memh_id: u64,
    },
}
#[cfg_attr(
    not(doctest),
    doc = " Registers memory for later sends and receives. The registration lasts as long as the worker, and is of use to the\n host that made it only."
)]
#[cfg_attr(doctest, doc = " The command `MemMap`.")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemMap<'a> {
    #[cfg_attr(not(doctest), doc = " Any value; the answer repeats it.")]
    #[cfg_attr(doctest, doc = " The field `context`.")]
    pub context: u64,
    #[cfg_attr(not(doctest), doc = " Which memory.")]
    #[cfg_attr(doctest, doc = " The field `map_params`.")]
    pub map_params: MapParams,
    #[cfg_attr(
        not(doctest),
        doc = " The exported handle of the host's memory; empty for memory that the plugin allocates. The Rust plugin takes\n what `ucx::Memory::window` makes."
    )]
    #[cfg_attr(doctest, doc = " The field `exported_memh`.")]
    pub exported_memh: &'a [u8],
}
#[cfg_attr(not(doctest), doc = " Sends `data` to worker `dest` of the domain.")]
#[cfg_attr(doctest, doc = " The command `TagSend`.")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TagSend<'a> {
    #[cfg_attr(not(doctest), doc = " Any value; the answer repeats it.")]
    #[cfg_attr(doctest, doc = " The field `context`.")]
    pub context: u64,
    #[cfg_attr(not(doctest), doc = " The receiver's id in the domain.")]
    #[cfg_attr(doctest, doc = " The field `dest`.")]
    pub dest: u64,
    #[cfg_attr(
        not(doctest),
        doc = " Travels with the command, or lies in registered memory; nothing unless set. Any number of sends may share\n registered bytes."
    )]
    #[cfg_attr(doctest, doc = " The field `data`.")]
    pub data: Data<'a>,
    #[cfg_attr(not(doctest), doc = " The tag to send with.")]
    #[cfg_attr(doctest, doc = " The field `tag`.")]
    pub tag: u64,
}
#[cfg_attr(not(doctest), doc = " Receives the first message whose tag matches.")]
#[cfg_attr(doctest, doc = " The command `TagRecv`.")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TagRecv {
    #[cfg_attr(not(doctest), doc = " Any value; the answer repeats it.")]
    #[cfg_attr(doctest, doc = " The field `context`.")]
    pub context: u64,
    #[cfg_attr(
        not(doctest),
        doc = " Where to receive in registered memory; not used without `memh_id`."
    )]
    #[cfg_attr(doctest, doc = " The field `buffer`.")]
    pub buffer: u64,
    #[cfg_attr(not(doctest), doc = " How many bytes fit.")]
    #[cfg_attr(doctest, doc = " The field `count`.")]
    pub count: u64,
    #[cfg_attr(not(doctest), doc = " The tag to match.")]
    #[cfg_attr(doctest, doc = " The field `tag`.")]
    pub tag: u64,
    #[cfg_attr(not(doctest), doc = " Which bits of the tag must match.")]
    #[cfg_attr(doctest, doc = " The field `tag_mask`.")]
    pub tag_mask: u64,
    #[cfg_attr(
        not(doctest),
        doc = " Which registered memory to receive into, where no other command may have these bytes (`UCS_ERR_BUSY`); 0\n (unless set) receives into the answer."
    )]
    #[cfg_attr(doctest, doc = " The field `memh_id`.")]
    pub memh_id: u64,
}
/// The protocol of the plugin `worker_sandbox`: its commands and notifications as one type.
#[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
pub struct Protocol;
/// What a plugin `worker_sandbox` does: one method for each command, which ends with the notification that answers it.
///
/// `#[urom_plugin] impl Handler for YourType` fills in the side and exports the plugin. A method that fails,
/// panics or is dropped at close is answered all the same, with zeros and the fitting status.
pub trait Handler<
    AnySide: ::urom_abi::protocol::PluginSide
        = <Self as ::urom_abi::protocol::FilledIn>::Side,
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
        ::urom_abi::wire::Vec<::core::primitive::u8>,
        AnySide::Error,
    > {
        ::core::result::Result::Ok(::urom_abi::wire::Vec::new())
    }
    /// Advances work of the plugin's own, such as a UCX worker; returns whether anything moved.
    ///
    /// The worker has it called again and again; on every second of its turns only, while answers are ready and no
    /// command is pending, so that they leave sooner.
    fn progress(&self) -> ::core::primitive::bool {
        false
    }
    #[cfg_attr(
        not(doctest),
        doc = " Registers memory for later sends and receives. The registration lasts as long as the worker, and is of use to the\n host that made it only."
    )]
    #[cfg_attr(doctest, doc = " Answers the command [`MemMap`].")]
    async fn mem_map(
        &self,
        cx: &AnySide::Context,
        cmd: MemMap<'_>,
    ) -> ::core::result::Result<MemMapped, AnySide::Error>;
    #[cfg_attr(not(doctest), doc = " Sends `data` to worker `dest` of the domain.")]
    #[cfg_attr(doctest, doc = " Answers the command [`TagSend`].")]
    async fn tag_send(
        &self,
        cx: &AnySide::Context,
        cmd: TagSend<'_>,
    ) -> ::core::result::Result<TagSent, AnySide::Error>;
    #[cfg_attr(not(doctest), doc = " Receives the first message whose tag matches.")]
    #[cfg_attr(doctest, doc = " Answers the command [`TagRecv`].")]
    async fn tag_recv(
        &self,
        cx: &AnySide::Context,
        cmd: TagRecv,
    ) -> ::core::result::Result<TagReceived, AnySide::Error>;
    #[doc(hidden)]
    fn __made_by_urom_command() -> Protocol {
        Protocol
    }
}
/// Sends commands to the plugin `worker_sandbox`: one `task_*` method for each command.
pub struct Client<AnyHost: ::urom_abi::protocol::HostSide> {
    plugin: AnyHost::Plugin,
}
/// A command [`MemMap`] that is ready to be submitted.
#[must_use = "a task does nothing until it is submitted"]
pub struct MemMapTask<'task, AnyHost: ::urom_abi::protocol::HostSide> {
    plugin: &'task AnyHost::Plugin,
    worker: &'task AnyHost::Worker,
    command: MemMap<'task>,
    deadline: ::core::option::Option<::core::time::Duration>,
}
/// A command [`TagSend`] that is ready to be submitted.
#[must_use = "a task does nothing until it is submitted"]
pub struct TagSendTask<'task, AnyHost: ::urom_abi::protocol::HostSide> {
    plugin: &'task AnyHost::Plugin,
    worker: &'task AnyHost::Worker,
    command: TagSend<'task>,
    deadline: ::core::option::Option<::core::time::Duration>,
}
/// A command [`TagRecv`] that is ready to be submitted.
#[must_use = "a task does nothing until it is submitted"]
pub struct TagRecvTask<'task, AnyHost: ::urom_abi::protocol::HostSide> {
    plugin: &'task AnyHost::Plugin,
    worker: &'task AnyHost::Worker,
    command: TagRecv,
    deadline: ::core::option::Option<::core::time::Duration>,
}
const _: () = {
    use ::urom_abi::wire::NotAnyBytes as _;
    use ::urom_abi::wire::layout as __layout;
    const __TAG: ::urom_abi::wire::Field<::core::primitive::u64, 0, __LEN> = ::urom_abi::wire::field::<
        ::core::primitive::u64,
        0,
        __LEN,
    >();
    const __UNION: __layout::Extent = __layout::union(
        &[
            __layout::structure(&__EXTENTS_MemMap),
            __layout::structure(&__EXTENTS_TagSend),
            __layout::structure(&__EXTENTS_TagRecv),
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
        ("MemMap", 0u64),
        ("TagSend", 1u64),
        ("TagRecv", 2u64),
    ];
    const __EXTENTS_MemMap: [__layout::Extent; 3usize] = [
        __layout::Extent::of::<u64>(),
        __layout::Extent::of::<MapParams>(),
        __layout::Extent::of::<::core::primitive::u64>(),
    ];
    const __OFFSETS_MemMap: [::core::primitive::usize; 3usize] = __layout::offsets(
        __UNION_AT,
        __EXTENTS_MemMap,
    );
    const __AT_MemMap_context: ::urom_abi::wire::Field<
        u64,
        { __OFFSETS_MemMap[0usize] },
        __LEN,
    > = ::urom_abi::wire::field::<u64, { __OFFSETS_MemMap[0usize] }, __LEN>();
    const __AT_MemMap_map_params: ::urom_abi::wire::Field<
        MapParams,
        { __OFFSETS_MemMap[1usize] },
        __LEN,
        { <::urom_abi::wire::AnyBytes<MapParams>>::ANY },
    > = ::urom_abi::wire::any_field::<
        MapParams,
        { __OFFSETS_MemMap[1usize] },
        __LEN,
        { <::urom_abi::wire::AnyBytes<MapParams>>::ANY },
    >();
    const __LENGTH_OF_MemMap_exported_memh: ::urom_abi::wire::Field<
        ::core::primitive::u64,
        { __OFFSETS_MemMap[2usize] },
        __LEN,
    > = ::urom_abi::wire::field::<
        ::core::primitive::u64,
        { __OFFSETS_MemMap[2usize] },
        __LEN,
    >();
    const __EXTENTS_TagSend: [__layout::Extent; 6usize] = [
        __layout::Extent::of::<u64>(),
        __layout::Extent::of::<u64>(),
        __layout::Extent::of::<::core::primitive::u64>(),
        __layout::Extent::of::<::core::primitive::u64>(),
        __layout::Extent::of::<u64>(),
        __layout::Extent::of::<u64>(),
    ];
    const __OFFSETS_TagSend: [::core::primitive::usize; 6usize] = __layout::offsets(
        __UNION_AT,
        __EXTENTS_TagSend,
    );
    const __AT_TagSend_context: ::urom_abi::wire::Field<
        u64,
        { __OFFSETS_TagSend[0usize] },
        __LEN,
    > = ::urom_abi::wire::field::<u64, { __OFFSETS_TagSend[0usize] }, __LEN>();
    const __AT_TagSend_dest: ::urom_abi::wire::Field<
        u64,
        { __OFFSETS_TagSend[1usize] },
        __LEN,
    > = ::urom_abi::wire::field::<u64, { __OFFSETS_TagSend[1usize] }, __LEN>();
    const __ADDRESS_OF_TagSend_data: ::urom_abi::wire::Field<
        ::core::primitive::u64,
        { __OFFSETS_TagSend[2usize] },
        __LEN,
    > = ::urom_abi::wire::field::<
        ::core::primitive::u64,
        { __OFFSETS_TagSend[2usize] },
        __LEN,
    >();
    const __LENGTH_OF_TagSend_data: ::urom_abi::wire::Field<
        ::core::primitive::u64,
        { __OFFSETS_TagSend[3usize] },
        __LEN,
    > = ::urom_abi::wire::field::<
        ::core::primitive::u64,
        { __OFFSETS_TagSend[3usize] },
        __LEN,
    >();
    const __AT_TagSend_tag: ::urom_abi::wire::Field<
        u64,
        { __OFFSETS_TagSend[4usize] },
        __LEN,
    > = ::urom_abi::wire::field::<u64, { __OFFSETS_TagSend[4usize] }, __LEN>();
    const __AT_TagSend_memh_id: ::urom_abi::wire::Field<
        u64,
        { __OFFSETS_TagSend[5usize] },
        __LEN,
    > = ::urom_abi::wire::field::<u64, { __OFFSETS_TagSend[5usize] }, __LEN>();
    const __EXTENTS_TagRecv: [__layout::Extent; 6usize] = [
        __layout::Extent::of::<u64>(),
        __layout::Extent::of::<u64>(),
        __layout::Extent::of::<u64>(),
        __layout::Extent::of::<u64>(),
        __layout::Extent::of::<u64>(),
        __layout::Extent::of::<u64>(),
    ];
    const __OFFSETS_TagRecv: [::core::primitive::usize; 6usize] = __layout::offsets(
        __UNION_AT,
        __EXTENTS_TagRecv,
    );
    const __AT_TagRecv_context: ::urom_abi::wire::Field<
        u64,
        { __OFFSETS_TagRecv[0usize] },
        __LEN,
    > = ::urom_abi::wire::field::<u64, { __OFFSETS_TagRecv[0usize] }, __LEN>();
    const __AT_TagRecv_buffer: ::urom_abi::wire::Field<
        u64,
        { __OFFSETS_TagRecv[1usize] },
        __LEN,
    > = ::urom_abi::wire::field::<u64, { __OFFSETS_TagRecv[1usize] }, __LEN>();
    const __AT_TagRecv_count: ::urom_abi::wire::Field<
        u64,
        { __OFFSETS_TagRecv[2usize] },
        __LEN,
    > = ::urom_abi::wire::field::<u64, { __OFFSETS_TagRecv[2usize] }, __LEN>();
    const __AT_TagRecv_tag: ::urom_abi::wire::Field<
        u64,
        { __OFFSETS_TagRecv[3usize] },
        __LEN,
    > = ::urom_abi::wire::field::<u64, { __OFFSETS_TagRecv[3usize] }, __LEN>();
    const __AT_TagRecv_tag_mask: ::urom_abi::wire::Field<
        u64,
        { __OFFSETS_TagRecv[4usize] },
        __LEN,
    > = ::urom_abi::wire::field::<u64, { __OFFSETS_TagRecv[4usize] }, __LEN>();
    const __AT_TagRecv_memh_id: ::urom_abi::wire::Field<
        u64,
        { __OFFSETS_TagRecv[5usize] },
        __LEN,
    > = ::urom_abi::wire::field::<u64, { __OFFSETS_TagRecv[5usize] }, __LEN>();
    const _: () = ::core::assert!(
        __LEN <= ::urom_abi::DEFAULT_MAX_MESSAGE - ::core::mem::size_of:: <
        ::urom_abi::plugin::WorkerCmd > (), "{}", ::urom_abi::wire::too_big(& [("MemMap",
        __layout::structure(& __EXTENTS_MemMap).size), ("TagSend", __layout::structure(&
        __EXTENTS_TagSend).size), ("TagRecv", __layout::structure(& __EXTENTS_TagRecv)
        .size)], __LEN, ::core::mem::size_of:: < ::urom_abi::plugin::WorkerCmd > (),
        "a message has at most 4096 bytes by default, and every variant takes as many as the largest: send what is large as an inline payload")
        .as_str(),
    );
    const _: () = ::core::assert!(
        ::urom_abi::wire::element:: < u8 > () > 0,
        "`u8` has no bytes, so nothing could count such elements: use a type with at least one"
    );
    use ::urom_abi::describe as __describe;
    use ::urom_abi::describe::NotDescribed as _;
    const __DESCRIPTION: __describe::Messages = __describe::Messages {
        name: "Command",
        docs: " What a host can ask of the sandbox plugin.",
        tag: <::core::primitive::u64 as __describe::Described>::TYPE,
        len: __LEN,
        union_at: __UNION_AT,
        header: &[],
        variants: &[
            __describe::Variant {
                name: "MemMap",
                docs: " Registers memory for later sends and receives. The registration lasts as long as the worker, and is of use to the\n host that made it only.",
                tag: 0u64,
                also: ::core::option::Option::None,
                reply: ::core::option::Option::Some("MemMapped"),
                fields: &[
                    __describe::Field {
                        name: "context",
                        docs: " Any value; the answer repeats it.",
                        kind: __describe::FieldKind::Echo,
                        ty: __describe::found_or_opaque::<
                            u64,
                        >(<__describe::Probe<u64>>::FOUND, "u64"),
                        offset: __OFFSETS_MemMap[0usize],
                        optional: true,
                    },
                    __describe::Field {
                        name: "map_params",
                        docs: " Which memory.",
                        kind: __describe::FieldKind::Plain,
                        ty: __describe::found_or_opaque::<
                            MapParams,
                        >(<__describe::Probe<MapParams>>::FOUND, "MapParams"),
                        offset: __OFFSETS_MemMap[1usize],
                        optional: false,
                    },
                    __describe::Field {
                        name: "exported_memh_len",
                        docs: "",
                        kind: __describe::FieldKind::Length {
                            of: "exported_memh",
                        },
                        ty: __describe::found_or_opaque::<
                            ::core::primitive::u64,
                        >(
                            <__describe::Probe<::core::primitive::u64>>::FOUND,
                            "::core::primitive::u64",
                        ),
                        offset: __OFFSETS_MemMap[2usize],
                        optional: false,
                    },
                ],
                payloads: &[
                    __describe::Payload {
                        name: "exported_memh",
                        docs: " The exported handle of the host's memory; empty for memory that the plugin allocates. The Rust plugin takes\n what `ucx::Memory::window` makes.",
                        ty: __describe::found_or_opaque::<
                            u8,
                        >(<__describe::Probe<u8>>::FOUND, "u8"),
                        count: __describe::Count::Word("exported_memh_len"),
                        address: ::core::option::Option::Some(
                            "map_params.exported_memh_buffer",
                        ),
                        when: ::core::option::Option::None,
                        constants: &[],
                        registered: false,
                        optional: true,
                    },
                ],
            },
            __describe::Variant {
                name: "TagSend",
                docs: " Sends `data` to worker `dest` of the domain.",
                tag: 1u64,
                also: ::core::option::Option::None,
                reply: ::core::option::Option::Some("TagSent"),
                fields: &[
                    __describe::Field {
                        name: "context",
                        docs: " Any value; the answer repeats it.",
                        kind: __describe::FieldKind::Echo,
                        ty: __describe::found_or_opaque::<
                            u64,
                        >(<__describe::Probe<u64>>::FOUND, "u64"),
                        offset: __OFFSETS_TagSend[0usize],
                        optional: true,
                    },
                    __describe::Field {
                        name: "dest",
                        docs: " The receiver's id in the domain.",
                        kind: __describe::FieldKind::Plain,
                        ty: __describe::found_or_opaque::<
                            u64,
                        >(<__describe::Probe<u64>>::FOUND, "u64"),
                        offset: __OFFSETS_TagSend[1usize],
                        optional: false,
                    },
                    __describe::Field {
                        name: "data_addr",
                        docs: "",
                        kind: __describe::FieldKind::Address {
                            of: "data",
                        },
                        ty: __describe::found_or_opaque::<
                            ::core::primitive::u64,
                        >(
                            <__describe::Probe<::core::primitive::u64>>::FOUND,
                            "::core::primitive::u64",
                        ),
                        offset: __OFFSETS_TagSend[2usize],
                        optional: false,
                    },
                    __describe::Field {
                        name: "data_len",
                        docs: "",
                        kind: __describe::FieldKind::Length {
                            of: "data",
                        },
                        ty: __describe::found_or_opaque::<
                            ::core::primitive::u64,
                        >(
                            <__describe::Probe<::core::primitive::u64>>::FOUND,
                            "::core::primitive::u64",
                        ),
                        offset: __OFFSETS_TagSend[3usize],
                        optional: false,
                    },
                    __describe::Field {
                        name: "tag",
                        docs: " The tag to send with.",
                        kind: __describe::FieldKind::Plain,
                        ty: __describe::found_or_opaque::<
                            u64,
                        >(<__describe::Probe<u64>>::FOUND, "u64"),
                        offset: __OFFSETS_TagSend[4usize],
                        optional: false,
                    },
                    __describe::Field {
                        name: "memh_id",
                        docs: " Which registered memory; 0 for data that travels with the command.",
                        kind: __describe::FieldKind::Selector {
                            of: "data",
                        },
                        ty: __describe::found_or_opaque::<
                            u64,
                        >(<__describe::Probe<u64>>::FOUND, "u64"),
                        offset: __OFFSETS_TagSend[5usize],
                        optional: false,
                    },
                ],
                payloads: &[
                    __describe::Payload {
                        name: "data",
                        docs: " Travels with the command, or lies in registered memory; nothing unless set. Any number of sends may share\n registered bytes.",
                        ty: __describe::found_or_opaque::<
                            ::core::primitive::u8,
                        >(
                            <__describe::Probe<::core::primitive::u8>>::FOUND,
                            "::core::primitive::u8",
                        ),
                        count: __describe::Count::Word("data_len"),
                        address: ::core::option::Option::Some("data_addr"),
                        when: ::core::option::Option::None,
                        constants: &[],
                        registered: true,
                        optional: true,
                    },
                ],
            },
            __describe::Variant {
                name: "TagRecv",
                docs: " Receives the first message whose tag matches.",
                tag: 2u64,
                also: ::core::option::Option::None,
                reply: ::core::option::Option::Some("TagReceived"),
                fields: &[
                    __describe::Field {
                        name: "context",
                        docs: " Any value; the answer repeats it.",
                        kind: __describe::FieldKind::Echo,
                        ty: __describe::found_or_opaque::<
                            u64,
                        >(<__describe::Probe<u64>>::FOUND, "u64"),
                        offset: __OFFSETS_TagRecv[0usize],
                        optional: true,
                    },
                    __describe::Field {
                        name: "buffer",
                        docs: " Where to receive in registered memory; not used without `memh_id`.",
                        kind: __describe::FieldKind::Plain,
                        ty: __describe::found_or_opaque::<
                            u64,
                        >(<__describe::Probe<u64>>::FOUND, "u64"),
                        offset: __OFFSETS_TagRecv[1usize],
                        optional: true,
                    },
                    __describe::Field {
                        name: "count",
                        docs: " How many bytes fit.",
                        kind: __describe::FieldKind::Plain,
                        ty: __describe::found_or_opaque::<
                            u64,
                        >(<__describe::Probe<u64>>::FOUND, "u64"),
                        offset: __OFFSETS_TagRecv[2usize],
                        optional: false,
                    },
                    __describe::Field {
                        name: "tag",
                        docs: " The tag to match.",
                        kind: __describe::FieldKind::Plain,
                        ty: __describe::found_or_opaque::<
                            u64,
                        >(<__describe::Probe<u64>>::FOUND, "u64"),
                        offset: __OFFSETS_TagRecv[3usize],
                        optional: false,
                    },
                    __describe::Field {
                        name: "tag_mask",
                        docs: " Which bits of the tag must match.",
                        kind: __describe::FieldKind::Plain,
                        ty: __describe::found_or_opaque::<
                            u64,
                        >(<__describe::Probe<u64>>::FOUND, "u64"),
                        offset: __OFFSETS_TagRecv[4usize],
                        optional: false,
                    },
                    __describe::Field {
                        name: "memh_id",
                        docs: " Which registered memory to receive into, where no other command may have these bytes (`UCS_ERR_BUSY`); 0\n (unless set) receives into the answer.",
                        kind: __describe::FieldKind::Plain,
                        ty: __describe::found_or_opaque::<
                            u64,
                        >(<__describe::Probe<u64>>::FOUND, "u64"),
                        offset: __OFFSETS_TagRecv[5usize],
                        optional: true,
                    },
                ],
                payloads: &[],
            },
        ],
    };
    ::urom_abi::__arbitrary! {
        fn __arbitrary_MemMap < 'a > (input : & mut ::urom_abi::arbitrary::Unstructured <
        'a >,) -> ::core::result::Result < Command < 'a >, ::urom_abi::arbitrary::Unfit >
        { let mut field_0 = ::urom_abi::arbitrary::plain(input, __AT_MemMap_context) ?;
        let mut field_1 = ::urom_abi::arbitrary::value(input, __AT_MemMap_map_params,
        const { & __describe::found_or_opaque:: < MapParams > (< __describe::Probe <
        MapParams >> ::FOUND, "MapParams") }) ?; let is_there = true; let field_2 =
        ::urom_abi::arbitrary::borrowed:: < & 'a[u8] > (input, is_there,
        ::urom_abi::arbitrary::Length:: < ::core::primitive::u64 > ::Free) ?; field_1
        .exported_memh_buffer = ::urom_abi::wire::address_word("MemMap", "exported_memh",
        & field_2) ?; ::core::result::Result::Ok(Command::MemMap { context : field_0,
        map_params : field_1, exported_memh : field_2 }) } fn __arbitrary_TagSend < 'a >
        (input : & mut ::urom_abi::arbitrary::Unstructured < 'a >,) ->
        ::core::result::Result < Command < 'a >, ::urom_abi::arbitrary::Unfit > { let mut
        field_0 = ::urom_abi::arbitrary::plain(input, __AT_TagSend_context) ?; let mut
        field_1 = ::urom_abi::arbitrary::plain(input, __AT_TagSend_dest) ?; let mut
        field_3 = ::urom_abi::arbitrary::plain(input, __AT_TagSend_tag) ?; let is_there =
        true; let field_2 = ::urom_abi::arbitrary::data(input,
        ::urom_abi::arbitrary::Length:: < ::core::primitive::u64 > ::Free) ?;
        ::core::result::Result::Ok(Command::TagSend { context : field_0, dest : field_1,
        data : field_2, tag : field_3 }) } fn __arbitrary_TagRecv < 'a > (input : & mut
        ::urom_abi::arbitrary::Unstructured < 'a >,) -> ::core::result::Result < Command
        < 'a >, ::urom_abi::arbitrary::Unfit > { let mut field_0 =
        ::urom_abi::arbitrary::plain(input, __AT_TagRecv_context) ?; let mut field_1 =
        ::urom_abi::arbitrary::plain(input, __AT_TagRecv_buffer) ?; let mut field_2 =
        ::urom_abi::arbitrary::plain(input, __AT_TagRecv_count) ?; let mut field_3 =
        ::urom_abi::arbitrary::plain(input, __AT_TagRecv_tag) ?; let mut field_4 =
        ::urom_abi::arbitrary::plain(input, __AT_TagRecv_tag_mask) ?; let mut field_5 =
        ::urom_abi::arbitrary::plain(input, __AT_TagRecv_memh_id) ?;
        ::core::result::Result::Ok(Command::TagRecv { context : field_0, buffer :
        field_1, count : field_2, tag : field_3, tag_mask : field_4, memh_id : field_5 })
        } #[automatically_derived] impl < 'a > ::urom_abi::arbitrary::Arbitrary < 'a >
        for Command < 'a > { fn arbitrary(input : & mut
        ::urom_abi::arbitrary::Unstructured < 'a >,) -> ::urom_abi::arbitrary::Result <
        Self > { ::urom_abi::arbitrary::attempt(input, | input | { let chosen =
        ::urom_abi::arbitrary::choose(input, 3usize) ?; match chosen { 0usize =>
        __arbitrary_MemMap(input), 1usize => __arbitrary_TagSend(input), 2usize =>
        __arbitrary_TagRecv(input), _ =>
        ::core::result::Result::Err(::urom_abi::arbitrary::Unfit), } }, | made | {
        ::urom_abi::arbitrary::can_be_written(Command::encoded_len(made), | out |
        Command::encode(made, out)) }) } } #[automatically_derived] impl < 'a >
        ::urom_abi::arbitrary::Arbitrary < 'a > for MemMap < 'a > { fn arbitrary(input :
        & mut ::urom_abi::arbitrary::Unstructured < 'a >,) ->
        ::urom_abi::arbitrary::Result < Self > { match
        ::urom_abi::arbitrary::attempt(input, __arbitrary_MemMap, | made | {
        ::urom_abi::arbitrary::can_be_written(Command::encoded_len(made), | out |
        Command::encode(made, out)) }) ? { Command::MemMap { context, map_params,
        exported_memh, .. } => ::core::result::Result::Ok(MemMap { context, map_params,
        exported_memh }), _ =>
        ::core::result::Result::Err(::urom_abi::arbitrary::Error::IncorrectFormat), } } }
        #[automatically_derived] impl < 'a > ::urom_abi::arbitrary::Arbitrary < 'a > for
        TagSend < 'a > { fn arbitrary(input : & mut ::urom_abi::arbitrary::Unstructured <
        'a >,) -> ::urom_abi::arbitrary::Result < Self > { match
        ::urom_abi::arbitrary::attempt(input, __arbitrary_TagSend, | made | {
        ::urom_abi::arbitrary::can_be_written(Command::encoded_len(made), | out |
        Command::encode(made, out)) }) ? { Command::TagSend { context, dest, data, tag,
        .. } => ::core::result::Result::Ok(TagSend { context, dest, data, tag }), _ =>
        ::core::result::Result::Err(::urom_abi::arbitrary::Error::IncorrectFormat), } } }
        #[automatically_derived] impl < 'a > ::urom_abi::arbitrary::Arbitrary < 'a > for
        TagRecv { fn arbitrary(input : & mut ::urom_abi::arbitrary::Unstructured < 'a >,)
        -> ::urom_abi::arbitrary::Result < Self > { match
        ::urom_abi::arbitrary::attempt(input, __arbitrary_TagRecv, | made | {
        ::urom_abi::arbitrary::can_be_written(Command::encoded_len(made), | out |
        Command::encode(made, out)) }) ? { Command::TagRecv { context, buffer, count,
        tag, tag_mask, memh_id, .. } => ::core::result::Result::Ok(TagRecv { context,
        buffer, count, tag, tag_mask, memh_id }), _ =>
        ::core::result::Result::Err(::urom_abi::arbitrary::Error::IncorrectFormat), } } }
    }
    type __Notifications = Notification;
    const __ANSWERS: &::urom_abi::describe::Messages = &<Notification as ::urom_abi::wire::Notifications>::DESCRIPTION;
    const _: () = ::urom_abi::wire::assert_notification(__ANSWERS, "MemMapped");
    const _: () = ::urom_abi::wire::assert_notification(__ANSWERS, "TagSent");
    const _: () = ::urom_abi::wire::assert_notification(__ANSWERS, "TagReceived");
    const _: () = {
        let _ = Command::decode;
        let _ = Command::encode;
    };
    #[automatically_derived]
    impl<'a> Command<'a> {
        /// The size in bytes of every message without its inline payloads.
        pub const FIXED_LEN: ::core::primitive::usize = __LEN;
        /// Reads a message of any variant.
        ///
        /// # Errors
        /// Which field is wrong, and how; a tag that no variant has lists those there are.
        #[inline]
        pub fn decode(
            bytes: &'a [::core::primitive::u8],
        ) -> ::core::result::Result<Command<'a>, ::urom_abi::wire::DecodeError> {
            ::core::result::Result::Ok(
                match ::urom_abi::wire::tag::<
                    ::core::primitive::u64,
                    __LEN,
                >("Command", bytes)? {
                    0u64 => {
                        <Command<
                            'a,
                        > as ::core::convert::From<
                            MemMap<'a>,
                        >>::from(MemMap::decode(bytes)?)
                    }
                    1u64 => {
                        <Command<
                            'a,
                        > as ::core::convert::From<
                            TagSend<'a>,
                        >>::from(TagSend::decode(bytes)?)
                    }
                    2u64 => {
                        <Command<
                            'a,
                        > as ::core::convert::From<
                            TagRecv,
                        >>::from(TagRecv::decode(bytes)?)
                    }
                    found => {
                        ::core::result::Result::Err(
                            ::urom_abi::wire::unknown_tag("Command", found, __KNOWN),
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
            ::urom_abi::wire::EncodeError,
        > {
            match self {
                Command::MemMap {
                    context: field_0,
                    map_params: field_1,
                    exported_memh: field_2,
                } => __write_MemMap(out, (field_0, field_1, field_2)),
                Command::TagSend {
                    context: field_0,
                    dest: field_1,
                    data: field_2,
                    tag: field_3,
                } => __write_TagSend(out, (field_0, field_1, field_2, field_3)),
                Command::TagRecv {
                    context: field_0,
                    buffer: field_1,
                    count: field_2,
                    tag: field_3,
                    tag_mask: field_4,
                    memh_id: field_5,
                } => {
                    __write_TagRecv(
                        out,
                        (field_0, field_1, field_2, field_3, field_4, field_5),
                    )
                }
            }
        }
        /// How many bytes `encode` writes; `None` when that cannot be counted in a `usize`.
        #[inline]
        pub fn encoded_len(&self) -> ::core::option::Option<::core::primitive::usize> {
            match self {
                Command::MemMap {
                    context: field_0,
                    map_params: field_1,
                    exported_memh: field_2,
                } => {
                    ::urom_abi::wire::total(
                        __LEN,
                        &[::urom_abi::wire::bytes(field_2).len()],
                    )
                }
                Command::TagSend {
                    context: field_0,
                    dest: field_1,
                    data: field_2,
                    tag: field_3,
                } => {
                    ::urom_abi::wire::total(
                        __LEN,
                        &[::urom_abi::wire::bytes(field_2).len()],
                    )
                }
                Command::TagRecv {
                    context: field_0,
                    buffer: field_1,
                    count: field_2,
                    tag: field_3,
                    tag_mask: field_4,
                    memh_id: field_5,
                } => ::core::option::Option::Some(__LEN),
            }
        }
    }
    const _: () = ::core::assert!(
        ::urom_abi::wire::echoes_all(< < MemMapped as ::urom_abi::wire::Answer <
        __Notifications >> ::Echo as ::urom_abi::wire::Echo > ::NAMES, &
        [::urom_abi::wire::echo_name("context")]),
        "`MemMapped` echoes a field that `MemMap` does not: mark the command's field of the same name `#[urom(echo)]`, or remove `echo` in the notification",
    );
    #[inline(always)]
    fn __write_MemMap(
        out: &mut [::core::primitive::u8],
        (field_0, field_1, field_2): (&u64, &MapParams, &&'_ [u8]),
    ) -> ::core::result::Result<
        ::core::primitive::usize,
        ::urom_abi::wire::EncodeError,
    > {
        let mut copy_of_map_params = __AT_MemMap_map_params.copy(field_1);
        copy_of_map_params.exported_memh_buffer = ::urom_abi::wire::address_word(
            "MemMap",
            "exported_memh",
            field_2,
        )?;
        let length_word_of_exported_memh: ::core::primitive::u64 = ::urom_abi::wire::length_word(
            "MemMap",
            "exported_memh",
            field_2,
        )?;
        ::urom_abi::wire::message::<
            __LEN,
            _,
        >(
            "MemMap",
            out,
            [::urom_abi::wire::bytes(field_2)],
            |fixed| {
                __TAG.write(fixed, &0);
                __AT_MemMap_context.write(fixed, field_0);
                __AT_MemMap_map_params.write(fixed, &copy_of_map_params);
                __LENGTH_OF_MemMap_exported_memh
                    .write(fixed, &length_word_of_exported_memh);
            },
        )
    }
    #[automatically_derived]
    impl<'a> ::core::convert::From<MemMap<'a>> for Command<'a> {
        #[inline]
        fn from(message: MemMap<'a>) -> Command<'a> {
            Command::MemMap {
                context: message.context,
                map_params: message.map_params,
                exported_memh: message.exported_memh,
            }
        }
    }
    #[automatically_derived]
    impl<'a> MemMap<'a> {
        /// Reads the command.
        ///
        /// # Errors
        /// Which field is wrong, and how.
        #[inline]
        pub fn decode(
            bytes: &'a [::core::primitive::u8],
        ) -> ::core::result::Result<MemMap<'a>, ::urom_abi::wire::DecodeError> {
            let (fixed, mut behind) = ::urom_abi::wire::start::<__LEN>("MemMap", bytes)?;
            ::urom_abi::wire::own_tag(
                "MemMap",
                __TAG.read(fixed),
                0u64,
                ::core::option::Option::None,
            )?;
            let field_0 = __AT_MemMap_context.read(fixed);
            let field_1 = __AT_MemMap_map_params
                .checked(
                    fixed,
                    "MemMap",
                    "map_params",
                    const {
                        &__describe::found_or_opaque::<
                            MapParams,
                        >(<__describe::Probe<MapParams>>::FOUND, "MapParams")
                    },
                )?;
            let field_2 = behind
                .take::<
                    &'a [u8],
                >("exported_memh", true, __LENGTH_OF_MemMap_exported_memh.read(fixed))?;
            behind.end()?;
            ::core::result::Result::Ok(MemMap {
                context: field_0,
                map_params: field_1,
                exported_memh: field_2,
            })
        }
    }
    #[automatically_derived]
    impl<'a> ::urom_abi::protocol::Request for MemMap<'a> {
        type Protocol = Protocol;
        type Reply = <MemMapped as ::urom_abi::wire::Answer<__Notifications>>::This;
        type Kind = MemMap<'static>;
        #[inline]
        fn encoded_len(&self) -> ::core::option::Option<::core::primitive::usize> {
            ::urom_abi::wire::total(
                __LEN,
                &[::urom_abi::wire::bytes(&self.exported_memh).len()],
            )
        }
        #[inline]
        fn encode(
            &self,
            out: &mut [::core::primitive::u8],
        ) -> ::core::result::Result<
            ::core::primitive::usize,
            ::urom_abi::wire::EncodeError,
        > {
            __write_MemMap(out, (&self.context, &self.map_params, &self.exported_memh))
        }
        #[inline]
        fn echo(
            &self,
        ) -> <MemMapped as ::urom_abi::wire::Answer<__Notifications>>::Echo {
            let mut __echo = <<MemMapped as ::urom_abi::wire::Answer<
                __Notifications,
            >>::Echo as ::urom_abi::wire::Echo>::zero();
            ::urom_abi::wire::Echoes::<
                { ::urom_abi::wire::echo_name("context") },
            >::set(&mut __echo, __AT_MemMap_context.copy(&self.context));
            __echo
        }
    }
    const _: () = ::core::assert!(
        ::urom_abi::wire::echoes_all(< < TagSent as ::urom_abi::wire::Answer <
        __Notifications >> ::Echo as ::urom_abi::wire::Echo > ::NAMES, &
        [::urom_abi::wire::echo_name("context")]),
        "`TagSent` echoes a field that `TagSend` does not: mark the command's field of the same name `#[urom(echo)]`, or remove `echo` in the notification",
    );
    #[inline(always)]
    fn __write_TagSend(
        out: &mut [::core::primitive::u8],
        (field_0, field_1, field_2, field_3): (&u64, &u64, &Data<'_>, &u64),
    ) -> ::core::result::Result<
        ::core::primitive::usize,
        ::urom_abi::wire::EncodeError,
    > {
        let address_word_of_data: ::core::primitive::u64 = ::urom_abi::wire::address_word(
            "TagSend",
            "data",
            field_2,
        )?;
        let length_word_of_data: ::core::primitive::u64 = ::urom_abi::wire::length_word(
            "TagSend",
            "data",
            field_2,
        )?;
        let word_memh_id: u64 = ::urom_abi::wire::selector_word(
            "TagSend",
            "data",
            field_2,
        )?;
        ::urom_abi::wire::message::<
            __LEN,
            _,
        >(
            "TagSend",
            out,
            [::urom_abi::wire::bytes(field_2)],
            |fixed| {
                __TAG.write(fixed, &1);
                __AT_TagSend_context.write(fixed, field_0);
                __AT_TagSend_dest.write(fixed, field_1);
                __ADDRESS_OF_TagSend_data.write(fixed, &address_word_of_data);
                __LENGTH_OF_TagSend_data.write(fixed, &length_word_of_data);
                __AT_TagSend_tag.write(fixed, field_3);
                __AT_TagSend_memh_id.write(fixed, &word_memh_id);
            },
        )
    }
    #[automatically_derived]
    impl<'a> ::core::convert::From<TagSend<'a>> for Command<'a> {
        #[inline]
        fn from(message: TagSend<'a>) -> Command<'a> {
            Command::TagSend {
                context: message.context,
                dest: message.dest,
                data: message.data,
                tag: message.tag,
            }
        }
    }
    #[automatically_derived]
    impl<'a> TagSend<'a> {
        /// Reads the command.
        ///
        /// # Errors
        /// Which field is wrong, and how.
        #[inline]
        pub fn decode(
            bytes: &'a [::core::primitive::u8],
        ) -> ::core::result::Result<TagSend<'a>, ::urom_abi::wire::DecodeError> {
            let (fixed, mut behind) = ::urom_abi::wire::start::<
                __LEN,
            >("TagSend", bytes)?;
            ::urom_abi::wire::own_tag(
                "TagSend",
                __TAG.read(fixed),
                1u64,
                ::core::option::Option::None,
            )?;
            let field_0 = __AT_TagSend_context.read(fixed);
            let field_1 = __AT_TagSend_dest.read(fixed);
            let field_3 = __AT_TagSend_tag.read(fixed);
            let field_2 = behind
                .data(
                    "data",
                    __AT_TagSend_memh_id.read(fixed),
                    __ADDRESS_OF_TagSend_data.read(fixed),
                    __LENGTH_OF_TagSend_data.read(fixed),
                )?;
            behind.end()?;
            ::core::result::Result::Ok(TagSend {
                context: field_0,
                dest: field_1,
                data: field_2,
                tag: field_3,
            })
        }
    }
    #[automatically_derived]
    impl<'a> ::urom_abi::protocol::Request for TagSend<'a> {
        type Protocol = Protocol;
        type Reply = <TagSent as ::urom_abi::wire::Answer<__Notifications>>::This;
        type Kind = TagSend<'static>;
        #[inline]
        fn encoded_len(&self) -> ::core::option::Option<::core::primitive::usize> {
            ::urom_abi::wire::total(__LEN, &[::urom_abi::wire::bytes(&self.data).len()])
        }
        #[inline]
        fn encode(
            &self,
            out: &mut [::core::primitive::u8],
        ) -> ::core::result::Result<
            ::core::primitive::usize,
            ::urom_abi::wire::EncodeError,
        > {
            __write_TagSend(out, (&self.context, &self.dest, &self.data, &self.tag))
        }
        #[inline]
        fn echo(&self) -> <TagSent as ::urom_abi::wire::Answer<__Notifications>>::Echo {
            let mut __echo = <<TagSent as ::urom_abi::wire::Answer<
                __Notifications,
            >>::Echo as ::urom_abi::wire::Echo>::zero();
            ::urom_abi::wire::Echoes::<
                { ::urom_abi::wire::echo_name("context") },
            >::set(&mut __echo, __AT_TagSend_context.copy(&self.context));
            __echo
        }
    }
    const _: () = ::core::assert!(
        ::urom_abi::wire::echoes_all(< < TagReceived as ::urom_abi::wire::Answer <
        __Notifications >> ::Echo as ::urom_abi::wire::Echo > ::NAMES, &
        [::urom_abi::wire::echo_name("context")]),
        "`TagReceived` echoes a field that `TagRecv` does not: mark the command's field of the same name `#[urom(echo)]`, or remove `echo` in the notification",
    );
    #[inline(always)]
    fn __write_TagRecv(
        out: &mut [::core::primitive::u8],
        (
            field_0,
            field_1,
            field_2,
            field_3,
            field_4,
            field_5,
        ): (&u64, &u64, &u64, &u64, &u64, &u64),
    ) -> ::core::result::Result<
        ::core::primitive::usize,
        ::urom_abi::wire::EncodeError,
    > {
        let fixed = ::urom_abi::wire::room::<__LEN>("TagRecv", out)?;
        __TAG.write(fixed, &2);
        __AT_TagRecv_context.write(fixed, field_0);
        __AT_TagRecv_buffer.write(fixed, field_1);
        __AT_TagRecv_count.write(fixed, field_2);
        __AT_TagRecv_tag.write(fixed, field_3);
        __AT_TagRecv_tag_mask.write(fixed, field_4);
        __AT_TagRecv_memh_id.write(fixed, field_5);
        ::core::result::Result::Ok(__LEN)
    }
    #[automatically_derived]
    impl<'a> ::core::convert::From<TagRecv> for Command<'a> {
        #[inline]
        fn from(message: TagRecv) -> Command<'a> {
            Command::TagRecv {
                context: message.context,
                buffer: message.buffer,
                count: message.count,
                tag: message.tag,
                tag_mask: message.tag_mask,
                memh_id: message.memh_id,
            }
        }
    }
    #[automatically_derived]
    impl TagRecv {
        /// Reads the command.
        ///
        /// # Errors
        /// Which field is wrong, and how.
        #[inline]
        pub fn decode(
            bytes: &[::core::primitive::u8],
        ) -> ::core::result::Result<TagRecv, ::urom_abi::wire::DecodeError> {
            let fixed = ::urom_abi::wire::exact::<__LEN>("TagRecv", bytes)?;
            ::urom_abi::wire::own_tag(
                "TagRecv",
                __TAG.read(fixed),
                2u64,
                ::core::option::Option::None,
            )?;
            ::core::result::Result::Ok(TagRecv {
                context: __AT_TagRecv_context.read(fixed),
                buffer: __AT_TagRecv_buffer.read(fixed),
                count: __AT_TagRecv_count.read(fixed),
                tag: __AT_TagRecv_tag.read(fixed),
                tag_mask: __AT_TagRecv_tag_mask.read(fixed),
                memh_id: __AT_TagRecv_memh_id.read(fixed),
            })
        }
    }
    #[automatically_derived]
    impl ::urom_abi::protocol::Request for TagRecv {
        type Protocol = Protocol;
        type Reply = <TagReceived as ::urom_abi::wire::Answer<__Notifications>>::This;
        type Kind = TagRecv;
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
            ::urom_abi::wire::EncodeError,
        > {
            __write_TagRecv(
                out,
                (
                    &self.context,
                    &self.buffer,
                    &self.count,
                    &self.tag,
                    &self.tag_mask,
                    &self.memh_id,
                ),
            )
        }
        #[inline]
        fn echo(
            &self,
        ) -> <TagReceived as ::urom_abi::wire::Answer<__Notifications>>::Echo {
            let mut __echo = <<TagReceived as ::urom_abi::wire::Answer<
                __Notifications,
            >>::Echo as ::urom_abi::wire::Echo>::zero();
            ::urom_abi::wire::Echoes::<
                { ::urom_abi::wire::echo_name("context") },
            >::set(&mut __echo, __AT_TagRecv_context.copy(&self.context));
            __echo
        }
    }
    #[automatically_derived]
    impl ::urom_abi::protocol::Protocol for Protocol {
        const NAME: &'static ::core::primitive::str = "worker_sandbox";
        const VERSION: ::core::primitive::u64 = 1u64;
        const COMMAND_LEN: ::core::primitive::usize = __LEN;
        const NOTIFICATION_LEN: ::core::primitive::usize = <Notification as ::urom_abi::wire::Notifications>::LEN;
        const DESCRIPTION: &'static ::urom_abi::describe::Protocol = &::urom_abi::describe::Protocol {
            name: "worker_sandbox",
            version: 1u64,
            commands: __DESCRIPTION,
            notifications: <Notification as ::urom_abi::wire::Notifications>::DESCRIPTION,
        };
        type Client<AnyHost: ::urom_abi::protocol::HostSide> = Client<AnyHost>;
        fn client<AnyHost: ::urom_abi::protocol::HostSide>(
            plugin: AnyHost::Plugin,
        ) -> Client<AnyHost> {
            Client { plugin }
        }
        fn refusal(
            command: &[::core::primitive::u8],
        ) -> ::core::result::Result<
            ::urom_abi::descriptor::NotificationDesc,
            ::urom_abi::wire::EncodeError,
        > {
            match ::urom_abi::wire::tag::<
                ::core::primitive::u64,
                __LEN,
            >("Command", command) {
                ::core::result::Result::Ok(0u64) => {
                    let __echoed = {
                        let mut __echo = <<MemMapped as ::urom_abi::wire::Answer<
                            __Notifications,
                        >>::Echo as ::urom_abi::wire::Echo>::zero();
                        ::urom_abi::wire::Echoes::<
                            { ::urom_abi::wire::echo_name("context") },
                        >::set(&mut __echo, __AT_MemMap_context.read_or_zero(command));
                        __echo
                    };
                    __echoed.refusal()
                }
                ::core::result::Result::Ok(1u64) => {
                    let __echoed = {
                        let mut __echo = <<TagSent as ::urom_abi::wire::Answer<
                            __Notifications,
                        >>::Echo as ::urom_abi::wire::Echo>::zero();
                        ::urom_abi::wire::Echoes::<
                            { ::urom_abi::wire::echo_name("context") },
                        >::set(&mut __echo, __AT_TagSend_context.read_or_zero(command));
                        __echo
                    };
                    __echoed.refusal()
                }
                ::core::result::Result::Ok(2u64) => {
                    let __echoed = {
                        let mut __echo = <<TagReceived as ::urom_abi::wire::Answer<
                            __Notifications,
                        >>::Echo as ::urom_abi::wire::Echo>::zero();
                        ::urom_abi::wire::Echoes::<
                            { ::urom_abi::wire::echo_name("context") },
                        >::set(&mut __echo, __AT_TagRecv_context.read_or_zero(command));
                        __echo
                    };
                    __echoed.refusal()
                }
                ::core::result::Result::Ok(found) => {
                    <Notification as ::urom_abi::wire::Notifications>::refusal(found)
                }
                ::core::result::Result::Err(_) => {
                    <Notification as ::urom_abi::wire::Notifications>::refusal(0)
                }
            }
        }
    }
    #[automatically_derived]
    impl<AnySide, AnyHandler> ::urom_abi::protocol::Serve<AnySide, AnyHandler>
    for Protocol
    where
        AnySide: ::urom_abi::protocol::PluginSide,
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
            ::urom_abi::wire::Vec<::core::primitive::u8>,
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
            ::urom_abi::descriptor::NotificationDesc,
            AnySide::Error,
        > {
            ::core::result::Result::Ok(
                match ::urom_abi::wire::tag::<
                    ::core::primitive::u64,
                    __LEN,
                >("Command", bytes)? {
                    0u64 => {
                        ::urom_abi::wire::serve(
                                move || MemMap::decode(bytes),
                                move |command| <AnyHandler as Handler<
                                    AnySide,
                                >>::mem_map(handler, cx, command),
                            )
                            .await?
                    }
                    1u64 => {
                        ::urom_abi::wire::serve(
                                move || TagSend::decode(bytes),
                                move |command| <AnyHandler as Handler<
                                    AnySide,
                                >>::tag_send(handler, cx, command),
                            )
                            .await?
                    }
                    2u64 => {
                        ::urom_abi::wire::serve(
                                move || TagRecv::decode(bytes),
                                move |command| <AnyHandler as Handler<
                                    AnySide,
                                >>::tag_recv(handler, cx, command),
                            )
                            .await?
                    }
                    found => {
                        ::core::result::Result::Err(
                            ::urom_abi::wire::unknown_tag("Command", found, __KNOWN),
                        )?
                    }
                },
            )
        }
    }
    #[automatically_derived]
    impl<AnyHost: ::urom_abi::protocol::HostSide> ::core::clone::Clone
    for Client<AnyHost> {
        fn clone(&self) -> Self {
            Client {
                plugin: ::core::clone::Clone::clone(&self.plugin),
            }
        }
    }
    #[automatically_derived]
    impl<AnyHost: ::urom_abi::protocol::HostSide> ::core::fmt::Debug
    for Client<AnyHost> {
        fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
            ::core::fmt::Formatter::write_str(
                f,
                ::core::concat!("Client(", "worker_sandbox", ")"),
            )
        }
    }
    #[automatically_derived]
    impl<AnyHost: ::urom_abi::protocol::HostSide> ::core::convert::AsRef<AnyHost::Plugin>
    for Client<AnyHost> {
        fn as_ref(&self) -> &AnyHost::Plugin {
            &self.plugin
        }
    }
    #[automatically_derived]
    impl<AnyHost: ::urom_abi::protocol::HostSide> Client<AnyHost> {
        /// The plugin as the service knows it.
        pub fn plugin(&self) -> &AnyHost::Plugin {
            &self.plugin
        }
        #[cfg_attr(
            not(doctest),
            doc = " Registers memory for later sends and receives. The registration lasts as long as the worker, and is of use to the\n host that made it only."
        )]
        #[cfg_attr(doctest, doc = " Makes the command [`MemMap`].")]
        pub fn task_mem_map<'task>(
            &'task self,
            worker: &'task AnyHost::Worker,
            map_params: MapParams,
        ) -> MemMapTask<'task, AnyHost> {
            MemMapTask {
                plugin: &self.plugin,
                worker: worker,
                command: MemMap {
                    context: __AT_MemMap_context.zero(),
                    map_params,
                    exported_memh: ::urom_abi::wire::unset(),
                },
                deadline: ::core::option::Option::None,
            }
        }
        #[cfg_attr(not(doctest), doc = " Sends `data` to worker `dest` of the domain.")]
        #[cfg_attr(doctest, doc = " Makes the command [`TagSend`].")]
        pub fn task_tag_send<'task>(
            &'task self,
            worker: &'task AnyHost::Worker,
            dest: u64,
            tag: u64,
        ) -> TagSendTask<'task, AnyHost> {
            TagSendTask {
                plugin: &self.plugin,
                worker: worker,
                command: TagSend {
                    context: __AT_TagSend_context.zero(),
                    dest,
                    data: ::urom_abi::wire::unset(),
                    tag,
                },
                deadline: ::core::option::Option::None,
            }
        }
        #[cfg_attr(not(doctest), doc = " Receives the first message whose tag matches.")]
        #[cfg_attr(doctest, doc = " Makes the command [`TagRecv`].")]
        pub fn task_tag_recv<'task>(
            &'task self,
            worker: &'task AnyHost::Worker,
            count: u64,
            tag: u64,
            tag_mask: u64,
        ) -> TagRecvTask<'task, AnyHost> {
            TagRecvTask {
                plugin: &self.plugin,
                worker: worker,
                command: TagRecv {
                    context: __AT_TagRecv_context.zero(),
                    buffer: __AT_TagRecv_buffer.zero(),
                    count,
                    tag,
                    tag_mask,
                    memh_id: __AT_TagRecv_memh_id.zero(),
                },
                deadline: ::core::option::Option::None,
            }
        }
    }
    #[automatically_derived]
    impl<'task, AnyHost: ::urom_abi::protocol::HostSide> MemMapTask<'task, AnyHost> {
        #[cfg_attr(not(doctest), doc = " Any value; the answer repeats it.")]
        #[cfg_attr(
            doctest,
            doc = " Sets `context`, which the answer repeats; 0 unless set."
        )]
        pub fn context(mut self, context: u64) -> Self {
            self.command.context = context;
            self
        }
        #[cfg_attr(
            not(doctest),
            doc = " The exported handle of the host's memory; empty for memory that the plugin allocates. The Rust plugin takes\n what `ucx::Memory::window` makes."
        )]
        #[cfg_attr(
            doctest,
            doc = " Sets `exported_memh`; empty or not there unless set."
        )]
        pub fn exported_memh(mut self, exported_memh: &'task [u8]) -> Self {
            self.command.exported_memh = exported_memh;
            self
        }
        /// Fails the task with `TIME_OUT` when it is not answered within `limit` of its submission. In place of
        /// what the worker was started with; the longest there is means no deadline.
        pub fn deadline(mut self, limit: ::core::time::Duration) -> Self {
            self.deadline = ::core::option::Option::Some(limit);
            self
        }
        /// Submits the command. What it returns resolves to the notification.
        ///
        /// # Errors
        /// What stopped it; nothing was sent then.
        pub fn submit(
            self,
        ) -> ::core::result::Result<
            AnyHost::Completion<MemMap<'static>>,
            AnyHost::Error,
        > {
            <AnyHost as ::urom_abi::protocol::HostSide>::submit(
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
        pub fn submit_with<AnyCallback>(
            self,
            callback: AnyCallback,
        ) -> ::core::result::Result<AnyHost::Handle, AnyHost::Error>
        where
            AnyCallback: ::core::ops::FnOnce(
                    ::core::result::Result<MemMapped, AnyHost::Error>,
                ) + 'static,
        {
            <AnyHost as ::urom_abi::protocol::HostSide>::submit_with(
                self.plugin,
                self.worker,
                &self.command,
                self.deadline,
                callback,
            )
        }
    }
    #[automatically_derived]
    impl<'task, AnyHost: ::urom_abi::protocol::HostSide> TagSendTask<'task, AnyHost> {
        #[cfg_attr(not(doctest), doc = " Any value; the answer repeats it.")]
        #[cfg_attr(
            doctest,
            doc = " Sets `context`, which the answer repeats; 0 unless set."
        )]
        pub fn context(mut self, context: u64) -> Self {
            self.command.context = context;
            self
        }
        #[cfg_attr(
            not(doctest),
            doc = " Travels with the command, or lies in registered memory; nothing unless set. Any number of sends may share\n registered bytes."
        )]
        #[cfg_attr(doctest, doc = " Sets `data`; empty or not there unless set.")]
        pub fn data(mut self, data: impl ::core::convert::Into<Data<'task>>) -> Self {
            self.command.data = ::core::convert::Into::into(data);
            self
        }
        /// Fails the task with `TIME_OUT` when it is not answered within `limit` of its submission. In place of
        /// what the worker was started with; the longest there is means no deadline.
        pub fn deadline(mut self, limit: ::core::time::Duration) -> Self {
            self.deadline = ::core::option::Option::Some(limit);
            self
        }
        /// Submits the command. What it returns resolves to the notification.
        ///
        /// # Errors
        /// What stopped it; nothing was sent then.
        pub fn submit(
            self,
        ) -> ::core::result::Result<
            AnyHost::Completion<TagSend<'static>>,
            AnyHost::Error,
        > {
            <AnyHost as ::urom_abi::protocol::HostSide>::submit(
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
        pub fn submit_with<AnyCallback>(
            self,
            callback: AnyCallback,
        ) -> ::core::result::Result<AnyHost::Handle, AnyHost::Error>
        where
            AnyCallback: ::core::ops::FnOnce(
                    ::core::result::Result<TagSent, AnyHost::Error>,
                ) + 'static,
        {
            <AnyHost as ::urom_abi::protocol::HostSide>::submit_with(
                self.plugin,
                self.worker,
                &self.command,
                self.deadline,
                callback,
            )
        }
    }
    #[automatically_derived]
    impl<'task, AnyHost: ::urom_abi::protocol::HostSide> TagRecvTask<'task, AnyHost> {
        #[cfg_attr(not(doctest), doc = " Any value; the answer repeats it.")]
        #[cfg_attr(
            doctest,
            doc = " Sets `context`, which the answer repeats; 0 unless set."
        )]
        pub fn context(mut self, context: u64) -> Self {
            self.command.context = context;
            self
        }
        #[cfg_attr(
            not(doctest),
            doc = " Where to receive in registered memory; not used without `memh_id`."
        )]
        #[cfg_attr(doctest, doc = " Sets `buffer`; 0 unless set.")]
        pub fn buffer(mut self, buffer: u64) -> Self {
            self.command.buffer = buffer;
            self
        }
        #[cfg_attr(
            not(doctest),
            doc = " Which registered memory to receive into, where no other command may have these bytes (`UCS_ERR_BUSY`); 0\n (unless set) receives into the answer."
        )]
        #[cfg_attr(doctest, doc = " Sets `memh_id`; 0 unless set.")]
        pub fn memh_id(mut self, memh_id: u64) -> Self {
            self.command.memh_id = memh_id;
            self
        }
        /// Fails the task with `TIME_OUT` when it is not answered within `limit` of its submission. In place of
        /// what the worker was started with; the longest there is means no deadline.
        pub fn deadline(mut self, limit: ::core::time::Duration) -> Self {
            self.deadline = ::core::option::Option::Some(limit);
            self
        }
        /// Submits the command. What it returns resolves to the notification.
        ///
        /// # Errors
        /// What stopped it; nothing was sent then.
        pub fn submit(
            self,
        ) -> ::core::result::Result<AnyHost::Completion<TagRecv>, AnyHost::Error> {
            <AnyHost as ::urom_abi::protocol::HostSide>::submit(
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
        pub fn submit_with<AnyCallback>(
            self,
            callback: AnyCallback,
        ) -> ::core::result::Result<AnyHost::Handle, AnyHost::Error>
        where
            AnyCallback: ::core::ops::FnOnce(
                    ::core::result::Result<TagReceived, AnyHost::Error>,
                ) + 'static,
        {
            <AnyHost as ::urom_abi::protocol::HostSide>::submit_with(
                self.plugin,
                self.worker,
                &self.command,
                self.deadline,
                callback,
            )
        }
    }
};
/// What the sandbox plugin answers. A `status` is UCX's (`ucs_status_t`): 0 when all went well, negative otherwise.
#[derive(Debug, PartialEq)]
pub enum Notification {
    /// The memory is registered. C's plugin sends the tag of the next one.
    MemMapped {
        /// The command's.
        context: u64,
        /// The handle for later commands, never 0.
        memh_id: u64,
    },
    /// The data may be changed again; it need not have been received.
    TagSent {
        /// The command's.
        context: u64,
        /// How the send ended.
        status: i8,
    },
    /// A message came.
    TagReceived {
        /// The command's.
        context: u64,
        /// The message, or how much of it is now in registered memory. Nothing when there was an error.
        data: Received,
        /// The sender's tag; 0 when there was an error.
        sender_tag: u64,
        /// How the receive ended; `UCS_ERR_MESSAGE_TRUNCATED` when the message was too long, and was dropped.
        status: i8,
    },
}
#[cfg_attr(
    not(doctest),
    doc = " The memory is registered. C's plugin sends the tag of the next one."
)]
#[cfg_attr(doctest, doc = " The notification `MemMapped`.")]
#[derive(Debug, PartialEq, ::core::clone::Clone, ::core::marker::Copy)]
pub struct MemMapped {
    #[cfg_attr(not(doctest), doc = " The handle for later commands, never 0.")]
    #[cfg_attr(doctest, doc = " The field `memh_id`.")]
    pub memh_id: u64,
}
/// The fields of `MemMapped` that repeat the command's.
#[doc(hidden)]
#[derive(::core::clone::Clone, ::core::marker::Copy)]
pub struct MemMappedEcho {
    #[cfg_attr(not(doctest), doc = " The command's.")]
    #[cfg_attr(doctest, doc = " The field `context`.")]
    pub context: u64,
}
#[cfg_attr(
    not(doctest),
    doc = " The data may be changed again; it need not have been received."
)]
#[cfg_attr(doctest, doc = " The notification `TagSent`.")]
#[derive(Debug, PartialEq, ::core::clone::Clone, ::core::marker::Copy)]
pub struct TagSent {
    #[cfg_attr(not(doctest), doc = " How the send ended.")]
    #[cfg_attr(doctest, doc = " The field `status`.")]
    pub status: i8,
}
/// The fields of `TagSent` that repeat the command's.
#[doc(hidden)]
#[derive(::core::clone::Clone, ::core::marker::Copy)]
pub struct TagSentEcho {
    #[cfg_attr(not(doctest), doc = " The command's.")]
    #[cfg_attr(doctest, doc = " The field `context`.")]
    pub context: u64,
}
#[cfg_attr(not(doctest), doc = " A message came.")]
#[cfg_attr(doctest, doc = " The notification `TagReceived`.")]
#[derive(Debug, PartialEq, ::core::clone::Clone)]
pub struct TagReceived {
    #[cfg_attr(
        not(doctest),
        doc = " The message, or how much of it is now in registered memory. Nothing when there was an error."
    )]
    #[cfg_attr(doctest, doc = " The field `data`.")]
    pub data: Received,
    #[cfg_attr(not(doctest), doc = " The sender's tag; 0 when there was an error.")]
    #[cfg_attr(doctest, doc = " The field `sender_tag`.")]
    pub sender_tag: u64,
    #[cfg_attr(
        not(doctest),
        doc = " How the receive ended; `UCS_ERR_MESSAGE_TRUNCATED` when the message was too long, and was dropped."
    )]
    #[cfg_attr(doctest, doc = " The field `status`.")]
    pub status: i8,
}
/// The fields of `TagReceived` that repeat the command's.
#[doc(hidden)]
#[derive(::core::clone::Clone, ::core::marker::Copy)]
pub struct TagReceivedEcho {
    #[cfg_attr(not(doctest), doc = " The command's.")]
    #[cfg_attr(doctest, doc = " The field `context`.")]
    pub context: u64,
}
const _: () = {
    use ::urom_abi::wire::NotAnyBytes as _;
    use ::urom_abi::wire::layout as __layout;
    const __TAG: ::urom_abi::wire::Field<::core::primitive::u64, 0, __LEN> = ::urom_abi::wire::field::<
        ::core::primitive::u64,
        0,
        __LEN,
    >();
    const __UNION: __layout::Extent = __layout::union(
        &[
            __layout::structure(&__EXTENTS_MemMapped),
            __layout::structure(&__EXTENTS_TagSent),
            __layout::structure(&__EXTENTS_TagReceived),
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
        ("MemMapped", 0u64),
        ("TagSent", 1u64),
        ("TagReceived", 2u64),
    ];
    const __EXTENTS_MemMapped: [__layout::Extent; 2usize] = [
        __layout::Extent::of::<u64>(),
        __layout::Extent::of::<u64>(),
    ];
    const __OFFSETS_MemMapped: [::core::primitive::usize; 2usize] = __layout::offsets(
        __UNION_AT,
        __EXTENTS_MemMapped,
    );
    const __AT_MemMapped_context: ::urom_abi::wire::Field<
        u64,
        { __OFFSETS_MemMapped[0usize] },
        __LEN,
    > = ::urom_abi::wire::field::<u64, { __OFFSETS_MemMapped[0usize] }, __LEN>();
    const __AT_MemMapped_memh_id: ::urom_abi::wire::Field<
        u64,
        { __OFFSETS_MemMapped[1usize] },
        __LEN,
    > = ::urom_abi::wire::field::<u64, { __OFFSETS_MemMapped[1usize] }, __LEN>();
    const __EXTENTS_TagSent: [__layout::Extent; 2usize] = [
        __layout::Extent::of::<u64>(),
        __layout::Extent::of::<i8>(),
    ];
    const __OFFSETS_TagSent: [::core::primitive::usize; 2usize] = __layout::offsets(
        __UNION_AT,
        __EXTENTS_TagSent,
    );
    const __AT_TagSent_context: ::urom_abi::wire::Field<
        u64,
        { __OFFSETS_TagSent[0usize] },
        __LEN,
    > = ::urom_abi::wire::field::<u64, { __OFFSETS_TagSent[0usize] }, __LEN>();
    const __AT_TagSent_status: ::urom_abi::wire::Field<
        i8,
        { __OFFSETS_TagSent[1usize] },
        __LEN,
    > = ::urom_abi::wire::field::<i8, { __OFFSETS_TagSent[1usize] }, __LEN>();
    const __EXTENTS_TagReceived: [__layout::Extent; 5usize] = [
        __layout::Extent::of::<u64>(),
        __layout::Extent::of::<::core::primitive::u64>(),
        __layout::Extent::of::<::core::primitive::u64>(),
        __layout::Extent::of::<u64>(),
        __layout::Extent::of::<i8>(),
    ];
    const __OFFSETS_TagReceived: [::core::primitive::usize; 5usize] = __layout::offsets(
        __UNION_AT,
        __EXTENTS_TagReceived,
    );
    const __AT_TagReceived_context: ::urom_abi::wire::Field<
        u64,
        { __OFFSETS_TagReceived[0usize] },
        __LEN,
    > = ::urom_abi::wire::field::<u64, { __OFFSETS_TagReceived[0usize] }, __LEN>();
    const __ADDRESS_OF_TagReceived_data: ::urom_abi::wire::Field<
        ::core::primitive::u64,
        { __OFFSETS_TagReceived[1usize] },
        __LEN,
    > = ::urom_abi::wire::field::<
        ::core::primitive::u64,
        { __OFFSETS_TagReceived[1usize] },
        __LEN,
    >();
    const __LENGTH_OF_TagReceived_data: ::urom_abi::wire::Field<
        ::core::primitive::u64,
        { __OFFSETS_TagReceived[2usize] },
        __LEN,
    > = ::urom_abi::wire::field::<
        ::core::primitive::u64,
        { __OFFSETS_TagReceived[2usize] },
        __LEN,
    >();
    const __AT_TagReceived_sender_tag: ::urom_abi::wire::Field<
        u64,
        { __OFFSETS_TagReceived[3usize] },
        __LEN,
    > = ::urom_abi::wire::field::<u64, { __OFFSETS_TagReceived[3usize] }, __LEN>();
    const __AT_TagReceived_status: ::urom_abi::wire::Field<
        i8,
        { __OFFSETS_TagReceived[4usize] },
        __LEN,
    > = ::urom_abi::wire::field::<i8, { __OFFSETS_TagReceived[4usize] }, __LEN>();
    const _: () = ::core::assert!(
        __LEN <= ::urom_abi::DEFAULT_MAX_MESSAGE - ::core::mem::size_of:: <
        ::urom_abi::plugin::WorkerNotify > (), "{}", ::urom_abi::wire::too_big(&
        [("MemMapped", __layout::structure(& __EXTENTS_MemMapped).size), ("TagSent",
        __layout::structure(& __EXTENTS_TagSent).size), ("TagReceived",
        __layout::structure(& __EXTENTS_TagReceived).size)], __LEN,
        ::core::mem::size_of:: < ::urom_abi::plugin::WorkerNotify > (),
        "a message has at most 4096 bytes by default, and every variant takes as many as the largest: send what is large as an inline payload")
        .as_str(),
    );
    use ::urom_abi::describe as __describe;
    use ::urom_abi::describe::NotDescribed as _;
    const __DESCRIPTION: __describe::Messages = __describe::Messages {
        name: "Notification",
        docs: " What the sandbox plugin answers. A `status` is UCX's (`ucs_status_t`): 0 when all went well, negative otherwise.",
        tag: <::core::primitive::u64 as __describe::Described>::TYPE,
        len: __LEN,
        union_at: __UNION_AT,
        header: &[],
        variants: &[
            __describe::Variant {
                name: "MemMapped",
                docs: " The memory is registered. C's plugin sends the tag of the next one.",
                tag: 0u64,
                also: ::core::option::Option::Some(1u64),
                reply: ::core::option::Option::None,
                fields: &[
                    __describe::Field {
                        name: "context",
                        docs: " The command's.",
                        kind: __describe::FieldKind::Echo,
                        ty: __describe::found_or_opaque::<
                            u64,
                        >(<__describe::Probe<u64>>::FOUND, "u64"),
                        offset: __OFFSETS_MemMapped[0usize],
                        optional: false,
                    },
                    __describe::Field {
                        name: "memh_id",
                        docs: " The handle for later commands, never 0.",
                        kind: __describe::FieldKind::Plain,
                        ty: __describe::found_or_opaque::<
                            u64,
                        >(<__describe::Probe<u64>>::FOUND, "u64"),
                        offset: __OFFSETS_MemMapped[1usize],
                        optional: false,
                    },
                ],
                payloads: &[],
            },
            __describe::Variant {
                name: "TagSent",
                docs: " The data may be changed again; it need not have been received.",
                tag: 1u64,
                also: ::core::option::Option::None,
                reply: ::core::option::Option::None,
                fields: &[
                    __describe::Field {
                        name: "context",
                        docs: " The command's.",
                        kind: __describe::FieldKind::Echo,
                        ty: __describe::found_or_opaque::<
                            u64,
                        >(<__describe::Probe<u64>>::FOUND, "u64"),
                        offset: __OFFSETS_TagSent[0usize],
                        optional: false,
                    },
                    __describe::Field {
                        name: "status",
                        docs: " How the send ended.",
                        kind: __describe::FieldKind::Plain,
                        ty: __describe::found_or_opaque::<
                            i8,
                        >(<__describe::Probe<i8>>::FOUND, "i8"),
                        offset: __OFFSETS_TagSent[1usize],
                        optional: false,
                    },
                ],
                payloads: &[],
            },
            __describe::Variant {
                name: "TagReceived",
                docs: " A message came.",
                tag: 2u64,
                also: ::core::option::Option::None,
                reply: ::core::option::Option::None,
                fields: &[
                    __describe::Field {
                        name: "context",
                        docs: " The command's.",
                        kind: __describe::FieldKind::Echo,
                        ty: __describe::found_or_opaque::<
                            u64,
                        >(<__describe::Probe<u64>>::FOUND, "u64"),
                        offset: __OFFSETS_TagReceived[0usize],
                        optional: false,
                    },
                    __describe::Field {
                        name: "data_addr",
                        docs: "",
                        kind: __describe::FieldKind::Address {
                            of: "data",
                        },
                        ty: __describe::found_or_opaque::<
                            ::core::primitive::u64,
                        >(
                            <__describe::Probe<::core::primitive::u64>>::FOUND,
                            "::core::primitive::u64",
                        ),
                        offset: __OFFSETS_TagReceived[1usize],
                        optional: false,
                    },
                    __describe::Field {
                        name: "data_len",
                        docs: "",
                        kind: __describe::FieldKind::Length {
                            of: "data",
                        },
                        ty: __describe::found_or_opaque::<
                            ::core::primitive::u64,
                        >(
                            <__describe::Probe<::core::primitive::u64>>::FOUND,
                            "::core::primitive::u64",
                        ),
                        offset: __OFFSETS_TagReceived[2usize],
                        optional: false,
                    },
                    __describe::Field {
                        name: "sender_tag",
                        docs: " The sender's tag; 0 when there was an error.",
                        kind: __describe::FieldKind::Plain,
                        ty: __describe::found_or_opaque::<
                            u64,
                        >(<__describe::Probe<u64>>::FOUND, "u64"),
                        offset: __OFFSETS_TagReceived[3usize],
                        optional: false,
                    },
                    __describe::Field {
                        name: "status",
                        docs: " How the receive ended; `UCS_ERR_MESSAGE_TRUNCATED` when the message was too long, and was dropped.",
                        kind: __describe::FieldKind::Plain,
                        ty: __describe::found_or_opaque::<
                            i8,
                        >(<__describe::Probe<i8>>::FOUND, "i8"),
                        offset: __OFFSETS_TagReceived[4usize],
                        optional: false,
                    },
                ],
                payloads: &[
                    __describe::Payload {
                        name: "data",
                        docs: " The message, or how much of it is now in registered memory. Nothing when there was an error.",
                        ty: __describe::found_or_opaque::<
                            ::core::primitive::u8,
                        >(
                            <__describe::Probe<::core::primitive::u8>>::FOUND,
                            "::core::primitive::u8",
                        ),
                        count: __describe::Count::Word("data_len"),
                        address: ::core::option::Option::Some("data_addr"),
                        when: ::core::option::Option::None,
                        constants: &[],
                        registered: true,
                        optional: false,
                    },
                ],
            },
        ],
    };
    ::urom_abi::__arbitrary! {
        fn __arbitrary_MemMapped < 'arbitrary > (input : & mut
        ::urom_abi::arbitrary::Unstructured < 'arbitrary >,) -> ::core::result::Result <
        Notification, ::urom_abi::arbitrary::Unfit > { let mut field_0 =
        ::urom_abi::arbitrary::plain(input, __AT_MemMapped_context) ?; let mut field_1 =
        ::urom_abi::arbitrary::plain(input, __AT_MemMapped_memh_id) ?;
        ::core::result::Result::Ok(Notification::MemMapped { context : field_0, memh_id :
        field_1 }) } fn __arbitrary_TagSent < 'arbitrary > (input : & mut
        ::urom_abi::arbitrary::Unstructured < 'arbitrary >,) -> ::core::result::Result <
        Notification, ::urom_abi::arbitrary::Unfit > { let mut field_0 =
        ::urom_abi::arbitrary::plain(input, __AT_TagSent_context) ?; let mut field_1 =
        ::urom_abi::arbitrary::plain(input, __AT_TagSent_status) ?;
        ::core::result::Result::Ok(Notification::TagSent { context : field_0, status :
        field_1 }) } fn __arbitrary_TagReceived < 'arbitrary > (input : & mut
        ::urom_abi::arbitrary::Unstructured < 'arbitrary >,) -> ::core::result::Result <
        Notification, ::urom_abi::arbitrary::Unfit > { let mut field_0 =
        ::urom_abi::arbitrary::plain(input, __AT_TagReceived_context) ?; let mut field_2
        = ::urom_abi::arbitrary::plain(input, __AT_TagReceived_sender_tag) ?; let mut
        field_3 = ::urom_abi::arbitrary::plain(input, __AT_TagReceived_status) ?; let
        is_there = true; let field_1 = ::urom_abi::arbitrary::received(input,
        ::urom_abi::arbitrary::Length:: < ::core::primitive::u64 > ::Free) ?;
        ::core::result::Result::Ok(Notification::TagReceived { context : field_0, data :
        field_1, sender_tag : field_2, status : field_3 }) } #[automatically_derived]
        impl < 'arbitrary > ::urom_abi::arbitrary::Arbitrary < 'arbitrary > for
        Notification { fn arbitrary(input : & mut ::urom_abi::arbitrary::Unstructured <
        'arbitrary >,) -> ::urom_abi::arbitrary::Result < Self > {
        ::urom_abi::arbitrary::attempt(input, | input | { let chosen =
        ::urom_abi::arbitrary::choose(input, 3usize) ?; match chosen { 0usize =>
        __arbitrary_MemMapped(input), 1usize => __arbitrary_TagSent(input), 2usize =>
        __arbitrary_TagReceived(input), _ =>
        ::core::result::Result::Err(::urom_abi::arbitrary::Unfit), } }, | made | {
        ::urom_abi::arbitrary::can_be_written(Notification::encoded_len(made), | out |
        Notification::encode(made, out)) }) } } #[automatically_derived] impl <
        'arbitrary > ::urom_abi::arbitrary::Arbitrary < 'arbitrary > for MemMapped { fn
        arbitrary(input : & mut ::urom_abi::arbitrary::Unstructured < 'arbitrary >,) ->
        ::urom_abi::arbitrary::Result < Self > { match
        ::urom_abi::arbitrary::attempt(input, __arbitrary_MemMapped, | made | {
        ::urom_abi::arbitrary::can_be_written(Notification::encoded_len(made), | out |
        Notification::encode(made, out)) }) ? { Notification::MemMapped { memh_id, .. }
        => ::core::result::Result::Ok(MemMapped { memh_id }), _ =>
        ::core::result::Result::Err(::urom_abi::arbitrary::Error::IncorrectFormat), } } }
        #[automatically_derived] impl < 'arbitrary > ::urom_abi::arbitrary::Arbitrary <
        'arbitrary > for TagSent { fn arbitrary(input : & mut
        ::urom_abi::arbitrary::Unstructured < 'arbitrary >,) ->
        ::urom_abi::arbitrary::Result < Self > { match
        ::urom_abi::arbitrary::attempt(input, __arbitrary_TagSent, | made | {
        ::urom_abi::arbitrary::can_be_written(Notification::encoded_len(made), | out |
        Notification::encode(made, out)) }) ? { Notification::TagSent { status, .. } =>
        ::core::result::Result::Ok(TagSent { status }), _ =>
        ::core::result::Result::Err(::urom_abi::arbitrary::Error::IncorrectFormat), } } }
        #[automatically_derived] impl < 'arbitrary > ::urom_abi::arbitrary::Arbitrary <
        'arbitrary > for TagReceived { fn arbitrary(input : & mut
        ::urom_abi::arbitrary::Unstructured < 'arbitrary >,) ->
        ::urom_abi::arbitrary::Result < Self > { match
        ::urom_abi::arbitrary::attempt(input, __arbitrary_TagReceived, | made | {
        ::urom_abi::arbitrary::can_be_written(Notification::encoded_len(made), | out |
        Notification::encode(made, out)) }) ? { Notification::TagReceived { data,
        sender_tag, status, .. } => ::core::result::Result::Ok(TagReceived { data,
        sender_tag, status }), _ =>
        ::core::result::Result::Err(::urom_abi::arbitrary::Error::IncorrectFormat), } } }
    }
    const _: () = {
        let _ = Notification::decode;
        let _ = Notification::encode;
    };
    #[automatically_derived]
    impl Notification {
        /// The size in bytes of every message without its inline payloads.
        pub const FIXED_LEN: ::core::primitive::usize = __LEN;
        /// Reads a message of any variant.
        ///
        /// # Errors
        /// Which field is wrong, and how; a tag that no variant has lists those there are.
        #[inline]
        pub fn decode(
            bytes: &[::core::primitive::u8],
        ) -> ::core::result::Result<Notification, ::urom_abi::wire::DecodeError> {
            ::core::result::Result::Ok(
                match ::urom_abi::wire::tag::<
                    ::core::primitive::u64,
                    __LEN,
                >("Notification", bytes)? {
                    0u64 => {
                        let (message, echo) = __read_MemMapped(
                            bytes,
                            ::core::option::Option::None,
                        )?;
                        Notification::MemMapped {
                            context: echo.context,
                            memh_id: message.memh_id,
                        }
                    }
                    1u64 => {
                        let (message, echo) = __read_TagSent(
                            bytes,
                            ::core::option::Option::None,
                        )?;
                        Notification::TagSent {
                            context: echo.context,
                            status: message.status,
                        }
                    }
                    2u64 => {
                        let (message, echo) = __read_TagReceived(
                            bytes,
                            ::core::option::Option::None,
                        )?;
                        Notification::TagReceived {
                            context: echo.context,
                            data: message.data,
                            sender_tag: message.sender_tag,
                            status: message.status,
                        }
                    }
                    found => {
                        ::core::result::Result::Err(
                            ::urom_abi::wire::unknown_tag("Notification", found, __KNOWN),
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
            ::urom_abi::wire::EncodeError,
        > {
            match self {
                Notification::MemMapped { context: field_0, memh_id: field_1 } => {
                    let fixed = ::urom_abi::wire::room::<__LEN>("MemMapped", out)?;
                    __TAG.write(fixed, &0);
                    __AT_MemMapped_context.write(fixed, field_0);
                    __AT_MemMapped_memh_id.write(fixed, field_1);
                    ::core::result::Result::Ok(__LEN)
                }
                Notification::TagSent { context: field_0, status: field_1 } => {
                    let fixed = ::urom_abi::wire::room::<__LEN>("TagSent", out)?;
                    __TAG.write(fixed, &1);
                    __AT_TagSent_context.write(fixed, field_0);
                    __AT_TagSent_status.write(fixed, field_1);
                    ::core::result::Result::Ok(__LEN)
                }
                Notification::TagReceived {
                    context: field_0,
                    data: field_1,
                    sender_tag: field_2,
                    status: field_3,
                } => {
                    let address_word_of_data: ::core::primitive::u64 = ::urom_abi::wire::address_word(
                        "TagReceived",
                        "data",
                        field_1,
                    )?;
                    let length_word_of_data: ::core::primitive::u64 = ::urom_abi::wire::length_word(
                        "TagReceived",
                        "data",
                        field_1,
                    )?;
                    ::urom_abi::wire::message::<
                        __LEN,
                        _,
                    >(
                        "TagReceived",
                        out,
                        [::urom_abi::wire::bytes(field_1)],
                        |fixed| {
                            __TAG.write(fixed, &2);
                            __AT_TagReceived_context.write(fixed, field_0);
                            __ADDRESS_OF_TagReceived_data
                                .write(fixed, &address_word_of_data);
                            __LENGTH_OF_TagReceived_data
                                .write(fixed, &length_word_of_data);
                            __AT_TagReceived_sender_tag.write(fixed, field_2);
                            __AT_TagReceived_status.write(fixed, field_3);
                        },
                    )
                }
            }
        }
        /// How many bytes `encode` writes; `None` when that cannot be counted in a `usize`.
        #[inline]
        pub fn encoded_len(&self) -> ::core::option::Option<::core::primitive::usize> {
            match self {
                Notification::MemMapped { context: field_0, memh_id: field_1 } => {
                    ::core::option::Option::Some(__LEN)
                }
                Notification::TagSent { context: field_0, status: field_1 } => {
                    ::core::option::Option::Some(__LEN)
                }
                Notification::TagReceived {
                    context: field_0,
                    data: field_1,
                    sender_tag: field_2,
                    status: field_3,
                } => {
                    ::urom_abi::wire::total(
                        __LEN,
                        &[::urom_abi::wire::bytes(field_1).len()],
                    )
                }
            }
        }
    }
    #[automatically_derived]
    impl ::urom_abi::wire::Notifications for Notification {
        const LEN: ::core::primitive::usize = __LEN;
        const DESCRIPTION: ::urom_abi::describe::Messages = __DESCRIPTION;
        fn refusal(
            tag: ::core::primitive::u64,
        ) -> ::core::result::Result<
            ::urom_abi::descriptor::NotificationDesc,
            ::urom_abi::wire::EncodeError,
        > {
            let tag = <::core::primitive::u64 as ::urom_abi::wire::Word>::from_u64(tag);
            ::urom_abi::wire::notification::<
                __LEN,
            >(
                "Notification",
                |fixed| {
                    __TAG.write(fixed, &::core::option::Option::unwrap_or_default(tag));
                },
            )
        }
    }
    #[inline(always)]
    fn __read_MemMapped(
        incoming: impl ::urom_abi::protocol::Incoming,
        echo: ::core::option::Option<&MemMappedEcho>,
    ) -> ::core::result::Result<
        (MemMapped, MemMappedEcho),
        ::urom_abi::wire::DecodeError,
    > {
        let fixed = ::urom_abi::wire::exact::<
            __LEN,
        >("MemMapped", ::urom_abi::protocol::Incoming::bytes(&incoming))?;
        ::urom_abi::wire::own_tag(
            "MemMapped",
            __TAG.read(fixed),
            0u64,
            ::core::option::Option::Some(1u64),
        )?;
        if let ::core::option::Option::Some(echo) = echo {
            ::urom_abi::wire::repeats(
                "MemMapped",
                "context",
                __AT_MemMapped_context.holds(fixed, &echo.context),
            )?;
        }
        ::core::result::Result::Ok((
            MemMapped {
                memh_id: __AT_MemMapped_memh_id.read(fixed),
            },
            MemMappedEcho {
                context: __AT_MemMapped_context.read(fixed),
            },
        ))
    }
    #[automatically_derived]
    impl ::urom_abi::protocol::Reply for MemMapped {
        type Echo = MemMappedEcho;
        #[inline]
        fn decode(
            incoming: impl ::urom_abi::protocol::Incoming,
            echo: &MemMappedEcho,
        ) -> ::core::result::Result<MemMapped, ::urom_abi::wire::DecodeError> {
            let (message, _) = __read_MemMapped(
                incoming,
                ::core::option::Option::Some(echo),
            )?;
            ::core::result::Result::Ok(message)
        }
        #[inline]
        fn into_descriptor(
            self,
            echo: &MemMappedEcho,
        ) -> ::core::result::Result<
            ::urom_abi::descriptor::NotificationDesc,
            ::urom_abi::wire::EncodeError,
        > {
            ::urom_abi::wire::notification::<
                __LEN,
            >(
                "MemMapped",
                |fixed| {
                    __TAG.write(fixed, &0);
                    __AT_MemMapped_context.write(fixed, &echo.context);
                    __AT_MemMapped_memh_id.write(fixed, &self.memh_id);
                },
            )
        }
    }
    #[automatically_derived]
    impl ::urom_abi::wire::Echoes<{ ::urom_abi::wire::echo_name("context") }>
    for MemMappedEcho {
        type Value = u64;
        #[inline]
        fn set(&mut self, value: u64) {
            self.context = value;
        }
    }
    #[automatically_derived]
    impl ::urom_abi::wire::Answer<Notification> for MemMapped {
        type This = MemMapped;
        type Echo = MemMappedEcho;
    }
    #[automatically_derived]
    impl ::urom_abi::wire::Echo for MemMappedEcho {
        const NAMES: &'static [::core::primitive::u64] = &[
            ::urom_abi::wire::echo_name("context"),
        ];
        #[inline]
        fn zero() -> MemMappedEcho {
            MemMappedEcho {
                context: __AT_MemMapped_context.zero(),
            }
        }
    }
    #[automatically_derived]
    impl MemMappedEcho {
        #[doc(hidden)]
        pub fn refusal(
            &self,
        ) -> ::core::result::Result<
            ::urom_abi::descriptor::NotificationDesc,
            ::urom_abi::wire::EncodeError,
        > {
            ::urom_abi::wire::notification::<
                __LEN,
            >(
                "MemMapped",
                |fixed| {
                    __TAG.write(fixed, &0);
                    __AT_MemMapped_context.write(fixed, &self.context);
                },
            )
        }
    }
    #[inline(always)]
    fn __read_TagSent(
        incoming: impl ::urom_abi::protocol::Incoming,
        echo: ::core::option::Option<&TagSentEcho>,
    ) -> ::core::result::Result<(TagSent, TagSentEcho), ::urom_abi::wire::DecodeError> {
        let fixed = ::urom_abi::wire::exact::<
            __LEN,
        >("TagSent", ::urom_abi::protocol::Incoming::bytes(&incoming))?;
        ::urom_abi::wire::own_tag(
            "TagSent",
            __TAG.read(fixed),
            1u64,
            ::core::option::Option::None,
        )?;
        if let ::core::option::Option::Some(echo) = echo {
            ::urom_abi::wire::repeats(
                "TagSent",
                "context",
                __AT_TagSent_context.holds(fixed, &echo.context),
            )?;
        }
        ::core::result::Result::Ok((
            TagSent {
                status: __AT_TagSent_status.read(fixed),
            },
            TagSentEcho {
                context: __AT_TagSent_context.read(fixed),
            },
        ))
    }
    #[automatically_derived]
    impl ::urom_abi::protocol::Reply for TagSent {
        type Echo = TagSentEcho;
        #[inline]
        fn decode(
            incoming: impl ::urom_abi::protocol::Incoming,
            echo: &TagSentEcho,
        ) -> ::core::result::Result<TagSent, ::urom_abi::wire::DecodeError> {
            let (message, _) = __read_TagSent(
                incoming,
                ::core::option::Option::Some(echo),
            )?;
            ::core::result::Result::Ok(message)
        }
        #[inline]
        fn into_descriptor(
            self,
            echo: &TagSentEcho,
        ) -> ::core::result::Result<
            ::urom_abi::descriptor::NotificationDesc,
            ::urom_abi::wire::EncodeError,
        > {
            ::urom_abi::wire::notification::<
                __LEN,
            >(
                "TagSent",
                |fixed| {
                    __TAG.write(fixed, &1);
                    __AT_TagSent_context.write(fixed, &echo.context);
                    __AT_TagSent_status.write(fixed, &self.status);
                },
            )
        }
    }
    #[automatically_derived]
    impl ::urom_abi::wire::Echoes<{ ::urom_abi::wire::echo_name("context") }>
    for TagSentEcho {
        type Value = u64;
        #[inline]
        fn set(&mut self, value: u64) {
            self.context = value;
        }
    }
    #[automatically_derived]
    impl ::urom_abi::wire::Answer<Notification> for TagSent {
        type This = TagSent;
        type Echo = TagSentEcho;
    }
    #[automatically_derived]
    impl ::urom_abi::wire::Echo for TagSentEcho {
        const NAMES: &'static [::core::primitive::u64] = &[
            ::urom_abi::wire::echo_name("context"),
        ];
        #[inline]
        fn zero() -> TagSentEcho {
            TagSentEcho {
                context: __AT_TagSent_context.zero(),
            }
        }
    }
    #[automatically_derived]
    impl TagSentEcho {
        #[doc(hidden)]
        pub fn refusal(
            &self,
        ) -> ::core::result::Result<
            ::urom_abi::descriptor::NotificationDesc,
            ::urom_abi::wire::EncodeError,
        > {
            ::urom_abi::wire::notification::<
                __LEN,
            >(
                "TagSent",
                |fixed| {
                    __TAG.write(fixed, &1);
                    __AT_TagSent_context.write(fixed, &self.context);
                },
            )
        }
    }
    #[automatically_derived]
    impl TagReceived {
        /// Memory for `len` elements of `data`, zeroed: that of the notification itself, so that nothing is copied.
        ///
        /// # Errors
        /// `NoMemory` when the C heap has no room.
        #[inline]
        pub fn payload(
            len: ::core::primitive::usize,
        ) -> ::core::result::Result<::urom_abi::Payload, ::urom_abi::wire::EncodeError> {
            ::urom_abi::wire::payload::<__LEN, _>("TagReceived", len)
        }
    }
    #[inline(always)]
    fn __read_TagReceived(
        incoming: impl ::urom_abi::protocol::Incoming,
        echo: ::core::option::Option<&TagReceivedEcho>,
    ) -> ::core::result::Result<
        (TagReceived, TagReceivedEcho),
        ::urom_abi::wire::DecodeError,
    > {
        let (fixed, mut behind) = ::urom_abi::wire::start::<
            __LEN,
        >("TagReceived", ::urom_abi::protocol::Incoming::bytes(&incoming))?;
        ::urom_abi::wire::own_tag(
            "TagReceived",
            __TAG.read(fixed),
            2u64,
            ::core::option::Option::None,
        )?;
        if let ::core::option::Option::Some(echo) = echo {
            ::urom_abi::wire::repeats(
                "TagReceived",
                "context",
                __AT_TagReceived_context.holds(fixed, &echo.context),
            )?;
        }
        let field_0 = __AT_TagReceived_context.read(fixed);
        let field_2 = __AT_TagReceived_sender_tag.read(fixed);
        let field_3 = __AT_TagReceived_status.read(fixed);
        let (_view_1, field_1) = behind
            .part::<
                Received,
            >(
                "data",
                ::urom_abi::wire::by_address::<
                    Received,
                >(__ADDRESS_OF_TagReceived_data.read(fixed)),
                __LENGTH_OF_TagReceived_data.read(fixed),
            )?;
        behind.end()?;
        let mut tail = ::urom_abi::wire::Tail::of(incoming, __LEN);
        ::core::result::Result::Ok((
            TagReceived {
                data: tail.take::<Received>(field_1),
                sender_tag: field_2,
                status: field_3,
            },
            TagReceivedEcho {
                context: field_0,
            },
        ))
    }
    #[automatically_derived]
    impl ::urom_abi::protocol::Reply for TagReceived {
        type Echo = TagReceivedEcho;
        #[inline]
        fn decode(
            incoming: impl ::urom_abi::protocol::Incoming,
            echo: &TagReceivedEcho,
        ) -> ::core::result::Result<TagReceived, ::urom_abi::wire::DecodeError> {
            let (message, _) = __read_TagReceived(
                incoming,
                ::core::option::Option::Some(echo),
            )?;
            ::core::result::Result::Ok(message)
        }
        #[inline]
        fn into_descriptor(
            self,
            echo: &TagReceivedEcho,
        ) -> ::core::result::Result<
            ::urom_abi::descriptor::NotificationDesc,
            ::urom_abi::wire::EncodeError,
        > {
            let address_word_of_data: ::core::primitive::u64 = ::urom_abi::wire::address_word(
                "TagReceived",
                "data",
                &self.data,
            )?;
            let length_word_of_data: ::core::primitive::u64 = ::urom_abi::wire::length_word(
                "TagReceived",
                "data",
                &self.data,
            )?;
            ::urom_abi::wire::reply::<
                __LEN,
                _,
            >(
                "TagReceived",
                [::urom_abi::wire::give(self.data)],
                |fixed| {
                    __TAG.write(fixed, &2);
                    __AT_TagReceived_context.write(fixed, &echo.context);
                    __ADDRESS_OF_TagReceived_data.write(fixed, &address_word_of_data);
                    __LENGTH_OF_TagReceived_data.write(fixed, &length_word_of_data);
                    __AT_TagReceived_sender_tag.write(fixed, &self.sender_tag);
                    __AT_TagReceived_status.write(fixed, &self.status);
                },
            )
        }
    }
    #[automatically_derived]
    impl ::urom_abi::wire::Echoes<{ ::urom_abi::wire::echo_name("context") }>
    for TagReceivedEcho {
        type Value = u64;
        #[inline]
        fn set(&mut self, value: u64) {
            self.context = value;
        }
    }
    #[automatically_derived]
    impl ::urom_abi::wire::Answer<Notification> for TagReceived {
        type This = TagReceived;
        type Echo = TagReceivedEcho;
    }
    #[automatically_derived]
    impl ::urom_abi::wire::Echo for TagReceivedEcho {
        const NAMES: &'static [::core::primitive::u64] = &[
            ::urom_abi::wire::echo_name("context"),
        ];
        #[inline]
        fn zero() -> TagReceivedEcho {
            TagReceivedEcho {
                context: __AT_TagReceived_context.zero(),
            }
        }
    }
    #[automatically_derived]
    impl TagReceivedEcho {
        #[doc(hidden)]
        pub fn refusal(
            &self,
        ) -> ::core::result::Result<
            ::urom_abi::descriptor::NotificationDesc,
            ::urom_abi::wire::EncodeError,
        > {
            ::urom_abi::wire::notification::<
                __LEN,
            >(
                "TagReceived",
                |fixed| {
                    __TAG.write(fixed, &2);
                    __AT_TagReceived_context.write(fixed, &self.context);
                },
            )
        }
    }
};
