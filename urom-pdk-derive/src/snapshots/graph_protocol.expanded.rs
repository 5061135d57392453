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
/// Asks for `data` back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loopback {
    /// Any value.
    pub data: u64,
}
/// The protocol of the plugin `worker_graph`: its commands and notifications.
#[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
pub struct Protocol;
/// What a plugin `worker_graph` does: one method for each command, which ends with the notification that answers it.
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
    /// Advances work of the plugin's own, such as a UCX worker; returns whether it
    /// moved. Called again and again; in every second turn only, while answers are
    /// ready and no command is pending.
    fn progress(&self) -> ::core::primitive::bool {
        false
    }
    /// Frees what is kept for a host that has left, by the `dest_id` of its commands,
    /// which have all ended. Only this kit's worker calls it, and not at close.
    fn host_left(&self, __connection: ::core::primitive::u64) {}
    /// Arms what ends the worker's sleep, such as a UCX worker. Only this kit's worker
    /// calls it, right before it sleeps; without it, it polls at a falling rate.
    fn arm(&self) -> ::urom_abi::protocol::Armed<'_> {
        ::urom_abi::protocol::Armed::Polled
    }
    /// Asks for `data` back.
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
pub struct Client<AnyHost: ::urom_abi::protocol::HostSide>(AnyHost::Plugin);
/// A command [`Loopback`] that is ready to be submitted.
#[must_use = "a task does nothing until it is submitted"]
pub struct LoopbackTask<'task, AnyHost: ::urom_abi::protocol::HostSide>(
    ::urom_abi::protocol::Task<'task, AnyHost, Loopback>,
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
    const __FIELDS_Loopback: [__p::Item; 1] = [
        __p::plain("data", __p::ty(<__p::Probe<u64>>::FOUND, "u64")),
    ];
    const __LAYOUT: __p::Layout = __p::layout(
        <__p::u64 as __p::Described>::TYPE,
        0,
        &[&__FIELDS_Loopback],
    );
    const __LEN: __p::usize = __LAYOUT.len;
    const __TAG: __At<__p::u64, 0> = __p::field();
    const __OF_Loopback: [__p::usize; 1] = __p::offsets(&__LAYOUT, &__FIELDS_Loopback);
    const __AT_Loopback_data: __At<u64, { __OF_Loopback[0] }> = __p::field();
    const __DESCRIPTION: __p::Messages = __p::Messages {
        name: "Command",
        docs: " What a host can ask of the graph plugin.",
        tag: <__p::u64 as __p::Described>::TYPE,
        len: __LEN,
        union_at: __LAYOUT.union_at,
        header: &[],
        variants: &[
            __p::Variant {
                name: "Loopback",
                docs: " Asks for `data` back.",
                tag: 0,
                reply: __p::Some("LoopbackDone"),
                fields: &__p::placed(__FIELDS_Loopback, __OF_Loopback, [" Any value."]),
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
        pub const FIXED_LEN: __p::usize = __LEN;
        /// Reads a message of any variant. The error names the field that is wrong, and
        /// why; for an unknown tag it lists the known ones.
        #[inline]
        pub fn decode(__bytes: &[__p::u8]) -> __p::Result<Self, __p::DecodeError> {
            match __p::tag::<__p::u64, __LEN>("Command", __bytes)? {
                0 => Loopback::decode(__bytes).map(__p::From::from),
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
                Command::Loopback { data: __f0 } => {
                    let __message = Loopback { data: *__f0 };
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
    type __Echo_Loopback = <LoopbackDone as __p::ReplyOf<__Notifications>>::Echo;
    impl __p::From<Loopback> for Command {
        #[inline]
        fn from(__message: Loopback) -> Command {
            Command::Loopback {
                data: __message.data,
            }
        }
    }
    impl Loopback {
        /// Reads the command. The error names the field that is wrong, and why.
        #[inline]
        pub fn decode(__bytes: &[__p::u8]) -> __p::Result<Self, __p::DecodeError> {
            let __fixed = __p::exact("Loopback", __bytes)?;
            __p::own_tag("Loopback", __TAG.read(__fixed), 0, __p::None)?;
            let __f0 = __AT_Loopback_data.read(__fixed);
            __p::Ok(Loopback { data: __f0 })
        }
    }
    impl __p::Request for Loopback {
        type Protocol = Protocol;
        type Reply = <LoopbackDone as __p::ReplyOf<__Notifications>>::This;
        #[inline]
        fn encoded_len(&self) -> __p::Option<__p::usize> {
            __p::total(__LEN, &[])
        }
        #[inline]
        fn encode(&self, __out: &mut [__p::u8]) -> __p::Encoded {
            let __fixed = __p::room("Loopback", __out)?;
            __TAG.write(__fixed, &0);
            __AT_Loopback_data.write(__fixed, &self.data);
            __p::Ok(__LEN)
        }
        #[inline]
        fn echo(&self) -> __Echo_Loopback {
            __Echo_Loopback {}
        }
    }
    impl Protocol {
        /// The plugin's name.
        pub const NAME: &'static __p::str = "worker_graph";
        /// The version, which host and plugin compare.
        pub const VERSION: __p::u64 = 1u64;
    }
    impl __p::Protocol for Protocol {
        const DESCRIPTION: &'static __p::Description = &__p::Description {
            name: "worker_graph",
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
        fn host_left(__handler: &AnyHandler, __connection: __p::u64) {
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
                            move || Loopback::decode(__bytes),
                            move |__command| AnyHandler::loopback(
                                __handler,
                                __cx,
                                __command,
                            ),
                            |__now| AnySide::place(__cx, __now),
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
            __p::fmt::Formatter::write_str(__f, "Client(worker_graph)")
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
        fn data() {}
        let _ = data;
        fn limit() {}
        let _ = limit;
        fn worker() {}
        let _ = worker;
        impl<AnyHost: __p::HostSide> Client<AnyHost> {
            /// The plugin as the service knows it.
            pub fn plugin(&self) -> &AnyHost::Plugin {
                &self.0
            }
            /// Asks for `data` back.
            pub fn task_loopback<'task>(
                &'task self,
                worker: &'task AnyHost::Worker,
                data: u64,
            ) -> LoopbackTask<'task, AnyHost> {
                let __command = Loopback { data };
                LoopbackTask {
                    0: __p::Task::new(&self.0, worker, __command),
                }
            }
        }
        impl<'task, AnyHost: __p::HostSide> LoopbackTask<'task, AnyHost> {
            /// Ends the task with `TIME_OUT` unless it is answered within `limit` of its
            /// submission, whatever the worker's deadline is; `Duration::MAX` is no deadline.
            pub fn deadline(self, limit: __p::Duration) -> Self {
                Self(self.0.deadline(limit))
            }
            /// Submits the command; after an error nothing was sent.
            pub fn submit(self) -> __p::Submitted<AnyHost, Loopback> {
                __p::Task::submit(self.0)
            }
            /// The same with a `callback`, called inside a progress call unless this fails.
            /// The handle cancels the task, and may be dropped.
            pub fn submit_with(
                self,
                callback: impl __p::FnOnce(
                    __p::Result<LoopbackDone, AnyHost::Error>,
                ) + 'static,
            ) -> __p::Result<AnyHost::Handle, AnyHost::Error> {
                self.0.submit_with(callback)
            }
        }
    };
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
/// Answers a loopback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopbackDone {
    /// The value that was sent.
    pub data: u64,
}
#[doc(hidden)]
#[derive(::core::clone::Clone, ::core::marker::Copy)]
pub struct LoopbackDoneEcho;
const _: () = {
    use ::urom_abi::__private as __p;
    use __p::{NotAnyBytes as _, NotDescribed as _};
    type __At<T, const A: __p::usize, const N: __p::bool = true> = __p::At<
        T,
        A,
        __LEN,
        N,
    >;
    const __FIELDS_LoopbackDone: [__p::Item; 1] = [
        __p::plain("data", __p::ty(<__p::Probe<u64>>::FOUND, "u64")),
    ];
    const __LAYOUT: __p::Layout = __p::layout(
        <__p::u64 as __p::Described>::TYPE,
        0,
        &[&__FIELDS_LoopbackDone],
    );
    const __LEN: __p::usize = __LAYOUT.len;
    const __TAG: __At<__p::u64, 0> = __p::field();
    const __OF_LoopbackDone: [__p::usize; 1] = __p::offsets(
        &__LAYOUT,
        &__FIELDS_LoopbackDone,
    );
    const __AT_LoopbackDone_data: __At<u64, { __OF_LoopbackDone[0] }> = __p::field();
    const __DESCRIPTION: __p::Messages = __p::Messages {
        name: "Notification",
        docs: " What the graph plugin answers.",
        tag: <__p::u64 as __p::Described>::TYPE,
        len: __LEN,
        union_at: __LAYOUT.union_at,
        header: &[],
        variants: &[
            __p::Variant {
                name: "LoopbackDone",
                docs: " Answers a loopback.",
                tag: 0,
                fields: &__p::placed(
                    __FIELDS_LoopbackDone,
                    __OF_LoopbackDone,
                    [" The value that was sent."],
                ),
                ..__p::Variant::NONE
            },
        ],
    };
    const __KNOWN: &[(&__p::str, __p::u64)] = &__p::known::<1>(&__DESCRIPTION);
    const _: () = __p::assert_fits(&__DESCRIPTION, __p::NOTIFICATION_HEADER);
    const _: () = __p::used((Notification::decode, Notification::encode));
    impl Notification {
        /// The size in bytes of every message without its inline payloads.
        pub const FIXED_LEN: __p::usize = __LEN;
        /// Reads a message of any variant. The error names the field that is wrong, and
        /// why; for an unknown tag it lists the known ones.
        #[inline]
        pub fn decode(__bytes: &[__p::u8]) -> __p::Result<Self, __p::DecodeError> {
            match __p::tag::<__p::u64, __LEN>("Notification", __bytes)? {
                0 => __p::read::<LoopbackDone, Notification>(__bytes),
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
                Notification::LoopbackDone { data: __f0 } => {
                    let __message = LoopbackDone { data: *__f0 };
                    let __repeated = LoopbackDoneEcho {};
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
    impl __p::From<(LoopbackDone, LoopbackDoneEcho)> for Notification {
        #[inline]
        fn from((__message, _): (LoopbackDone, LoopbackDoneEcho)) -> Notification {
            Notification::LoopbackDone {
                data: __message.data,
            }
        }
    }
    impl __p::From<LoopbackDone> for Notification {
        #[inline]
        fn from(__message: LoopbackDone) -> Notification {
            Notification::LoopbackDone {
                data: __message.data,
            }
        }
    }
    impl __p::Reply for LoopbackDone {
        type Echo = LoopbackDoneEcho;
        #[inline(always)]
        fn read(
            __incoming: impl __p::Incoming,
            __echo: __p::Option<&LoopbackDoneEcho>,
        ) -> __p::Decoded<(Self, LoopbackDoneEcho)> {
            let __fixed = __p::exact("LoopbackDone", __p::Incoming::bytes(&__incoming))?;
            __p::own_tag("LoopbackDone", __TAG.read(__fixed), 0, __p::None)?;
            let __f0 = __AT_LoopbackDone_data.read(__fixed);
            let __repeated = LoopbackDoneEcho {};
            __p::Ok((LoopbackDone { data: __f0 }, __repeated))
        }
        #[inline]
        fn write(
            self,
            __echo: &LoopbackDoneEcho,
            __place: __p::AnswerPlace<'_>,
        ) -> __p::Written {
            __p::notification(
                "LoopbackDone",
                __place,
                |__fixed| {
                    __TAG.write(__fixed, &0);
                    __AT_LoopbackDone_data.write(__fixed, &self.data);
                },
            )
        }
    }
    impl __p::ReplyOf<Notification> for LoopbackDone {
        type This = Self;
        type Echo = LoopbackDoneEcho;
    }
};
