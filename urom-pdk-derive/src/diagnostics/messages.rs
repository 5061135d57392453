//! Every message of the macros, in one table.
//!
//! A message is one lower-case sentence with the error and its fix; its span gives the location.
//! The tests of `ui-tests` read this file too, and fail when a message lacks a case that shows it.

use std::fmt::{self, Display};

pub(crate) struct ErrorMessage(String);

impl Display for ErrorMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

macro_rules! messages {
    ($($name:ident($($hole:ident),*): $text:literal;)*) => {
        $(
            #[doc = $text]
            pub(crate) fn $name($($hole: impl Display),*) -> ErrorMessage {
                ErrorMessage(format!($text))
            }
        )*

        #[cfg(test)]
        pub(crate) const TABLE: &[(&str, &str)] = &[$((stringify!($name), $text)),*];
    };
}

messages! {
    unknown_key(key, expected): "unknown key `{key}`: expected one of {expected}";
    mistyped_key(key, meant, known): "unknown key `{key}`: did you mean `{meant}`? There is {known}";
    duplicate_key(key): "key `{key}` is given twice: keep one";
    missing_key(key, example): "key `{key}` is missing: add `{example}`";
    flag_with_value(key): "key `{key}` does not take a value: write just `{key}`";
    key_without_value(key, example): "key `{key}` needs a value: write it like `{example}`";
    bad_value(key, example): "key `{key}` cannot have this value: write it like `{example}`";
    not_a_key(): "this is not a key: keys are names, alone or as `name = value`, with commas between them";
    attribute_without_keys(): "this attribute lacks a list of keys: write `#[urom(key = value)]`, or remove it";
    misplaced_key(key, target): "key `{key}` is for {target}: remove it here";
    attribute_on_enum(attribute): "`#[urom(...)]` is for variants and fields: write the enum's keys as `#[{attribute}(...)]`";

    // Items that the macros may be applied to.
    derive_above(attribute): "a `derive` above `#[{attribute}]` does not see what the macro makes of the enum, nor the structures: put it below";
    not_an_enum(attribute, found): "`#[{attribute}]` cannot stand on {found}: put it on an enum with one variant for each message";
    not_a_handler_impl(found): "`#[urom_plugin]` cannot stand on {found}: put it on `impl Handler for YourType`";
    handler_with_arguments(name): "`#[urom_plugin]` fills in the arguments of `{name}`: write just `{name}`";
    generic_message(parameter): "a protocol cannot be generic, because both sides must agree on its bytes: remove `{parameter}` and name the types";
    notification_lifetime(lifetime): "a notification owns its payloads: remove `{lifetime}` and use `Payload`";
    second_lifetime(lifetime, first): "all payloads of a command borrow from the same message: remove `{lifetime}` and use `{first}`";
    static_payload(): "a command's payload borrows from the message: use the enum's lifetime instead of `'static`";
    generic_plugin(parameter): "a plugin cannot be generic, because its exported functions have one handler type: remove `{parameter}` and name the type";

    no_variants(name): "`{name}` lacks variants: a protocol has at least one command and one notification";
    unnamed_fields(variant): "`{variant}` has unnamed fields: name them, because their names become arguments";
    conditional(): "a message cannot depend on `cfg`, because both sides must agree on its bytes: remove the condition";
    no_reply(variant): "`{variant}` lacks an answer: add `#[urom(reply = ...)]` with a variant of the notification enum";
    tag_taken(tag, variant): "tag {tag} is the tag of `{variant}` already: give each variant its own";
    tag_as_discriminant(): "a tag is a key of its variant: write `#[urom(tag = ...)]` instead of a discriminant";
    tag_not_a_literal(most): "a tag is an integer literal between 0 and {most}: write the number itself";
    no_tag_left(most): "no tag is left behind {most}: state a `tag` for this variant";
    not_a_tag_type(): "this is not a type for a tag: expected one of `u8`, `u16`, `u32`, `u64`";
    also_is_tag(tag): "{tag} is the variant's own tag: remove `also`, or name the other tag that it is read with";
    reply_is_command(variant): "`{variant}` cannot be the answer, because it is a command of this protocol: give the notification another name, such as `{variant}Done`";
    reply_is_variant(found, structure): "`{found}` is a variant of the enum, and the answer is the structure of that name: write `{structure}`";
    item_name_taken(name, item, owner): "`{name}` makes an item `{item}`, and so does {owner}: rename it";
    handler_name_taken(variant, method, owner): "`{variant}` makes a handler method `{method}`, and so does {owner}: rename the variant";
    handler_name_reserved(variant, method): "`{variant}` makes a handler method `{method}`, which cannot be a name in Rust: rename the variant";

    setter_name_taken(field): "a field that is echoed or optional cannot be named `{field}`, because the task has a method of that name: rename it";
    unsafe_type(found, why, instead): "`{found}` cannot travel, because {why}: use {instead}";

    keys_clash(key, other, why): "key `{key}` cannot stand beside `{other}`, because {why}: remove one of them";
    header_late(field): "header fields lie before all others on the wire: move `{field}` in front of them";
    header_differs(found, variant, expected): "every variant has the same header, and this is `{found}`: make it `{expected}`, as in `{variant}`";
    header_lacks(variant, other, expected): "every variant has the same header, and `{variant}` has less of it than `{other}`: begin it with {expected}";


    key_needs_inline(key): "key `{key}` is about an inline payload: add `inline`, or remove `{key}`";
    payload_not_inline(found): "`{found}` travels behind the fields, as a payload: add `#[urom(inline)]`";
    borrows_without_inline(found): "`{found}` borrows, which only payloads do: use a type without a lifetime";
    not_a_payload(found, expected): "`{found}` cannot be a payload: expected one of {expected}, or an `Option`, spelled out, because aliases are not seen through";
    use_payload(found, payload): "`{found}` owns its memory, and a payload lies in the message: use {payload}";
    owned_in_command(found, expected): "`{found}` owns its bytes, and a command borrows them: expected one of {expected}";
    borrowed_in_notification(found, expected): "`{found}` borrows its bytes, and a notification owns them: expected one of {expected}";
    unaligned_slice(found, element): "`{found}` would have to be aligned, which payloads are not: use `Elements<'a, {element}>`";
    word_type(found): "a word is an unsigned integer, not `{found}`: expected one of `u8`, `u16`, `u32`, `u64`";
    word_unnamed(word): "no payload fills the word `{word}`: name it in the `len`, `addr` or `unless` of one, or remove `word`";
    word_taken(word, payload): "the word `{word}` is filled by `{payload}` already: give each payload words of its own";
    not_a_field(variant, name): "`{variant}` does not have the field `{name}`: name one of its fields";
    not_a_word(name): "`{name}` has a value of its own, and a payload would fill it: mark it `#[urom(word)]`";
    not_a_plain_root(name): "a payload cannot fill a member of `{name}`, which is not a plain field of its own: name a plain structure that is neither `echo` nor `header`, or put a `len` that only reads the member in parentheses";
    length_of_array(): "an array has its length in its type: remove `len`";
    when_without_option(found): "a payload with a condition can be absent: make its type `Option<{found}>`";
    option_without_address(): "nothing says whether this payload is there: add `when = ...`, or remove `addr = none`";
    data_without_unless(): "a word says whether `Data` is inline or registered: add `unless = ...` and name a field that is marked `word`";
    unless_without_data(found): "`unless` chooses between inline and registered memory, and `{found}` is always inline: use `Data<'a>`";
    two_armed_words(found, word): "`{found}` needs its {word} word, because the wire has it for registered memory too: remove the key, or name a word";
    says_itself(found, what): "`{found}` says itself whether bytes follow: remove `{what}`";
    out_of_reach(name): "`{name}` is not known yet where this is evaluated: use fields that have a value of their own, or payloads before this one";
    can_panic(what, instead): "`{what}` can panic on the numbers that a peer sends: call a function that cannot, such as `{instead}`";

    macro_in_expression(name): "what `{name}!` does on the numbers that a peer sends is not known here: write an expression, `matches!`, or the call of a function that cannot panic";
    statements_in_expression(): "the length or condition of a payload is one expression: move these statements into a function that cannot panic, and call it";
    loop_in_expression(): "a loop here may run as long as a peer says: move it into a function that bounds it, and call that";

    not_described(found): "`Described` cannot be derived for {found}: derive it for a structure of plain fields, or for an enum without fields";
    enum_with_fields(variant): "`{variant}` has fields, and an enum travels as one number: remove them, or send them as fields or payloads of the message";
    enum_without_repr(name): "nothing says how many bytes `{name}` has: add `#[repr(u8)]`, or another of `u8` to `u64` and `i8` to `i64`";
    generic_described(parameter): "a description is for one type: remove `{parameter}` and name the types";
    described_field_key(): "a field cannot have keys for its description: remove this attribute";

    name_length(found): "a plugin's name has 1 to 47 bytes, because it names a file in a 48-byte field: this one has {found}";
    name_byte(found): "a plugin's name cannot hold {found}, because it is the name of a file: remove it";

    panic_abort(): "a plugin built with `panic = \"abort\"` takes the whole worker down when a handler panics: build with `panic = \"unwind\"`, or accept it with `#[urom_plugin(abort = \"allowed\")]`";
}
