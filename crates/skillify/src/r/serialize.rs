//! Reads R's serialization format (`serialize`, XDR), as far as help pages use it.

/// The maximum nesting of values.
const MAX_DEPTH: usize = 500;
/// The maximum number of values.
const MAX_VALUES: usize = 4_000_000;

/// A value with its attributes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Value {
    pub(super) data: Data,
    pub(super) attributes: Vec<(String, Value)>,
}

/// The data of a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Data {
    Nothing,
    Symbol(String),
    Texts(Vec<String>),
    Numbers(Vec<f64>),
    List(Vec<Value>),
    /// A pairlist: its values have names.
    Pairs(Vec<(String, Value)>),
    /// Data that is not needed.
    Other,
}

impl Value {
    fn plain(data: Data) -> Self {
        Self { data, attributes: Vec::new() }
    }

    /// Returns an attribute as a text.
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        let (_, value) = self.attributes.iter().find(|(found, _)| found == name)?;
        match &value.data {
            Data::Texts(texts) => texts.first().map(String::as_str),
            _ => None,
        }
    }

    /// Returns the names of the values in a list.
    pub(super) fn names(&self) -> Vec<String> {
        let names = self.attributes.iter().find(|(found, _)| found == "names");
        match names.map(|(_, value)| &value.data) {
            Some(Data::Texts(texts)) => texts.clone(),
            _ => Vec::new(),
        }
    }

    /// Returns the values of a list.
    pub(super) fn items(&self) -> &[Self] {
        match &self.data {
            Data::List(items) => items,
            _ => &[],
        }
    }
}

/// Reads a value.
pub(super) fn read(bytes: &[u8]) -> Result<Value, String> {
    let mut reader = Reader { bytes, at: 0, references: Vec::new(), count: 0 };
    if reader.take(2)? != b"X\n" {
        return Err("not in R's serialization format".to_owned());
    }
    let version = reader.int()?;
    reader.take(8)?;
    match version {
        2 => {}
        3 => {
            let length = reader.length()?;
            reader.take(length)?;
        }
        other => return Err(format!("unknown serialization version {other}")),
    }
    reader.value(0)
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Symbols and other values that later values refer to.
    references: Vec<Value>,
    count: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], String> {
        let end = self.at.checked_add(length);
        let found = end.and_then(|end| self.bytes.get(self.at..end)).ok_or("unexpected end")?;
        self.at += length;
        Ok(found)
    }

    fn int(&mut self) -> Result<i32, String> {
        let bytes = self.take(4)?;
        Ok(i32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// Reads a length, which cannot be larger than the number of remaining bytes.
    fn length(&mut self) -> Result<usize, String> {
        let length = usize::try_from(self.int()?).map_err(|_| "invalid length")?;
        if length > self.bytes.len() - self.at {
            return Err("length exceeds the size of the data".to_owned());
        }
        Ok(length)
    }

    fn value(&mut self, depth: usize) -> Result<Value, String> {
        self.count += 1;
        if depth > MAX_DEPTH || self.count > MAX_VALUES {
            return Err("too many values, or nested too deeply".to_owned());
        }
        let flags = self.int()?;
        let (kind, has_attributes) = (flags & 0xff, flags & 0x200 != 0);
        let data = match kind {
            // A reference to an earlier value.
            255 => {
                let number = match flags >> 8 {
                    0 => self.int()?,
                    number => number,
                };
                let index = usize::try_from(number - 1).map_err(|_| "invalid reference")?;
                return self
                    .references
                    .get(index)
                    .cloned()
                    .ok_or_else(|| "invalid reference".to_owned());
            }
            254 | 253 | 252 | 251 | 250 | 242 | 241 => return Ok(Value::plain(Data::Nothing)),
            // A namespace, a package or a persistent value, stored as its name.
            247..=249 => {
                self.int()?;
                let length = self.length()?;
                for _ in 0..length {
                    self.value(depth + 1)?;
                }
                let other = Value::plain(Data::Other);
                self.references.push(other.clone());
                return Ok(other);
            }
            1 => {
                let name = self.value(depth + 1)?;
                let name = match name.data {
                    Data::Texts(texts) => texts.into_iter().next().unwrap_or_default(),
                    _ => String::new(),
                };
                let symbol = Value::plain(Data::Symbol(name));
                self.references.push(symbol.clone());
                return Ok(symbol);
            }
            2 | 5 | 6 | 17 => return self.pairs(depth, flags),
            3 => {
                if has_attributes {
                    self.value(depth + 1)?;
                }
                for _ in 0..3 {
                    self.value(depth + 1)?;
                }
                return Ok(Value::plain(Data::Other));
            }
            4 => {
                self.int()?;
                self.references.push(Value::plain(Data::Other));
                for _ in 0..4 {
                    self.value(depth + 1)?;
                }
                return Ok(Value::plain(Data::Other));
            }
            9 => return self.text(flags),
            10 | 13..=16 | 19 | 20 | 24 => self.vector(kind, depth)?,
            238 => {
                let (info, state) = (self.value(depth + 1)?, self.value(depth + 1)?);
                self.value(depth + 1)?;
                return Ok(expand(&info, &state));
            }
            other => return Err(format!("unexpected value of type {other}")),
        };
        let attributes = if has_attributes { self.attributes(depth + 1)? } else { Vec::new() };
        Ok(Value { data, attributes })
    }

    /// Reads a vector.
    fn vector(&mut self, kind: i32, depth: usize) -> Result<Data, String> {
        Ok(match kind {
            10 | 13 => {
                let length = self.length()?;
                let mut numbers = Vec::new();
                for _ in 0..length {
                    numbers.push(f64::from(self.int()?));
                }
                Data::Numbers(numbers)
            }
            14 => {
                let length = self.length()?;
                let mut numbers = Vec::new();
                for bytes in self.take(length * 8)?.chunks_exact(8) {
                    let mut number = [0; 8];
                    number.copy_from_slice(bytes);
                    numbers.push(f64::from_be_bytes(number));
                }
                Data::Numbers(numbers)
            }
            15 => {
                let length = self.length()?;
                self.take(length * 16)?;
                Data::Other
            }
            16 => {
                let length = self.length()?;
                let mut texts = Vec::new();
                for _ in 0..length {
                    if let Data::Texts(text) = self.value(depth + 1)?.data {
                        texts.extend(text);
                    }
                }
                Data::Texts(texts)
            }
            19 | 20 => {
                let length = self.length()?;
                let mut items = Vec::new();
                for _ in 0..length {
                    items.push(self.value(depth + 1)?);
                }
                Data::List(items)
            }
            24 => {
                let length = self.length()?;
                self.take(length)?;
                Data::Other
            }
            other => return Err(format!("unexpected value of type {other}")),
        })
    }

    fn text(&mut self, flags: i32) -> Result<Value, String> {
        let length = self.int()?;
        if length == -1 {
            return Ok(Value::plain(Data::Texts(vec!["NA".to_owned()])));
        }
        self.at -= 4;
        let length = self.length()?;
        let bytes = self.take(length)?;
        let is_latin = (flags >> 12) & 4 != 0;
        let text = if is_latin {
            bytes.iter().copied().map(char::from).collect()
        } else {
            String::from_utf8_lossy(bytes).into_owned()
        };
        Ok(Value::plain(Data::Texts(vec![text])))
    }

    /// Reads a pairlist, iteratively instead of recursively.
    fn pairs(&mut self, depth: usize, flags: i32) -> Result<Value, String> {
        let (mut pairs, mut attributes) = (Vec::new(), Vec::new());
        let has = |flags: i32| (flags & 0x200 != 0, flags & 0x400 != 0);
        let (mut has_attributes, mut has_tag) = has(flags);
        loop {
            if has_attributes {
                attributes = self.attributes(depth + 1)?;
            }
            let tag = if has_tag { self.value(depth + 1)? } else { Value::plain(Data::Nothing) };
            let name = match tag.data {
                Data::Symbol(name) => name,
                _ => String::new(),
            };
            let value = self.value(depth + 1)?;
            pairs.push((name, value));
            let flags = self.int()?;
            self.count += 1;
            if self.count > MAX_VALUES {
                return Err("too many values".to_owned());
            }
            match flags & 0xff {
                2 | 5 | 6 | 17 => {
                    (has_attributes, has_tag) = has(flags);
                }
                254 => break,
                _ => {
                    self.at -= 4;
                    self.value(depth + 1)?;
                    break;
                }
            }
        }
        Ok(Value { data: Data::Pairs(pairs), attributes })
    }

    fn attributes(&mut self, depth: usize) -> Result<Vec<(String, Value)>, String> {
        match self.value(depth)?.data {
            Data::Pairs(pairs) => Ok(pairs),
            _ => Ok(Vec::new()),
        }
    }
}

/// Expands a compact representation (ALTREP).
fn expand(info: &Value, state: &Value) -> Value {
    let class = match &info.data {
        Data::Pairs(pairs) => match pairs.first().map(|(_, value)| &value.data) {
            Some(Data::Symbol(name)) => name.clone(),
            _ => String::new(),
        },
        _ => String::new(),
    };
    match (class.as_str(), &state.data) {
        ("compact_intseq" | "compact_realseq", Data::Numbers(numbers)) => {
            let &[count, start, step] = numbers.as_slice() else {
                return Value::plain(Data::Other);
            };
            let count = if count.is_finite() && (0.0..1e6).contains(&count) { count } else { 0.0 };
            let mut all = Vec::new();
            let mut number = 0.0;
            while number < count {
                all.push(start + number * step);
                number += 1.0;
            }
            Value::plain(Data::Numbers(all))
        }
        (class, Data::List(items)) if class.starts_with("wrap_") => {
            items.first().cloned().unwrap_or_else(|| Value::plain(Data::Nothing))
        }
        _ => Value::plain(Data::Other),
    }
}
