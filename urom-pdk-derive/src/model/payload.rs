//! What a payload's keys and its type mean together: where its words are, what counts it, and when it is there.

use proc_macro2::{Ident, Literal};
use syn::{Expr, ExprLit, GenericArgument, Lit, PathArguments, PathSegment, Type};

use super::{Addr, Field, Inline, Len, Variant};

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

/// Where a payload's address word is.
pub(crate) enum Address<'a> {
    /// Nowhere.
    None,
    /// At the payload's own place.
    Own,
    /// The field of this name, which is a word.
    Word(&'a Field),
    /// A member of a plain field.
    Member(&'a Field, &'a [Ident]),
}

/// What says how long a payload is.
pub(crate) enum Count<'a> {
    /// Its type.
    Fixed,
    /// The word at the payload's own place, behind its address word.
    Own,
    /// The field of this name, which is a word.
    Word(&'a Field),
    /// A member of a plain field.
    Member(&'a Field, &'a [Ident]),
    /// Other fields. `None` when they are one field's name.
    Given(Given<'a>),
}

/// A length that other fields give.
pub(crate) enum Given<'a> {
    Name(&'a Ident),
    Expr(&'a Expr),
}

impl Given<'_> {
    /// The number, when it is written as one.
    pub(crate) fn literal(&self) -> Option<Literal> {
        let Given::Expr(Expr::Lit(ExprLit { lit: Lit::Int(count), .. })) = self else {
            return None;
        };
        count.base10_parse::<usize>().ok().map(Literal::usize_unsuffixed)
    }
}

/// What says whether a payload is there.
pub(crate) enum Presence<'a> {
    Always,
    /// Its address word is not 0.
    ByAddress,
    When(&'a Expr),
    /// It is inline unless this word is not 0.
    Unless(&'a Field),
    /// Its address word is not 0; otherwise it is in registered memory.
    Received,
}

impl Variant {
    /// Where the address word of a payload is.
    pub(crate) fn address<'a>(&'a self, keys: &'a Inline) -> Address<'a> {
        match keys.addr.as_ref().map(|key| &key.value) {
            None => Address::Own,
            Some(Addr::None) => Address::None,
            Some(Addr::Path(path)) => match self.named(path) {
                Some((field, [])) => Address::Word(field),
                Some((field, members)) => Address::Member(field, members),
                None => Address::None,
            },
        }
    }

    /// What says how long a payload is.
    pub(crate) fn count<'a>(&'a self, payload: &'a Field, keys: &'a Inline) -> Count<'a> {
        match keys.len.as_ref().map(|key| &key.value) {
            None if matches!(payload.shape().form, Form::Array(_)) => Count::Fixed,
            None => Count::Own,
            Some(Len::Given(expr)) => Count::Given(Given::Expr(expr)),
            Some(Len::Path(path)) => match (self.named(path), path.first()) {
                (Some((field, [])), _) if field.word.is_some() => Count::Word(field),
                (Some((field, members)), _) if !members.is_empty() => Count::Member(field, members),
                (_, Some(name)) => Count::Given(Given::Name(name)),
                (_, None) => Count::Own,
            },
        }
    }

    /// What says whether a payload is there.
    pub(crate) fn presence<'a>(&'a self, payload: &'a Field, keys: &'a Inline) -> Presence<'a> {
        let shape = payload.shape();
        let unless = keys.unless.as_ref().and_then(|key| self.field(&key.value));
        match (&keys.when, unless) {
            (Some(when), _) => Presence::When(&when.value),
            (None, Some(word)) => Presence::Unless(word),
            (None, None) if shape.option => Presence::ByAddress,
            (None, None) if matches!(shape.form, Form::Received) => Presence::Received,
            (None, None) => Presence::Always,
        }
    }

    fn named<'a>(&'a self, path: &'a [Ident]) -> Option<(&'a Field, &'a [Ident])> {
        let (root, members) = path.split_first()?;
        Some((self.field(root)?, members))
    }
}
