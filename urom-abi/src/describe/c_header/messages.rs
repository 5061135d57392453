//! The commands or the notifications of a protocol: their tags and their structures.

use heck::{ToShoutySnakeCase, ToSnakeCase};

use super::names::Scope;
use super::structs::{CMember, Structs, constants, extent};
use super::{comments, payloads};
use crate::describe::build::{Extent, align_up};
use crate::describe::{Field, FieldKind, Messages, Variant};

pub(super) struct MessageNames<'a> {
    messages: &'a Messages,
    what: &'static str,
    pub(super) name: String,
    tag: String,
    enumeration: String,
    header: Vec<String>,
    variants: Vec<VariantNames<'a>>,
}

struct VariantNames<'a> {
    variant: &'a Variant,
    tag: String,
    fields: Vec<String>,
    structure: Option<(String, String)>,
}

impl<'a> MessageNames<'a> {
    pub(super) fn new(
        prefix: &str,
        what: &'static str,
        messages: &'a Messages,
        scope: &mut Scope,
    ) -> Self {
        let name = scope.name(&format!("{prefix}_{what}"));
        let enumeration = scope.name(&format!("{name}_type"));
        let mut members = Scope::new(&[&name]);
        let tag = members.name("type");
        let header = messages.header.iter().map(|field| members.name(field.name)).collect();
        let variants = messages.variants.iter().map(|variant| {
            let has_bytes = variant.fields.iter().any(|field| field.ty.size() > 0);
            let snake = variant.name.to_snake_case();
            let structure =
                has_bytes.then(|| (scope.name(&format!("{name}_{snake}")), members.name(&snake)));
            let mut own = Scope::new(&[structure.as_ref().map_or("", |(name, _)| name)]);
            VariantNames {
                variant,
                tag: scope.name(&format!(
                    "{}_{}",
                    name.to_uppercase(),
                    variant.name.to_shouty_snake_case()
                )),
                fields: variant.fields.iter().map(|field| own.name(field.name)).collect(),
                structure,
            }
        });
        let variants = variants.collect();
        MessageNames { messages, what, name, tag, enumeration, header, variants }
    }

    fn tag_of(&self, rust: &str) -> Option<&str> {
        self.variants
            .iter()
            .find(|names| names.variant.name == rust)
            .map(|names| names.tag.as_str())
    }

    /// Returns the C name of a Rust field. A member may follow after a dot.
    fn field_name(&self, names: &VariantNames<'_>, path: &str) -> String {
        let (rust, rest) = path.split_once('.').map_or((path, ""), |(first, rest)| (first, rest));
        let own = names.variant.fields.iter().zip(&names.fields);
        let all = own.chain(self.messages.header.iter().zip(&self.header));
        let c =
            all.into_iter().find(|(field, _)| field.name == rust).map_or(rust, |(_, c)| c.as_str());
        if rest.is_empty() { c.to_owned() } else { format!("{c}.{rest}") }
    }

    pub(super) fn tags(&self, answers: Option<&MessageNames<'_>>, structs: &Structs) -> String {
        let tags = self.variants.iter().map(|names| {
            let Variant { docs, tag, also, reply, .. } = *names.variant;
            let reply = reply.map(|reply| {
                let tag = answers.and_then(|answers| answers.tag_of(reply)).unwrap_or(reply);
                vec![format!("Answered by {tag}.")]
            });
            let also = also.map(|also| {
                vec![format!("A host takes {also} for it too when it is the answer that is due.")]
            });
            let docs = comments::paragraphs([
                comments::lines(docs),
                payloads::list(names.variant, structs, |path| self.field_name(names, path)),
                also.unwrap_or_default(),
                reply.unwrap_or_default(),
            ]);
            (docs, names.tag.clone(), tag.into())
        });
        let docs = [format!("The kinds of a {}: its `{}`.", self.what, self.tag)];
        let tags: Vec<_> = tags.collect();
        let variants = self.messages.variants.iter();
        let mut all = variants.flat_map(|variant| [Some(variant.tag), variant.also]).flatten();
        let is_enum = all.all(|tag| i32::try_from(tag).is_ok());
        let mut out = String::new();
        constants(&mut out, &docs, &self.enumeration, &tags, is_enum, false);
        out
    }

    pub(super) fn structs(&self, structs: &mut Structs) {
        let fields = self.messages.variants.iter().flat_map(|variant| variant.fields);
        for field in self.messages.header.iter().chain(fields) {
            structs.plain(&field.ty);
        }
        for payload in self.messages.variants.iter().flat_map(|variant| variant.payloads) {
            structs.plain(&payload.ty);
        }
        let mut union = Vec::new();
        let mut space = Extent { size: 0, align: 1 };
        for names in &self.variants {
            let own = self.variant(names, structs);
            space = Extent { size: space.size.max(own.size), align: space.align.max(own.align) };
            union.extend(names.structure.clone());
        }
        let docs = format!("Which {} this is.", self.what);
        let mut members = vec![structs.member(&docs, self.tag.clone(), 0, &self.messages.tag)];
        for (field, name) in self.messages.header.iter().zip(&self.header) {
            members.push(self.member(field, name, 0, structs));
        }
        if !union.is_empty() {
            let variants = union.iter().map(|(of, name)| format!("\t\tstruct {of} {name};\n"));
            members.push(CMember {
                docs: vec![format!("The fields of that {}.", self.what)],
                declaration: format!("\tunion {{\n{}\t}};\n", variants.collect::<String>()),
                names: union.into_iter().map(|(_, name)| name).collect(),
                offset: self.messages.union_at,
                extent: Extent { size: align_up(space.size, space.align), ..space },
            });
        }
        let own = [(0, &self.messages.tag)].into_iter();
        let own = own.chain(self.messages.header.iter().map(|field| (field.offset, &field.ty)));
        let align = extent(0, own).align.max(space.align);
        let docs = comments::paragraphs([
            comments::lines(self.messages.docs),
            vec![format!(
                "Every {} begins with all of this, {} bytes.",
                self.what, self.messages.len
            )],
        ]);
        structs.structure(&docs, &self.name, Extent { size: self.messages.len, align }, &members);
    }

    fn variant(&self, names: &VariantNames<'_>, structs: &mut Structs) -> Extent {
        let start = self.messages.union_at;
        let own = extent(start, names.variant.fields.iter().map(|field| (field.offset, &field.ty)));
        if let Some((name, _)) = &names.structure {
            let fields = names.variant.fields.iter().zip(&names.fields);
            let members: Vec<CMember> =
                fields.map(|(field, name)| self.member(field, name, start, structs)).collect();
            structs.structure(&[format!("The fields of {}.", names.tag)], name, own, &members);
        }
        own
    }

    fn member(&self, field: &Field, name: &str, start: usize, structs: &Structs) -> CMember {
        let role = match field.kind {
            FieldKind::Plain => vec![],
            FieldKind::Echo if self.what == "command" => vec!["The answer repeats it.".into()],
            FieldKind::Echo => vec!["Repeats the command's.".into()],
            FieldKind::Address { of } => vec![format!("The address word of payload `{of}`.")],
            FieldKind::Length { of } => vec![format!("The length of payload `{of}`.")],
            FieldKind::Selector { of } => vec![format!(
                "0 when payload `{of}` is inline, else the registered memory that it lies in."
            )],
        };
        let offset = field.offset.saturating_sub(start);
        let mut member = structs.member(field.docs, name.to_owned(), offset, &field.ty);
        member.docs = comments::paragraphs([member.docs, role]);
        member
    }
}
