use urom_abi::{urom_command, urom_notification};
/// What a host can ask of the graph plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Asks for `data` back.
    Loopback {
        /// Any value.
        data: u64,
    },
}
#[cfg_attr(not(doctest), doc = " Asks for `data` back.")]
#[cfg_attr(doctest, doc = " The command `Loopback`.")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loopback {
    #[cfg_attr(not(doctest), doc = " Any value.")]
    #[cfg_attr(doctest, doc = " The field `data`.")]
    pub data: u64,
}
/// The protocol of the plugin `worker_graph`: its commands and notifications as one type.
#[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
pub struct Protocol;
/// What a plugin `worker_graph` does: one method for each command, which ends with the notification that answers it.
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
    #[cfg_attr(not(doctest), doc = " Asks for `data` back.")]
    #[cfg_attr(doctest, doc = " Answers the command [`Loopback`].")]
    async fn loopback(
        &self,
        cx: &AnySide::Context,
        cmd: Loopback,
    ) -> ::core::result::Result<LoopbackDone, AnySide::Error>;
    #[doc(hidden)]
    fn __made_by_urom_command() -> Protocol {
        Protocol
    }
}
/// Sends commands to the plugin `worker_graph`: one `task_*` method for each command.
pub struct Client<AnyHost: ::urom_abi::protocol::HostSide> {
    plugin: AnyHost::Plugin,
}
/// A command [`Loopback`] that is ready to be submitted.
#[must_use = "a task does nothing until it is submitted"]
pub struct LoopbackTask<'task, AnyHost: ::urom_abi::protocol::HostSide> {
    plugin: &'task AnyHost::Plugin,
    worker: &'task AnyHost::Worker,
    command: Loopback,
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
        &[__layout::structure(&__EXTENTS_Loopback)],
    );
    const __PARTS: [__layout::Extent; 2usize] = [
        __layout::Extent::of::<::core::primitive::u64>(),
        __UNION,
    ];
    const __PARTS_AT: [::core::primitive::usize; 2usize] = __layout::offsets(0, __PARTS);
    const __UNION_AT: ::core::primitive::usize = __PARTS_AT[2usize - 1];
    const __LEN: ::core::primitive::usize = __layout::structure(&__PARTS).size;
    const __KNOWN: &[(&::core::primitive::str, ::core::primitive::u64)] = &[
        ("Loopback", 0u64),
    ];
    const __EXTENTS_Loopback: [__layout::Extent; 1usize] = [
        __layout::Extent::of::<u64>(),
    ];
    const __OFFSETS_Loopback: [::core::primitive::usize; 1usize] = __layout::offsets(
        __UNION_AT,
        __EXTENTS_Loopback,
    );
    const __AT_Loopback_data: ::urom_abi::wire::Field<
        u64,
        { __OFFSETS_Loopback[0usize] },
        __LEN,
    > = ::urom_abi::wire::field::<u64, { __OFFSETS_Loopback[0usize] }, __LEN>();
    const _: () = ::core::assert!(
        __LEN <= ::urom_abi::DEFAULT_MAX_MESSAGE - ::core::mem::size_of:: <
        ::urom_abi::plugin::WorkerCmd > (), "{}", ::urom_abi::wire::too_big(&
        [("Loopback", __layout::structure(& __EXTENTS_Loopback).size)], __LEN,
        ::core::mem::size_of:: < ::urom_abi::plugin::WorkerCmd > (),
        "a message has at most 4096 bytes by default, and every variant takes as many as the largest: send what is large as an inline payload")
        .as_str(),
    );
    use ::urom_abi::describe as __describe;
    use ::urom_abi::describe::NotDescribed as _;
    const __DESCRIPTION: __describe::Messages = __describe::Messages {
        name: "Command",
        docs: " What a host can ask of the graph plugin.",
        tag: <::core::primitive::u64 as __describe::Described>::TYPE,
        len: __LEN,
        union_at: __UNION_AT,
        header: &[],
        variants: &[
            __describe::Variant {
                name: "Loopback",
                docs: " Asks for `data` back.",
                tag: 0u64,
                also: ::core::option::Option::None,
                reply: ::core::option::Option::Some("LoopbackDone"),
                fields: &[
                    __describe::Field {
                        name: "data",
                        docs: " Any value.",
                        kind: __describe::FieldKind::Plain,
                        ty: __describe::found_or_opaque::<
                            u64,
                        >(<__describe::Probe<u64>>::FOUND, "u64"),
                        offset: __OFFSETS_Loopback[0usize],
                        optional: false,
                    },
                ],
                payloads: &[],
            },
        ],
    };
    ::urom_abi::__arbitrary! {
        fn __arbitrary_Loopback < 'arbitrary > (input : & mut
        ::urom_abi::arbitrary::Unstructured < 'arbitrary >,) -> ::core::result::Result <
        Command, ::urom_abi::arbitrary::Unfit > { let mut field_0 =
        ::urom_abi::arbitrary::plain(input, __AT_Loopback_data) ?;
        ::core::result::Result::Ok(Command::Loopback { data : field_0 }) }
        #[automatically_derived] impl < 'arbitrary > ::urom_abi::arbitrary::Arbitrary <
        'arbitrary > for Command { fn arbitrary(input : & mut
        ::urom_abi::arbitrary::Unstructured < 'arbitrary >,) ->
        ::urom_abi::arbitrary::Result < Self > { ::urom_abi::arbitrary::attempt(input, |
        input | { let chosen = ::urom_abi::arbitrary::choose(input, 1usize) ?; match
        chosen { 0usize => __arbitrary_Loopback(input), _ =>
        ::core::result::Result::Err(::urom_abi::arbitrary::Unfit), } }, | made | {
        ::urom_abi::arbitrary::can_be_written(Command::encoded_len(made), | out |
        Command::encode(made, out)) }) } } #[automatically_derived] impl < 'arbitrary >
        ::urom_abi::arbitrary::Arbitrary < 'arbitrary > for Loopback { fn arbitrary(input
        : & mut ::urom_abi::arbitrary::Unstructured < 'arbitrary >,) ->
        ::urom_abi::arbitrary::Result < Self > { match
        ::urom_abi::arbitrary::attempt(input, __arbitrary_Loopback, | made | {
        ::urom_abi::arbitrary::can_be_written(Command::encoded_len(made), | out |
        Command::encode(made, out)) }) ? { Command::Loopback { data, .. } =>
        ::core::result::Result::Ok(Loopback { data }), _ =>
        ::core::result::Result::Err(::urom_abi::arbitrary::Error::IncorrectFormat), } } }
    }
    type __Notifications = Notification;
    const __ANSWERS: &::urom_abi::describe::Messages = &<Notification as ::urom_abi::wire::Notifications>::DESCRIPTION;
    const _: () = ::urom_abi::wire::assert_notification(__ANSWERS, "LoopbackDone");
    const _: () = {
        let _ = Command::decode;
        let _ = Command::encode;
    };
    #[automatically_derived]
    impl Command {
        /// The size in bytes of every message without its inline payloads.
        pub const FIXED_LEN: ::core::primitive::usize = __LEN;
        /// Reads a message of any variant.
        ///
        /// # Errors
        /// Which field is wrong, and how; a tag that no variant has lists those there are.
        #[inline]
        pub fn decode(
            bytes: &[::core::primitive::u8],
        ) -> ::core::result::Result<Command, ::urom_abi::wire::DecodeError> {
            ::core::result::Result::Ok(
                match ::urom_abi::wire::tag::<
                    ::core::primitive::u64,
                    __LEN,
                >("Command", bytes)? {
                    0u64 => {
                        <Command as ::core::convert::From<
                            Loopback,
                        >>::from(Loopback::decode(bytes)?)
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
                Command::Loopback { data: field_0 } => __write_Loopback(out, (field_0,)),
            }
        }
        /// How many bytes `encode` writes; `None` when that cannot be counted in a `usize`.
        #[inline]
        pub fn encoded_len(&self) -> ::core::option::Option<::core::primitive::usize> {
            ::core::option::Option::Some(__LEN)
        }
    }
    const _: () = ::core::assert!(
        ::urom_abi::wire::echoes_all(< < LoopbackDone as ::urom_abi::wire::Answer <
        __Notifications >> ::Echo as ::urom_abi::wire::Echo > ::NAMES, & []),
        "`LoopbackDone` echoes a field that `Loopback` does not: mark the command's field of the same name `#[urom(echo)]`, or remove `echo` in the notification",
    );
    #[inline(always)]
    fn __write_Loopback(
        out: &mut [::core::primitive::u8],
        (field_0,): (&u64,),
    ) -> ::core::result::Result<
        ::core::primitive::usize,
        ::urom_abi::wire::EncodeError,
    > {
        let fixed = ::urom_abi::wire::room::<__LEN>("Loopback", out)?;
        __TAG.write(fixed, &0);
        __AT_Loopback_data.write(fixed, field_0);
        ::core::result::Result::Ok(__LEN)
    }
    #[automatically_derived]
    impl ::core::convert::From<Loopback> for Command {
        #[inline]
        fn from(message: Loopback) -> Command {
            Command::Loopback {
                data: message.data,
            }
        }
    }
    #[automatically_derived]
    impl Loopback {
        /// Reads the command.
        ///
        /// # Errors
        /// Which field is wrong, and how.
        #[inline]
        pub fn decode(
            bytes: &[::core::primitive::u8],
        ) -> ::core::result::Result<Loopback, ::urom_abi::wire::DecodeError> {
            let fixed = ::urom_abi::wire::exact::<__LEN>("Loopback", bytes)?;
            ::urom_abi::wire::own_tag(
                "Loopback",
                __TAG.read(fixed),
                0u64,
                ::core::option::Option::None,
            )?;
            ::core::result::Result::Ok(Loopback {
                data: __AT_Loopback_data.read(fixed),
            })
        }
    }
    #[automatically_derived]
    impl ::urom_abi::protocol::Request for Loopback {
        type Protocol = Protocol;
        type Reply = <LoopbackDone as ::urom_abi::wire::Answer<__Notifications>>::This;
        type Kind = Loopback;
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
            __write_Loopback(out, (&self.data,))
        }
        #[inline]
        fn echo(
            &self,
        ) -> <LoopbackDone as ::urom_abi::wire::Answer<__Notifications>>::Echo {
            let __echo = <<LoopbackDone as ::urom_abi::wire::Answer<
                __Notifications,
            >>::Echo as ::urom_abi::wire::Echo>::zero();
            __echo
        }
    }
    #[automatically_derived]
    impl ::urom_abi::protocol::Protocol for Protocol {
        const NAME: &'static ::core::primitive::str = "worker_graph";
        const VERSION: ::core::primitive::u64 = 1u64;
        const COMMAND_LEN: ::core::primitive::usize = __LEN;
        const NOTIFICATION_LEN: ::core::primitive::usize = <Notification as ::urom_abi::wire::Notifications>::LEN;
        const DESCRIPTION: &'static ::urom_abi::describe::Protocol = &::urom_abi::describe::Protocol {
            name: "worker_graph",
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
                        let __echo = <<LoopbackDone as ::urom_abi::wire::Answer<
                            __Notifications,
                        >>::Echo as ::urom_abi::wire::Echo>::zero();
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
                                move || Loopback::decode(bytes),
                                move |command| <AnyHandler as Handler<
                                    AnySide,
                                >>::loopback(handler, cx, command),
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
                ::core::concat!("Client(", "worker_graph", ")"),
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
        #[cfg_attr(not(doctest), doc = " Asks for `data` back.")]
        #[cfg_attr(doctest, doc = " Makes the command [`Loopback`].")]
        pub fn task_loopback<'task>(
            &'task self,
            worker: &'task AnyHost::Worker,
            data: u64,
        ) -> LoopbackTask<'task, AnyHost> {
            LoopbackTask {
                plugin: &self.plugin,
                worker: worker,
                command: Loopback { data },
                deadline: ::core::option::Option::None,
            }
        }
    }
    #[automatically_derived]
    impl<'task, AnyHost: ::urom_abi::protocol::HostSide> LoopbackTask<'task, AnyHost> {
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
        ) -> ::core::result::Result<AnyHost::Completion<Loopback>, AnyHost::Error> {
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
                    ::core::result::Result<LoopbackDone, AnyHost::Error>,
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
/// What the graph plugin answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notification {
    /// Answers a loopback.
    LoopbackDone {
        /// The value that was sent.
        data: u64,
    },
}
#[cfg_attr(not(doctest), doc = " Answers a loopback.")]
#[cfg_attr(doctest, doc = " The notification `LoopbackDone`.")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopbackDone {
    #[cfg_attr(not(doctest), doc = " The value that was sent.")]
    #[cfg_attr(doctest, doc = " The field `data`.")]
    pub data: u64,
}
/// The fields of `LoopbackDone` that repeat the command's.
#[doc(hidden)]
#[derive(::core::clone::Clone, ::core::marker::Copy)]
pub struct LoopbackDoneEcho;
const _: () = {
    use ::urom_abi::wire::NotAnyBytes as _;
    use ::urom_abi::wire::layout as __layout;
    const __TAG: ::urom_abi::wire::Field<::core::primitive::u64, 0, __LEN> = ::urom_abi::wire::field::<
        ::core::primitive::u64,
        0,
        __LEN,
    >();
    const __UNION: __layout::Extent = __layout::union(
        &[__layout::structure(&__EXTENTS_LoopbackDone)],
    );
    const __PARTS: [__layout::Extent; 2usize] = [
        __layout::Extent::of::<::core::primitive::u64>(),
        __UNION,
    ];
    const __PARTS_AT: [::core::primitive::usize; 2usize] = __layout::offsets(0, __PARTS);
    const __UNION_AT: ::core::primitive::usize = __PARTS_AT[2usize - 1];
    const __LEN: ::core::primitive::usize = __layout::structure(&__PARTS).size;
    const __KNOWN: &[(&::core::primitive::str, ::core::primitive::u64)] = &[
        ("LoopbackDone", 0u64),
    ];
    const __EXTENTS_LoopbackDone: [__layout::Extent; 1usize] = [
        __layout::Extent::of::<u64>(),
    ];
    const __OFFSETS_LoopbackDone: [::core::primitive::usize; 1usize] = __layout::offsets(
        __UNION_AT,
        __EXTENTS_LoopbackDone,
    );
    const __AT_LoopbackDone_data: ::urom_abi::wire::Field<
        u64,
        { __OFFSETS_LoopbackDone[0usize] },
        __LEN,
    > = ::urom_abi::wire::field::<u64, { __OFFSETS_LoopbackDone[0usize] }, __LEN>();
    const _: () = ::core::assert!(
        __LEN <= ::urom_abi::DEFAULT_MAX_MESSAGE - ::core::mem::size_of:: <
        ::urom_abi::plugin::WorkerNotify > (), "{}", ::urom_abi::wire::too_big(&
        [("LoopbackDone", __layout::structure(& __EXTENTS_LoopbackDone).size)], __LEN,
        ::core::mem::size_of:: < ::urom_abi::plugin::WorkerNotify > (),
        "a message has at most 4096 bytes by default, and every variant takes as many as the largest: send what is large as an inline payload")
        .as_str(),
    );
    use ::urom_abi::describe as __describe;
    use ::urom_abi::describe::NotDescribed as _;
    const __DESCRIPTION: __describe::Messages = __describe::Messages {
        name: "Notification",
        docs: " What the graph plugin answers.",
        tag: <::core::primitive::u64 as __describe::Described>::TYPE,
        len: __LEN,
        union_at: __UNION_AT,
        header: &[],
        variants: &[
            __describe::Variant {
                name: "LoopbackDone",
                docs: " Answers a loopback.",
                tag: 0u64,
                also: ::core::option::Option::None,
                reply: ::core::option::Option::None,
                fields: &[
                    __describe::Field {
                        name: "data",
                        docs: " The value that was sent.",
                        kind: __describe::FieldKind::Plain,
                        ty: __describe::found_or_opaque::<
                            u64,
                        >(<__describe::Probe<u64>>::FOUND, "u64"),
                        offset: __OFFSETS_LoopbackDone[0usize],
                        optional: false,
                    },
                ],
                payloads: &[],
            },
        ],
    };
    ::urom_abi::__arbitrary! {
        fn __arbitrary_LoopbackDone < 'arbitrary > (input : & mut
        ::urom_abi::arbitrary::Unstructured < 'arbitrary >,) -> ::core::result::Result <
        Notification, ::urom_abi::arbitrary::Unfit > { let mut field_0 =
        ::urom_abi::arbitrary::plain(input, __AT_LoopbackDone_data) ?;
        ::core::result::Result::Ok(Notification::LoopbackDone { data : field_0 }) }
        #[automatically_derived] impl < 'arbitrary > ::urom_abi::arbitrary::Arbitrary <
        'arbitrary > for Notification { fn arbitrary(input : & mut
        ::urom_abi::arbitrary::Unstructured < 'arbitrary >,) ->
        ::urom_abi::arbitrary::Result < Self > { ::urom_abi::arbitrary::attempt(input, |
        input | { let chosen = ::urom_abi::arbitrary::choose(input, 1usize) ?; match
        chosen { 0usize => __arbitrary_LoopbackDone(input), _ =>
        ::core::result::Result::Err(::urom_abi::arbitrary::Unfit), } }, | made | {
        ::urom_abi::arbitrary::can_be_written(Notification::encoded_len(made), | out |
        Notification::encode(made, out)) }) } } #[automatically_derived] impl <
        'arbitrary > ::urom_abi::arbitrary::Arbitrary < 'arbitrary > for LoopbackDone {
        fn arbitrary(input : & mut ::urom_abi::arbitrary::Unstructured < 'arbitrary >,)
        -> ::urom_abi::arbitrary::Result < Self > { match
        ::urom_abi::arbitrary::attempt(input, __arbitrary_LoopbackDone, | made | {
        ::urom_abi::arbitrary::can_be_written(Notification::encoded_len(made), | out |
        Notification::encode(made, out)) }) ? { Notification::LoopbackDone { data, .. }
        => ::core::result::Result::Ok(LoopbackDone { data }), _ =>
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
                        let (message, echo) = __read_LoopbackDone(
                            bytes,
                            ::core::option::Option::None,
                        )?;
                        Notification::LoopbackDone {
                            data: message.data,
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
                Notification::LoopbackDone { data: field_0 } => {
                    let fixed = ::urom_abi::wire::room::<__LEN>("LoopbackDone", out)?;
                    __TAG.write(fixed, &0);
                    __AT_LoopbackDone_data.write(fixed, field_0);
                    ::core::result::Result::Ok(__LEN)
                }
            }
        }
        /// How many bytes `encode` writes; `None` when that cannot be counted in a `usize`.
        #[inline]
        pub fn encoded_len(&self) -> ::core::option::Option<::core::primitive::usize> {
            ::core::option::Option::Some(__LEN)
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
    #[automatically_derived]
    impl ::core::convert::From<LoopbackDone> for Notification {
        #[inline]
        fn from(message: LoopbackDone) -> Notification {
            Notification::LoopbackDone {
                data: message.data,
            }
        }
    }
    #[inline(always)]
    fn __read_LoopbackDone(
        incoming: impl ::urom_abi::protocol::Incoming,
        _echo: ::core::option::Option<&LoopbackDoneEcho>,
    ) -> ::core::result::Result<
        (LoopbackDone, LoopbackDoneEcho),
        ::urom_abi::wire::DecodeError,
    > {
        let fixed = ::urom_abi::wire::exact::<
            __LEN,
        >("LoopbackDone", ::urom_abi::protocol::Incoming::bytes(&incoming))?;
        ::urom_abi::wire::own_tag(
            "LoopbackDone",
            __TAG.read(fixed),
            0u64,
            ::core::option::Option::None,
        )?;
        ::core::result::Result::Ok((
            LoopbackDone {
                data: __AT_LoopbackDone_data.read(fixed),
            },
            LoopbackDoneEcho {},
        ))
    }
    #[automatically_derived]
    impl ::urom_abi::protocol::Reply for LoopbackDone {
        type Echo = LoopbackDoneEcho;
        #[inline]
        fn decode(
            incoming: impl ::urom_abi::protocol::Incoming,
            echo: &LoopbackDoneEcho,
        ) -> ::core::result::Result<LoopbackDone, ::urom_abi::wire::DecodeError> {
            let (message, _) = __read_LoopbackDone(
                incoming,
                ::core::option::Option::Some(echo),
            )?;
            ::core::result::Result::Ok(message)
        }
        #[inline]
        fn into_descriptor(
            self,
            echo: &LoopbackDoneEcho,
        ) -> ::core::result::Result<
            ::urom_abi::descriptor::NotificationDesc,
            ::urom_abi::wire::EncodeError,
        > {
            ::urom_abi::wire::notification::<
                __LEN,
            >(
                "LoopbackDone",
                |fixed| {
                    __TAG.write(fixed, &0);
                    __AT_LoopbackDone_data.write(fixed, &self.data);
                },
            )
        }
    }
    #[automatically_derived]
    impl ::urom_abi::wire::Answer<Notification> for LoopbackDone {
        type This = LoopbackDone;
        type Echo = LoopbackDoneEcho;
    }
    #[automatically_derived]
    impl ::urom_abi::wire::Echo for LoopbackDoneEcho {
        const NAMES: &'static [::core::primitive::u64] = &[];
        #[inline]
        fn zero() -> LoopbackDoneEcho {
            LoopbackDoneEcho {}
        }
    }
    #[automatically_derived]
    impl LoopbackDoneEcho {
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
                "LoopbackDone",
                |fixed| {
                    __TAG.write(fixed, &0);
                },
            )
        }
    }
};
