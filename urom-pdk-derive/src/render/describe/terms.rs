//! The expressions of `len` and `when` as data, for programs that only have the description.

use proc_macro2::{Literal, TokenStream};
use quote::quote;
use syn::{BinOp, Expr, ExprLit, ExprMethodCall, Lit, UnOp};

use super::is_constant;
use crate::model::Variant;
use crate::names;
use crate::tokens::{self, bare};

pub(super) fn comparison(variant: &Variant, expr: &Expr) -> TokenStream {
    compared(variant, bare(expr)).unwrap_or_else(|| quote!(__p::None))
}

pub(super) fn given(variant: &Variant, expr: &Expr) -> TokenStream {
    term(variant, expr)
        .map_or_else(|| quote!(__p::None), |term| quote!(__p::Some(__p::Term::#term)))
}

fn compared(variant: &Variant, expr: &Expr) -> Option<TokenStream> {
    let (left, sign, right) = match expr {
        Expr::Binary(binary) => {
            let sign = match binary.op {
                BinOp::Eq(_) => quote!(Equal),
                BinOp::Ne(_) => quote!(NotEqual),
                BinOp::Lt(_) => quote!(Less),
                BinOp::Le(_) => quote!(AtMost),
                BinOp::Gt(_) => quote!(More),
                BinOp::Ge(_) => quote!(AtLeast),
                _ => return None,
            };
            (term(variant, &binary.left)?, sign, term(variant, &binary.right)?)
        }
        Expr::Unary(unary) if matches!(unary.op, UnOp::Not(_)) => {
            (field(variant, bare(&unary.expr))?, quote!(Equal), quote!(Number(0)))
        }
        _ => (field(variant, expr)?, quote!(NotEqual), quote!(Number(0))),
    };
    Some(quote!(__p::compare(__p::Term::#left, __p::Sign::#sign, __p::Term::#right)))
}

fn term(variant: &Variant, expr: &Expr) -> Option<TokenStream> {
    if let Some(number) = number(expr) {
        let number = Literal::i128_unsuffixed(number);
        return Some(quote!(Number(#number)));
    }
    match bare(expr) {
        Expr::MethodCall(call) => length(variant, call),
        Expr::Path(path) if is_constant(variant, &path.path) => {
            let name = tokens::spelled(quote!(#path));
            Some(quote!(Constant(#name)))
        }
        expr => field(variant, expr),
    }
}

fn number(expr: &Expr) -> Option<i128> {
    match bare(expr) {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => number.base10_parse().ok(),
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => {
            number(&unary.expr)?.checked_neg()
        }
        _ => None,
    }
}

fn length(variant: &Variant, call: &ExprMethodCall) -> Option<TokenStream> {
    let Expr::Path(path) = bare(&call.receiver) else { return None };
    let payload = variant.field(path.path.get_ident()?).filter(|field| field.is_payload())?;
    let is_len = call.method == "len" && call.args.is_empty() && call.turbofish.is_none();
    let name = payload.name();
    is_len.then(|| quote!(Length(#name)))
}

fn field(variant: &Variant, expr: &Expr) -> Option<TokenStream> {
    let path = crate::parse::keys::path(expr)?;
    variant.field(path.first()?).filter(|field| !field.is_payload())?;
    let path = path.iter().map(names::text).collect::<Vec<_>>().join(".");
    Some(quote!(Field(#path)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expand;
    use crate::parse::Macro;

    fn structure_of(when: &str) -> String {
        let when = syn::parse_str::<Expr>(when).unwrap();
        let item = quote! {
            enum Command<'a> {
                #[urom(reply = Done)]
                Work {
                    stride: i64,
                    args: Args,
                    #[urom(inline)]
                    keys: &'a [u8],
                    #[urom(inline, when = #when)]
                    rest: Option<&'a [u8]>,
                },
            }
        };
        let args = quote!(plugin = "p", version = 1);
        let text = expand::messages(Macro::Command, args, item).to_string().replace(' ', "");
        let behind = text.split_once("presence:__p::when(").expect("it has a condition").1;
        let structure = behind.split_once("\",").expect("it has a text").1;
        let end = structure.find("),count").or_else(|| structure.find("),..")).unwrap();
        structure[..end].replace("__p::", "").replace("Term::", "").replace("Sign::", "")
    }

    #[test]
    fn comparisons_of_two_and_single_truths_are_structure() {
        for (when, structure) in [
            ("stride <= 0", "compare(Field(\"stride\"),AtMost,Number(0))"),
            ("(args.kind) != 7_u8", "compare(Field(\"args.kind\"),NotEqual,Number(7))"),
            ("keys.len() > -2", "compare(Length(\"keys\"),More,Number(-2))"),
            ("3 < limits::MOST", "compare(Number(3),Less,Constant(\"limits::MOST\"))"),
            ("args.loud", "compare(Field(\"args.loud\"),NotEqual,Number(0))"),
            ("!args.loud", "compare(Field(\"args.loud\"),Equal,Number(0))"),
        ] {
            assert_eq!(structure_of(when), structure, "{when}");
        }
    }

    #[test]
    fn anything_else_is_text() {
        for when in [
            "has(args)",
            "stride <= 0 && args.kind == 7",
            "!(stride <= 0)",
            "args.kind & 1 != 0",
            "stride as u8 == 1",
            "keys.is_empty()",
        ] {
            assert_eq!(structure_of(when), "None", "{when}");
        }
    }
}
