//! Pages of help of an installed library: `help/<package>.rdx` says where each is in `help/<package>.rdb`.

use std::io::Read;

use flate2::read::{GzDecoder, ZlibDecoder};

use super::rd::{MAX_DEPTH, Rd};
use super::serialize::{Data, Value, read};

/// The most that a page, and the index, may unpack to.
const MAX_PAGE: u64 = 16 << 20;
/// The most pages.
const MAX_PAGES: usize = 5_000;

/// Reads every page.
pub(super) fn pages(index: &[u8], data: &[u8]) -> Result<Vec<Vec<Rd>>, String> {
    let index = match index {
        [0x1f, 0x8b, ..] => unpacked(GzDecoder::new(index))?,
        _ => unpacked(ZlibDecoder::new(index))?,
    };
    let index = read(&index)?;
    let at = index
        .names()
        .iter()
        .position(|name| name == "variables")
        .ok_or("its index names no pages")?;
    let variables = index.items().get(at).ok_or("its index names no pages")?;
    let mut pages = Vec::new();
    for place in variables.items().iter().take(MAX_PAGES) {
        let Data::Numbers(numbers) = &place.data else {
            return Err("its index is broken".to_owned());
        };
        let &[offset, length] = numbers.as_slice() else {
            return Err("its index is broken".to_owned());
        };
        let page = read(&value(data, offset, length)?)?;
        pages.push(page.items().iter().map(|part| rd(part, 0)).collect());
    }
    Ok(pages)
}

/// Returns a value of the data, unpacked.
fn value(data: &[u8], offset: f64, length: f64) -> Result<Vec<u8>, String> {
    let whole = |number: f64| {
        let is_good = number.is_finite() && (0.0..4e9).contains(&number) && number.fract() == 0.0;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it was looked at"
        )]
        is_good.then_some(number as usize).ok_or_else(|| "a page is nowhere".to_owned())
    };
    let (start, length) = (whole(offset)?, whole(length)?);
    let found = start.checked_add(length).and_then(|end| data.get(start..end));
    let found = found.ok_or("a page is not where the index says")?;
    let (size, packed) = found.split_at_checked(4).ok_or("a page is empty")?;
    let size = u64::from(u32::from_be_bytes([size[0], size[1], size[2], size[3]]));
    if size > MAX_PAGE {
        return Err("a page is larger than any".to_owned());
    }
    match packed.first() {
        // zlib begins with 0x78; other ways of packing are named by a letter.
        Some(0x78) => unpacked(ZlibDecoder::new(packed)),
        Some(b'0') => Ok(packed[1..].to_vec()),
        Some(b'2') => Err("its pages are packed by bzip2, which is not read".to_owned()),
        Some(b'Z') => Err("its pages are packed by xz, which is not read".to_owned()),
        _ => Err("a page is packed in a way that is not known".to_owned()),
    }
}

fn unpacked(reader: impl Read) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    reader.take(MAX_PAGE + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MAX_PAGE {
        return Err("it unpacks to more than any page".to_owned());
    }
    Ok(bytes)
}

/// Returns a value as a part of a page.
fn rd(value: &Value, depth: usize) -> Rd {
    let tag = value.attribute("Rd_tag").unwrap_or_default().to_owned();
    if depth > MAX_DEPTH {
        return Rd::Text(String::new());
    }
    match &value.data {
        Data::Texts(_) if tag == "COMMENT" => Rd::Text(String::new()),
        Data::Texts(texts) => Rd::Text(texts.concat()),
        Data::List(items) => {
            // What has several pairs of braces is a list of lists without tags.
            let is_many = !items.is_empty()
                && items.iter().all(|item| {
                    matches!(item.data, Data::List(_)) && item.attribute("Rd_tag").is_none()
                });
            let group = |items: &[Value]| items.iter().map(|item| rd(item, depth + 1)).collect();
            let groups = if is_many {
                items.iter().map(|item| group(item.items())).collect()
            } else {
                vec![group(items)]
            };
            Rd::Tag { tag, groups }
        }
        _ => Rd::Text(String::new()),
    }
}
