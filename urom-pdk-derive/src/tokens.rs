//! Looking into tokens whose meaning does not matter: types and expressions.

use proc_macro2::{Delimiter, Group, Ident, Spacing, Span, TokenStream, TokenTree};
use syn::{Expr, Lifetime};

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

/// The expression without the groups that a macro leaves around it.
pub(crate) fn ungrouped(expr: &Expr) -> &Expr {
    match expr {
        Expr::Group(group) => ungrouped(&group.expr),
        _ => expr,
    }
}

/// `tokens` as if they stood at `span`, so that an error underlines that; what they name stays the same.
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

/// `tokens` as if they had been written at `span`. Unlike those of [`at`] they do not look made by a macro, so an error
/// about them is the same as one about what stands there.
pub(crate) fn written_at(tokens: TokenStream, span: Span) -> TokenStream {
    tokens
        .into_iter()
        .map(|mut token| {
            if let TokenTree::Group(group) = &token {
                token = TokenTree::Group(Group::new(group.delimiter(), written_at(group.stream(), span)));
            }
            token.set_span(span);
            token
        })
        .collect()
}

/// An expression as an author writes it: the same text for every compiler.
pub(crate) fn spelled(tokens: TokenStream) -> String {
    let mut text = String::new();
    // Whether the next token stands close to the one before, whether that one ends an operand, and whether it is joined.
    let (mut close, mut operand, mut joined) = (true, false, false);
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
                text += &[open, &spelled(group.stream()), end].concat();
                (close, operand, joined) = (false, true, false);
            }
            TokenTree::Punct(sign) => {
                let (c, joint) = (sign.as_char(), sign.spacing() == Spacing::Joint);
                let prefix = !(operand || joined) && matches!(c, '!' | '-' | '*' | '&');
                let of_macro = operand && c == '!' && !joint;
                text += open_space(close || of_macro || matches!(c, '.' | ',' | ';' | ':' | '?'));
                text.push(c);
                close = joint || prefix || of_macro || matches!(c, '.' | ':' | '\'');
                (operand, joined) = (of_macro || c == '?', joint);
            }
            other => {
                text += open_space(close);
                text += &other.to_string();
                (close, operand, joined) = (false, true, false);
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
        ];
        for text in expressions {
            assert_eq!(spelled(text.parse().unwrap()), text);
        }
    }
}
