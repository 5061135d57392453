#[derive(urom_abi::Described)]
#[repr(C)]
union Either {
    a: u32,
    b: f32,
}

fn main() {
    let _ = Either { a: 1 };
}
