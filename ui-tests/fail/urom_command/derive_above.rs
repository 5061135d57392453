//! Derives above the macro, on definitions with words and without.

mod words {
    use urom_abi::{Elements, Payload, urom_command, urom_notification};

    /// Documentation between them.
    #[derive(Debug, Clone, PartialEq)]
    // And a comment.
    #[urom_command(plugin = "p", version = 1)]
    pub enum Command<'a> {
        #[urom(reply = Done)]
        Put {
            #[urom(word)]
            addr: u64,
            #[urom(word)]
            count: u32,
            #[urom(inline, addr = addr, len = count)]
            values: Elements<'a, u32>,
        },
    }

    #[derive(Debug)] // A comment behind it.
    /* And one more. */
    #[urom_notification]
    #[derive(Clone)]
    pub enum Notification {
        Done {
            #[urom(word)]
            count: u64,
            #[urom(inline, addr = none, len = count)]
            what: Payload,
        },
    }
}

mod plain {
    #[repr(C)] #[derive(Debug, Clone, Copy, PartialEq, bytemuck::Pod, bytemuck::Zeroable)] pub struct Pos(u32);
    #[derive(Debug, Clone, PartialEq)]
    #[urom_abi::urom_command(plugin = "p", version = 1)]
    pub enum Command {
        #[urom(reply = Done)]
        Put { at: Pos },
    }

    /// The derives must not cause a second error.
    pub fn shown(put: Put) -> String {
        assert_eq!(put.clone(), put);
        format!("{put:?}")
    }

    #[urom_abi::urom_notification]
    #[derive(Debug)]
    pub enum Notification {
        Done,
    }
}

fn main() {}
