//! Helpers for the tokens of types and expressions.

use proc_macro2::{Delimiter, Group, Ident, Spacing, Span, TokenStream, TokenTree};
use quote::quote;
use syn::parse::ParseStream;
use syn::visit::Visit;
use syn::{Expr, Lifetime, Macro, Pat, Token, Type, parse_quote};

pub(crate) fn names_lifetime(ty: &Type, holds: impl Fn(&Ident) -> bool) -> bool {
    struct Lifetimes<F>(F, bool);
    impl<'ast, F: Fn(&Ident) -> bool> Visit<'ast> for Lifetimes<F> {
        fn visit_lifetime(&mut self, lifetime: &'ast Lifetime) {
            self.1 |= (self.0)(&lifetime.ident);
        }
    }
    let mut lifetimes = Lifetimes(holds, false);
    lifetimes.visit_type(ty);
    lifetimes.1
}

pub(crate) fn mentions(tokens: TokenStream, name: &Ident) -> bool {
    let mut found = false;
    identifiers(tokens, &mut |identifier| found |= identifier == name);
    found
}

pub(crate) fn identifiers(tokens: TokenStream, take: &mut dyn FnMut(&Ident)) {
    for token in tokens {
        match token {
            TokenTree::Ident(found) => take(&found),
            TokenTree::Group(group) => identifiers(group.stream(), take),
            _ => {}
        }
    }
}

fn map(tokens: TokenStream, replace: &mut dyn FnMut(TokenTree) -> TokenTree) -> TokenStream {
    let mut mapped = Vec::new();
    for token in tokens {
        mapped.push(match token {
            TokenTree::Group(group) => {
                let mut new = Group::new(group.delimiter(), map(group.stream(), replace));
                new.set_span(group.span());
                replace(TokenTree::Group(new))
            }
            other => replace(other),
        });
    }
    mapped.into_iter().collect()
}

pub(crate) fn named(tokens: TokenStream, from: &str, to: &Ident) -> TokenStream {
    map(tokens, &mut |token| match token {
        TokenTree::Ident(name) if name == from => {
            let mut to = to.clone();
            to.set_span(name.span());
            TokenTree::Ident(to)
        }
        other => other,
    })
}

/// Returns a call of `matches!` as a `match`; `None` for another macro.
pub(crate) fn matched(call: &Macro) -> Option<Expr> {
    let is_matches = call.path.segments.last().is_some_and(|last| last.ident == "matches");
    let as_match = |input: ParseStream<'_>| {
        let expr = input.parse::<Expr>()?;
        input.parse::<Token![,]>()?;
        let pat = Pat::parse_multi_with_leading_vert(input)?;
        let guard = match input.parse::<Option<Token![if]>>()? {
            Some(guard) => Some((guard, input.parse::<Expr>()?)),
            None => None,
        };
        input.parse::<Option<Token![,]>>()?;
        let guard = guard.map(|(guard, expr)| quote!(#guard #expr));
        Ok(parse_quote!(match (#expr) { #pat #guard => true, _ => false }))
    };
    if is_matches { call.parse_body_with(as_match).ok() } else { None }
}

pub(crate) fn ungrouped(expr: &Expr) -> &Expr {
    match expr {
        Expr::Group(group) => ungrouped(&group.expr),
        _ => expr,
    }
}

pub(crate) fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Group(group) => bare(&group.expr),
        Expr::Paren(paren) => bare(&paren.expr),
        _ => expr,
    }
}

/// Returns `tokens` located at `span` for errors, with unchanged name resolution.
pub(crate) fn at(tokens: TokenStream, span: Span) -> TokenStream {
    map(tokens, &mut |mut token| {
        token.set_span(token.span().located_at(span));
        token
    })
}

/// Returns `tokens` as if written by the user at `span`: errors do not mention the macro.
pub(crate) fn written_at(tokens: TokenStream, span: Span) -> TokenStream {
    map(tokens, &mut |mut token| {
        token.set_span(span);
        token
    })
}

/// Formats an expression in source style, the same for every compiler.
pub(crate) fn spelled(tokens: TokenStream) -> String {
    spell(tokens, false)
}

pub(crate) fn spelled_type(tokens: TokenStream) -> String {
    spell(tokens, true)
}

/// With `is_type`, every `<` opens a list of arguments.
fn spell(tokens: TokenStream, is_type: bool) -> String {
    const KEYWORDS: [&str; 11] =
        ["as", "const", "dyn", "else", "if", "impl", "in", "match", "move", "mut", "return"];
    let mut text = String::new();
    // Whether the next token needs no space, and whether the last one ends an operand.
    let (mut close, mut operand) = (true, false);
    // The sign joined to the next token, and the number of open argument lists.
    let (mut joined, mut angles) = (None, 0usize);
    for token in tokens {
        let open_space = |close: bool| if close { "" } else { " " };
        match token {
            TokenTree::Group(group) => {
                let (open, end) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Brace => ("{ ", " }"),
                    Delimiter::None => ("", ""),
                };
                let call = operand && group.delimiter() != Delimiter::Brace;
                text += open_space(close || call);
                text += &[open, &spell(group.stream(), is_type), end].concat();
                (close, operand, joined) = (false, true, None);
            }
            TokenTree::Punct(sign) => {
                let (c, joint) = (sign.as_char(), sign.spacing() == Spacing::Joint);
                let prefix = !operand && joined.is_none() && matches!(c, '!' | '-' | '*' | '&');
                let of_macro = operand && c == '!' && !joint;
                let within = is_type || angles > 0;
                let opens = c == '<' && (within || !operand) && joined != Some('<');
                let ends = c == '>' && angles > 0 && !matches!(joined, Some('-' | '='));
                let second_colon = c == ':' && joined == Some(':');
                let behind =
                    matches!(c, '.' | ',' | ';' | '?') || c == ':' && (operand || second_colon);
                let generic = opens && within || ends;
                text += open_space(close || of_macro || behind || generic);
                text.push(c);
                angles = if opens { angles + 1 } else { angles - usize::from(ends) };
                close =
                    joint || prefix || of_macro || opens || second_colon || matches!(c, '.' | '\'');
                operand = of_macro || c == '?' || ends;
                joined = joint.then_some(c);
            }
            other => {
                let behind_tick = text.ends_with('\'');
                let word = other.to_string();
                text += open_space(close);
                text += &word;
                (close, joined) = (false, None);
                operand = !behind_tick && !KEYWORDS.contains(&word.as_str());
            }
        }
    }
    text
}

pub(crate) fn with_lifetime(tokens: TokenStream, from: &Lifetime, to: &Lifetime) -> TokenStream {
    let mut behind_tick = false;
    map(tokens, &mut |token| {
        let is_tick = matches!(&token, TokenTree::Punct(sign) if sign.as_char() == '\'');
        match token {
            TokenTree::Ident(name)
                if std::mem::replace(&mut behind_tick, is_tick) && name == from.ident =>
            {
                TokenTree::Ident(Ident::new(&to.ident.to_string(), name.span()))
            }
            other => {
                behind_tick = is_tick;
                other
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes_are_found_and_exchanged_at_any_depth() {
        let ty = parse_quote!(Option<(&'a [u8], Elements<'b, c>)>);
        let named = ["a", "b", "c"].map(|name| names_lifetime(&ty, |found| found == name));
        assert_eq!(named, [true, true, false]);
        let from = parse_quote!('a);
        let to = parse_quote!('task);
        let exchanged = with_lifetime(quote!(Option<(&'a [u8], X<'b, a>)>), &from, &to);
        assert_eq!(exchanged.to_string(), quote!(Option<(&'task [u8], X<'b, a>)>).to_string());
    }

    #[test]
    fn names_are_found_at_any_depth_and_not_in_parts_of_others() {
        let name = parse_quote!(count);
        assert!(mentions(quote!(f(g[count])), &name));
        assert!(!mentions(quote!(counts + "count"), &name));
    }

    #[test]
    fn expressions_are_spelled_as_they_are_written() {
        let expressions = [
            "stride <= 0",
            "size.checked_mul(8)",
            "u64::from(count)",
            "!is_empty(&args, -1) && flags & 4 != 0",
            "matches!(kind, 1 | 2)",
            "args[0].len",
            "(a == b) as u64",
            "if flag { 1 } else { 2 }",
            "lookup(*key)?.len",
            "f::<A, B>(x)",
            "n.checked_mul(::core::mem::size_of::<u32>())",
            "n as ::core::primitive::u64 == ::limits::MOST",
            "<T as Lengths<A, B>>::of(n) < 8",
            "::core::cmp::min(a, b)",
            "a < b && c > d",
            "S { a: 1, b }",
        ];
        for text in expressions {
            assert_eq!(spelled(text.parse().unwrap()), text);
        }
    }
}
