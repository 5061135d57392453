//! The domains a worker is in: the tables that hosts sent, and what look-ups find in them.
//!
//! Look-ups name a member by its id and no domain, so all domains share one name space. Two domains may both have a
//! member of one id as long as they say the same of it; the entry is there until the last of them is over.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Place;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use urom_abi::DocaError;

use super::messages::LinkKey;
use super::store::{CAPACITY, Store, Stored};
use crate::wire::control::Failure;
use crate::wire::domain::{Address, Participant, Table};

/// The most domains one host may have a worker in at a time.
const MOST_DOMAINS: usize = 4096;

/// The most members and buffers in all domains of a worker; buffers count once for each process and domain.
const MOST_ENTRIES: usize = 4 << 20;

/// A domain: the host's stream, and the host's number for it.
pub(crate) type Key = (LinkKey, u64);

/// All domains of a worker. Look-ups may come from any thread.
#[derive(Debug)]
pub(crate) struct Domains {
    names: RwLock<HashMap<u64, Entry>>,
    /// Taken by one event of the control streams at a time.
    roll: Mutex<Roll>,
}

/// A member, and how many domains it is in.
#[derive(Debug)]
struct Entry {
    member: Member,
    domains: usize,
}

/// What is known of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Member {
    /// Address by plugin, in the order of the names.
    addresses: Vec<(Stored, Stored)>,
    segments: Arc<[Segment]>,
}

/// A buffer of a member's process.
#[derive(Debug, PartialEq, Eq)]
struct Segment {
    va: u64,
    len: u64,
    memh: Stored,
    mkey: Stored,
}

#[derive(Debug)]
struct Roll {
    store: Store,
    running: HashMap<Key, Running>,
    entries: usize,
}

/// A domain that runs.
#[derive(Debug)]
struct Running {
    ids: Vec<u64>,
    entries: usize,
}

impl Domains {
    pub(crate) fn new() -> Domains {
        Domains::with_capacity(CAPACITY)
    }

    fn with_capacity(capacity: usize) -> Domains {
        let roll = Roll { store: Store::new(capacity), running: HashMap::new(), entries: 0 };
        Domains { names: RwLock::default(), roll: Mutex::new(roll) }
    }

    /// Starts a domain: from now on plugins find its members.
    ///
    /// # Errors
    /// That of the table; `ALREADY_EXIST` for a member that is known otherwise from another domain; `FULL` when the
    /// worker keeps as much as it may. Nothing has changed then.
    pub(crate) fn start(&self, key: Key, table: &[u8]) -> Result<(), Failure> {
        let table = Table::read(table)?;
        let mut roll = self.roll.lock().unwrap_or_else(PoisonError::into_inner);
        let entries = table.members() + table.segments();
        roll.admit(key, entries, &table)?;
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        let members = roll.members(&table.participants, &names);
        drop(names);
        let ids = members.iter().map(|(id, _)| *id).collect();
        let mut names = self.names.write().unwrap_or_else(PoisonError::into_inner);
        let differs =
            |(id, member): &&(u64, Member)| names.get(id).is_some_and(|there| there.member != *member);
        if let Some((id, _)) = members.iter().find(differs) {
            let text = format!(
                "the domain's worker {id} is known here from another domain, with other addresses or buffers: stop that \
                 domain first, or use other ids"
            );
            return Err(Failure::new(DocaError::ALREADY_EXIST, text));
        }
        for (id, member) in members {
            names.entry(id).or_insert(Entry { member, domains: 0 }).domains += 1;
        }
        drop(names);
        roll.entries += entries;
        roll.running.insert(key, Running { ids, entries });
        Ok(())
    }

    /// Ends a domain, if it runs: from now on plugins find nothing of it.
    pub(crate) fn end(&self, key: Key) {
        let mut roll = self.roll.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = roll.running.remove(&key) {
            self.forget(&mut roll, &running);
        }
    }

    /// Ends every domain of a host that is gone.
    pub(crate) fn end_all(&self, link: LinkKey) {
        let mut roll = self.roll.lock().unwrap_or_else(PoisonError::into_inner);
        let over: Vec<Running> =
            roll.running.extract_if(|key, _| key.0 == link).map(|(_, running)| running).collect();
        for running in over {
            self.forget(&mut roll, &running);
        }
    }

    fn forget(&self, roll: &mut Roll, over: &Running) {
        roll.entries -= over.entries;
        let mut names = self.names.write().unwrap_or_else(PoisonError::into_inner);
        for id in &over.ids {
            if let Place::Occupied(mut entry) = names.entry(*id) {
                entry.get_mut().domains -= 1;
                if entry.get().domains == 0 {
                    entry.remove();
                }
            }
        }
    }

    /// How many run: of one host, or of all.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn count(&self, of: Option<LinkKey>) -> usize {
        let roll = self.roll.lock().unwrap_or_else(PoisonError::into_inner);
        roll.running.keys().filter(|(link, _)| of.is_none_or(|of| of == *link)).count()
    }

    fn find<T>(&self, id: u64, look: impl FnOnce(&Member) -> Option<T>) -> Option<T> {
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        look(&names.get(&id)?.member)
    }

    /// Where a plugin is reached at a member: bytes that stay until this value is dropped. So do all below.
    pub(crate) fn address(&self, id: u64, plugin: &str) -> Option<*const [u8]> {
        self.find(id, |member| {
            let (_, address) = member.addresses.iter().find(|(name, _)| **name == *plugin.as_bytes())?;
            some_bytes(address)
        })
    }

    /// The first buffer of a member that has this address in it.
    pub(crate) fn segment(&self, id: u64, va: u64) -> Option<usize> {
        let has = |segment: &Segment| va >= segment.va && va - segment.va < segment.len;
        self.find(id, |member| member.segments.iter().position(has))
    }

    /// The memory handle of a member's buffer.
    pub(crate) fn memh(&self, id: u64, segment: usize) -> Option<*const [u8]> {
        self.find(id, |member| some_bytes(&member.segments.get(segment)?.memh))
    }

    /// The remote key of a member's buffer.
    pub(crate) fn mkey(&self, id: u64, segment: usize) -> Option<*const [u8]> {
        self.find(id, |member| some_bytes(&member.segments.get(segment)?.mkey))
    }
}

/// Bytes of no length are none: there is nothing a plugin could do with them.
fn some_bytes(bytes: &Stored) -> Option<*const [u8]> {
    (!bytes.is_empty()).then_some(Arc::as_ptr(bytes))
}

impl Roll {
    /// Whether there is room for a domain.
    fn admit(&self, (link, domain): Key, entries: usize, table: &Table<'_>) -> Result<(), Failure> {
        if self.running.contains_key(&(link, domain)) {
            return Err(Failure::new(DocaError::BAD_STATE, "the domain runs here already"));
        }
        if self.running.keys().filter(|key| key.0 == link).count() >= MOST_DOMAINS {
            let text = format!("the worker is in {MOST_DOMAINS} domains of this host already: stop some");
            return Err(Failure::new(DocaError::FULL, text));
        }
        if self.entries + entries > MOST_ENTRIES {
            let text = format!(
                "the worker's domains have {} workers and buffers already, and {entries} more are over its limit of \
                 {MOST_ENTRIES}: stop some domains",
                self.entries
            );
            return Err(Failure::new(DocaError::FULL, text));
        }
        if !self.store.has_room(table.participants.iter().flat_map(strings)) {
            let text = "the worker has no room for the domain's addresses, handles and keys: it keeps those of all \
                        domains it was ever in, 256 MiB at most, because plugins may still use them; start a new worker";
            return Err(Failure::new(DocaError::FULL, text));
        }
        Ok(())
    }

    /// The members of a table. Buffers that are known from another domain are those: so they are compared once, not for
    /// every member.
    fn members(
        &mut self,
        participants: &[Participant<'_>],
        names: &HashMap<u64, Entry>,
    ) -> Vec<(u64, Member)> {
        let mut all = Vec::new();
        for participant in participants {
            let store = &mut self.store;
            let segments = participant.segments.iter().map(|segment| Segment {
                va: segment.va,
                len: segment.len,
                memh: store.keep(segment.memh),
                mkey: store.keep(segment.mkey),
            });
            let segments: Arc<[Segment]> = segments.collect();
            let known = participant.members.first().and_then(|member| names.get(&member.id));
            let known = known.map(|known| &known.member.segments).filter(|known| **known == segments);
            let segments = known.map_or(segments, Arc::clone);
            for member in &participant.members {
                let keep = |address: &Address<'_>| {
                    (self.store.keep(address.plugin.as_bytes()), self.store.keep(address.address))
                };
                let mut addresses: Vec<_> = member.addresses.iter().map(keep).collect();
                addresses.sort();
                all.push((member.id, Member { addresses, segments: Arc::clone(&segments) }));
            }
        }
        all
    }
}

/// Every byte string of a participant.
fn strings<'a>(participant: &'a Participant<'a>) -> impl Iterator<Item = &'a [u8]> {
    let addresses = participant.members.iter().flat_map(|member| &member.addresses);
    let addresses = addresses.flat_map(|address| [address.plugin.as_bytes(), address.address]);
    addresses.chain(participant.segments.iter().flat_map(|segment| [segment.memh, segment.mkey]))
}

#[cfg(test)]
#[path = "domains_tests.rs"]
mod tests;
