//! The types that can be payloads. Their elements are of any type here: only the bytes matter, and
//! [`assert_element`](super::assert_element) proves once that elements are plain.

use super::inline::{Optional, Outgoing, Owned, Readable};
use crate::payload::{Data, Elements, Payload, Received, Registered, unit};
use crate::wire::{Count, DecodeProblem};

impl Outgoing for &[u8] {
    #[inline]
    fn unset() -> Self {
        &[]
    }
    #[inline]
    fn bytes(&self) -> &[u8] {
        self
    }
}

impl<'a> Readable<'a> for &'a [u8] {
    #[inline]
    fn present(bytes: &'a [u8]) -> Option<Self> {
        Some(bytes)
    }
}

impl Outgoing for &str {
    #[inline]
    fn unset() -> Self {
        ""
    }
    #[inline]
    fn bytes(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl<'a> Readable<'a> for &'a str {
    #[inline]
    fn present(bytes: &'a [u8]) -> Option<Self> {
        std::str::from_utf8(bytes).ok()
    }
    #[cold]
    fn refused(bytes: &[u8]) -> DecodeProblem {
        let at = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
        DecodeProblem::NotUtf8 { at, found: bytes.get(at).copied().unwrap_or_default() }
    }
}

impl<const N: usize> Outgoing for &[u8; N] {
    const FIXED: Option<usize> = Some(N);

    #[inline]
    fn unset() -> Self {
        const { &[0; N] }
    }
    #[inline]
    fn bytes(&self) -> &[u8] {
        *self
    }
}

impl<'a, const N: usize> Readable<'a> for &'a [u8; N] {
    #[inline]
    fn present(bytes: &'a [u8]) -> Option<Self> {
        bytes.try_into().ok()
    }
}

impl<T> Outgoing for Elements<'_, T> {
    const UNIT: usize = unit::<T>();

    #[inline]
    fn unset() -> Self {
        Elements::default()
    }
    #[inline]
    fn bytes(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl<'a, T> Readable<'a> for Elements<'a, T> {
    #[inline]
    fn present(bytes: &'a [u8]) -> Option<Self> {
        Elements::of_bytes(bytes)
    }
}

impl<P: Outgoing> Outgoing for Option<P> {
    const FIXED: Option<usize> = P::FIXED;
    const UNIT: usize = P::UNIT;
    const BY_ADDRESS: bool = true;

    #[inline]
    fn unset() -> Self {
        None
    }
    #[inline]
    fn bytes(&self) -> &[u8] {
        self.as_ref().map_or(&[], P::bytes)
    }
    #[inline]
    fn is_there(&self) -> bool {
        self.is_some()
    }
}

impl<'a, P: Readable<'a>> Readable<'a> for Option<P> {
    #[inline]
    fn present(bytes: &'a [u8]) -> Option<Self> {
        P::present(bytes).map(Some)
    }
    #[inline]
    fn absent(_length: impl Count) -> Result<Option<Self>, u64> {
        Ok(Some(None))
    }
    #[cold]
    fn refused(bytes: &[u8]) -> DecodeProblem {
        P::refused(bytes)
    }
}

impl<P: Outgoing> Optional for Option<P> {}

impl Outgoing for Data<'_> {
    #[inline]
    fn unset() -> Self {
        Data::default()
    }
    #[inline]
    fn bytes(&self) -> &[u8] {
        if let Data::Inline(bytes) = self { bytes } else { &[] }
    }
    #[inline]
    fn length(&self) -> u64 {
        match self {
            Data::Inline(bytes) => bytes.len() as u64,
            Data::Registered(Registered { len, .. }) => *len,
        }
    }
    #[inline]
    fn address(&self) -> u64 {
        match self {
            Data::Inline(bytes) => u64::from(!bytes.is_empty()),
            Data::Registered(Registered { address, .. }) => *address,
        }
    }
    #[inline]
    fn selector(&self) -> u64 {
        if let Data::Registered(Registered { memory, .. }) = self { memory.get() } else { 0 }
    }
}

impl<T> Outgoing for Payload<T> {
    const UNIT: usize = unit::<T>();

    #[inline]
    fn unset() -> Self {
        Payload::default()
    }
    #[inline]
    fn bytes(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl<T: 'static> Owned for Payload<T> {
    type View<'a> = Elements<'a, T>;

    #[inline]
    fn view(&self) -> Elements<'_, T> {
        self.seen()
    }
    #[inline]
    fn own(_there: bool, _length: u64, memory: Payload) -> Self {
        // The view that was read from the same bytes proved that they are whole elements.
        memory.of_elements().unwrap_or_default()
    }
    #[inline]
    fn give(self) -> Payload {
        self.into_bytes()
    }
}

impl<T: 'static> Owned for Option<Payload<T>> {
    type View<'a> = Option<Elements<'a, T>>;

    #[inline]
    fn view(&self) -> Option<Elements<'_, T>> {
        self.as_ref().map(Payload::seen)
    }
    #[inline]
    fn own(there: bool, length: u64, memory: Payload) -> Self {
        there.then(|| Payload::own(there, length, memory))
    }
    #[inline]
    fn give(self) -> Payload {
        self.unwrap_or_default().into_bytes()
    }
}

impl Outgoing for Received {
    const BY_ADDRESS: bool = true;

    #[inline]
    fn unset() -> Self {
        Received::default()
    }
    #[inline]
    fn bytes(&self) -> &[u8] {
        if let Received::Inline(payload) = self { payload } else { &[] }
    }
    #[inline]
    fn is_there(&self) -> bool {
        self.view().is_there()
    }
    #[inline]
    fn length(&self) -> u64 {
        self.len()
    }
}

impl Owned for Received {
    type View<'a> = Landed<'a>;

    #[inline]
    fn view(&self) -> Landed<'_> {
        match self {
            Received::Inline(payload) => Landed::Inline(payload),
            Received::Registered { len } => Landed::Registered { len: *len },
        }
    }
    #[inline]
    fn own(there: bool, length: u64, memory: Payload) -> Self {
        if there { Received::Inline(memory) } else { Received::Registered { len: length } }
    }
    #[inline]
    fn give(self) -> Payload {
        if let Received::Inline(payload) = self { payload } else { Payload::default() }
    }
}

/// [`Received`] while it is only looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Landed<'a> {
    Inline(&'a [u8]),
    Registered { len: u64 },
}

impl Outgoing for Landed<'_> {
    const UNIT: usize = 1;
    const BY_ADDRESS: bool = true;

    #[inline]
    fn unset() -> Self {
        Landed::Inline(&[])
    }
    #[inline]
    fn bytes(&self) -> &[u8] {
        if let Landed::Inline(bytes) = self { bytes } else { &[] }
    }
    #[inline]
    fn is_there(&self) -> bool {
        matches!(self, Landed::Inline(_))
    }
    #[inline]
    fn length(&self) -> u64 {
        match self {
            Landed::Inline(bytes) => bytes.len() as u64,
            Landed::Registered { len } => *len,
        }
    }
}

impl<'a> Readable<'a> for Landed<'a> {
    #[inline]
    fn present(bytes: &'a [u8]) -> Option<Self> {
        Some(Landed::Inline(bytes))
    }
    #[inline]
    fn absent(length: impl Count) -> Result<Option<Self>, u64> {
        length.count().map(|len| Some(Landed::Registered { len: len as u64 }))
    }
}
