//! Values of hosts: their handles, owners and limits.

use std::rc::Rc;

use notes::*;
use urom_pdk::test_util::Worker;
use urom_pdk::{HostLimits, PerHost, prelude::*};

mod notes {
    use urom_abi::{Payload, urom_command, urom_notification};

    #[urom_command(plugin = "worker_notes", version = 1)]
    pub(crate) enum Command<'a> {
        #[urom(reply = Written)]
        Write {
            #[urom(inline)]
            text: &'a [u8],
        },
        #[urom(reply = Text)]
        Read { note: u64 },
        #[urom(reply = Text)]
        Remove { note: u64 },
    }

    #[urom_notification]
    #[derive(Debug, PartialEq)]
    pub(crate) enum Notification {
        Written {
            note: u64,
        },
        Text {
            #[urom(inline)]
            text: Payload,
        },
    }
}

struct Notes(PerHost<Vec<u8>>);

#[urom_plugin(export = false)]
impl Handler for Notes {
    fn open(cx: &OpenContext) -> Result<Self> {
        Ok(Notes(PerHost::new(cx, "note", HostLimits { values: 3, bytes: 100 })))
    }

    async fn write(&self, cx: &Context, cmd: Write<'_>) -> Result<Written> {
        let bytes = cmd.text.len() as u64;
        Ok(Written { note: self.0.insert(cx.connection(), bytes, cmd.text.to_vec())? })
    }

    async fn read(&self, cx: &Context, cmd: Read) -> Result<Text> {
        Ok(Text { text: self.0.get(cx.connection(), cmd.note)?.as_slice().into() })
    }

    async fn remove(&self, cx: &Context, cmd: Remove) -> Result<Text> {
        Ok(Text { text: self.0.remove(cx.connection(), cmd.note)?.as_slice().into() })
    }
}

struct Hosts(Worker<Protocol>);

impl Hosts {
    fn write(&self, host: u64, len: usize) -> Result<u64, DocaError> {
        let text = vec![host as u8; len];
        Ok(self.0.wait(self.0.send_from(host, Write { text: &text }))?.note)
    }

    fn read(&self, host: u64, note: u64) -> Result<usize, DocaError> {
        Ok(self.0.wait(self.0.send_from(host, Read { note }))?.text.len())
    }

    fn remove(&self, host: u64, note: u64) -> Result<usize, DocaError> {
        Ok(self.0.wait(self.0.send_from(host, Remove { note }))?.text.len())
    }
}

fn hosts() -> Hosts {
    Hosts(Worker::open::<Notes>())
}

#[test]
fn a_handle_is_its_owners_alone() {
    let hosts = hosts();
    let note = hosts.write(1, 10).unwrap();
    assert_ne!(note, 0);
    assert_eq!(hosts.read(1, note), Ok(10));
    assert_eq!(hosts.read(2, note), Err(DocaError::INVALID_VALUE));
    assert_eq!(hosts.remove(2, note), Err(DocaError::INVALID_VALUE));
    assert_eq!(hosts.remove(1, note), Ok(10));
}

#[test]
fn stale_and_forged_handles_are_refused_with_the_handle() {
    let hosts = hosts();
    let note = hosts.write(1, 10).unwrap();
    hosts.remove(1, note).unwrap();
    let next = hosts.write(1, 20).unwrap();
    for handle in [note, 0, 1, u64::MAX, next ^ (1 << 32), next + 1, next ^ (1 << 63)] {
        assert_eq!(hosts.read(1, handle), Err(DocaError::INVALID_VALUE), "{handle:#x}");
        let sent = hosts.0.send_from(1, Read { note: handle });
        hosts.0.progress();
        let why = hosts.0.failure(&sent).unwrap();
        assert_eq!(why, format!("unknown note {handle:#x} of this host"));
        let _ = hosts.0.wait(sent);
    }
    assert_eq!(hosts.read(1, next), Ok(20));
}

#[test]
fn the_number_of_values_is_limited_for_each_host() {
    let hosts = hosts();
    let notes = [0; 3].map(|_| hosts.write(1, 1).unwrap());
    assert_eq!(hosts.write(1, 1), Err(DocaError::FULL));
    assert!(hosts.write(2, 1).is_ok());
    hosts.remove(1, notes[1]).unwrap();
    assert!(hosts.write(1, 1).is_ok());
}

#[test]
fn the_bytes_of_all_hosts_are_limited() {
    let hosts = hosts();
    let note = hosts.write(1, 60).unwrap();
    assert_eq!(hosts.write(2, 41), Err(DocaError::NO_MEMORY));
    assert!(hosts.write(2, 40).is_ok());
    hosts.remove(1, note).unwrap();
    assert!(hosts.write(2, 60).is_ok());
}

#[test]
fn the_values_of_a_host_go_when_it_leaves() {
    let hosts = hosts();
    let [first, second] = [1, 2].map(|host| hosts.write(host, 50).unwrap());
    hosts.0.leave(1);
    assert_eq!(hosts.read(2, first), Err(DocaError::INVALID_VALUE));
    assert_eq!(hosts.read(2, second), Ok(50));
    assert!(hosts.write(2, 50).is_ok());
}

/// A value whose drop uses its table.
struct Chained(PerHost<Chained>);

impl Drop for Chained {
    fn drop(&mut self) {
        assert!(self.0.all(1.into()).is_empty());
    }
}

struct Chain(PerHost<Chained>);

#[urom_plugin(export = false)]
impl Handler for Chain {
    fn open(cx: &OpenContext) -> Result<Self> {
        Ok(Chain(PerHost::new(cx, "link", HostLimits { values: 3, bytes: 100 })))
    }

    async fn write(&self, cx: &Context, _: Write<'_>) -> Result<Written> {
        let refused =
            self.0.insert_with(cx.connection(), 0, |_| Err(DocaError::DRIVER.into())).unwrap_err();
        assert_eq!(refused.code(), DocaError::DRIVER);
        let note = self.0.insert_with(cx.connection(), 0, |_| Ok(Chained(self.0.clone())))?;
        assert!(self.0.find((u64::from(cx.connection()) + 1).into(), note).is_none());
        assert!(Rc::ptr_eq(&self.0.find_any(note).unwrap(), &self.0.get(cx.connection(), note)?));
        Ok(Written { note })
    }

    async fn read(&self, _: &Context, _: Read) -> Result<Text> {
        Err(DocaError::NOT_SUPPORTED.into())
    }

    async fn remove(&self, _: &Context, _: Remove) -> Result<Text> {
        drop(self.0.take_all());
        Ok(Text { text: [].as_slice().into() })
    }
}

#[test]
fn a_value_may_use_its_table_while_it_is_dropped() {
    let hosts = Hosts(Worker::open::<Chain>());
    hosts.write(1, 0).unwrap();
    hosts.0.leave(1);
    hosts.write(2, 0).unwrap();
    hosts.remove(2, 0).unwrap();
}
