//! A worker's domains: the hosts' tables, and look-ups in them. Look-ups name a member by id alone:
//! if several domains have a member with this id, they use the newest domain.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use urom_abi::DocaError;
use urom_wire::control::Failure;
use urom_wire::domain::{Address, Participant, Table};

use super::messages::LinkKey;
use super::store::{CAPACITY, StoredString, StringStore};

const MOST_DOMAINS: usize = 4096;

/// Limit of members, addresses and buffers (once per process and domain) in a worker's domains.
const MOST_ENTRIES: usize = 4 << 20;

/// A domain: the host's link, and the host's number for it.
pub(crate) type DomainKey = (LinkKey, u64);

#[derive(Debug)]
pub(crate) struct WorkerDomains {
    names: RwLock<HashMap<u64, Vec<DomainMember>>>,
    registry: Mutex<DomainRegistry>,
}

#[derive(Debug)]
struct DomainMember {
    /// The domain's number. Members with the same id are sorted by it.
    domain: u64,
    addresses: Vec<(StoredString, StoredString)>,
    segments: Arc<[StoredSegment]>,
}

#[derive(Debug)]
struct StoredSegment {
    va: u64,
    len: u64,
    memh: StoredString,
    mkey: StoredString,
}

#[derive(Debug)]
struct DomainRegistry {
    store: StringStore,
    running: HashMap<DomainKey, RunningDomain>,
    last: u64,
    entries: usize,
    most_entries: usize,
}

#[derive(Debug)]
struct RunningDomain {
    number: u64,
    ids: Vec<u64>,
    entries: usize,
}

impl WorkerDomains {
    pub(crate) fn new() -> WorkerDomains {
        WorkerDomains::with_limits(CAPACITY, MOST_ENTRIES)
    }

    fn with_limits(capacity: usize, most_entries: usize) -> WorkerDomains {
        let registry = DomainRegistry {
            store: StringStore::new(capacity),
            running: HashMap::new(),
            last: 0,
            entries: 0,
            most_entries,
        };
        WorkerDomains { names: RwLock::default(), registry: Mutex::new(registry) }
    }

    /// Starts a domain, so that plugins find its members. Fails, without a change, with the table's
    /// error or with `FULL` at the worker's limit.
    pub(crate) fn start(&self, key: DomainKey, table: &[u8]) -> Result<(), Failure> {
        let table = Table::read(table)?;
        let mut registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        let entries = table.members() + table.addresses() + table.segments();
        registry.admit(key, entries, &table)?;
        let members = registry.members(&table.participants);
        let ids = members.iter().map(|(id, _)| *id).collect();
        let mut names = self.names.write().unwrap_or_else(PoisonError::into_inner);
        for (id, member) in members {
            names.entry(id).or_default().push(member);
        }
        drop(names);
        registry.entries += entries;
        let number = registry.last;
        registry.running.insert(key, RunningDomain { number, ids, entries });
        Ok(())
    }

    pub(crate) fn end(&self, key: DomainKey) {
        let mut registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = registry.running.remove(&key) {
            self.forget(&mut registry, &running);
        }
    }

    pub(crate) fn end_all(&self, link: LinkKey) {
        let mut registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        let over: Vec<RunningDomain> = registry
            .running
            .extract_if(|key, _| key.0 == link)
            .map(|(_, running)| running)
            .collect();
        for running in over {
            self.forget(&mut registry, &running);
        }
    }

    fn forget(&self, registry: &mut DomainRegistry, over: &RunningDomain) {
        registry.entries -= over.entries;
        let mut names = self.names.write().unwrap_or_else(PoisonError::into_inner);
        for id in &over.ids {
            let Entry::Occupied(mut members) = names.entry(*id) else { continue };
            if let Ok(at) = members.get().binary_search_by_key(&over.number, |one| one.domain) {
                members.get_mut().remove(at);
            }
            if members.get().is_empty() {
                members.remove();
            }
        }
    }

    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn count(&self, of: Option<LinkKey>) -> usize {
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        registry.running.keys().filter(|(link, _)| of.is_none_or(|of| of == *link)).count()
    }

    fn find<T>(&self, id: u64, look: impl FnOnce(&DomainMember) -> Option<T>) -> Option<T> {
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        look(names.get(&id)?.last()?)
    }

    /// Returns a plugin's address at a member. As below, the bytes live as long as `self`.
    pub(crate) fn address(&self, id: u64, plugin: &str) -> Option<*const [u8]> {
        self.find(id, |member| {
            let (_, address) =
                member.addresses.iter().find(|(name, _)| **name == *plugin.as_bytes())?;
            some_bytes(address)
        })
    }

    pub(crate) fn segment(&self, id: u64, va: u64) -> Option<usize> {
        let has = |segment: &StoredSegment| va >= segment.va && va - segment.va < segment.len;
        self.find(id, |member| member.segments.iter().position(has))
    }

    pub(crate) fn memh(&self, id: u64, segment: usize) -> Option<*const [u8]> {
        self.find(id, |member| some_bytes(&member.segments.get(segment)?.memh))
    }

    pub(crate) fn mkey(&self, id: u64, segment: usize) -> Option<*const [u8]> {
        self.find(id, |member| some_bytes(&member.segments.get(segment)?.mkey))
    }
}

/// Empty bytes count as missing: plugins cannot use them.
fn some_bytes(bytes: &StoredString) -> Option<*const [u8]> {
    (!bytes.is_empty()).then_some(Arc::as_ptr(bytes))
}

impl DomainRegistry {
    fn admit(
        &self,
        (link, domain): DomainKey,
        entries: usize,
        table: &Table<'_>,
    ) -> Result<(), Failure> {
        if self.running.contains_key(&(link, domain)) {
            return Err(Failure::new(DocaError::BAD_STATE, "the domain runs here already"));
        }
        if self.running.keys().filter(|key| key.0 == link).count() >= MOST_DOMAINS {
            let text = format!(
                "the worker is in {MOST_DOMAINS} domains of this host already: stop some, or use another worker"
            );
            return Err(Failure::new(DocaError::FULL, text));
        }
        if self.entries + entries > self.most_entries {
            let text = format!(
                "the worker's domains have {} workers, addresses of plugins and buffers already, and {entries} more are over \
                 its limit of {}: stop some domains, or use another worker",
                self.entries, self.most_entries
            );
            return Err(Failure::new(DocaError::FULL, text));
        }
        if !self.store.has_capacity(table.participants.iter().flat_map(strings)) {
            let text = "the worker lacks memory for the domain's addresses, handles and keys: it keeps those of all \
                        domains it was ever in, 256 MiB at most, because plugins may still use them; start a new worker";
            return Err(Failure::new(DocaError::FULL, text));
        }
        Ok(())
    }

    fn members(&mut self, participants: &[Participant<'_>]) -> Vec<(u64, DomainMember)> {
        self.last += 1;
        let (domain, store) = (self.last, &mut self.store);
        let mut all = Vec::new();
        for participant in participants {
            let segments = participant.segments.iter().map(|segment| StoredSegment {
                va: segment.va,
                len: segment.len,
                memh: store.keep(segment.memh),
                mkey: store.keep(segment.mkey),
            });
            let segments: Arc<[StoredSegment]> = segments.collect();
            for member in &participant.members {
                let keep = |address: &Address<'_>| {
                    (store.keep(address.plugin.as_bytes()), store.keep(address.address))
                };
                let addresses = member.addresses.iter().map(keep).collect();
                all.push((
                    member.id,
                    DomainMember { domain, addresses, segments: segments.clone() },
                ));
            }
        }
        all
    }
}

fn strings<'a>(participant: &'a Participant<'a>) -> impl Iterator<Item = &'a [u8]> {
    let addresses = participant.members.iter().flat_map(|member| &member.addresses);
    let addresses = addresses.flat_map(|address| [address.plugin.as_bytes(), address.address]);
    addresses.chain(participant.segments.iter().flat_map(|segment| [segment.memh, segment.mkey]))
}

#[cfg(test)]
#[path = "domains_tests.rs"]
mod tests;
