//! Two network namespaces joined by a veth pair. Needs root, `ip`, `tc` and `nft`.

use std::io::ErrorKind;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::vitals::until;

/// The service's address; each pair of namespaces is isolated.
pub(super) const SERVICE: &str = "10.118.0.2";
const HOST: &str = "10.118.0.1";

const INTERFACE: &str = "wire";

const UP: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// The host's interface goes down; its kernel detects it.
    AtHost,
    /// The service's interface goes down.
    AtService,
    /// Packets are dropped without the kernels' notice.
    Silently,
}

impl Cut {
    pub(super) const ALL: [Cut; 3] = [Cut::AtHost, Cut::AtService, Cut::Silently];
}

#[derive(Debug)]
pub(super) struct Link {
    host: String,
    service: String,
}

fn run(program: &str, words: &[&str]) -> Result<String> {
    let output = Command::new(program)
        .args(words)
        .output()
        .with_context(|| format!("cannot run {program}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{program} {}: {}", words.join(" "), said.trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

impl Link {
    pub(super) fn new() -> Result<Link> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = |side| format!("urom-{}-{number}-{side}", std::process::id());
        let link = Link { host: name("host"), service: name("service") };
        for namespace in [&link.host, &link.service] {
            run("ip", &["netns", "add", namespace])?;
            run("ip", &["-n", namespace, "link", "set", "lo", "up"])?;
        }
        let (host, service) = (link.host.as_str(), link.service.as_str());
        let pair = ["type", "veth", "peer", "name", INTERFACE, "netns", service];
        run("ip", &[&["-n", host, "link", "add", INTERFACE], &pair[..]].concat())?;
        for (namespace, address) in [(host, HOST), (service, SERVICE)] {
            run(
                "ip",
                &["-n", namespace, "address", "add", &format!("{address}/30"), "dev", INTERFACE],
            )?;
            run("ip", &["-n", namespace, "link", "set", INTERFACE, "up"])?;
        }
        link.wait_until_up()?;
        Ok(link)
    }

    /// Waits for both interfaces: they come up late, and UCX skips interfaces that are down.
    fn wait_until_up(&self) -> Result<()> {
        [&self.host, &self.service].into_iter().try_for_each(|namespace| {
            let words = ["-n", namespace.as_str(), "-o", "link", "show", INTERFACE];
            until(UP, "the interface is up", || Ok(run("ip", &words)?.contains("state UP")))
                .map(drop)
        })
    }

    fn set(&self, namespace: &str, state: &str) -> Result<()> {
        run("ip", &["-n", namespace, "link", "set", INTERFACE, state]).map(drop)
    }

    pub(super) fn in_host(&self) -> [&str; 4] {
        ["ip", "netns", "exec", &self.host]
    }

    pub(super) fn in_service(&self) -> [&str; 4] {
        ["ip", "netns", "exec", &self.service]
    }

    pub(super) fn cut(&self, cut: Cut) -> Result<()> {
        match cut {
            Cut::AtHost => self.set(&self.host, "down"),
            Cut::AtService => self.set(&self.service, "down"),
            Cut::Silently => self.drop_incoming(""),
        }
    }

    pub(super) fn restore(&self, cut: Cut) -> Result<()> {
        match cut {
            Cut::AtHost => self.set(&self.host, "up")?,
            Cut::AtService => self.set(&self.service, "up")?,
            Cut::Silently => {
                let dropped = self.dropped()?;
                ensure!(dropped != [0, 0], "packets were to vanish, and none came");
                for namespace in [&self.host, &self.service] {
                    nft(namespace, &["delete", "table", "inet", "faults"])?;
                }
            }
        }
        // Otherwise a kernel caches the failed address resolution for a while.
        for namespace in [&self.host, &self.service] {
            run("ip", &["-n", namespace, "neighbour", "flush", "dev", INTERFACE])?;
        }
        self.wait_until_up()
    }

    pub(super) fn lose(&self, percent: u32) -> Result<()> {
        self.drop_incoming(&format!("numgen random mod 100 < {percent}"))
    }

    fn drop_incoming(&self, rule: &str) -> Result<()> {
        for namespace in [&self.host, &self.service] {
            let rules = format!(
                "table inet faults {{ chain incoming {{ type filter hook input priority 0; iifname {INTERFACE} {rule} counter drop; }}; }}"
            );
            nft(namespace, &[&rules])?;
        }
        Ok(())
    }

    /// Number of dropped packets at the host's and the service's end.
    pub(super) fn dropped(&self) -> Result<[u64; 2]> {
        let at = |namespace| {
            let table = nft(namespace, &["list", "table", "inet", "faults"])?;
            number_behind(&table, "counter packets ")
                .with_context(|| format!("no counter in {table}"))
        };
        Ok([at(&self.host)?, at(&self.service)?])
    }

    /// Number of waits of packets for the rate limit, at the host's and the service's end.
    pub(super) fn held_back(&self) -> Result<[u64; 2]> {
        let at = |namespace| {
            let shape =
                run("tc", &["-s", "-n", namespace, "qdisc", "show", "dev", INTERFACE, "root"])?;
            number_behind(&shape, "overlimits ").with_context(|| format!("no counter in {shape}"))
        };
        Ok([at(&self.host)?, at(&self.service)?])
    }

    /// Limits the rate in each direction, with a queue that empties in 200 ms.
    pub(super) fn throttle(&self, rate: &str) -> Result<()> {
        for namespace in [&self.host, &self.service] {
            let shape = ["tbf", "rate", rate, "burst", "4kb", "latency", "200ms"];
            run(
                "tc",
                &[&["-n", namespace, "qdisc", "add", "dev", INTERFACE, "root"], &shape[..]]
                    .concat(),
            )?;
        }
        Ok(())
    }
}

fn nft(namespace: &str, words: &[&str]) -> Result<String> {
    run("ip", &[&["netns", "exec", namespace, "nft"], words].concat())
}

fn number_behind(text: &str, name: &str) -> Option<u64> {
    let (_, rest) = text.split_once(name)?;
    rest.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

impl Drop for Link {
    fn drop(&mut self) {
        for namespace in [&self.host, &self.service] {
            // The namespace may not exist.
            let _ = run("ip", &["netns", "delete", namespace]);
        }
    }
}

/// Why this machine cannot create such links; `None` if it can.
pub(super) fn obstacle() -> Result<Option<String>> {
    let tried = Link::new().and_then(|link| {
        link.throttle("1mbit")?;
        link.lose(1)
    });
    match tried {
        Ok(()) => Ok(None),
        Err(error) if is_want(&error) => Ok(Some(format!(
            "network namespaces, tbf and nftables take root, iproute2, nftables and a kernel with them: {error:#}"
        ))),
        Err(error) => Err(error.context("trying out a link between two network namespaces")),
    }
}

/// Messages of the programs when a right or a kernel feature is missing.
const WANTS: [&str; 6] = [
    "Operation not permitted",
    "Permission denied",
    "Operation not supported",
    "Protocol not supported",
    "Unknown device type",
    "qdisc kind is unknown",
];

/// Whether a failure is due to missing rights, programs or kernel features.
fn is_want(error: &anyhow::Error) -> bool {
    let no_program = error.downcast_ref::<std::io::Error>().is_some_and(|error| {
        matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied)
    });
    let text = format!("{error:#}");
    // `ip netns exec` reports a missing nft itself.
    no_program || text.contains("exec of") || WANTS.iter().any(|want| text.contains(want))
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn a_missing_requirement_is_distinguished_from_a_failure() {
        let missing = run("a-program-that-does-not-exist", &[]).unwrap_err();
        assert!(is_want(&missing), "{missing:#}");
        let wants = [
            "Cannot open network namespace: Operation not permitted",
            "exec of \"nft\" failed: No such file",
        ];
        assert!(wants.iter().all(|text| is_want(&anyhow!("ip netns: {text}"))));
        for text in ["RTNETLINK answers: File exists", "the interface is up: not within 10s"] {
            assert!(!is_want(&anyhow!(text)), "{text}");
        }
    }
}
