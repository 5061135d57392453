//! A plugin's description, taken from its file. The file is read and never loaded, and may be anybody's.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use urom_abi::describe::section::Description;
use urom_abi::describe::{
    Count, Field, FieldKind, Messages, Payload, Presence, Protocol, Struct, Type, Variant,
};
use urom_service::plugin_elf;

use crate::elf::{ElfFile, SYMBOLS, bytes_of};
use crate::output::{is_plain, plain};

/// How long a message can be, in bytes, before a description of it is taken for damage.
const MOST: usize = 1 << 26;

/// A plugin's file, as far as it can be known without running it.
#[derive(Debug)]
pub(crate) struct PluginFile {
    pub(crate) path: PathBuf,
    pub(crate) elf: ElfFile,
    /// What this kit's macros put into the files they make; `None` for a plugin of another origin.
    pub(crate) description: Option<Description>,
}

impl PluginFile {
    /// Reads a file.
    ///
    /// # Errors
    /// When there is none, when it is no shared object, or its description is damaged.
    pub(crate) fn look(path: &Path) -> Result<PluginFile> {
        let shown = path.display();
        let elf = ElfFile::read(&bytes_of(path)?)
            .map_err(|why| anyhow!("{shown} is no plugin: {why}"))?;
        let description = elf.description.clone().transpose();
        let description =
            description.map_err(|why| anyhow!("{shown} cannot be understood: {why}"))?;
        Ok(PluginFile { path: path.to_owned(), description, elf })
    }

    /// Which function of a plugin the file has not, when nothing in it says that it is one.
    pub(crate) fn missing(&self) -> Option<&'static str> {
        let known = self.description.is_some() || self.elf.sectionless;
        SYMBOLS.into_iter().find(|name| !known && self.elf.export(name).is_none())
    }

    /// What a service calls the plugin.
    ///
    /// # Errors
    /// A service passes over a file of this name; why.
    pub(crate) fn plugin_name(&self) -> Result<String, String> {
        plugin_elf::plugin_name(
            &self.path,
            self.description.map(|description| description.protocol.name),
        )
    }

    /// The description.
    ///
    /// # Errors
    /// A sentence with what to do when there is none.
    pub(crate) fn described(&self) -> Result<Description> {
        if let Some(description) = self.description {
            return Ok(description);
        }
        bail!(
            "{} does not describe its commands, as plugins in C or without this kit's #[urom_plugin] do not: name a \
             plugin of the same protocol that does with --protocol FILE.so, or give the command's bytes with --raw",
            self.path.display()
        )
    }
}

/// Refuses what no macro writes: what would make this program ask for more memory than any message takes or write outside of
/// one, and names that would do something to a terminal or to a C header.
///
/// # Errors
/// A sentence on what is wrong.
pub(crate) fn sane(protocol: &Protocol) -> Result<(), String> {
    for messages in [&protocol.commands, &protocol.notifications] {
        let fits = |field: &Field| {
            field.offset.checked_add(field.ty.size()).is_some_and(|end| end <= messages.len)
        };
        let fields = messages
            .header
            .iter()
            .chain(messages.variants.iter().flat_map(|variant| variant.fields));
        let payloads = messages.variants.iter().flat_map(|variant| variant.payloads);
        let small = payloads.clone().all(|payload| {
            let count = if let Count::Fixed(count) = payload.count { count.max(1) } else { 1 };
            payload.ty.size().checked_mul(count).is_some_and(|bytes| bytes <= MOST) && count <= MOST
        });
        let Messages { name, len, tag, .. } = messages;
        if *len > MOST || tag.size() > *len || !small || !fields.clone().all(fits) {
            return Err(format!(
                "its description of {} says what no message can be; build the plugin anew",
                plain(name)
            ));
        }
    }
    match names(protocol).into_iter().find(|name| !is_plain(name)) {
        Some(name) => Err(format!(
            "its description has the name `{}`, which nothing in Rust can have; build the plugin anew",
            plain(name)
        )),
        None => Ok(()),
    }
}

/// Every name in a description, but for texts: documentation, and expressions in Rust.
fn names(protocol: &Protocol) -> Vec<&'static str> {
    let mut names = vec![protocol.name];
    for of in [&protocol.commands, &protocol.notifications] {
        names.push(of.name);
        of.header.iter().for_each(|field| names_of_field(field, &mut names));
        for Variant { name, reply, fields, payloads, .. } in of.variants {
            names.push(name);
            names.extend(reply);
            fields.iter().for_each(|field| names_of_field(field, &mut names));
            for Payload { name, ty, count, address, .. } in *payloads {
                names.push(name);
                names.extend(address);
                if let Count::Word(word) = count {
                    names.push(word);
                }
                names_of_type(ty, &mut names);
            }
        }
    }
    names
}

fn names_of_field(field: &Field, names: &mut Vec<&'static str>) {
    names.push(field.name);
    match field.kind {
        FieldKind::Plain | FieldKind::Echo => {}
        FieldKind::Address { of } | FieldKind::Length { of } | FieldKind::Selector { of } => {
            names.push(of)
        }
    }
    names_of_type(&field.ty, names);
}

/// The depth of types is bounded by whoever read them.
fn names_of_type(ty: &Type, names: &mut Vec<&'static str>) {
    match *ty {
        Type::Int { .. } | Type::Float { .. } | Type::Bool | Type::Char | Type::Utf8 => {}
        Type::Enum(of) => {
            names.push(of.name);
            names.extend(of.values.iter().map(|value| value.name));
        }
        Type::Array { of, .. } => names_of_type(of, names),
        Type::Opaque { name, .. } => names.push(name),
        Type::Struct(Struct { name, fields, .. }) => {
            names.push(name);
            for field in *fields {
                names.push(field.name);
                names_of_type(&field.ty, names);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORD: Type = Type::Int { bytes: 8, signed: false };
    const FIELD: Field = Field {
        name: "data",
        docs: "",
        kind: FieldKind::Plain,
        ty: WORD,
        offset: 8,
        optional: false,
    };
    const PAYLOAD: Payload = Payload {
        name: "rest",
        docs: "",
        ty: WORD,
        count: Count::Fixed(1),
        address: None,
        presence: Presence::Always,
        constants: &[],
        optional: false,
    };

    /// Messages with one field and one payload.
    fn messages(field: Field, payload: Payload) -> Messages {
        let variant = Variant {
            name: "Only",
            docs: "",
            tag: 0,
            also: None,
            reply: None,
            fields: Box::leak(Box::new([field])),
            payloads: Box::leak(Box::new([payload])),
        };
        let variants = Box::leak(Box::new([variant]));
        Messages {
            name: "Command",
            docs: "",
            tag: WORD,
            len: 16,
            union_at: 8,
            header: &[],
            variants,
        }
    }

    fn verdict(commands: Messages) -> Result<(), String> {
        let notifications = messages(FIELD, PAYLOAD);
        sane(&Protocol { name: "worker_only", version: 1, commands, notifications })
    }

    #[test]
    fn what_macros_write_is_sane() {
        assert_eq!(verdict(messages(FIELD, PAYLOAD)), Ok(()));
        for protocol in [
            <graph_protocol::Protocol as urom_abi::protocol::Protocol>::DESCRIPTION,
            <sandbox_protocol::Protocol as urom_abi::protocol::Protocol>::DESCRIPTION,
        ] {
            assert_eq!(sane(protocol), Ok(()));
        }
    }

    #[test]
    fn sizes_that_no_message_can_have_are_refused() {
        let huge = Type::Array { of: &WORD, len: MOST };
        let hostile = [
            Messages { len: MOST + 1, ..messages(FIELD, PAYLOAD) },
            Messages { len: usize::MAX, ..messages(FIELD, PAYLOAD) },
            Messages {
                len: 7,
                ..messages(
                    Field { offset: 0, ty: Type::Int { bytes: 1, signed: false }, ..FIELD },
                    PAYLOAD,
                )
            },
            messages(Field { offset: 9, ..FIELD }, PAYLOAD),
            messages(Field { offset: usize::MAX, ..FIELD }, PAYLOAD),
            messages(Field { ty: huge, ..FIELD }, PAYLOAD),
            Messages {
                header: Box::leak(Box::new([Field { offset: 16, ..FIELD }])),
                ..messages(FIELD, PAYLOAD)
            },
            messages(FIELD, Payload { ty: huge, ..PAYLOAD }),
            messages(FIELD, Payload { count: Count::Fixed(MOST), ..PAYLOAD }),
            messages(FIELD, Payload { count: Count::Fixed(usize::MAX), ..PAYLOAD }),
            messages(
                FIELD,
                Payload {
                    count: Count::Fixed(usize::MAX),
                    ty: Type::Array { of: &WORD, len: 0 },
                    ..PAYLOAD
                },
            ),
        ];
        for commands in hostile {
            let why = verdict(commands).expect_err("it is not sane");
            assert!(why.contains("Command says what no message can be"), "{commands:?}: {why}");
        }
    }

    #[test]
    fn names_that_would_move_a_cursor_or_end_a_line_are_refused_wherever_they_stand() {
        const BAD: &str = "a\u{1b}[2J";
        const BAD_STRUCT: Struct = Struct { name: "S", docs: "", size: 0, align: 1, fields: &[] };
        let structure = |of: Struct| {
            messages(Field { ty: Type::Struct(Box::leak(Box::new(of))), ..FIELD }, PAYLOAD)
        };
        let member =
            urom_abi::describe::StructField { name: "a\nb", docs: "", offset: 0, ty: WORD };
        let opaque = Type::Opaque { name: "\u{9b}", size: 0, align: 1 };
        let hostile = [
            Messages { name: BAD, ..messages(FIELD, PAYLOAD) },
            messages(Field { name: BAD, ..FIELD }, PAYLOAD),
            messages(Field { name: "a\u{202e}b", ..FIELD }, PAYLOAD),
            messages(Field { kind: FieldKind::Length { of: BAD }, ..FIELD }, PAYLOAD),
            messages(FIELD, Payload { name: BAD, ..PAYLOAD }),
            messages(FIELD, Payload { address: Some(BAD), ..PAYLOAD }),
            messages(FIELD, Payload { count: Count::Word(BAD), ..PAYLOAD }),
            messages(
                FIELD,
                Payload { ty: Type::Array { of: Box::leak(Box::new(opaque)), len: 1 }, ..PAYLOAD },
            ),
            structure(Struct { name: BAD, ..BAD_STRUCT }),
            structure(Struct { fields: Box::leak(Box::new([member])), ..BAD_STRUCT }),
        ];
        for commands in hostile {
            let why = verdict(commands).expect_err("it is not sane");
            assert!(
                why.contains("which nothing in Rust can have") && is_plain(&why),
                "{commands:?}: {why}"
            );
        }
    }
}
