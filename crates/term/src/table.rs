//! Tables that fit the terminal, with one cell per line if the columns do not fit.

use std::fmt::Write as _;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::safe_line;

/// The number of spaces between two columns.
const GAP: usize = 2;
/// A column truncated to less than this is unreadable; each cell then gets its own line.
const MIN_WIDTH: usize = 10;
/// The indentation of a cell on its own line.
const INDENT: &str = "  ";

/// Returns rows as a table that is safe to show. With a `width`, the widest columns are truncated so that no line is wider;
/// if that would make them unreadable, each cell gets its own line.
pub fn table(rows: &[Vec<String>], width: Option<usize>) -> String {
    let rows = safe(rows);
    let natural = natural(&rows);
    match width {
        None => columns(&rows, &natural),
        Some(width) => match fitted(&natural, width) {
            Some(widths) => columns(&rows, &widths),
            None => rows.iter().map(|row| stacked(row, width)).collect(),
        },
    }
}

/// Same as [`table`] with a header row. If each cell gets its own line, the column name precedes it.
pub fn headed_table(head: &[&str], rows: &[Vec<String>], width: Option<usize>) -> String {
    let rows = safe(rows);
    let head: Vec<String> = head.iter().map(|&name| name.to_owned()).collect();
    let all: Vec<Vec<String>> = std::iter::once(head.clone()).chain(rows.clone()).collect();
    let natural = natural(&all);
    match width {
        None => columns(&all, &natural),
        Some(width) => match fitted(&natural, width) {
            Some(widths) => columns(&all, &widths),
            None => rows
                .iter()
                .map(|row| stacked_with_names(&head, row, width))
                .collect::<Vec<String>>()
                .join("\n"),
        },
    }
}

/// Returns rows as a table if no cell has to be truncated; otherwise each cell gets its own line.
pub fn whole_table(rows: &[Vec<String>], width: Option<usize>) -> String {
    let rows = safe(rows);
    let natural = natural(&rows);
    match width.filter(|width| total(&natural) > *width) {
        None => columns(&rows, &natural),
        Some(width) => rows.iter().map(|row| stacked(row, width)).collect(),
    }
}

fn safe(rows: &[Vec<String>]) -> Vec<Vec<String>> {
    rows.iter().map(|row| row.iter().map(|cell| safe_line(cell).into_owned()).collect()).collect()
}

/// Returns the width of each column without truncation.
fn natural(rows: &[Vec<String>]) -> Vec<usize> {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widest = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max().unwrap_or(0)
    };
    (0..count).map(widest).collect()
}

fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}

/// Returns column widths that fit into `width`, with the widest columns reduced to the same width. `None` if a column would
/// be narrower than [`MIN_WIDTH`].
fn fitted(natural: &[usize], width: usize) -> Option<Vec<usize>> {
    let capped = |max: usize| natural.iter().map(|&column| column.min(max)).collect::<Vec<usize>>();
    let widest = natural.iter().copied().max().unwrap_or(0);
    if total(natural) <= width {
        return Some(natural.to_vec());
    }
    (MIN_WIDTH..widest).rev().map(capped).find(|widths| total(widths) <= width).map(|mut widths| {
        // The last truncated column gets the remaining space.
        let rest = width - total(&widths);
        if let Some(last) = (0..widths.len()).rev().find(|&index| widths[index] < natural[index]) {
            widths[last] = natural[last].min(widths[last] + rest);
        }
        widths
    })
}

fn columns(rows: &[Vec<String>], widths: &[usize]) -> String {
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, &width) in row.iter().zip(widths) {
            let cell = truncated(cell, width);
            line.push_str(&cell);
            line.push_str(&" ".repeat(width - cell.width() + GAP));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Returns a row with one cell per line. A long cell is wrapped.
fn stacked(row: &[String], width: usize) -> String {
    let mut text = String::new();
    for (index, cell) in row.iter().map(|cell| cell.trim()).enumerate() {
        let indent = if index == 0 { "" } else { INDENT };
        for piece in pieces(cell, width.saturating_sub(indent.len())) {
            writeln!(text, "{indent}{piece}").expect("writing to text cannot fail");
        }
    }
    text
}

/// Returns a row with one cell per line, each after its column name.
fn stacked_with_names(head: &[String], row: &[String], width: usize) -> String {
    let name = head.iter().map(|name| name.width()).max().unwrap_or(0).min(width / 2);
    let mut text = String::new();
    for (title, cell) in head.iter().zip(row) {
        let title = truncated(title, name);
        let mut before = format!("{title}{}", " ".repeat(name - title.width() + GAP));
        for piece in pieces(cell.trim(), width.saturating_sub(name + GAP)) {
            writeln!(text, "{before}{piece}").expect("writing to text cannot fail");
            before = " ".repeat(name + GAP);
        }
    }
    text
}

/// Splits text into pieces of at most `width` columns. Empty text has no pieces.
fn pieces(text: &str, width: usize) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut used = 0;
    for character in text.chars() {
        let needed = character.width().unwrap_or(0);
        if all.is_empty() || used + needed > width.max(2) {
            all.push(String::new());
            used = 0;
        }
        used += needed;
        if let Some(last) = all.last_mut() {
            last.push(character);
        }
    }
    all
}

/// Returns `text` truncated to `width` columns, with `…` at the end if something is missing.
fn truncated(text: &str, width: usize) -> String {
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

    fn rows<const N: usize>(rows: &[[&str; N]]) -> Vec<Vec<String>> {
        rows.iter().map(|row| row.map(str::to_owned).to_vec()).collect()
    }

    #[test]
    fn columns_fit_the_terminal_and_align_wide_characters() {
        let rows = rows(&[
            ["NAME", "WHAT"],
            ["技能", "does something that takes long to say"],
            ["a\u{1b}[2J", "x"],
        ]);
        expect![[r#"
            NAME   WHAT
            技能   does something that…
            a␛[2J  x
        "#]]
        .assert_eq(&table(&rows, Some(27)));
        assert!(table(&rows, None).contains("long to say"));
        assert_eq!(table(&[], None), "");
    }

    #[test]
    fn wide_columns_are_truncated_before_cells_are_stacked() {
        let rows = rows(&[["17", "2026-11-16T11:49:49Z", "skill.activated", "user/pdf", "in one"]]);
        expect![[r#"
            17  2026-11-16T1…  skill.activa…  user/pdf  in one
        "#]]
        .assert_eq(&table(&rows, Some(50)));
        expect![[r#"
            17
              2026-11-16T11:49:49Z
              skill.activated
              user/pdf
              in one
        "#]]
        .assert_eq(&table(&rows, Some(30)));
        let head = ["seq", "time", "event", "skill", "detail"];
        expect![[r#"
            seq     17
            time    2026-11-16T11:49:49Z
            event   skill.activated
            skill   user/pdf
            detail  in one
        "#]]
        .assert_eq(&headed_table(&head, &rows, Some(30)));
        // `whole_table` never truncates.
        assert!(whole_table(&rows, Some(50)).contains("  2026-11-16T11:49:49Z\n"));
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let long = "/home/me/projects/技能技能技能/.claude/skills/a-name-that-is-long/SKILL.md";
        let mut all = rows(&[
            ["1", "2026-11-16T11:49:49.123456789Z", "skill.activated", "user/pdf", long],
            ["12345", "x", "policy.decided", long, "allow"],
            ["", long, long, long, long],
        ]);
        all.push(vec!["alone".to_owned()]);
        let head = ["seq", "time", "event that has a long name", "skill", "detail"];
        for width in 30..=120 {
            let shown = [
                table(&all, Some(width)),
                headed_table(&head, &all, Some(width)),
                whole_table(&all, Some(width)),
            ];
            for line in shown.iter().flat_map(|text| text.lines()) {
                assert!(line.width() <= width, "{width}: {} {line}", line.width());
            }
        }
    }
}
