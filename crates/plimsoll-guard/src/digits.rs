//! A number as text, without memory of its own: a refusal, and the address of a client, have to be cheap.

#[derive(Debug)]
pub(crate) struct Digits([u8; 20], usize);

impl Digits {
    pub(crate) fn of(mut number: u64) -> Self {
        let mut digits = Self([b'0'; 20], 20);
        loop {
            digits.1 -= 1;
            if let Some(digit) = digits.0.get_mut(digits.1) {
                *digit = b'0' + (number % 10) as u8;
            }
            number /= 10;
            if number == 0 || digits.1 == 0 {
                return digits;
            }
        }
    }

    pub(crate) fn text(&self) -> &str {
        let digits = self.0.get(self.1..).unwrap_or_default();
        std::str::from_utf8(digits).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_everybody_writes_them() {
        for number in [0, 7, 10, 503, 12_345, u64::MAX] {
            assert_eq!(Digits::of(number).text(), number.to_string());
        }
    }
}
