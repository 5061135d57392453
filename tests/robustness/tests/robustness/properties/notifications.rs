//! Arbitrary notifications.

use proptest::prelude::*;
use rdmo_protocol::ClientInitialized;
use sandbox_protocol::TagReceived;
use urom_abi::Received;
use urom_pdk::test_util::seeds;

use super::{bytes, config, notification, payload, seen};

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_notification_comes_back_as_it_was(seed in seeds(), echo in any::<u64>()) {
        macro_rules! come_back {
            ($name:ident = $module:path { $($command:ident $(<$life:lifetime>)?),*; $($reply:ident $({ $echo:ident })?),* }) => {{
                use $module as this;
                $(notification(seed.make::<this::$reply>(), echo);)*
            }};
        }
        robustness::every_message!(come_back);
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes hundreds of values")]
fn generated_values_are_of_every_kind() {
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
