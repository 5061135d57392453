//! Unusual names: raw, in other scripts, names of the prelude and of generated code.

#![deny(warnings)]

mod messages {
    #[urom_abi::urom_command(plugin = "worker_odd", version = 1)]
    #[derive(Debug, Clone, PartialEq)]
    pub enum Command<'a> {
        #[urom(reply = Done)]
        r#Match { r#type: u32, r#async: u8, r#fn: [u8; 3], r#in: u16 },
        #[urom(reply = Done)]
        Loop,
        #[urom(reply = Done)]
        Größe { länge: u32, 名: u8 },
        #[urom(reply = Done)]
        Option { x: u8 },
        #[urom(reply = Done)]
        Some,
        #[urom(reply = Done)]
        Ok,
        #[urom(reply = Done)]
        String {
            bytes: u32,
            out: u8,
            fixed: u8,
            command: u8,
            handler: u8,
            cx: u8,
            this: u8,
            _hidden: u8,
            #[urom(inline, optional)]
            text: &'a str,
        },
        #[doc = concat!("Made ", "of parts.")]
        #[urom(reply = Done, tag = 18446744073709551615)]
        _Last,
    }

    #[urom_abi::urom_notification]
    #[derive(Debug)]
    #[must_use]
    #[non_exhaustive]
    pub enum Notification {
        Done,
    }
}

mod generic {
    #[repr(C)]
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub struct Pair<T>(T, T);

    // SAFETY: a pair of zeroable values is zeroable.
    unsafe impl<T: bytemuck::Zeroable> bytemuck::Zeroable for Pair<T> {}
    // SAFETY: two values of one type have the same alignment, so padding is impossible.
    unsafe impl<T: bytemuck::Pod> bytemuck::Pod for Pair<T> {}

    impl<T> Pair<T> {
        pub fn new(a: T, b: T) -> Pair<T> {
            Pair(a, b)
        }
    }

    #[urom_abi::urom_command(plugin = "worker_generic", version = 1)]
    #[derive(Debug)]
    pub enum Command<'a> {
        #[urom(reply = Done)]
        Put {
            pair: Pair<u32>,
            nothing: [u8; 0],
            #[urom(inline)]
            pairs: urom_abi::Elements<'a, Pair<[u32; 2]>>,
        },
    }

    #[urom_abi::urom_notification]
    #[derive(Debug)]
    pub enum Notification {
        Done,
    }
}

fn main() {
    let mut bytes = [0; 128];
    let size = messages::Größe { länge: 7, 名: 1 };
    let len = messages::Command::from(size).encode(&mut bytes).unwrap();
    assert_eq!(messages::Command::decode(&bytes[..len]), Ok(size.into()));
    let last = messages::Command::from(messages::_Last);
    let len = last.encode(&mut bytes).unwrap();
    assert_eq!(bytes[..8], [0xff; 8]);
    assert_eq!(messages::Command::decode(&bytes[..len]), Ok(last));
    let pairs = [generic::Pair::new([1, 2], [3, 4])];
    let put = generic::Put { pair: generic::Pair::new(5, 6), nothing: [], pairs: (&pairs).into() };
    let len = generic::Command::from(put).encode(&mut bytes).unwrap();
    let generic::Command::Put { pair, pairs: found, .. } = generic::Command::decode(&bytes[..len]).unwrap();
    assert_eq!((pair, found.get(0)), (generic::Pair::new(5, 6), Some(pairs[0])));

    // A protocol within a function.
    #[urom_abi::urom_notification]
    #[derive(Debug)]
    pub enum Notification {
        Done,
    }
    #[urom_abi::urom_command(plugin = "worker_local", version = 1)]
    #[derive(Debug)]
    pub enum Command {
        #[urom(reply = Done)]
        Work { x: u8 },
    }
    assert_eq!(Command::from(Work { x: 1 }).encode(&mut bytes), Ok(16));
}
