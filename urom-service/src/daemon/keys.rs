//! The keys of a service: the key in its file and, after a change, the previous key until the next
//! reload.

use std::sync::{Arc, PoisonError, RwLock};

use urom_wire::key::{Key, Secret};

/// Secrets for hosts' streams to the daemon; shared with the tasks that accept them.
#[derive(Debug, Clone, Default)]
pub(crate) struct HostSecrets(Arc<RwLock<Vec<Secret>>>);

impl HostSecrets {
    pub(crate) fn get(&self) -> Vec<Secret> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, secrets: Vec<Secret>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = secrets;
    }
}

/// The current key is the first. Empty for a service without a key.
#[derive(Debug)]
pub(crate) struct ServiceKeys {
    keys: Vec<Key>,
    hosts: HostSecrets,
}

impl ServiceKeys {
    pub(crate) fn new(key: Option<Key>) -> ServiceKeys {
        let keys = ServiceKeys { keys: key.into_iter().collect(), hosts: HostSecrets::default() };
        keys.update();
        keys
    }

    pub(crate) fn hosts(&self) -> &HostSecrets {
        &self.hosts
    }

    pub(crate) fn of_worker(&self, id: u64) -> Vec<Secret> {
        self.keys.iter().map(|key| key.worker_secret(id)).collect()
    }

    /// Accepts the key of a reload beside the current one; a key that did not change, alone.
    /// Returns the text for the operator.
    pub(crate) fn reload(&mut self, key: Key) -> &'static str {
        let current = self.keys.drain(..).next().filter(|current| *current != key);
        let text = match current {
            Some(_) => "a new key; the previous key is accepted until the next reload",
            None => "the same key",
        };
        self.keys = [key].into_iter().chain(current).collect();
        self.update();
        text
    }

    fn update(&self) {
        self.hosts.set(self.keys.iter().map(Key::daemon_secret).collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_key_is_accepted_until_the_next_reload() {
        let keys = [(); 3].map(|()| Key::random().unwrap());
        let [first, second, third] = keys.each_ref().map(Key::daemon_secret);
        let mut service = ServiceKeys::new(Some(keys[0].clone()));
        let hosts = service.hosts().clone();
        assert!(hosts.get() == std::slice::from_ref(&first));
        assert!(service.reload(keys[1].clone()).starts_with("a new key"));
        assert!(hosts.get() == [second.clone(), first]);
        assert_eq!(service.of_worker(7).len(), 2);
        assert!(service.reload(keys[2].clone()).starts_with("a new key"));
        assert!(hosts.get() == [third.clone(), second]);
        assert_eq!(service.reload(keys[2].clone()), "the same key");
        assert!(hosts.get() == [third]);
        assert!(ServiceKeys::new(None).hosts().get().is_empty());
    }
}
