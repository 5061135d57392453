//! The service from environment variables and the service file, if the program does not set one.

use std::env;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use urom_abi::DocaError;
use urom_os::named_file;
use urom_wire::control::{DEFAULT_PORT, Failure};

use super::{AddressSource, DaemonAddress};
use crate::failure::{fail_if, failure};
use crate::service_file::{self, LocalMachine};

pub(crate) const FILE_VARIABLE: &str = "DOCA_UROM_SERVICE_FILE";
/// The variable with the daemon's port, for addresses without a port.
const PORT_VARIABLE: &str = "UROM_SERVICE_PORT";

/// Maximum size of a service file: about ten thousand hosts.
const MOST: usize = 1 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ServiceTarget {
    Daemon(DaemonAddress),
    /// The embedded service. The plugin path overrides the environment variable.
    Embedded(Option<OsString>),
}

pub(crate) fn of_environment(pci_address: Option<&str>) -> Result<ServiceTarget, Failure> {
    let Some(file) = env::var_os(FILE_VARIABLE).filter(|file| !file.is_empty()) else {
        return Ok(ServiceTarget::Embedded(None));
    };
    let port = port_variable(env::var_os(PORT_VARIABLE))?;
    from_file(&PathBuf::from(file), port, &LocalMachine::of_this_machine(), pci_address)
}

fn port_variable(value: Option<OsString>) -> Result<Option<u16>, Failure> {
    let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(None) };
    let port = value.to_str().and_then(|text| text.parse().ok()).filter(|port| *port != 0);
    fail_if!(
        port.is_none(),
        BAD_CONFIG,
        "{PORT_VARIABLE} is {value:?}, which is not a port: set it to a number from 1 to 65535"
    );
    Ok(port)
}

fn from_file(
    file: &Path,
    port: Option<u16>,
    local: &LocalMachine,
    pci: Option<&str>,
) -> Result<ServiceTarget, Failure> {
    let shown = file.display();
    let text = named_file::read_text(file, MOST).map_err(|error| {
        let (code, advice) = match error.kind() {
            ErrorKind::NotFound => (DocaError::NOT_FOUND, "; correct or unset the variable"),
            _ => (DocaError::IO_FAILED, ""),
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
            "the service file {shown}, named by {FILE_VARIABLE}, lacks a line for \
                             {local}{device}: add one of the form `<this host> dpu <daemon's host> \
                             <PCI address> <devices>`"
        )
    })?;
    let port_from = match port {
        Some(_) => format!("the port from {PORT_VARIABLE}"),
        None => format!("the port as {PORT_VARIABLE} is not set"),
    };
    Ok(ServiceTarget::Daemon(DaemonAddress {
        origin: format!(
            "from line {} of {shown}, named by {FILE_VARIABLE}; {port_from}",
            entry.line
        ),
        host: entry.device_host,
        port: port.unwrap_or(DEFAULT_PORT),
        remedy: "the file or UROM_SERVICE_PORT",
        source: AddressSource::User,
    }))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use urom_wire::peer_timeout::PeerTimeout;

    use super::*;

    fn file(text: &str) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    }

    fn local() -> LocalMachine {
        LocalMachine { name: "hosta".to_owned(), addresses: vec!["10.0.0.1".parse().unwrap()] }
    }

    #[test]
    fn the_file_gives_host_line_and_name() {
        let file = file(
            "# services\n\nhostB dpu dpu0 03:00.0 mlx5_0:1\nHOSTA.example dpu dpu1 03:00.0 mlx5_0:1\n",
        );
        let Ok(ServiceTarget::Daemon(address)) = from_file(file.path(), Some(99), &local(), None)
        else {
            panic!()
        };
        assert_eq!((address.host.as_str(), address.port), ("dpu1", 99));
        let text = address.no_answer(PeerTimeout::default()).text;
        let named =
            format!("(from line 4 of {}, named by DOCA_UROM_SERVICE_FILE;", file.path().display());
        let remedy = "correct the file or UROM_SERVICE_PORT";
        assert!(
            text.contains(&named) && text.contains("the port from UROM_SERVICE_PORT"),
            "{text}"
        );
        assert!(text.ends_with(remedy), "{text}");
        let Ok(ServiceTarget::Daemon(address)) = from_file(file.path(), None, &local(), None)
        else {
            panic!()
        };
        assert_eq!(address.port, DEFAULT_PORT);
        let text = address.no_answer(PeerTimeout::default()).text;
        assert!(text.contains("UROM_SERVICE_PORT is not set") && text.ends_with(remedy), "{text}");
    }

    #[test]
    fn a_file_without_a_match_is_reported_with_the_search_terms() {
        let file = file("hostB dpu dpu0 03:00.0 mlx5_0:1\nhostA dpu dpu1 04:00.0 mlx5_0:1\n");
        let failure = from_file(file.path(), Some(99), &local(), Some("0000:03:00.0")).unwrap_err();
        assert_eq!(failure.code, DocaError::NOT_FOUND);
        for part in ["hosta", "10.0.0.1", "0000:03:00.0", &file.path().display().to_string()] {
            assert!(failure.text.contains(part), "{part} in {}", failure.text);
        }
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
