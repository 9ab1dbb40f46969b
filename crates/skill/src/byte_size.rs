//! Sizes in messages.

use std::fmt;

/// A number of bytes, shown like `1.2 MiB`. Fractions are rounded up, so that a size above a limit never looks equal
/// to the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteSize(pub u64);

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const KIB: u64 = 1 << 10;
        const MIB: u64 = 1 << 20;
        const GIB: u64 = 1 << 30;

        let (size, unit) = match self.0 {
            1 => return f.write_str("1 byte"),
            0 | 2..KIB => return write!(f, "{} bytes", self.0),
            KIB..MIB => (KIB, "KiB"),
            MIB..GIB => (MIB, "MiB"),
            GIB.. => (GIB, "GiB"),
        };
        let tenths = self.0.saturating_mul(10).div_ceil(size);
        match tenths % 10 {
            0 => write!(f, "{} {unit}", tenths / 10),
            tenth => write!(f, "{}.{tenth} {unit}", tenths / 10),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_a_unit_and_are_rounded_up() {
        for (bytes, shown) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (1023, "1023 bytes"),
            (1 << 10, "1 KiB"),
            (1536, "1.5 KiB"),
            (1 << 20, "1 MiB"),
            ((1 << 20) + 1, "1.1 MiB"),
            (64 << 20, "64 MiB"),
            (1 << 30, "1 GiB"),
        ] {
            assert_eq!(ByteSize(bytes).to_string(), shown);
        }
    }
}
