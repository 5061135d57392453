//! The binary layout of a description, which generates the methods of writer and reader.

use super::read::{SectionReader, sound};
use super::write::SectionWriter;
use super::{Build, Panic, ReadError};
use crate::describe::{
    Comparison, Condition, Constant, Count, Enum, EnumValue, Field, FieldKind, Given, Messages,
    Payload, Presence, Protocol, Sign, Struct, StructField, Term, Type, Variant,
};

/// Writes a list `[item]`, `Option` `(item?)`, reference `(&item)`, or unhashed `{item}`.
macro_rules! put {
    ($writer:ident, $value:expr, [$item:ident]) => {{
        let list = $value;
        $writer.length(&list.len());
        let mut i = 0;
        while i < list.len() {
            $writer.$item(&list[i]);
            i += 1;
        }
    }};
    ($writer:ident, $value:expr, ($item:ident?)) => {
        match &$value {
            None => $writer.choice(0),
            Some(value) => {
                $writer.choice(1);
                $writer.$item(value);
            }
        }
    };
    ($writer:ident, $value:expr, (&$item:ident)) => {
        $writer.$item($value)
    };
    ($writer:ident, $value:expr, {$item:tt}) => {
        if $writer.is_whole() {
            put!($writer, $value, $item);
        }
    };
    ($writer:ident, $value:expr, $item:ident) => {
        $writer.$item(&$value)
    };
}

/// Reads the output of `put!`.
macro_rules! get {
    ($reader:ident, [$item:ident]) => {
        $reader.list(Self::$item)?
    };
    ($reader:ident, ($item:ident?)) => {
        if $reader.truth()? { Some($reader.$item()?) } else { None }
    };
    ($reader:ident, (&$item:ident)) => {{
        let item = $reader.$item()?;
        // SAFETY: as in `SectionReader::list`.
        let kept = unsafe { $reader.keep(&[item]) };
        &kept[0]
    }};
    ($reader:ident, {$item:tt}) => {
        get!($reader, $item)
    };
    ($reader:ident, $item:ident) => {
        $reader.$item()?
    };
}

/// A structure is its fields, each with its method. [`sound`] checks the result of a read.
macro_rules! structures {
    ($($method:ident: $of:ident { $($field:ident: $how:tt),* } $(=> $sound:ident)?)*) => {
        impl SectionWriter<'_> {$(
            pub(super) const fn $method(&mut self, of: &$of) {
                $(put!(self, of.$field, $how);)*
            }
        )*}

        impl SectionReader<'_> {$(
            pub(super) fn $method(&mut self) -> Result<$of, ReadError> {
                let of = $of { $($field: get!(self, $how)),* };
                $(sound::$sound(&of).map_err(|problem| self.malformed(problem))?;)?
                Ok(of)
            }
        )*}
    };
}

/// A choice is one byte and its contents.
macro_rules! choices {
    ($($method:ident: $of:ident {
        $($number:literal => $variant:ident $(($value:ident: $one:tt))?
            $({ $($field:ident: $how:tt),* })?,)*
        _ => $problem:literal
    } $(=> $sound:ident)?)*) => {
        impl SectionWriter<'_> {$(
            pub(super) const fn $method(&mut self, of: &$of) {
                match of {$(
                    $of::$variant $(($value))? $({ $($field),* })? => {
                        self.choice($number);
                        $(put!(self, *$value, $one);)?
                        $($(put!(self, *$field, $how);)*)?
                    }
                )*}
            }
        )*}

        impl SectionReader<'_> {$(
            pub(super) fn $method(&mut self) -> Result<$of, ReadError> {
                let of = match self.byte()? {
                    $($number => $of::$variant $((get!(self, $one)))?
                        $({ $($field: get!(self, $how)),* })?,)*
                    _ => return Err(self.malformed($problem)),
                };
                $(sound::$sound(&of).map_err(|problem| self.malformed(problem))?;)?
                Ok(of)
            }
        )*}
    };
}

structures! {
    build: Build { kit: text, panic: panic }

    protocol: Protocol { name: text, version: number, commands: messages, notifications: messages }

    messages: Messages {
        name: {text}, docs: docs, tag: ty, len: length, union_at: length, header: [field],
        variants: [variant]
    } => messages

    variant: Variant {
        name: text, docs: docs, tag: number, also: (number?), reply: (text?), fields: [field],
        payloads: [payload]
    }

    field: Field {
        name: text, docs: docs, kind: kind, ty: ty, offset: length, optional: {truth}
    }

    payload: Payload {
        name: text, docs: docs, ty: ty, count: elements, address: (text?), presence: presence,
        constants: [constant], optional: {truth}
    }

    given: Given { text: text, term: {(term?)} }

    condition: Condition { text: text, compares: {(comparison?)} }

    comparison: Comparison { left: term, sign: sign, right: term }

    constant: Constant { name: text, value: (value?) }

    structure: Struct {
        name: text, docs: docs, size: length, align: length, fields: [member]
    } => structure

    member: StructField { name: text, docs: docs, offset: length, ty: ty }

    enumeration: Enum {
        name: text, docs: docs, bytes: length, signed: truth, values: [enum_value]
    } => enumeration

    enum_value: EnumValue { name: text, docs: docs, value: value }
}

choices! {
    panic: Panic {
        0 => Unwind,
        1 => Abort,
        _ => "what a panic does is not known"
    }

    kind: FieldKind {
        0 => Plain,
        1 => Echo,
        2 => Address { of: text },
        3 => Length { of: text },
        4 => Selector { of: text },
        _ => "what a field is for is not known"
    }

    elements: Count {
        0 => Word(path: text),
        1 => Fixed(count: count),
        2 => Given(given: given),
        _ => "how many elements a payload has is not known"
    }

    presence: Presence {
        0 => Always,
        1 => ByAddress,
        2 => Registered,
        3 => When(condition: condition),
        _ => "the condition of a payload is unknown"
    }

    sign: Sign {
        0 => Equal,
        1 => NotEqual,
        2 => Less,
        3 => AtMost,
        4 => More,
        5 => AtLeast,
        _ => "a sign is of no known kind"
    }

    term: Term {
        0 => Number(value: value),
        1 => Field(path: text),
        2 => Length(payload: text),
        3 => Constant(name: text),
        _ => "a part of an expression is of no known kind"
    }

    // Called by `ty`, which counts the nesting depth.
    any_type: Type {
        0 => Int { bytes: length, signed: truth },
        1 => Float { bytes: length },
        2 => Array { of: (&ty), len: count },
        3 => Struct(of: (&structure)),
        4 => Opaque { name: text, size: length, align: length },
        5 => Bool,
        6 => Char,
        7 => Utf8,
        8 => Enum(of: (&enumeration)),
        _ => "a type is of no known kind"
    } => any_type
}
