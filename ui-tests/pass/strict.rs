//! A deprecated variant causes no warning in generated code. See also `forbidden_lints.rs`.

#![deny(warnings, missing_docs)]

/// Public.
pub mod public {
    use urom_abi::{urom_command, urom_notification};

    /// Commands.
    #[urom_command(plugin = "strict", version = 1)]
    #[derive(Debug)]
    pub enum Command {
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
