//! Comments in C headers.

use urom_abi::describe::{Messages, Protocol, Variant, c_header};

use crate::known::{SANDBOX, UCC, variant};

#[track_caller]
fn says(header: &str, lines: &[&str]) {
    let clean = |line: &str| {
        line.trim()
            .trim_start_matches("/**")
            .trim_end_matches("*/")
            .trim()
            .trim_start_matches("* ")
            .trim()
            .to_owned()
    };
    let all = header.lines().map(clean).collect::<Vec<_>>();
    assert!(
        all.windows(lines.len()).any(|window| window == lines),
        "{lines:?} is not in\n{header}"
    );
}

#[test]
fn an_answer_that_is_not_among_the_notifications_is_named_as_it_is() {
    const VARIANTS: &[Variant] = &[Variant { reply: Some("Elsewhere"), ..variant("A", 0, &[]) }];
    let commands = Messages { variants: VARIANTS, ..SANDBOX.commands };
    says(&c_header(&Protocol { commands, ..SANDBOX }), &["Answered by Elsewhere."]);
}

#[test]
fn payloads_are_listed_with_their_lengths_and_conditions() {
    let sandbox = c_header(&SANDBOX);
    says(
        &sandbox,
        &[
            "Payloads, in this order:",
            "1. `exported`: `exported_memh_buffer_len` bytes;",
            "their address word is `map_params.exported_memh_buffer`.",
        ],
    );
    says(
        &sandbox,
        &[
            "1. `data`: `count` bytes if `memh_id` is 0;",
            "else none here, and `buffer` is where they lie in registered memory.",
        ],
    );
    says(
        &sandbox,
        &[
            "1. `data`: `count` bytes if `buffer` is not 0;",
            "else none here, they lie in the command's registered memory.",
        ],
    );
    says(
        &c_header(&UCC),
        &[
            "1. `args`: 1 element of `struct ucc_coll_args`;",
            "their address word is `coll_args`.",
            "2. `array`: `size` elements of `int64_t` if `stride <= 0`, else none.",
            "3. `counts`: `counts_len(args, team_size)` bytes if `is_vector(args)`, else none.",
            "*",
            "Answered by UCC_NOTIFICATION_COLL_DONE.",
        ],
    );
}

#[test]
fn comments_of_fields_describe_their_purpose() {
    let sandbox = c_header(&SANDBOX);
    says(&sandbox, &["The answer repeats it.", "uint64_t context;"]);
    says(&sandbox, &["Repeats the command's.", "uint64_t context;"]);
    says(&sandbox, &["The address word of payload `data`.", "uint64_t buffer;"]);
    says(&sandbox, &["The length of payload `data`.", "uint64_t count;"]);
    says(
        &sandbox,
        &[
            "0 when payload `data` is inline, else the registered memory that it lies in.",
            "uint64_t memh_id;",
        ],
    );
    says(&sandbox, &["A host takes 1 for it too when it is the answer that is due."]);
    says(&sandbox, &["What to map.", "struct worker_sandbox_map_params {"]);
}
