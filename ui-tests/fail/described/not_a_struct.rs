#[derive(urom_abi::Described)]
#[repr(u8)]
enum Kind {
    One,
}

#[derive(urom_abi::Described)]
#[repr(C)]
union Either {
    a: u32,
    b: f32,
}

fn main() {
    let _ = (Kind::One, Either { a: 1 });
}
