//! Which service a context connects to, and the errors when it does not answer.

use std::env;
use std::ffi::OsString;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use urom_abi::DocaError;
use urom_os::named_file;
use urom_wire::control::{DEFAULT_PORT, Failure};
use urom_wire::hello::HelloError;
use urom_wire::patience::Patience;
use urom_wire::stream::StreamError;

use crate::address_file::{self, Found};
use crate::failure::{failure, stream_code};
use crate::service_file::{self, Local};

pub(super) const FILE_VARIABLE: &str = "DOCA_UROM_SERVICE_FILE";
/// The variable with the daemon's port, for addresses without one.
const PORT_VARIABLE: &str = "UROM_SERVICE_PORT";

/// The most bytes of a service file: lines for some ten thousand hosts.
const MOST: usize = 1 << 20;

/// A daemon's address, and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    host: String,
    port: u16,
    /// For messages: `from line 3 of FILE, named by DOCA_UROM_SERVICE_FILE`.
    origin: String,
    /// What to correct: `the file`.
    remedy: &'static str,
    source: Source,
}

/// The origin of an address, for advice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// A user, in a call, an option or the service file.
    User,
    /// The daemon itself, in its address file.
    Daemon,
    /// The embedded service: there is no other program that could be started.
    Embedded,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    Daemon(Address),
    /// The embedded service, perhaps with a plugin path instead of the variable's.
    Embedded(Option<OsString>),
}

impl Address {
    /// Reads `host:port`, `[v6]:port`, `host` or `@file`, as given by a call.
    pub(super) fn parse(text: &str, origin: Option<&str>) -> Result<Address, Failure> {
        let origin = format!("from {}", origin.unwrap_or("urom_service_set_address"));
        if let Some(file) = text.strip_prefix('@') {
            let Found { host, port, origin } = address_file::read(Path::new(file), &origin)?;
            let source = Source::Daemon;
            return Ok(Address { host, port, origin, remedy: "the address file", source });
        }
        let (host, port) = split(text).ok_or_else(|| {
            failure!(
                INVALID_VALUE,
                "`{text}` is no address of a service: write HOST:PORT, [IPV6]:PORT, HOST or @FILE"
            )
        })?;
        let port = port.unwrap_or(DEFAULT_PORT);
        Ok(Address { host, port, origin, remedy: "the address", source: Source::User })
    }

    /// A daemon of this process's own.
    pub(super) fn embedded(address: SocketAddr) -> Address {
        Address {
            host: address.ip().to_string(),
            port: address.port(),
            origin: "the embedded service of this process".to_owned(),
            remedy: "the plugins of UROM_PLUGIN_PATH",
            source: Source::Embedded,
        }
    }

    /// What to do when no daemon answers.
    fn advice(&self, how: Absent) -> String {
        let remedy = self.remedy;
        match how {
            _ if self.source == Source::Embedded => "its log may say why".to_owned(),
            _ if self.source == Source::Daemon => {
                "the process has ended without removing its file, \
                 or listens where only its own machine reaches it; start it again"
                    .to_owned()
            }
            Absent::Here => format!("start uromd there or correct {remedy}"),
            // Unless it is told otherwise, it listens on a loopback address.
            Absent::Elsewhere => {
                format!("start uromd there with --listen and its own address, or correct {remedy}")
            }
            Absent::Unreached => {
                format!("start uromd there, open its port on the way, or correct {remedy}")
            }
            Absent::Other => format!("correct {remedy}, or end the program that listens there"),
        }
    }

    fn shown(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    pub(super) async fn resolve(&self) -> Result<Vec<SocketAddr>, Failure> {
        match tokio::net::lookup_host((self.host.as_str(), self.port)).await {
            Ok(found) => Ok(with_loopback(&self.host, self.port, found)),
            Err(error) => Err(self.unknown_host(&error.to_string())),
        }
    }

    pub(super) fn unknown_host(&self, why: &str) -> Failure {
        let Address { host, origin, remedy, .. } = self;
        failure!(
            NOT_FOUND,
            "the UROM daemon's host `{host}` ({origin}) is not known: {why}; correct {remedy}, \
             or this machine's name resolution"
        )
    }

    pub(super) fn no_answer(&self, within: Patience) -> Failure {
        let (shown, origin) = (self.shown(), &self.origin);
        let advice = self.advice(Absent::Unreached);
        failure!(
            TIME_OUT,
            "no UROM daemon answers at {shown} within {within} s ({origin}): {advice}"
        )
    }

    /// The error for the addresses of the name, none of which let this host in, and why. A daemon
    /// that answers explains more than an address without one.
    pub(super) fn refused(&self, tried: &[(SocketAddr, StreamError)]) -> Failure {
        let is_absent = |(_, error): &&(SocketAddr, StreamError)| {
            matches!(error, StreamError::Io(_) | StreamError::Hello(HelloError::NotUrom))
        };
        let answer = tried.iter().find(|one| !is_absent(one));
        let Some((at, error)) = answer.or(tried.last()) else {
            return self.unknown_host("the name has no address");
        };
        let all = tried.iter().map(|(at, _)| at.to_string()).collect::<Vec<_>>().join(" and ");
        let tried = if answer.is_some() { at.to_string() } else { all };
        let (shown, origin) = (self.shown(), &self.origin);
        let advice = self.advice(Absent::of(*at, error));
        let tried = if tried == shown { String::new() } else { format!(", tried as {tried}") };
        let at = format!("at {shown}{tried} ({origin})");
        let absent = |why: &dyn std::fmt::Display| {
            failure!(NOT_CONNECTED, "no UROM daemon answers {at}: {why}: {advice}")
        };
        let code = stream_code(error);
        match error {
            // Without the words of a stream that broke: there never was one.
            StreamError::Io(error) if is_of_this_process(error) => failure!(
                NOT_CONNECTED,
                "this process cannot connect to the UROM daemon {at}: {error}"
            ),
            StreamError::Io(error) => absent(error),
            StreamError::Hello(HelloError::NotUrom) => absent(error),
            // A service answers, and the keys differ.
            StreamError::Key(_) => failure!(
                code = code,
                "this program and the UROM daemon {at} do not let each other in: {error}"
            ),
            // Something else answers.
            StreamError::Hello(_) => failure!(
                code = code,
                "this program and the UROM daemon {at} do not go together: {error}"
            ),
            _ => failure!(code = code, "no UROM daemon answers {at}: {error}"),
        }
    }

    /// The error for a stream that ended after the greeting, before the daemon's welcome.
    pub(super) fn not_welcomed(&self, daemon: SocketAddr, error: &StreamError) -> Failure {
        let Address { origin, .. } = self;
        let code = stream_code(error);
        let what = match error {
            StreamError::Closed | StreamError::Io(_) => {
                let again = if self.source == Source::Embedded {
                    ""
                } else {
                    "; start it again if it has ended"
                };
                format!(
                    "closed the connection before it had listed its plugins: its log may say why{again}"
                )
            }
            StreamError::Silent(_) => {
                format!("listed no plugins: {error}; its log may say why")
            }
            error => format!("listed no plugins: {error}"),
        };
        failure!(code = code, "the UROM daemon at {daemon} ({origin}) {what}")
    }
}

/// How a daemon is absent.
#[derive(Debug, Clone, Copy)]
enum Absent {
    /// Nothing listens on this machine.
    Here,
    /// Nothing listens on another machine, for this one.
    Elsewhere,
    /// Nothing answers.
    Unreached,
    /// Another program answers.
    Other,
}

impl Absent {
    fn of(at: SocketAddr, error: &StreamError) -> Absent {
        match error {
            StreamError::Io(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                if at.ip().is_loopback() { Absent::Here } else { Absent::Elsewhere }
            }
            StreamError::Hello(HelloError::NotUrom) => Absent::Other,
            _ => Absent::Unreached,
        }
    }
}

/// Whether a connection fails for want of descriptors, ports, memory or rights here.
pub(super) fn is_of_this_process(error: &std::io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(
            Errno::MFILE
                | Errno::NFILE
                | Errno::NOBUFS
                | Errno::NOMEM
                | Errno::ADDRNOTAVAIL
                | Errno::ACCESS
                | Errno::PERM
        )
    )
}

/// The addresses of a host, of `localhost` those of both families: a system may know only one of
/// them, and the daemon may listen on the other.
fn with_loopback(
    host: &str,
    port: u16,
    found: impl Iterator<Item = SocketAddr>,
) -> Vec<SocketAddr> {
    let mut addresses: Vec<_> = found.collect();
    let both = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    let both = both.map(|ip| SocketAddr::new(ip, port));
    let is_local = host.eq_ignore_ascii_case("localhost");
    for address in both.into_iter().filter(|_| is_local) {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    addresses
}

/// Splits an address; the port is missing when there is none.
pub(super) fn split(text: &str) -> Option<(String, Option<u16>)> {
    let valid =
        |host: &str| !host.is_empty() && !host.contains(|c: char| c.is_whitespace() || c == '[');
    if let Ok(socket) = text.parse::<SocketAddr>() {
        return Some((socket.ip().to_string(), Some(socket.port())));
    }
    if let Ok(ip) = service_file::bare(text).parse::<std::net::IpAddr>() {
        return Some((ip.to_string(), None));
    }
    match text.split_once(':') {
        None => valid(text).then(|| (text.to_owned(), None)),
        Some((host, port)) => {
            let port = port.parse().ok().filter(|port| *port != 0)?;
            valid(host).then(|| (host.to_owned(), Some(port)))
        }
    }
}

/// Decides where no call did: the file that the environment names, else the embedded service.
pub(super) fn of_environment(pci_address: Option<&str>) -> Result<Target, Failure> {
    let Some(file) = env::var_os(FILE_VARIABLE).filter(|file| !file.is_empty()) else {
        return Ok(Target::Embedded(None));
    };
    let port = port_variable(env::var_os(PORT_VARIABLE))?;
    from_file(&PathBuf::from(file), port, &Local::of_this_machine(), pci_address)
}

fn port_variable(value: Option<OsString>) -> Result<Option<u16>, Failure> {
    let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(None) };
    value
        .to_str()
        .and_then(|text| text.parse().ok())
        .filter(|port| *port != 0)
        .map(Some)
        .ok_or_else(|| {
            failure!(
                BAD_CONFIG,
                "{PORT_VARIABLE} is {value:?}, which is no port: set it to a number from 1 to 65535"
            )
        })
}

fn from_file(
    file: &Path,
    port: Option<u16>,
    local: &Local,
    pci: Option<&str>,
) -> Result<Target, Failure> {
    let shown = file.display();
    let text = named_file::read_text(file, MOST).map_err(|error| {
        let code = match error.kind() {
            std::io::ErrorKind::NotFound => DocaError::NOT_FOUND,
            _ => DocaError::IO_FAILED,
        };
        let advice = match error.kind() {
            std::io::ErrorKind::NotFound => "; correct or unset the variable",
            _ => "",
        };
        failure!(
            code = code,
            "the service file {shown}, named by {FILE_VARIABLE}, cannot be read: {error}{advice}"
        )
    })?;
    let entries = service_file::parse(&text).map_err(|(line, why)| {
        failure!(BAD_CONFIG, "line {line} of {shown}, named by {FILE_VARIABLE}: {why}")
    })?;
    let entry = entries.into_iter().find(|entry| entry.matches(local, pci)).ok_or_else(|| {
        let device = pci.map(|pci| format!(" and device {pci}")).unwrap_or_default();
        failure!(
            NOT_FOUND,
            "the service file {shown}, named by {FILE_VARIABLE}, has no line for \
                             {local}{device}: add one of the form `<this host> dpu <daemon's host> \
                             <PCI address> <devices>`"
        )
    })?;
    let port_from = match port {
        Some(_) => format!("the port from {PORT_VARIABLE}"),
        None => format!("the port as {PORT_VARIABLE} is not set"),
    };
    Ok(Target::Daemon(Address {
        origin: format!(
            "from line {} of {shown}, named by {FILE_VARIABLE}; {port_from}",
            entry.line
        ),
        host: entry.device_host,
        port: port.unwrap_or(DEFAULT_PORT),
        remedy: "the file or UROM_SERVICE_PORT",
        source: Source::User,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn file(text: &str) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    }

    fn local() -> Local {
        Local { name: "hosta".to_owned(), addresses: vec!["10.0.0.1".parse().unwrap()] }
    }

    #[test]
    fn an_address_is_host_and_port() {
        let address = |text| Address::parse(text, None).map(|address| address.shown());
        for (text, shown) in [
            ("localhost:5", "localhost:5"),
            ("10.0.0.2:18701", "10.0.0.2:18701"),
            ("[::1]:7", "[::1]:7"),
            ("dpu-1.example", "dpu-1.example:18700"),
            ("::1", "[::1]:18700"),
            ("[::1]", "[::1]:18700"),
        ] {
            assert_eq!(address(text).as_deref(), Ok(shown));
        }
        for text in [
            "",
            ":5",
            "host:",
            "host:0",
            "host:65536",
            "host:x",
            "a b:5",
            "[::1:5",
            "host:5:6",
            "[::1",
            "[]",
            "[1.2.3.4]",
            "[host]:5",
        ] {
            let failure = address(text).unwrap_err();
            assert_eq!(failure.code, DocaError::INVALID_VALUE.0, "{text:?}");
            assert!(failure.text.contains(&format!("`{text}`")), "{failure}");
        }
    }

    #[test]
    fn a_failed_connection_names_address_origin_and_remedy() {
        let address = Address::parse("10.0.0.2:18700", Some("--service")).unwrap();
        let failure = address.no_answer(Patience::default());
        assert_eq!(
            failure.text,
            "no UROM daemon answers at 10.0.0.2:18700 within 3.5 s (from --service): start uromd there, open \
             its port on the way, or correct the address"
        );
        assert_eq!(failure.code, DocaError::TIME_OUT.0);
    }

    #[test]
    fn a_stale_address_file_is_named_with_its_process_and_the_remedy() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, "10.0.0.2:7\nprocess 42 on node7\n").unwrap();
        let name = format!("@{}", file.path().display());
        let failure = Address::parse(&name, None).unwrap().no_answer(Patience::default());
        for part in ["10.0.0.2:7", &name[1..], "process 42 on node7", "without removing its file"] {
            assert!(failure.text.contains(part), "{part} in {failure}");
        }
    }

    #[test]
    fn a_daemon_that_answers_is_not_said_to_be_missing() {
        let address = Address::parse("10.0.0.2:18700", Some("--service")).unwrap();
        let peer = "10.0.0.2:18700".parse().unwrap();
        let version = |minor| ucx::Version { major: 1, minor, patch: 0 };
        let (theirs, ours) = (version(20), version(22));
        let other = HelloError::Ucx { role: urom_wire::hello::Role::Daemon, theirs, ours };
        let failure = address.refused(&[(peer, other.into())]);
        assert_eq!(failure.code, DocaError::UNSUPPORTED_VERSION.0);
        assert!(
            failure.text.starts_with("this program and the UROM daemon at 10.0.0.2:18700"),
            "{}",
            failure.text
        );
        assert!(
            failure.text.contains("1.20.0") && failure.text.contains("1.22.0"),
            "{}",
            failure.text
        );
        for error in [StreamError::Closed, StreamError::Silent(Patience::default())] {
            let failure = address.not_welcomed(peer, &error);
            assert!(failure.text.starts_with("the UROM daemon at 10.0.0.2:18700 (from --service)"));
            assert!(
                failure.text.contains("its log") && !failure.text.contains("correct"),
                "{}",
                failure.text
            );
        }
    }

    #[test]
    fn an_error_names_all_addresses_that_were_tried_or_the_one_that_answered() {
        let address = Address::parse("localhost:7", Some("--service")).unwrap();
        let [four, six]: [SocketAddr; 2] = ["127.0.0.1:7", "[::1]:7"].map(|at| at.parse().unwrap());
        let refused = || StreamError::Io(std::io::ErrorKind::ConnectionRefused.into());
        let text = address.refused(&[(six, refused()), (four, refused())]).text;
        let expected = "no UROM daemon answers at localhost:7, tried as [::1]:7 and 127.0.0.1:7 (";
        assert!(text.starts_with(expected), "{text}");
        let silent = StreamError::Silent(Patience::default());
        let text = address.refused(&[(four, silent), (six, refused())]).text;
        assert!(text.contains("tried as 127.0.0.1:7 (") && text.contains("silent"), "{text}");
        assert!(address.refused(&[]).text.contains("has no address"));
    }

    #[test]
    fn advice_is_given_only_where_it_fits() {
        let refused = |address: &Address, code: Errno| {
            let error = StreamError::Io(code.into());
            address.refused(&[("127.0.0.1:7".parse().unwrap(), error)]).text
        };
        let given = Address::parse("127.0.0.1:7", Some("--service")).unwrap();
        assert!(refused(&given, Errno::CONNREFUSED).contains("start uromd there or"));
        assert!(refused(&given, Errno::NETUNREACH).contains("open its port"));
        let peer = "10.0.0.2:7".parse().unwrap();
        for (error, part) in [
            (StreamError::Io(Errno::CONNREFUSED.into()), "with --listen"),
            (HelloError::NotUrom.into(), "end the program that listens there"),
        ] {
            let text = given.refused(&[(peer, error)]).text;
            assert!(text.contains(part), "{text}");
        }
        for code in [Errno::MFILE, Errno::ACCESS] {
            let text = refused(&given, code);
            assert!(text.starts_with("this process cannot connect"), "{text}");
            assert!(!text.contains("start") && !text.contains("correct"), "{text}");
        }
        let embedded = Address::embedded("127.0.0.1:7".parse().unwrap());
        for text in [
            refused(&embedded, Errno::CONNREFUSED),
            embedded.no_answer(Patience::default()).text,
            embedded.not_welcomed("127.0.0.1:7".parse().unwrap(), &StreamError::Closed).text,
        ] {
            assert!(!text.contains("start") && text.contains("its log may say why"), "{text}");
        }
    }

    #[test]
    fn localhost_is_the_loopback_address_of_both_families() {
        let [four, six, other]: [SocketAddr; 3] =
            ["127.0.0.1:7", "[::1]:7", "192.0.2.1:7"].map(|at| at.parse().unwrap());
        let all = |host, found: &[SocketAddr]| with_loopback(host, 7, found.iter().copied());
        assert_eq!(all("localhost", &[six]), [six, four]);
        assert_eq!(all("LocalHost", &[four, six]), [four, six]);
        assert_eq!(all("dpu", &[other]), [other]);
    }

    #[test]
    fn the_file_gives_host_line_and_name() {
        let file = file(
            "# services\n\nhostB dpu dpu0 03:00.0 mlx5_0:1\nHOSTA.example dpu dpu1 03:00.0 mlx5_0:1\n",
        );
        let Ok(Target::Daemon(address)) = from_file(file.path(), Some(99), &local(), None) else {
            panic!()
        };
        assert_eq!((address.host.as_str(), address.port), ("dpu1", 99));
        let text = address.no_answer(Patience::default()).text;
        let named =
            format!("(from line 4 of {}, named by DOCA_UROM_SERVICE_FILE;", file.path().display());
        let remedy = "correct the file or UROM_SERVICE_PORT";
        assert!(
            text.contains(&named) && text.contains("the port from UROM_SERVICE_PORT"),
            "{text}"
        );
        assert!(text.ends_with(remedy), "{text}");
        let Ok(Target::Daemon(address)) = from_file(file.path(), None, &local(), None) else {
            panic!()
        };
        assert_eq!(address.port, DEFAULT_PORT);
        let text = address.no_answer(Patience::default()).text;
        assert!(text.contains("UROM_SERVICE_PORT is not set") && text.ends_with(remedy), "{text}");
    }

    #[test]
    fn a_file_without_a_match_says_what_was_looked_for() {
        let file = file("hostB dpu dpu0 03:00.0 mlx5_0:1\nhostA dpu dpu1 04:00.0 mlx5_0:1\n");
        let failure = from_file(file.path(), Some(99), &local(), Some("0000:03:00.0")).unwrap_err();
        assert_eq!(failure.code, DocaError::NOT_FOUND.0);
        for part in ["hosta", "10.0.0.1", "0000:03:00.0", &file.path().display().to_string()] {
            assert!(failure.text.contains(part), "{part} in {}", failure.text);
        }
    }

    #[test]
    fn a_file_that_is_wrong_or_missing_is_named() {
        let bad = file("hostA dpu dpu1 04:00.0\n");
        let failure = from_file(bad.path(), None, &local(), None).unwrap_err();
        assert_eq!(failure.code, DocaError::BAD_CONFIG.0);
        assert!(
            failure.text.starts_with(&format!("line 1 of {}", bad.path().display())),
            "{}",
            failure.text
        );
        let missing =
            from_file(Path::new("/nonexistent/services"), None, &local(), None).unwrap_err();
        assert_eq!(missing.code, DocaError::NOT_FOUND.0);
        assert!(
            missing.text.contains("/nonexistent/services") && missing.text.contains(FILE_VARIABLE)
        );
    }

    #[test]
    fn the_port_variable_is_a_port_or_named_in_an_error() {
        assert_eq!(port_variable(None), Ok(None));
        assert_eq!(port_variable(Some("".into())), Ok(None));
        assert_eq!(port_variable(Some("81".into())), Ok(Some(81)));
        for bad in ["0", "65536", "x", "-1", " 5"] {
            let failure = port_variable(Some(bad.into())).unwrap_err();
            assert!(
                failure.text.contains("UROM_SERVICE_PORT") && failure.text.contains(bad),
                "{}",
                failure.text
            );
        }
    }
}
