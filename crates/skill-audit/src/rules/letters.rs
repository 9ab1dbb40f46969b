//! Letters that are not what they look like, and text that cannot be seen.

use super::{Hit, Skill};
use crate::artifact::Kind;
use crate::finding::Severity;
use crate::normal::Oddity;
use crate::op::{Location, Role};

pub(super) fn find(skill: &Skill<'_>, hits: &mut Vec<Hit>) {
    for (number, file) in skill.files.iter().enumerate() {
        let role = if file.is_script() {
            Role::Script
        } else if file.kind == Kind::Markdown {
            Role::Prose
        } else {
            Role::Data
        };
        let place = |span: &std::ops::Range<usize>| Location {
            file: number,
            span: span.clone(),
            role,
            chain: Vec::new(),
        };
        let mut invisible = 0;
        for (span, odd) in &file.text.oddities {
            match odd {
                Oddity::Tags(hidden) => {
                    let letters = hidden.chars().filter(|c| c.is_alphabetic()).count();
                    // A flag of a country's part is written with a few of them.
                    if letters >= 8 {
                        let hit = Hit::new(
                            "UNI-01",
                            place(span),
                            format!("text that cannot be seen says: {hidden}"),
                        );
                        hits.push(hit.blocking());
                    }
                }
                Oddity::Direction => {
                    let hit =
                        Hit::new("UNI-02", place(span), "a mark makes text look other than it is");
                    hits.push(if role == Role::Script {
                        hit.severity(Severity::High)
                    } else {
                        hit
                    });
                }
                Oddity::InsideWord => invisible += 1,
                Oddity::LookAlike(word) => {
                    hits.push(Hit::new("UNI-04", place(span), format!("a word is written with letters of several alphabets, and looks like `{word}`")));
                }
            }
        }
        if invisible >= 2
            && let Some((span, _)) =
                file.text.oddities.iter().find(|(_, odd)| *odd == Oddity::InsideWord)
        {
            hits.push(Hit::new(
                "UNI-03",
                place(span),
                format!("{invisible} words have something invisible in them"),
            ));
        }
    }
}
