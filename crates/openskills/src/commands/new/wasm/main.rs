//! Adds up numbers: reads a JSON array from standard input, writes JSON to standard output.
//!
//! The skill's own files are in `/skill`, the workspace is the working folder. There is no other file, no program to start, and no network.
//! For more of JSON than numbers, add `serde_json`.

use std::io::Read;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut input = String::new();
    if let Err(error) = std::io::stdin().read_to_string(&mut input) {
        eprintln!("the input cannot be read: {error}");
        return ExitCode::FAILURE;
    }
    match answer(&input) {
        Ok(answer) => {
            println!("{answer}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the answer as JSON, or what is wrong with the question.
fn answer(input: &str) -> Result<String, String> {
    let list = input.trim().strip_prefix('[').and_then(|list| list.strip_suffix(']'));
    let list = list.ok_or("the input must be an array of numbers, such as [1, 2.5]")?;
    let mut numbers = Vec::new();
    for word in list.split(',').map(str::trim).filter(|_| !list.trim().is_empty()) {
        let number: f64 = word.parse().map_err(|_| format!("`{word}` is no number"))?;
        if !number.is_finite() {
            return Err(format!("`{word}` is no number"));
        }
        numbers.push(number);
    }
    let sum = numbers.iter().fold(0.0, |sum, number| sum + number);
    let mean = if numbers.is_empty() { "null".to_owned() } else { (sum / numbers.len() as f64).to_string() };
    Ok(format!("{{\"count\": {}, \"sum\": {sum}, \"mean\": {mean}}}", numbers.len()))
}

#[cfg(test)]
mod tests {
    use super::answer;

    #[test]
    fn numbers_are_added_up() {
        assert_eq!(answer("[1, 2.5]").unwrap(), r#"{"count": 2, "sum": 3.5, "mean": 1.75}"#);
        assert_eq!(answer(" [] ").unwrap(), r#"{"count": 0, "sum": 0, "mean": null}"#);
    }

    #[test]
    fn what_is_no_list_of_numbers_is_told() {
        for input in ["", "3", "{\"a\": 1}", "[1, \"two\"]", "[1,]", "[NaN]"] {
            assert!(answer(input).is_err(), "{input}");
        }
    }
}
