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
/// The protocol of the plugin `mistaken`: its commands and notifications.
#[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
struct Protocol;
/// What a plugin `mistaken` does: one method for each command, which ends with the notification that answers it.
///
/// `#[urom_plugin] impl Handler for YourType` fills in the side and exports the plugin.
/// A method that fails, panics or is dropped at close is answered all the same, with
/// zeros and the fitting status.
trait Handler<
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
struct Client<AnyHost: ::urom_abi::protocol::HostSide>(AnyHost::Plugin);
/// A command [`Wait`] that is ready to be submitted.
#[must_use = "a task does nothing until it is submitted"]
struct WaitTask<'task, AnyHost: ::urom_abi::protocol::HostSide>(
    ::urom_abi::protocol::Task<'task, AnyHost, Wait>,
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
    const __FIELDS_Wait: [__p::Item; 1] = [
        __p::plain("forever", __p::ty(<__p::Probe<bool>>::FOUND, "bool")),
    ];
    const __LAYOUT: __p::Layout = __p::layout(
        <__p::u64 as __p::Described>::TYPE,
        0,
        &[&__FIELDS_Wait],
    );
    const __LEN: __p::usize = __LAYOUT.len;
    const __TAG: __At<__p::u64, 0> = __p::field();
    const __OF_Wait: [__p::usize; 1] = __p::offsets(&__LAYOUT, &__FIELDS_Wait);
    const __AT_Wait_forever: __At<
        bool,
        { __OF_Wait[0] },
        { <__p::AnyBytes<bool>>::ANY },
    > = __p::any_field();
    const __DESCRIPTION: __p::Messages = __p::Messages {
        name: "Command",
        docs: "",
        tag: <__p::u64 as __p::Described>::TYPE,
        len: __LEN,
        union_at: __LAYOUT.union_at,
        header: &[],
        variants: &[
            __p::Variant {
                name: "Wait",
                docs: "",
                tag: 0,
                reply: __p::Some("Done"),
                fields: &__p::placed(__FIELDS_Wait, __OF_Wait, [""]),
                ..__p::Variant::NONE
            },
        ],
    };
    const __KNOWN: &[(&__p::str, __p::u64)] = &__p::known::<1>(&__DESCRIPTION);
    const _: () = __p::assert_fits(&__DESCRIPTION, __p::COMMAND_HEADER);
    type __Notifications = Notification;
    const _: () = __p::used((Command::decode, Command::encode));
    impl Command {
        /// The size in bytes of every message without its inline payloads.
        const FIXED_LEN: __p::usize = __LEN;
        /// Reads a message of any variant. The error contains the invalid field and the
        /// reason; for an unknown tag it lists the known ones.
        #[inline]
        fn decode(__bytes: &[__p::u8]) -> __p::Result<Self, __p::DecodeError> {
            match __p::tag::<__p::u64, __LEN>("Command", __bytes)? {
                0 => Wait::decode(__bytes).map(__p::From::from),
                __found => __p::unknown("Command", __found, __KNOWN),
            }
        }
        /// Writes the message to the start of the buffer and returns its length. After an error
        /// nothing is written.
        #[inline]
        fn encode(
            &self,
            __out: &mut [__p::u8],
        ) -> __p::Result<__p::usize, __p::EncodeError> {
            match self {
                Command::Wait { forever: __f0 } => {
                    let __message = Wait {
                        forever: __AT_Wait_forever.copy(__f0),
                    };
                    __p::Request::encode(&__message, __out)
                }
            }
        }
        /// The length that `encode` writes; `None` when it cannot write the message.
        #[inline]
        fn encoded_len(&self) -> __p::Option<__p::usize> {
            __p::encoded_len(self.encode(&mut []))
        }
    }
    type __Echo_Wait = <Done as __p::ReplyOf<__Notifications>>::Echo;
    impl __p::From<Wait> for Command {
        #[inline]
        fn from(__message: Wait) -> Command {
            Command::Wait {
                forever: __message.forever,
            }
        }
    }
    impl Wait {
        /// Reads the command. The error names the field that is wrong, and why.
        #[inline]
        fn decode(__bytes: &[__p::u8]) -> __p::Result<Self, __p::DecodeError> {
            let __fixed = __p::exact("Wait", __bytes)?;
            __p::own_tag("Wait", __TAG.read(__fixed), 0, __p::None)?;
            let __f0 = __AT_Wait_forever
                .checked(__fixed, "Wait", "forever", const { &__FIELDS_Wait[0].ty })?;
            __p::Ok(Wait { forever: __f0 })
        }
    }
    impl __p::Request for Wait {
        type Protocol = Protocol;
        type Reply = <Done as __p::ReplyOf<__Notifications>>::This;
        #[inline]
        fn encoded_len(&self) -> __p::Option<__p::usize> {
            __p::total(__LEN, &[])
        }
        #[inline]
        fn encode(&self, __out: &mut [__p::u8]) -> __p::Encoded {
            let __fixed = __p::fixed_part("Wait", __out)?;
            __TAG.write(__fixed, &0);
            __AT_Wait_forever.write(__fixed, &self.forever);
            __p::Ok(__LEN)
        }
        #[inline]
        fn echo(&self) -> __Echo_Wait {
            __Echo_Wait {}
        }
    }
    impl Protocol {
        /// The plugin's name.
        const NAME: &'static __p::str = "mistaken";
        /// The version, which host and plugin compare.
        const VERSION: __p::u64 = 1u64;
    }
    impl __p::Protocol for Protocol {
        const DESCRIPTION: &'static __p::Description = &__p::Description {
            name: "mistaken",
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
                            move || Wait::decode(__bytes),
                            move |__command| AnyHandler::wait(
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
            __p::fmt::Formatter::write_str(__f, "Client(mistaken)")
        }
    }
    impl<AnyHost: __p::HostSide> __p::AsRef<AnyHost::Plugin> for Client<AnyHost> {
        fn as_ref(&self) -> &AnyHost::Plugin {
            &self.0
        }
    }
    const _: () = {
        fn callback() {}
        let _ = callback;
        fn forever() {}
        let _ = forever;
        fn limit() {}
        let _ = limit;
        fn worker() {}
        let _ = worker;
        impl<AnyHost: __p::HostSide> Client<AnyHost> {
            /// The plugin as the service knows it.
            fn plugin(&self) -> &AnyHost::Plugin {
                &self.0
            }
            /// Makes the command [`Wait`].
            fn task_wait<'task>(
                &'task self,
                worker: &'task AnyHost::Worker,
                forever: bool,
            ) -> WaitTask<'task, AnyHost> {
                let __command = Wait { forever };
                WaitTask {
                    0: __p::Task::new(&self.0, worker, __command),
                }
            }
        }
        impl<'task, AnyHost: __p::HostSide> WaitTask<'task, AnyHost> {
            /// Ends the task with `TIME_OUT` unless it is answered within `limit` of its
            /// submission. Overrides the worker's timeout; `Duration::MAX` means none.
            fn timeout(self, limit: __p::Duration) -> Self {
                Self(self.0.timeout(limit))
            }
            /// Is [`Self::timeout`].
            #[deprecated(note = "use `timeout`")]
            fn deadline(self, limit: __p::Duration) -> Self {
                self.timeout(limit)
            }
            /// Submits the command; after an error nothing was sent.
            fn submit(self) -> __p::Submitted<AnyHost, Wait> {
                __p::Task::submit(self.0)
            }
            /// The same with a `callback`, called inside a progress call unless this fails.
            /// The handle cancels the task, and may be dropped.
            fn submit_with(
                self,
                callback: impl __p::FnOnce(__p::Result<Done, AnyHost::Error>) + 'static,
            ) -> __p::Result<AnyHost::Handle, AnyHost::Error> {
                self.0.submit_with(callback)
            }
        }
        /// Submits the task when it is awaited.
        impl<'task, AnyHost: __p::HostSide> __p::IntoFuture
        for WaitTask<'task, AnyHost> {
            type Output = __p::Awaited<AnyHost, Wait>;
            type IntoFuture = __p::AnsweredBy<AnyHost, Wait>;
            fn into_future(self) -> __p::AnsweredBy<AnyHost, Wait> {
                __p::Answered::new(__p::Task::submit(self.0))
            }
        }
    };
};
