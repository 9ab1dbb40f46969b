//! A file of Rust as a tree, unless it was made to bring a parser down.

/// The longest file, the deepest nesting, and the longest stretch without a separator: more than that makes the parser go deeper than any stack.
const MAX_FILE: usize = 512 << 10;
const MAX_NESTED: usize = 128;
const MAX_STRETCH: usize = 8_000;

/// Reads a file of Rust, unless it was made to bring a parser down.
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
            return Err("it is larger or deeper than code is".to_owned());
        }
    }
    // Lines may be short and go on for ever: what is between two separators is bounded as well.
    let longest = text.split([';', ',', '{', '}']).map(|part| {
        part.lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .map(str::len)
            .sum::<usize>()
    });
    if longest.max().unwrap_or(0) > 4 * MAX_STRETCH {
        return Err("it is larger or deeper than code is".to_owned());
    }
    syn::parse_file(text).map_err(|error| error.to_string())
}
