//! Header lines in one allocation, in the order of the wire.

/// Names and values of a head. Names keep their case; look-ups ignore it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headers {
    text: String,
    /// Ends of name and value inside `text`; each name starts where the last value ended.
    ends: Vec<(u32, u32)>,
}

impl Headers {
    pub fn push(&mut self, name: &str, value: &str) {
        self.text.push_str(name);
        let name_end = self.text.len() as u32;
        self.text.push_str(value);
        self.ends.push((name_end, self.text.len() as u32));
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut start = 0;
        self.ends.iter().map(move |(name_end, value_end)| {
            let (name_end, value_end) = (*name_end as usize, *value_end as usize);
            let name = self.text.get(start..name_end).unwrap_or_default();
            let value = self.text.get(name_end..value_end).unwrap_or_default();
            start = value_end;
            (name, value)
        })
    }

    /// The first value of that name.
    pub fn get(&self, name: &str) -> Option<&str> {
        let mut all = self.iter();
        all.find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    /// Every value of that name, in order.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let named = move |(known, _): &(&str, &str)| known.eq_ignore_ascii_case(name);
        self.iter().filter(named).map(|(_, value)| value)
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }
}

impl<'a> FromIterator<(&'a str, &'a str)> for Headers {
    fn from_iter<I: IntoIterator<Item = (&'a str, &'a str)>>(lines: I) -> Self {
        let mut headers = Self::default();
        for (name, value) in lines {
            headers.push(name, value);
        }
        headers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_order_and_case_and_look_ups_ignore_case() {
        let lines = [("Set-Cookie", "a=1"), ("X", ""), ("set-cookie", "b=2")];
        let headers: Headers = lines.into_iter().collect();
        assert_eq!(headers.iter().collect::<Vec<_>>(), lines);
        assert_eq!(headers.get("x"), Some(""));
        assert_eq!(
            headers.all("SET-COOKIE").collect::<Vec<_>>(),
            ["a=1", "b=2"]
        );
        assert_eq!(headers.get("y"), None);
    }
}
