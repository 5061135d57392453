//! Names: which command is meant, what a type is called, and what to say when there is nothing of a name.

use urom_abi::describe::{Field, FieldKind, Messages, Type, Variant};

use super::place;

/// How alike two names are before one is taken for a slip of the other.
const ALIKE: f64 = 0.75;

/// The command of a name: `TagSend`, `tag_send` and `tag-send` are one.
pub(crate) fn command(messages: &Messages, name: &str) -> Result<&'static Variant, String> {
    let found = messages.variants.iter().find(|variant| plain(variant.name) == plain(name));
    found.ok_or_else(|| {
        let names = messages.variants.iter().map(|variant| variant.name);
        unknown("there is no command", name, names)
    })
}

/// A name without what styles differ in.
pub(super) fn plain(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
}

/// A sentence on a name that is none of `known`.
pub(super) fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.collect();
    let score = |other: &str| strsim::jaro_winkler(&plain(name), &plain(other));
    let best = known.iter().max_by(|a, b| score(a).total_cmp(&score(b))).filter(|other| score(other) > ALIKE);
    let name = name.escape_debug();
    let all = || known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match best {
        None if known.is_empty() => format!("{what} `{name}`, nor any other"),
        None => format!("{what} `{name}`: there is {}", all()),
        Some(best) => format!("{what} `{name}`: did you mean `{best}`? There is {}", all()),
    }
}

/// What can be set in a command: `data=<bytes> [context=<u64>]`, the optional ones in brackets, without the words that are
/// filled in.
pub(crate) fn signature(messages: &Messages, variant: &Variant) -> String {
    let plain = |field: &&Field| matches!(field.kind, FieldKind::Plain | FieldKind::Echo);
    let fields = place::fields(messages, variant)
        .filter(plain)
        .map(|field| (field.optional, format!("{}=<{}>", field.name, field.ty)));
    let payloads = variant.payloads.iter().map(|payload| {
        let text = match payload.ty {
            Type::Int { bytes: 1, signed: false } => format!("{}=<bytes>", payload.name),
            Type::Utf8 => format!("{}=<text>", payload.name),
            ty => format!("{}=<[{ty}]>", payload.name),
        };
        (payload.optional || payload.when.is_some(), text)
    });
    let word = |(optional, text)| if optional { format!("[{text}]") } else { text };
    fields.chain(payloads).map(word).collect::<Vec<_>>().join(" ")
}

/// Every command with what can be set in it, as one would write it.
pub(crate) fn signatures(messages: &Messages) -> Vec<String> {
    let line = |variant: &Variant| format!("{} {}", snake(variant.name), signature(messages, variant));
    messages.variants.iter().map(|variant| line(variant).trim_end().to_owned()).collect()
}

/// `TagSend` as `tag_send`, which [`command`] takes too.
fn snake(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    let mut before = None;
    for c in name.chars() {
        // A row of capitals is one word.
        if c.is_uppercase() && before.is_some_and(|before: char| !before.is_uppercase() && before != '_') {
            snake.push('_');
        }
        snake.extend(c.to_lowercase());
        before = Some(c);
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_all_names_are_listed() {
        let known = ["context", "dest", "tag_mask"];
        let text = unknown("there is no field", "contxt", known.into_iter());
        assert_eq!(
            text,
            "there is no field `contxt`: did you mean `context`? There is `context`, `dest`, `tag_mask`"
        );
        let text = unknown("there is no field", "zzz", known.into_iter());
        assert_eq!(text, "there is no field `zzz`: there is `context`, `dest`, `tag_mask`");
        assert!(unknown("there is no field", "a", [].into_iter()).ends_with("nor any other"));
    }

    #[test]
    fn commands_are_listed_as_they_are_written() {
        use urom_abi::protocol::Protocol;

        assert_eq!(signatures(&graph_protocol::Protocol::DESCRIPTION.commands), ["loopback data=<u64>"]);
        for (name, want) in
            [("TagSend", "tag_send"), ("MrReg", "mr_reg"), ("GetURL2", "get_url2"), ("a_B", "a_b")]
        {
            assert_eq!(snake(name), want);
        }
    }
}
