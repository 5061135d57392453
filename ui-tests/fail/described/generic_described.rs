#[derive(urom_abi::Described)]
#[repr(C)]
struct Several<T, const N: usize> {
    all: [T; N],
}

fn main() {
    let _ = Several { all: [1] };
}
