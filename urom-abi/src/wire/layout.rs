//! C's rules for where the fields of a structure lie, as constants.

/// A size and an alignment, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// How many bytes, padding included.
    pub size: usize,
    /// The alignment: a power of two.
    pub align: usize,
}

impl Extent {
    /// The extent of a type.
    pub const fn of<T>() -> Extent {
        Extent { size: size_of::<T>(), align: align_of::<T>() }
    }
}

/// The least multiple of `align` that is not below `offset`.
pub const fn align_up(offset: usize, align: usize) -> usize {
    offset.div_ceil(align) * align
}

/// Where each field of a structure begins whose first field may begin at `start`.
///
/// ```
/// use urom_abi::wire::layout::{Extent, offsets};
/// // struct { uint32_t a; uint64_t b; uint8_t c; }
/// const AT: [usize; 3] = offsets(0, [Extent::of::<u32>(), Extent::of::<u64>(), Extent::of::<u8>()]);
/// assert_eq!(AT, [0, 8, 16]);
/// ```
pub const fn offsets<const N: usize>(start: usize, fields: [Extent; N]) -> [usize; N] {
    let mut at = [0; N];
    let (mut end, mut i) = (start, 0);
    while i < N {
        at[i] = align_up(end, fields[i].align);
        end = at[i] + fields[i].size;
        i += 1;
    }
    at
}

/// The extent of a structure of these fields: its size is a multiple of its alignment. A structure without fields has
/// size 0 and alignment 1.
pub const fn structure(fields: &[Extent]) -> Extent {
    let (mut end, mut align, mut i) = (0, 1, 0);
    while i < fields.len() {
        end = align_up(end, fields[i].align) + fields[i].size;
        if fields[i].align > align {
            align = fields[i].align;
        }
        i += 1;
    }
    Extent { size: align_up(end, align), align }
}

/// The extent of a union of these members.
pub const fn union(members: &[Extent]) -> Extent {
    let (mut size, mut align, mut i) = (0, 1, 0);
    while i < members.len() {
        if members[i].size > size {
            size = members[i].size;
        }
        if members[i].align > align {
            align = members[i].align;
        }
        i += 1;
    }
    Extent { size: align_up(size, align), align }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(C)]
    struct Probe {
        a: u8,
        b: u16,
        c: u8,
        d: f64,
        e: [u16; 3],
    }

    const FIELDS: [Extent; 5] = [
        Extent::of::<u8>(),
        Extent::of::<u16>(),
        Extent::of::<u8>(),
        Extent::of::<f64>(),
        Extent::of::<[u16; 3]>(),
    ];

    #[test]
    fn a_structure_lies_as_the_compiler_lays_it() {
        use std::mem::offset_of;
        let want = [
            offset_of!(Probe, a),
            offset_of!(Probe, b),
            offset_of!(Probe, c),
            offset_of!(Probe, d),
            offset_of!(Probe, e),
        ];
        assert_eq!(offsets(0, FIELDS), want);
        assert_eq!(structure(&FIELDS), Extent::of::<Probe>());
    }

    #[test]
    fn a_union_is_as_large_and_as_aligned_as_its_most_demanding_members() {
        let members = [
            Extent { size: 12, align: 4 },
            Extent { size: 8, align: 8 },
            Extent { size: 0, align: 1 },
        ];
        assert_eq!(union(&members), Extent { size: 16, align: 8 });
        assert_eq!(union(&[]), Extent { size: 0, align: 1 });
    }
}
