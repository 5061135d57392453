//! Finds commands by name, and shows their fields.

use heck::ToSnakeCase;
use urom_abi::describe::{Messages, Type, Variant};

use super::location::{fields, is_byte, is_value, may_lack};
use super::names;

/// Finds a command by name: `TagSend`, `tag_send` and `tag-send` are the same.
///
/// # Errors
/// No command has this name; the text lists those that exist.
pub fn command(messages: &Messages, name: &str) -> Result<&'static Variant, String> {
    let found =
        messages.variants.iter().find(|variant| names::plain(variant.name) == names::plain(name));
    found.ok_or_else(|| {
        let names = messages.variants.iter().map(|variant| variant.name);
        names::unknown("unknown command", name, names)
    })
}

/// Returns a command's fields: `data=<bytes> [context=<u64>]`, without the computed words.
pub(crate) fn signature(messages: &Messages, variant: &Variant) -> String {
    let values = fields(messages, variant)
        .filter(|field| is_value(field))
        .map(|field| (field.optional, format!("{}=<{}>", field.name, field.ty)));
    let payloads = variant.payloads.iter().map(|payload| {
        let ty = match payload.ty {
            ty if is_byte(&ty) => "bytes".to_owned(),
            Type::Utf8 => "text".to_owned(),
            ty => format!("[{ty}]"),
        };
        (payload.optional || may_lack(payload), format!("{}=<{ty}>", payload.name))
    });
    let word = |(optional, text)| if optional { format!("[{text}]") } else { text };
    values.chain(payloads).map(word).collect::<Vec<_>>().join(" ")
}

/// Returns a line for each message: its name and its fields.
#[must_use]
pub fn signatures(messages: &Messages) -> Vec<String> {
    let line = |variant: &Variant| {
        format!("{} {}", variant.name.to_snake_case(), signature(messages, variant))
    };
    messages.variants.iter().map(|variant| line(variant).trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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

        // The method names test the macros.
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
