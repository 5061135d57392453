//! Generated code has documentation and no warning, also for items that nobody uses or that are private.

#![deny(warnings, missing_docs, unreachable_pub, missing_debug_implementations, unused_qualifications)]
#![deny(clippy::all, clippy::pedantic)]

/// Public.
pub mod public {
    use urom_abi::{urom_command, urom_notification};

    /// Commands.
    #[urom_command(plugin = "strict", version = 1)]
    #[derive(Debug)]
    pub enum Command {
        /// With a documented field.
        #[urom(reply = Done)]
        Work {
            /// Echoed.
            #[urom(echo)]
            context: u64,
            /// Sent.
            value: u64,
        },
        /// Old.
        #[deprecated]
        #[urom(reply = Done)]
        Old {
            /// Echoed.
            #[urom(echo)]
            context: u64,
        },
    }

    /// Notifications.
    #[urom_notification]
    #[derive(Debug)]
    pub enum Notification {
        /// Done.
        Done {
            /// Echoed.
            #[urom(echo)]
            context: u64,
        },
    }
}

/// With payloads.
pub mod payloads {
    use urom_abi::{Data, Elements, Payload, Received, urom_command, urom_notification};

    /// A codec.
    pub mod codec {
        /// On the wire.
        pub type Wire = u8;

        /// Always 1.
        #[must_use]
        pub fn encode(_: &bool) -> Wire {
            1
        }

        /// Never fails.
        ///
        /// # Errors
        /// Never.
        pub fn decode(wire: Wire) -> Result<bool, &'static str> {
            if wire < 2 { Ok(wire == 1) } else { Err("is no truth") }
        }
    }

    /// Commands.
    #[urom_command(plugin = "strict", version = 1, tag = u32)]
    #[derive(Debug)]
    pub enum Command<'a> {
        /// With everything.
        #[urom(reply = Done)]
        Work {
            /// In the header.
            #[urom(header)]
            worker: u64,
            /// Echoed.
            #[urom(echo)]
            context: u64,
            /// Two arms.
            #[urom(inline, unless = memh_id)]
            data: Data<'a>,
            /// Its word.
            #[urom(word)]
            memh_id: u64,
            /// On a condition.
            #[urom(inline, addr = none, len = 2, when = worker == context)]
            maybe: Option<Elements<'a, u16>>,
            /// With a codec.
            #[urom(with = codec, optional)]
            truth: bool,
        },
    }

    /// Notifications.
    #[urom_notification]
    #[derive(Debug)]
    pub enum Notification {
        /// Done.
        Done {
            /// Echoed.
            #[urom(echo)]
            context: u64,
            /// Received.
            #[urom(inline)]
            data: Received,
            /// As long.
            #[urom(inline, len = context)]
            more: Payload<u32>,
        },
    }
}

mod private {
    #[urom_abi::urom_command(plugin = "strict", version = 1)]
    #[derive(Debug)]
    enum Command<'a> {
        #[urom(reply = Done)]
        Work { value: u64 },
        #[urom(reply = Owned)]
        Send { #[urom(inline)] bytes: &'a [u8], #[urom(inline, len = more)] elements: urom_abi::Elements<'a, u32>, more: u8 },
    }

    #[urom_abi::urom_notification]
    #[derive(Debug)]
    enum Notification {
        Done,
        Owned { #[urom(inline)] bytes: urom_abi::Payload },
    }

    #[derive(Debug)]
    struct Worker;

    #[urom_pdk::urom_plugin(export = false)]
    impl Handler for Worker {
        fn open(_: &urom_pdk::OpenContext) -> urom_pdk::Result<Self> {
            Ok(Worker)
        }

        async fn work(&self, _: &urom_pdk::Context, _: Work) -> urom_pdk::Result<Done> {
            Ok(Done)
        }

        async fn send(&self, _: &urom_pdk::Context, cmd: Send<'_>) -> urom_pdk::Result<Owned> {
            Ok(Owned { bytes: cmd.bytes.into() })
        }
    }
}

fn main() {}
