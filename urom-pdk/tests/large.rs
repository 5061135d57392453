//! Every command of a large protocol is served, even if one future cannot await all.
// Miri would take a minute; smaller protocols run the same code.
#![cfg(not(miri))]

use urom_pdk::prelude::*;
use urom_pdk::test_util::Worker;

macro_rules! large {
    ($($command:ident $method:ident)*) => {
        #[allow(dead_code, reason = "no host is here to use its tasks")]
        mod protocol {
            use urom_abi::{urom_command, urom_notification};

            #[urom_command(plugin = "worker_large", version = 1)]
            #[derive(Debug)]
            pub(crate) enum Command {
                $(
                    #[urom(reply = Done)]
                    $command { data: u64 },
                )*
            }

            #[urom_notification]
            #[derive(Debug, PartialEq)]
            pub(crate) enum Notification {
                Done { data: u64, name: [u8; 4] },
            }
        }

        use protocol::{Done, Handler, Protocol, $($command),*};

        fn name_of(text: &str) -> [u8; 4] {
            let mut name = [0; 4];
            name[..text.len()].copy_from_slice(text.as_bytes());
            name
        }

        struct Large;

        #[urom_plugin]
        impl Handler for Large {
            fn open(_: &OpenContext) -> Result<Self> {
                Ok(Large)
            }

            $(
                async fn $method(&self, _: &Context, cmd: $command) -> Result<Done> {
                    Ok(Done { data: cmd.data, name: name_of(stringify!($command)) })
                }
            )*
        }

        #[test]
        fn every_command_is_served_by_its_own_method() {
            let worker = Worker::<Protocol>::open::<Large>();
            $(
                let name = name_of(stringify!($command));
                let data = u64::from(name[1]) << 32 | u64::from(name[2]);
                assert_eq!(worker.call($command { data }), Ok(Done { data, name }));
            )*
            assert!(worker.finish().is_clean());
        }

        #[test]
        fn a_tag_behind_the_last_is_refused() {
            let worker = Worker::<Protocol>::open::<Large>();
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&100u64.to_le_bytes());
            let sent = worker.send_bytes(&bytes);
            assert_eq!(worker.wait(sent).map(drop), Err(DocaError::INVALID_VALUE));
        }
    };
}

large! {
    C0 c0 C1 c1 C2 c2 C3 c3 C4 c4 C5 c5 C6 c6 C7 c7 C8 c8 C9 c9 C10 c10 C11 c11 C12 c12 C13 c13
    C14 c14 C15 c15 C16 c16 C17 c17 C18 c18 C19 c19 C20 c20 C21 c21 C22 c22 C23 c23 C24 c24 C25
    c25 C26 c26 C27 c27 C28 c28 C29 c29 C30 c30 C31 c31 C32 c32 C33 c33 C34 c34 C35 c35 C36 c36
    C37 c37 C38 c38 C39 c39 C40 c40 C41 c41 C42 c42 C43 c43
}
