//! What a payload's keys and its type mean together: where its words are, what counts it, and when
//! it is there.

use proc_macro2::{Ident, Literal};
use syn::{Expr, ExprLit, GenericArgument, Lit, PathArguments, PathSegment, Type, parse_quote};

use super::{Addr, Field, Len, Variant};

/// What the spelling of a type says of a payload.
pub(crate) struct Shape<'a> {
    /// The type without its `Option`.
    pub(crate) inner: &'a Type,
    /// Whether there is one.
    pub(crate) option: bool,
    pub(crate) form: Form<'a>,
}

/// The forms that a payload can have.
#[derive(Clone, Copy)]
pub(crate) enum Form<'a> {
    /// `&'a [u8]`, with the type of its elements.
    Slice(&'a Type),
    /// `&'a [u8; N]`, with the type of its elements.
    Array(&'a Type),
    /// `&'a str`.
    Str,
    /// `Elements<'a, T>`.
    Elements,
    /// `Data<'a>`.
    Data,
    /// `Payload` or `Payload<T>`.
    Owned,
    /// `Received`.
    Received,
    /// Some other name.
    Other,
}

impl Form<'_> {
    /// Whether it is one that a command borrows.
    pub(crate) fn is_borrowed(self) -> bool {
        matches!(self, Form::Slice(_) | Form::Array(_) | Form::Str | Form::Elements | Form::Data)
    }

    /// Whether it is one that a notification owns.
    pub(crate) fn is_owned(self) -> bool {
        matches!(self, Form::Owned | Form::Received)
    }

    /// Whether it says itself if bytes follow, as inline or registered memory.
    pub(crate) fn is_two_armed(self) -> bool {
        matches!(self, Form::Data | Form::Received)
    }
}

impl<'a> Shape<'a> {
    pub(crate) fn of(ty: &'a Type) -> Shape<'a> {
        let ty = plainly(ty);
        match last_segment(ty).filter(|last| last.ident == "Option").and_then(only_type) {
            Some(inner) => Shape { inner, option: true, form: form(inner) },
            None => Shape { inner: ty, option: false, form: form(ty) },
        }
    }

    /// The types of the elements that the spelling names.
    pub(crate) fn element(&self) -> Option<&'a Type> {
        match self.form {
            Form::Slice(element) | Form::Array(element) => Some(element),
            Form::Elements | Form::Owned => last_segment(self.inner).and_then(only_type),
            Form::Str | Form::Data | Form::Received | Form::Other => None,
        }
    }
}

fn form(ty: &Type) -> Form<'_> {
    let ty = plainly(ty);
    if let Type::Reference(reference) = ty
        && reference.mutability.is_none()
    {
        return match plainly(&reference.elem) {
            Type::Slice(slice) => Form::Slice(&slice.elem),
            Type::Array(array) => Form::Array(&array.elem),
            elem if last_segment(elem).is_some_and(|last| last.ident == "str") => Form::Str,
            _ => Form::Other,
        };
    }
    let Some(last) = last_segment(ty) else { return Form::Other };
    match last.ident.to_string().as_str() {
        "Elements" => Form::Elements,
        "Data" => Form::Data,
        "Payload" => Form::Owned,
        "Received" => Form::Received,
        _ => Form::Other,
    }
}

/// The type without the groups that a macro leaves around it.
pub(crate) fn plainly(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => plainly(&group.elem),
        Type::Paren(paren) => plainly(&paren.elem),
        _ => ty,
    }
}

pub(crate) fn last_segment(ty: &Type) -> Option<&PathSegment> {
    match ty {
        Type::Path(path) if path.qself.is_none() => path.path.segments.last(),
        _ => None,
    }
}

pub(crate) fn only_type(segment: &PathSegment) -> Option<&Type> {
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    let mut types = arguments.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    types.next().filter(|_| types.next().is_none())
}

/// What the keys of an inline payload and its type mean together. Fields of the variant are their
/// numbers.
pub(crate) struct Payload {
    /// Its address word, when it has one.
    pub(crate) address: Option<Word>,
    pub(crate) count: Count,
    pub(crate) presence: Presence,
}

/// Where a word of a payload is.
#[derive(PartialEq)]
pub(crate) enum Word {
    /// At the payload's own place; the length behind the address.
    Own,
    /// The field of this number.
    Field(usize),
    /// A member of a plain field.
    Member(usize, Vec<Ident>),
}

/// What says how long a payload is.
pub(crate) enum Count {
    /// Its type.
    Fixed,
    Word(Word),
    /// Other fields.
    Given(Expr),
}

/// What says whether a payload is there.
pub(crate) enum Presence {
    Always,
    /// Its address word is not 0.
    ByAddress,
    When(Expr),
    /// It is inline unless the field of this number is not 0.
    Unless(usize),
    /// Its address word is not 0; otherwise it is in registered memory.
    Received,
}

impl Payload {
    /// The word that says how long it is.
    pub(crate) fn length(&self) -> Option<&Word> {
        match &self.count {
            Count::Word(word) => Some(word),
            Count::Fixed | Count::Given(_) => None,
        }
    }

    /// Its address and its length word, each with the function of `urom_abi` that computes it.
    pub(crate) fn words(&self) -> [(Option<&Word>, &'static str); 2] {
        let address = match self.presence {
            Presence::When(_) => "address_word_when",
            _ => "address_word",
        };
        [(self.address.as_ref(), address), (self.length(), "length_word")]
    }

    /// How many elements it always has, when a number says so.
    pub(crate) fn literal(&self) -> Option<Literal> {
        let Count::Given(Expr::Lit(ExprLit { lit: Lit::Int(count), .. })) = &self.count else {
            return None;
        };
        count.base10_parse::<usize>().ok().map(Literal::usize_unsuffixed)
    }
}

impl Variant {
    /// What the keys of `payload` mean. Names that are no field's are reported by validation.
    pub(crate) fn resolve(&self, payload: &Field) -> Payload {
        let (keys, shape) = (&payload.inline, payload.shape());
        let address = match keys.addr.as_ref().map(|key| &key.value) {
            None => Some(Word::Own),
            Some(Addr::None) => None,
            Some(Addr::Path(path)) => self.word(path),
        };
        let count = match keys.len.as_ref().map(|key| &key.value) {
            None if matches!(shape.form, Form::Array(_)) => Count::Fixed,
            None => Count::Word(Word::Own),
            Some(Len::Given(expr)) => Count::Given(expr.clone()),
            Some(Len::Path(path)) => match self.word(path) {
                Some(Word::Field(at)) if self.fields[at].word.is_none() => named(path),
                Some(word) => Count::Word(word),
                None => named(path),
            },
        };
        let unless = keys.unless.as_ref().and_then(|key| self.number(&key.value));
        let presence = match (&keys.when, unless) {
            (Some(when), _) => Presence::When(when.value.clone()),
            (None, Some(word)) => Presence::Unless(word),
            (None, None) if shape.option => Presence::ByAddress,
            (None, None) if matches!(shape.form, Form::Received) => Presence::Received,
            (None, None) => Presence::Always,
        };
        Payload { address, count, presence }
    }

    fn word(&self, path: &[Ident]) -> Option<Word> {
        let (root, members) = path.split_first()?;
        let at = self.number(root)?;
        Some(if members.is_empty() { Word::Field(at) } else { Word::Member(at, members.to_vec()) })
    }

    fn number(&self, name: &Ident) -> Option<usize> {
        self.fields.iter().position(|field| field.ident == *name)
    }
}

/// A length by the name of a field or a constant.
fn named(path: &[Ident]) -> Count {
    let path = path.iter();
    Count::Given(parse_quote!(#(#path).*))
}
