//! Requests until they are over: cookies, redirects, challenges, samples.

use std::net::IpAddr;
use std::rc::Rc;

use rquickjs::{Exception, Result};

use super::body::decode_body;
use super::digest::{Challenged, answer};
use super::params::{Auth, GivenCookie, ResponseType};
use super::prepare::{Prepared, cookies_of, request_tags, wire_call};
use crate::host::HttpSample;
use crate::http::address::{Address, redirected};
use crate::http::cookies::parse_set_cookie;
use crate::http::session::AnswerKey;
use crate::http::{Headers, HttpCall, HttpError, HttpResult};
use crate::natives::stop::stop_if_asked;
use crate::raw::{Call, suspend};
use crate::tags::TagSetId;
use crate::turn::{Resumption, Suspension};

/// A request that is over, as its response object shows it.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) result: HttpResult,
    /// Where the answer came from: the last hop.
    pub(crate) url: Box<str>,
    pub(crate) response_type: ResponseType,
    pub(crate) error_code: u16,
    pub(crate) request: Sent,
}

/// What was sent, for `res.request`.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) method: Rc<str>,
    pub(crate) headers: Headers,
    pub(crate) body: Option<Rc<[u8]>>,
    pub(crate) cookies: Vec<GivenCookie>,
}

/// Headers that say who somebody is: not for everyone to whom a server redirects.
const SECRETS: [&str; 6] = [
    "authorization",
    "www-authenticate",
    "cookie",
    "cookie2",
    "proxy-authorization",
    "proxy-authenticate",
];

/// The status that asks who it is.
const CHALLENGE: u16 = 401;

struct Flight {
    prepared: Prepared,
    /// Where it went first.
    first: Option<Rc<Address>>,
    hops: u32,
    /// The answer to a challenge, once there was one.
    authorization: Option<String>,
    /// How it ended; with the option `throw`, a failed request ends in the words of an exception.
    finished: Option<std::result::Result<Finished, String>>,
}

/// Sends requests together and follows each to its end; the first that throws, throws.
pub(crate) fn perform(call: &Call<'_, '_>, requests: Vec<Prepared>) -> Result<Vec<Finished>> {
    let landed = fly(call, requests)?.into_iter().collect();
    let landed: std::result::Result<Vec<Finished>, String> = landed;
    landed.map_err(|message| Exception::throw_message(&call.ctx, &message))
}

/// The same, each with an end of its own.
pub(super) fn fly(
    call: &Call<'_, '_>,
    requests: Vec<Prepared>,
) -> Result<Vec<std::result::Result<Finished, String>>> {
    let mut flights = Vec::with_capacity(requests.len());
    for prepared in requests {
        let mut flight = Flight {
            first: prepared.address.as_ref().ok().map(Rc::clone),
            prepared,
            hops: 0,
            authorization: None,
            finished: None,
        };
        flight.refuse_bad_address(call);
        flights.push(flight);
    }
    loop {
        let mut pending: Vec<&mut Flight> = flights
            .iter_mut()
            .filter(|flight| flight.finished.is_none())
            .collect();
        if pending.is_empty() {
            break;
        }
        let calls: Vec<HttpCall> = pending
            .iter()
            .filter_map(|flight| {
                let address = flight.prepared.address.as_ref().ok()?;
                let authorization = flight.authorization.as_deref();
                let mut wired = wire_call(call, &flight.prepared, address, authorization);
                wired.expects_challenge =
                    flight.expects_challenge() && flight.prepared.user.is_some();
                wired.may_follow = flight.hops < flight.prepared.params.redirects;
                Some(wired)
            })
            .collect();
        let sent: Vec<Headers> = calls.iter().map(|call| call.headers.clone()).collect();
        let resumption = suspend(&call.ctx, &call.vu, Suspension::Http(calls))?;
        stop_if_asked(call, &resumption)?;
        let Resumption::Http(results) = resumption else {
            return call.fail("internal: the wrong answer came back for a request");
        };
        if results.len() != pending.len() {
            return call.fail("internal: not every request came back");
        }
        for ((flight, result), headers) in pending.iter_mut().zip(results).zip(sent) {
            flight.land(call, result, headers);
        }
    }
    Ok(flights
        .into_iter()
        .filter_map(|flight| flight.finished)
        .collect())
}

impl Flight {
    /// A URL that leads nowhere is a failed request, not an exception.
    fn refuse_bad_address(&mut self, call: &Call<'_, '_>) {
        let Err((refusal, url)) = &self.prepared.address else {
            return;
        };
        let code = if refusal.contains("scheme") {
            1_000
        } else {
            1_020
        };
        let url = url.clone();
        let result = HttpResult {
            error: Some(HttpError {
                code,
                message: refusal.as_str().into(),
            }),
            ..HttpResult::default()
        };
        let judged = self.judge(result.status);
        emit(call, &self.prepared, &result, (code, judged));
        self.finish(call, result, url, Headers::default(), code);
    }

    fn land(&mut self, call: &Call<'_, '_>, mut result: HttpResult, headers: Headers) {
        let Ok(address) = self.prepared.address.clone().map_err(|_| ()) else {
            return;
        };
        self.keep_cookies(call, &address, &result);
        // An answer that cannot be read is none: status 0, as in k6.
        if let Err(error) = decode_body(&mut result) {
            result.status = 0;
            result.error = Some(HttpError {
                code: 1_701,
                message: format!("cannot decompress the body: {error}").into(),
            });
        }
        let error_code = error_code(&result);
        let judged = self.judge(result.status);
        emit(call, &self.prepared, &result, (error_code, judged));
        if self.answers_challenge(call, &address, &result) || self.follows(call, &address, &result)
        {
            return;
        }
        let url = address.request.text.clone();
        self.finish(call, result, url, headers, error_code);
    }

    /// Digest authentication begins with a request that the server must refuse.
    fn expects_challenge(&self) -> bool {
        let is_digest = self.prepared.params.auth == Auth::Digest;
        is_digest && self.authorization.is_none() && self.hops == 0
    }

    /// Whether that status was expected; none if nobody asks. As in k6, a challenge is all that is expected first.
    fn judge(&self, status: u16) -> Option<bool> {
        let judged = self.prepared.params.expected.judge(status);
        if self.expects_challenge() {
            return judged.map(|_| status == CHALLENGE);
        }
        judged
    }

    fn keep_cookies(&self, call: &Call<'_, '_>, address: &Address, result: &HttpResult) {
        let Some(jar) = &self.prepared.params.jar else {
            return;
        };
        for line in result.headers.all("set-cookie") {
            let now = call.vu.worker.host.unix_ms();
            if let Some(cookie) = parse_set_cookie(line, now) {
                jar.borrow_mut().set(&address.parsed, cookie, now);
            }
        }
    }

    fn answers_challenge(
        &mut self,
        call: &Call<'_, '_>,
        address: &Address,
        result: &HttpResult,
    ) -> bool {
        let asks = result.status == CHALLENGE && self.prepared.params.auth == Auth::Digest;
        let (true, None, Some((user, password))) = (asks, &self.authorization, &self.prepared.user)
        else {
            return false;
        };
        let client_nonce = format!("{:016x}", call.vu.rng.borrow_mut().next_u64());
        let request = Challenged {
            user,
            password,
            method: &self.prepared.method,
            target: &address.request.target,
            client_nonce: &client_nonce,
        };
        let mut challenges = result.headers.all("www-authenticate");
        self.authorization = challenges.find_map(|line| answer(line, &request));
        self.authorization.is_some()
    }

    /// Turns this flight into the next hop of a redirect, if there is one to follow.
    fn follows(&mut self, call: &Call<'_, '_>, from: &Address, result: &HttpResult) -> bool {
        let is_redirect = matches!(result.status, 301 | 302 | 303 | 307 | 308);
        let Some(location) = result.headers.get("location").filter(|_| is_redirect) else {
            return false;
        };
        let limit = self.prepared.params.redirects;
        if self.hops >= limit {
            if limit > 0 {
                call.vu.worker.warn(&format!(
                    "stopped after {limit} redirects at {}; raise `redirects` or `maxRedirects` to follow more",
                    call.vu.worker.settings.secrets.url(&from.request.text)
                ));
            }
            return false;
        }
        let Some(next) = redirected(from, location) else {
            return false;
        };
        self.hops += 1;
        self.redirect_to(call, from, next, result.status);
        true
    }

    fn redirect_to(&mut self, call: &Call<'_, '_>, from: &Address, next: Address, status: u16) {
        let prepared = &mut self.prepared;
        let drops_body = status < 307 && !matches!(&*prepared.method, "GET" | "HEAD");
        if drops_body {
            prepared.method = "GET".into();
            prepared.body = None;
        }
        let is_foreign = next.request.host != from.request.host;
        // As Go has it: secrets go to the first host and to those below it, and what was left out once stays out.
        let first = self.first.as_ref().map_or("", |first| &first.request.host);
        let keeps_secrets = is_below(&next.request.host, first);
        let is_kept = |name: &str| {
            let of_body = name.to_ascii_lowercase().starts_with("content-");
            let is = |known: &&str| name.eq_ignore_ascii_case(known);
            let is_secret = SECRETS.iter().any(is);
            let is_host = is(&"host");
            !(drops_body && of_body || !keeps_secrets && is_secret || is_foreign && is_host)
        };
        if !keeps_secrets {
            prepared.params.cookies.clear();
        }
        prepared.headers = prepared
            .headers
            .iter()
            .filter(|(name, _)| is_kept(name))
            .collect();
        if is_foreign {
            prepared.user = None;
            self.authorization = None;
        }
        if next.user.is_some() {
            prepared.user.clone_from(&next.user);
        }
        prepared.tags = request_tags(call, &prepared.params, &prepared.method, &next.request.text);
        prepared.address = Ok(Rc::new(next));
    }

    fn finish(
        &mut self,
        call: &Call<'_, '_>,
        result: HttpResult,
        url: Box<str>,
        headers: Headers,
        error_code: u16,
    ) {
        if let Some(error) = &result.error {
            let message = failure_words(call, &self.prepared.method, &url, &error.message);
            if self.prepared.params.throw {
                self.finished = Some(Err(message));
                return;
            }
            call.vu.worker.warn(&format!("Request Failed: {message}"));
        }
        let prepared = &self.prepared;
        let address = prepared.address.as_ref().ok();
        self.finished = Some(Ok(Finished {
            result,
            url,
            response_type: prepared.params.response_type,
            error_code,
            request: Sent {
                method: Rc::clone(&prepared.method),
                headers,
                body: prepared.body.clone(),
                cookies: address
                    .map_or_else(Vec::new, |address| cookies_of(call, prepared, address)),
            },
        }));
    }
}

/// `GET "http://a/": request timeout`
fn failure_words(call: &Call<'_, '_>, method: &str, url: &str, error: &str) -> String {
    let shown = call.vu.worker.settings.secrets.url(url);
    // What is wrong with a URL may name it once more.
    let error = error.replace(&format!("{url:?}"), &format!("{shown:?}"));
    format!("{method} {shown:?}: {error}")
}

/// Whether a host is that one, or of its domain.
fn is_below(host: &str, domain: &str) -> bool {
    let rest = host.strip_suffix(domain);
    let is_name = !host.contains(':');
    rest.is_some_and(|rest| rest.is_empty() || is_name && rest.ends_with('.'))
}

/// k6's code: that of the error, or 1000 plus the status from 400 on.
fn error_code(result: &HttpResult) -> u16 {
    match &result.error {
        Some(error) => error.code,
        None if result.status >= 400 => 1_000 + result.status,
        None => 0,
    }
}

fn emit(
    call: &Call<'_, '_>,
    prepared: &Prepared,
    result: &HttpResult,
    (error_code, judged): (u16, Option<bool>),
) {
    let expected = judged.map(|expected| expected && result.error.is_none());
    let key = AnswerKey {
        call: prepared.tags,
        status: result.status,
        proto: result.proto,
        expected,
        tls: result.tls.map(|tls| tls.version),
        ip: answered_from(call, result),
    };
    let last = call.vu.http.last_answer.get();
    let tags = match last {
        Some((known, tags)) if known == key && result.error.is_none() => tags,
        _ => answer_tags(call, prepared.tags, result, error_code, expected),
    };
    if result.error.is_none() {
        call.vu.http.last_answer.set(Some((key, tags)));
    }
    call.vu.worker.host.http(&HttpSample {
        tags,
        user_tags: call.vu.root_tags(),
        expected,
        result,
    });
}

/// The address of the server, where samples carry it.
fn answered_from(call: &Call<'_, '_>, result: &HttpResult) -> Option<IpAddr> {
    let remote = result.remote.map(|remote| remote.ip());
    remote.filter(|_| call.vu.worker.settings.system_tags.ip)
}

fn answer_tags(
    call: &Call<'_, '_>,
    base: TagSetId,
    result: &HttpResult,
    error_code: u16,
    expected: Option<bool>,
) -> TagSetId {
    let worker = &call.vu.worker;
    let system = &worker.settings.system_tags;
    let mut tags = base;
    let mut tag = |is_on: bool, name: &str, value: &str| {
        if is_on {
            tags = worker.tag(tags, name, value);
        }
    };
    tag(system.status, "status", &result.status.to_string());
    if result.status > 0 {
        tag(system.proto, "proto", result.proto.name());
    }
    if let Some(expected) = expected {
        tag(
            system.expected_response,
            "expected_response",
            if expected { "true" } else { "false" },
        );
    }
    if error_code > 0 {
        tag(system.error_code, "error_code", &error_code.to_string());
    }
    if let Some(error) = &result.error {
        tag(system.error, "error", &error.message);
    }
    if let Some(tls) = result.tls {
        tag(system.tls_version, "tls_version", tls.version);
    }
    if let Some(ip) = answered_from(call, result) {
        tag(true, "ip", &ip.to_string());
    }
    tags
}
