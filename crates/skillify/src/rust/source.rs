//! Parses a Rust file, unless it would overflow the stack of the parser.

/// The maximum size of a file. Beyond these limits the recursive parser could overflow any stack.
const MAX_FILE: usize = 512 << 10;
/// The maximum nesting of brackets.
const MAX_NESTED: usize = 128;
/// The maximum number of bytes without a separator.
const MAX_STRETCH: usize = 8_000;

/// Parses a Rust file, unless it would overflow the stack of the parser.
pub(super) fn parsed(text: &str) -> Result<syn::File, String> {
    let (mut depth, mut stretch) = (0_usize, 0_usize);
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        stretch = if matches!(byte, b';' | b',' | b'{' | b'}' | b'\n') { 0 } else { stretch + 1 };
        if depth > MAX_NESTED || stretch > MAX_STRETCH || text.len() > MAX_FILE {
            return Err("too large or nested too deeply".to_owned());
        }
    }
    // Newlines do not end an expression, so the number of bytes between two other separators is limited as well.
    let longest = text.split([';', ',', '{', '}']).map(|part| {
        part.lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .map(str::len)
            .sum::<usize>()
    });
    if longest.max().unwrap_or(0) > 4 * MAX_STRETCH {
        return Err("too large or nested too deeply".to_owned());
    }
    syn::parse_file(text).map_err(|error| error.to_string())
}
