//! Faults of a link, and their expected effects.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::Signal;

use super::link::Cut;
use super::scene::{BUDGET, CUT_OFF, GONE, ONE, Scene};
use crate::ending::wait_for_end;
use crate::host::{Kind, Order, Trouble};
use crate::measure::{between, now};
use crate::process::{in_time, signal};
use crate::vitals::{descriptors, until};

/// Length of a cut that connections must survive. TCP retries 0.2, 0.6, 1.4 and 3 s after a lost
/// packet, and the last heartbeat may be a second old: the effect of longer cuts depends on the
/// moment.
const SHORT_CUT: Duration = Duration::from_secs(1);

/// Upper bound of a short cut: the kernel's next retry comes at most one cut length after the cut,
/// and must precede the timeout of 3.5 s.
const STILL_SHORT: Duration = Duration::from_millis(1600);

const TRIES: u32 = 3;

/// Time on a bad link: above all timeouts.
const LONG: Duration = Duration::from_millis(4500);

/// Classes of figures: losses, and all others.
const LOSS: &str = "losses/cut-off";
const NETWORK: &str = "network";

pub(super) struct Scenario {
    pub(super) name: String,
    pub(super) budget: Option<Duration>,
    class: &'static str,
    play: Box<dyn Fn() -> Result<Duration> + Send + Sync>,
}

fn scenario(
    class: &'static str,
    budget: Option<Duration>,
    name: impl Into<String>,
    play: impl Fn(&mut Scene) -> Result<Duration> + Send + Sync + 'static,
) -> Scenario {
    Scenario { name: name.into(), budget, class, play: Box::new(move || with_scene(&play)) }
}

pub(super) fn all(times: u32) -> Vec<Scenario> {
    (0..times).flat_map(|_| once()).collect()
}

fn once() -> Vec<Scenario> {
    let budget = Some(BUDGET);
    let mut all = vec![
        scenario(LOSS, budget, "half-open, the service gone", service_vanishes),
        scenario(LOSS, budget, "half-open, the host gone", host_vanishes),
        scenario(NETWORK, budget, "starting a worker through a cut link", start_through_cut),
        scenario(NETWORK, budget, "connecting to a daemon that is stopped", connect_to_stopped),
        scenario(NETWORK, budget, "connecting to a daemon that dies", connect_to_dying),
    ];
    for cut in Cut::ALL {
        for kind in [Kind::Busy, Kind::Idle] {
            let name = format!("cut {cut:?}, {kind:?}");
            all.push(scenario(LOSS, budget, name, move |scene| lost(scene, cut, kind)));
        }
        let name = format!("cut {cut:?} and restored before a peer noticed");
        let play = Box::new(move || restored_soon(cut));
        all.push(Scenario { name, budget: None, class: NETWORK, play });
    }
    for rate in ["10mbit", "1mbit", "256kbit"] {
        all.push(scenario(NETWORK, None, format!("throttled to {rate}"), move |scene| {
            scene.link.throttle(rate)?;
            let took = survives(scene)?;
            let waited = scene.link.held_back()?;
            ensure!(waited != [0, 0], "no packet had to wait, so nothing was throttled");
            Ok(took)
        }));
    }
    for percent in [1, 5] {
        all.push(scenario(
            NETWORK,
            None,
            format!("{percent} % of the packets lost"),
            move |scene| {
                // Over the link as it is: after a lost SYN, TCP repeats the next lost packet after
                // 3 s, and connecting has 4 s.
                scene.connect()?;
                scene.link.lose(percent)?;
                let took = works(scene)?;
                let lost = scene.link.dropped()?;
                ensure!(
                    !lost.contains(&0),
                    "lost at the host and at the service: {lost:?} packets"
                );
                Ok(took)
            },
        ));
    }
    for cut in [Cut::AtHost, Cut::Silently] {
        let name = format!("connecting through a link cut {cut:?}");
        all.push(scenario(NETWORK, budget, name, move |scene| {
            scene.link.cut(cut)?;
            let took = refused(scene)?;
            scene.link.restore(cut)?;
            scene.connect()?;
            Ok(took)
        }));
    }
    all
}

impl Scenario {
    pub(super) fn figure(&self) -> String {
        let words = self.name.split(|letter: char| !letter.is_ascii_alphanumeric());
        let words: Vec<_> =
            words.filter(|word| !word.is_empty()).map(str::to_ascii_lowercase).collect();
        format!("{}/{}", self.class, words.join("-"))
    }

    /// Plays the scenario; returns its detection time, or its length if there is nothing to detect.
    pub(super) fn play(&self) -> Result<Duration> {
        (self.play)()
    }
}

fn with_scene<T>(play: impl FnOnce(&mut Scene) -> Result<T>) -> Result<T> {
    let mut scene = Scene::new()?;
    play(&mut scene).with_context(|| scene.logs.tails())
}

fn lost(scene: &mut Scene, cut: Cut, kind: Kind) -> Result<Duration> {
    let worker = scene.connect()?;
    let before = descriptors(scene.daemon.pid())?;
    scene.host.load(ONE, kind, 32, 7)?;
    if kind == Kind::Busy {
        scene.host.pass(ONE, 500)?;
    }
    let begin = now();
    scene.link.cut(cut)?;
    let took = scene.noticed(begin, &CUT_OFF)?;
    scene.link.restore(cut)?;
    scene.recovers(worker, before)?;
    Ok(took)
}

/// Plays a short cut, and repeats it if it took too long: other processes keep the kernel busy with
/// links.
fn restored_soon(cut: Cut) -> Result<Duration> {
    for _ in 0..TRIES {
        let mut took = Duration::ZERO;
        let played = with_scene(|scene| restored(scene, cut, &mut took));
        if took <= STILL_SHORT {
            return played.map(|()| took);
        }
        println!("    again, because the cut lasted {took:?}");
    }
    bail!("the link could not be restored within {STILL_SHORT:?} in {TRIES} tries")
}

/// Cuts and restores the link; `took` gets the length of the cut, even if a later step fails.
fn restored(scene: &mut Scene, cut: Cut, took: &mut Duration) -> Result<()> {
    scene.connect_and_load()?;
    let begin = now();
    scene.link.cut(cut)?;
    let early = in_time(scene.host.over(ONE, SHORT_CUT))?;
    ensure!(early.is_none(), "lost at once: {early:?}");
    scene.link.restore(cut)?;
    *took = between(begin, now());
    scene.host.pass(ONE, 500)?;
    scene.host.halt(ONE)?;
    Ok(())
}

fn survives(scene: &mut Scene) -> Result<Duration> {
    scene.connect()?;
    works(scene)
}

fn works(scene: &mut Scene) -> Result<Duration> {
    let begin = Instant::now();
    scene.host.load(ONE, Kind::Busy, 64, 7)?;
    while begin.elapsed() < LONG {
        scene.host.pass(ONE, 50)?;
    }
    scene.host.halt(ONE)?;
    Ok(begin.elapsed())
}

fn service_vanishes(scene: &mut Scene) -> Result<Duration> {
    let worker = scene.connect_and_load()?;
    let begin = now();
    scene.link.cut(Cut::Silently)?;
    signal(scene.daemon.pid(), Signal::KILL)?;
    let _ = signal(worker, Signal::KILL);
    wait_for_end(worker, BUDGET, "a killed worker")?;
    // The host's further packets reach a kernel without this connection.
    scene.link.restore(Cut::Silently)?;
    scene.noticed(begin, &GONE)
}

fn host_vanishes(scene: &mut Scene) -> Result<Duration> {
    let worker = scene.connect_and_load()?;
    let before = descriptors(scene.daemon.pid())?;
    let begin = now();
    scene.link.cut(Cut::Silently)?;
    signal(scene.host.pid(), Signal::KILL)?;
    wait_for_end(worker, 2 * BUDGET, "the worker of a host that vanished")?;
    let took = between(begin, now());
    let daemon = scene.daemon.pid();
    // Two descriptors: the streams of host and worker.
    until(BUDGET, "the daemon lets go of both", || Ok(descriptors(daemon)? + 2 <= before))?;
    Ok(took)
}

/// Checks that connecting fails in time, with the address in the error.
fn refused(scene: &mut Scene) -> Result<Duration> {
    let begin = now();
    let result = scene.host.try_connect(scene.daemon.address())?;
    let took = between(begin, now());
    let Trouble { text, .. } = result.err().context("connected through nothing")?;
    ensure!(text.contains(scene.daemon.address()), "an error that does not say where: {text}");
    Ok(took)
}

fn connect_to_stopped(scene: &mut Scene) -> Result<Duration> {
    signal(scene.daemon.pid(), Signal::STOP)?;
    let took = refused(scene)?;
    signal(scene.daemon.pid(), Signal::CONT)?;
    scene.connect()?;
    Ok(took)
}

fn connect_to_dying(scene: &mut Scene) -> Result<Duration> {
    signal(scene.daemon.pid(), Signal::STOP)?;
    let begin = now();
    scene.host.tell(&Order::Connect { address: scene.daemon.address().to_owned() })?;
    signal(scene.daemon.pid(), Signal::KILL)?;
    let Trouble { text, .. } =
        scene.host.connected()?.err().context("connected to a dead daemon")?;
    ensure!(text.contains(scene.daemon.address()), "an error that does not say where: {text}");
    Ok(between(begin, now()))
}

fn start_through_cut(scene: &mut Scene) -> Result<Duration> {
    scene.host.connect(scene.daemon.address())?;
    let begin = now();
    scene.link.cut(Cut::Silently)?;
    let trouble = scene.host.try_start(ONE)?.err().context("started a worker through nothing")?;
    let took = between(begin, now());
    ensure!(
        trouble.text.contains("worker 1"),
        "an error that does not say which worker: {}",
        trouble.text
    );
    scene.link.restore(Cut::Silently)?;
    scene.host.disconnect()?;
    scene.connect()?;
    Ok(took)
}
