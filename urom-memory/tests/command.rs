//! A range is a field of a command like any other, and keeps its bytes.

use urom_abi::protocol::Request as _;
use urom_abi::{Described, urom_command};
use urom_memory::MemoryRange;

/// What a host can ask.
#[urom_command(plugin = "sum", version = 1)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Adds the numbers up.
    #[urom(reply = Summed)]
    Sum {
        /// The numbers.
        numbers: MemoryRange,
    },
}

/// What the plugin answers.
#[urom_abi::urom_notification]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notification {
    /// The sum.
    Summed {
        /// The sum.
        sum: u64,
    },
}

#[test]
fn a_command_carries_a_range() {
    let command = Sum { numbers: MemoryRange { memory: 1, offset: 2, len: 3 } };
    let mut bytes = vec![0xee; command.encoded_len().unwrap()];
    command.encode(&mut bytes).unwrap();
    assert_eq!(Sum::decode(&bytes), Ok(command));
    let fields = &bytes[bytes.len() - size_of::<MemoryRange>()..];
    assert_eq!(bytemuck::pod_read_unaligned::<[u64; 3]>(fields), [1, 2, 3]);
    assert_eq!(<MemoryRange as Described>::TYPE.to_string(), "MemoryRange");
}
