//! A cookie jar after RFC 6265: what is stored, what is sent where.

use plimsoll_base::calendar::days_since_1970;
use url::Url;

/// One cookie as a server or a script set it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Cookie {
    pub(crate) name: String,
    pub(crate) value: String,
    /// Lower case, without a leading dot; empty for the host that set it.
    pub(crate) domain: String,
    pub(crate) path: String,
    /// Milliseconds since 1970; none for the length of the session.
    pub(crate) expires_unix_ms: Option<i64>,
    /// As written, for `res.cookies`.
    pub(crate) max_age_seconds: Option<i64>,
    pub(crate) secure: bool,
    pub(crate) http_only: bool,
}

#[derive(Debug, Clone)]
struct StoredCookie {
    cookie: Cookie,
    host_only: bool,
}

/// The cookies of one virtual user.
#[derive(Debug, Default, Clone)]
pub(crate) struct Jar {
    /// In order of creation, which is the order of sending among equally long paths.
    stored: Vec<StoredCookie>,
}

impl Jar {
    pub(crate) fn is_empty(&self) -> bool {
        self.stored.is_empty()
    }

    /// Takes a cookie that `url` set. Ignored if it names a domain that is not the host's.
    pub(crate) fn set(&mut self, url: &Url, mut cookie: Cookie, now_unix_ms: i64) {
        let host = url.host_str().unwrap_or_default().to_lowercase();
        let host_only = cookie.domain.is_empty() || cookie.domain == host && is_address(&host);
        if host_only {
            cookie.domain = host;
        } else if !covers(&cookie.domain, &host)
            || !cookie.domain.contains('.') && cookie.domain != host
        {
            return;
        }
        if !cookie.path.starts_with('/') {
            default_path(url.path()).clone_into(&mut cookie.path);
        }
        self.stored.retain(|stored| {
            let known = &stored.cookie;
            (&known.name, &known.domain, &known.path)
                != (&cookie.name, &cookie.domain, &cookie.path)
        });
        let is_over = cookie.expires_unix_ms.is_some_and(|at| at <= now_unix_ms);
        if !is_over {
            self.stored.push(StoredCookie { cookie, host_only });
        }
    }

    /// Name and value of what a request to `url` carries; longer paths first.
    pub(crate) fn cookies_for(&self, url: &Url, now_unix_ms: i64) -> Vec<(String, String)> {
        let mut matching: Vec<&StoredCookie> = self
            .stored
            .iter()
            .filter(|stored| stored.is_for(url, now_unix_ms))
            .collect();
        matching.sort_by_key(|stored| std::cmp::Reverse(stored.cookie.path.len()));
        let pair =
            |stored: &StoredCookie| (stored.cookie.name.clone(), stored.cookie.value.clone());
        matching.into_iter().map(pair).collect()
    }

    /// Forgets what a request to `url` would carry.
    pub(crate) fn clear(&mut self, url: &Url) {
        self.stored.retain(|stored| !stored.is_for(url, i64::MIN));
    }

    /// Forgets one of them by name.
    pub(crate) fn delete(&mut self, url: &Url, name: &str) {
        self.stored
            .retain(|stored| stored.cookie.name != name || !stored.is_for(url, i64::MIN));
    }
}

impl StoredCookie {
    fn is_for(&self, url: &Url, now_unix_ms: i64) -> bool {
        let host = url.host_str().unwrap_or_default().to_lowercase();
        let cookie = &self.cookie;
        let domain_fits = if self.host_only {
            cookie.domain == host
        } else {
            covers(&cookie.domain, &host)
        };
        let is_alive = cookie.expires_unix_ms.is_none_or(|at| at > now_unix_ms);
        let secure_fits = !cookie.secure || url.scheme() == "https";
        domain_fits && is_alive && secure_fits && path_covers(&cookie.path, url.path())
    }
}

fn is_address(host: &str) -> bool {
    host.starts_with('[') || host.parse::<std::net::IpAddr>().is_ok()
}

fn covers(domain: &str, host: &str) -> bool {
    let below = host.strip_suffix(domain);
    host == domain || below.is_some_and(|rest| rest.ends_with('.') && !is_address(host))
}

fn path_covers(cookie_path: &str, path: &str) -> bool {
    let rest = path.strip_prefix(cookie_path);
    rest.is_some_and(|rest| rest.is_empty() || cookie_path.ends_with('/') || rest.starts_with('/'))
}

/// The folder of a path (RFC 6265, 5.1.4).
fn default_path(path: &str) -> &str {
    match path.rfind('/') {
        None | Some(0) => "/",
        Some(end) => path.get(..end).unwrap_or("/"),
    }
}

/// One `Set-Cookie` line; none if it names nothing.
pub(crate) fn parse_set_cookie(line: &str, now_unix_ms: i64) -> Option<Cookie> {
    let mut parts = line.split(';');
    let (name, value) = parts.next()?.split_once('=')?;
    let name = name.trim();
    if name.is_empty() {
        return None;
    }
    let mut cookie = Cookie {
        name: name.to_owned(),
        value: value.trim().trim_matches('"').to_owned(),
        ..Cookie::default()
    };
    let mut expires = None;
    for part in parts {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let value = value.trim();
        match key.trim().to_ascii_lowercase().as_str() {
            "domain" => cookie.domain = value.trim_start_matches('.').to_lowercase(),
            "path" => value.clone_into(&mut cookie.path),
            "expires" => expires = parse_date(value),
            "max-age" => cookie.max_age_seconds = value.parse().ok(),
            "secure" => cookie.secure = true,
            "httponly" => cookie.http_only = true,
            _ => {}
        }
    }
    cookie.expires_unix_ms = match cookie.max_age_seconds {
        Some(seconds) if seconds <= 0 => Some(0),
        Some(seconds) => Some(now_unix_ms.saturating_add(seconds.saturating_mul(1_000))),
        None => expires,
    };
    Some(cookie)
}

/// A date as HTTP writes it (`Wed, 21 Oct 2015 07:28:00 GMT`, also with dashes), in milliseconds since 1970.
pub(crate) fn parse_date(text: &str) -> Option<i64> {
    const MONTHS: [(&str, i64); 12] = [
        ("jan", 1),
        ("feb", 2),
        ("mar", 3),
        ("apr", 4),
        ("may", 5),
        ("jun", 6),
        ("jul", 7),
        ("aug", 8),
        ("sep", 9),
        ("oct", 10),
        ("nov", 11),
        ("dec", 12),
    ];
    let (mut day, mut month, mut year, mut time) = (None, None, None, None);
    for word in text.split([' ', ',', '-']).filter(|word| !word.is_empty()) {
        let lower = word.to_lowercase();
        let named = MONTHS.iter().find(|(month, _)| lower.starts_with(month));
        if word.contains(':') {
            time = parse_time(word);
        } else if let (None, Some((_, number))) = (month, named) {
            month = Some(*number);
        } else if let Ok(number) = word.parse::<i64>() {
            if day.is_none() && word.len() <= 2 {
                day = Some(number);
            } else if year.is_none() {
                year = Some(full_year(number));
            }
        }
    }
    let days = days_since_1970(year?, month?, day?)?;
    Some((days * 86_400 + time?) * 1_000)
}

fn parse_time(word: &str) -> Option<i64> {
    let mut parts = word.split(':').map(str::parse::<i64>);
    let (hours, minutes) = (parts.next()?.ok()?, parts.next()?.ok()?);
    let seconds = parts.next().map_or(Some(0), Result::ok)?;
    Some(hours * 3_600 + minutes * 60 + seconds)
}

/// Two-digit years as RFC 6265 reads them.
fn full_year(year: i64) -> i64 {
    match year {
        70..=99 => year + 1_900,
        0..=69 => year + 2_000,
        _ => year,
    }
}

#[cfg(test)]
mod tests;
