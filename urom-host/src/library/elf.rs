//! What the loader does not say of a file: that it is for another machine.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The machine of this program as ELF numbers it; 0 is none.
const OURS: u16 = if cfg!(target_arch = "x86_64") {
    X86_64
} else if cfg!(target_arch = "aarch64") {
    AARCH64
} else {
    0
};

const X86_64: u16 = 62;
const AARCH64: u16 = 183;

/// A remark on a file that is for another machine than this program; the loader may say that there is no such file.
pub(super) fn foreign(path: &Path) -> Option<String> {
    let mut header = [0; 20];
    File::open(path).and_then(|mut file| file.read_exact(&mut header)).ok()?;
    let machine = machine(&header)?;
    (OURS != 0 && machine != OURS)
        .then(|| format!("it is for {}, and this program runs on {}", name(machine), name(OURS)))
}

/// `e_machine` of an ELF file.
fn machine(header: &[u8; 20]) -> Option<u16> {
    let word = [header[18], header[19]];
    match header {
        [0x7f, b'E', b'L', b'F', _, 1, ..] => Some(u16::from_le_bytes(word)),
        [0x7f, b'E', b'L', b'F', _, 2, ..] => Some(u16::from_be_bytes(word)),
        _ => None,
    }
}

fn name(machine: u16) -> String {
    match machine {
        3 => "32-bit x86".to_owned(),
        40 => "32-bit Arm".to_owned(),
        X86_64 => "x86-64".to_owned(),
        AARCH64 => "AArch64".to_owned(),
        other => format!("machine {other} in ELF's numbers"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(order: u8, machine: [u8; 2]) -> [u8; 20] {
        let mut header = [0; 20];
        header[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, order]);
        header[18..].copy_from_slice(&machine);
        header
    }

    #[test]
    fn the_machine_is_read_in_the_file_s_byte_order() {
        assert_eq!(machine(&header(1, [183, 0])), Some(AARCH64));
        assert_eq!(machine(&header(2, [0, 22])), Some(22));
        assert_eq!(machine(&header(3, [183, 0])), None);
        assert_eq!(machine(&[b'#'; 20]), None);
    }

    #[test]
    fn nothing_is_said_of_this_program_and_of_what_is_no_elf_file() {
        assert_eq!(foreign(&std::env::current_exe().unwrap()), None);
        assert_eq!(foreign(Path::new(env!("CARGO_MANIFEST_DIR"))), None);
        assert_eq!(foreign(&Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")), None);
    }
}
