//! Adds up numbers: reads a JSON array from standard input and writes JSON to standard output.
//!
//! The skill's files are in `/skill`, and the workspace is the current directory. The module cannot access other files,
//! start programs or use the network. To parse more than numbers, add `serde_json`.

use std::io::Read;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut input = String::new();
    if let Err(error) = std::io::stdin().read_to_string(&mut input) {
        eprintln!("cannot read the input: {error}");
        return ExitCode::FAILURE;
    }
    match summarize(&input) {
        Ok(summary) => {
            println!("{summary}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns count, sum and mean as JSON, or an error message for invalid input.
fn summarize(input: &str) -> Result<String, String> {
    let list = input.trim().strip_prefix('[').and_then(|list| list.strip_suffix(']'));
    let list = list.ok_or("the input must be an array of numbers, such as [1, 2.5]")?;
    let mut numbers = Vec::new();
    for word in list.split(',').map(str::trim).filter(|_| !list.trim().is_empty()) {
        let number: f64 = word.parse().map_err(|_| format!("`{word}` is not a number"))?;
        if !number.is_finite() {
            return Err(format!("`{word}` is not a number"));
        }
        numbers.push(number);
    }
    let sum = numbers.iter().fold(0.0, |sum, number| sum + number);
    let mean = if numbers.is_empty() { "null".to_owned() } else { (sum / numbers.len() as f64).to_string() };
    Ok(format!("{{\"count\": {}, \"sum\": {sum}, \"mean\": {mean}}}", numbers.len()))
}

#[cfg(test)]
mod tests {
    use super::summarize;

    #[test]
    fn numbers_are_added_up() {
        assert_eq!(summarize("[1, 2.5]").unwrap(), r#"{"count": 2, "sum": 3.5, "mean": 1.75}"#);
        assert_eq!(summarize(" [] ").unwrap(), r#"{"count": 0, "sum": 0, "mean": null}"#);
    }

    #[test]
    fn invalid_input_is_an_error() {
        for input in ["", "3", "{\"a\": 1}", "[1, \"two\"]", "[1,]", "[NaN]"] {
            assert!(summarize(input).is_err(), "{input}");
        }
    }
}
