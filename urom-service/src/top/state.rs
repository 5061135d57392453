//! The state of the live view: the last two answers, and the effect of keys.

use std::ops::ControlFlow;
use std::time::Instant;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::table::{Choice, Sample, Tables};

/// A state of the service, or the reason why there is none.
pub(super) type Answer = Result<Sample, String>;

#[derive(Debug)]
pub(super) struct State {
    choice: Choice,
    before: Option<Sample>,
    now: Sample,
    /// The reason, if the last request failed.
    pub(super) lost: Option<String>,
    pub(super) is_paused: bool,
    pub(super) shows_help: bool,
    /// The filter's text before it was edited, while it is edited.
    before_edit: Option<String>,
    /// The table, of commands and workers, to which keys apply.
    pub(super) focus: usize,
    selected: [usize; 2],
    /// Filtered and sorted.
    pub(super) tables: Tables,
}

impl State {
    pub(super) fn new(choice: Choice, now: Sample) -> State {
        let mut state = State {
            choice,
            before: None,
            tables: Tables::new(None, &now),
            now,
            lost: None,
            is_paused: false,
            shows_help: false,
            before_edit: None,
            focus: 0,
            selected: [0; 2],
        };
        state.update();
        state
    }

    pub(super) fn choice(&self) -> &Choice {
        &self.choice
    }

    pub(super) fn edits_filter(&self) -> bool {
        self.before_edit.is_some()
    }

    /// The selected row of a table, unless it is empty.
    pub(super) fn selected(&self, table: usize) -> Option<usize> {
        let last = self.tables.tables[table].rows.len().checked_sub(1)?;
        Some(self.selected[table].min(last))
    }

    /// Seconds since the last answer.
    pub(super) fn age(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.now.at).as_secs()
    }

    pub(super) fn answer(&mut self, answer: Answer) {
        if self.is_paused {
            return;
        }
        match answer {
            Ok(sample) => {
                self.before = Some(std::mem::replace(&mut self.now, sample));
                self.lost = None;
                self.update();
            }
            Err(reason) => self.lost = Some(reason),
        }
    }

    /// Breaks if the key closes the view.
    pub(super) fn press(&mut self, key: KeyEvent) -> ControlFlow<()> {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return match key.code {
                KeyCode::Char('c') => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            };
        }
        if self.edits_filter() {
            self.edit(key.code);
        } else if std::mem::take(&mut self.shows_help) {
            // Any key closes the help.
        } else {
            match key.code {
                KeyCode::Char('q') => return ControlFlow::Break(()),
                KeyCode::Char('?') => self.shows_help = true,
                KeyCode::Char('p') => self.is_paused = !self.is_paused,
                KeyCode::Char('/') => self.before_edit = Some(self.choice.filter.clone()),
                KeyCode::Esc => self.choice.filter.clear(),
                KeyCode::Tab => self.focus = 1 - self.focus,
                KeyCode::Down | KeyCode::Char('j') => self.select(1),
                KeyCode::Up | KeyCode::Char('k') => self.select(-1),
                KeyCode::PageDown => self.select(10),
                KeyCode::PageUp => self.select(-10),
                KeyCode::Char('s') => {
                    let order = &mut self.choice.orders[self.focus];
                    order.column =
                        (order.column + 1) % self.tables.tables[self.focus].columns.len();
                    order.is_reversed = false;
                }
                KeyCode::Char('r') => {
                    let order = &mut self.choice.orders[self.focus];
                    order.is_reversed = !order.is_reversed;
                }
                _ => {}
            }
        }
        self.update();
        ControlFlow::Continue(())
    }

    fn edit(&mut self, key: KeyCode) {
        match key {
            KeyCode::Char(letter) => self.choice.filter.push(letter),
            KeyCode::Backspace => drop(self.choice.filter.pop()),
            KeyCode::Enter => self.before_edit = None,
            KeyCode::Esc => self.choice.filter = self.before_edit.take().unwrap_or_default(),
            _ => {}
        }
    }

    fn select(&mut self, by: isize) {
        let row = self.selected(self.focus).unwrap_or_default();
        self.selected[self.focus] = row.saturating_add_signed(by);
    }

    fn update(&mut self) {
        self.tables = Tables::new(self.before.as_ref(), &self.now);
        self.choice.apply(&mut self.tables);
        self.selected = [0, 1].map(|table| self.selected(table).unwrap_or_default());
    }
}
