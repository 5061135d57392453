//! Arbitrary notifications.

use graph_protocol::LoopbackDone;
use proptest::prelude::*;
use sandbox_protocol::{MemMapped, TagReceived, TagSent};
use test_protocols::rdmo::{
    ClientInitialized, MrDeregistered, MrRegistered, RqCreated, RqDestroyed,
};
use test_protocols::ucc::{
    ChannelCreated, CollDone, ContextCreated, ContextDestroyed, LibCreated, LibDestroyed,
    TeamCreated,
};
use urom_abi::Received;
use urom_pdk::test_util::messages;

use super::{bytes, config, notification, payload, seen};

macro_rules! round_trips {
    ($($test:ident: $message:ty;)*) => {
        proptest! {
            #![proptest_config(config())]
            $(
                #[test]
                fn $test(reply in messages::<$message>(), echo in any::<u64>()) {
                    notification(reply, echo);
                }
            )*
        }
    };
}

round_trips! {
    loopback_done: LoopbackDone;
    mem_mapped: MemMapped;
    tag_sent: TagSent;
    tag_received: TagReceived;
    client_initialized: ClientInitialized;
    rq_created: RqCreated;
    rq_destroyed: RqDestroyed;
    mr_registered: MrRegistered;
    mr_deregistered: MrDeregistered;
    lib_created: LibCreated;
    lib_destroyed: LibDestroyed;
    context_created: ContextCreated;
    context_destroyed: ContextDestroyed;
    team_created: TeamCreated;
    coll_done: CollDone;
    channel_created: ChannelCreated;
}

#[test]
#[cfg_attr(miri, ignore = "takes hundreds of values")]
fn what_is_made_up_is_of_every_kind() {
    let kinds = seen(|seed| match seed.make::<TagReceived>().data {
        Received::Inline(bytes) if bytes.is_empty() => "empty",
        Received::Inline(_) => "inline",
        Received::Registered { .. } => "registered",
    });
    assert_eq!(kinds, ["empty", "inline", "registered"]);
    let variants = seen(|seed| match seed.make::<sandbox_protocol::Notification>() {
        sandbox_protocol::Notification::MemMapped { .. } => "mapped",
        sandbox_protocol::Notification::TagSent { .. } => "sent",
        sandbox_protocol::Notification::TagReceived { .. } => "received",
    });
    assert_eq!(variants, ["mapped", "received", "sent"]);
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_memory_of_a_received_message(content in bytes(), sender_tag in any::<u64>(), status in any::<i8>(), echo in any::<u64>()) {
        let reply = |data| TagReceived { data, sender_tag, status };
        payload(&content, echo, |data| reply(Received::Inline(data)), TagReceived::payload);
    }

    #[test]
    fn the_memory_of_an_address(content in bytes(), echo in any::<u64>()) {
        payload(&content, echo, |addr| ClientInitialized { addr }, ClientInitialized::payload);
    }
}
