//! Generated code has documentation and no warning, also where a variant is deprecated.

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

fn main() {}
