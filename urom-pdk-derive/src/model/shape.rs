//! Recognises payloads by the spelling of their type.

use syn::{GenericArgument, PathArguments, PathSegment, Type};

pub(crate) struct Shape {
    pub(crate) inner: Type,
    pub(crate) option: bool,
    pub(crate) form: Form,
    pub(crate) element: Option<Type>,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Form {
    /// `&'a [u8]`.
    Slice,
    /// `&'a [u8; N]`.
    Array,
    Str,
    Elements,
    Data,
    Owned,
    Received,
    Other,
}

impl Form {
    pub(crate) fn is_borrowed(self) -> bool {
        matches!(self, Form::Slice | Form::Array | Form::Str | Form::Elements | Form::Data)
    }

    pub(crate) fn is_owned(self) -> bool {
        matches!(self, Form::Owned | Form::Received)
    }

    pub(crate) fn is_two_armed(self) -> bool {
        matches!(self, Form::Data | Form::Received)
    }
}

impl Shape {
    pub(crate) fn of(ty: &Type) -> Shape {
        let ty = plainly(ty);
        let option = last_segment(ty).filter(|last| last.ident == "Option").and_then(only_type);
        let inner = option.unwrap_or(ty);
        let (form, element) = form(plainly(inner));
        Shape { inner: inner.clone(), option: option.is_some(), form, element: element.cloned() }
    }
}

fn form(ty: &Type) -> (Form, Option<&Type>) {
    if let Type::Reference(reference) = ty
        && reference.mutability.is_none()
    {
        return match plainly(&reference.elem) {
            Type::Slice(slice) => (Form::Slice, Some(&slice.elem)),
            Type::Array(array) => (Form::Array, Some(&array.elem)),
            elem if last_segment(elem).is_some_and(|last| last.ident == "str") => (Form::Str, None),
            _ => (Form::Other, None),
        };
    }
    let Some(last) = last_segment(ty) else { return (Form::Other, None) };
    match last.ident.to_string().as_str() {
        "Elements" => (Form::Elements, only_type(last)),
        "Data" => (Form::Data, None),
        "Payload" => (Form::Owned, only_type(last)),
        "Received" => (Form::Received, None),
        _ => (Form::Other, None),
    }
}

/// Returns the type without the groups that a macro leaves around it.
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
