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

fn main() {
    let _ = (Named { x: 1 }, Quoted { x: 1 });
}
