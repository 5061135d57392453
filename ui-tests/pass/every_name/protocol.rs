#[::urom_abi::urom_command(plugin = "every_name", version = 1, tag = u16)]
#[derive(::core::clone::Clone, ::core::fmt::Debug)]
pub enum Command<'a> {
    #[urom(reply = Done)]
    Put {
        #[urom(header, echo)]
        context: ::core::primitive::u64,
        n: ::core::primitive::u32,
        #[urom(word)]
        key: u64,
        #[urom(inline, unless = key)]
        data: ::urom_abi::Data<'a>,
        #[urom(
            inline,
            addr = none,
            len = n.checked_mul(super::constants::MOST),
            when = n < super::constants::MOST
        )]
        values: ::core::option::Option<::urom_abi::Elements<'a, ::core::primitive::u16>>,
        #[urom(with = super::codec, optional)]
        flag: ::core::primitive::bool,
        #[urom(inline, optional)]
        text: &'a ::core::primitive::str,
    },
    #[urom(reply = Rest, tag = 9)]
    Get {
        #[urom(header, echo)]
        context: ::core::primitive::u64,
        worker: [::core::primitive::u8; 3],
        #[urom(inline)]
        bytes: &'a [u8; 4],
    },
    #[urom(reply = Rest)]
    Stop {
        #[urom(header, echo)]
        context: ::core::primitive::u64,
    },
}

#[::urom_abi::urom_notification(tag = u16)]
#[derive(::core::fmt::Debug)]
pub enum Notification {
    #[urom(also = 7)]
    Done {
        #[urom(header, echo)]
        context: ::core::primitive::u64,
        count: ::core::primitive::u32,
        #[urom(inline)]
        received: ::urom_abi::Received,
    },
    Rest {
        #[urom(header, echo)]
        context: ::core::primitive::u64,
        size: ::core::primitive::u32,
        #[urom(inline, addr = none, len = size)]
        payload: ::urom_abi::Payload<::core::primitive::u16>,
    },
}
