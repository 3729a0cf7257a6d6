//! What the options decide about scripts, as the caller has settled it from flags, environment and script.

use std::borrow::Cow;

use plimsoll_core::Nanos;
use plimsoll_core::secrets::masked_url;

/// Set once per run, equal for all virtual users. Defaults are k6's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// What `exec.test.options` shows, as JSON.
    pub options_json: Box<str>,
    /// Tags of every sample (`--tag`, option `tags`).
    pub tags: Vec<(Box<str>, Box<str>)>,
    /// Only shown in `res.request.headers`; the other side sends it.
    pub user_agent: Box<str>,
    pub max_redirects: u32,
    /// Option `throw`: a request without an answer throws.
    pub throw: bool,
    pub discard_response_bodies: bool,
    /// Option `noCookiesReset`.
    pub keep_cookies: bool,
    /// Of a request that names none.
    pub timeout: Nanos,
    /// Which tags samples carry.
    pub system_tags: SystemTags,
    /// Root of all randomness in scripts.
    pub seed: u64,
    pub limits: Limits,
    pub secrets: Secrets,
}

/// Whether warnings and `httpDebug` have URLs and headers as they are (`--show-secrets`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Secrets {
    #[default]
    Masked,
    Shown,
}

impl Secrets {
    /// A URL as a log may hold it.
    pub fn url(self, url: &str) -> Cow<'_, str> {
        match self {
            Self::Masked => masked_url(url).into(),
            Self::Shown => url.into(),
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            options_json: "{}".into(),
            tags: Vec::new(),
            user_agent: concat!("plimsoll/", env!("CARGO_PKG_VERSION")).into(),
            max_redirects: 10,
            throw: false,
            discard_response_bodies: false,
            keep_cookies: false,
            timeout: Nanos::from_secs(60),
            system_tags: SystemTags::default(),
            seed: 0,
            limits: Limits::default(),
            secrets: Secrets::Masked,
        }
    }
}

/// Bounds on what one virtual user may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Memory that may be taken between two suspensions.
    pub memory_bytes: usize,
    /// Interrupt checks between two suspensions. The engine makes one per 10,000 calls or backward jumps, about
    /// every 0.1 to 1 ms of running script.
    pub ticks: u64,
}

impl Default for Limits {
    /// Generous: 512 MiB, a minute of pure computing.
    fn default() -> Self {
        Self {
            memory_bytes: 512 << 20,
            ticks: 200_000,
        }
    }
}

macro_rules! system_tags {
    ($($field:ident $default:literal),* $(,)?) => {
        /// Which of the tags that the system sets are on; names as in the option `systemTags`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct SystemTags { $(pub $field: bool),* }

        impl Default for SystemTags {
            fn default() -> Self { Self { $($field: $default),* } }
        }

        impl SystemTags {
            /// Only the named ones; an unknown name is given back.
            pub fn only<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, &'a str> {
                let mut tags = Self { $($field: false),* };
                for name in names {
                    match name {
                        $(stringify!($field) => tags.$field = true,)*
                        unknown => return Err(unknown),
                    }
                }
                Ok(tags)
            }
        }
    };
}

system_tags!(
    proto true, subproto true, status true, method true, url true, name true, group true, check true,
    error true, error_code true, tls_version true, scenario true, service true, expected_response true,
    iter false, vu false, ocsp_status false, ip false,
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_tags_are_named_as_in_the_option() {
        let tags = SystemTags::only(["url", "expected_response", "ip"]).unwrap();
        assert!(tags.url && tags.expected_response && tags.ip && !tags.status);
        assert_eq!(SystemTags::only(["urll"]), Err("urll"));
        assert!(SystemTags::default().scenario && !SystemTags::default().vu);
    }
}
