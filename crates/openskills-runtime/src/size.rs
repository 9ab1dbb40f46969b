//! Sizes in messages.

/// Returns a size with its unit, such as `512 bytes`, `1 KiB` or `1.2 MiB`. It is rounded up, so that a size above a
/// limit is not shown as the limit itself.
pub fn size_text(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match UNITS.into_iter().find(|(_, size)| bytes >= *size) {
        None if bytes == 1 => "1 byte".to_owned(),
        None => format!("{bytes} bytes"),
        Some((unit, size)) => {
            let tenths = (u128::from(bytes) * 10).div_ceil(u128::from(size));
            match (tenths / 10, tenths % 10) {
                (whole, 0) => format!("{whole} {unit}"),
                (whole, tenth) => format!("{whole}.{tenth} {unit}"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::size_text;

    #[test]
    fn sizes_have_a_unit_and_are_rounded_up() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (1023, "1023 bytes"),
            (1024, "1 KiB"),
            (1025, "1.1 KiB"),
            (1 << 20, "1 MiB"),
            ((1 << 20) + 1, "1.1 MiB"),
            (1_200_000, "1.2 MiB"),
            (5 << 30, "5 GiB"),
            (u64::MAX, "17179869184 GiB"),
        ] {
            assert_eq!(size_text(bytes), text);
        }
    }
}
