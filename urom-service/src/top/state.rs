//! The state of the live view: the last two answers, and the effect of keys.

use std::ops::ControlFlow;
use std::time::Instant;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::table::{Choice, Sample, Tables};

/// A state of the service, or the reason of a failed request.
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
    /// Index of the table that keys change.
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::top::table::Cell;
    use crate::top::table::tests::sample;

    fn state() -> State {
        State::new(Choice::default(), sample(Instant::now(), 100))
    }

    fn press(state: &mut State, keys: &str) {
        for key in keys.chars() {
            let code = match key {
                '\n' => KeyCode::Enter,
                '\x1b' => KeyCode::Esc,
                '\t' => KeyCode::Tab,
                '\x7f' => KeyCode::Backspace,
                letter => KeyCode::Char(letter),
            };
            assert!(state.press(code.into()).is_continue(), "{key:?}");
        }
    }

    fn names(state: &State, table: usize) -> String {
        let rows = state.tables.tables[table].rows.iter();
        rows.map(|row| row[0].to_string()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn q_and_control_c_close_the_view_and_other_keys_do_not() {
        let control = |key| KeyEvent::new(KeyCode::Char(key), KeyModifiers::CONTROL);
        assert!(state().press(KeyCode::Char('q').into()).is_break());
        assert!(state().press(control('c')).is_break());
        let mut state = state();
        assert!(state.press(control('q')).is_continue());
        press(&mut state, "?q/q\nxyzjjjkkk\t\t");
        assert_eq!(state.choice().filter, "q");
        // Also while a filter is edited.
        press(&mut state, "/");
        assert!(state.press(control('c')).is_break());
    }

    #[test]
    fn a_filter_is_applied_while_it_is_typed_kept_by_enter_and_dropped_by_escape() {
        let mut state = state();
        press(&mut state, "/rdmx\x7f");
        assert_eq!(names(&state, 0), "rdmo");
        press(&mut state, "\n/zz");
        assert_eq!((names(&state, 0).as_str(), state.selected(0)), ("", None));
        press(&mut state, "jk\x1bs");
        assert_eq!((names(&state, 0).as_str(), state.selected(0)), ("rdmo", Some(0)));
        press(&mut state, "\x1b");
        assert_eq!(state.tables.tables[0].rows.len(), 2);
    }

    #[test]
    fn the_selection_stays_within_the_rows_and_each_table_has_its_own() {
        let mut state = state();
        press(&mut state, "kjjjj\tj");
        assert_eq!([state.selected(0), state.selected(1)], [Some(1); 2]);
        press(&mut state, "kk");
        assert_eq!([state.selected(0), state.selected(1)], [Some(1), Some(0)]);
        press(&mut state, "/Append\n");
        assert_eq!([state.selected(0), state.selected(1)], [Some(0), None]);
    }

    #[test]
    fn s_changes_the_column_of_the_focused_table_and_r_its_order() {
        let mut state = state();
        // From commands per second to the first column again.
        press(&mut state, "ssssss");
        assert_eq!(state.choice().orders[0].column, 0);
        assert_eq!(names(&state, 0), "allreduce rdmo");
        press(&mut state, "r");
        assert_eq!(names(&state, 0), "rdmo allreduce");
        press(&mut state, "\tssssr");
        assert_eq!(names(&state, 1), "auto-2 auto-1");
        assert_eq!(names(&state, 0), "rdmo allreduce");
    }

    #[test]
    fn answers_give_rates_until_the_view_is_paused_and_a_lost_service_keeps_its_rows() {
        let mut state = state();
        let start = state.now.at;
        let answer = |seconds, received| {
            let mut answer = sample(start + Duration::from_secs(seconds), received);
            answer.status.started = state.now.status.started;
            Ok(answer)
        };
        let [second, third, fourth] = [answer(1, 150), answer(2, 160), answer(4, 190)];
        state.answer(second);
        let rate = |state: &State| state.tables.tables[1].rows[0][3].clone();
        assert_eq!(rate(&state), Cell::Rate(Some(50.0)));
        state.answer(Err("no service listens".to_owned()));
        assert!(state.lost.is_some());
        assert_eq!(state.age(start + Duration::from_secs(9)), 8);
        assert_eq!(state.tables.tables[0].rows.len(), 2);
        state.answer(third);
        assert_eq!((state.lost.as_ref(), rate(&state)), (None, Cell::Rate(Some(10.0))));
        press(&mut state, "p");
        state.answer(Err("lost".to_owned()));
        state.answer(fourth.clone());
        assert_eq!((state.lost.as_ref(), rate(&state)), (None, Cell::Rate(Some(10.0))));
        press(&mut state, "p");
        // Over the whole time since the last state that was shown.
        state.answer(fourth);
        assert_eq!(rate(&state), Cell::Rate(Some(15.0)));
    }
}
