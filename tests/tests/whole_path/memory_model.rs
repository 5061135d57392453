//! Compares random operations on random memories with the same operations on vectors.
//! `UROM_MEMORY_SEED` repeats a run.

use anyhow::{Context, Result};
use fastrand::Rng;
use urom_host::DocaError;
use urom_host::memory::{Access, MemoryPath, MemoryRange, MemoryShare, Mmap};

use crate::memory::{Reached, bytes_of};
use crate::paths::{self, BOTH, PATHS};

const STEPS: usize = 1500;

/// Bytes that fit a message with its header; copies move more.
const MOST: u64 = 3500;

struct Modelled {
    memory: Mmap,
    model: Vec<u8>,
    path: MemoryPath,
    is_writable: bool,
    shared: Option<MemoryShare>,
}

pub(crate) fn random_operations_do_what_they_do_to_vectors(at: Reached) -> Result<()> {
    let given = std::env::var("UROM_MEMORY_SEED").ok().map(|seed| seed.parse()).transpose()?;
    let seed = given.unwrap_or_else(|| fastrand::u64(..));
    println!("UROM_MEMORY_SEED={seed}");
    let mut random = Rng::with_seed(seed);
    let mut all = Vec::new();
    for step in 0..STEPS {
        one_step(&at, &mut random, &mut all).with_context(|| format!("step {step}"))?;
    }
    for modelled in &all {
        assert!(bytes_of(modelled.memory.view()) == modelled.model);
    }
    Ok(())
}

fn one_step(at: &Reached, random: &mut Rng, all: &mut Vec<Modelled>) -> Result<()> {
    if all.is_empty() || all.len() < 12 && random.u8(..16) == 0 {
        all.push(Modelled::new(random)?);
    }
    let chosen = random.usize(..all.len());
    match random.u8(..20) {
        0 => {
            let gone = all.swap_remove(chosen);
            assert!(bytes_of(gone.memory.view()) == gone.model);
        }
        1 | 2 => all[chosen].share_or_end(at)?,
        3 | 4 => all[chosen].host_writes(random)?,
        5..=9 => all[chosen].read(at, random)?,
        10..=13 => all[chosen].write(at, random)?,
        14..=17 => all[chosen].atomic(at, random)?,
        _ => {
            let other = random.usize(..all.len());
            copy(at, random, all, chosen, other)?;
        }
    }
    Ok(())
}

fn copy(
    at: &Reached,
    random: &mut Rng,
    all: &mut [Modelled],
    from: usize,
    to: usize,
) -> Result<()> {
    let len = random.u64(..=all[from].len().min(all[to].len()));
    let source = random.u64(..=all[from].len() - len);
    let target = random.u64(..=all[to].len() - len);
    if from == to && source.abs_diff(target) < len {
        return Ok(());
    }
    let ranges = (all[from].range(source, len), all[to].range(target, len));
    let copy = at.plugin.task_copy(&at.worker, ranges.0, ranges.1, random.u64(1..=5000));
    let copied = copy.submit()?.wait().map(drop);
    let expected = match (&all[from].shared, &all[to].shared) {
        (None, _) | (_, None) => Err(DocaError::NOT_FOUND),
        _ if len > 0 && !all[to].is_writable => Err(DocaError::NOT_PERMITTED),
        _ => Ok(()),
    };
    assert_eq!(copied.map_err(|error| error.code()), expected, "{ranges:?}");
    if expected.is_ok() {
        let bytes = all[from].part(source, len).to_vec();
        all[to].part(target, len).copy_from_slice(&bytes);
    }
    Ok(())
}

impl Modelled {
    fn new(random: &mut Rng) -> Result<Modelled> {
        let len = if random.bool() { random.usize(1..100) } else { random.usize(1..600_000) };
        let path = PATHS[random.usize(..PATHS.len())];
        let is_writable = random.u8(..4) > 0;
        let read_only = Access::LOCAL_READ_WRITE | Access::PCI_READ_ONLY;
        let access = if is_writable { BOTH } else { read_only };
        let model: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(len).collect();
        let memory = paths::allocate(len, access, path)?;
        memory.view().copy_from(0, &model)?;
        Ok(Modelled { memory, model, path, is_writable, shared: None })
    }

    fn len(&self) -> u64 {
        self.model.len() as u64
    }

    fn part(&mut self, offset: u64, len: u64) -> &mut [u8] {
        &mut self.model[offset as usize..][..len as usize]
    }

    fn range(&self, offset: u64, len: u64) -> MemoryRange {
        match &self.shared {
            Some(shared) => shared.slice(offset..offset + len),
            None => MemoryRange { offset, len, ..self.memory.range() },
        }
    }

    fn share_or_end(&mut self, at: &Reached) -> Result<()> {
        match self.shared.take() {
            Some(shared) => Ok(shared.unshare().wait()?),
            None => {
                self.shared = Some(paths::share(&self.memory, &at.worker, self.path)?);
                Ok(())
            }
        }
    }

    fn host_writes(&mut self, random: &mut Rng) -> Result<()> {
        let offset = random.u64(..=self.len());
        let len = random.u64(..=self.len() - offset);
        let filled = vec![random.u8(..); len as usize];
        self.memory.view().copy_from(offset, &filled)?;
        self.part(offset, len).copy_from_slice(&filled);
        Ok(())
    }

    /// A slice, an offset and a length; one in eight exceeds the slice.
    fn random_part(&self, random: &mut Rng, most: u64) -> (MemoryRange, u64, u64) {
        let start = random.u64(..=self.len());
        let range = self.range(start, random.u64(..=self.len() - start));
        let offset = random.u64(..=range.len);
        let left = range.len - offset;
        let len = if random.u8(..8) == 0 { left + 1 } else { random.u64(..=left) };
        (range, offset, len.min(most))
    }

    /// Possible error codes of an operation; empty if it must succeed.
    fn refusals(&self, range: MemoryRange, end: u64, writes: bool) -> Vec<DocaError> {
        if self.shared.is_none() {
            return vec![DocaError::NOT_FOUND];
        }
        let outside = (end > range.len).then_some(DocaError::INVALID_VALUE);
        let read_only = (writes && !self.is_writable).then_some(DocaError::NOT_PERMITTED);
        outside.into_iter().chain(read_only).collect()
    }

    fn read(&mut self, at: &Reached, random: &mut Rng) -> Result<()> {
        let (range, offset, len) = self.random_part(random, MOST);
        let refusals = self.refusals(range, offset + len, false);
        match at.read(range, offset, len) {
            Ok(read) => {
                assert!(refusals.is_empty(), "{range} at {offset}, {len} bytes: {refusals:?}");
                assert!(read == self.part(range.offset + offset, len), "{range} at {offset}");
            }
            Err(error) => assert!(refusals.contains(&error.code()), "{error}"),
        }
        Ok(())
    }

    fn write(&mut self, at: &Reached, random: &mut Rng) -> Result<()> {
        let (range, offset, len) = self.random_part(random, MOST);
        let data: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(len as usize).collect();
        let refusals = self.refusals(range, offset + len, true);
        match at.write(range, offset, &data) {
            Ok(()) => {
                let may_be =
                    refusals.is_empty() || len == 0 && refusals == [DocaError::NOT_PERMITTED];
                assert!(may_be, "{range} at {offset}, {len} bytes: {refusals:?}");
                self.part(range.offset + offset, len).copy_from_slice(&data);
            }
            Err(error) => assert!(refusals.contains(&error.code()), "{error}"),
        }
        Ok(())
    }

    fn atomic(&mut self, at: &Reached, random: &mut Rng) -> Result<()> {
        let (range, mut offset, _) = self.random_part(random, 8);
        if random.u8(..8) > 0 {
            offset = offset.saturating_sub((range.offset + offset) % 8);
        }
        let (kind, operand) = (random.u64(..3), random.u64(..));
        let end = offset + 8;
        let address = self.memory.address() + range.offset + offset;
        let mut refusals = self.refusals(range, end, true);
        if self.shared.is_some() && !address.is_multiple_of(8) {
            refusals.push(DocaError::INVALID_VALUE);
        }
        let is_there = refusals.is_empty() && random.bool();
        let compare = if is_there { self.word(range.offset + offset) } else { 7 };
        let task = at.plugin.task_atomic(&at.worker, range, offset, operand, compare, kind);
        match task.submit()?.wait() {
            Ok(was) => {
                assert!(refusals.is_empty(), "{range} at {offset}, {kind}: {refusals:?}");
                let found = self.word(range.offset + offset);
                assert_eq!(was.value, found, "{range} at {offset}, {kind}");
                let new = match kind {
                    0 => found.wrapping_add(operand),
                    2 if found != compare => found,
                    _ => operand,
                };
                self.part(range.offset + offset, 8).copy_from_slice(&new.to_le_bytes());
            }
            Err(error) => assert!(refusals.contains(&error.code()), "{error}"),
        }
        Ok(())
    }

    fn word(&self, at: u64) -> u64 {
        let bytes = self.model[at as usize..].first_chunk().copied();
        u64::from_le_bytes(bytes.unwrap_or_default())
    }
}
