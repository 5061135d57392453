//! UCX's settings by release: differences of old releases, and settings that fail later.

use std::borrow::Cow;

use crate::features::Features;
use crate::version::Version;

/// The first release that reads the setting of one transport by its name in the environment.
const BY_TRANSPORT: Version = Version { major: 1, minor: 17, patch: 0 };

/// The first release without warnings for settings of unused transports.
const SILENT: Version = Version { major: 1, minor: 20, patch: 0 };

/// The first release where an endpoint may fail during a rendezvous message without memory hooks.
const WITHOUT_HOOKS: Version = Version { major: 1, minor: 22, patch: 0 };

/// The first release whose old protocols lack put, get and atomic operations.
const NEW_PROTOCOLS_ONLY: Version = Version { major: 1, minor: 22, patch: 0 };

/// Setting prefixes of transports with a receive queue in shared memory.
const QUEUES: [(&str, &str); 2] = [("POSIX_", "posix"), ("SYSV_", "sysv")];

/// Names in UCX's transport list that stand for several transports, including [`QUEUES`].
const SEVERAL: [&str; 5] = ["all", "*", "shm", "sm", "mm"];

pub(crate) type Setting<'a> = (Cow<'a, str>, Cow<'a, str>);

/// Adapts the settings to `release`; `environment` is the environment's transport list. Drops
/// settings of unused transports before 1.20, which would log a warning. UCX 1.16 has only common
/// settings for receive queues (`MM_..`): they get the values of `posix`; `sysv` is disabled.
pub(crate) fn for_release<'a>(
    settings: &'a [(String, String)],
    release: Version,
    environment: Option<&str>,
) -> Vec<Setting<'a>> {
    let plain = |(name, value): &'a (String, String)| (Cow::from(name), Cow::from(value));
    if release >= SILENT {
        return settings.iter().map(plain).collect();
    }
    let own =
        settings.iter().rev().find(|(name, _)| name == "TLS").map(|(_, value)| value.as_str());
    let list = own.or(environment).unwrap_or("all");
    let used =
        |setting: &&(String, String)| transport(&setting.0).is_none_or(|name| allows(list, name));
    let used = settings.iter().filter(used);
    if release >= BY_TRANSPORT {
        return used.map(plain).collect();
    }
    let is_of_posix = |(name, _): &(String, String)| transport(name) == Some("posix");
    let without = used.clone().any(is_of_posix) && allows(list, "sysv");
    let mut taken: Vec<_> = used
        .filter(|(name, _)| transport(name) != Some("sysv"))
        .map(|(name, value)| match name.strip_prefix("POSIX_") {
            Some(rest) => (Cow::from(format!("MM_{rest}")), Cow::from(value)),
            None => (Cow::from(name.strip_prefix("TCP_").unwrap_or(name)), Cow::from(value)),
        })
        .collect();
    if without {
        taken.push(("TLS".into(), without_sysv(list).into()));
    }
    taken
}

pub(crate) fn without_rendezvous(
    release: Version,
    environment: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let without = environment("UCX_MEM_EVENTS").is_some_and(|value| is_off(&value));
    (release < WITHOUT_HOOKS && without).then(|| {
        format!(
            "UCX {release} with UCX_MEM_EVENTS=n crashes when a peer goes away during a rendezvous \
             message: long messages are sent eagerly, which takes longer; unset the variable, or \
             use UCX {WITHOUT_HOOKS} or newer"
        )
    })
}

pub(crate) fn is_off(value: &str) -> bool {
    ["n", "no", "off", "0"].iter().any(|no| value.eq_ignore_ascii_case(no))
}

pub(crate) fn refused(
    features: Features,
    settings: &[(String, String)],
    release: Version,
    environment: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let own = settings
        .iter()
        .rev()
        .find(|(name, _)| name == "PROTO_ENABLE")
        .map(|(_, value)| value.clone());
    let remedy = match own {
        // The variable has no effect then.
        Some(_) => "leave out that setting of the context",
        None => "unset it, or set it to y",
    };
    let old_protocols =
        own.or_else(|| environment("UCX_PROTO_ENABLE")).is_some_and(|value| is_off(&value));
    let remote = features.contains(Features::RMA) || features.contains(Features::AMO64);
    (old_protocols && remote && release >= NEW_PROTOCOLS_ONLY).then(|| {
        format!("release {release} lacks access to remote memory with UCX_PROTO_ENABLE=n: {remedy}")
    })
}

fn transport(name: &str) -> Option<&'static str> {
    QUEUES.iter().find(|(begin, _)| name.starts_with(begin)).map(|(_, transport)| *transport)
}

fn allows(list: &str, transport: &str) -> bool {
    let (others, list) = list.strip_prefix('^').map_or((false, list), |list| (true, list));
    let named = list.split(',').any(|word| {
        let word = word.trim().trim_start_matches('\\');
        word == transport || SEVERAL.contains(&word)
    });
    named != others
}

/// The shared memory transports. Some are for long messages only.
const MEMORY: [&str; 5] = ["posix", "sysv", "xpmem", "cma", "knem"];

pub(crate) fn has_queues(list: &str) -> bool {
    MEMORY.iter().take(3).any(|transport| allows(list, transport))
}

pub(crate) fn without_memory(list: &str) -> String {
    if list.starts_with('^') {
        return format!("{list},shm");
    }
    let words: Vec<&str> = list.split(',').map(str::trim).collect();
    if words.iter().any(|word| matches!(*word, "all" | "*")) {
        return "^shm".to_owned();
    }
    let is_other = |word: &&&str| {
        let name = word.trim_start_matches('\\');
        !MEMORY.contains(&name) && !SEVERAL.contains(&name)
    };
    let words: Vec<&str> = words.iter().filter(is_other).copied().collect();
    if words.is_empty() { "self".to_owned() } else { words.join(",") }
}

/// Returns the list without `sysv`; group names become the transports of every machine.
fn without_sysv(list: &str) -> String {
    if list.starts_with('^') {
        return format!("{list},sysv");
    }
    let words: Vec<&str> = list.split(',').map(str::trim).collect();
    if words.iter().any(|word| matches!(*word, "all" | "*")) {
        return "^sysv".to_owned();
    }
    let words = words.iter().filter(|word| **word != "sysv").map(|word| match *word {
        "shm" | "sm" => "posix,cma",
        "mm" => "posix",
        word => word,
    });
    words.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::version::tests::parse;

    fn owned(settings: &[(&str, &str)]) -> Vec<(String, String)> {
        settings.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    fn taken(settings: &[(&str, &str)], release: &str, environment: Option<&str>) -> String {
        let settings = owned(settings);
        let taken = for_release(&settings, parse(release), environment);
        let words: Vec<_> = taken.iter().map(|(name, value)| format!("{name}={value}")).collect();
        words.join(" ")
    }

    const QUEUE: (&str, &str) = ("POSIX_FIFO_SIZE", "64");
    const SYSV: (&str, &str) = ("SYSV_ERROR_HANDLING", "n");
    const OTHER: (&str, &str) = ("KEEPALIVE_INTERVAL", "inf");

    #[test]
    fn a_release_from_1_20_on_takes_all_of_them() {
        for release in ["1.20.0", "1.22.0", "2.0.0"] {
            let expected = "TLS=tcp POSIX_FIFO_SIZE=64 SYSV_ERROR_HANDLING=n";
            assert_eq!(taken(&[("TLS", "tcp"), QUEUE, SYSV], release, None), expected);
        }
    }

    #[test]
    fn settings_of_unused_transports_are_left_out_before_1_20() {
        for release in ["1.17.0", "1.19.1"] {
            let both = "POSIX_FIFO_SIZE=64 SYSV_ERROR_HANDLING=n KEEPALIVE_INTERVAL=inf";
            for list in
                ["shm,self", "sm", "mm", "all", "*", "posix,sysv", "tcp, posix,\\sysv", "^tcp"]
            {
                assert_eq!(taken(&[QUEUE, SYSV, OTHER], release, Some(list)), both, "{list}");
            }
            for list in ["tcp", "tcp,self", "^shm", "^posix,sysv", "cma"] {
                let left = taken(&[QUEUE, SYSV, OTHER], release, Some(list));
                assert_eq!(left, "KEEPALIVE_INTERVAL=inf", "{list}");
            }
            assert_eq!(taken(&[QUEUE, SYSV], release, Some("posix")), "POSIX_FIFO_SIZE=64");
            assert_eq!(taken(&[QUEUE, SYSV, OTHER], release, None), both, "UCX uses all by itself");
        }
    }

    #[test]
    fn the_programs_own_list_goes_before_the_environments_and_the_last_counts() {
        let lists = [("TLS", "all"), ("TLS", "tcp"), QUEUE];
        assert_eq!(taken(&lists, "1.18.1", Some("shm")), "TLS=all TLS=tcp");
    }

    #[test]
    fn a_list_without_memory_has_the_other_transports() {
        for (list, others) in [
            ("all", "^shm"),
            ("tcp,shm,self", "tcp,self"),
            ("posix, \\cma,rc", "rc"),
            ("^tcp", "^tcp,shm"),
            ("shm", "self"),
            ("tcp", "tcp"),
        ] {
            assert_eq!(without_memory(list), others, "{list}");
            assert!(!has_queues(others), "{others}");
        }
        assert!(has_queues("all") && has_queues("tcp,mm") && has_queues("^tcp"));
        assert!(!has_queues("tcp,cma"));
    }

    fn why(
        features: Features,
        settings: &[(&str, &str)],
        release: &str,
        variable: &str,
    ) -> Option<String> {
        let settings = owned(settings);
        let (name, value) = variable.split_once('=').unwrap();
        let environment = |asked: &str| (asked == name).then(|| value.to_owned());
        refused(features, &settings, parse(release), environment)
    }

    #[test]
    fn a_release_that_crashes_without_hooks_sends_no_rendezvous_message() {
        let why = |release: &str, variable: &str, value: &str| {
            let environment = |asked: &str| (asked == variable).then(|| value.to_owned());
            without_rendezvous(parse(release), environment)
        };
        for value in ["n", "N", "no", "off", "0"] {
            for old in ["1.16.0", "1.21.0", "1.21.9"] {
                let why = why(old, "UCX_MEM_EVENTS", value).unwrap();
                assert!(
                    why.contains(old) && why.contains("unset") && why.contains("1.22.0"),
                    "{why}"
                );
            }
            assert_eq!(why("1.22.0", "UCX_MEM_EVENTS", value), None);
        }
        assert_eq!(why("1.16.0", "UCX_MEM_EVENTS", "y"), None);
        assert_eq!(why("1.16.0", "OTHER", "n"), None);
    }

    #[test]
    fn remote_memory_without_the_new_protocols_is_refused_from_1_22_on() {
        let (by_environment, by_program) = ("UCX_PROTO_ENABLE=n", [("PROTO_ENABLE", "n")]);
        for features in [Features::RMA | Features::TAG, Features::AMO64] {
            for why in [
                why(features, &[], "1.22.0", by_environment),
                why(features, &by_program, "1.22.0", "OTHER=n"),
            ] {
                assert!(why.as_ref().unwrap().contains("UCX_PROTO_ENABLE"), "{why:?}");
            }
            assert_eq!(why(features, &[], "1.21.0", by_environment), None);
            assert_eq!(why(features, &[("PROTO_ENABLE", "y")], "1.22.0", by_environment), None);
        }
        assert_eq!(why(Features::TAG | Features::AM, &by_program, "1.22.0", by_environment), None);
    }

    #[test]
    fn in_1_16_posix_has_the_settings_and_sysv_is_not_used() {
        let queue = "MM_FIFO_SIZE=64";
        for (list, expected) in [
            (None, "MM_FIFO_SIZE=64 TLS=^sysv"),
            (Some("all"), "MM_FIFO_SIZE=64 TLS=^sysv"),
            (Some("tcp,shm,self"), "MM_FIFO_SIZE=64 TLS=tcp,posix,cma,self"),
            (Some("sysv,posix"), "MM_FIFO_SIZE=64 TLS=posix"),
            (Some("^cma"), "MM_FIFO_SIZE=64 TLS=^cma,sysv"),
            (Some("posix"), queue),
            (Some("^sysv"), queue),
            (Some("tcp"), ""),
        ] {
            assert_eq!(taken(&[QUEUE, SYSV], "1.16.0", list), expected, "{list:?}");
        }
        assert_eq!(taken(&[OTHER], "1.16.0", None), "KEEPALIVE_INTERVAL=inf", "sysv stays");
        let tcp = ("TCP_PUT_ENABLE", "n");
        assert_eq!(taken(&[tcp], "1.16.0", None), "PUT_ENABLE=n", "its name lacked a transport");
        assert_eq!(taken(&[tcp], "1.17.0", None), "TCP_PUT_ENABLE=n");
        assert_eq!(
            taken(&[("MM_SEG_SIZE", "9000")], "1.16.0", None),
            "MM_SEG_SIZE=9000",
            "as the program has it"
        );
    }
}
