//! The domains a worker is in: the tables that hosts sent, and what look-ups find in them.
//!
//! Look-ups name a member by its id and no domain, so all domains share one name space. Two domains
//! may both have a member of one id as long as they say the same of it; the entry is there until
//! the last of them is over.

use std::collections::hash_map::Entry as Place;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use urom_abi::{DocaError, WorkerId};
use urom_wire::control::Failure;
use urom_wire::domain::{self, Address, Participant, Table};

use super::messages::LinkKey;
use super::store::{CAPACITY, Store, Stored};

/// The most domains one host may have a worker in at a time.
const MOST_DOMAINS: usize = 4096;

/// The most members, addresses of plugins and buffers in all domains of a worker; buffers count
/// once for each process and domain.
const MOST_ENTRIES: usize = 4 << 20;

/// A domain: the host's stream, and the host's number for it.
pub(crate) type Key = (LinkKey, u64);

/// All domains of a worker. Look-ups may come from any thread.
#[derive(Debug)]
pub(crate) struct Domains {
    names: RwLock<HashMap<u64, Entry>>,
    registry: Mutex<Registry>,
}

#[derive(Debug)]
struct Entry {
    member: Member,
    domains: usize,
}

#[derive(Debug)]
struct Member {
    /// Address by plugin, in the order of the names.
    addresses: Vec<(Stored, Stored)>,
    segments: Arc<[Segment]>,
}

#[derive(Debug)]
struct Segment {
    va: u64,
    len: u64,
    memh: Stored,
    mkey: Stored,
}

#[derive(Debug)]
struct Registry {
    store: Store,
    running: HashMap<Key, Running>,
    entries: usize,
    most_entries: usize,
}

#[derive(Debug)]
struct Running {
    ids: Vec<u64>,
    entries: usize,
}

impl Domains {
    pub(crate) fn new() -> Domains {
        Domains::with_limits(CAPACITY, MOST_ENTRIES)
    }

    fn with_limits(capacity: usize, most_entries: usize) -> Domains {
        let registry = Registry {
            store: Store::new(capacity),
            running: HashMap::new(),
            entries: 0,
            most_entries,
        };
        Domains { names: RwLock::default(), registry: Mutex::new(registry) }
    }

    /// Starts a domain: from now on plugins find its members.
    ///
    /// # Errors
    /// That of the table; `ALREADY_EXIST` for a member that is known otherwise from another domain;
    /// `FULL` when the worker keeps as much as it may. Nothing has changed then.
    pub(crate) fn start(&self, key: Key, table: &[u8]) -> Result<(), Failure> {
        let table = Table::read(table)?;
        let mut registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        let entries = table.members() + table.addresses() + table.segments();
        registry.admit(key, entries, &table)?;
        // Names change under the registry's lock only, so that what is compared here holds below.
        // Look-ups go on meanwhile.
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        let known =
            table.participants.iter().map(|participant| known_segments(participant, &names));
        let known = known.collect::<Result<Vec<_>, _>>()?;
        drop(names);
        let members = registry.members(&table.participants, known);
        let ids = members.iter().map(|(id, _)| *id).collect();
        let mut names = self.names.write().unwrap_or_else(PoisonError::into_inner);
        for (id, member) in members {
            names.entry(id).or_insert(Entry { member, domains: 0 }).domains += 1;
        }
        drop(names);
        registry.entries += entries;
        registry.running.insert(key, Running { ids, entries });
        Ok(())
    }

    pub(crate) fn end(&self, key: Key) {
        let mut registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = registry.running.remove(&key) {
            self.forget(&mut registry, &running);
        }
    }

    pub(crate) fn end_all(&self, link: LinkKey) {
        let mut registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        let over: Vec<Running> = registry
            .running
            .extract_if(|key, _| key.0 == link)
            .map(|(_, running)| running)
            .collect();
        for running in over {
            self.forget(&mut registry, &running);
        }
    }

    fn forget(&self, registry: &mut Registry, over: &Running) {
        registry.entries -= over.entries;
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

    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn count(&self, of: Option<LinkKey>) -> usize {
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        registry.running.keys().filter(|(link, _)| of.is_none_or(|of| of == *link)).count()
    }

    fn find<T>(&self, id: u64, look: impl FnOnce(&Member) -> Option<T>) -> Option<T> {
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        look(&names.get(&id)?.member)
    }

    /// Where a plugin is reached at a member: bytes that stay until this value is dropped. So do
    /// all below.
    pub(crate) fn address(&self, id: u64, plugin: &str) -> Option<*const [u8]> {
        self.find(id, |member| {
            let (_, address) =
                member.addresses.iter().find(|(name, _)| **name == *plugin.as_bytes())?;
            some_bytes(address)
        })
    }

    pub(crate) fn segment(&self, id: u64, va: u64) -> Option<usize> {
        let has = |segment: &Segment| va >= segment.va && va - segment.va < segment.len;
        self.find(id, |member| member.segments.iter().position(has))
    }

    pub(crate) fn memh(&self, id: u64, segment: usize) -> Option<*const [u8]> {
        self.find(id, |member| some_bytes(&member.segments.get(segment)?.memh))
    }

    pub(crate) fn mkey(&self, id: u64, segment: usize) -> Option<*const [u8]> {
        self.find(id, |member| some_bytes(&member.segments.get(segment)?.mkey))
    }
}

/// Bytes of no length are none: there is nothing a plugin could do with them.
fn some_bytes(bytes: &Stored) -> Option<*const [u8]> {
    (!bytes.is_empty()).then_some(Arc::as_ptr(bytes))
}

impl Registry {
    fn admit(&self, (link, domain): Key, entries: usize, table: &Table<'_>) -> Result<(), Failure> {
        if self.running.contains_key(&(link, domain)) {
            return Err(Failure::new(DocaError::BAD_STATE, "the domain runs here already"));
        }
        if self.running.keys().filter(|key| key.0 == link).count() >= MOST_DOMAINS {
            let text =
                format!("the worker is in {MOST_DOMAINS} domains of this host already: stop some");
            return Err(Failure::new(DocaError::FULL, text));
        }
        if self.entries + entries > self.most_entries {
            let text = format!(
                "the worker's domains have {} workers, addresses of plugins and buffers already, and {entries} more are over \
                 its limit of {}: stop some domains",
                self.entries, self.most_entries
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

    /// The members of a table, with buffers that are [known](known_segments) where they are.
    fn members(
        &mut self,
        participants: &[Participant<'_>],
        known: Vec<Option<Arc<[Segment]>>>,
    ) -> Vec<(u64, Member)> {
        let mut all = Vec::new();
        for (participant, known) in participants.iter().zip(known) {
            let store = &mut self.store;
            let segments = known.unwrap_or_else(|| {
                let segments = participant.segments.iter().map(|segment| Segment {
                    va: segment.va,
                    len: segment.len,
                    memh: store.keep(segment.memh),
                    mkey: store.keep(segment.mkey),
                });
                segments.collect()
            });
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

/// The buffers of a participant, if one of its members is known with them from another domain.
fn known_segments(
    participant: &Participant<'_>,
    names: &HashMap<u64, Entry>,
) -> Result<Option<Arc<[Segment]>>, Failure> {
    // Members that came together share their buffers, so these are compared once, not for every
    // member.
    let mut same: Option<&Arc<[Segment]>> = None;
    let mut compared = HashSet::new();
    for member in &participant.members {
        let Some(Entry { member: there, .. }) = names.get(&member.id) else { continue };
        let mut addresses: Vec<_> = member
            .addresses
            .iter()
            .map(|address| (address.plugin.as_bytes(), address.address))
            .collect();
        addresses.sort_unstable();
        let are_same =
            addresses.iter().copied().eq(there.addresses.iter().map(|(name, at)| (&**name, &**at)));
        let is_new = compared.insert(Arc::as_ptr(&there.segments).cast::<Segment>());
        if !are_same || is_new && !are_equal(&participant.segments, &there.segments) {
            let text = format!(
                "the domain's worker {} is known here from another domain, with other addresses or buffers: stop that domain \
                 first, or use other ids",
                WorkerId(member.id)
            );
            return Err(Failure::new(DocaError::ALREADY_EXIST, text));
        }
        same = Some(&there.segments);
    }
    Ok(same.map(Arc::clone))
}

fn are_equal(segments: &[domain::Segment<'_>], there: &[Segment]) -> bool {
    let equals = |(segment, there): (&domain::Segment<'_>, &Segment)| {
        (segment.va, segment.len) == (there.va, there.len)
            && *segment.memh == *there.memh
            && *segment.mkey == *there.mkey
    };
    segments.len() == there.len() && segments.iter().zip(there).all(equals)
}

fn strings<'a>(participant: &'a Participant<'a>) -> impl Iterator<Item = &'a [u8]> {
    let addresses = participant.members.iter().flat_map(|member| &member.addresses);
    let addresses = addresses.flat_map(|address| [address.plugin.as_bytes(), address.address]);
    addresses.chain(participant.segments.iter().flat_map(|segment| [segment.memh, segment.mkey]))
}

#[cfg(test)]
#[path = "domains_tests.rs"]
mod tests;
