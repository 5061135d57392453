//! The file in `DOCA_UROM_SERVICE_FILE`: the daemon of each host and device.
//!
//! Each line has five fields separated by white space: `<app_hostname> <service_type>
//! <dev_hostname> <dev_pci_addr> <net,devs>`. A field that begins with `#` begins a comment. Names
//! are case-insensitive; a short name equals qualified names that begin with it.

use std::fmt;
use std::net::IpAddr;

use urom_abi::Quantity;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServiceLine {
    pub(super) line: usize,
    app_host: String,
    /// The daemon's host name or address.
    pub(super) device_host: String,
    pci_address: String,
}

#[derive(Debug, Clone)]
pub(super) struct LocalMachine {
    pub(super) name: String,
    pub(super) addresses: Vec<IpAddr>,
}

impl LocalMachine {
    /// Returns the host name and all interface addresses; empty if the system does not report them.
    pub(super) fn of_this_machine() -> LocalMachine {
        let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let interfaces = if_addrs::get_if_addrs().unwrap_or_default();
        let addresses = interfaces.iter().map(if_addrs::Interface::ip).collect();
        LocalMachine { name, addresses }
    }

    fn is_called(&self, host: &str) -> bool {
        if let Ok(address) = host.parse::<IpAddr>() {
            return self.addresses.contains(&address);
        }
        same_host(&self.name, host)
    }
}

impl fmt::Display for LocalMachine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "host {}", self.name)?;
        let addresses = self.addresses.iter().filter(|address| !address.is_loopback());
        match &addresses.map(IpAddr::to_string).collect::<Vec<_>>()[..] {
            [] => Ok(()),
            addresses => write!(f, " (addresses {})", addresses.join(", ")),
        }
    }
}

/// Equal, or one is the first part of the other.
fn same_host(a: &str, b: &str) -> bool {
    let (a, b) = (
        a.trim_end_matches('.').to_ascii_lowercase(),
        b.trim_end_matches('.').to_ascii_lowercase(),
    );
    let begins = |long: &str, short: &str| {
        long.strip_prefix(short).is_some_and(|rest| rest.starts_with('.'))
    };
    a == b || (!b.contains('.') && begins(&a, &b)) || (!a.contains('.') && begins(&b, &a))
}

impl ServiceLine {
    /// Returns whether the line is for this machine and, if given, this device.
    pub(super) fn matches(&self, local: &LocalMachine, pci_address: Option<&str>) -> bool {
        local.is_called(&self.app_host)
            && pci_address.is_none_or(|wanted| long_pci(wanted).as_ref() == Some(&self.pci_address))
    }
}

/// Converts `dddd:bb:dd.f` or `bb:dd.f` to lower-case `dddd:bb:dd.f`. `None` for other text.
pub(super) fn long_pci(text: &str) -> Option<String> {
    let hex = |part: &str, len: usize| {
        part.len() == len && part.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let parts: Vec<&str> = text.split([':', '.']).collect();
    let (domain, rest) = match parts.as_slice() {
        [domain, rest @ ..] if rest.len() == 3 => (*domain, rest),
        rest if rest.len() == 3 => ("0000", rest),
        _ => return None,
    };
    let &[bus, device, function] = rest else { return None };
    let long = format!("{domain}:{bus}:{device}.{function}").to_ascii_lowercase();
    let valid = hex(domain, 4) && hex(bus, 2) && hex(device, 2) && hex(function, 1);
    (valid && long.ends_with(&text.to_ascii_lowercase())).then_some(long)
}

/// As [`long_pci`], with an error text.
pub(super) fn parse_pci(text: &str) -> Result<String, String> {
    long_pci(text).ok_or_else(|| {
        format!("`{text}` is not a PCI address: write it as 0000:03:00.0 or 03:00.0")
    })
}

/// Parses a file. An error has the line number, from 1, and a text.
pub(super) fn parse(text: &str) -> Result<Vec<ServiceLine>, (usize, String)> {
    let mut entries = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let fields: Vec<&str> =
            line.split_whitespace().take_while(|field| !field.starts_with('#')).collect();
        if fields.is_empty() {
            continue;
        }
        let line = index + 1;
        entries.push(entry(line, &fields).map_err(|reason| (line, reason))?);
    }
    Ok(entries)
}

fn entry(line: usize, fields: &[&str]) -> Result<ServiceLine, String> {
    let &[app_host, service, device_host, pci, devices] = fields else {
        return Err(format!(
            "{} where there must be five: \
             `<app_hostname> <service_type> <dev_hostname> <dev_pci_addr> <net,devs>`",
            Quantity(fields.len(), "field")
        ));
    };
    if service != "dpu" {
        return Err(format!("service type `{service}`: the only one is `dpu`"));
    }
    if let Some((host, port)) = with_port(device_host) {
        return Err(format!(
            "`{device_host}`: the third field is a host without a port: write `{host}`, and set UROM_SERVICE_PORT={port} \
             where uromd listens on another port than 18700"
        ));
    }
    let pci_address = parse_pci(pci)?;
    if let Some(device) = devices.split(',').find(|device| !is_net_device(device)) {
        return Err(format!(
            "`{device}` in `{devices}` is not a network device: write `name` or `name:port`"
        ));
    }
    // Brackets around an IPv6 address are allowed here without a port.
    let (app_host, device_host) = (bare(app_host).to_owned(), bare(device_host).to_owned());
    Ok(ServiceLine { line, app_host, device_host, pci_address })
}

pub(super) fn bare(text: &str) -> &str {
    let inside = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inside.filter(|inside| inside.contains(':')).unwrap_or(text)
}

fn with_port(text: &str) -> Option<(&str, &str)> {
    let (host, port) = text.rsplit_once(':')?;
    let is_host = !host.contains(':') || host.ends_with(']');
    (is_host && port.parse::<u16>().is_ok())
        .then(|| (host.trim_start_matches('[').trim_end_matches(']'), port))
}

fn is_net_device(text: &str) -> bool {
    let (name, port) = text.split_once(':').unwrap_or((text, "1"));
    !name.is_empty() && port.parse::<u16>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local() -> LocalMachine {
        LocalMachine {
            name: "node7.cluster.example".to_owned(),
            addresses: vec!["10.0.0.7".parse().unwrap()],
        }
    }

    fn matching(line: &str, pci: Option<&str>) -> bool {
        parse(line).unwrap()[0].matches(&local(), pci)
    }

    #[test]
    fn good_lines_are_read_and_the_rest_is_skipped() {
        let text = "\
# a comment
  # another

app_host1 dpu dpu_host1 03:00.0 dev1:1,dev2:1
\thostA\tdpu  10.0.0.9  0000:04:00.0   mlx5_0   # behind the fields
";
        let entries = parse(text).unwrap();
        assert_eq!(entries.iter().map(|entry| entry.line).collect::<Vec<_>>(), [4, 5]);
        assert_eq!(entries[0].pci_address, "0000:03:00.0");
        assert_eq!(
            (entries[1].app_host.as_str(), entries[1].device_host.as_str()),
            ("hostA", "10.0.0.9")
        );
        assert_eq!(parse("").unwrap(), []);
        for host in ["::1", "fe80::1:18700", "fe80::1%eth0", "10.0.0.9"] {
            assert_eq!(parse(&format!("h dpu {host} 03:00.0 n")).unwrap()[0].device_host, host);
        }
        for line in ["::2 dpu [::1] 03:00.0 n", "[::2] dpu ::1 03:00.0 n"] {
            let entry = &parse(line).unwrap()[0];
            assert_eq!(
                (entry.app_host.as_str(), entry.device_host.as_str()),
                ("::2", "::1"),
                "{line}"
            );
        }
        for host in ["::1", "fe80::1%eth0"] {
            assert_eq!(parse(&format!("h dpu [{host}] 03:00.0 n")).unwrap()[0].device_host, host);
        }
        assert_eq!(parse("h dpu d 03:00.0 n\r\n").unwrap().len(), 1);
    }

    #[test]
    fn a_bad_line_is_named_with_its_reason() {
        for (line, reason) in [
            ("hostA", "1 field where"),
            ("hostA dpu dpuA 03:00.0", "4 fields"),
            ("hostA dpu dpuA 03:00.0 a b", "6 fields"),
            ("hostA gpu dpuA 03:00.0 a", "`gpu`"),
            (
                "hostA dpu 127.0.0.1:18700 03:00.0 a",
                "write `127.0.0.1`, and set UROM_SERVICE_PORT=18700",
            ),
            ("hostA dpu dpuA:7 03:00.0 a", "UROM_SERVICE_PORT=7"),
            ("hostA dpu [::1]:7 03:00.0 a", "write `::1`"),
            ("hostA dpu dpuA 03:00 a", "`03:00`"),
            ("hostA dpu dpuA 0000:03:00:0 a", "`0000:03:00:0`"),
            ("hostA dpu dpuA 0000.03.00.0 a", "`0000.03.00.0`"),
            ("hostA dpu dpuA zz:00.0 a", "`zz:00.0`"),
            ("hostA dpu dpuA 0000:003:00.0 a", "`0000:003:00.0`"),
            ("hostA dpu dpuA 03:00.0 a,,b", "`a,,b`"),
            ("hostA dpu dpuA 03:00.0 a:x", "`a:x`"),
            ("hostA dpu dpuA 03:00.0 :1", "`:1`"),
        ] {
            let (at, why) = parse(&format!("# first\n{line}\nx dpu y 03:00.0 z\n")).unwrap_err();
            assert_eq!(at, 2, "{line}");
            assert!(why.contains(reason), "{line}: {why}");
        }
    }

    #[test]
    fn a_host_is_known_by_short_name_full_name_and_address() {
        for name in
            ["node7", "NODE7", "node7.cluster.example", "Node7.Cluster.Example.", "10.0.0.7"]
        {
            assert!(matching(&format!("{name} dpu d 03:00.0 n"), None), "{name}");
        }
        for name in ["node", "node77", "node7.cluster", "node7.other.example", "10.0.0.70", "7"] {
            assert!(!matching(&format!("{name} dpu d 03:00.0 n"), None), "{name}");
        }
    }

    #[test]
    fn a_device_is_known_by_both_forms_of_its_address() {
        for (file, device) in [
            ("03:00.0", "0000:03:00.0"),
            ("0000:03:00.0", "03:00.0"),
            ("0000:AF:1c.1", "0000:af:1C.1"),
        ] {
            assert!(matching(&format!("node7 dpu d {file} n"), Some(device)), "{file} {device}");
        }
        for (file, device) in
            [("03:00.0", "0000:03:00.1"), ("0001:03:00.0", "03:00.0"), ("03:00.0", "nonsense")]
        {
            assert!(!matching(&format!("node7 dpu d {file} n"), Some(device)), "{file} {device}");
        }
    }
}
