//! The machine of an ELF file. The loader's error for a file of another machine omits it.

/// The bytes at the start of a file that contain the machine.
pub const HEADER_LEN: usize = 20;

/// `EM_X86_64`.
pub const X86_64: u16 = 62;

/// `EM_AARCH64`.
pub const AARCH64: u16 = 183;

/// The machine of this program as ELF numbers it; 0 for any other.
const OURS: u16 = if cfg!(target_arch = "x86_64") {
    X86_64
} else if cfg!(target_arch = "aarch64") {
    AARCH64
} else {
    0
};

/// A remark on an ELF file that is for another machine than this program, by the file's first
/// bytes. `None` for a file of this machine, and for any file but ELF's.
#[must_use]
pub fn foreign(header: &[u8; HEADER_LEN]) -> Option<String> {
    let machine = machine(header)?;
    (OURS != 0 && machine != OURS)
        .then(|| format!("it is for {}, and this program runs on {}", name(machine), name(OURS)))
}

/// `e_machine` of an ELF file.
fn machine(header: &[u8; HEADER_LEN]) -> Option<u16> {
    let word = [header[18], header[19]];
    match header {
        [0x7f, b'E', b'L', b'F', _, 1, ..] => Some(u16::from_le_bytes(word)),
        [0x7f, b'E', b'L', b'F', _, 2, ..] => Some(u16::from_be_bytes(word)),
        _ => None,
    }
}

/// The common name of a machine, by its number in ELF files (`e_machine`).
#[must_use]
pub fn name(machine: u16) -> String {
    match machine {
        3 => "32-bit x86".to_owned(),
        40 => "32-bit Arm".to_owned(),
        X86_64 => "x86-64".to_owned(),
        AARCH64 => "AArch64".to_owned(),
        243 => "RISC-V".to_owned(),
        other => format!("machine {other} in ELF's numbers"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(order: u8, machine: [u8; 2]) -> [u8; HEADER_LEN] {
        let mut header = [0; HEADER_LEN];
        header[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, order]);
        header[18..].copy_from_slice(&machine);
        header
    }

    #[test]
    fn the_machine_is_read_in_the_file_s_byte_order() {
        assert_eq!(machine(&header(1, [183, 0])), Some(AARCH64));
        assert_eq!(machine(&header(2, [0, 22])), Some(22));
        assert_eq!(machine(&header(3, [183, 0])), None);
        assert_eq!(machine(&[b'#'; HEADER_LEN]), None);
    }

    #[test]
    fn this_machine_and_other_formats_have_no_remark() {
        assert_eq!(foreign(&header(1, OURS.to_le_bytes())), None);
        assert_eq!(foreign(&[b'#'; HEADER_LEN]), None);
        let remark = foreign(&header(1, [40, 0])).unwrap();
        assert!(remark.starts_with("it is for 32-bit Arm"), "{remark}");
    }
}
