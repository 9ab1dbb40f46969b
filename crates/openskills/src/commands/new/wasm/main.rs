//! Counts the words of a text. Reads its input from standard input, writes JSON to standard output.
//!
//! The skill's own files are in `/skill`, the workspace is the working folder. There is nothing else: no network, no clock but the one that
//! a seed fixes, no other file.

use std::io::Read;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut input = String::new();
    if let Err(error) = std::io::stdin().read_to_string(&mut input) {
        eprintln!("the input cannot be read: {error}");
        return ExitCode::FAILURE;
    }
    println!("{}", answer(&input));
    ExitCode::SUCCESS
}

/// Returns the answer as JSON.
fn answer(input: &str) -> String {
    let words = input.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).count();
    format!("{{\"words\": {words}}}")
}

#[cfg(test)]
mod tests {
    use super::answer;

    #[test]
    fn words_are_counted() {
        assert_eq!(answer("\"one two, three\""), "{\"words\": 3}");
        assert_eq!(answer(""), "{\"words\": 0}");
    }
}
