//! Names of a worker's hosts for log lines: plugins identify their connections by number only. The
//! data thread owns the names; it also calls the plugins.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;

thread_local! {
    static NAMES: RefCell<HashMap<u64, Rc<str>>> = RefCell::default();
}

/// The name of a connection's host; plugins can read it until this is dropped.
#[derive(Debug)]
pub(crate) struct HostName {
    dest_id: u64,
    name: Rc<str>,
}

impl HostName {
    pub(crate) fn new(dest_id: u64, name: &str) -> HostName {
        let name: Rc<str> = name.into();
        NAMES.with_borrow_mut(|names| names.insert(dest_id, Rc::clone(&name)));
        HostName { dest_id, name }
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "host {}", self.name)
    }
}

impl Drop for HostName {
    fn drop(&mut self) {
        let _ = NAMES.try_with(|names| names.borrow_mut().remove(&self.dest_id));
    }
}

pub(crate) fn find(dest_id: u64) -> Option<Rc<str>> {
    NAMES.try_with(|names| names.borrow().get(&dest_id).cloned()).ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_known_on_its_thread_for_as_long_as_its_connection_is() {
        let name = HostName::new(3, "127.0.0.1:4000");
        assert_eq!(find(3).as_deref(), Some("127.0.0.1:4000"));
        assert_eq!(name.to_string(), "host 127.0.0.1:4000");
        assert_eq!(find(4), None);
        assert!(std::thread::spawn(|| find(3).is_none()).join().unwrap());
        drop(name);
        assert_eq!(find(3), None);
    }
}
