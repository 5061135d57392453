//! The drawing of `uromd top`.

use std::time::Instant;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Block, Clear, Paragraph, Row, Table as Grid, TableState};

use super::state::State;
use super::table::Cell;

const TITLES: [&str; 2] = ["Commands (percentiles since the service's start)", "Workers"];

const KEYS: &str = "q quit  / filter  s sort  r reverse  tab other table  p pause  ? help";

const HELP: [&str; 9] = [
    "q        quit",
    "up, k    select the row above; page up: ten rows",
    "down, j  select the row below; page down: ten rows",
    "tab      change between commands and workers",
    "s        sort by the next column, which has a * (reversed: ~)",
    "r        reverse the order",
    "/        filter by name: Enter keeps the text, Esc does not",
    "Esc      remove the filter",
    "p        pause",
];

pub(super) fn draw(frame: &mut Frame<'_>, state: &State, source: &str, now: Instant) {
    // The table of workers gets what it needs, but at most a third of the screen.
    let workers = state.tables.tables[1].rows.len().saturating_add(2).min(usize::from(u16::MAX));
    let workers = (workers as u16).min(frame.area().height / 3);
    let [head, notice, commands, workers, keys] = Layout::vertical([
        Constraint::Length(3),
        Constraint::Length(1),
        Constraint::Min(0),
        Constraint::Length(workers),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(Text::from_iter(state.tables.head.iter().map(String::as_str)), head);
    frame.render_widget(state_line(state, source, now), notice);
    grid(frame, state, 0, commands);
    grid(frame, state, 1, workers);
    frame.render_widget(Line::styled(key_line(state), Style::new().dim()), keys);
    if state.shows_help {
        help(frame);
    }
}

fn state_line(state: &State, source: &str, now: Instant) -> Line<'static> {
    if state.is_paused {
        return Line::styled("paused", Style::new().fg(Color::Yellow));
    }
    let text = match &state.lost {
        Some(reason) => format!("no answer since {} s: {reason}", state.age(now)),
        None => return Line::styled(source.to_owned(), Style::new().dim()),
    };
    Line::styled(text, Style::new().fg(Color::Red))
}

fn key_line(state: &State) -> String {
    let filter = &state.choice().filter;
    match filter.as_str() {
        _ if state.edits_filter() => format!("filter: {filter}_  (Enter keeps it, Esc does not)"),
        "" => KEYS.to_owned(),
        _ => format!("filter: {filter}  {KEYS}"),
    }
}

fn grid(frame: &mut Frame<'_>, state: &State, index: usize, area: Rect) {
    let (table, order) = (&state.tables.tables[index], state.choice().orders[index]);
    let heads = table.columns.iter().enumerate().map(|(column, named)| {
        let head = named.head;
        match (column == order.column, order.is_reversed) {
            (false, _) => head.to_owned(),
            (true, false) => format!("{head}*"),
            (true, true) => format!("{head}~"),
        }
    });
    let heads: Vec<String> = heads.collect();
    let rows: Vec<Vec<String>> =
        table.rows.iter().map(|row| row.iter().map(ToString::to_string).collect()).collect();
    let widths = heads.iter().enumerate().map(|(column, head)| {
        let cells = rows.iter().map(|row| &row[column]).chain([head]);
        let width = cells.map(|cell| Line::from(cell.as_str()).width()).max().unwrap_or_default();
        Constraint::Length(u16::try_from(width).unwrap_or(u16::MAX))
    });
    let is_text =
        |column: usize| table.rows.first().is_none_or(|row| matches!(row[column], Cell::Text(_)));
    let row_of = |cells: &[String]| {
        Row::new(cells.iter().enumerate().map(|(column, cell)| {
            let text = Text::from(cell.clone());
            if is_text(column) { text } else { text.right_aligned() }
        }))
    };
    let is_focused = state.focus == index;
    let title = Style::new().bold();
    let title = if is_focused { title.fg(Color::Cyan) } else { title };
    let selected = if is_focused { Style::new().reversed() } else { Style::new() };
    let grid = Grid::new(rows.iter().map(|row| row_of(row)), widths)
        .column_spacing(2)
        .header(row_of(&heads).style(Style::new().bold()))
        .row_highlight_style(selected)
        .block(Block::new().title(Line::styled(TITLES[index], title)));
    let mut selection = TableState::new().with_selected(state.selected(index));
    frame.render_stateful_widget(grid, area, &mut selection);
}

fn help(frame: &mut Frame<'_>) {
    let text = Text::from_iter(HELP);
    let [width, height] = [text.width(), text.height()].map(|size| size as u16 + 2);
    let area = frame.area().centered(Constraint::Length(width), Constraint::Length(height));
    frame.render_widget(Clear, area);
    let block = Block::bordered().title("Keys (any key closes this)");
    frame.render_widget(Paragraph::new(text).block(block), area);
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use ratatui::crossterm::event::KeyCode;

    use super::*;
    use crate::top::table::Choice;
    use crate::top::table::tests::sample;

    fn state() -> State {
        State::new(Choice::default(), sample(Instant::now(), 100))
    }

    /// Draws the state, and returns the screen's lines without spaces at their ends.
    fn screen(state: &State, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, state, "/run/control", Instant::now())).unwrap();
        let buffer = terminal.backend().buffer().clone();
        let lines = buffer.content.chunks(usize::from(width)).map(|line| {
            let line: String = line.iter().map(|cell| cell.symbol()).collect();
            line.trim_end().to_owned() + "\n"
        });
        lines.collect()
    }

    #[test]
    fn a_screen_shows_the_service_its_commands_and_its_workers() {
        let mut state = state();
        state.tables.head[0]
            .truncate("uromd 0.1.0 with UCX 1.20.0 serves 127.0.0.1:18700, up 1h".len());
        let shown = screen(&state, 100, 16);
        let wanted = "\
uromd 0.1.0 with UCX 1.20.0 serves 127.0.0.1:18700, up 1h
hosts: 1; workers: 2, 1 ready, 1 starting; memory: 6.0 MiB
commands: - per second, 6 in flight, - failed per second
/run/control
Commands (percentiles since the service's start)
PLUGIN     COMMAND    PER SECOND*  IN FLIGHT  FAILED/S  FAILED    P50  P99
allreduce  Allreduce            -          3         -       4  12 us    -
rdmo       Append               -          3         -     100  12 us    -



Workers
WORKER  STATE     HOSTS  PER SECOND*  UNREAD   MEMORY  PLUGINS
auto-1  ready         2            -   512 B  3.0 MiB  allreduce rdmo
auto-2  starting      2            -   512 B  3.0 MiB  allreduce rdmo
q quit  / filter  s sort  r reverse  tab other table  p pause  ? help
";
        assert_eq!(shown, wanted, "{shown}");
    }

    #[test]
    fn the_last_lines_show_the_filter_a_pause_a_lost_service_and_the_help() {
        let mut state = state();
        state.answer(Err("no service listens at /run/control".to_owned()));
        let shown = screen(&state, 80, 20);
        assert!(shown.contains("no answer since 0 s: no service listens"), "{shown}");
        for (key, part) in [
            ('?', "Esc      remove the filter"),
            ('x', "q quit"),
            ('p', "paused"),
            ('/', "filter: _"),
        ] {
            let _ = state.press(KeyCode::Char(key).into());
            let shown = screen(&state, 80, 20);
            assert!(shown.contains(part), "{shown}");
        }
    }

    #[test]
    fn every_size_of_a_terminal_is_drawn() {
        let mut state = state();
        for help in [false, true] {
            for (width, height) in [(1, 1), (10, 3), (3, 10), (200, 1), (1, 200), (500, 200)] {
                let shown = screen(&state, width, height);
                assert_eq!(shown.lines().count(), usize::from(height));
            }
            assert_eq!(state.shows_help, help);
            let _ = state.press(KeyCode::Char('?').into());
        }
    }
}
