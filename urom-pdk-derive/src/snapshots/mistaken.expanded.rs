::core::compile_error! {
    "`bool` cannot travel, because most bytes are no `bool`: use `u8`"
}
enum Command {
    Wait { forever: bool },
}
/// The command `Wait`.
#[allow(dead_code, reason = "not every program uses every part of a protocol")]
struct Wait {
    /// The field `forever`.
    forever: (),
}
/// The protocol of the plugin `mistaken`: its commands and notifications as one type.
#[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
#[allow(dead_code, reason = "not every program uses every part of a protocol")]
struct Protocol;
/// What a plugin `mistaken` does: one method for each command, which ends with the notification that answers it.
///
/// `#[urom_plugin] impl Handler for YourType` fills in the side and exports the plugin. A method that fails,
/// panics or is dropped at close is answered all the same, with zeros and the fitting status.
#[allow(
    async_fn_in_trait,
    dead_code,
    reason = "a plugin's futures stay on the thread that polls them"
)]
trait Handler<
    AnySide: ::urom_abi::protocol::PluginSide,
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
    ) -> ::core::result::Result<::std::vec::Vec<::core::primitive::u8>, AnySide::Error> {
        ::core::result::Result::Ok(::std::vec::Vec::new())
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
#[allow(dead_code, reason = "not every program uses every part of a protocol")]
struct Client<AnyHost: ::urom_abi::protocol::HostSide> {
    plugin: AnyHost::Plugin,
}
/// A command [`Wait`] that is ready to be submitted.
#[must_use = "a task does nothing until it is submitted"]
#[allow(dead_code, reason = "not every program uses every part of a protocol")]
struct WaitTask<'task, AnyHost: ::urom_abi::protocol::HostSide> {
    plugin: &'task AnyHost::Plugin,
    worker: &'task AnyHost::Worker,
    command: Wait,
    deadline: ::core::option::Option<::core::time::Duration>,
}
#[allow(unused, reason = "the definition has an error, so these stand without bodies")]
const _: () = {
    const __LEN: ::core::primitive::usize = 0;
    use ::urom_abi::describe as __describe;
    use ::urom_abi::describe::NotDescribed as _;
    const __DESCRIPTION: __describe::Messages = __describe::Messages {
        name: "Command",
        docs: "",
        tag: <::core::primitive::u64 as __describe::Described>::TYPE,
        len: __LEN,
        union_at: 0,
        header: &[],
        variants: &[],
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
            ::core::unreachable!()
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
            ::core::unreachable!()
        }
        /// How many bytes `encode` writes; `None` when that cannot be counted in a `usize`.
        #[inline]
        fn encoded_len(&self) -> ::core::option::Option<::core::primitive::usize> {
            ::core::unreachable!()
        }
    }
    #[automatically_derived]
    impl ::core::convert::From<Wait> for Command {
        #[inline]
        fn from(message: Wait) -> Command {
            ::core::unreachable!()
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
            ::core::unreachable!()
        }
    }
    #[automatically_derived]
    impl ::urom_abi::protocol::Request for Wait {
        type Protocol = Protocol;
        type Reply = <Done as ::urom_abi::wire::Answer>::This;
        type Kind = Wait;
        #[inline]
        fn encoded_len(&self) -> ::core::option::Option<::core::primitive::usize> {
            ::core::unreachable!()
        }
        #[inline]
        fn encode(
            &self,
            out: &mut [::core::primitive::u8],
        ) -> ::core::result::Result<
            ::core::primitive::usize,
            ::urom_abi::wire::EncodeError,
        > {
            ::core::unreachable!()
        }
        #[inline]
        fn echo(&self) -> <Done as ::urom_abi::wire::Answer>::Echo {
            ::core::unreachable!()
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
            ::core::unreachable!()
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
            ::std::vec::Vec<::core::primitive::u8>,
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
            ::core::unreachable!()
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
            forever: (),
        ) -> WaitTask<'task, AnyHost> {
            ::core::unreachable!()
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
