//! Enums that are more than a number, or one of a size that nobody knows.

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

fn main() {
    let _ = (Action::Stop, Action::Move(1), Action::Turn { by: 1 }, Unknown::One, AsInC::One, OfTheMachine::One);
}
