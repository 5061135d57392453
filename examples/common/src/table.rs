//! The table of results.

/// Renders a table with aligned columns.
pub fn render<const COLUMNS: usize>(head: [&str; COLUMNS], rows: &[[String; COLUMNS]]) -> String {
    let widths: [usize; COLUMNS] = std::array::from_fn(|column| {
        let cells = rows.iter().map(|row| row[column].len());
        cells.chain([head[column].len()]).max().unwrap_or(0)
    });
    let line = |cells: [&str; COLUMNS]| {
        let cells = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:>width$}"));
        cells.collect::<Vec<_>>().join("  ") + "\n"
    };
    let rows = rows.iter().map(|row| line(row.each_ref().map(String::as_str)));
    [line(head)].into_iter().chain(rows).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_to_the_right_and_as_wide_as_they_need_to_be() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned);
        let text = render(["id", "value"], &[row(["1", "1.5"]), row(["1000", "22222.5"])]);
        assert_eq!(text, "  id    value\n   1      1.5\n1000  22222.5\n");
        assert_eq!(render(["id", "value"], &[]), "id  value\n");
    }
}
