//! Bytes as hexadecimal digits.

/// Two lower-case digits per byte.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or_default();
    let pair = |byte: &u8| [digit(byte >> 4), digit(byte & 0x0f)];
    bytes.iter().flat_map(pair).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn bytes_become_two_digits_each() {
        assert_eq!(super::encode(&[0, 10, 255]), "000aff");
    }
}
