//! Devices: what there is to open, and what is open.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use urom_abi::DocaError;

use super::service_file::long_pci;
use super::shell::{Kind, Mark};

/// Adds devices that do not exist: names with commas between them.
const VARIABLE: &str = "UROM_DEVICE";

/// The longest name, so that it fits `DOCA_DEVINFO_IBDEV_NAME_SIZE` with its NUL.
const LONGEST_NAME: usize = 63;

/// A device that could be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DeviceInfo {
    pub(super) name: String,
    /// In the form `dddd:bb:dd.f`.
    pub(super) pci_address: Option<String>,
}

/// RDMA devices where there are any, else network interfaces; then those of `UROM_DEVICE`.
pub(super) fn list() -> Vec<DeviceInfo> {
    let mut found = of_class(Path::new("/sys/class/infiniband"));
    if found.is_empty() {
        found = of_class(Path::new("/sys/class/net"));
        if found.len() > 1 {
            found.retain(|device| device.name != "lo");
        }
    }
    let named = std::env::var(VARIABLE).unwrap_or_default();
    add_named(&mut found, &named);
    found
}

fn add_named(found: &mut Vec<DeviceInfo>, names: &str) {
    for name in names.split(',').map(str::trim) {
        let is_new = found.iter().all(|device| device.name != name);
        if is_new && !name.is_empty() && name.len() <= LONGEST_NAME {
            found.push(DeviceInfo { name: name.to_owned(), pci_address: None });
        }
    }
}

/// The devices of a class, in the order of their names; none when the class does not exist.
fn of_class(class: &Path) -> Vec<DeviceInfo> {
    let entries = fs::read_dir(class).into_iter().flatten().flatten();
    let mut found: Vec<DeviceInfo> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok().filter(|name| name.len() <= LONGEST_NAME)?;
            Some(DeviceInfo { pci_address: pci_address(&entry.path().join("device")), name })
        })
        .collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// The PCI address of what a device link leads to: the device itself, or what it hangs on.
fn pci_address(link: &Path) -> Option<String> {
    let path = fs::canonicalize(link).ok()?;
    path.ancestors().filter_map(Path::file_name).filter_map(OsStr::to_str).find_map(long_pci)
}

/// An opened device: `doca_dev`. It is never given back, as a host may keep its pointer; a closed one is opened again. The
/// list has a handle, and so has every service that uses it.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Device {
    mark: Mark,
    info: DeviceInfo,
}

struct Open {
    device: Arc<Device>,
    /// How many times it was opened and not closed.
    times: usize,
}

/// Every device that was ever opened: no more than there are.
static OPEN: Mutex<Vec<Open>> = Mutex::new(Vec::new());

impl Device {
    /// Opens a device; one that is open is opened once more.
    pub(super) fn open(info: &DeviceInfo) -> *const Device {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = open.iter_mut().find(|open| open.device.info == *info) {
            known.times += 1;
            known.device.mark.set(Kind::Device);
            return Arc::as_ptr(&known.device);
        }
        let device = Arc::new(Device { mark: Mark::none(), info: info.clone() });
        device.mark.set(Kind::Device);
        let pointer = Arc::as_ptr(&device);
        open.push(Open { device, times: 1 });
        pointer
    }

    /// Closes it once: `IN_USE` when that were the last time and a service uses it.
    pub(super) fn close(pointer: *const Device) -> Result<(), DocaError> {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let is_meant = |open: &&mut Open| open.times > 0 && Arc::as_ptr(&open.device) == pointer;
        let known = open.iter_mut().find(is_meant).ok_or(DocaError::INVALID_VALUE)?;
        if known.times == 1 && Arc::strong_count(&known.device) > 1 {
            return Err(DocaError::IN_USE);
        }
        known.times -= 1;
        if known.times == 0 {
            known.device.mark.clear();
        }
        Ok(())
    }

    /// The open device that a host means.
    pub(super) fn find(pointer: *const Device) -> Result<Arc<Device>, DocaError> {
        let open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let known = open.iter().find(|open| open.times > 0 && Arc::as_ptr(&open.device) == pointer);
        known.map(|open| Arc::clone(&open.device)).ok_or(DocaError::INVALID_VALUE)
    }

    pub(super) fn pci_address(&self) -> Option<&str> {
        self.info.pci_address.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let found = of_class(&class);
        assert_eq!(names(&found), ["eth0", "lo", "mlx5_0", "mlx5_1", "usb0"]);
        let addresses: Vec<_> = found.iter().map(|device| device.pci_address.as_deref()).collect();
        let expected = [Some("0000:00:04.0"), None, Some("0000:03:00.0"), Some("0000:03:00.1"), None];
        assert_eq!(addresses, expected);
        assert_eq!(of_class(&root.path().join("missing")), []);
    }

    #[test]
    fn named_devices_are_added_once() {
        let mut found = vec![DeviceInfo { name: "eth0".to_owned(), pci_address: None }];
        add_named(&mut found, &format!("mlx5_0, mlx5_1,,eth0,mlx5_0,{}", "x".repeat(64)));
        assert_eq!(names(&found), ["eth0", "mlx5_0", "mlx5_1"]);
    }

    #[test]
    fn a_device_is_closed_as_often_as_it_was_opened_and_not_while_it_is_used() {
        let info = DeviceInfo { name: "test-only".to_owned(), pci_address: None };
        let device = Device::open(&info);
        assert_eq!(Device::open(&info), device);
        let user = Device::find(device).unwrap();
        assert_eq!(Device::close(device), Ok(()));
        assert_eq!(Device::close(device), Err(DocaError::IN_USE));
        drop(user);
        assert_eq!(Device::close(device), Ok(()));
        assert_eq!(Device::close(device), Err(DocaError::INVALID_VALUE));
        assert!(Device::find(device).is_err());
    }
}
