//! Layouts, names and documentation without a direct equivalent in C.

use std::mem::offset_of;
use std::sync::LazyLock;

use urom_abi::describe::{
    Described, Field, FieldKind, Messages, Protocol, Struct, StructField, Type, Variant, c_header,
};

use crate::known::{SANDBOX, field, variant};
use crate::{check, holds};

const fn commands(
    tag: Type,
    len: usize,
    union_at: usize,
    variants: &'static [Variant],
) -> Protocol {
    let commands =
        Messages { name: "Command", docs: "", tag, len, union_at, header: &[], variants };
    Protocol { name: "odd", version: u64::MAX, commands, notifications: SANDBOX.notifications }
}

const fn plain(name: &'static str, ty: Type, offset: usize) -> Field {
    field(name, FieldKind::Plain, ty, offset)
}

#[test]
fn a_tag_of_any_width_has_its_size_and_its_values() {
    const ONE: &[Field] = &[plain("x", u8::TYPE, 1)];
    const SMALL: Protocol = commands(u8::TYPE, 2, 1, &[variant("A", 255, ONE)]);
    holds(
        &SMALL,
        "sizeof(struct odd_command) == 2\nODD_COMMAND_A == 255\nODD_PLUGIN_VERSION == UINT64_MAX",
    );
    const TWO: &[Field] = &[plain("x", u8::TYPE, 2)];
    const SHORT: Protocol = commands(u16::TYPE, 4, 2, &[variant("A", 0xffff, TWO)]);
    holds(&SHORT, "sizeof(struct odd_command) == 4\nODD_COMMAND_A == 65535");
    const FOUR: &[Field] = &[plain("x", u8::TYPE, 4)];
    const INT: Protocol = commands(u32::TYPE, 8, 4, &[variant("A", 0x7fff_ffff, FOUR)]);
    holds(
        &INT,
        "sizeof(struct odd_command) == 8\n(enum odd_command_type)0x7fffffff == ODD_COMMAND_A",
    );
    const BIG: Protocol = commands(u32::TYPE, 8, 4, &[variant("A", 0xffff_ffff, FOUR)]);
    holds(&BIG, "sizeof(struct odd_command) == 8\nODD_COMMAND_A == UINT32_MAX");
    const EIGHT: &[Field] = &[plain("x", u8::TYPE, 8)];
    const WIDE: Protocol =
        commands(u64::TYPE, 16, 8, &[variant("A", 0, EIGHT), variant("B", u64::MAX, &[])]);
    holds(
        &WIDE,
        "sizeof(struct odd_command) == 16\nODD_COMMAND_B == UINT64_MAX\nODD_COMMAND_A == 0",
    );
    const ALSO: Protocol =
        commands(u64::TYPE, 16, 8, &[Variant { also: Some(1 << 31), ..variant("A", 0, EIGHT) }]);
    holds(&ALSO, "ODD_COMMAND_A == 0");
    // Commands without fields are only a tag.
    const UNITS: Protocol =
        commands(u16::TYPE, 2, 2, &[variant("A", 0, &[]), variant("B", 1, &[])]);
    holds(&UNITS, "sizeof(struct odd_command) == 2\nODD_COMMAND_B == 1");
}

#[test]
fn names_that_c_or_cpp_does_not_allow_get_an_underscore() {
    const FIELDS: &[Field] = &[
        plain("register", u64::TYPE, 8),
        plain("class", u32::TYPE, 16),
        plain("class_", u32::TYPE, 20),
        plain("größe", u64::TYPE, 24),
        plain("uint64_t", u64::TYPE, 32),
        plain("linux", u8::TYPE, 40),
        plain("odd_command_register", u8::TYPE, 41),
    ];
    // A variant named like the tag's member, and variants with the same name in snake case.
    const VARIANTS: &[Variant] = &[
        variant("Register", 0, FIELDS),
        variant("Type", 1, FIELDS),
        variant("TagSend", 2, FIELDS),
        variant("tag_send", 3, FIELDS),
        variant("Double", 4, FIELDS),
    ];
    holds(
        &commands(u64::TYPE, 48, 8, VARIANTS),
        "
        offsetof(struct odd_command, register_.register_) == 8
        offsetof(struct odd_command, type_.class_) == 16
        offsetof(struct odd_command, type_.class__) == 20
        offsetof(struct odd_command, tag_send.gruf6udfe) == 24
        offsetof(struct odd_command, tag_send_.uint64_t_) == 32
        offsetof(struct odd_command, double_.linux_) == 40
        ODD_COMMAND_TAG_SEND == 2
        ODD_COMMAND_TAG_SEND_ == 3
        ",
    );
}

/// The keywords of C23, C++26 and Rust 2024, and names of the headers' includes.
const KEYWORDS: &str = "_Alignas _Alignof _Atomic _BitInt _Bool _Complex _Decimal128 _Decimal32 _Decimal64 _Generic _Imaginary \
    _Noreturn _Static_assert _Thread_local alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t \
    char32_t char8_t class co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue \
    contract_assert decltype default delete do double dynamic_cast else enum explicit export extern false float for friend goto if \
    inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register \
    reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast struct switch template this \
    thread_local throw true try typedef typeid typename typeof typeof_unqual union unsigned using virtual void volatile wchar_t \
    while xor xor_eq size_t NULL offsetof uint8_t linux unix i386 async await dyn gen loop match move ref self type where yield";

#[test]
fn every_keyword_can_be_the_name_of_a_field_and_of_a_message() {
    // Kept in statics, so that leak checkers do not report them.
    static FIELDS: LazyLock<Vec<Field>> = LazyLock::new(|| {
        let names = KEYWORDS.split_whitespace().enumerate();
        names.map(|(i, name)| plain(name, u8::TYPE, 8 + i)).collect()
    });
    static VARIANTS: LazyLock<Vec<Variant>> = LazyLock::new(|| {
        KEYWORDS
            .split_whitespace()
            .zip(0..)
            .map(|(name, tag)| variant(name, tag, &FIELDS))
            .collect()
    });
    let len = 8 + FIELDS.len().next_multiple_of(8);
    holds(&commands(u64::TYPE, len, 8, &VARIANTS), "ODD_COMMAND_CLASS > 0");
}

#[test]
fn a_plugin_with_a_name_of_its_own_kind_has_a_header() {
    for name in ["2-fast.plugin", "class", "grün", "a\"b\\c", "_x", "UPPER"] {
        if let Err(complaints) = check(&Protocol { name, ..SANDBOX }, "") {
            panic!("{complaints}");
        }
    }
}

#[test]
fn no_documentation_ends_its_comment() {
    const DOCS: &str = " Ends */ int broken; /* here.\n /* nested */ ??/\n // and this \\\n\n `a/*b*/c` \u{202e}\u{0}\n*/";
    const FIELDS: &[Field] = &[Field { docs: DOCS, ..plain("x", u64::TYPE, 8) }];
    const VARIANTS: &[Variant] = &[Variant { docs: DOCS, ..variant("A", 0, FIELDS) }];
    let protocol = commands(u64::TYPE, 16, 8, VARIANTS);
    holds(
        &Protocol { commands: Messages { docs: DOCS, ..protocol.commands }, ..protocol },
        "ODD_COMMAND_A == 0",
    );
}

#[repr(C)]
struct Natural {
    a: u8,
    b: [[f32; 2]; 3],
    c: f64,
    d: i16,
}

#[repr(C, packed)]
struct Packed {
    a: u32,
    b: u64,
    c: [i16; 3],
}

#[repr(C, align(32))]
struct Aligned {
    a: u16,
}

#[repr(C)]
struct Hollow {
    a: u8,
    b: [u64; 0],
    c: u8,
}

macro_rules! structure {
    ($name:ident { $($field:ident: $ty:ty),* }) => {
        Type::Struct(&Struct {
            name: stringify!($name),
            docs: "",
            size: size_of::<$name>(),
            align: align_of::<$name>(),
            fields: &[$(StructField {
                name: stringify!($field),
                docs: "",
                offset: offset_of!($name, $field),
                ty: <$ty as Described>::TYPE,
            }),*],
        })
    };
}

const NATURAL: Type = structure!(Natural { a: u8, b: [[f32; 2]; 3], c: f64, d: i16 });
const PACKED: Type = structure!(Packed { a: u32, b: u64, c: [i16; 3] });
const ALIGNED: Type = structure!(Aligned { a: u16 });
const HOLLOW: Type = structure!(Hollow { a: u8, b: [u64; 0], c: u8 });

#[test]
fn every_structure_lies_in_c_as_rustc_lays_it() {
    const FIELDS: &[Field] = &[
        plain("natural", NATURAL, 32),
        plain("packed", PACKED, 80),
        plain("hollow", HOLLOW, 104),
        plain("aligned", Type::Array { of: &ALIGNED, len: 2 }, 128),
        plain("wide", Type::Opaque { name: "u128", size: 16, align: 16 }, 192),
        plain("nothing", Type::Opaque { name: "()", size: 0, align: 1 }, 208),
        plain("bytes", Type::Opaque { name: "a::Key<[u8; 3]>", size: 3, align: 1 }, 208),
    ];
    const VARIANTS: &[Variant] = &[variant("A", 0, FIELDS)];
    assert_eq!([size_of::<Natural>(), size_of::<Packed>(), size_of::<Aligned>()], [48, 18, 32]);
    let facts = format!(
        "
        sizeof(struct odd_natural) == {} && offsetof(struct odd_natural, b) == {}
        offsetof(struct odd_natural, c) == {} && offsetof(struct odd_natural, d) == {}
        sizeof(struct odd_packed) == {} && offsetof(struct odd_packed, b) == {}
        offsetof(struct odd_packed, c) == {}
        sizeof(struct odd_aligned) == {}
        sizeof(struct odd_hollow) == {} && offsetof(struct odd_hollow, c) == {}
        sizeof(struct odd_u128) == {} && sizeof(struct odd_a_key_u8_3) == 3
        sizeof(struct odd_command) == 224
        offsetof(struct odd_command, a.aligned[1].a) == 160
        offsetof(struct odd_command, a.bytes) == 208
        ",
        size_of::<Natural>(),
        offset_of!(Natural, b),
        offset_of!(Natural, c),
        offset_of!(Natural, d),
        size_of::<Packed>(),
        offset_of!(Packed, b),
        offset_of!(Packed, c),
        size_of::<Aligned>(),
        size_of::<Hollow>(),
        offset_of!(Hollow, c),
        size_of::<u128>(),
    );
    holds(&commands(u8::TYPE, 224, 32, VARIANTS), &facts);
}

#[test]
fn a_field_without_bytes_still_moves_the_others() {
    const FIELDS: &[Field] = &[plain("none", <[u64; 0]>::TYPE, 8), plain("x", u8::TYPE, 8)];
    const VARIANTS: &[Variant] =
        &[variant("A", 0, FIELDS), variant("Empty", 1, &[plain("u", <[u8; 0]>::TYPE, 8)])];
    holds(
        &commands(u8::TYPE, 16, 8, VARIANTS),
        "sizeof(struct odd_command) == 16\noffsetof(struct odd_command, a.x) == 8\nsizeof(struct odd_command_a) == 8",
    );
}

#[test]
fn two_types_of_one_name_get_different_names() {
    const fn pair(ty: Type) -> [StructField; 1] {
        [StructField { name: "odd_pair", docs: "", offset: 0, ty }]
    }
    const fn structure(name: &'static str, size: usize, fields: &'static [StructField]) -> Struct {
        Struct { name, docs: "", size, align: size, fields }
    }
    const SMALL: Type = Type::Struct(&structure("Pair", 1, &pair(u8::TYPE)));
    const LARGE: Type = Type::Struct(&structure("Pair", 8, &pair(u64::TYPE)));
    const COMMAND: Type = Type::Struct(&structure("Command", 8, &pair(LARGE)));
    const FIELDS: &[Field] = &[
        plain("a", SMALL, 8),
        plain("b", LARGE, 16),
        plain("c", SMALL, 24),
        plain("d", COMMAND, 32),
    ];
    const VARIANTS: &[Variant] = &[variant("A", 0, FIELDS)];
    let protocol = commands(u64::TYPE, 40, 8, VARIANTS);
    holds(
        &protocol,
        "
        sizeof(struct odd_pair) == 1
        sizeof(struct odd_pair_) == 8
        sizeof(struct odd_command_) == 8
        sizeof(struct odd_command) == 40
        ",
    );
    assert_eq!(c_header(&protocol).matches("struct odd_pair {").count(), 1);
}

#[test]
fn a_header_that_is_wrong_does_not_compile() {
    const FIELDS: &[Field] = &[plain("x", u64::TYPE, 8)];
    const VARIANTS: &[Variant] = &[variant("A", 0, FIELDS)];
    for (len, union_at) in [(15, 8), (24, 8), (16, 7)] {
        let wrong = commands(u64::TYPE, len, union_at, VARIANTS);
        let checked = check(&wrong, "");
        // C can represent a larger command, but not a smaller one or overlapping fields.
        assert_eq!(checked.is_err(), len != 24, "{len} bytes, union at {union_at}");
    }
}
