//! What a description's bytes hold, in order, stated once: the writer's and the reader's methods
//! for every structure and every choice are made of it.

use super::read::Reader;
use super::write::Writer;
use super::{Build, Panic, ReadError};
use crate::describe::{
    Condition, Constant, Count, Enum, EnumValue, Field, FieldKind, Given, Messages, Payload,
    Presence, Protocol, Struct, StructField, Variant,
};

/// Writes one field: `[item]` is a list, `(item?)` an `Option`, and `{item}` does not count for the
/// fingerprint.
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
    ($writer:ident, $value:expr, {$item:tt}) => {
        if $writer.is_whole() {
            put!($writer, $value, $item);
        }
    };
    ($writer:ident, $value:expr, $item:ident) => {
        $writer.$item(&$value)
    };
}

/// Reads what `put!` writes.
macro_rules! get {
    ($reader:ident, [$item:ident]) => {
        $reader.list(Self::$item)?
    };
    ($reader:ident, ($item:ident?)) => {
        if $reader.truth()? { Some($reader.$item()?) } else { None }
    };
    ($reader:ident, {$item:tt}) => {
        get!($reader, $item)
    };
    ($reader:ident, $item:ident) => {
        $reader.$item()?
    };
}

/// A structure is its fields; each is written and read by the method behind it.
macro_rules! structures {
    ($($method:ident: $of:ident { $($field:ident: $how:tt),* })*) => {
        impl Writer<'_> {$(
            pub(super) const fn $method(&mut self, of: &$of) {
                $(put!(self, of.$field, $how);)*
            }
        )*}

        impl Reader<'_> {$(
            pub(super) fn $method(&mut self) -> Result<$of, ReadError> {
                Ok($of { $($field: get!(self, $how)),* })
            }
        )*}
    };
}

/// A choice is one byte, and what belongs to it.
macro_rules! choices {
    ($($method:ident: $of:ident {
        $($number:literal => $variant:ident $({ $field:tt: $how:tt })?,)*
        _ => $problem:literal
    })*) => {
        impl Writer<'_> {$(
            pub(super) const fn $method(&mut self, of: &$of) {
                match of {$(
                    $of::$variant { $($field: value)? } => {
                        self.choice($number);
                        $(put!(self, *value, $how);)?
                    }
                )*}
            }
        )*}

        impl Reader<'_> {$(
            pub(super) fn $method(&mut self) -> Result<$of, ReadError> {
                Ok(match self.choice()? {
                    $($number => $of::$variant { $($field: get!(self, $how))? },)*
                    _ => return Err(self.malformed($problem)),
                })
            }
        )*}
    };
}

structures! {
    build: Build { kit: text, panic: panic }

    protocol: Protocol { name: text, version: number, commands: messages, notifications: messages }

    messages: Messages {
        name: {text}, docs: docs, tag: tag, len: length, union_at: length, header: [field],
        variants: [variant]
    }

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

    condition: Condition { text: text, compares: {compares} }

    constant: Constant { name: text, value: known_number }

    structure: Struct { name: text, docs: docs, size: length, align: align, fields: [member] }

    member: StructField { name: text, docs: docs, offset: length, ty: ty }

    enumeration: Enum { name: text, docs: docs, bytes: bytes, signed: sign, values: [value] }

    value: EnumValue { name: text, docs: docs, value: enum_number }
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
        0 => Word { 0: text },
        1 => Fixed { 0: count },
        2 => Given { 0: given },
        _ => "how many elements a payload has is not known"
    }

    presence: Presence {
        0 => Always,
        1 => ByAddress,
        2 => Registered,
        3 => When { 0: condition },
        _ => "what says that a payload is there is not known"
    }
}
