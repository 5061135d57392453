//! A plugin's call that does not return.

use std::fmt;

use serde::{Deserialize, Serialize};
use urom_abi::plugin::PLUGIN_NAME_CAPACITY;

use super::bounded;

/// A method of a plugin, or loading it, which also runs the plugin's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Method {
    Load = 1,
    Open,
    Addr,
    WorkerCmd,
    Progress,
    NotifPack,
    Close,
    Attach,
    Call,
    Cancel,
    HostLeft,
    Arm,
}

impl Method {
    const ALL: [(Method, &str); 12] = [
        (Method::Load, "dlopen"),
        (Method::Open, "open"),
        (Method::Addr, "addr"),
        (Method::WorkerCmd, "worker_cmd"),
        (Method::Progress, "progress"),
        (Method::NotifPack, "notif_pack"),
        (Method::Close, "close"),
        (Method::Attach, "attach"),
        (Method::Call, "call"),
        (Method::Cancel, "cancel"),
        (Method::HostLeft, "host_left"),
        (Method::Arm, "arm"),
    ];

    pub fn of_number(number: u8) -> Option<Method> {
        Some(Method::ALL.get(usize::from(number).checked_sub(1)?)?.0)
    }

    /// The C name: a field of `struct urom_plugin_iface` or `urom_plugin_extension`, or `dlopen`.
    pub fn name(self) -> &'static str {
        Method::ALL[self as usize - 1].1
    }
}

/// A plugin's call that does not return. Its worker is blocked meanwhile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HungCall {
    #[serde(deserialize_with = "bounded::text::<_, PLUGIN_NAME_CAPACITY>")]
    pub plugin: String,
    pub method: Method,
    /// The duration of the call.
    pub seconds: u32,
}

impl fmt::Display for HungCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HungCall { plugin, method, seconds } = self;
        write!(f, "plugin `{plugin}` has not returned from `{}` for {seconds} s", method.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_is_found_by_its_number() {
        for (method, name) in Method::ALL {
            assert_eq!((Method::of_number(method as u8), method.name()), (Some(method), name));
        }
        let after = Method::ALL.len() as u8 + 1;
        assert_eq!((Method::of_number(0), Method::of_number(after)), (None, None));
    }
}
