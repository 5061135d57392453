//! Arbitrary notifications.

use graph_protocol::LoopbackDone;
use proptest::prelude::*;
use sandbox_protocol::{MemMapped, TagReceived, TagSent};
use test_protocols::rdmo::{ClientInitialized, MrDeregistered, MrRegistered, RqCreated, RqDestroyed};
use test_protocols::ucc::{
    ChannelCreated, CollDone, ContextCreated, ContextDestroyed, LibCreated, LibDestroyed, TeamCreated,
};
use urom_abi::{Payload, Received};

use super::{bytes, config, notification, payload, word};

proptest! {
    #![proptest_config(config())]

    #[test]
    fn notifications_of_numbers(value in word(), echo in word(), status in any::<i8>()) {
        notification(LoopbackDone { data: value }, echo);
        notification(MemMapped { memh_id: value }, echo);
        notification(TagSent { status }, echo);
        notification(RqCreated { rq_id: value }, echo);
        notification(RqDestroyed { rq_id: value }, echo);
        notification(MrRegistered { rkey: value }, echo);
        notification(MrDeregistered { rkey: value }, echo);
        notification(LibCreated, echo);
        notification(LibDestroyed, echo);
        notification(ContextCreated { context: value }, echo);
        notification(ContextDestroyed, echo);
        notification(TeamCreated { team: value }, echo);
        notification(CollDone { status: value as i32 }, echo);
        notification(ChannelCreated { status: value as i32 }, echo);
    }

    #[test]
    fn tag_received(content in bytes(), sender_tag in word(), status in any::<i8>(), echo in word(), len in word()) {
        let reply = |data| TagReceived { data, sender_tag, status };
        notification(reply(Received::Inline(Payload::from(&content[..]))), echo);
        notification(reply(Received::Registered { len }), echo);
        payload(&content, echo, |data| reply(Received::Inline(data)), TagReceived::payload);
    }

    #[test]
    fn client_initialized(content in bytes(), echo in word()) {
        notification(ClientInitialized { addr: Payload::from(&content[..]) }, echo);
        payload(&content, echo, |addr| ClientInitialized { addr }, ClientInitialized::payload);
    }
}
