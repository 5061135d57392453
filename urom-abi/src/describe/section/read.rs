//! Reads untrusted descriptions.

use std::alloc::{Layout, dealloc};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::{Build, Description, FORMAT, HEADER_LEN, MAGIC, MAX_DEPTH, MAX_LEN, ReadError};
use crate::describe::{Protocol, Type};
use urom_os::fork::PerProcess;

/// Reads the bytes of a plugin's section [`SECTION`](super::SECTION).
///
/// The result lives as long as the process: a description has `'static` references. It takes up to
/// twenty times the size of `bytes`, once for equal bytes. Rejected bytes are freed.
///
/// [`c_header`](crate::describe::c_header) can lay out all types: sizes and offsets are below 4
/// GiB, alignments are powers of two. Texts are valid UTF-8 but may contain control characters.
///
/// # Errors
/// The problem, and its location.
pub fn read(bytes: &[u8]) -> Result<Description, ReadError> {
    let bytes = framed(bytes)?;
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(description) = known.get(bytes) {
        return Ok(*description);
    }
    let mut reader = SectionReader::new(bytes);
    // SAFETY: the memory of the reader is leaked below.
    let (build, protocol) = unsafe { reader.all() }?;
    // SAFETY: `reader.kept` is cleared below, which leaks the memory.
    let protocol = unsafe { reader.keep(&[protocol]) };
    let description = Description { protocol: &protocol[0], build };
    reader.kept.0.clear();
    known.insert(bytes.into(), description);
    Ok(description)
}

/// Returns whether [`read`] accepts these bytes. Does not keep memory.
///
/// # Errors
/// As [`read`].
pub fn check(bytes: &[u8]) -> Result<(), ReadError> {
    let mut reader = SectionReader::new(framed(bytes)?);
    // SAFETY: the result is dropped before the reader.
    unsafe { reader.all() }.map(|_| ())
}

fn framed(bytes: &[u8]) -> Result<&[u8], ReadError> {
    let header = bytes.first_chunk::<HEADER_LEN>().filter(|header| header.starts_with(&MAGIC));
    let Some(&[.., f0, f1, f2, f3, l0, l1, l2, l3]) = header else { return Err(ReadError::Magic) };
    let format = u32::from_le_bytes([f0, f1, f2, f3]);
    if format != FORMAT {
        return Err(ReadError::Format { found: format });
    }
    if bytes.len() > MAX_LEN {
        return Err(ReadError::TooLong { found: bytes.len() as u64 });
    }
    let (stated, found) = (u32::from_le_bytes([l0, l1, l2, l3]) as usize, bytes.len() - HEADER_LEN);
    let own = bytes.split_at_checked(HEADER_LEN.saturating_add(stated));
    let own = own.filter(|(_, behind)| behind.iter().all(|byte| *byte == 0));
    own.map(|(bytes, _)| bytes).ok_or(ReadError::Length { stated, found })
}

static KNOWN: PerProcess<Mutex<BTreeMap<Box<[u8]>, Description>>> = PerProcess::new(Mutex::default);

/// Memory of the description, freed on drop unless the description is valid.
struct DescriptionMemory(Vec<(*mut u8, Layout)>);

impl Drop for DescriptionMemory {
    fn drop(&mut self) {
        for (memory, layout) in &self.0 {
            // SAFETY: `SectionReader::keep` got it from a box of this layout, which is not empty.
            unsafe { dealloc(*memory, *layout) };
        }
    }
}

pub(super) struct SectionReader<'a> {
    bytes: &'a [u8],
    at: usize,
    kept: DescriptionMemory,
    depth: usize,
}

impl<'a> SectionReader<'a> {
    fn new(bytes: &'a [u8]) -> SectionReader<'a> {
        SectionReader { bytes, at: HEADER_LEN, kept: DescriptionMemory(Vec::new()), depth: 0 }
    }

    /// Reads all of the bytes.
    ///
    /// # Safety
    /// The result refers to memory of this reader and must not be used after that is freed.
    unsafe fn all(&mut self) -> Result<(Build, Protocol), ReadError> {
        let all = (self.build()?, self.protocol()?);
        if self.at != self.bytes.len() {
            return Err(self.malformed("it ends before its bytes do"));
        }
        Ok(all)
    }

    /// Returns a copy that lives as long as this reader, or forever if `kept` is cleared.
    ///
    /// # Safety
    /// The result must not be used after `kept` is dropped, despite its `'static`.
    pub(super) unsafe fn keep<T: Copy>(&mut self, items: &[T]) -> &'static [T] {
        let items = Box::into_raw(Box::<[T]>::from(items));
        // SAFETY: the slice was just allocated and is never written to.
        let kept = unsafe { &*items };
        let layout = Layout::for_value(kept);
        if layout.size() > 0 {
            self.kept.0.push((items.cast(), layout));
        }
        kept
    }

    pub(super) fn ty(&mut self) -> Result<Type, ReadError> {
        if self.depth > MAX_DEPTH {
            return Err(self.malformed("a type is nested too deep"));
        }
        self.depth += 1;
        let ty = self.any_type();
        self.depth -= 1;
        ty
    }

    /// Reads a list. Each element takes bytes, so their number is bounded by the input.
    pub(super) fn list<T: Copy>(
        &mut self,
        item: impl Fn(&mut Self) -> Result<T, ReadError>,
    ) -> Result<&'static [T], ReadError> {
        let count = self.length()?;
        let mut items = Vec::new();
        for _ in 0..count {
            items.push(item(self)?);
        }
        // SAFETY: the caller of `all` is responsible for the lifetime.
        Ok(unsafe { self.keep(&items) })
    }

    pub(super) fn docs(&mut self) -> Result<&'static str, ReadError> {
        self.text()
    }

    pub(super) fn text(&mut self) -> Result<&'static str, ReadError> {
        let len = self.length()?;
        let bytes = self.take(len)?;
        // SAFETY: the caller of `all` is responsible for the lifetime.
        let bytes = unsafe { self.keep(bytes) };
        std::str::from_utf8(bytes).map_err(|_| self.malformed("a text is not UTF-8"))
    }

    pub(super) fn truth(&mut self) -> Result<bool, ReadError> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.malformed("what is 0 or 1 is neither")),
        }
    }

    pub(super) fn byte(&mut self) -> Result<u8, ReadError> {
        self.array().map(u8::from_le_bytes)
    }

    pub(super) fn length(&mut self) -> Result<usize, ReadError> {
        self.array().map(|bytes| u32::from_le_bytes(bytes) as usize)
    }

    pub(super) fn count(&mut self) -> Result<usize, ReadError> {
        self.array().map(usize::from_le_bytes)
    }

    pub(super) fn number(&mut self) -> Result<u64, ReadError> {
        self.array().map(u64::from_le_bytes)
    }

    pub(super) fn value(&mut self) -> Result<i128, ReadError> {
        self.array().map(i128::from_le_bytes)
    }

    fn array<const LEN: usize>(&mut self) -> Result<[u8; LEN], ReadError> {
        let bytes = self.take(LEN)?;
        bytes.first_chunk().copied().ok_or(self.malformed("it ends too early"))
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], ReadError> {
        let bytes = self.bytes.get(self.at..).and_then(|rest| rest.get(..len));
        let bytes = bytes.ok_or(self.malformed("it ends too early"))?;
        self.at += len;
        Ok(bytes)
    }

    pub(super) fn malformed(&self, problem: &'static str) -> ReadError {
        ReadError::Malformed { at: self.at, problem }
    }
}

/// Checks of the parts beyond their encoding.
pub(super) mod sound {
    use crate::describe::{Enum, Messages, Struct, Type};

    type Sound = Result<(), &'static str>;

    fn is(sound: bool, otherwise: &'static str) -> Sound {
        sound.then_some(()).ok_or(otherwise)
    }

    fn integer(bytes: usize) -> Sound {
        is(matches!(bytes, 1 | 2 | 4 | 8), "no integer has this size")
    }

    fn alignment(align: usize) -> Sound {
        is(align.is_power_of_two(), "an alignment is not a power of two")
    }

    pub(crate) fn messages(of: &Messages) -> Sound {
        let unsigned = matches!(of.tag, Type::Int { signed: false, .. });
        is(unsigned, "a tag's type is not an unsigned integer")
    }

    pub(crate) fn structure(of: &Struct) -> Sound {
        alignment(of.align)
    }

    pub(crate) fn enumeration(of: &Enum) -> Sound {
        integer(of.bytes)?;
        let modulus = 1i128 << (8 * of.bytes);
        let range = if of.signed { -modulus / 2..modulus / 2 } else { 0..modulus };
        let within = of.values.iter().all(|value| range.contains(&value.value));
        is(within, "a value of an enum is larger than the enum")
    }

    pub(crate) fn any_type(ty: &Type) -> Sound {
        match *ty {
            Type::Int { bytes, .. } => integer(bytes),
            Type::Float { bytes } => {
                is(matches!(bytes, 4 | 8), "no floating-point number has this size")
            }
            Type::Array { of, len } => {
                let size = of.size().checked_mul(len);
                let fits = size.is_some_and(|size| u32::try_from(size).is_ok());
                is(fits, "an array has 4 GiB or more")
            }
            Type::Opaque { align, .. } => alignment(align),
            _ => Ok(()),
        }
    }
}
