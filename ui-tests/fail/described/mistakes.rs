//! Derives that cannot describe their type: enums with fields or without a fixed size, generic
//! types, unions, and keys that do not exist.

#[derive(urom_abi::Described)]
#[repr(u8)]
enum Action {
    Stop,
    Move(u32),
    Turn { by: u8 },
}

#[derive(urom_abi::Described)]
enum Unknown {
    One,
}

#[derive(urom_abi::Described)]
#[repr(C)]
enum AsInC {
    One,
}

#[derive(urom_abi::Described)]
#[repr(usize)]
enum OfTheMachine {
    #[urom(tag = 1)]
    One,
}

#[derive(urom_abi::Described)]
#[repr(C)]
struct Generic<T, const N: usize> {
    all: [T; N],
}

#[derive(urom_abi::Described)]
#[urom(krate = urom_abi)]
#[repr(C)]
struct Named {
    #[urom(inline)]
    x: u32,
}

#[derive(urom_abi::Described)]
#[urom(crate = "urom_abi")]
#[repr(C)]
struct Quoted {
    x: u32,
}

#[derive(urom_abi::Described)]
#[repr(C)]
union Either {
    a: u32,
    b: f32,
}

fn main() {
    let _ = (Action::Stop, Action::Move(1), Action::Turn { by: 1 }, Unknown::One, AsInC::One, OfTheMachine::One);
}
