//! The payload types. Elements have any type here, because only the bytes matter;
//! [`assert_element`](super::assert_element) proves once that elements are plain.

use super::DecodeProblem;
use super::inline::{Borrowed, Optional, Outgoing, Owned, Shown};
use crate::payload::{Data, Elements, Payload, Received, Registered, unit};

impl Outgoing for &[u8] {
    #[inline]
    fn unset() -> Self {
        &[]
    }
    #[inline]
    fn shown(&self) -> Shown<'_> {
        Shown::new(self, 1)
    }
}

impl<'a> Borrowed<'a> for &'a [u8] {
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
    fn shown(&self) -> Shown<'_> {
        Shown::new(self.as_bytes(), 1)
    }
}

impl<'a> Borrowed<'a> for &'a str {
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

    fn unset() -> Self {
        const { &[0; N] }
    }
    fn shown(&self) -> Shown<'_> {
        Shown::new(*self, 1)
    }
}

impl<'a, const N: usize> Borrowed<'a> for &'a [u8; N] {
    fn present(bytes: &'a [u8]) -> Option<Self> {
        bytes.try_into().ok()
    }
}

impl<T> Outgoing for Elements<'_, T> {
    const UNIT: usize = unit::<T>();

    fn unset() -> Self {
        Elements::default()
    }
    fn shown(&self) -> Shown<'_> {
        Shown::new(self.as_bytes(), Self::UNIT)
    }
}

impl<'a, T> Borrowed<'a> for Elements<'a, T> {
    fn present(bytes: &'a [u8]) -> Option<Self> {
        Elements::of_bytes(bytes)
    }
}

impl<P: Outgoing> Outgoing for Option<P> {
    const FIXED: Option<usize> = P::FIXED;
    const UNIT: usize = P::UNIT;
    const BY_ADDRESS: bool = true;

    fn unset() -> Self {
        None
    }
    fn shown(&self) -> Shown<'_> {
        self.as_ref().map_or_else(Shown::absent, P::shown)
    }
}

impl<'a, P: Borrowed<'a>> Borrowed<'a> for Option<P> {
    fn present(bytes: &'a [u8]) -> Option<Self> {
        P::present(bytes).map(Some)
    }
    fn absent() -> Option<Self> {
        Some(None)
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
    fn shown(&self) -> Shown<'_> {
        match *self {
            Data::Inline(bytes) => Shown::new(bytes, 1),
            Data::Registered(Registered { memory, address, len }) => {
                Shown { bytes: &[], there: true, length: len, address, selector: memory.get() }
            }
        }
    }
}

impl<T> Outgoing for Payload<T> {
    const UNIT: usize = unit::<T>();

    fn unset() -> Self {
        Payload::default()
    }
    fn shown(&self) -> Shown<'_> {
        Shown::new(self.as_bytes(), Self::UNIT)
    }
}

impl<T: 'static> Owned for Payload<T> {
    type View<'a> = Elements<'a, T>;

    fn view(&self) -> Elements<'_, T> {
        self.seen()
    }
    fn own(_there: bool, _length: u64, memory: Payload) -> Self {
        // The view of the same bytes proved that they are whole elements.
        memory.of_elements().unwrap_or_default()
    }
    fn give(self) -> Payload {
        self.into_bytes()
    }
}

impl<T: 'static> Owned for Option<Payload<T>> {
    type View<'a> = Option<Elements<'a, T>>;

    fn view(&self) -> Option<Elements<'_, T>> {
        self.as_ref().map(Payload::seen)
    }
    fn own(there: bool, length: u64, memory: Payload) -> Self {
        there.then(|| Payload::own(there, length, memory))
    }
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
    fn shown(&self) -> Shown<'_> {
        match self {
            Received::Inline(payload) => payload.shown(),
            Received::Registered { len } => Shown { length: *len, ..Shown::absent() },
        }
    }
}

impl Owned for Received {
    type View<'a> = Option<&'a [u8]>;
    const LANDS: bool = true;

    #[inline]
    fn view(&self) -> Option<&[u8]> {
        if let Received::Inline(payload) = self { Some(payload) } else { None }
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
