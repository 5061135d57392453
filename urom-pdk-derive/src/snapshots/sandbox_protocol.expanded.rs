use bytemuck::{Pod, Zeroable};
use urom_abi::{Data, Received, urom_command, urom_notification};
/// The memory to map: `ucp_mem_map_params_t` of UCX 1.16 and newer, 48 bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable, urom_abi::Described)]
pub struct MapParams {
    /// The other fields that are set: a bit for each, in UCX's order, `ADDRESS` first.
    pub field_mask: u64,
    /// The start address that later commands use for the memory.
    pub address: u64,
    /// The length in bytes.
    pub length: u64,
    /// 2 (`UCP_MEM_MAP_ALLOCATE`) for memory that the plugin allocates.
    pub flags: u32,
    /// Not used by the plugin.
    pub prot: u32,
    /// Not used by the plugin.
    pub memory_type: u32,
    /// C's padding.
    pub pad: u32,
    /// The address of the exported handle, in C.
    pub exported_memh_buffer: u64,
}
impl MapParams {
    /// Bit of [`field_mask`](Self::field_mask): the address is set
    /// (`UCP_MEM_MAP_PARAM_FIELD_ADDRESS`).
    pub const FIELD_ADDRESS: u64 = 1;
    /// Bit of [`field_mask`](Self::field_mask): the length is set.
    pub const FIELD_LENGTH: u64 = 2;
    /// Bit of [`field_mask`](Self::field_mask): the flags are set.
    pub const FIELD_FLAGS: u64 = 4;
    /// Bit of [`field_mask`](Self::field_mask): the exported handle is set.
    pub const FIELD_EXPORTED: u64 = 0x20;
    /// Bit of [`flags`](Self::flags): the plugin allocates the memory (`UCP_MEM_MAP_ALLOCATE`).
    pub const ALLOCATE: u32 = 2;
    /// Returns parameters for `length` bytes that the plugin allocates, which later commands find
    /// at `address`.
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
    /// Returns parameters for host memory with an exported handle, which later commands find at
    /// `address`.
    pub fn exported(address: u64) -> MapParams {
        MapParams {
            field_mask: Self::FIELD_ADDRESS | Self::FIELD_EXPORTED,
            address,
            ..Self::zeroed()
        }
    }
}
/// The commands of the sandbox plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command<'a> {
    /// Registers memory for later sends and receives of this host, until it leaves.
    MemMap {
        /// Any value; the answer repeats it.
        context: u64,
        /// The memory.
        map_params: MapParams,
        /// The exported handle of the host's memory; empty for memory that the plugin allocates.
        /// The Rust plugin also accepts the result of `Mmap::export` of `urom_host`.
        exported_memh: &'a [u8],
    },
    /// Sends `data` to worker `dest` of the domain.
    TagSend {
        /// Any value; the answer repeats it.
        context: u64,
        /// The receiver's id in the domain.
        dest: u64,
        /// Inline or in registered memory; empty by default. Any number of sends may share
        /// registered bytes.
        data: Data<'a>,
        /// The tag to send with.
        tag: u64,
    },
    /// Receives the first message whose tag matches.
    TagRecv {
        /// Any value; the answer repeats it.
        context: u64,
        /// The destination in registered memory; not used without `memh_id`.
        buffer: u64,
        /// The size of the destination in bytes.
        count: u64,
        /// The tag to match.
        tag: u64,
        /// The bits of the tag that must match.
        tag_mask: u64,
        /// The handle of the registered memory to receive into, if no other command uses these
        /// bytes (`UCS_ERR_BUSY`); 0, the default, receives into the answer.
        memh_id: u64,
    },
}
/// Registers memory for later sends and receives of this host, until it leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemMap<'a> {
    /// Any value; the answer repeats it.
    pub context: u64,
    /// The memory.
    pub map_params: MapParams,
    /** The exported handle of the host's memory; empty for memory that the plugin allocates.
 The Rust plugin also accepts the result of `Mmap::export` of `urom_host`.*/
    pub exported_memh: &'a [u8],
}
/// Sends `data` to worker `dest` of the domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TagSend<'a> {
    /// Any value; the answer repeats it.
    pub context: u64,
    /// The receiver's id in the domain.
    pub dest: u64,
    /** Inline or in registered memory; empty by default. Any number of sends may share
 registered bytes.*/
    pub data: Data<'a>,
    /// The tag to send with.
    pub tag: u64,
}
/// Receives the first message whose tag matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TagRecv {
    /// Any value; the answer repeats it.
    pub context: u64,
    /// The destination in registered memory; not used without `memh_id`.
    pub buffer: u64,
    /// The size of the destination in bytes.
    pub count: u64,
    /// The tag to match.
    pub tag: u64,
    /// The bits of the tag that must match.
    pub tag_mask: u64,
    /** The handle of the registered memory to receive into, if no other command uses these
 bytes (`UCS_ERR_BUSY`); 0, the default, receives into the answer.*/
    pub memh_id: u64,
}
/// The protocol of the plugin `worker_sandbox`: its commands and notifications.
#[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
pub struct Protocol;
/// What a plugin `worker_sandbox` does: one method for each command, which ends with the notification that answers it.
///
/// `#[urom_plugin] impl Handler for YourType` fills in the side and exports the plugin.
/// A method that fails, panics or is dropped at close is answered all the same, with
/// zeros and the fitting status.
pub trait Handler<
    AnySide: ::urom_abi::protocol::PluginSide
        = <Self as ::urom_abi::protocol::FilledIn>::Side,
>: ::core::marker::Sized + 'static {
    /// Makes the handler. After an error the worker does not start.
    fn open(cx: &AnySide::OpenContext) -> ::core::result::Result<Self, AnySide::Error>;
    /// The address by which the plugin's members in a domain reach this one; none by
    /// default. Called once, after `open`. After an error the worker does not start.
    fn address(
        &self,
    ) -> ::core::result::Result<
        ::urom_abi::__private::Vec<::core::primitive::u8>,
        AnySide::Error,
    > {
        ::core::result::Result::Ok(::urom_abi::__private::Vec::new())
    }
    /// Advances the plugin's own work, such as a UCX worker; returns whether it did
    /// anything. Called repeatedly; only in every second turn while answers are ready
    /// and no command is pending.
    fn progress(&self) -> ::core::primitive::bool {
        false
    }
    /// Frees the data of a host that has left. All commands of its connection have
    /// ended. Only this kit's worker calls it, and not at close.
    fn host_left(&self, __connection: ::urom_abi::ConnectionId) {}
    /// Arms the event that ends the worker's sleep, such as a UCX worker's. Only this
    /// kit's worker calls it, right before it sleeps; without it, the worker polls with
    /// backoff.
    fn arm(&self) -> ::urom_abi::protocol::Armed<'_> {
        ::urom_abi::protocol::Armed::Polled
    }
    /// Registers memory for later sends and receives of this host, until it leaves.
    async fn mem_map(
        &self,
        cx: &AnySide::Context,
        cmd: MemMap<'_>,
    ) -> ::core::result::Result<MemMapped, AnySide::Error>;
    /// Sends `data` to worker `dest` of the domain.
    async fn tag_send(
        &self,
        cx: &AnySide::Context,
        cmd: TagSend<'_>,
    ) -> ::core::result::Result<TagSent, AnySide::Error>;
    /// Receives the first message whose tag matches.
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
pub struct Client<AnyHost: ::urom_abi::protocol::HostSide>(AnyHost::Plugin);
/// A command [`MemMap`] that is ready to be submitted.
#[must_use = "a task does nothing until it is submitted"]
pub struct MemMapTask<'task, AnyHost: ::urom_abi::protocol::HostSide>(
    ::urom_abi::protocol::Task<'task, AnyHost, MemMap<'task>>,
);
/// A command [`TagSend`] that is ready to be submitted.
#[must_use = "a task does nothing until it is submitted"]
pub struct TagSendTask<'task, AnyHost: ::urom_abi::protocol::HostSide>(
    ::urom_abi::protocol::Task<'task, AnyHost, TagSend<'task>>,
);
/// A command [`TagRecv`] that is ready to be submitted.
#[must_use = "a task does nothing until it is submitted"]
pub struct TagRecvTask<'task, AnyHost: ::urom_abi::protocol::HostSide>(
    ::urom_abi::protocol::Task<'task, AnyHost, TagRecv>,
);
const _: () = {
    use ::urom_abi::__private as __p;
    use __p::{NotAnyBytes as _, NotDescribed as _};
    type __At<T, const A: __p::usize, const N: __p::bool = true> = __p::At<
        T,
        A,
        __LEN,
        N,
    >;
    const __FIELDS_MemMap: [__p::Item; 3] = [
        __p::echo("context", __p::ty(<__p::Probe<u64>>::FOUND, "u64")).optional(),
        __p::plain("map_params", __p::ty(<__p::Probe<MapParams>>::FOUND, "MapParams")),
        __p::length("exported_memh_len", "exported_memh", __p::WORD),
    ];
    const __FIELDS_TagSend: [__p::Item; 6] = [
        __p::echo("context", __p::ty(<__p::Probe<u64>>::FOUND, "u64")).optional(),
        __p::plain("dest", __p::ty(<__p::Probe<u64>>::FOUND, "u64")),
        __p::address("data_addr", "data", __p::WORD),
        __p::length("data_len", "data", __p::WORD),
        __p::plain("tag", __p::ty(<__p::Probe<u64>>::FOUND, "u64")),
        __p::selector("memh_id", "data", __p::ty(<__p::Probe<u64>>::FOUND, "u64")),
    ];
    const __FIELDS_TagRecv: [__p::Item; 6] = [
        __p::echo("context", __p::ty(<__p::Probe<u64>>::FOUND, "u64")).optional(),
        __p::plain("buffer", __p::ty(<__p::Probe<u64>>::FOUND, "u64")).optional(),
        __p::plain("count", __p::ty(<__p::Probe<u64>>::FOUND, "u64")),
        __p::plain("tag", __p::ty(<__p::Probe<u64>>::FOUND, "u64")),
        __p::plain("tag_mask", __p::ty(<__p::Probe<u64>>::FOUND, "u64")),
        __p::plain("memh_id", __p::ty(<__p::Probe<u64>>::FOUND, "u64")).optional(),
    ];
    const __LAYOUT: __p::Layout = __p::layout(
        <__p::u64 as __p::Described>::TYPE,
        0,
        &[&__FIELDS_MemMap, &__FIELDS_TagSend, &__FIELDS_TagRecv],
    );
    const __LEN: __p::usize = __LAYOUT.len;
    const __TAG: __At<__p::u64, 0> = __p::field();
    const __OF_MemMap: [__p::usize; 3] = __p::offsets(&__LAYOUT, &__FIELDS_MemMap);
    const __AT_MemMap_context: __At<u64, { __OF_MemMap[0] }> = __p::field();
    const __AT_MemMap_map_params: __At<
        MapParams,
        { __OF_MemMap[1] },
        { <__p::AnyBytes<MapParams>>::ANY },
    > = __p::any_field();
    const __length_MemMap_exported_memh: __At<__p::u64, { __OF_MemMap[2] }> = __p::field();
    const __OF_TagSend: [__p::usize; 6] = __p::offsets(&__LAYOUT, &__FIELDS_TagSend);
    const __AT_TagSend_context: __At<u64, { __OF_TagSend[0] }> = __p::field();
    const __AT_TagSend_dest: __At<u64, { __OF_TagSend[1] }> = __p::field();
    const __address_TagSend_data: __At<__p::u64, { __OF_TagSend[2] }> = __p::field();
    const __length_TagSend_data: __At<__p::u64, { __OF_TagSend[3] }> = __p::field();
    const __AT_TagSend_tag: __At<u64, { __OF_TagSend[4] }> = __p::field();
    const __AT_TagSend_memh_id: __At<u64, { __OF_TagSend[5] }> = __p::field();
    const __OF_TagRecv: [__p::usize; 6] = __p::offsets(&__LAYOUT, &__FIELDS_TagRecv);
    const __AT_TagRecv_context: __At<u64, { __OF_TagRecv[0] }> = __p::field();
    const __AT_TagRecv_buffer: __At<u64, { __OF_TagRecv[1] }> = __p::field();
    const __AT_TagRecv_count: __At<u64, { __OF_TagRecv[2] }> = __p::field();
    const __AT_TagRecv_tag: __At<u64, { __OF_TagRecv[3] }> = __p::field();
    const __AT_TagRecv_tag_mask: __At<u64, { __OF_TagRecv[4] }> = __p::field();
    const __AT_TagRecv_memh_id: __At<u64, { __OF_TagRecv[5] }> = __p::field();
    const __DESCRIPTION: __p::Messages = __p::Messages {
        name: "Command",
        docs: " The commands of the sandbox plugin.",
        tag: <__p::u64 as __p::Described>::TYPE,
        len: __LEN,
        union_at: __LAYOUT.union_at,
        header: &[],
        variants: &[
            __p::Variant {
                name: "MemMap",
                docs: " Registers memory for later sends and receives of this host, until it leaves.",
                tag: 0,
                reply: __p::Some("MemMapped"),
                fields: &__p::placed(
                    __FIELDS_MemMap,
                    __OF_MemMap,
                    [" Any value; the answer repeats it.", " The memory.", ""],
                ),
                payloads: &[
                    __p::PayloadItem {
                        name: "exported_memh",
                        docs: " The exported handle of the host's memory; empty for memory that the plugin allocates.\n The Rust plugin also accepts the result of `Mmap::export` of `urom_host`.",
                        ty: __p::ty(<__p::Probe<u8>>::FOUND, "u8"),
                        count: __p::PayloadCount::Word("exported_memh_len"),
                        address: __p::Some("map_params.exported_memh_buffer"),
                        optional: true,
                        ..__p::PayloadItem::NONE
                    },
                ],
                ..__p::Variant::NONE
            },
            __p::Variant {
                name: "TagSend",
                docs: " Sends `data` to worker `dest` of the domain.",
                tag: 1,
                reply: __p::Some("TagSent"),
                fields: &__p::placed(
                    __FIELDS_TagSend,
                    __OF_TagSend,
                    [
                        " Any value; the answer repeats it.",
                        " The receiver's id in the domain.",
                        "",
                        "",
                        " The tag to send with.",
                        " The handle of the registered memory; 0 for inline data.",
                    ],
                ),
                payloads: &[
                    __p::PayloadItem {
                        name: "data",
                        docs: " Inline or in registered memory; empty by default. Any number of sends may share\n registered bytes.",
                        presence: __p::Presence::Registered,
                        count: __p::PayloadCount::Word("data_len"),
                        address: __p::Some("data_addr"),
                        optional: true,
                        ..__p::PayloadItem::NONE
                    },
                ],
                ..__p::Variant::NONE
            },
            __p::Variant {
                name: "TagRecv",
                docs: " Receives the first message whose tag matches.",
                tag: 2,
                reply: __p::Some("TagReceived"),
                fields: &__p::placed(
                    __FIELDS_TagRecv,
                    __OF_TagRecv,
                    [
                        " Any value; the answer repeats it.",
                        " The destination in registered memory; not used without `memh_id`.",
                        " The size of the destination in bytes.",
                        " The tag to match.",
                        " The bits of the tag that must match.",
                        " The handle of the registered memory to receive into, if no other command uses these\n bytes (`UCS_ERR_BUSY`); 0, the default, receives into the answer.",
                    ],
                ),
                ..__p::Variant::NONE
            },
        ],
    };
    const __KNOWN: &[(&__p::str, __p::u64)] = &__p::known::<3>(&__DESCRIPTION);
    const _: () = __p::assert_fits(&__DESCRIPTION, __p::COMMAND_HEADER);
    const _: () = __p::assert_element::<u8>("u8");
    type __Notifications = Notification;
    const _: () = __p::used((Command::decode, Command::encode));
    impl<'a> Command<'a> {
        /// The size in bytes of every message without its inline payloads.
        pub const FIXED_LEN: __p::usize = __LEN;
        /// Reads a message of any variant. The error contains the invalid field and the
        /// reason; for an unknown tag it lists the known ones.
        #[inline]
        pub fn decode(__bytes: &'a [__p::u8]) -> __p::Result<Self, __p::DecodeError> {
            match __p::tag::<__p::u64, __LEN>("Command", __bytes)? {
                0 => MemMap::decode(__bytes).map(__p::From::from),
                1 => TagSend::decode(__bytes).map(__p::From::from),
                2 => TagRecv::decode(__bytes).map(__p::From::from),
                __found => __p::unknown("Command", __found, __KNOWN),
            }
        }
        /// Writes the message to the start of the buffer and returns its length. After an error
        /// nothing is written.
        #[inline]
        pub fn encode(
            &self,
            __out: &mut [__p::u8],
        ) -> __p::Result<__p::usize, __p::EncodeError> {
            match self {
                Command::MemMap {
                    context: __f0,
                    map_params: __f1,
                    exported_memh: __f2,
                } => {
                    let __message = MemMap {
                        context: *__f0,
                        map_params: __AT_MemMap_map_params.copy(__f1),
                        exported_memh: __p::Clone::clone(__f2),
                    };
                    __p::Request::encode(&__message, __out)
                }
                Command::TagSend {
                    context: __f0,
                    dest: __f1,
                    data: __f2,
                    tag: __f3,
                } => {
                    let __message = TagSend {
                        context: *__f0,
                        dest: *__f1,
                        data: __p::Clone::clone(__f2),
                        tag: *__f3,
                    };
                    __p::Request::encode(&__message, __out)
                }
                Command::TagRecv {
                    context: __f0,
                    buffer: __f1,
                    count: __f2,
                    tag: __f3,
                    tag_mask: __f4,
                    memh_id: __f5,
                } => {
                    let __message = TagRecv {
                        context: *__f0,
                        buffer: *__f1,
                        count: *__f2,
                        tag: *__f3,
                        tag_mask: *__f4,
                        memh_id: *__f5,
                    };
                    __p::Request::encode(&__message, __out)
                }
            }
        }
        /// The length that `encode` writes; `None` when it cannot write the message.
        #[inline]
        pub fn encoded_len(&self) -> __p::Option<__p::usize> {
            __p::encoded_len(self.encode(&mut []))
        }
    }
    type __Echo_MemMap = <MemMapped as __p::ReplyOf<__Notifications>>::Echo;
    impl<'a> __p::From<MemMap<'a>> for Command<'a> {
        #[inline]
        fn from(__message: MemMap<'a>) -> Command<'a> {
            Command::MemMap {
                context: __message.context,
                map_params: __message.map_params,
                exported_memh: __message.exported_memh,
            }
        }
    }
    impl<'a> MemMap<'a> {
        /// Reads the command. The error names the field that is wrong, and why.
        #[inline]
        pub fn decode(__bytes: &'a [__p::u8]) -> __p::Result<Self, __p::DecodeError> {
            let (__fixed, mut __behind) = __p::start("MemMap", __bytes)?;
            __p::own_tag("MemMap", __TAG.read(__fixed), 0, __p::None)?;
            let __f0 = __AT_MemMap_context.read(__fixed);
            let __f1 = __AT_MemMap_map_params
                .checked(
                    __fixed,
                    "MemMap",
                    "map_params",
                    const { &__FIELDS_MemMap[1].ty },
                )?;
            let __f2 = __p::Behind::take::<
                &'a [u8],
            >(
                &mut __behind,
                "exported_memh",
                true,
                __length_MemMap_exported_memh.read(__fixed),
            )?;
            __behind.end()?;
            __p::Ok(MemMap {
                context: __f0,
                map_params: __f1,
                exported_memh: __f2,
            })
        }
    }
    impl __p::Request for MemMap<'_> {
        type Protocol = Protocol;
        type Reply = <MemMapped as __p::ReplyOf<__Notifications>>::This;
        #[inline]
        fn encoded_len(&self) -> __p::Option<__p::usize> {
            __p::total(__LEN, &[<[_]>::len(__p::bytes(&self.exported_memh))])
        }
        #[inline]
        fn encode(&self, __out: &mut [__p::u8]) -> __p::Encoded {
            let mut __f1 = __AT_MemMap_map_params.copy(&self.map_params);
            __f1.exported_memh_buffer = __p::address_word(
                "MemMap",
                "exported_memh",
                &self.exported_memh,
            )?;
            let __length_of_exported_memh = __p::length_word(
                "MemMap",
                "exported_memh",
                &self.exported_memh,
            )?;
            __p::message(
                "MemMap",
                __out,
                [__p::bytes(&self.exported_memh)],
                |__fixed| {
                    __TAG.write(__fixed, &0);
                    __AT_MemMap_context.write(__fixed, &self.context);
                    __AT_MemMap_map_params.write(__fixed, &__f1);
                    __length_MemMap_exported_memh
                        .write(__fixed, &__length_of_exported_memh);
                },
            )
        }
        #[inline]
        fn echo(&self) -> __Echo_MemMap {
            __Echo_MemMap {
                context: self.context,
            }
        }
    }
    type __Echo_TagSend = <TagSent as __p::ReplyOf<__Notifications>>::Echo;
    impl<'a> __p::From<TagSend<'a>> for Command<'a> {
        #[inline]
        fn from(__message: TagSend<'a>) -> Command<'a> {
            Command::TagSend {
                context: __message.context,
                dest: __message.dest,
                data: __message.data,
                tag: __message.tag,
            }
        }
    }
    impl<'a> TagSend<'a> {
        /// Reads the command. The error names the field that is wrong, and why.
        #[inline]
        pub fn decode(__bytes: &'a [__p::u8]) -> __p::Result<Self, __p::DecodeError> {
            let (__fixed, mut __behind) = __p::start("TagSend", __bytes)?;
            __p::own_tag("TagSend", __TAG.read(__fixed), 1, __p::None)?;
            let __f0 = __AT_TagSend_context.read(__fixed);
            let __f1 = __AT_TagSend_dest.read(__fixed);
            let __f3 = __AT_TagSend_tag.read(__fixed);
            let __f2 = __p::Behind::data(
                &mut __behind,
                "data",
                __AT_TagSend_memh_id.read(__fixed),
                __address_TagSend_data.read(__fixed),
                __length_TagSend_data.read(__fixed),
            )?;
            __behind.end()?;
            __p::Ok(TagSend {
                context: __f0,
                dest: __f1,
                data: __f2,
                tag: __f3,
            })
        }
    }
    impl __p::Request for TagSend<'_> {
        type Protocol = Protocol;
        type Reply = <TagSent as __p::ReplyOf<__Notifications>>::This;
        #[inline]
        fn encoded_len(&self) -> __p::Option<__p::usize> {
            __p::total(__LEN, &[<[_]>::len(__p::bytes(&self.data))])
        }
        #[inline]
        fn encode(&self, __out: &mut [__p::u8]) -> __p::Encoded {
            let __address_of_data = __p::address_word("TagSend", "data", &self.data)?;
            let __length_of_data = __p::length_word("TagSend", "data", &self.data)?;
            let __f4: u64 = __p::selector_word("TagSend", "data", &self.data)?;
            __p::message(
                "TagSend",
                __out,
                [__p::bytes(&self.data)],
                |__fixed| {
                    __TAG.write(__fixed, &1);
                    __AT_TagSend_context.write(__fixed, &self.context);
                    __AT_TagSend_dest.write(__fixed, &self.dest);
                    __address_TagSend_data.write(__fixed, &__address_of_data);
                    __length_TagSend_data.write(__fixed, &__length_of_data);
                    __AT_TagSend_tag.write(__fixed, &self.tag);
                    __AT_TagSend_memh_id.write(__fixed, &__f4);
                },
            )
        }
        #[inline]
        fn echo(&self) -> __Echo_TagSend {
            __Echo_TagSend {
                context: self.context,
            }
        }
    }
    type __Echo_TagRecv = <TagReceived as __p::ReplyOf<__Notifications>>::Echo;
    impl<'a> __p::From<TagRecv> for Command<'a> {
        #[inline]
        fn from(__message: TagRecv) -> Command<'a> {
            Command::TagRecv {
                context: __message.context,
                buffer: __message.buffer,
                count: __message.count,
                tag: __message.tag,
                tag_mask: __message.tag_mask,
                memh_id: __message.memh_id,
            }
        }
    }
    impl TagRecv {
        /// Reads the command. The error names the field that is wrong, and why.
        #[inline]
        pub fn decode(__bytes: &[__p::u8]) -> __p::Result<Self, __p::DecodeError> {
            let __fixed = __p::exact("TagRecv", __bytes)?;
            __p::own_tag("TagRecv", __TAG.read(__fixed), 2, __p::None)?;
            let __f0 = __AT_TagRecv_context.read(__fixed);
            let __f1 = __AT_TagRecv_buffer.read(__fixed);
            let __f2 = __AT_TagRecv_count.read(__fixed);
            let __f3 = __AT_TagRecv_tag.read(__fixed);
            let __f4 = __AT_TagRecv_tag_mask.read(__fixed);
            let __f5 = __AT_TagRecv_memh_id.read(__fixed);
            __p::Ok(TagRecv {
                context: __f0,
                buffer: __f1,
                count: __f2,
                tag: __f3,
                tag_mask: __f4,
                memh_id: __f5,
            })
        }
    }
    impl __p::Request for TagRecv {
        type Protocol = Protocol;
        type Reply = <TagReceived as __p::ReplyOf<__Notifications>>::This;
        #[inline]
        fn encoded_len(&self) -> __p::Option<__p::usize> {
            __p::total(__LEN, &[])
        }
        #[inline]
        fn encode(&self, __out: &mut [__p::u8]) -> __p::Encoded {
            let __fixed = __p::fixed_part("TagRecv", __out)?;
            __TAG.write(__fixed, &2);
            __AT_TagRecv_context.write(__fixed, &self.context);
            __AT_TagRecv_buffer.write(__fixed, &self.buffer);
            __AT_TagRecv_count.write(__fixed, &self.count);
            __AT_TagRecv_tag.write(__fixed, &self.tag);
            __AT_TagRecv_tag_mask.write(__fixed, &self.tag_mask);
            __AT_TagRecv_memh_id.write(__fixed, &self.memh_id);
            __p::Ok(__LEN)
        }
        #[inline]
        fn echo(&self) -> __Echo_TagRecv {
            __Echo_TagRecv {
                context: self.context,
            }
        }
    }
    impl Protocol {
        /// The plugin's name.
        pub const NAME: &'static __p::str = "worker_sandbox";
        /// The version, which host and plugin compare.
        pub const VERSION: __p::u64 = 1u64;
    }
    impl __p::Protocol for Protocol {
        const DESCRIPTION: &'static __p::Description = &__p::Description {
            name: "worker_sandbox",
            version: 1u64,
            commands: __DESCRIPTION,
            notifications: <Notification as __p::Notifications>::DESCRIPTION,
        };
        type Client<AnyHost: __p::HostSide> = Client<AnyHost>;
        fn client<AnyHost: __p::HostSide>(__plugin: AnyHost::Plugin) -> Client<AnyHost> {
            Client(__plugin)
        }
    }
    impl<AnySide, AnyHandler> __p::Serve<AnySide, AnyHandler> for Protocol
    where
        AnySide: __p::PluginSide,
        AnyHandler: Handler<AnySide>,
    {
        fn open(__cx: &AnySide::OpenContext) -> __p::Result<AnyHandler, AnySide::Error> {
            AnyHandler::open(__cx)
        }
        fn address(
            __handler: &AnyHandler,
        ) -> __p::Result<__p::Vec<__p::u8>, AnySide::Error> {
            AnyHandler::address(__handler)
        }
        fn progress(__handler: &AnyHandler) -> __p::bool {
            AnyHandler::progress(__handler)
        }
        fn host_left(__handler: &AnyHandler, __connection: __p::ConnectionId) {
            AnyHandler::host_left(__handler, __connection);
        }
        fn arm(__handler: &AnyHandler) -> __p::Armed<'_> {
            AnyHandler::arm(__handler)
        }
        async fn serve<'command>(
            __handler: &'command AnyHandler,
            __cx: &'command AnySide::Context,
            __bytes: &'command [__p::u8],
        ) -> __p::Result<__p::Answer, AnySide::Error> {
            match __p::tag::<__p::u64, __LEN>("Command", __bytes)? {
                0 => {
                    __p::serve(
                            move || MemMap::decode(__bytes),
                            move |__command| AnyHandler::mem_map(
                                __handler,
                                __cx,
                                __command,
                            ),
                            |__now| AnySide::answer_buffer(__cx, __now),
                        )
                        .await
                }
                1 => {
                    __p::serve(
                            move || TagSend::decode(__bytes),
                            move |__command| AnyHandler::tag_send(
                                __handler,
                                __cx,
                                __command,
                            ),
                            |__now| AnySide::answer_buffer(__cx, __now),
                        )
                        .await
                }
                2 => {
                    __p::serve(
                            move || TagRecv::decode(__bytes),
                            move |__command| AnyHandler::tag_recv(
                                __handler,
                                __cx,
                                __command,
                            ),
                            |__now| AnySide::answer_buffer(__cx, __now),
                        )
                        .await
                }
                __found => __p::unknown("Command", __found, __KNOWN),
            }
        }
    }
    impl<AnyHost: __p::HostSide> __p::Clone for Client<AnyHost> {
        fn clone(&self) -> Self {
            Self(__p::Clone::clone(&self.0))
        }
    }
    impl<AnyHost: __p::HostSide> __p::fmt::Debug for Client<AnyHost> {
        fn fmt(&self, __f: &mut __p::fmt::Formatter<'_>) -> __p::fmt::Result {
            __p::fmt::Formatter::write_str(__f, "Client(worker_sandbox)")
        }
    }
    impl<AnyHost: __p::HostSide> __p::AsRef<AnyHost::Plugin> for Client<AnyHost> {
        fn as_ref(&self) -> &AnyHost::Plugin {
            &self.0
        }
    }
    const _: () = {
        fn buffer() {}
        let _ = buffer;
        fn callback() {}
        let _ = callback;
        fn context() {}
        let _ = context;
        fn count() {}
        let _ = count;
        fn data() {}
        let _ = data;
        fn dest() {}
        let _ = dest;
        fn exported_memh() {}
        let _ = exported_memh;
        fn limit() {}
        let _ = limit;
        fn map_params() {}
        let _ = map_params;
        fn memh_id() {}
        let _ = memh_id;
        fn tag() {}
        let _ = tag;
        fn tag_mask() {}
        let _ = tag_mask;
        fn worker() {}
        let _ = worker;
        impl<AnyHost: __p::HostSide> Client<AnyHost> {
            /// The plugin as the service knows it.
            pub fn plugin(&self) -> &AnyHost::Plugin {
                &self.0
            }
            /// Registers memory for later sends and receives of this host, until it leaves.
            pub fn task_mem_map<'task>(
                &'task self,
                worker: &'task AnyHost::Worker,
                map_params: MapParams,
            ) -> MemMapTask<'task, AnyHost> {
                let __command = MemMap {
                    context: __AT_MemMap_context.zero(),
                    map_params,
                    exported_memh: __p::unset(),
                };
                MemMapTask {
                    0: __p::Task::new(&self.0, worker, __command),
                }
            }
            /// Sends `data` to worker `dest` of the domain.
            pub fn task_tag_send<'task>(
                &'task self,
                worker: &'task AnyHost::Worker,
                dest: u64,
                tag: u64,
            ) -> TagSendTask<'task, AnyHost> {
                let __command = TagSend {
                    context: __AT_TagSend_context.zero(),
                    dest,
                    data: __p::unset(),
                    tag,
                };
                TagSendTask {
                    0: __p::Task::new(&self.0, worker, __command),
                }
            }
            /// Receives the first message whose tag matches.
            pub fn task_tag_recv<'task>(
                &'task self,
                worker: &'task AnyHost::Worker,
                count: u64,
                tag: u64,
                tag_mask: u64,
            ) -> TagRecvTask<'task, AnyHost> {
                let __command = TagRecv {
                    context: __AT_TagRecv_context.zero(),
                    buffer: __AT_TagRecv_buffer.zero(),
                    count,
                    tag,
                    tag_mask,
                    memh_id: __AT_TagRecv_memh_id.zero(),
                };
                TagRecvTask {
                    0: __p::Task::new(&self.0, worker, __command),
                }
            }
        }
        impl<'task, AnyHost: __p::HostSide> MemMapTask<'task, AnyHost> {
            /// Any value; the answer repeats it.
            pub fn context(mut self, context: u64) -> Self {
                self.0.command.context = context;
                self
            }
            /** The exported handle of the host's memory; empty for memory that the plugin allocates.
 The Rust plugin also accepts the result of `Mmap::export` of `urom_host`.*/
            pub fn exported_memh(mut self, exported_memh: &'task [u8]) -> Self {
                self.0.command.exported_memh = exported_memh;
                self
            }
            /// Ends the task with `TIME_OUT` unless it is answered within `limit` of its
            /// submission. Overrides the worker's timeout; `Duration::MAX` means none.
            pub fn timeout(self, limit: __p::Duration) -> Self {
                Self(self.0.timeout(limit))
            }
            /// Is [`Self::timeout`].
            #[deprecated(note = "use `timeout`")]
            pub fn deadline(self, limit: __p::Duration) -> Self {
                self.timeout(limit)
            }
            /// Submits the command; after an error nothing was sent.
            pub fn submit(self) -> __p::Submitted<AnyHost, MemMap<'task>> {
                __p::Task::submit(self.0)
            }
            /// The same with a `callback`, called inside a progress call unless this fails.
            /// The handle cancels the task, and may be dropped.
            pub fn submit_with(
                self,
                callback: impl __p::FnOnce(
                    __p::Result<MemMapped, AnyHost::Error>,
                ) + 'static,
            ) -> __p::Result<AnyHost::Handle, AnyHost::Error> {
                self.0.submit_with(callback)
            }
        }
        /// Submits the task when it is awaited.
        impl<'task, AnyHost: __p::HostSide> __p::IntoFuture
        for MemMapTask<'task, AnyHost> {
            type Output = __p::Awaited<AnyHost, MemMap<'task>>;
            type IntoFuture = __p::AnsweredBy<AnyHost, MemMap<'task>>;
            fn into_future(self) -> __p::AnsweredBy<AnyHost, MemMap<'task>> {
                __p::Answered::new(__p::Task::submit(self.0))
            }
        }
        impl<'task, AnyHost: __p::HostSide> TagSendTask<'task, AnyHost> {
            /// Any value; the answer repeats it.
            pub fn context(mut self, context: u64) -> Self {
                self.0.command.context = context;
                self
            }
            /** Inline or in registered memory; empty by default. Any number of sends may share
 registered bytes.*/
            pub fn data(mut self, data: impl __p::Into<Data<'task>>) -> Self {
                self.0.command.data = __p::Into::into(data);
                self
            }
            /// Ends the task with `TIME_OUT` unless it is answered within `limit` of its
            /// submission. Overrides the worker's timeout; `Duration::MAX` means none.
            pub fn timeout(self, limit: __p::Duration) -> Self {
                Self(self.0.timeout(limit))
            }
            /// Is [`Self::timeout`].
            #[deprecated(note = "use `timeout`")]
            pub fn deadline(self, limit: __p::Duration) -> Self {
                self.timeout(limit)
            }
            /// Submits the command; after an error nothing was sent.
            pub fn submit(self) -> __p::Submitted<AnyHost, TagSend<'task>> {
                __p::Task::submit(self.0)
            }
            /// The same with a `callback`, called inside a progress call unless this fails.
            /// The handle cancels the task, and may be dropped.
            pub fn submit_with(
                self,
                callback: impl __p::FnOnce(
                    __p::Result<TagSent, AnyHost::Error>,
                ) + 'static,
            ) -> __p::Result<AnyHost::Handle, AnyHost::Error> {
                self.0.submit_with(callback)
            }
        }
        /// Submits the task when it is awaited.
        impl<'task, AnyHost: __p::HostSide> __p::IntoFuture
        for TagSendTask<'task, AnyHost> {
            type Output = __p::Awaited<AnyHost, TagSend<'task>>;
            type IntoFuture = __p::AnsweredBy<AnyHost, TagSend<'task>>;
            fn into_future(self) -> __p::AnsweredBy<AnyHost, TagSend<'task>> {
                __p::Answered::new(__p::Task::submit(self.0))
            }
        }
        impl<'task, AnyHost: __p::HostSide> TagRecvTask<'task, AnyHost> {
            /// Any value; the answer repeats it.
            pub fn context(mut self, context: u64) -> Self {
                self.0.command.context = context;
                self
            }
            /// The destination in registered memory; not used without `memh_id`.
            pub fn buffer(mut self, buffer: u64) -> Self {
                self.0.command.buffer = buffer;
                self
            }
            /** The handle of the registered memory to receive into, if no other command uses these
 bytes (`UCS_ERR_BUSY`); 0, the default, receives into the answer.*/
            pub fn memh_id(mut self, memh_id: u64) -> Self {
                self.0.command.memh_id = memh_id;
                self
            }
            /// Ends the task with `TIME_OUT` unless it is answered within `limit` of its
            /// submission. Overrides the worker's timeout; `Duration::MAX` means none.
            pub fn timeout(self, limit: __p::Duration) -> Self {
                Self(self.0.timeout(limit))
            }
            /// Is [`Self::timeout`].
            #[deprecated(note = "use `timeout`")]
            pub fn deadline(self, limit: __p::Duration) -> Self {
                self.timeout(limit)
            }
            /// Submits the command; after an error nothing was sent.
            pub fn submit(self) -> __p::Submitted<AnyHost, TagRecv> {
                __p::Task::submit(self.0)
            }
            /// The same with a `callback`, called inside a progress call unless this fails.
            /// The handle cancels the task, and may be dropped.
            pub fn submit_with(
                self,
                callback: impl __p::FnOnce(
                    __p::Result<TagReceived, AnyHost::Error>,
                ) + 'static,
            ) -> __p::Result<AnyHost::Handle, AnyHost::Error> {
                self.0.submit_with(callback)
            }
        }
        /// Submits the task when it is awaited.
        impl<'task, AnyHost: __p::HostSide> __p::IntoFuture
        for TagRecvTask<'task, AnyHost> {
            type Output = __p::Awaited<AnyHost, TagRecv>;
            type IntoFuture = __p::AnsweredBy<AnyHost, TagRecv>;
            fn into_future(self) -> __p::AnsweredBy<AnyHost, TagRecv> {
                __p::Answered::new(__p::Task::submit(self.0))
            }
        }
    };
};
/// The answers of the sandbox plugin. A `status` is UCX's (`ucs_status_t`): 0 on success, negative
/// otherwise.
#[derive(Debug, PartialEq)]
pub enum Notification {
    /// The memory is registered. C's plugin sends the tag of the next variant.
    MemMapped {
        /// The command's value.
        context: u64,
        /// The handle for later commands, never 0.
        memh_id: u64,
    },
    /// The data may be reused; it may not have been received yet.
    TagSent {
        /// The command's value.
        context: u64,
        /// The result of the send.
        status: i8,
    },
    /// A message was received.
    TagReceived {
        /// The command's value.
        context: u64,
        /// The message, or its length in registered memory. Empty on an error.
        data: Received,
        /// The sender's tag; 0 on an error.
        sender_tag: u64,
        /// The result of the receive; `UCS_ERR_MESSAGE_TRUNCATED` if the message was too long and
        /// was dropped.
        status: i8,
    },
}
/// The memory is registered. C's plugin sends the tag of the next variant.
#[derive(Debug, PartialEq, ::core::clone::Clone, ::core::marker::Copy)]
pub struct MemMapped {
    /// The handle for later commands, never 0.
    pub memh_id: u64,
}
#[doc(hidden)]
#[derive(::core::clone::Clone, ::core::marker::Copy)]
pub struct MemMappedEcho {
    pub context: u64,
}
/// The data may be reused; it may not have been received yet.
#[derive(Debug, PartialEq, ::core::clone::Clone, ::core::marker::Copy)]
pub struct TagSent {
    /// The result of the send.
    pub status: i8,
}
#[doc(hidden)]
#[derive(::core::clone::Clone, ::core::marker::Copy)]
pub struct TagSentEcho {
    pub context: u64,
}
/// A message was received.
#[derive(Debug, PartialEq, ::core::clone::Clone)]
pub struct TagReceived {
    /// The message, or its length in registered memory. Empty on an error.
    pub data: Received,
    /// The sender's tag; 0 on an error.
    pub sender_tag: u64,
    /** The result of the receive; `UCS_ERR_MESSAGE_TRUNCATED` if the message was too long and
 was dropped.*/
    pub status: i8,
}
#[doc(hidden)]
#[derive(::core::clone::Clone, ::core::marker::Copy)]
pub struct TagReceivedEcho {
    pub context: u64,
}
const _: () = {
    use ::urom_abi::__private as __p;
    use __p::{NotAnyBytes as _, NotDescribed as _};
    type __At<T, const A: __p::usize, const N: __p::bool = true> = __p::At<
        T,
        A,
        __LEN,
        N,
    >;
    const __FIELDS_MemMapped: [__p::Item; 2] = [
        __p::echo("context", __p::ty(<__p::Probe<u64>>::FOUND, "u64")),
        __p::plain("memh_id", __p::ty(<__p::Probe<u64>>::FOUND, "u64")),
    ];
    const __FIELDS_TagSent: [__p::Item; 2] = [
        __p::echo("context", __p::ty(<__p::Probe<u64>>::FOUND, "u64")),
        __p::plain("status", __p::ty(<__p::Probe<i8>>::FOUND, "i8")),
    ];
    const __FIELDS_TagReceived: [__p::Item; 5] = [
        __p::echo("context", __p::ty(<__p::Probe<u64>>::FOUND, "u64")),
        __p::address("data_addr", "data", __p::WORD),
        __p::length("data_len", "data", __p::WORD),
        __p::plain("sender_tag", __p::ty(<__p::Probe<u64>>::FOUND, "u64")),
        __p::plain("status", __p::ty(<__p::Probe<i8>>::FOUND, "i8")),
    ];
    const __LAYOUT: __p::Layout = __p::layout(
        <__p::u64 as __p::Described>::TYPE,
        0,
        &[&__FIELDS_MemMapped, &__FIELDS_TagSent, &__FIELDS_TagReceived],
    );
    const __LEN: __p::usize = __LAYOUT.len;
    const __TAG: __At<__p::u64, 0> = __p::field();
    const __OF_MemMapped: [__p::usize; 2] = __p::offsets(&__LAYOUT, &__FIELDS_MemMapped);
    const __AT_MemMapped_context: __At<u64, { __OF_MemMapped[0] }> = __p::field();
    const __AT_MemMapped_memh_id: __At<u64, { __OF_MemMapped[1] }> = __p::field();
    const __OF_TagSent: [__p::usize; 2] = __p::offsets(&__LAYOUT, &__FIELDS_TagSent);
    const __AT_TagSent_context: __At<u64, { __OF_TagSent[0] }> = __p::field();
    const __AT_TagSent_status: __At<i8, { __OF_TagSent[1] }> = __p::field();
    const __OF_TagReceived: [__p::usize; 5] = __p::offsets(
        &__LAYOUT,
        &__FIELDS_TagReceived,
    );
    const __AT_TagReceived_context: __At<u64, { __OF_TagReceived[0] }> = __p::field();
    const __address_TagReceived_data: __At<__p::u64, { __OF_TagReceived[1] }> = __p::field();
    const __length_TagReceived_data: __At<__p::u64, { __OF_TagReceived[2] }> = __p::field();
    const __AT_TagReceived_sender_tag: __At<u64, { __OF_TagReceived[3] }> = __p::field();
    const __AT_TagReceived_status: __At<i8, { __OF_TagReceived[4] }> = __p::field();
    const __DESCRIPTION: __p::Messages = __p::Messages {
        name: "Notification",
        docs: " The answers of the sandbox plugin. A `status` is UCX's (`ucs_status_t`): 0 on success, negative\n otherwise.",
        tag: <__p::u64 as __p::Described>::TYPE,
        len: __LEN,
        union_at: __LAYOUT.union_at,
        header: &[],
        variants: &[
            __p::Variant {
                name: "MemMapped",
                docs: " The memory is registered. C's plugin sends the tag of the next variant.",
                tag: 0,
                also: __p::Some(1u64),
                fields: &__p::placed(
                    __FIELDS_MemMapped,
                    __OF_MemMapped,
                    [" The command's value.", " The handle for later commands, never 0."],
                ),
                ..__p::Variant::NONE
            },
            __p::Variant {
                name: "TagSent",
                docs: " The data may be reused; it may not have been received yet.",
                tag: 1,
                fields: &__p::placed(
                    __FIELDS_TagSent,
                    __OF_TagSent,
                    [" The command's value.", " The result of the send."],
                ),
                ..__p::Variant::NONE
            },
            __p::Variant {
                name: "TagReceived",
                docs: " A message was received.",
                tag: 2,
                fields: &__p::placed(
                    __FIELDS_TagReceived,
                    __OF_TagReceived,
                    [
                        " The command's value.",
                        "",
                        "",
                        " The sender's tag; 0 on an error.",
                        " The result of the receive; `UCS_ERR_MESSAGE_TRUNCATED` if the message was too long and\n was dropped.",
                    ],
                ),
                payloads: &[
                    __p::PayloadItem {
                        name: "data",
                        docs: " The message, or its length in registered memory. Empty on an error.",
                        presence: __p::Presence::Registered,
                        count: __p::PayloadCount::Word("data_len"),
                        address: __p::Some("data_addr"),
                        ..__p::PayloadItem::NONE
                    },
                ],
                ..__p::Variant::NONE
            },
        ],
    };
    const __KNOWN: &[(&__p::str, __p::u64)] = &__p::known::<3>(&__DESCRIPTION);
    const _: () = __p::assert_fits(&__DESCRIPTION, __p::NOTIFICATION_HEADER);
    const _: () = __p::used((Notification::decode, Notification::encode));
    impl Notification {
        /// The size in bytes of every message without its inline payloads.
        pub const FIXED_LEN: __p::usize = __LEN;
        /// Reads a message of any variant. The error contains the invalid field and the
        /// reason; for an unknown tag it lists the known ones.
        #[inline]
        pub fn decode(__bytes: &[__p::u8]) -> __p::Result<Self, __p::DecodeError> {
            match __p::tag::<__p::u64, __LEN>("Notification", __bytes)? {
                0 => __p::read::<MemMapped, Notification>(__bytes),
                1 => __p::read::<TagSent, Notification>(__bytes),
                2 => __p::read::<TagReceived, Notification>(__bytes),
                __found => __p::unknown("Notification", __found, __KNOWN),
            }
        }
        /// Writes the message to the start of the buffer and returns its length. After an error
        /// nothing is written.
        #[inline]
        pub fn encode(
            &self,
            __out: &mut [__p::u8],
        ) -> __p::Result<__p::usize, __p::EncodeError> {
            match self {
                Notification::MemMapped { context: __f0, memh_id: __f1 } => {
                    let __message = MemMapped { memh_id: *__f1 };
                    let __repeated = MemMappedEcho { context: *__f0 };
                    __p::encode(__message, &__repeated, __out)
                }
                Notification::TagSent { context: __f0, status: __f1 } => {
                    let __message = TagSent { status: *__f1 };
                    let __repeated = TagSentEcho { context: *__f0 };
                    __p::encode(__message, &__repeated, __out)
                }
                Notification::TagReceived {
                    context: __f0,
                    data: __f1,
                    sender_tag: __f2,
                    status: __f3,
                } => {
                    let __message = TagReceived {
                        data: __p::Clone::clone(__f1),
                        sender_tag: *__f2,
                        status: *__f3,
                    };
                    let __repeated = TagReceivedEcho { context: *__f0 };
                    __p::encode(__message, &__repeated, __out)
                }
            }
        }
        /// The length that `encode` writes; `None` when it cannot write the message.
        #[inline]
        pub fn encoded_len(&self) -> __p::Option<__p::usize> {
            __p::encoded_len(self.encode(&mut []))
        }
    }
    impl __p::Notifications for Notification {
        const DESCRIPTION: __p::Messages = __DESCRIPTION;
    }
    impl __p::From<(MemMapped, MemMappedEcho)> for Notification {
        #[inline]
        fn from((__message, __echo): (MemMapped, MemMappedEcho)) -> Notification {
            Notification::MemMapped {
                context: __echo.context,
                memh_id: __message.memh_id,
            }
        }
    }
    impl __p::Reply for MemMapped {
        type Echo = MemMappedEcho;
        #[inline(always)]
        fn read(
            __incoming: impl __p::Incoming,
            __echo: __p::Option<&MemMappedEcho>,
        ) -> __p::Decoded<(Self, MemMappedEcho)> {
            let __fixed = __p::exact("MemMapped", __p::Incoming::bytes(&__incoming))?;
            __p::own_tag("MemMapped", __TAG.read(__fixed), 0, __p::Some(1))?;
            __AT_MemMapped_context
                .repeats(
                    __fixed,
                    "MemMapped",
                    "context",
                    __echo.map(|__echo| &__echo.context),
                )?;
            let __f0 = __AT_MemMapped_context.read(__fixed);
            let __f1 = __AT_MemMapped_memh_id.read(__fixed);
            let __repeated = MemMappedEcho { context: __f0 };
            __p::Ok((MemMapped { memh_id: __f1 }, __repeated))
        }
        #[inline]
        fn write(
            self,
            __echo: &MemMappedEcho,
            __buffer: __p::AnswerBuffer<'_>,
        ) -> __p::Written {
            __p::notification(
                "MemMapped",
                __buffer,
                |__fixed| {
                    __TAG.write(__fixed, &0);
                    __AT_MemMapped_context.write(__fixed, &__echo.context);
                    __AT_MemMapped_memh_id.write(__fixed, &self.memh_id);
                },
            )
        }
    }
    impl __p::ReplyOf<Notification> for MemMapped {
        type This = Self;
        type Echo = MemMappedEcho;
    }
    impl __p::From<(TagSent, TagSentEcho)> for Notification {
        #[inline]
        fn from((__message, __echo): (TagSent, TagSentEcho)) -> Notification {
            Notification::TagSent {
                context: __echo.context,
                status: __message.status,
            }
        }
    }
    impl __p::Reply for TagSent {
        type Echo = TagSentEcho;
        #[inline(always)]
        fn read(
            __incoming: impl __p::Incoming,
            __echo: __p::Option<&TagSentEcho>,
        ) -> __p::Decoded<(Self, TagSentEcho)> {
            let __fixed = __p::exact("TagSent", __p::Incoming::bytes(&__incoming))?;
            __p::own_tag("TagSent", __TAG.read(__fixed), 1, __p::None)?;
            __AT_TagSent_context
                .repeats(
                    __fixed,
                    "TagSent",
                    "context",
                    __echo.map(|__echo| &__echo.context),
                )?;
            let __f0 = __AT_TagSent_context.read(__fixed);
            let __f1 = __AT_TagSent_status.read(__fixed);
            let __repeated = TagSentEcho { context: __f0 };
            __p::Ok((TagSent { status: __f1 }, __repeated))
        }
        #[inline]
        fn write(
            self,
            __echo: &TagSentEcho,
            __buffer: __p::AnswerBuffer<'_>,
        ) -> __p::Written {
            __p::notification(
                "TagSent",
                __buffer,
                |__fixed| {
                    __TAG.write(__fixed, &1);
                    __AT_TagSent_context.write(__fixed, &__echo.context);
                    __AT_TagSent_status.write(__fixed, &self.status);
                },
            )
        }
    }
    impl __p::ReplyOf<Notification> for TagSent {
        type This = Self;
        type Echo = TagSentEcho;
    }
    impl __p::From<(TagReceived, TagReceivedEcho)> for Notification {
        #[inline]
        fn from((__message, __echo): (TagReceived, TagReceivedEcho)) -> Notification {
            Notification::TagReceived {
                context: __echo.context,
                data: __message.data,
                sender_tag: __message.sender_tag,
                status: __message.status,
            }
        }
    }
    impl TagReceived {
        /// Memory for `len` elements of `data`, zeroed: the notification's own, so that nothing is copied. `NoMemory` when the C heap is full.
        #[inline]
        pub fn payload(
            __len: __p::usize,
        ) -> __p::Result<::urom_abi::Payload, __p::EncodeError> {
            __p::payload::<__LEN, _>("TagReceived", __len)
        }
    }
    impl __p::Reply for TagReceived {
        type Echo = TagReceivedEcho;
        #[inline(always)]
        fn read(
            __incoming: impl __p::Incoming,
            __echo: __p::Option<&TagReceivedEcho>,
        ) -> __p::Decoded<(Self, TagReceivedEcho)> {
            let (__fixed, mut __behind) = __p::start(
                "TagReceived",
                __p::Incoming::bytes(&__incoming),
            )?;
            __p::own_tag("TagReceived", __TAG.read(__fixed), 2, __p::None)?;
            __AT_TagReceived_context
                .repeats(
                    __fixed,
                    "TagReceived",
                    "context",
                    __echo.map(|__echo| &__echo.context),
                )?;
            let __f0 = __AT_TagReceived_context.read(__fixed);
            let __f2 = __AT_TagReceived_sender_tag.read(__fixed);
            let __f3 = __AT_TagReceived_status.read(__fixed);
            let (__view_1, __f1) = __p::Behind::part::<
                Received,
            >(
                &mut __behind,
                "data",
                __p::by_address::<Received>(__address_TagReceived_data.read(__fixed)),
                __length_TagReceived_data.read(__fixed),
            )?;
            __behind.end()?;
            let mut __tail = __p::Tail::of(__incoming, __LEN);
            let __repeated = TagReceivedEcho { context: __f0 };
            __p::Ok((
                TagReceived {
                    data: __p::Tail::take::<Received>(&mut __tail, __f1),
                    sender_tag: __f2,
                    status: __f3,
                },
                __repeated,
            ))
        }
        #[inline]
        fn write(
            self,
            __echo: &TagReceivedEcho,
            __buffer: __p::AnswerBuffer<'_>,
        ) -> __p::Written {
            let __address_of_data = __p::address_word(
                "TagReceived",
                "data",
                &self.data,
            )?;
            let __length_of_data = __p::length_word("TagReceived", "data", &self.data)?;
            __p::reply(
                "TagReceived",
                __buffer,
                [__p::give(self.data)],
                |__fixed| {
                    __TAG.write(__fixed, &2);
                    __AT_TagReceived_context.write(__fixed, &__echo.context);
                    __address_TagReceived_data.write(__fixed, &__address_of_data);
                    __length_TagReceived_data.write(__fixed, &__length_of_data);
                    __AT_TagReceived_sender_tag.write(__fixed, &self.sender_tag);
                    __AT_TagReceived_status.write(__fixed, &self.status);
                },
            )
        }
    }
    impl __p::ReplyOf<Notification> for TagReceived {
        type This = Self;
        type Echo = TagReceivedEcho;
    }
};
