//! Detects a blocked data thread: it counts its turns and records the called plugin, without
//! reading the clock, and the control thread polls once a second.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use urom_wire::control::{HungCall, Method};

pub(crate) const LOOK: Duration = Duration::from_secs(1);

/// Seconds after which a call is reported as hung.
pub(crate) const LONG: u32 = 5;

#[derive(Debug, Default)]
pub(crate) struct CallWatch {
    turn: AtomicU64,
    /// The data thread's current call, as [`PluginCalls`] writes it; 0 outside of plugins.
    call: AtomicU32,
    names: Mutex<Vec<String>>,
}

impl CallWatch {
    #[inline]
    pub(crate) fn next_turn(&self) {
        // Single writer, so an atomic addition is not needed.
        self.turn.store(self.turn.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// Registers a plugin and counts a turn: each plugin has its own time to open.
    pub(crate) fn plugin(self: &Arc<CallWatch>, name: &str) -> PluginCalls {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.push(name.to_owned());
        self.next_turn();
        PluginCalls { plugin: (names.len() as u32) << 8, watch: Arc::clone(self) }
    }

    fn read(&self, call: u32) -> Option<(String, Method)> {
        let (index, method) = ((call >> 8).checked_sub(1)?, Method::of_number(call as u8)?);
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        Some((names.get(index as usize)?.clone(), method))
    }
}

/// Records the calls of one plugin.
#[derive(Debug, Clone)]
pub(crate) struct PluginCalls {
    watch: Arc<CallWatch>,
    /// Its index plus one, above the byte of the method.
    plugin: u32,
}

impl PluginCalls {
    #[inline]
    pub(crate) fn begin(&self, method: Method) {
        self.watch.call.store(self.plugin | method as u32, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn over(&self) {
        self.watch.call.store(0, Ordering::Relaxed);
    }
}

#[derive(Debug)]
pub(crate) struct CallObserver {
    watch: Arc<CallWatch>,
    turn: u64,
    call: u32,
    /// Polls that found the same turn inside a plugin; a pause of this process counts once.
    seconds: u32,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CallEvent {
    /// A plugin has now blocked the data thread for [`LONG`] seconds.
    Hung(HungCall),
    Returned(HungCall),
}

impl CallObserver {
    pub(crate) fn new(watch: Arc<CallWatch>) -> CallObserver {
        CallObserver { watch, turn: 0, call: 0, seconds: 0 }
    }

    pub(crate) fn look(&mut self) -> Option<CallEvent> {
        let call = self.watch.call.load(Ordering::Relaxed);
        let turn = self.watch.turn.load(Ordering::Relaxed);
        if turn == self.turn && call != 0 && self.call != 0 {
            self.call = call;
            self.seconds += 1;
            return self.hung().filter(|hung| hung.seconds == LONG).map(CallEvent::Hung);
        }
        let before = self.hung().filter(|hung| hung.seconds >= LONG);
        (self.turn, self.call, self.seconds) = (turn, call, 0);
        before.map(CallEvent::Returned)
    }

    /// Returns the call that has blocked the data thread for at least a second.
    pub(crate) fn hung(&self) -> Option<HungCall> {
        let (plugin, method) = self.watch.read(self.call).filter(|_| self.seconds > 0)?;
        Some(HungCall { plugin, method, seconds: self.seconds })
    }

    pub(crate) fn call(&self) -> Option<(String, Method)> {
        self.watch.read(self.watch.call.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rig() -> (Arc<CallWatch>, PluginCalls, CallObserver) {
        let watch = Arc::new(CallWatch::default());
        watch.plugin("first");
        let calls = watch.plugin("second");
        let observer = CallObserver::new(Arc::clone(&watch));
        (watch, calls, observer)
    }

    fn hung(method: Method, seconds: u32) -> HungCall {
        HungCall { plugin: "second".to_owned(), method, seconds }
    }

    #[test]
    fn a_call_that_does_not_return_is_told_of_once_and_so_is_its_end() {
        let (watch, calls, mut observer) = rig();
        watch.next_turn();
        calls.begin(Method::WorkerCmd);
        assert_eq!((observer.look(), observer.hung()), (None, None), "it may just have begun");
        for seconds in 1..LONG {
            assert_eq!(observer.look(), None);
            assert_eq!(observer.hung(), Some(hung(Method::WorkerCmd, seconds)));
        }
        assert_eq!(observer.look(), Some(CallEvent::Hung(hung(Method::WorkerCmd, LONG))));
        assert_eq!(observer.look(), None);
        calls.over();
        assert_eq!(observer.look(), Some(CallEvent::Returned(hung(Method::WorkerCmd, LONG + 1))));
        assert_eq!((observer.look(), observer.hung()), (None, None));
    }

    #[test]
    fn a_plugin_that_is_called_in_every_turn_is_well() {
        let (watch, calls, mut observer) = rig();
        for _ in 0..3 * LONG {
            watch.next_turn();
            calls.begin(Method::Progress);
            assert_eq!((observer.look(), observer.hung()), (None, None));
        }
    }

    #[test]
    fn a_thread_that_sleeps_is_well() {
        let (watch, calls, mut observer) = rig();
        watch.next_turn();
        calls.begin(Method::Progress);
        calls.over();
        for _ in 0..3 * LONG {
            assert_eq!((observer.look(), observer.hung()), (None, None));
        }
        // It wakes between two polls, which is a new turn.
        watch.next_turn();
        calls.begin(Method::WorkerCmd);
        assert_eq!((observer.look(), observer.hung()), (None, None));
    }

    #[test]
    fn a_turn_that_goes_round_in_circles_has_its_latest_call_named() {
        let (watch, calls, mut observer) = rig();
        watch.next_turn();
        for method in [Method::Progress, Method::NotifPack].into_iter().cycle().take(LONG as usize)
        {
            calls.begin(method);
            observer.look();
        }
        calls.begin(Method::NotifPack);
        assert_eq!(observer.look(), Some(CallEvent::Hung(hung(Method::NotifPack, LONG))));
    }

    #[test]
    fn plugins_that_open_one_after_the_other_have_their_own_time_each() {
        let watch = Arc::new(CallWatch::default());
        let mut observer = CallObserver::new(Arc::clone(&watch));
        for name in ["one", "two", "three"] {
            watch.plugin(name).begin(Method::Open);
            for _ in 0..LONG {
                assert_eq!(observer.look(), None);
            }
        }
    }
}
