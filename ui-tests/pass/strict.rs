//! Generated code has documentation and no warning, whether it is used or private.

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
