//! Names that clash with others, that a file cannot have, or that are not a notification's.

use urom_abi::{urom_command, urom_notification};

mod handler_names {
    use super::*;

    #[urom_command(plugin = "p", version = 1)]
    enum Command {
        #[urom(reply = Done)]
        Open,
        #[urom(reply = Done)]
        TagSend,
        #[urom(reply = Done)]
        Tag_Send,
        #[urom(reply = Done)]
        Crate,
        WithoutReply,
    }
}

mod item_names {
    use super::*;

    #[urom_command(plugin = "p", version = 1)]
    enum Command {
        #[urom(reply = Done)]
        Command,
        #[urom(reply = Done)]
        Client,
        #[urom(reply = Done)]
        Work,
        #[urom(reply = Done)]
        WorkTask,
    }
}

mod setter_name {
    use super::*;

    #[urom_command(plugin = "p", version = 1)]
    enum Command {
        #[urom(reply = Done)]
        Work {
            #[urom(echo)]
            submit: u64,
        },
    }

    #[urom_notification]
    enum Notification {
        Done {
            #[urom(echo)]
            submit: u64,
        },
    }
}

mod plugin_name {
    use super::*;

    #[urom_command(plugin = "", version = 1)]
    enum Command {
        #[urom(reply = Done)]
        Work { value: u64 },
    }

    mod long {
        #[urom_abi::urom_command(
            plugin = "worker_0123456789_0123456789_0123456789_01234567",
            version = 1,
            notification = super::Notification
        )]
        enum Command {
            #[urom(reply = super::Done)]
            Work { value: u64 },
        }
    }

    mod bytes {
        #[urom_abi::urom_command(plugin = "a/b\0", version = 1, notification = super::Notification)]
        enum Command {
            #[urom(reply = super::Done)]
            Work { value: u64 },
        }
    }
}

mod reply_is_command {
    use super::*;

    #[urom_command(plugin = "p", version = 1)]
    enum Command {
        #[urom(reply = Work)]
        Work { value: u64 },
        #[urom(reply = Work)]
        Rest,
    }

    #[urom_notification]
    enum Notification {
        Work { value: u64 },
    }
}

mod reply_is_variant {
    use urom_abi::urom_command;

    use answers::Notification;
    mod answers {
        #[urom_abi::urom_notification]
        pub enum Notification {
            Ready,
        }
    }

    #[urom_command(plugin = "p", version = 1)]
    enum Command {
        #[urom(reply = Notification::Ready)]
        Work { value: u64 },
    }

    mod other {
        #[urom_abi::urom_command(plugin = "p", version = 1, notification = super::answers::Notification)]
        enum Command {
            #[urom(reply = super::answers::Notification::Ready)]
            Work { value: u64 },
        }
    }
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
