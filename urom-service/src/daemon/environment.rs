//! A worker's environment: some of the daemon's variables, and the requested ones.

use std::ffi::{OsStr, OsString};
use std::net::IpAddr;
use std::os::unix::ffi::OsStrExt;

use crate::worker::{LOOPBACK, is_loopback};

const KEPT: [&str; 4] = ["LD_LIBRARY_PATH", "PATH", "RUST_BACKTRACE", "RUST_LIB_BACKTRACE"];

/// UCX's configuration, on which host and worker must agree.
const KEPT_PREFIX: &[u8] = b"UCX_";

/// Default heap setting of workers. glibc caches 7 freed blocks of each size; each command in
/// flight needs two (its descriptor and its answer's), and further blocks are slower.
const HEAP: (&str, &str) = ("GLIBC_TUNABLES", "glibc.malloc.tcache_count=512");

const DEVICES: &str = "UCX_NET_DEVICES";
const TRANSPORTS: &str = "UCX_TLS";

/// Names that hosts may always set: they choose among UCX's transports and set its log level.
const FOR_HOSTS: [&str; 2] = ["UCX_LOG_LEVEL", "UCX_TLS"];

const FOR_PLUGINS: &str = "UROM_";

/// The kit's own names, some for keys, services and libraries.
const OWN: [&str; 10] = [
    "UROM_CPUS",
    "UROM_DEVICE",
    "UROM_DOCA_LIBRARY",
    "UROM_EMULATION_DEVICES",
    "UROM_EMULATION_THRESHOLD",
    "UROM_KEY_FILE",
    "UROM_PEER_TIMEOUT",
    "UROM_PLUGIN_PATH",
    "UROM_SERVICE_PORT",
    "UROM_UCX_DIR",
];

pub(crate) fn allowed(text: &str) -> Result<String, &'static str> {
    let name = text.strip_suffix('*').unwrap_or(text);
    match name.is_empty() || name.contains(['=', '*', '\0']) {
        true => {
            Err("what hosts may set is given as NAME, or as PREFIX* for all names that begin so")
        }
        false => Ok(text.to_owned()),
    }
}

pub(crate) fn given(text: &str) -> Result<String, &'static str> {
    match text.is_empty() || text.starts_with('=') {
        true => Err(
            "a variable for workers is given as NAME, which is then the daemon's own, or as NAME=VALUE",
        ),
        false => Ok(text.to_owned()),
    }
}

/// Returns a worker's variables from the daemon's environment `own`, without its host's variables.
/// On a loopback address `listen`, UCX also listens only there by default.
pub(crate) fn inherited(
    own: impl Iterator<Item = (OsString, OsString)>,
    given: &[String],
    listen: IpAddr,
) -> Vec<(OsString, OsString)> {
    let is_kept = |name: &OsStr| {
        name.as_bytes().starts_with(KEPT_PREFIX)
            || KEPT.iter().any(|kept| name == *kept)
            || given.iter().any(|given| name == &given[..])
    };
    // For equal names, the later value counts.
    let mut kept = vec![(HEAP.0.into(), HEAP.1.into())];
    kept.extend(own.filter(|(name, _)| is_kept(name)));
    if is_loopback(listen) && !kept.iter().any(|(name, _)| name == DEVICES) {
        let has_tcp = kept.iter().rev().find(|(name, _)| name == TRANSPORTS);
        let has_tcp = has_tcp.is_none_or(|(_, list)| may_use_tcp(&list.to_string_lossy()));
        for (name, value) in LOOPBACK {
            let name = OsString::from(format!("UCX_{name}"));
            // UCX warns about settings of unused transports.
            let is_used = has_tcp || name == DEVICES;
            if is_used && !kept.iter().any(|(kept, _)| *kept == name) {
                kept.push((name, value.into()));
            }
        }
    }
    let valued = given.iter().filter_map(|given| given.split_once('='));
    kept.extend(valued.map(|(name, value)| (name.into(), value.into())));
    kept
}

fn may_use_tcp(list: &str) -> bool {
    let (is_ban, list) = list.strip_prefix('^').map_or((false, list), |list| (true, list));
    let named = list.split(',').any(|name| ["tcp", "all", "*"].contains(&name.trim()));
    named != is_ban
}

/// Returns whether a host may give a variable this value. Its inherited value is always allowed.
pub(crate) fn is_granted(
    (given, allowed): (&[String], &[String]),
    inherited: &[(OsString, OsString)],
    name: &str,
    value: &str,
) -> bool {
    let is_given = |given: &String| given.split('=').next() == Some(name);
    let is_allowed = |allowed: &String| match allowed.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == allowed,
    };
    let has = inherited.iter().rev().find(|(inherited, _)| inherited == name);
    name.starts_with(FOR_PLUGINS) && !OWN.contains(&name)
        || FOR_HOSTS.contains(&name)
        || given.iter().any(is_given)
        || allowed.iter().any(is_allowed)
        || has.is_some_and(|(_, has)| has == value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCAL: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
    const ANYWHERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED);

    fn names(own: &[&str], given: &[&str], listen: IpAddr) -> Vec<String> {
        let own = own.iter().map(|name| (OsString::from(name), OsString::from("own")));
        let given: Vec<_> = given.iter().map(|text| super::given(text).unwrap()).collect();
        let text =
            |(name, value): (OsString, OsString)| format!("{}={}", name.display(), value.display());
        let mut all = inherited(own, &given, listen).into_iter().map(text);
        assert_eq!(all.next().as_deref(), Some("GLIBC_TUNABLES=glibc.malloc.tcache_count=512"));
        all.collect()
    }

    #[test]
    fn a_worker_has_what_it_needs_and_what_was_given_and_no_more() {
        let own = [
            "HOME",
            "PATH",
            "UROM_KEY_FILE",
            "UCX_TLS",
            "AWS_SECRET",
            "SEEN",
            "LD_PRELOAD",
            "XUCX_A",
        ];
        let managers = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"];
        assert_eq!(
            names(&managers, &[], ANYWHERE),
            [""; 0],
            "workers are not what the manager started"
        );
        assert_eq!(names(&own, &[], ANYWHERE), ["PATH=own", "UCX_TLS=own"]);
        let given = ["SEEN", "ABSENT", "UCX_TLS=tcp", "NEW=a=b", "EMPTY="];
        let expected = ["PATH=own", "UCX_TLS=own", "SEEN=own", "UCX_TLS=tcp", "NEW=a=b", "EMPTY="];
        assert_eq!(names(&own, &given, ANYWHERE), expected);
    }

    #[test]
    fn ucx_listens_where_the_worker_does_unless_somebody_says_otherwise() {
        let loopback =
            ["UCX_NET_DEVICES=lo", "UCX_TCP_TX_SEG_SIZE=64K", "UCX_TCP_RX_SEG_SIZE=512K"];
        assert_eq!(names(&[], &[], LOCAL), loopback);
        assert_eq!(names(&[], &[], "::ffff:127.0.0.1".parse().unwrap()), loopback);
        assert_eq!(names(&[], &[], ANYWHERE), [""; 0]);
        assert_eq!(names(&["UCX_NET_DEVICES"], &[], LOCAL), ["UCX_NET_DEVICES=own"]);
        assert_eq!(names(&[], &["GLIBC_TUNABLES=given"], ANYWHERE), ["GLIBC_TUNABLES=given"]);
        for (list, count) in [("self,sm", 1), ("^tcp", 1), ("tcp,self", 3), ("^sm", 3), ("all", 3)]
        {
            let own = [("UCX_TLS".into(), list.into())].into_iter();
            let kept = inherited(own, &[], LOCAL);
            let of_loopback =
                |(name, _): &&(OsString, OsString)| name != TRANSPORTS && name != HEAP.0;
            assert_eq!(kept.iter().filter(of_loopback).count(), count, "{list}");
        }
        let both = [&loopback[..], &["UCX_NET_DEVICES=eth0"]].concat();
        assert_eq!(names(&[], &["UCX_NET_DEVICES=eth0"], LOCAL), both);
    }

    #[test]
    fn a_text_that_is_no_variable_is_refused() {
        for text in ["", "=", "=value"] {
            assert!(given(text).is_err(), "{text:?}");
        }
    }

    fn granted(
        text: &str,
        inherited: &[(OsString, OsString)],
        given: &[&str],
        allowed: &[&str],
    ) -> bool {
        let given: Vec<_> = given.iter().map(|text| super::given(text).unwrap()).collect();
        let allowed: Vec<_> = allowed.iter().map(|text| super::allowed(text).unwrap()).collect();
        let (name, value) = text.split_once('=').unwrap();
        is_granted((&given, &allowed), inherited, name, value)
    }

    #[test]
    fn hosts_set_what_is_for_plugins_and_ucx_transports_and_nothing_else() {
        for text in
            ["UROM_X=1", "UROM_MY_PLUGIN=", "UCX_TLS=tcp", "UCX_LOG_LEVEL=info", "UROM_KEY_FILES=x"]
        {
            assert!(granted(text, &[], &[], &[]), "{text}");
        }
        for text in [
            "LD_PRELOAD=x",
            "OPENSSL_CONF=x",
            "A=b",
            "UCX_TLS2=x",
            "UCX_MODULE_DIR=x",
            "urom_x=1",
            "PATH=x",
        ] {
            assert!(!granted(text, &[], &[], &[]), "{text}");
        }
        for own in OWN {
            assert!(!granted(&format!("{own}=x"), &[], &[], &[]), "{own}");
        }
    }

    #[test]
    fn the_daemons_options_allow_more_variables() {
        assert!(
            granted("TRACE=2", &[], &["TRACE=1"], &[]),
            "what it gives, hosts give another value"
        );
        assert!(granted("TRACE=2", &[], &["TRACE"], &[]));
        assert!(granted("MY_LEVEL=2", &[], &[], &["OTHER", "MY_*"]));
        assert!(granted("OTHER=2", &[], &[], &["OTHER", "MY_*"]));
        assert!(!granted("OTHERS=2", &[], &[], &["OTHER", "MY_*"]));
        assert!(granted("UROM_KEY_FILE=x", &[], &[], &["UROM_KEY_FILE"]), "it was announced");
        assert!(is_granted((&[], &["*".to_owned()]), &[], "LD_PRELOAD", "x"), "all");
    }

    #[test]
    fn a_host_may_ask_for_the_value_that_a_worker_has_anyway() {
        let has: Vec<(OsString, OsString)> =
            ["old", "new"].map(|value| ("LD_LIBRARY_PATH".into(), value.into())).into();
        assert!(granted("LD_LIBRARY_PATH=new", &has, &[], &[]));
        assert!(!granted("LD_LIBRARY_PATH=old", &has, &[], &[]), "the later one counts");
        assert!(!granted("LD_LIBRARY_PATH=", &has, &[], &[]));
    }

    #[test]
    fn a_pattern_that_names_no_variables_is_refused() {
        for text in ["", "*", "A=b", "A*B", "**", "A=*"] {
            assert!(allowed(text).is_err(), "{text:?}");
        }
    }
}
