//! Help pages of an installed library: `help/<package>.rdx` is the index of `help/<package>.rdb`.

use std::io::Read;

use flate2::read::{GzDecoder, ZlibDecoder};

use super::rd::{MAX_DEPTH, Rd};
use super::serialize::{Data, Value, read};

/// The maximum unpacked size of a page, and of the index.
const MAX_PAGE: u64 = 16 << 20;
/// The maximum number of pages; further ones are ignored.
const MAX_PAGES: usize = 5_000;

/// Reads every page.
pub(super) fn pages(index: &[u8], data: &[u8]) -> Result<Vec<Vec<Rd>>, String> {
    let index = match index {
        [0x1f, 0x8b, ..] => unpacked(GzDecoder::new(index))?,
        _ => unpacked(ZlibDecoder::new(index))?,
    };
    let index = read(&index)?;
    let position = index
        .names()
        .iter()
        .position(|name| name == "variables")
        .ok_or("the index lists no pages")?;
    let variables = index.items().get(position).ok_or("the index lists no pages")?;
    let mut pages = Vec::new();
    for location in variables.items().iter().take(MAX_PAGES) {
        let Data::Numbers(numbers) = &location.data else {
            return Err("malformed index".to_owned());
        };
        let &[offset, length] = numbers.as_slice() else {
            return Err("malformed index".to_owned());
        };
        let page = read(&value(data, offset, length)?)?;
        pages.push(page.items().iter().map(|part| rd(part, 0)).collect());
    }
    Ok(pages)
}

/// Unpacks a value in the data.
fn value(data: &[u8], offset: f64, length: f64) -> Result<Vec<u8>, String> {
    let whole = |number: f64| {
        let is_valid = number.is_finite() && (0.0..4e9).contains(&number) && number.fract() == 0.0;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the line above checks it"
        )]
        is_valid
            .then_some(number as usize)
            .ok_or_else(|| "a page has an invalid location".to_owned())
    };
    let (start, length) = (whole(offset)?, whole(length)?);
    let found = start.checked_add(length).and_then(|end| data.get(start..end));
    let found = found.ok_or("a page is outside the file")?;
    let (size, packed) = found.split_at_checked(4).ok_or("a page is empty")?;
    let size = u64::from(u32::from_be_bytes([size[0], size[1], size[2], size[3]]));
    if size > MAX_PAGE {
        return Err("a page is too large".to_owned());
    }
    match packed.first() {
        // zlib data begins with 0x78; other compression types are marked by a letter.
        Some(0x78) => unpacked(ZlibDecoder::new(packed)),
        Some(b'0') => Ok(packed[1..].to_vec()),
        Some(b'2') => Err("pages compressed with bzip2 are not supported".to_owned()),
        Some(b'Z') => Err("pages compressed with xz are not supported".to_owned()),
        _ => Err("a page has an unknown compression type".to_owned()),
    }
}

fn unpacked(reader: impl Read) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    reader.take(MAX_PAGE + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MAX_PAGE {
        return Err("too large when unpacked".to_owned());
    }
    Ok(bytes)
}

/// Converts a value to a part of a page.
fn rd(value: &Value, depth: usize) -> Rd {
    let tag = value.attribute("Rd_tag").unwrap_or_default().to_owned();
    if depth > MAX_DEPTH {
        return Rd::Text(String::new());
    }
    match &value.data {
        Data::Texts(_) if tag == "COMMENT" => Rd::Text(String::new()),
        Data::Texts(texts) => Rd::Text(texts.concat()),
        Data::List(items) => {
            // A tag with several pairs of braces is a list of lists without tags.
            let has_groups = !items.is_empty()
                && items.iter().all(|item| {
                    matches!(item.data, Data::List(_)) && item.attribute("Rd_tag").is_none()
                });
            let group = |items: &[Value]| items.iter().map(|item| rd(item, depth + 1)).collect();
            let groups = if has_groups {
                items.iter().map(|item| group(item.items())).collect()
            } else {
                vec![group(items)]
            };
            Rd::Tag { tag, groups }
        }
        _ => Rd::Text(String::new()),
    }
}
