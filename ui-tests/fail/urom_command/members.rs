//! Words in structures that cannot have them.

use urom_abi::{urom_command, urom_notification};

#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct Params {
    address: u64,
    length: u64,
    prot: i32,
    flags: u32,
}

#[urom_command(plugin = "p", version = 1)]
enum Command<'a> {
    #[urom(reply = Done)]
    Work {
        #[urom(echo)]
        echoed: Params,
        #[urom(inline, addr = echoed.address, len = missing.length)]
        bytes: &'a [u8],
        #[urom(inline, addr = bytes.address)]
        more: &'a [u8],
        params: Params,
        #[urom(inline, addr = params.address, len = params.length)]
        first: &'a [u8],
        #[urom(inline, len = params.length)]
        second: &'a [u8],
    },
}

mod known_to_the_compiler {
    use super::Params;

    #[urom_abi::urom_command(plugin = "p", version = 1, notification = super::Notification)]
    enum Command<'a> {
        #[urom(reply = super::Done)]
        Work {
            params: Params,
            #[urom(inline, addr = params.adress, len = params.prot)]
            bytes: &'a [u8],
        },
    }
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
