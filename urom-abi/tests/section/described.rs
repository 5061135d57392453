//! Any description that can be written.

use std::any::Any;
use std::sync::Mutex;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use urom_abi::describe::section::{Build, Panic};
use urom_abi::describe::{
    Comparison, Condition, Constant, Count, Enum, EnumValue, Field, FieldKind, Given, Messages,
    Payload, Presence, Protocol, Sign, Struct, StructField, Term, Type, Variant,
};

/// What stays for the process, in reach of whoever looks for leaks.
static KEPT: Mutex<Vec<&(dyn Any + Send + Sync)>> = Mutex::new(Vec::new());

fn kept<T: Send + Sync + 'static>(value: T) -> &'static T {
    let value: &'static T = Box::leak(Box::new(value));
    KEPT.lock().unwrap().push(value);
    value
}

fn text() -> impl Strategy<Value = &'static str> {
    let text = prop_oneof![Just(String::new()), "[a-zA-Z_]{1,8}", "\\PC{0,12}", " [ -~\\n]{0,40}"];
    text.prop_map(|text| kept(text).as_str())
}

fn list<T: Send + Sync + std::fmt::Debug + 'static>(
    item: impl Strategy<Value = T>,
) -> impl Strategy<Value = &'static [T]> {
    vec(item, 0..4).prop_map(|items| kept(items).as_slice())
}

fn unsigned() -> impl Strategy<Value = Type> {
    prop::sample::select(&[1, 2, 4, 8]).prop_map(|bytes| Type::Int { bytes, signed: false })
}

fn align() -> impl Strategy<Value = usize> {
    (0u32..8).prop_map(|bit| 1 << bit)
}

fn enumeration() -> impl Strategy<Value = Type> {
    let integer = (prop::sample::select(&[1usize, 2, 4, 8]), any::<bool>());
    let values = |(bytes, signed): (usize, bool)| {
        let bits = 8 * bytes as u32;
        let range = if signed { -(1i128 << (bits - 1))..1 << (bits - 1) } else { 0..1 << bits };
        let value =
            (text(), text(), range).prop_map(|(name, docs, value)| EnumValue { name, docs, value });
        (text(), text(), list(value)).prop_map(move |(name, docs, values)| {
            Type::Enum(kept(Enum { name, docs, bytes, signed, values }))
        })
    };
    integer.prop_flat_map(values)
}

fn any_type() -> impl Strategy<Value = Type> {
    let leaf = prop_oneof![
        prop::sample::select(&[Type::Bool, Type::Char, Type::Utf8]),
        enumeration(),
        unsigned(),
        prop::sample::select(&[1, 2, 4, 8]).prop_map(|bytes| Type::Int { bytes, signed: true }),
        prop::sample::select(&[4, 8]).prop_map(|bytes| Type::Float { bytes }),
        (text(), 0usize..4096, align()).prop_map(|(name, size, align)| Type::Opaque {
            name,
            size,
            align
        }),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let member = (text(), text(), 0usize..4096, inner.clone())
            .prop_map(|(name, docs, offset, ty)| StructField { name, docs, offset, ty });
        let structure = (text(), text(), 0usize..4096, align(), list(member)).prop_map(
            |(name, docs, size, align, fields)| {
                Type::Struct(kept(Struct { name, docs, size, align, fields }))
            },
        );
        let array = (inner, 0usize..9).prop_map(|(of, len)| Type::Array { of: kept(of), len });
        prop_oneof![structure, array]
    })
}

fn field() -> impl Strategy<Value = Field> {
    let kind = prop_oneof![
        Just(FieldKind::Plain),
        Just(FieldKind::Echo),
        text().prop_map(|of| FieldKind::Address { of }),
        text().prop_map(|of| FieldKind::Length { of }),
        text().prop_map(|of| FieldKind::Selector { of }),
    ];
    (text(), text(), kind, any_type(), 0usize..4096, any::<bool>()).prop_map(
        |(name, docs, kind, ty, offset, optional)| Field { name, docs, kind, ty, offset, optional },
    )
}

fn payload() -> impl Strategy<Value = Payload> {
    let count = prop_oneof![
        text().prop_map(Count::Word),
        any::<usize>().prop_map(Count::Fixed),
        (text(), option::of(term())).prop_map(|(text, term)| Count::Given(Given { text, term })),
    ];
    let value = prop_oneof![any::<u64>().prop_map(i128::from), (i64::MIN..0).prop_map(i128::from)];
    let constant = (text(), option::of(value)).prop_map(|(name, value)| Constant { name, value });
    let expressions = (presence(), list(constant));
    (text(), text(), any_type(), count, option::of(text()), expressions, any::<bool>()).prop_map(
        |(name, docs, ty, count, address, (presence, constants), optional)| Payload {
            name,
            docs,
            ty,
            count,
            address,
            presence,
            constants,
            optional,
        },
    )
}

fn term() -> impl Strategy<Value = Term> {
    prop_oneof![
        any::<u64>().prop_map(|number| Term::Number(number.into())),
        (i64::MIN..0).prop_map(|number| Term::Number(number.into())),
        text().prop_map(Term::Field),
        text().prop_map(Term::Length),
        text().prop_map(Term::Constant),
    ]
}

fn presence() -> impl Strategy<Value = Presence> {
    let sign = prop_oneof![
        Just(Sign::Equal),
        Just(Sign::NotEqual),
        Just(Sign::Less),
        Just(Sign::AtMost),
        Just(Sign::More),
        Just(Sign::AtLeast),
    ];
    let comparison =
        (term(), sign, term()).prop_map(|(left, sign, right)| Comparison { left, sign, right });
    let condition =
        (text(), option::of(comparison)).prop_map(|(text, compares)| Condition { text, compares });
    prop_oneof![
        Just(Presence::Always),
        Just(Presence::ByAddress),
        Just(Presence::Registered),
        condition.prop_map(Presence::When),
    ]
}

fn variant() -> impl Strategy<Value = Variant> {
    let also = option::of(any::<u64>());
    (text(), text(), any::<u64>(), also, option::of(text()), list(field()), list(payload()))
        .prop_map(|(name, docs, tag, also, reply, fields, payloads)| Variant {
            name,
            docs,
            tag,
            also,
            reply,
            fields,
            payloads,
        })
}

fn messages() -> impl Strategy<Value = Messages> {
    (text(), text(), unsigned(), 0usize..8192, 0usize..4096, list(field()), list(variant()))
        .prop_map(|(name, docs, tag, len, union_at, header, variants)| Messages {
            name,
            docs,
            tag,
            len,
            union_at,
            header,
            variants,
        })
}

/// A protocol.
pub(crate) fn any_protocol() -> impl Strategy<Value = &'static Protocol> {
    (text(), any::<u64>(), messages(), messages()).prop_map(
        |(name, version, commands, notifications)| {
            kept(Protocol { name, version, commands, notifications })
        },
    )
}

/// A build.
pub(crate) fn any_build() -> impl Strategy<Value = Build> {
    let panic = prop::sample::select(&[Panic::Unwind, Panic::Abort]);
    (text(), panic).prop_map(|(kit, panic)| Build { kit, panic })
}
