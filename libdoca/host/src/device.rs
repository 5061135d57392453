//! Available and opened devices.

use std::ffi::OsStr;
use std::fs;
use std::net::IpAddr;
use std::path::Path;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use urom_abi::DocaError;
use urom_abi::host::{Dev, DevInfo, IBDEV_NAME_SIZE, IFACE_NAME_SIZE};
use urom_os::fork::PerProcess;

use crate::failure::refuse_if;
use crate::handle::{ObjectTag, as_c, object};
use crate::service_file::{long_pci, parse_pci};

/// The variable that adds fake devices: `NAME` or `NAME@PCI`, separated by commas.
const VARIABLE: &str = "UROM_DEVICE";

/// Shown for a device without a PCI address, which matches all service file lines of this host.
pub(super) const NO_PCI_ADDRESS: &str = "0000:00:00.0";

/// Without the NUL.
const LONGEST_NAME: usize = IBDEV_NAME_SIZE - 1;

const LONGEST_INTERFACE: usize = IFACE_NAME_SIZE - 1;

#[derive(Debug, Clone, PartialEq, Eq)]
#[repr(C)]
pub(super) struct DeviceInfo {
    tag: ObjectTag,
    pub(super) name: String,
    /// In the form `dddd:bb:dd.f`.
    pub(super) pci_address: Option<String>,
    /// The device itself, or the interface of an RDMA device.
    pub(super) interface: Option<String>,
}

object!(DeviceInfo, DeviceInfo, DevInfo);

impl DeviceInfo {
    fn new(name: String, pci_address: Option<String>, interface: Option<String>) -> DeviceInfo {
        DeviceInfo { tag: ObjectTag::of::<DeviceInfo>(), name, pci_address, interface }
    }

    pub(super) fn shown_pci_address(&self) -> &str {
        self.pci_address.as_deref().unwrap_or(NO_PCI_ADDRESS)
    }

    /// Compares with the shown address, in either form. `None` if `text` is not a PCI address.
    pub(super) fn has_pci_address(&self, text: &str) -> Option<bool> {
        Some(long_pci(text)? == self.shown_pci_address())
    }

    fn with_addresses(&self) -> Result<&str, DocaError> {
        self.interface.as_deref().ok_or(DocaError::NOT_SUPPORTED)
    }

    /// `NOT_SUPPORTED` for an address of another length, `NOT_FOUND` for a vanished interface.
    pub(super) fn mac_address(&self) -> Result<[u8; 6], DocaError> {
        let file = Path::new("/sys/class/net").join(self.with_addresses()?).join("address");
        let text = fs::read_to_string(file).map_err(|_| DocaError::NOT_FOUND)?;
        mac_address(&text).ok_or(DocaError::NOT_SUPPORTED)
    }

    pub(super) fn ipv4_address(&self) -> Result<[u8; 4], DocaError> {
        self.ip_address(|ip| if let IpAddr::V4(ip) = ip { Some(ip.octets()) } else { None })
    }

    pub(super) fn ipv6_address(&self) -> Result<[u8; 16], DocaError> {
        self.ip_address(|ip| if let IpAddr::V6(ip) = ip { Some(ip.octets()) } else { None })
    }

    /// Returns the interface's first address accepted by `pick`, or `NOT_FOUND`.
    fn ip_address<T>(&self, pick: impl Fn(IpAddr) -> Option<T>) -> Result<T, DocaError> {
        let name = self.with_addresses()?;
        let all = if_addrs::get_if_addrs().map_err(|error| {
            log!(error, "the addresses of {name} cannot be read: {error}");
            DocaError::OPERATING_SYSTEM
        })?;
        let mut own = all.iter().filter(|interface| interface.name == name);
        own.find_map(|interface| pick(interface.ip())).ok_or(DocaError::NOT_FOUND)
    }
}

/// Lists RDMA devices, or else network interfaces; then the devices of `UROM_DEVICE`.
pub(super) fn list() -> Vec<DeviceInfo> {
    let mut found = of_class(Path::new("/sys/class/infiniband"), interface_of_rdma);
    if found.is_empty() {
        found = of_class(Path::new("/sys/class/net"), file_name);
        if found.len() > 1 {
            found.retain(|device| device.name != "lo");
        }
    }
    let named = std::env::var_os(VARIABLE).unwrap_or_default();
    for problem in add_named(&mut found, &named) {
        log!(warn, "{problem}");
    }
    found
}

/// Adds the fake devices of the variable. Returns the errors of the others.
fn add_named(found: &mut Vec<DeviceInfo>, list: &OsStr) -> Vec<String> {
    let Some(list) = list.to_str() else {
        return vec![format!("{VARIABLE} is left out: {list:?} is not UTF-8")];
    };
    let mut problems = Vec::new();
    for entry in list.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
        match named(entry) {
            Err(why) => problems.push(format!("{VARIABLE}: `{entry}` is left out: {why}")),
            Ok(new) => match found.iter().find(|device| device.name == new.name) {
                None => found.push(new),
                Some(there) if new.pci_address.is_some() && new.pci_address != there.pci_address => problems
                    .push(format!(
                        "{VARIABLE}: `{entry}` is left out: there is a device of that name at {} already; \
                         choose another name",
                        there.shown_pci_address()
                    )),
                Some(_) => {}
            },
        }
    }
    problems
}

fn named(entry: &str) -> Result<DeviceInfo, String> {
    let (name, pci) = entry.split_once('@').map_or((entry, None), |(name, pci)| (name, Some(pci)));
    if name.is_empty() || name.len() > LONGEST_NAME {
        return Err(format!("a name has 1 to {LONGEST_NAME} bytes"));
    }
    Ok(DeviceInfo::new(name.to_owned(), pci.map(parse_pci).transpose()?, None))
}

fn of_class(class: &Path, interface: impl Fn(&Path) -> Option<String>) -> Vec<DeviceInfo> {
    let entries = fs::read_dir(class).into_iter().flatten().flatten();
    let mut found: Vec<DeviceInfo> = entries
        .filter_map(|entry| {
            let path = entry.path();
            let name = file_name(&path).filter(|name| name.len() <= LONGEST_NAME)?;
            let interface = interface(&path).filter(|name| name.len() <= LONGEST_INTERFACE);
            Some(DeviceInfo::new(name, pci_address(&path.join("device")), interface))
        })
        .collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

fn mac_address(text: &str) -> Option<[u8; 6]> {
    let bytes: Result<Vec<u8>, _> =
        text.trim().split(':').map(|byte| u8::from_str_radix(byte, 16)).collect();
    bytes.ok()?.try_into().ok()
}

fn file_name(path: &Path) -> Option<String> {
    path.file_name()?.to_str().map(str::to_owned)
}

/// Returns the interface of an RDMA device's first port, else the first of its PCI function.
fn interface_of_rdma(device: &Path) -> Option<String> {
    let of_port = fs::read_to_string(device.join("ports/1/gid_attrs/ndevs/0")).ok();
    of_port.map(|text| text.trim().to_owned()).filter(|name| !name.is_empty()).or_else(|| {
        let entries = fs::read_dir(device.join("device/net")).ok()?;
        entries.flatten().filter_map(|entry| file_name(&entry.path())).min()
    })
}

/// Returns the PCI address of the device behind a link, or of its nearest ancestor.
fn pci_address(link: &Path) -> Option<String> {
    let path = fs::canonicalize(link).ok()?;
    path.ancestors().filter_map(Path::file_name).filter_map(OsStr::to_str).find_map(long_pci)
}

/// `doca_dev`. `OPEN` and all users of the device share it.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Device {
    tag: ObjectTag,
    pub(super) info: DeviceInfo,
}

object!(Device, Device);

struct OpenDevice {
    device: Arc<Device>,
    times: usize,
}

impl OpenDevice {
    fn is(&self, pointer: *const Dev) -> bool {
        ptr::addr_eq(Arc::as_ptr(&self.device), pointer)
    }
}

static OPEN: PerProcess<Mutex<Vec<OpenDevice>>> = PerProcess::new(Mutex::default);

/// Returns the code for an unknown device: `BAD_STATE` for a device from before a fork.
fn unknown(pointer: *const Dev) -> DocaError {
    let has = |all: &Vec<OpenDevice>| all.iter().any(|open| open.is(pointer));
    if OPEN.held_before(has) { DocaError::BAD_STATE } else { DocaError::INVALID_VALUE }
}

impl Device {
    pub(super) fn open(info: &DeviceInfo) -> *mut Dev {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = open.iter_mut().find(|open| open.device.info == *info) {
            known.times += 1;
            return as_c(&*known.device);
        }
        let device = Arc::new(Device { tag: ObjectTag::of::<Device>(), info: info.clone() });
        let pointer = as_c(&*device);
        open.push(OpenDevice { device, times: 1 });
        pointer
    }

    /// Closes the device once. `IN_USE` at the last close while a service uses the device.
    pub(super) fn close(pointer: *const Dev) -> Result<(), DocaError> {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let at = open.iter().position(|open| open.is(pointer));
        let at = at.ok_or_else(|| unknown(pointer))?;
        let known = &mut open[at];
        if known.times > 1 {
            known.times -= 1;
            return Ok(());
        }
        refuse_if(Arc::strong_count(&known.device) > 1, DocaError::IN_USE)?;
        open.swap_remove(at);
        Ok(())
    }

    pub(super) fn find(pointer: *const Dev) -> Result<Arc<Device>, DocaError> {
        let open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let known = open.iter().find(|open| open.is(pointer));
        known.map(|open| Arc::clone(&open.device)).ok_or_else(|| unknown(pointer))
    }

    pub(super) fn pci_address(&self) -> Option<&str> {
        self.info.pci_address.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

    fn names(devices: &[DeviceInfo]) -> Vec<&str> {
        devices.iter().map(|device| device.name.as_str()).collect()
    }

    #[test]
    fn a_class_gives_names_and_the_nearest_pci_address() {
        let root = tempfile::tempdir().unwrap();
        let class = root.path().join("class");
        for (name, target) in [
            ("mlx5_1", "devices/pci0000:00/0000:00:01.0/0000:03:00.1"),
            ("mlx5_0", "devices/pci0000:00/0000:03:00.0"),
            ("eth0", "devices/pci0000:00/0000:00:04.0/virtio0"),
            ("usb0", "devices/platform/usb"),
        ] {
            let device = root.path().join(target);
            fs::create_dir_all(&device).unwrap();
            fs::create_dir_all(class.join(name)).unwrap();
            symlink(&device, class.join(name).join("device")).unwrap();
        }
        fs::create_dir_all(class.join("lo")).unwrap();
        let found = of_class(&class, file_name);
        assert_eq!(names(&found), ["eth0", "lo", "mlx5_0", "mlx5_1", "usb0"]);
        let addresses: Vec<_> = found.iter().map(|device| device.pci_address.as_deref()).collect();
        let expected =
            [Some("0000:00:04.0"), None, Some("0000:03:00.0"), Some("0000:03:00.1"), None];
        assert_eq!(addresses, expected);
        assert_eq!(of_class(&root.path().join("missing"), file_name), []);
        assert_eq!(found[0].interface.as_deref(), Some("eth0"));
    }

    #[test]
    fn an_rdma_device_has_the_interface_of_its_port_or_of_its_function() {
        let root = tempfile::tempdir().unwrap();
        let class = root.path();
        for directory in
            ["mlx5_0/ports/1/gid_attrs/ndevs", "mlx5_0/device/net/ens9", "mlx5_1/device/net/ens2"]
        {
            fs::create_dir_all(class.join(directory)).unwrap();
        }
        fs::create_dir_all(class.join("mlx5_1/device/net/ens10")).unwrap();
        fs::create_dir_all(class.join("mlx5_2")).unwrap();
        fs::write(class.join("mlx5_0/ports/1/gid_attrs/ndevs/0"), "ens1f0np0\n").unwrap();
        let found = of_class(class, interface_of_rdma);
        let interfaces: Vec<_> = found.iter().map(|device| device.interface.as_deref()).collect();
        assert_eq!(interfaces, [Some("ens1f0np0"), Some("ens10"), None]);
    }

    #[test]
    fn named_devices_are_added_once() {
        let mut found = vec![named("eth0").unwrap()];
        assert_eq!(
            add_named(
                &mut found,
                "mlx5_0, mlx5_1@AF:00.1,,eth0,mlx5_0 ,mlx5_1@0000:af:00.1".as_ref()
            ),
            [""; 0]
        );
        assert_eq!(names(&found), ["eth0", "mlx5_0", "mlx5_1"]);
        assert_eq!(found[1].shown_pci_address(), "0000:00:00.0");
        assert_eq!(found[2].shown_pci_address(), "0000:af:00.1");
    }

    #[test]
    fn a_named_device_that_is_wrong_is_left_out_with_the_reason() {
        let long = "x".repeat(64);
        for (entry, reason) in [
            ("a@", "`` is not a PCI address"),
            ("a@03:00", "`03:00` is not a PCI address"),
            ("a@0000:03:00.0@1", "is not a PCI address"),
            ("@03:00.0", "1 to 63 bytes"),
            (&long, "1 to 63 bytes"),
            ("eth0@03:00.0", "at 0000:00:00.0 already"),
        ] {
            let mut found = vec![named("eth0").unwrap()];
            let problems = add_named(&mut found, format!("{entry},good").as_ref());
            assert_eq!(names(&found), ["eth0", "good"], "{entry}");
            let [problem] = &*problems else { panic!("{entry}: {problems:?}") };
            assert!(problem.contains(entry) && problem.contains(reason), "{problem}");
        }
    }

    #[test]
    fn names_that_are_no_text_are_left_out_with_the_reason() {
        let mut found = Vec::new();
        let problems = add_named(&mut found, OsStr::from_bytes(b"good,\xff"));
        assert_eq!(found, []);
        assert_eq!(problems, ["UROM_DEVICE is left out: \"good,\\xFF\" is not UTF-8"]);
    }

    #[test]
    fn a_pci_address_is_compared_in_both_forms() {
        let device = named("a@0000:AF:1c.1").unwrap();
        for text in ["0000:af:1c.1", "AF:1C.1", "af:1c.1"] {
            assert_eq!(device.has_pci_address(text), Some(true), "{text}");
        }
        for text in ["0001:af:1c.1", "af:1c.0", "00:00.0"] {
            assert_eq!(device.has_pci_address(text), Some(false), "{text}");
        }
        for text in ["", "af:1c", "0000:af:1c.1 ", "mlx5_0"] {
            assert_eq!(device.has_pci_address(text), None, "{text}");
        }
        assert_eq!(named("b").unwrap().has_pci_address("00:00.0"), Some(true));
    }
}
