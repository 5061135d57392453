//! Every message that the macros give, in one table.
//!
//! A message is one lower-case sentence that says what is wrong and what to do; its span says where. The tests of
//! `ui-tests` read this file too, and fail when a message has no case that shows it.

use std::fmt::{self, Display};

/// A message of the table, filled in.
pub(crate) struct Message(String);

impl Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

macro_rules! messages {
    ($($name:ident($($hole:ident),*): $text:literal;)*) => {
        $(
            #[doc = $text]
            pub(crate) fn $name($($hole: impl Display),*) -> Message {
                Message(format!($text))
            }
        )*

        /// Each message's name and its text with the holes named.
        #[cfg(test)]
        pub(crate) const TABLE: &[(&str, &str)] = &[$((stringify!($name), $text)),*];
    };
}

messages! {
    // Keys and attributes.
    unknown_key(key, expected): "unknown key `{key}`: expected one of {expected}";
    duplicate_key(key): "key `{key}` is given twice: keep one";
    missing_key(key, example): "key `{key}` is missing: add `{example}`";
    flag_with_value(key): "key `{key}` takes no value: write just `{key}`";
    key_without_value(key, example): "key `{key}` needs a value: write it like `{example}`";
    bad_value(key, example): "key `{key}` cannot have this value: write it like `{example}`";
    not_a_key(): "this is no key: keys are names, alone or as `name = value`, with commas between them";
    attribute_without_keys(): "this attribute has no list of keys: write `#[urom(key = value)]`, or remove it";
    attribute_on_enum(attribute): "`#[urom(...)]` is for variants and fields: write the enum's keys as `#[{attribute}(...)]`";
    unsupported_key(key): "key `{key}` is not supported yet: only plain fields can be sent so far";

    // What the macros may stand on.
    not_an_enum(attribute, found): "`#[{attribute}]` cannot stand on {found}: put it on an enum with one variant for each message";
    not_a_handler_impl(found): "`#[urom_plugin]` cannot stand on {found}: put it on `impl Handler for YourType`";
    handler_with_arguments(name): "`#[urom_plugin]` fills in the arguments of `{name}`: write just `{name}`";
    generic_message(parameter): "a protocol cannot be generic, because both sides must agree on its bytes: remove `{parameter}` and name the types";
    generic_plugin(parameter): "a plugin cannot be generic, because its exported functions have one handler type: remove `{parameter}` and name the type";
    unsupported_lifetime(lifetime): "a lifetime is for inline payloads, which are not supported yet: remove `{lifetime}`";

    // Variants.
    no_variants(name): "`{name}` has no variants: a protocol has at least one command and one notification";
    unnamed_fields(variant): "`{variant}` has unnamed fields: name them, because their names become arguments";
    conditional(): "a message cannot depend on `cfg`, because both sides must agree on its bytes: remove the condition";
    no_reply(variant): "`{variant}` does not say what answers it: add `#[urom(reply = ...)]` with a variant of the notification enum";
    tag_taken(tag, variant): "tag {tag} is the tag of `{variant}` already: give each variant its own";
    tag_stated_twice(): "the tag is stated twice: keep the key `tag` or the discriminant";
    tag_not_a_literal(most): "a tag is an integer literal between 0 and {most}: write the number itself";
    no_tag_left(most): "no tag is left behind {most}: state a `tag` for this variant";
    not_a_tag_type(): "this is no type for a tag: expected one of `u8`, `u16`, `u32`, `u64`";
    unsupported_tag_type(found): "tags of type `{found}` are not supported yet: use `u64`";
    reply_is_command(variant): "`{variant}` cannot be the answer, because it is a command of this protocol: give the notification another name, such as `{variant}Done`";
    item_name_taken(variant, item, owner): "`{variant}` makes an item `{item}`, and so does {owner}: rename the variant";
    handler_name_taken(variant, method, owner): "`{variant}` makes a handler method `{method}`, and so does {owner}: rename the variant";
    handler_name_reserved(variant, method): "`{variant}` makes a handler method `{method}`, which cannot be a name in Rust: rename the variant";

    // Fields.
    setter_name_taken(field): "an echoed field cannot be named `{field}`, because the task has a method of that name: rename it";
    unsafe_type(found, why, instead): "`{found}` cannot travel, because {why}: use {instead}";

    // Descriptions.
    not_a_struct(found): "`Described` cannot be derived for {found}: derive it for a structure of plain fields";
    generic_described(parameter): "a description is that of one type: remove `{parameter}` and name the types";
    described_field_key(): "a field has no keys for its description: remove this attribute";

    // The plugin's name and the sizes.
    name_length(found): "a plugin's name has 1 to 47 bytes, because it names a file in a 48-byte field: this one has {found}";
    name_byte(found): "a plugin's name cannot hold {found}, because it is the name of a file: remove it";
    command_too_big(name): "every variant of `{name}` takes as many bytes as the largest, and with the 24-byte header they exceed the default message limit of 4096: make it smaller";
    notification_too_big(name): "every variant of `{name}` takes as many bytes as the largest, and with the 32-byte header they exceed the default message limit of 4096: make it smaller";

    // Building.
    panic_abort(): "a plugin built with `panic = \"abort\"` takes the whole worker down when a handler panics: build with `panic = \"unwind\"`, or accept it with `#[urom_plugin(abort = \"allowed\")]`";
}
