//! Messages with payloads: encoding, decoding, and rejected bytes.

mod commands;
mod memory;
mod message;
mod notifications;

fn get<T: urom_abi::bytemuck::AnyBitPattern>(bytes: &[u8], offset: usize) -> Option<T> {
    let end = offset.checked_add(size_of::<T>())?;
    bytes.get(offset..end).map(urom_abi::bytemuck::pod_read_unaligned)
}

fn put<T: urom_abi::bytemuck::NoUninit>(bytes: &mut [u8], offset: usize, value: &T) -> Option<()> {
    let end = offset.checked_add(size_of::<T>())?;
    bytes.get_mut(offset..end)?.copy_from_slice(urom_abi::bytemuck::bytes_of(value));
    Some(())
}
