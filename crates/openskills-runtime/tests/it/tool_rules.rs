//! What a list of tools allows is tried in a real bash: it must start nothing but what the list names.

#[path = "../../../../fuzz/real_bash.rs"]
#[expect(unreachable_pub, reason = "it is the fuzz target's file")]
mod real_bash;

use real_bash::RealBash;

use crate::World;

/// Pieces that lines are made of: what a list of `git` allows, and everything that could make a shell do more.
const PIECES: &[&str] = &[
    "git",
    "git",
    "git",
    "evil",
    "rm",
    "sh",
    "timeout",
    "nice",
    "nohup",
    "env",
    "xargs",
    " ",
    " ",
    " ",
    " ",
    "\n",
    "\t",
    ";",
    "&&",
    "||",
    "|",
    "|&",
    "&",
    "$(",
    ")",
    "`",
    "'",
    "\"",
    "\\",
    "$X",
    "${X}",
    "${X:-evil}",
    "{",
    "}",
    ",",
    "<",
    ">",
    ">>",
    "<(",
    "2>&1",
    "2>/dev/null",
    "out",
    "=",
    "LANG=C",
    "X=1",
    "#",
    "!",
    "*",
    "?",
    "[",
    "]",
    "(",
    "~",
    "-",
    "--",
    "-n",
    "5",
    "log",
    "status",
    "$",
    "é",
    "\u{a0}",
    "\r",
    "eval",
    "command",
    "exec",
    ".",
    "time",
    "-p",
];

/// A small generator of its own, so that a failure can be tried again by its number.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % below as u64).unwrap()
    }
}

#[test]
fn what_is_not_denied_starts_nothing_else_in_a_real_bash() {
    let world = World::new("");
    let Some(bash) = RealBash::new(&world.path("bash")) else {
        testkit::skip("rules tried in a real bash", "`bash` is not there");
        return;
    };
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut tried = 0;
    for _ in 0..60_000 {
        let length = 1 + random.next(9);
        let line: String = (0..length).map(|_| PIECES[random.next(PIECES.len())]).collect();
        tried += usize::from(bash.check(&line));
    }
    assert!(tried > 100, "only {tried} lines were tried");
}
