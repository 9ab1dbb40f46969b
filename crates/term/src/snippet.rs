//! Renders a diagnostic as text: message, position, the marked source line, and the hint.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use skill::{Diagnostic, Severity, Source, Span};
use unicode_width::UnicodeWidthStr;

use crate::safe_line;

/// Whether output has color.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Palette {
    /// No escape sequences.
    Plain,
    /// ANSI colors.
    Color,
}

/// The number of characters of a line that are shown. A longer line is truncated around the mark.
const MAX_WIDTH: usize = 120;
/// The number of characters shown before the mark of a truncated line.
const LEAD: usize = 40;
/// The replacement for a tab.
const TAB: &str = "    ";

/// Renders `diagnostic` as text. With `source`, the line is shown as well.
pub fn render(diagnostic: &Diagnostic, source: Option<&Source<'_>>, palette: Palette) -> String {
    let paint = |style: Style, text: &str| match palette {
        Palette::Plain => text.to_owned(),
        Palette::Color => format!("{style}{text}{style:#}"),
    };
    let bold = Style::new().bold();
    let frame = bold.fg_color(Some(AnsiColor::Blue.into()));
    let level = bold.fg_color(Some(level_color(diagnostic.severity).into()));

    let title = format!("{}[{}]", diagnostic.severity.as_str(), diagnostic.code);
    let mut text = format!(
        "{}{}\n",
        paint(level, &title),
        paint(bold, &format!(": {}", safe_line(&diagnostic.message)))
    );
    let file = safe_line(&diagnostic.file);
    let excerpt =
        diagnostic.span.zip(source).map(|(span, source)| (span, Excerpt::new(span, source)));
    let width = excerpt.as_ref().map_or(0, |(span, _)| span.start.line.to_string().len());
    let arrow = paint(frame, &format!("{}-->", " ".repeat(width)));
    let position =
        diagnostic.span.map(|span| format!(":{}:{}", span.start.line, span.start.column));
    push(&mut text, &format!("{arrow} {file}{}", position.unwrap_or_default()));
    let bar = paint(frame, &format!("{} |", " ".repeat(width)));
    if let Some((span, excerpt)) = excerpt {
        push(&mut text, &bar);
        push(
            &mut text,
            &format!("{} {}", paint(frame, &format!("{} |", span.start.line)), excerpt.line),
        );
        let mark = paint(level, &"^".repeat(excerpt.mark.max(1)));
        push(&mut text, &format!("{bar} {}{mark}", " ".repeat(excerpt.indent)));
    }
    if let Some(hint) = &diagnostic.hint {
        let label = format!(
            "{} {}",
            paint(frame, &format!("{} =", " ".repeat(width))),
            paint(bold, "hint")
        );
        push(&mut text, &format!("{label}: {}", safe_line(hint)));
    }
    text
}

fn push(text: &mut String, line: &str) {
    writeln!(text, "{}", line.trim_end()).expect("writing to text cannot fail");
}

fn level_color(severity: Severity) -> AnsiColor {
    match severity {
        Severity::Error => AnsiColor::Red,
        Severity::Warning => AnsiColor::Yellow,
        Severity::Note => AnsiColor::Cyan,
    }
}

/// A source line, and the position and width of the mark below it in columns.
struct Excerpt {
    line: String,
    indent: usize,
    mark: usize,
}

impl Excerpt {
    /// Reads only the text around the mark, since a line may be as long as the file.
    fn new(span: Span, source: &Source<'_>) -> Self {
        let line = source.line(span.start.line);
        let line_start = line.as_ptr() as usize - source.text().as_ptr() as usize;
        // The text may be a lossy conversion of invalid UTF-8, so an offset can be inside a character.
        let within = |offset: usize| {
            let offset = offset.saturating_sub(line_start).min(line.len());
            (offset..=line.len()).find(|&at| line.is_char_boundary(at)).unwrap_or(line.len())
        };
        let at = within(span.start.offset);
        let end =
            if span.end.line == span.start.line { within(span.end.offset) } else { line.len() };
        let (before, after) = line.split_at(at);
        let lead = if is_longer_than(line, MAX_WIDTH) { LEAD } else { MAX_WIDTH };
        let from = before.char_indices().rev().take(lead).last().map_or(at, |(from, _)| from);
        let room = MAX_WIDTH.saturating_sub(before[from..].chars().count());
        let to = after.char_indices().nth(room).map_or(line.len(), |(to, _)| at + to);
        let marked = &line[at..end.clamp(at, to.max(at))];
        let cut_before = if from > 0 { "…" } else { "" };
        let cut_after = if to < line.len() { "…" } else { "" };
        Self {
            line: format!("{cut_before}{}{cut_after}", show(&line[from..to])),
            indent: cut_before.width() + show(&before[from..]).width(),
            mark: show(marked).width(),
        }
    }
}

fn is_longer_than(line: &str, characters: usize) -> bool {
    line.chars().nth(characters).is_some()
}

fn show(text: &str) -> String {
    safe_line(&text.replace('\t', TAB)).into_owned()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use skill::{Code, Strictness};

    use super::*;

    fn check(text: &str, at: std::ops::Range<usize>, expected: &Expect) {
        let source = Source::new(text);
        let diagnostic = Diagnostic {
            code: Code::NameCharacters,
            severity: Severity::Error,
            file: "pdf/SKILL.md".to_owned(),
            span: Some(source.span(at)),
            message: "something is \u{1b}[31mwrong".to_owned(),
            hint: Some("fix\nit".to_owned()),
        };
        expected.assert_eq(&render(&diagnostic, Some(&source), Palette::Plain));
    }

    #[test]
    fn the_mark_is_below_the_span() {
        check(
            "---\nname: My Skill\n",
            10..18,
            &expect![[r#"
            error[name-characters]: something is ␛[31mwrong
             --> pdf/SKILL.md:2:7
              |
            2 | name: My Skill
              |       ^^^^^^^^
              = hint: fix it
        "#]],
        );
    }

    #[test]
    fn wide_characters_and_tabs_shift_the_mark() {
        check(
            "技能\tx",
            7..8,
            &expect![[r#"
            error[name-characters]: something is ␛[31mwrong
             --> pdf/SKILL.md:1:4
              |
            1 | 技能    x
              |         ^
              = hint: fix it
        "#]],
        );
    }

    #[test]
    fn control_characters_in_the_line_are_made_visible() {
        check(
            "a\u{1b}]0;x\u{7}\u{202e}b",
            11..12,
            &expect![[r#"
            error[name-characters]: something is ␛[31mwrong
             --> pdf/SKILL.md:1:10
              |
            1 | a␛]0;x␇�b
              |          ^
              = hint: fix it
        "#]],
        );
    }

    #[test]
    fn a_long_line_is_truncated_around_the_mark() {
        let text = format!("{}HERE{}", "a".repeat(300), "b".repeat(300));
        check(
            &text,
            300..304,
            &expect![[r#"
            error[name-characters]: something is ␛[31mwrong
             --> pdf/SKILL.md:1:301
              |
            1 | …aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaHEREbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb…
              |                                          ^^^^
              = hint: fix it
        "#]],
        );
    }

    #[test]
    fn a_span_at_the_end_of_the_file_has_a_mark() {
        check(
            "abc\n",
            4..4,
            &expect![[r#"
            error[name-characters]: something is ␛[31mwrong
             --> pdf/SKILL.md:2:1
              |
            2 |
              | ^
              = hint: fix it
        "#]],
        );
    }

    #[test]
    fn a_span_of_several_lines_is_marked_on_the_first() {
        check(
            "a: b\nc: d\n",
            3..9,
            &expect![[r#"
            error[name-characters]: something is ␛[31mwrong
             --> pdf/SKILL.md:1:4
              |
            1 | a: b
              |    ^
              = hint: fix it
        "#]],
        );
    }

    #[test]
    fn a_problem_with_the_whole_file_shows_no_line() {
        let diagnostic = Diagnostic::of_file(
            Code::NoSkillFile,
            Strictness::Strict,
            "pdf",
            "there is no SKILL.md".into(),
        );
        expect![[r#"
            error[no-skill-file]: there is no SKILL.md
            --> pdf
        "#]]
        .assert_eq(&render(&diagnostic.unwrap(), None, Palette::Plain));
    }

    #[test]
    fn escape_sequences_are_only_in_color_output() {
        let diagnostic = Diagnostic::of_file(
            Code::NoSkillFile,
            Strictness::Strict,
            "pdf",
            "there is none".into(),
        )
        .unwrap();
        assert!(render(&diagnostic, None, Palette::Color).contains("\u{1b}["));
        assert!(!render(&diagnostic, None, Palette::Plain).contains('\u{1b}'));
    }
}
