//! The kit renamed in `Cargo.toml` and re-exported by the user's module. It only has to compile.

#![deny(warnings, missing_docs, unreachable_pub, unused_qualifications)]

pub mod documented;

/// Re-exports the kit, as a crate may do for its users.
pub mod reexport {
    pub use renamed_abi as abi;
    pub use renamed_pdk as pdk;
}

/// The protocol, with two paths to the kit.
macro_rules! protocol {
    ($abi:path, $also:path) => {
        /// Commands.
        #[urom_command(plugin = "renamed", version = 1, crate = $abi)]
        #[derive(Debug)]
        pub enum Command<'a> {
            /// One.
            #[urom(reply = Done)]
            Do {
                /// Anything.
                value: u64,
                /// Any bytes.
                #[urom(inline, len = value)]
                bytes: &'a [u8],
                /// Some numbers.
                #[urom(inline, when = value == 1)]
                numbers: Option<Elements<'a, u16>>,
                /// Either.
                #[urom(inline, unless = memory, optional)]
                data: Data<'a>,
                /// Its word.
                #[urom(word)]
                memory: u64,
            },
        }

        /// Notifications.
        #[urom_notification(crate = $also)]
        #[derive(Debug)]
        pub enum Notification {
            /// One.
            Done {
                /// Some bytes.
                #[urom(inline)]
                data: Received,
                /// Some numbers.
                #[urom(inline)]
                numbers: Payload<u32>,
            },
        }
    };
}

/// By the name in `Cargo.toml`.
pub mod by_name {
    use renamed_abi::{Data, Elements, Payload, Received, urom_command, urom_notification};

    protocol!(renamed_abi, ::renamed_abi);
}

/// By a path in this crate.
pub mod by_path {
    use crate::reexport::abi::{
        Data, Elements, Payload, Received, urom_command, urom_notification,
    };
    use crate::reexport::pdk::{Context, OpenContext, Result, urom_plugin};

    protocol!(crate::reexport::abi, super::reexport::abi);

    /// A handler.
    #[derive(Debug)]
    pub struct Doer;

    #[urom_plugin(crate = crate::reexport::pdk, abort = "allowed")]
    impl Handler for Doer {
        fn open(_: &OpenContext) -> Result<Self> {
            Ok(Doer)
        }

        async fn r#do(&self, _: &Context, cmd: Do<'_>) -> Result<Done> {
            Ok(Done { data: Received::Inline(cmd.bytes.into()), numbers: Payload::default() })
        }
    }
}

// A renamed kit does not change the protocol.
const _: () = {
    use crate::reexport::abi::protocol::Protocol;
    let [by_name, by_path] = [by_name::Protocol::DESCRIPTION, by_path::Protocol::DESCRIPTION];
    assert!(by_name.fingerprint() == by_path.fingerprint());
};
