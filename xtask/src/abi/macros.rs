//! Expands `macro_rules!` macros that stand for items: the library makes most of its functions with
//! them.
//!
//! This is what the Rust Reference says of them, as far as such macros need it: rules are tried in
//! order, a repetition takes all it can, and nothing is hygienic.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::discouraged::Speculative;
use syn::parse::{ParseStream, Parser};

/// Macros by their names.
#[derive(Default)]
pub(crate) struct Macros(BTreeMap<String, Vec<Rule>>);

struct Rule {
    pattern: Vec<Part>,
    body: Vec<Part>,
}

/// A piece of a pattern or a body.
enum Part {
    Token(TokenTree),
    Group(Delimiter, Vec<Part>),
    /// `$name`, in a pattern with what it takes.
    Variable(String, Option<String>),
    /// `$( .. ) separator operator`
    Repetition {
        parts: Vec<Part>,
        separator: Option<TokenTree>,
        operator: char,
    },
}

/// What a variable stands for: tokens, or one of these for each round of a repetition.
#[derive(Clone, Debug)]
enum Bound {
    Tokens(TokenStream),
    Rounds(Vec<Bound>),
}

type Bindings = BTreeMap<String, Bound>;

impl Macros {
    /// Learns a macro from its definition; anything else is not looked at.
    pub(crate) fn learn(&mut self, item: &syn::ItemMacro) -> Result<()> {
        let Some(name) = &item.ident else { return Ok(()) };
        let rules =
            rules(item.mac.tokens.clone()).with_context(|| format!("macro_rules! {name}"))?;
        self.0.insert(name.to_string(), rules);
        Ok(())
    }

    /// The items that a call stands for, calls inside of it not expanded; `None` for a macro that
    /// is not known.
    pub(crate) fn expand(&self, call: &syn::Macro) -> Result<Option<Vec<syn::Item>>> {
        let name = call.path.segments.last().context("a macro has a name")?.ident.to_string();
        let Some(rules) = self.0.get(&name) else { return Ok(None) };
        for rule in rules {
            let mut bindings = Bindings::new();
            let parser = |input: ParseStream| take(&rule.pattern, input, &mut bindings);
            if parser.parse2(call.tokens.clone()).is_ok() {
                let items = write(&rule.body, &bindings)?;
                let file: syn::File =
                    syn::parse2(items).with_context(|| format!("the items of {name}!"))?;
                return Ok(Some(file.items));
            }
        }
        bail!("no rule of {name}! takes this call")
    }
}

/// `(pattern) => { body };` and so on.
fn rules(tokens: TokenStream) -> Result<Vec<Rule>> {
    let groups = tokens.into_iter().filter_map(|token| match token {
        TokenTree::Group(group) => Some(group.stream()),
        _ => None,
    });
    let groups: Vec<_> = groups.collect();
    let rules = groups.chunks_exact(2).map(|pair| {
        Ok(Rule { pattern: parts(pair[0].clone(), true)?, body: parts(pair[1].clone(), false)? })
    });
    rules.collect()
}

fn parts(tokens: TokenStream, is_pattern: bool) -> Result<Vec<Part>> {
    let mut parts_ = Vec::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let part = match token {
            TokenTree::Punct(punct) if punct.as_char() == '$' => match tokens
                .next()
                .context("a lone `$`")?
            {
                TokenTree::Group(group) => {
                    let next = tokens.next().context("a repetition without `*`")?;
                    let (separator, operator) = match operator(&next) {
                        Some(operator) => (None, operator),
                        None => {
                            let after = tokens.next().context("a repetition without `*`")?;
                            (Some(next), operator(&after).context("a repetition without `*`")?)
                        }
                    };
                    Part::Repetition {
                        parts: parts(group.stream(), is_pattern)?,
                        separator,
                        operator,
                    }
                }
                TokenTree::Ident(name) => {
                    let fragment = if is_pattern
                        && tokens.next_if(|token| token.to_string() == ":").is_some()
                    {
                        Some(tokens.next().context("a variable that takes nothing")?.to_string())
                    } else {
                        None
                    };
                    Part::Variable(name.to_string(), fragment)
                }
                other => bail!("`${other}`"),
            },
            TokenTree::Group(group) => {
                Part::Group(group.delimiter(), parts(group.stream(), is_pattern)?)
            }
            token => Part::Token(token),
        };
        parts_.push(part);
    }
    Ok(parts_)
}

fn operator(token: &TokenTree) -> Option<char> {
    match token {
        TokenTree::Punct(punct) => Some(punct.as_char()).filter(|c| ['*', '+', '?'].contains(c)),
        _ => None,
    }
}

/// Matches a pattern.
fn take(pattern: &[Part], input: ParseStream<'_>, bindings: &mut Bindings) -> syn::Result<()> {
    for part in pattern {
        match part {
            Part::Token(token) => take_token(token, input)?,
            Part::Group(delimiter, parts) => {
                let TokenTree::Group(group) = input.parse()? else {
                    return Err(input.error("not a group"));
                };
                if group.delimiter() != *delimiter {
                    return Err(input.error("another delimiter"));
                }
                let parser = |input: ParseStream| take(parts, input, bindings);
                parser.parse2(group.stream())?;
            }
            Part::Variable(name, fragment) => {
                let tokens = fragment_of(fragment.as_deref().unwrap_or(""), input)?;
                bindings.insert(name.clone(), Bound::Tokens(tokens));
            }
            Part::Repetition { parts, separator, operator } => {
                let mut rounds: Vec<Bindings> = Vec::new();
                loop {
                    let ahead = input.fork();
                    let mut round = Bindings::new();
                    let separator = separator.as_ref().filter(|_| !rounds.is_empty());
                    let begun = separator.map_or(Ok(()), |separator| take_token(separator, &ahead));
                    if ahead.is_empty()
                        || begun.and_then(|()| take(parts, &ahead, &mut round)).is_err()
                    {
                        break;
                    }
                    input.advance_to(&ahead);
                    rounds.push(round);
                    if *operator == '?' {
                        break;
                    }
                }
                if *operator == '+' && rounds.is_empty() {
                    return Err(input.error("at least one is needed"));
                }
                for name in variables(parts) {
                    let of_rounds =
                        rounds.iter().filter_map(|round| round.get(&name).cloned()).collect();
                    bindings.insert(name, Bound::Rounds(of_rounds));
                }
            }
        }
    }
    Ok(())
}

fn take_token(token: &TokenTree, input: ParseStream<'_>) -> syn::Result<()> {
    let found: TokenTree = input.parse()?;
    if found.to_string() == token.to_string() { Ok(()) } else { Err(input.error("another token")) }
}

fn fragment_of(kind: &str, input: ParseStream<'_>) -> syn::Result<TokenStream> {
    Ok(match kind {
        "ident" => Ident::parse_any(input)?.into_token_stream(),
        "ty" => input.parse::<syn::Type>()?.into_token_stream(),
        "expr" => input.parse::<syn::Expr>()?.into_token_stream(),
        "literal" => input.parse::<syn::Lit>()?.into_token_stream(),
        "meta" => input.parse::<syn::Meta>()?.into_token_stream(),
        "path" => input.parse::<syn::Path>()?.into_token_stream(),
        "block" => input.parse::<syn::Block>()?.into_token_stream(),
        "vis" => input.parse::<syn::Visibility>()?.into_token_stream(),
        "tt" => input.parse::<TokenTree>()?.into_token_stream(),
        _ => return Err(input.error(format!("a fragment `{kind}`, which is not known here"))),
    })
}

/// The variables of a pattern or body, those in repetitions included.
fn variables(parts: &[Part]) -> Vec<String> {
    let of = |part: &Part| match part {
        Part::Token(_) => Vec::new(),
        Part::Variable(name, _) => vec![name.clone()],
        Part::Group(_, parts) | Part::Repetition { parts, .. } => variables(parts),
    };
    parts.iter().flat_map(of).collect()
}

/// Writes a body with what was matched.
fn write(body: &[Part], bindings: &Bindings) -> Result<TokenStream> {
    let mut out = TokenStream::new();
    for part in body {
        match part {
            Part::Token(token) => out.extend([token.clone()]),
            Part::Group(delimiter, parts) => {
                let group = Group::new(*delimiter, write(parts, bindings)?);
                out.extend([TokenTree::Group(group)]);
            }
            Part::Variable(name, _) if name == "crate" => {
                out.extend([TokenTree::Ident(Ident::new("crate", proc_macro2::Span::call_site()))])
            }
            Part::Variable(name, _) => match bindings.get(name) {
                Some(Bound::Tokens(tokens)) => out.extend(tokens.clone()),
                Some(Bound::Rounds(_)) => bail!("${name} outside of its repetition"),
                None => bail!("${name}, which no pattern has"),
            },
            Part::Repetition { parts, separator, .. } => {
                let mut names = variables(parts);
                names.retain(|name| matches!(bindings.get(name), Some(Bound::Rounds(_))));
                let rounds = |name: &String| match bindings.get(name) {
                    Some(Bound::Rounds(rounds)) => rounds.clone(),
                    _ => Vec::new(),
                };
                let count = names
                    .first()
                    .map(|name| rounds(name).len())
                    .context("a repetition of nothing")?;
                for round in 0..count {
                    if let Some(separator) = separator.as_ref().filter(|_| round > 0) {
                        out.extend([separator.clone()]);
                    }
                    let mut inside = bindings.clone();
                    for name in &names {
                        let bound = rounds(name).get(round).cloned();
                        inside.insert(
                            name.clone(),
                            bound.with_context(|| format!("${name} has fewer rounds"))?,
                        );
                    }
                    out.extend(write(parts, &inside)?);
                }
            }
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the calls in a text stand for.
    fn expanded(text: &str) -> Result<String> {
        let file = syn::parse_file(text).expect("Rust");
        let mut macros = Macros::default();
        let mut out = String::new();
        for item in &file.items {
            let syn::Item::Macro(item) = item else { continue };
            macros.learn(item)?;
            if item.ident.is_none() {
                let items = macros.expand(&item.mac)?.context("an unknown macro")?;
                out.extend(items.iter().map(|item| format!("{}\n", item.to_token_stream())));
            }
        }
        Ok(out)
    }

    fn same(macros: &str, plain: &str) {
        let plain = syn::parse_file(plain).expect("Rust").items;
        let plain: String =
            plain.iter().map(|item| format!("{}\n", item.to_token_stream())).collect();
        assert_eq!(expanded(macros).expect("it expands"), plain);
    }

    #[test]
    fn a_list_of_functions_keeps_arguments_and_returns() {
        same(
            "macro_rules! m { ($table:ident: $($(#[$doc:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)?;)*) => {
                $(#[no_mangle] extern \"C\" fn $name($($arg: $ty),*) $(-> $ret)? { $table.$name($($arg),*) })*
            }; }
            m!(T: /// Text.
               fn a(x: *const u8, y: Option<F>,) -> u32; fn b(););",
            "#[no_mangle] extern \"C\" fn a(x: *const u8, y: Option<F>) -> u32 { T.a(x, y) }
             #[no_mangle] extern \"C\" fn b() { T.b() }",
        );
    }

    #[test]
    fn a_macro_may_be_handed_on() {
        same(
            "macro_rules! list { ($callback:ident) => { $callback! { fn a(); } }; } list!(m);",
            "m! { fn a(); }",
        );
        same(
            "macro_rules! m { ($($list:tt)*) => { n!(T: $($list)*); }; } m! { fn a(x: u8) -> u8; }",
            "n!(T: fn a(x: u8) -> u8;);",
        );
    }

    #[test]
    fn the_first_rule_that_fits_is_taken() {
        let macros = "macro_rules! m { ($a:ident) => { fn $a() {} }; ($a:ident, $($b:literal)+) => { fn $a() { f($($b),+) } }; }";
        same(&format!("{macros} m!(x);"), "fn x() {}");
        same(&format!("{macros} m!(x, 1 2);"), "fn x() { f(1, 2) }");
        let error = expanded(&format!("{macros} m!(x,);")).expect_err("neither fits");
        assert!(error.to_string().contains("no rule of m!"), "{error}");
    }

    #[test]
    fn what_is_no_item_and_what_is_no_variable_are_errors() {
        assert!(expanded("macro_rules! m { () => { 1 + }; } m!();").is_err());
        assert!(expanded("macro_rules! m { () => { fn $a() {} }; } m!();").is_err());
    }
}
