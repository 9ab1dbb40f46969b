//! Rules about characters that are invisible or imitate others.

use super::{Hit, Skill};
use crate::artifact::FileKind;
use crate::finding::Severity;
use crate::normalization::TextAnomaly;
use crate::op::{Location, Role};

pub(super) fn find(skill: &Skill<'_>, hits: &mut Vec<Hit>) {
    for (number, file) in skill.files.iter().enumerate() {
        let role = if file.is_script() {
            Role::Script
        } else if file.kind == FileKind::Markdown {
            Role::Prose
        } else {
            Role::Data
        };
        let location = |span: &std::ops::Range<usize>| Location {
            file: number,
            span: span.clone(),
            role,
            chain: Vec::new(),
        };
        let mut invisible = 0;
        for (span, anomaly) in &file.text.anomalies {
            match anomaly {
                TextAnomaly::Tags(hidden) => {
                    let letters = hidden.chars().filter(|c| c.is_alphabetic()).count();
                    // Flag emoji of regions use a few tag characters.
                    if letters >= 8 {
                        let hit = Hit::new(
                            "UNI-01",
                            location(span),
                            format!("invisible characters spell hidden text: {hidden}"),
                        );
                        hits.push(hit.blocking());
                    }
                }
                TextAnomaly::BidiControl => {
                    let hit = Hit::new(
                        "UNI-02",
                        location(span),
                        "a bidirectional control character changes how the text is displayed",
                    );
                    hits.push(if role == Role::Script {
                        hit.severity(Severity::High)
                    } else {
                        hit
                    });
                }
                TextAnomaly::InvisibleInWord => invisible += 1,
                TextAnomaly::Homoglyph(word) => {
                    let hit = Hit::new(
                        "UNI-04",
                        location(span),
                        format!("a word mixes alphabets to look like `{word}`"),
                    );
                    // Formulas and the names of substances use single letters of other alphabets.
                    let is_word =
                        word.len() >= 4 && word.bytes().all(|byte| byte.is_ascii_alphabetic());
                    hits.push(if is_word { hit } else { hit.severity(Severity::Low) });
                }
            }
        }
        if invisible >= 2
            && let Some((span, _)) = file
                .text
                .anomalies
                .iter()
                .find(|(_, anomaly)| *anomaly == TextAnomaly::InvisibleInWord)
        {
            hits.push(Hit::new(
                "UNI-03",
                location(span),
                format!("{invisible} words contain invisible characters"),
            ));
        }
    }
}
