//! Errors of failed connections to a daemon, with advice.

use std::net::SocketAddr;

use rustix::io::Errno;
use urom_wire::control::Failure;
use urom_wire::hello::HelloError;
use urom_wire::peer_timeout::PeerTimeout;
use urom_wire::stream::StreamError;

use super::{AddressSource, DaemonAddress};
use crate::failure::{failure, stream_code};

impl DaemonAddress {
    fn advice(&self, how: Absent) -> String {
        let remedy = self.remedy;
        match how {
            _ if self.source == AddressSource::Embedded => "its log may say why".to_owned(),
            _ if self.source == AddressSource::Daemon => {
                "the process has ended without removing its file, \
                 or listens where only its own machine reaches it; start it again"
                    .to_owned()
            }
            Absent::Here => format!("start uromd there or correct {remedy}"),
            // The daemon listens on a loopback address by default.
            Absent::Elsewhere => {
                format!("start uromd there with --listen and its own address, or correct {remedy}")
            }
            Absent::Unreached => {
                format!("start uromd there, open its port on the way, or correct {remedy}")
            }
            Absent::Other => format!("correct {remedy}, or end the program that listens there"),
        }
    }

    pub(crate) fn unknown_host(&self, why: &str) -> Failure {
        let DaemonAddress { host, origin, remedy, .. } = self;
        failure!(
            NOT_FOUND,
            "the UROM daemon's host `{host}` ({origin}) is not known: {why}; correct {remedy}, \
             or this machine's name resolution"
        )
    }

    pub(crate) fn no_answer(&self, within: PeerTimeout) -> Failure {
        let (shown, origin) = (self.shown(), &self.origin);
        let advice = self.advice(Absent::Unreached);
        failure!(
            TIME_OUT,
            "no UROM daemon answers at {shown} within {within} s ({origin}): {advice}"
        )
    }

    /// Returns the error after all addresses failed. Prefers the error of a daemon that answered.
    pub(crate) fn refused(&self, tried: &[(SocketAddr, StreamError)]) -> Failure {
        let is_absent = |(_, error): &&(SocketAddr, StreamError)| {
            matches!(error, StreamError::Io(_) | StreamError::Hello(HelloError::NotUrom))
        };
        let answer = tried.iter().find(|one| !is_absent(one));
        let Some((at, error)) = answer.or(tried.last()) else {
            return self.unknown_host("the name lacks an address");
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
            // The connection never existed, so the text must not mention a broken stream.
            StreamError::Io(error) if is_of_this_process(error) => failure!(
                NOT_CONNECTED,
                "this process cannot connect to the UROM daemon {at}: {error}"
            ),
            StreamError::Io(error) => absent(error),
            StreamError::Hello(HelloError::NotUrom) => absent(error),
            StreamError::Key(_) => failure!(
                code = code,
                "this program and the UROM daemon {at} do not let each other in: {error}"
            ),
            StreamError::Hello(_) => failure!(
                code = code,
                "this program and the UROM daemon {at} do not go together: {error}"
            ),
            _ => failure!(code = code, "no UROM daemon answers {at}: {error}"),
        }
    }

    /// Returns the error for a stream that ended between the handshake and the daemon's welcome.
    pub(crate) fn not_welcomed(&self, daemon: SocketAddr, error: &StreamError) -> Failure {
        let DaemonAddress { origin, .. } = self;
        let code = stream_code(error);
        let what = match error {
            StreamError::Closed | StreamError::Io(_) => {
                let again = if self.source == AddressSource::Embedded {
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

#[derive(Debug, Clone, Copy)]
enum Absent {
    /// Nothing listens on this machine.
    Here,
    /// Nothing listens on the other machine's external address.
    Elsewhere,
    /// The connection timed out or is unreachable.
    Unreached,
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

/// Returns whether the failure is local: descriptors, ports, memory or permissions.
pub(crate) fn is_of_this_process(error: &std::io::Error) -> bool {
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

#[cfg(test)]
mod tests {
    use urom_abi::DocaError;

    use super::*;

    #[test]
    fn a_failed_connection_names_address_origin_and_remedy() {
        let address = DaemonAddress::parse("10.0.0.2:18700", Some("--service")).unwrap();
        let failure = address.no_answer(PeerTimeout::default());
        assert_eq!(
            failure.text,
            "no UROM daemon answers at 10.0.0.2:18700 within 3.5 s (from --service): start uromd there, open \
             its port on the way, or correct the address"
        );
        assert_eq!(failure.code, DocaError::TIME_OUT);
    }

    #[test]
    fn a_stale_address_file_is_named_with_its_process_and_the_remedy() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, "10.0.0.2:7\nprocess 42 on node7\n").unwrap();
        let name = format!("@{}", file.path().display());
        let failure = DaemonAddress::parse(&name, None).unwrap().no_answer(PeerTimeout::default());
        for part in ["10.0.0.2:7", &name[1..], "process 42 on node7", "without removing its file"] {
            assert!(failure.text.contains(part), "{part} in {failure}");
        }
    }

    #[test]
    fn an_error_names_all_addresses_that_were_tried_or_the_one_that_answered() {
        let address = DaemonAddress::parse("localhost:7", Some("--service")).unwrap();
        let [four, six]: [SocketAddr; 2] = ["127.0.0.1:7", "[::1]:7"].map(|at| at.parse().unwrap());
        let refused = || StreamError::Io(std::io::ErrorKind::ConnectionRefused.into());
        let text = address.refused(&[(six, refused()), (four, refused())]).text;
        let expected = "no UROM daemon answers at localhost:7, tried as [::1]:7 and 127.0.0.1:7 (";
        assert!(text.starts_with(expected), "{text}");
        let silent = StreamError::Silent(PeerTimeout::default());
        let text = address.refused(&[(four, silent), (six, refused())]).text;
        assert!(text.contains("tried as 127.0.0.1:7 (") && text.contains("silent"), "{text}");
        assert!(address.refused(&[]).text.contains("lacks an address"));
    }

    #[test]
    fn advice_is_given_only_where_it_fits() {
        let refused = |address: &DaemonAddress, code: Errno| {
            let error = StreamError::Io(code.into());
            address.refused(&[("127.0.0.1:7".parse().unwrap(), error)]).text
        };
        let given = DaemonAddress::parse("127.0.0.1:7", Some("--service")).unwrap();
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
        let embedded = DaemonAddress::embedded("127.0.0.1:7".parse().unwrap());
        for text in [
            refused(&embedded, Errno::CONNREFUSED),
            embedded.no_answer(PeerTimeout::default()).text,
            embedded.not_welcomed("127.0.0.1:7".parse().unwrap(), &StreamError::Closed).text,
        ] {
            assert!(!text.contains("start") && text.contains("its log may say why"), "{text}");
        }
    }
}
