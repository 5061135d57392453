//! The loop of the live view: keys, answers and signals. It restores the terminal at the end.

use std::io::{IsTerminal, stdin, stdout};
use std::time::{Duration, Instant};

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::source::Source;
use super::state::{Answer, State};
use super::table::Sample;
use super::{Top, view};
use crate::aside::{on_thread, result_of};

/// The time after which the screen shows the age of the last answer again.
const REDRAW: Duration = Duration::from_secs(1);

/// The terminal in its own screen, until it is dropped.
struct Screen(DefaultTerminal);

impl Screen {
    fn open() -> Result<Screen, String> {
        // It also restores the terminal in a panic, before the message.
        ratatui::try_init().map(Screen).map_err(|error| format!("the terminal: {error}"))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// Shows the view until a key or a signal closes it.
pub(super) fn run(top: Top, first: Sample) -> Result<(), String> {
    if !stdout().is_terminal() || !stdin().is_terminal() {
        return Err("the live view needs a terminal as input and output: add --once".to_owned());
    }
    urom_os::signals::receive_ends();
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(show(top, first))
}

async fn show(top: Top, first: Sample) -> Result<(), String> {
    let name = top.source.to_string();
    let mut state = State::new(top.choice, first);
    let ends = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()];
    let (end, mut ended) = mpsc::channel(1);
    for kind in ends {
        let mut signal = signal(kind).map_err(|error| error.to_string())?;
        let end = end.clone();
        tokio::spawn(async move {
            signal.recv().await;
            let _ = end.send(()).await;
        });
    }
    let mut screen = Screen::open()?;
    let mut events = terminal_events()?;
    let (into, mut answers) = mpsc::channel(1);
    tokio::spawn(ask(top.source, top.interval, into));
    loop {
        let drawn = screen.0.draw(|frame| view::draw(frame, &state, &name, Instant::now()));
        drawn.map_err(|error| format!("the terminal: {error}"))?;
        tokio::select! {
            _ = ended.recv() => return Ok(()),
            event = events.recv() => match event {
                Some(Event::Key(key)) if key.kind != KeyEventKind::Release => {
                    if state.press(key).is_break() {
                        return Ok(());
                    }
                }
                Some(_) => {}
                None => return Err("the terminal: it was closed".to_owned()),
            },
            answer = answers.recv() => match answer {
                Some(answer) => state.answer(answer),
                None => return Err("a request panicked; please report it".to_owned()),
            },
            () = sleep(REDRAW) => {}
        }
    }
}

/// Reads the terminal on a thread, which ends with the process: a read cannot be cancelled.
fn terminal_events() -> Result<mpsc::Receiver<Event>, String> {
    let (into, events) = mpsc::channel(64);
    on_thread("urom-keys", move || {
        while let Ok(event) = event::read() {
            if into.blocking_send(event).is_err() {
                return;
            }
        }
    })?;
    Ok(events)
}

/// Asks for the service's state again and again. Ends if a request panics.
async fn ask(source: Source, interval: Duration, into: mpsc::Sender<Answer>) {
    loop {
        sleep(interval).await;
        let source = source.clone();
        let Ok(answer) = result_of("urom-status", move || source.sample()).await else { return };
        if into.send(answer).await.is_err() {
            return;
        }
    }
}
