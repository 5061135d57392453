//! How a waker on another thread ends a host's sleep. This restates `drive`, `sleep` and `Notifier` of
//! `urom-host/src/wait.rs`, step by step: all of their operations on `notified` and `asleep` are sequentially consistent
//! where order matters, which loom does not model, so every interleaving of the steps is tried here instead.

/// What both threads share.
#[derive(Clone, Copy, Default)]
struct Shared {
    notified: bool,
    asleep: bool,
    /// The bell's descriptor is readable.
    bell: bool,
    /// What the future waits for.
    done: bool,
}

/// Where the sleeper is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sleeper {
    Look,
    Poll,
    SayAsleep,
    LookAgain,
    Sleep,
    SayAwake,
    Quiet,
    Over,
}

impl Sleeper {
    /// One step; `None` while it sleeps.
    fn step(self, shared: &mut Shared) -> Option<Sleeper> {
        Some(match self {
            Sleeper::Look => match std::mem::take(&mut shared.notified) {
                true => Sleeper::Poll,
                false => Sleeper::SayAsleep,
            },
            Sleeper::Poll if shared.done => Sleeper::Over,
            Sleeper::Poll => Sleeper::SayAsleep,
            Sleeper::SayAsleep => {
                shared.asleep = true;
                Sleeper::LookAgain
            }
            Sleeper::LookAgain if shared.notified => Sleeper::SayAwake,
            Sleeper::LookAgain => Sleeper::Sleep,
            Sleeper::Sleep if shared.bell => Sleeper::SayAwake,
            Sleeper::Sleep => return None,
            Sleeper::SayAwake => {
                shared.asleep = false;
                Sleeper::Quiet
            }
            Sleeper::Quiet => {
                shared.bell = false;
                Sleeper::Look
            }
            Sleeper::Over => return None,
        })
    }
}

/// Where a waker is: it finishes the work if it is the last, and wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waker {
    Finish,
    Notify,
    Ask,
    Ring,
    Over,
}

impl Waker {
    fn step(self, shared: &mut Shared) -> Option<Waker> {
        Some(match self {
            Waker::Finish => {
                shared.done = true;
                Waker::Notify
            }
            Waker::Notify => {
                shared.notified = true;
                Waker::Ask
            }
            Waker::Ask if shared.asleep => Waker::Ring,
            Waker::Ask => Waker::Over,
            Waker::Ring => {
                shared.bell = true;
                Waker::Over
            }
            Waker::Over => return None,
        })
    }
}

/// Goes on in every way there is; how many ends there are. A sleeper may fall asleep so many times more.
fn explore(shared: Shared, sleeper: Sleeper, wakers: [Waker; 2], turns: usize) -> usize {
    let mut ends = 0;
    let mut moved = false;
    let mut after = shared;
    if let Some(next) = sleeper.step(&mut after) {
        moved = true;
        let turns = turns - usize::from(next == Sleeper::Look);
        if turns > 0 {
            ends += explore(after, next, wakers, turns);
        }
    }
    for at in 0..wakers.len() {
        let mut after = shared;
        if let Some(next) = wakers[at].step(&mut after) {
            moved = true;
            let mut wakers = wakers;
            wakers[at] = next;
            ends += explore(after, sleeper, wakers, turns);
        }
    }
    if !moved {
        assert_eq!(sleeper, Sleeper::Over, "it sleeps, and nobody is left to wake it");
        ends += 1;
    }
    ends
}

#[test]
fn a_sleeper_is_woken_in_whatever_order_things_happen() {
    // Polled once before anything else, as a wait begins.
    let begin = Shared { notified: true, ..Shared::default() };
    let one = explore(begin, Sleeper::Look, [Waker::Finish, Waker::Over], 6);
    assert!(one > 20, "{one} orders");
    // Another waker that only wakes, as one that was left from before may.
    let two = explore(begin, Sleeper::Look, [Waker::Finish, Waker::Notify], 6);
    assert!(two > one, "{two} orders");
}
