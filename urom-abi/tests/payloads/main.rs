//! Messages with payloads: what is written, what is read back, and what is refused.

mod commands;
mod memory;
mod message;
mod notifications;

/// Reads a plain value at `offset`, or `None` when the bytes end before it does.
fn get<T: urom_abi::bytemuck::AnyBitPattern>(bytes: &[u8], offset: usize) -> Option<T> {
    let end = offset.checked_add(size_of::<T>())?;
    bytes.get(offset..end).map(urom_abi::bytemuck::pod_read_unaligned)
}

/// Writes a plain value at `offset`, or gives `None` and writes nothing when there is no room.
fn put<T: urom_abi::bytemuck::NoUninit>(bytes: &mut [u8], offset: usize, value: &T) -> Option<()> {
    let end = offset.checked_add(size_of::<T>())?;
    bytes.get_mut(offset..end)?.copy_from_slice(urom_abi::bytemuck::bytes_of(value));
    Some(())
}
