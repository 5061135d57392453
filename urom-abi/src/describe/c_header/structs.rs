//! C structures of a given layout, with assertions of that layout.

use std::fmt::Write as _;

use heck::{ToShoutySnakeCase, ToSnakeCase};

use super::comments;
use super::names::{Scope, identifier};
use crate::describe::build::{Extent, align_up};
use crate::describe::{Enum, Struct, Type};

pub(super) struct CMember {
    pub(super) docs: Vec<String>,
    /// Several for an anonymous union.
    pub(super) names: Vec<String>,
    pub(super) offset: usize,
    pub(super) extent: Extent,
    pub(super) declaration: String,
}

pub(super) struct Structs {
    pub(super) out: String,
    pub(super) scope: Scope,
    prefix: String,
    assert: String,
    known: Vec<(Type, String)>,
    pub(super) has_bool: bool,
}

impl Structs {
    /// All names get `prefix`; `assert` is the macro for compile-time assertions.
    pub(super) fn new(prefix: &str, assert: &str, scope: Scope) -> Structs {
        Structs {
            out: String::new(),
            scope,
            prefix: prefix.into(),
            assert: assert.into(),
            known: Vec::new(),
            has_bool: false,
        }
    }

    /// [`plain`](Self::plain) writes the structures of `ty` first.
    fn declaration(&self, ty: &Type, name: &str) -> String {
        match *ty {
            Type::Array { of, len } => self.declaration(of, &format!("{name}[{len}]")),
            _ => format!("{} {name}", self.type_name(ty)),
        }
    }

    pub(super) fn spelled(&self, ty: &Type) -> String {
        self.declaration(ty, "").trim_end().to_owned()
    }

    fn type_name(&self, ty: &Type) -> String {
        match *ty.element() {
            Type::Int { bytes, signed } | Type::Enum(&Enum { bytes, signed, .. }) => {
                format!("{}int{}_t", if signed { "" } else { "u" }, 8 * bytes)
            }
            Type::Bool => "bool".into(),
            Type::Char => "uint32_t".into(),
            Type::Utf8 => "char".into(),
            Type::Float { bytes: 4 } => "float".into(),
            Type::Float { .. } => "double".into(),
            _ => format!("struct {}", self.name_of(ty)),
        }
    }

    fn name_of(&self, ty: &Type) -> &str {
        self.known.iter().find(|(known, _)| known == ty.element()).map_or("", |(_, name)| name)
    }

    pub(super) fn member(&self, docs: &str, name: String, offset: usize, ty: &Type) -> CMember {
        // Properties that the C type does not express.
        let remark = match ty.element() {
            Type::Enum(_) => vec![format!("A value of `{}`.", self.name_of(ty))],
            Type::Char => vec!["A Unicode scalar value.".to_owned()],
            _ => Vec::new(),
        };
        CMember {
            docs: comments::paragraphs([comments::lines(docs), remark]),
            declaration: format!("\t{};\n", self.declaration(ty, &name)),
            names: vec![name],
            offset,
            extent: Extent { size: ty.size(), align: ty.align().max(1) },
        }
    }

    pub(super) fn plain(&mut self, ty: &Type) {
        let ty = ty.element();
        let known = self.known.iter().any(|(known, _)| known == ty);
        match *ty {
            Type::Struct(of) if !known && of.size > 0 => self.plain_struct(ty, of),
            Type::Opaque { name, size, align } if !known && size > 0 => {
                let c_name = self.known_as(ty, identifier(name).trim_matches('_'));
                comments::write(&mut self.out, "", &[format!("The bytes of Rust's `{name}`.")]);
                _ = writeln!(
                    self.out,
                    "struct {c_name} {{\n\tuint8_t bytes[{size}];\n}} __attribute__((aligned({align})));"
                );
                self.assert_extent(&c_name, size);
                self.out.push('\n');
            }
            Type::Enum(of) if !known => self.enumeration(ty, of),
            Type::Bool => self.has_bool = true,
            _ => {}
        }
    }

    /// Writes an enum's values. Members are integers: a C11 enumeration has the size of an `int`.
    fn enumeration(&mut self, ty: &Type, of: &Enum) {
        let c_name = self.known_as(ty, of.name);
        let about = format!("The values of a `{}` of {} bits.", of.name, 8 * of.bytes);
        let docs = comments::paragraphs([comments::lines(of.docs), vec![about]]);
        let values = of.values.iter().map(|value| {
            let name = format!("{}_{}", c_name.to_uppercase(), value.name.to_shouty_snake_case());
            (comments::lines(value.docs), self.scope.name(&name), value.value)
        });
        let values: Vec<_> = values.collect();
        let is_enum = values.iter().all(|(_, _, value)| i32::try_from(*value).is_ok());
        constants(&mut self.out, &docs, &c_name, &values, is_enum, of.signed);
    }

    fn plain_struct(&mut self, ty: &Type, of: &Struct) {
        of.fields.iter().for_each(|field| self.plain(&field.ty));
        let c_name = self.known_as(ty, of.name);
        let mut scope = Scope::new(&[&c_name]);
        let members = of
            .fields
            .iter()
            .map(|field| self.member(field.docs, scope.name(field.name), field.offset, &field.ty));
        let members = members.collect::<Vec<_>>();
        let docs = comments::lines(of.docs);
        self.structure(&docs, &c_name, Extent { size: of.size, align: of.align }, &members);
    }

    fn known_as(&mut self, ty: &Type, name: &str) -> String {
        let name = self.scope.name(&format!("{}_{}", self.prefix, name.to_snake_case()));
        self.known.push((*ty, name.clone()));
        name
    }

    /// Writes a structure with exactly this layout. Where C's natural layout differs, the structure
    /// is packed and its gaps are members. Zero-sized members, which C lacks, are omitted.
    pub(super) fn structure(
        &mut self,
        docs: &[String],
        name: &str,
        extent: Extent,
        members: &[CMember],
    ) {
        let members: Vec<&CMember> =
            members.iter().filter(|member| member.extent.size > 0).collect();
        let natural = is_natural(extent, &members);
        comments::write(&mut self.out, "", docs);
        _ = writeln!(self.out, "struct {name} {{");
        let mut end = 0;
        for member in &members {
            if !natural {
                self.gap(end, member.offset);
            }
            comments::write(&mut self.out, "\t", &member.docs);
            self.out.push_str(&member.declaration);
            end = member.offset.saturating_add(member.extent.size);
        }
        if natural {
            self.out.push_str("};\n");
        } else {
            self.gap(end, extent.size);
            _ = writeln!(self.out, "}} __attribute__((packed, aligned({})));", extent.align);
        }
        self.assert_extent(name, extent.size);
        for CMember { names, offset, .. } in members {
            for member in names {
                self.assert(&format!("offsetof(struct {name}, {member}) == {offset}"));
            }
        }
        self.out.push('\n');
    }

    /// Writes padding with unique names: [`identifier`] never returns two underscores in a row.
    fn gap(&mut self, end: usize, next: usize) {
        if next > end {
            _ = writeln!(self.out, "\tuint8_t gap__{end}[{}];", next - end);
        }
    }

    fn assert_extent(&mut self, name: &str, size: usize) {
        self.assert(&format!("sizeof(struct {name}) == {size}"));
    }

    fn assert(&mut self, condition: &str) {
        _ = writeln!(self.out, "{}({condition});", self.assert);
    }
}

/// Writes named numbers: an enumeration, or macros where C does not allow an enumeration.
pub(super) fn constants(
    out: &mut String,
    docs: &[String],
    name: &str,
    constants: &[(Vec<String>, String, i128)],
    is_enum: bool,
    signed: bool,
) {
    comments::write(out, "", docs);
    if is_enum {
        _ = writeln!(out, "enum {name} {{");
    }
    for (docs, name, value) in constants {
        comments::write(out, if is_enum { "\t" } else { "" }, docs);
        // C lacks a literal for the smallest number.
        let least = if is_enum { i32::MIN.into() } else { i128::from(i64::MIN) };
        _ = match (is_enum, signed) {
            (true, _) if *value == least => writeln!(out, "\t{name} = -{} - 1,", i32::MAX),
            (true, _) => writeln!(out, "\t{name} = {value},"),
            (false, false) => writeln!(out, "#define {name} UINT64_C({value})"),
            (false, true) if *value == least => {
                writeln!(out, "#define {name} (-INT64_C({}) - 1)", i64::MAX)
            }
            (false, true) => writeln!(out, "#define {name} INT64_C({value})"),
        };
    }
    out.push_str(if is_enum { "};\n\n" } else { "\n" });
}

fn is_natural(extent: Extent, members: &[&CMember]) -> bool {
    let (mut end, mut align) = (0, 1);
    for member in members {
        let own = member.extent;
        if align_up(end, own.align) != member.offset {
            return false;
        }
        end = member.offset.saturating_add(own.size);
        align = align.max(own.align);
    }
    extent == Extent { size: align_up(end, align), align }
}

/// The extent of a structure of these members, with offsets relative to `start`.
pub(super) fn extent<'a>(
    start: usize,
    types: impl IntoIterator<Item = (usize, &'a Type)>,
) -> Extent {
    let (mut end, mut align) = (0, 1);
    for (offset, ty) in types {
        end = offset.saturating_sub(start).saturating_add(ty.size()).max(end);
        align = align.max(ty.align());
    }
    Extent { size: align_up(end, align), align }
}
