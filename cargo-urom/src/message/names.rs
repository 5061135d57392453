//! Names: which command is meant, what a type is called, and what to say when there is nothing of a name.

use heck::ToSnakeCase;
use urom_abi::describe::{Field, FieldKind, Messages, Presence, Type, Variant};

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
    let best = known
        .iter()
        .max_by(|a, b| score(a).total_cmp(&score(b)))
        .filter(|other| score(other) > ALIKE);
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
        let may_lack = matches!(payload.presence, Presence::When(_) | Presence::ByAddress);
        (payload.optional || may_lack, text)
    });
    let word = |(optional, text)| if optional { format!("[{text}]") } else { text };
    fields.chain(payloads).map(word).collect::<Vec<_>>().join(" ")
}

/// Every command with what can be set in it, as one would write it.
pub(crate) fn signatures(messages: &Messages) -> Vec<String> {
    let line = |variant: &Variant| {
        format!("{} {}", variant.name.to_snake_case(), signature(messages, variant))
    };
    messages.variants.iter().map(|variant| line(variant).trim_end().to_owned()).collect()
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

        assert_eq!(
            signatures(&graph_protocol::Protocol::DESCRIPTION.commands),
            ["loopback data=<u64>"]
        );
    }

    #[test]
    fn commands_have_the_names_that_the_macros_and_the_c_header_give_them() {
        use urom_abi::describe::c_header;
        use urom_abi::protocol::Protocol;

        mod protocol {
            use urom_abi::{urom_command, urom_notification};

            #[urom_command(plugin = "worker_names", version = 1)]
            pub(crate) enum Command {
                #[urom(reply = Done)]
                RQCreate { a: u64 },
                #[urom(reply = Done)]
                MapV2 { a: u64 },
                #[urom(reply = Done)]
                Map2D { a: u64 },
                #[urom(reply = Done)]
                C2H4 { a: u64 },
            }

            #[urom_notification]
            pub(crate) enum Notification {
                Done,
            }
        }
        use protocol::Client;

        // Naming the methods is the test: the macros made them.
        let _ = Client::<urom_host::Host>::task_rq_create;
        let _ = Client::<urom_host::Host>::task_map_v2;
        let _ = Client::<urom_host::Host>::task_map2_d;
        let _ = Client::<urom_host::Host>::task_c2h4;
        let names = ["rq_create", "map_v2", "map2_d", "c2h4"];
        let lines = names.map(|name| format!("{name} a=<u64>"));
        let description = protocol::Protocol::DESCRIPTION;
        assert_eq!(signatures(&description.commands), lines);
        let header = c_header(description);
        for name in names {
            assert!(header.contains(&format!(" {name};")), "{name}: {header}");
        }
    }
}
