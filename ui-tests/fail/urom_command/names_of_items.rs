//! Variants with the names of generated items: one error each, at the variant.

use urom_abi::{Payload, urom_command, urom_notification};

/// An answer `$name` and its command.
macro_rules! answer {
    ($($module:ident $name:ident)*) => {$(
        mod $module {
            use super::*;

            #[urom_command(plugin = "p", version = 1)]
            #[derive(Debug, Clone, Copy, PartialEq)]
            pub enum Command<'a> {
                #[urom(reply = $name)]
                Put {
                    n: u64,
                    #[urom(inline)]
                    bytes: &'a [u8],
                },
            }

            #[urom_notification]
            #[derive(Debug, PartialEq)]
            pub enum Notification {
                $name { n: u64 },
                Other {
                    #[urom(inline)]
                    p: Payload,
                },
            }
        }
    )*};
}

answer!(client Client handler Handler protocol Protocol command Command any_host AnyHost);

mod notification {
    use super::*;

    #[urom_command(plugin = "p", version = 1)]
    pub enum Command {
        #[urom(reply = Done)]
        Notification { n: u64 },
        #[urom(reply = Done)]
        HostLeft,
        #[urom(reply = Done)]
        Arm,
    }

    #[urom_notification]
    pub enum Notification {
        Done,
    }
}

mod answers_and_commands {
    use super::*;

    #[urom_command(plugin = "p", version = 1)]
    pub enum Command {
        #[urom(reply = PutTask)]
        Put,
        #[urom(reply = PutTask)]
        PutTaskEcho,
        #[urom(reply = PutTask)]
        #[allow(non_camel_case_types, reason = "the name is what is refused")]
        encode,
    }

    #[urom_notification]
    pub enum Notification {
        PutTask,
    }
}

mod enum_of_commands {
    use super::*;

    #[urom_command(plugin = "p", version = 1)]
    pub enum Request {
        #[urom(reply = Request)]
        Put,
    }

    #[urom_notification]
    pub enum Notification {
        Request,
    }
}

mod enums {
    use super::*;

    #[urom_command(plugin = "p", version = 1, notification = Client)]
    pub enum Handler {
        #[urom(reply = Done)]
        Put,
    }

    #[urom_notification]
    pub enum Client {
        Done,
    }
}

fn main() {}
