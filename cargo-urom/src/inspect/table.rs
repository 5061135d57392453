//! A plugin's file as text.

use std::fmt::Write as _;
use urom_message::plain;

use urom_abi::Quantity;
use urom_abi::describe::section::{Description, Panic};
use urom_abi::describe::{
    Count, Enum, EnumValue, Field, FieldKind, Messages, Payload, Presence, Struct, StructField,
    Type,
};

use crate::description::InspectedFile;
use crate::elf::SYMBOLS;

pub(super) fn file(file: &InspectedFile) -> String {
    let elf = &file.elf;
    let name = file
        .plugin_name()
        .unwrap_or_else(|why| format!("none, because no service takes the file: {why}"));
    let machine = elf.machine_name();
    let mut out = format!("plugin       {}\n", plain(&name));
    let Some(Description { protocol, build }) = file.description else {
        out.push_str(
            "version      what its urom_plugin_get_version returns: `cargo urom check` asks it\n",
        );
        _ = writeln!(out, "machine      {machine}");
        for name in SYMBOLS {
            let there = match elf.export(name) {
                Some(_) => "exported",
                None if elf.sectionless => "not visible: the file lacks sections",
                None => "missing: no service takes the file",
            };
            _ = writeln!(out, "symbol       {name}, {there}");
        }
        for library in &elf.needed {
            _ = writeln!(out, "needs        {}", plain(library));
        }
        return out
            + "
The file does not describe its commands, as plugins in C and ones without this kit's #[urom_plugin]
do not. Their header does. `cargo urom call --protocol FILE.so` takes the commands of another plugin
that speaks the same protocol and describes it, and `--raw` sends bytes.
";
    };
    let panic = match build.panic {
        Panic::Unwind => "unwinds",
        Panic::Abort => "aborts the worker",
    };
    let fingerprint = protocol.fingerprint();
    _ = writeln!(out, "version      {}\nfingerprint  {fingerprint:#018x}", protocol.version);
    _ = writeln!(out, "machine      {machine}");
    _ = writeln!(out, "built with   urom-pdk {}, a panic {panic}", plain(build.kit));
    let mut types = Types::default();
    messages(&mut out, "commands", &protocol.commands, &mut types);
    messages(&mut out, "notifications", &protocol.notifications, &mut types);
    structures(&mut out, types.structs);
    enums(&mut out, types.enums);
    out
}

// Names are not escaped: a description with control characters in a name is refused.

fn messages(out: &mut String, title: &str, of: &Messages, types: &mut Types) {
    let len = Quantity(of.len, "byte");
    _ = writeln!(out, "\n{title}: {len} each without payloads, tag {} at 0", of.tag);
    for variant in of.variants {
        let reply = variant.reply.map(|reply| format!(" -> {reply}")).unwrap_or_default();
        let also = variant.also.map(|also| format!(", also {also}")).unwrap_or_default();
        _ = writeln!(out, "\n  {} = {}{also}{reply}", variant.name, variant.tag);
        for line in first_paragraph(variant.docs) {
            _ = writeln!(out, "    {line}");
        }
        let fields = of.header.iter().chain(variant.fields);
        rows(out, fields.clone().map(row).collect());
        for (number, payload) in (1..).zip(variant.payloads) {
            _ = writeln!(out, "    payload {number}: {}", described(payload));
        }
        fields.for_each(|field| collect(&field.ty, types));
        variant.payloads.iter().for_each(|payload| collect(&payload.ty, types));
    }
}

fn rows(out: &mut String, mut rows: Vec<[String; 5]>) {
    if !rows.is_empty() {
        rows.insert(0, ["at", "bytes", "field", "type", ""].map(str::to_owned));
    }
    let width = |column: usize| {
        rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
    };
    let [at, bytes, name, ty] = [0, 1, 2, 3].map(width);
    for [offset, size, field, kind, note] in &rows {
        line(out, &format!("{offset:>at$}  {size:>bytes$}  {field:<name$}  {kind:<ty$}  {note}"));
    }
}

fn line(out: &mut String, text: &str) {
    _ = writeln!(out, "    {}", text.trim_end());
}

fn row(field: &Field) -> [String; 5] {
    let what = match field.kind {
        FieldKind::Plain if field.optional => "optional".to_owned(),
        FieldKind::Plain => String::new(),
        FieldKind::Echo => "repeated by the answer".to_owned(),
        FieldKind::Address { of } => format!("address word of {of}"),
        FieldKind::Length { of } => format!("length of {of}"),
        FieldKind::Selector { of } => format!("0, or the registered memory of {of}"),
    };
    let (at, size, ty) = (field.offset, field.ty.size(), field.ty);
    let note = with_docs(what, field.docs);
    [at.to_string(), size.to_string(), field.name.to_owned(), ty.to_string(), note]
}

fn described(payload: &Payload) -> String {
    let (one, of) = match payload.ty {
        Type::Int { bytes: 1, signed: false } => ("byte", String::new()),
        Type::Utf8 => ("byte", " of text".to_owned()),
        ty => ("element", format!(" of {ty}")),
    };
    let count = match payload.count {
        Count::Word(word) => format!("{word} {one}s"),
        Count::Fixed(count) => Quantity(count, one).to_string(),
        Count::Given(length) => format!("`{}` {one}s", plain(length.text)),
    };
    let presence = match (payload.presence, payload.address) {
        (Presence::When(condition), _) => format!(", if `{}`", plain(condition.text)),
        (Presence::ByAddress, Some(address)) => format!(", if `{address} != 0`"),
        (Presence::Registered, _) => ", or in registered memory".to_owned(),
        _ => String::new(),
    };
    let optional = if payload.optional { ", optional" } else { "" };
    let what = format!("{}, {count}{of}{presence}{optional}", payload.name);
    with_docs(what, payload.docs)
}

fn with_docs(what: String, docs: &str) -> String {
    let docs = first_sentence(docs);
    match (what.is_empty(), docs.is_empty()) {
        (_, true) => what,
        (true, false) => docs,
        (false, false) => format!("{what}. {docs}"),
    }
}

#[derive(Default)]
struct Types {
    structs: Vec<&'static Struct>,
    enums: Vec<&'static Enum>,
}

fn collect(ty: &Type, types: &mut Types) {
    match *ty {
        Type::Array { of, .. } => collect(of, types),
        Type::Struct(of) if !types.structs.contains(&of) => {
            types.structs.push(of);
            of.fields.iter().for_each(|field| collect(&field.ty, types));
        }
        Type::Enum(of) if !types.enums.contains(&of) => types.enums.push(of),
        _ => {}
    }
}

fn structures(out: &mut String, structs: Vec<&'static Struct>) {
    out.push_str(if structs.is_empty() { "" } else { "\nstructures\n" });
    for of in structs {
        let size = Quantity(of.size, "byte");
        _ = writeln!(out, "\n  {}: {size}, aligned to {}", of.name, of.align);
        for StructField { name, docs, offset, ty } in of.fields {
            line(out, &format!("{offset:>4}  {name}: {ty}  {}", first_sentence(docs)));
        }
    }
}

fn enums(out: &mut String, enums: Vec<&'static Enum>) {
    out.push_str(if enums.is_empty() { "" } else { "\nenums\n" });
    for of in enums {
        _ = writeln!(out, "\n  {}: {}", of.name, Quantity(of.bytes, "byte"));
        for EnumValue { name, docs, value } in of.values {
            line(out, &format!("{value:>4}  {name}  {}", first_sentence(docs)));
        }
    }
}

fn first_paragraph(docs: &str) -> Vec<String> {
    let lines = docs.lines().map(|line| plain(line.trim()));
    lines.skip_while(String::is_empty).take_while(|line| !line.is_empty()).collect()
}

fn first_sentence(docs: &str) -> String {
    let text = first_paragraph(docs).join(" ");
    text.split_once(". ").map_or_else(|| text.clone(), |(sentence, _)| format!("{sentence}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_and_enums_are_listed_once_with_their_parts() {
        const MODE: Type = Type::Enum(&Enum {
            name: "Mode",
            docs: "",
            bytes: 1,
            signed: true,
            values: &[
                EnumValue { name: "Fast", docs: " At once. Or never.", value: 0 },
                EnumValue { name: "Off", docs: "", value: -1 },
            ],
        });
        const STEP: Type = Type::Struct(&Struct {
            name: "Step",
            docs: "",
            size: 2,
            align: 1,
            fields: &[StructField {
                name: "modes",
                docs: "",
                offset: 0,
                ty: Type::Array { of: &MODE, len: 2 },
            }],
        });
        let mut types = Types::default();
        for ty in [STEP, MODE, STEP] {
            collect(&ty, &mut types);
        }
        let mut out = String::new();
        structures(&mut out, types.structs);
        enums(&mut out, types.enums);
        let want = "\nstructures\n\n  Step: 2 bytes, aligned to 1\n       0  modes: [Mode; 2]\n\
                    \nenums\n\n  Mode: 1 byte\n       0  Fast  At once.\n      -1  Off\n";
        assert_eq!(out, want);
    }

    #[test]
    fn documentation_is_cut_to_what_a_line_holds_and_cannot_move_the_cursor() {
        assert_eq!(first_sentence(" One thing. Another.\n\n More."), "One thing.");
        assert_eq!(first_sentence("\n Over\n two lines.\n"), "Over two lines.");
        assert_eq!(first_sentence(" \u{1b}[2J"), "\\u{1b}[2J");
    }
}
