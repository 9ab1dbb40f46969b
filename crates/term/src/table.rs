//! Rows in columns, cut to the width of the terminal.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::safe_line;

/// The blanks between two columns.
const GAP: usize = 2;
/// A last column that has to be narrower than this is not cut: nothing of use would be left.
const NARROWEST: usize = 20;

/// Returns rows of cells in columns, made safe to show. With a `width`, the last column is cut to fit it.
pub fn table(rows: &[Vec<String>], width: Option<usize>) -> String {
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|row| row.iter().map(|cell| safe_line(cell).into_owned()).collect())
        .collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widest = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(widest).collect();
    let before: usize = widths.iter().rev().skip(1).map(|width| width + GAP).sum();
    let last = width.map(|width| width.saturating_sub(before)).filter(|last| *last >= NARROWEST);
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            if column + 1 == columns {
                line.push_str(&last.map_or_else(|| cell.clone(), |last| cut(cell, last)));
            } else {
                line.push_str(cell);
                line.push_str(&" ".repeat(widths[column] - cell.width() + GAP));
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Returns as much of `text` as fits into `width` columns; what is cut ends in `…`.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut used = 0;
    let fits = |character: &char| {
        used += character.width().unwrap_or(0);
        used < width
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn columns_fit_the_terminal_and_wide_letters() {
        let rows = [
            ["NAME", "WHAT"],
            ["技能", "does something that takes long to say"],
            ["a\u{1b}[2J", "x"],
        ];
        let rows: Vec<Vec<String>> =
            rows.map(|row| row.map(str::to_owned).to_vec()).into_iter().collect();
        expect![[r#"
            NAME   WHAT
            技能   does something that…
            a␛[2J  x
        "#]]
        .assert_eq(&table(&rows, Some(27)));
        assert!(table(&rows, None).contains("long to say"));
        assert_eq!(table(&[], None), "");
    }
}
