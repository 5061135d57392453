//! Times the use of a host's memory within one handler.

use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use bench_protocol::{MemoryAccess, TimeMemory, Timed};
use bytemuck::{Pod, Zeroable, cast_slice_mut};
use urom_pdk::{Context, DocaError, Error, Result};

const PAGE: usize = 4096;

/// Alignment of all buffers, as of the host's memory: the speed of a copy depends on it.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(4096))]
struct Page([u8; PAGE]);

/// Times both sides in turns; the first side alternates.
pub(crate) async fn time(cx: &Context, command: &TimeMemory) -> Result<Timed> {
    let TimeMemory { access, process, address, times, rounds, .. } = *command;
    let memory = cx.memory(command.memory)?;
    let pages = (memory.len() as usize).div_ceil(PAGE);
    let (mut local, mut other) = (vec![Page([1; PAGE]); pages], vec![Page([1; PAGE]); pages]);
    let local = &mut cast_slice_mut(&mut local)[..memory.len() as usize];
    let other = &mut cast_slice_mut(&mut other)[..memory.len() as usize];
    let word = AtomicU64::new(0);
    let mut all = [Vec::new(), Vec::new()];
    // The first round warms caches and page tables.
    for round in 0..=rounds {
        for turn in 0..2 {
            let is_kit = (round + turn) % 2 == 0;
            let begin = Instant::now();
            for _ in 0..times {
                match (access, is_kit) {
                    (MemoryAccess::Read, true) | (MemoryAccess::ReadOfProcess, true) => {
                        memory.read(0, local).await?;
                    }
                    (MemoryAccess::Write, true) => memory.write(0, local).await?,
                    (MemoryAccess::Read | MemoryAccess::Write, false) => {
                        // Opaque to the optimiser, as the kit's copy is.
                        black_box(&mut *other).copy_from_slice(black_box(local));
                    }
                    (MemoryAccess::ReadOfProcess, false) => read(process, address, other)?,
                    (MemoryAccess::FetchAdd, true) => drop(memory.fetch_add(0, 1).await?),
                    (MemoryAccess::FetchAdd, false) => {
                        black_box(word.fetch_add(1, Ordering::AcqRel));
                    }
                    (MemoryAccess::Open, true) => drop(cx.memory(command.memory)?),
                    (MemoryAccess::Open, false) => drop(black_box(memory.len())),
                }
            }
            let each = begin.elapsed().as_nanos() as u64 * 1000 / times.max(1);
            if round > 0 {
                all[usize::from(!is_kit)].push(each);
            }
        }
    }
    let [kit, peer] = all.map(|mut times| {
        times.sort_unstable();
        times.get(times.len() / 2).copied().unwrap_or_default()
    });
    Ok(Timed { kit, peer })
}

fn read(process: u64, address: u64, to: &mut [u8]) -> Result<()> {
    let here = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: to.len() };
    let there = libc::iovec { iov_base: address as usize as *mut _, iov_len: to.len() };
    // SAFETY: one part each: the bytes of `to`, and bytes of another process, which the kernel
    // checks.
    let moved = unsafe { libc::process_vm_readv(process as i32, &here, 1, &there, 1, 0) };
    if moved == to.len() as isize {
        return Ok(());
    }
    let text = format!("process_vm_readv: {}", io::Error::last_os_error());
    Err(Error::new(DocaError::IO_FAILED, text))
}
