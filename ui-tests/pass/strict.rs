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

mod private {
    #[urom_abi::urom_command(plugin = "strict", version = 1)]
    #[derive(Debug)]
    enum Command {
        #[urom(reply = Done)]
        Work { value: u64 },
    }

    #[urom_abi::urom_notification]
    #[derive(Debug)]
    enum Notification {
        Done,
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
    }
}

fn main() {}
