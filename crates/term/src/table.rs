//! Rows in columns that fit the terminal, or one field a line where no columns would.

use std::fmt::Write as _;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::safe_line;

/// The blanks between two columns.
const GAP: usize = 2;
/// A column that has to be cut to less than this says nothing any more: then each field has a line.
const NARROWEST: usize = 10;
/// What stands before a field that has a line of its own.
const INDENT: &str = "  ";

/// Returns rows of cells in columns, made safe to show. With a `width`, no line is wider: the widest columns are cut, and
/// where that leaves too little of them each cell has a line.
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

/// Returns the same with a heading above the columns, which names the fields where each has a line.
pub fn headed_table(head: &[&str], rows: &[Vec<String>], width: Option<usize>) -> String {
    let rows = safe(rows);
    let head: Vec<String> = head.iter().map(|&name| name.to_owned()).collect();
    let all: Vec<Vec<String>> = std::iter::once(head.clone()).chain(rows.clone()).collect();
    let natural = natural(&all);
    match width {
        None => columns(&all, &natural),
        Some(width) => match fitted(&natural, width) {
            Some(widths) => columns(&all, &widths),
            None => {
                rows.iter().map(|row| named(&head, row, width)).collect::<Vec<String>>().join("\n")
            }
        },
    }
}

/// Returns rows in columns if all of them fit uncut; else each cell has a line.
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

/// Returns how wide each column is by itself.
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

/// Returns widths that fit together: the widest are cut, all to the same. `None` where too little would be left.
fn fitted(natural: &[usize], width: usize) -> Option<Vec<usize>> {
    let capped =
        |most: usize| natural.iter().map(|&column| column.min(most)).collect::<Vec<usize>>();
    let widest = natural.iter().copied().max().unwrap_or(0);
    if total(natural) <= width {
        return Some(natural.to_vec());
    }
    (NARROWEST..widest).rev().map(capped).find(|widths| total(widths) <= width).map(|mut widths| {
        // What is left over goes to the last column that was cut.
        let left = width - total(&widths);
        if let Some(at) = (0..widths.len()).rev().find(|&at| widths[at] < natural[at]) {
            widths[at] = natural[at].min(widths[at] + left);
        }
        widths
    })
}

fn columns(rows: &[Vec<String>], widths: &[usize]) -> String {
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, &width) in row.iter().zip(widths) {
            let cell = cut(cell, width);
            line.push_str(&cell);
            line.push_str(&" ".repeat(width - cell.width() + GAP));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Returns a row with a line for each cell; what is longer than a line goes on in the next.
fn stacked(row: &[String], width: usize) -> String {
    let mut text = String::new();
    for (at, cell) in row.iter().map(|cell| cell.trim()).enumerate() {
        let indent = if at == 0 { "" } else { INDENT };
        for piece in pieces(cell, width.saturating_sub(indent.len())) {
            writeln!(text, "{indent}{piece}").expect("writing to text cannot fail");
        }
    }
    text
}

/// Returns a row with a line for each cell, after its name.
fn named(head: &[String], row: &[String], width: usize) -> String {
    let name = head.iter().map(|name| name.width()).max().unwrap_or(0).min(width / 2);
    let mut text = String::new();
    for (title, cell) in head.iter().zip(row) {
        let title = cut(title, name);
        let mut before = format!("{title}{}", " ".repeat(name - title.width() + GAP));
        for piece in pieces(cell.trim(), width.saturating_sub(name + GAP)) {
            writeln!(text, "{before}{piece}").expect("writing to text cannot fail");
            before = " ".repeat(name + GAP);
        }
    }
    text
}

/// Returns text in pieces of at most `width` columns; none of what is empty.
fn pieces(text: &str, width: usize) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut used = 0;
    for character in text.chars() {
        let takes = character.width().unwrap_or(0);
        if all.is_empty() || used + takes > width.max(2) {
            all.push(String::new());
            used = 0;
        }
        used += takes;
        if let Some(last) = all.last_mut() {
            last.push(character);
        }
    }
    all
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

    fn rows<const N: usize>(rows: &[[&str; N]]) -> Vec<Vec<String>> {
        rows.iter().map(|row| row.map(str::to_owned).to_vec()).collect()
    }

    #[test]
    fn columns_fit_the_terminal_and_wide_letters() {
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
    fn the_widest_columns_are_cut_and_then_each_field_has_a_line() {
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
        // What must be whole is never cut.
        assert!(whole_table(&rows, Some(50)).contains("  2026-11-16T11:49:49Z\n"));
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let long =
            "/home/somebody/projects/技能技能技能/.claude/skills/a-name-that-is-long/SKILL.md";
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
