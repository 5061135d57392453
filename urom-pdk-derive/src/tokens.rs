//! Looking into tokens whose meaning does not matter: types and expressions.

use proc_macro2::{Delimiter, Group, Ident, Spacing, Span, TokenStream, TokenTree};
use syn::parse::{Parse, ParseStream};
use syn::{Expr, Lifetime, Macro, Pat, Token};

/// The lifetimes named in `tokens`, without their ticks.
pub(crate) fn lifetimes_in(tokens: TokenStream) -> Vec<String> {
    let mut found = Vec::new();
    let mut behind_tick = false;
    for token in tokens {
        match token {
            TokenTree::Ident(name) if behind_tick => found.push(name.to_string()),
            TokenTree::Group(group) => found.extend(lifetimes_in(group.stream())),
            TokenTree::Punct(sign) if sign.as_char() == '\'' => {
                behind_tick = true;
                continue;
            }
            _ => {}
        }
        behind_tick = false;
    }
    found
}

/// Whether `name` stands anywhere in `tokens`.
pub(crate) fn mentions(tokens: TokenStream, name: &Ident) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(found) => found == *name,
        TokenTree::Group(group) => mentions(group.stream(), name),
        _ => false,
    })
}

/// `tokens` with the name `to` wherever `from` stands.
pub(crate) fn named(tokens: TokenStream, from: &str, to: &Ident) -> TokenStream {
    let named = |token| match token {
        TokenTree::Ident(name) if name == from => {
            let mut to = to.clone();
            to.set_span(name.span());
            TokenTree::Ident(to)
        }
        TokenTree::Group(group) => {
            let mut new = Group::new(group.delimiter(), named(group.stream(), from, to));
            new.set_span(group.span());
            TokenTree::Group(new)
        }
        other => other,
    };
    tokens.into_iter().map(named).collect()
}

/// What stands in `matches!`.
pub(crate) struct Matches {
    pub(crate) expr: Expr,
    pub(crate) pat: Pat,
    pub(crate) guard: Option<Expr>,
}

impl Matches {
    /// Of a macro that is called by this name; `None` for another one.
    pub(crate) fn of(call: &Macro) -> Option<Matches> {
        let is_matches = call.path.segments.last().is_some_and(|last| last.ident == "matches");
        if is_matches { call.parse_body().ok() } else { None }
    }
}

impl Parse for Matches {
    fn parse(input: ParseStream<'_>) -> syn::Result<Matches> {
        let expr = input.parse()?;
        input.parse::<Token![,]>()?;
        let pat = Pat::parse_multi_with_leading_vert(input)?;
        let guard = match input.parse::<Option<Token![if]>>()? {
            Some(_) => Some(input.parse()?),
            None => None,
        };
        input.parse::<Option<Token![,]>>()?;
        Ok(Matches { expr, pat, guard })
    }
}

/// The expression without the groups that a macro leaves around it.
pub(crate) fn ungrouped(expr: &Expr) -> &Expr {
    match expr {
        Expr::Group(group) => ungrouped(&group.expr),
        _ => expr,
    }
}

/// The expression without parentheses, and without the groups that a macro leaves around it.
pub(crate) fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Group(group) => bare(&group.expr),
        Expr::Paren(paren) => bare(&paren.expr),
        _ => expr,
    }
}

/// `tokens` as if they stood at `span`, so that an error underlines that; what they name stays the
/// same.
pub(crate) fn at(tokens: TokenStream, span: Span) -> TokenStream {
    tokens
        .into_iter()
        .map(|mut token| {
            if let TokenTree::Group(group) = &token {
                token = TokenTree::Group(Group::new(group.delimiter(), at(group.stream(), span)));
            }
            token.set_span(token.span().located_at(span));
            token
        })
        .collect()
}

/// `tokens` as if they had been written at `span`. Unlike those of [`at`] they do not look made by
/// a macro, so an error about them is the same as one about what stands there.
pub(crate) fn written_at(tokens: TokenStream, span: Span) -> TokenStream {
    tokens
        .into_iter()
        .map(|mut token| {
            if let TokenTree::Group(group) = &token {
                token = TokenTree::Group(Group::new(
                    group.delimiter(),
                    written_at(group.stream(), span),
                ));
            }
            token.set_span(span);
            token
        })
        .collect()
}

/// An expression as an author writes it: the same text for every compiler.
pub(crate) fn spelled(tokens: TokenStream) -> String {
    spell(tokens, false)
}

/// A type, a path or a parameter as an author writes it.
pub(crate) fn spelled_type(tokens: TokenStream) -> String {
    spell(tokens, true)
}

/// `is_type` says that every `<` opens a list of arguments.
fn spell(tokens: TokenStream, is_type: bool) -> String {
    const KEYWORDS: [&str; 11] =
        ["as", "const", "dyn", "else", "if", "impl", "in", "match", "move", "mut", "return"];
    let mut text = String::new();
    // Whether the next token stands close to the one before, and whether that one ends an operand.
    let (mut close, mut operand) = (true, false);
    // The sign that the one before is joined to, and how many lists of arguments are open.
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
                // A path that begins with `::` is an operand of its own.
                let behind =
                    matches!(c, '.' | ',' | ';' | '?') || c == ':' && (operand || second_colon);
                let generic = opens && within || ends;
                text += open_space(close || of_macro || behind || generic);
                text.push(c);
                angles = if opens { angles + 1 } else { angles - usize::from(ends) };
                close =
                    joint || prefix || of_macro || opens || second_colon || matches!(c, '.' | '\'');
                // What stands behind a list of arguments belongs to it.
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

/// `tokens` with another lifetime in the place of `from`.
pub(crate) fn with_lifetime(tokens: TokenStream, from: &Lifetime, to: &Lifetime) -> TokenStream {
    let mut behind_tick = false;
    tokens
        .into_iter()
        .map(|token| {
            let was_behind_tick = std::mem::replace(
                &mut behind_tick,
                matches!(&token, TokenTree::Punct(sign) if sign.as_char() == '\''),
            );
            match token {
                TokenTree::Ident(name) if was_behind_tick && name == from.ident => {
                    TokenTree::Ident(Ident::new(&to.ident.to_string(), name.span()))
                }
                TokenTree::Group(group) => {
                    let inner = with_lifetime(group.stream(), from, to);
                    let mut replaced = Group::new(group.delimiter(), inner);
                    replaced.set_span(group.span());
                    TokenTree::Group(replaced)
                }
                other => other,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::quote;
    use syn::parse_quote;

    #[test]
    fn lifetimes_are_found_and_exchanged_at_any_depth() {
        let tokens = quote!(Option<(&'a [u8], Elements<'b, 'c'>)>);
        assert_eq!(lifetimes_in(tokens), ["a", "b"]);
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
