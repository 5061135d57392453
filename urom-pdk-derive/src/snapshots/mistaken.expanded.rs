enum Command {
    Wait { forever: bool },
}
/// The command `Wait`.
#[derive(
    ::core::clone::Clone,
    ::core::fmt::Debug,
    ::core::cmp::PartialEq,
    ::core::marker::Copy
)]
struct Wait {
    /// The field `forever`.
    forever: bool,
}
/// The protocol of the plugin `mistaken`: its commands and notifications as one type.
#[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
struct Protocol;
/// What a plugin `mistaken` does: one method for each command, which ends with the notification that answers it.
///
/// `#[urom_plugin] impl Handler for YourType` fills in the side and exports the plugin. A method that fails,
/// panics or is dropped at close is answered all the same, with zeros and the fitting status.
trait Handler<
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
    /// Answers the command [`Wait`].
    async fn wait(
        &self,
        cx: &AnySide::Context,
        cmd: Wait,
    ) -> ::core::result::Result<Done, AnySide::Error>;
    #[doc(hidden)]
    fn __made_by_urom_command() -> Protocol {
        Protocol
    }
}
/// Sends commands to the plugin `mistaken`: one `task_*` method for each command.
struct Client<AnyHost: ::urom_abi::protocol::HostSide> {
    plugin: AnyHost::Plugin,
}
/// A command [`Wait`] that is ready to be submitted.
#[must_use = "a task does nothing until it is submitted"]
struct WaitTask<'task, AnyHost: ::urom_abi::protocol::HostSide> {
    plugin: &'task AnyHost::Plugin,
    worker: &'task AnyHost::Worker,
    command: Wait,
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
        &[__layout::structure(&__EXTENTS_Wait)],
    );
    const __PARTS: [__layout::Extent; 2usize] = [
        __layout::Extent::of::<::core::primitive::u64>(),
        __UNION,
    ];
    const __PARTS_AT: [::core::primitive::usize; 2usize] = __layout::offsets(0, __PARTS);
    const __UNION_AT: ::core::primitive::usize = __PARTS_AT[2usize - 1];
    const __LEN: ::core::primitive::usize = __layout::structure(&__PARTS).size;
    const __KNOWN: &[(&::core::primitive::str, ::core::primitive::u64)] = &[
        ("Wait", 0u64),
    ];
    const __EXTENTS_Wait: [__layout::Extent; 1usize] = [__layout::Extent::of::<bool>()];
    const __OFFSETS_Wait: [::core::primitive::usize; 1usize] = __layout::offsets(
        __UNION_AT,
        __EXTENTS_Wait,
    );
    const __AT_Wait_forever: ::urom_abi::wire::Field<
        bool,
        { __OFFSETS_Wait[0usize] },
        __LEN,
        { <::urom_abi::wire::AnyBytes<bool>>::ANY },
    > = ::urom_abi::wire::any_field::<
        bool,
        { __OFFSETS_Wait[0usize] },
        __LEN,
        { <::urom_abi::wire::AnyBytes<bool>>::ANY },
    >();
    const _: () = ::core::assert!(
        __LEN <= ::urom_abi::DEFAULT_MAX_MESSAGE - ::core::mem::size_of:: <
        ::urom_abi::plugin::WorkerCmd > (), "{}", ::urom_abi::wire::too_big(& [("Wait",
        __layout::structure(& __EXTENTS_Wait).size)], __LEN, ::core::mem::size_of:: <
        ::urom_abi::plugin::WorkerCmd > (),
        "a message has at most 4096 bytes by default, and every variant takes as many as the largest: send what is large as an inline payload")
        .as_str(),
    );
    use ::urom_abi::describe as __describe;
    use ::urom_abi::describe::NotDescribed as _;
    const __DESCRIPTION: __describe::Messages = __describe::Messages {
        name: "Command",
        docs: "",
        tag: <::core::primitive::u64 as __describe::Described>::TYPE,
        len: __LEN,
        union_at: __UNION_AT,
        header: &[],
        variants: &[
            __describe::Variant {
                name: "Wait",
                docs: "",
                tag: 0u64,
                also: ::core::option::Option::None,
                reply: ::core::option::Option::Some("Done"),
                fields: &[
                    __describe::Field {
                        name: "forever",
                        docs: "",
                        kind: __describe::FieldKind::Plain,
                        ty: __describe::found_or_opaque::<
                            bool,
                        >(<__describe::Probe<bool>>::FOUND, "bool"),
                        offset: __OFFSETS_Wait[0usize],
                        optional: false,
                    },
                ],
                payloads: &[],
            },
        ],
    };
    ::urom_abi::__arbitrary! {
        fn __arbitrary_Wait < 'arbitrary > (input : & mut
        ::urom_abi::arbitrary::Unstructured < 'arbitrary >,) -> ::core::result::Result <
        Command, ::urom_abi::arbitrary::Unfit > { let mut field_0 =
        ::urom_abi::arbitrary::value(input, __AT_Wait_forever, const { &
        __describe::found_or_opaque:: < bool > (< __describe::Probe < bool >> ::FOUND,
        "bool") }) ?; ::core::result::Result::Ok(Command::Wait { forever : field_0 }) }
        #[automatically_derived] impl < 'arbitrary > ::urom_abi::arbitrary::Arbitrary <
        'arbitrary > for Command { fn arbitrary(input : & mut
        ::urom_abi::arbitrary::Unstructured < 'arbitrary >,) ->
        ::urom_abi::arbitrary::Result < Self > { ::urom_abi::arbitrary::attempt(input, |
        input | { let chosen = ::urom_abi::arbitrary::choose(input, 1usize) ?; match
        chosen { 0usize => __arbitrary_Wait(input), _ =>
        ::core::result::Result::Err(::urom_abi::arbitrary::Unfit), } }, | made | {
        ::urom_abi::arbitrary::can_be_written(Command::encoded_len(made), | out |
        Command::encode(made, out)) }) } } #[automatically_derived] impl < 'arbitrary >
        ::urom_abi::arbitrary::Arbitrary < 'arbitrary > for Wait { fn arbitrary(input : &
        mut ::urom_abi::arbitrary::Unstructured < 'arbitrary >,) ->
        ::urom_abi::arbitrary::Result < Self > { match
        ::urom_abi::arbitrary::attempt(input, __arbitrary_Wait, | made | {
        ::urom_abi::arbitrary::can_be_written(Command::encoded_len(made), | out |
        Command::encode(made, out)) }) ? { Command::Wait { forever, .. } =>
        ::core::result::Result::Ok(Wait { forever }), _ =>
        ::core::result::Result::Err(::urom_abi::arbitrary::Error::IncorrectFormat), } } }
    }
    type __Notifications = Notification;
    const __ANSWERS: &::urom_abi::describe::Messages = &<Notification as ::urom_abi::wire::Notifications>::DESCRIPTION;
    const _: () = ::urom_abi::wire::assert_notification(__ANSWERS, "Done");
    const _: () = {
        let _ = Command::decode;
        let _ = Command::encode;
    };
    #[automatically_derived]
    impl Command {
        /// The size in bytes of every message without its inline payloads.
        const FIXED_LEN: ::core::primitive::usize = __LEN;
        /// Reads a message of any variant.
        ///
        /// # Errors
        /// Which field is wrong, and how; a tag that no variant has lists those there are.
        #[inline]
        fn decode(
            bytes: &[::core::primitive::u8],
        ) -> ::core::result::Result<Command, ::urom_abi::wire::DecodeError> {
            ::core::result::Result::Ok(
                match ::urom_abi::wire::tag::<
                    ::core::primitive::u64,
                    __LEN,
                >("Command", bytes)? {
                    0u64 => {
                        <Command as ::core::convert::From<
                            Wait,
                        >>::from(Wait::decode(bytes)?)
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
        fn encode(
            &self,
            out: &mut [::core::primitive::u8],
        ) -> ::core::result::Result<
            ::core::primitive::usize,
            ::urom_abi::wire::EncodeError,
        > {
            match self {
                Command::Wait { forever: field_0 } => __write_Wait(out, (field_0,)),
            }
        }
        /// How many bytes `encode` writes; `None` when that cannot be counted in a `usize`.
        #[inline]
        fn encoded_len(&self) -> ::core::option::Option<::core::primitive::usize> {
            ::core::option::Option::Some(__LEN)
        }
    }
    const _: () = ::core::assert!(
        ::urom_abi::wire::echoes_all(< < Done as ::urom_abi::wire::Answer <
        __Notifications >> ::Echo as ::urom_abi::wire::Echo > ::NAMES, & []),
        "`Done` echoes a field that `Wait` does not: mark the command's field of the same name `#[urom(echo)]`, or remove `echo` in the notification",
    );
    #[inline(always)]
    fn __write_Wait(
        out: &mut [::core::primitive::u8],
        (field_0,): (&bool,),
    ) -> ::core::result::Result<
        ::core::primitive::usize,
        ::urom_abi::wire::EncodeError,
    > {
        let fixed = ::urom_abi::wire::room::<__LEN>("Wait", out)?;
        __TAG.write(fixed, &0);
        __AT_Wait_forever.write(fixed, field_0);
        ::core::result::Result::Ok(__LEN)
    }
    #[automatically_derived]
    impl ::core::convert::From<Wait> for Command {
        #[inline]
        fn from(message: Wait) -> Command {
            Command::Wait {
                forever: message.forever,
            }
        }
    }
    #[automatically_derived]
    impl Wait {
        /// Reads the command.
        ///
        /// # Errors
        /// Which field is wrong, and how.
        #[inline]
        fn decode(
            bytes: &[::core::primitive::u8],
        ) -> ::core::result::Result<Wait, ::urom_abi::wire::DecodeError> {
            let fixed = ::urom_abi::wire::exact::<__LEN>("Wait", bytes)?;
            ::urom_abi::wire::own_tag(
                "Wait",
                __TAG.read(fixed),
                0u64,
                ::core::option::Option::None,
            )?;
            ::core::result::Result::Ok(Wait {
                forever: __AT_Wait_forever
                    .checked(
                        fixed,
                        "Wait",
                        "forever",
                        const {
                            &__describe::found_or_opaque::<
                                bool,
                            >(<__describe::Probe<bool>>::FOUND, "bool")
                        },
                    )?,
            })
        }
    }
    #[automatically_derived]
    impl ::urom_abi::protocol::Request for Wait {
        type Protocol = Protocol;
        type Reply = <Done as ::urom_abi::wire::Answer<__Notifications>>::This;
        type Kind = Wait;
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
            __write_Wait(out, (&self.forever,))
        }
        #[inline]
        fn echo(&self) -> <Done as ::urom_abi::wire::Answer<__Notifications>>::Echo {
            let __echo = <<Done as ::urom_abi::wire::Answer<
                __Notifications,
            >>::Echo as ::urom_abi::wire::Echo>::zero();
            __echo
        }
    }
    #[automatically_derived]
    impl ::urom_abi::protocol::Protocol for Protocol {
        const NAME: &'static ::core::primitive::str = "mistaken";
        const VERSION: ::core::primitive::u64 = 1u64;
        const COMMAND_LEN: ::core::primitive::usize = __LEN;
        const NOTIFICATION_LEN: ::core::primitive::usize = <Notification as ::urom_abi::wire::Notifications>::LEN;
        const DESCRIPTION: &'static ::urom_abi::describe::Protocol = &::urom_abi::describe::Protocol {
            name: "mistaken",
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
                        let __echo = <<Done as ::urom_abi::wire::Answer<
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
                                move || Wait::decode(bytes),
                                move |command| <AnyHandler as Handler<
                                    AnySide,
                                >>::wait(handler, cx, command),
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
                ::core::concat!("Client(", "mistaken", ")"),
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
        fn plugin(&self) -> &AnyHost::Plugin {
            &self.plugin
        }
        /// Makes the command [`Wait`].
        fn task_wait<'task>(
            &'task self,
            worker: &'task AnyHost::Worker,
            forever: bool,
        ) -> WaitTask<'task, AnyHost> {
            WaitTask {
                plugin: &self.plugin,
                worker: worker,
                command: Wait { forever },
                deadline: ::core::option::Option::None,
            }
        }
    }
    #[automatically_derived]
    impl<'task, AnyHost: ::urom_abi::protocol::HostSide> WaitTask<'task, AnyHost> {
        /// Fails the task with `TIME_OUT` when it is not answered within `limit` of its submission. In place of
        /// what the worker was started with; the longest there is means no deadline.
        fn deadline(mut self, limit: ::core::time::Duration) -> Self {
            self.deadline = ::core::option::Option::Some(limit);
            self
        }
        /// Submits the command. What it returns resolves to the notification.
        ///
        /// # Errors
        /// What stopped it; nothing was sent then.
        fn submit(
            self,
        ) -> ::core::result::Result<AnyHost::Completion<Wait>, AnyHost::Error> {
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
        fn submit_with<AnyCallback>(
            self,
            callback: AnyCallback,
        ) -> ::core::result::Result<AnyHost::Handle, AnyHost::Error>
        where
            AnyCallback: ::core::ops::FnOnce(
                    ::core::result::Result<Done, AnyHost::Error>,
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
