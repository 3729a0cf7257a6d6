//! The globals `URL` and `URLSearchParams`. k6 has neither; half the helper libraries exist to make up for that.

use std::cell::RefCell;
use std::rc::Rc;

use rquickjs::{
    Array, Class, Coerced, Exception, Function, IntoJs, JsLifetime, Object, Result, Value,
};
use url::Url;

use super::{functions, set_functions};
use crate::raw::{Call, Native, define_getter};

pub(crate) static CONSTRUCTORS: &[Native] = &[
    Native::constructor("URL", 2, new_url),
    Native::constructor("URLSearchParams", 1, new_params),
];

pub(crate) static URL_GETTERS: &[Native] = &[
    Native::new("href", 0, |call| part(call, |url| url.as_str().to_owned())),
    Native::new("origin", 0, |call| {
        part(call, |url| url.origin().ascii_serialization())
    }),
    Native::new("protocol", 0, |call| {
        part(call, |url| format!("{}:", url.scheme()))
    }),
    Native::new("username", 0, |call| {
        part(call, |url| url.username().to_owned())
    }),
    Native::new("password", 0, |call| {
        part(call, |url| url.password().unwrap_or_default().to_owned())
    }),
    Native::new("host", 0, |call| part(call, host)),
    Native::new("hostname", 0, |call| {
        part(call, |url| url.host_str().unwrap_or_default().to_owned())
    }),
    Native::new("port", 0, |call| {
        part(call, |url| {
            url.port().map_or_else(String::new, |port| port.to_string())
        })
    }),
    Native::new("pathname", 0, |call| {
        part(call, |url| url.path().to_owned())
    }),
    Native::new("search", 0, |call| {
        part(call, |url| prefixed('?', url.query()))
    }),
    Native::new("hash", 0, |call| {
        part(call, |url| prefixed('#', url.fragment()))
    }),
    Native::new("searchParams", 0, |call| {
        let url = Rc::clone(&Class::<UrlObject>::from_value(&call.this)?.borrow().url);
        params_object(
            call,
            Params {
                own: RefCell::default(),
                url: Some(url),
            },
        )
    }),
];

/// What can be assigned, each as the getter of the same name.
pub(crate) static URL_SETTERS: &[Native] = &[
    Native::new("href", 1, |call| {
        change(call, |url, text| {
            let parsed = Url::parse(text);
            if let Ok(parsed) = parsed {
                *url = parsed;
            }
        })
    }),
    Native::new("protocol", 1, |call| {
        change(call, |url, text| {
            ignore(url.set_scheme(text.trim_end_matches(':')));
        })
    }),
    Native::new("username", 1, |call| {
        change(call, |url, text| ignore(url.set_username(text)))
    }),
    Native::new("password", 1, |call| {
        change(call, |url, text| ignore(url.set_password(Some(text))))
    }),
    Native::new("host", 1, |call| change(call, set_host)),
    Native::new("hostname", 1, |call| {
        change(call, |url, text| ignore(url.set_host(Some(text))))
    }),
    Native::new("port", 1, |call| {
        change(call, |url, text| ignore(url.set_port(text.parse().ok())))
    }),
    Native::new("pathname", 1, |call| change(call, Url::set_path)),
    Native::new("search", 1, |call| {
        change(call, |url, text| url.set_query(after('?', text)))
    }),
    Native::new("hash", 1, |call| {
        change(call, |url, text| url.set_fragment(after('#', text)))
    }),
];

pub(crate) static URL_METHODS: &[Native] = &[
    Native::new("toString", 0, |call| {
        part(call, |url| url.as_str().to_owned())
    }),
    Native::new("toJSON", 0, |call| {
        part(call, |url| url.as_str().to_owned())
    }),
];

pub(crate) static PARAMS_METHODS: &[Native] = &[
    Native::new("append", 2, append),
    Native::new("delete", 1, delete),
    Native::new("get", 1, get),
    Native::new("getAll", 1, get_all),
    Native::new("has", 1, has),
    Native::new("set", 2, set),
    Native::new("sort", 0, sort),
    Native::new("toString", 0, to_text),
    Native::new("forEach", 1, for_each),
    Native::new("entries", 0, |call| {
        iterate(call, |(name, value)| vec![name, value])
    }),
    Native::new("keys", 0, |call| iterate(call, |(name, _)| name)),
    Native::new("values", 0, |call| iterate(call, |(_, value)| value)),
];

#[derive(JsLifetime)]
struct UrlObject {
    url: Rc<RefCell<Url>>,
}

class!(UrlObject, "URL", |prototype| {
    let setters = functions(prototype.ctx(), URL_SETTERS)?;
    for (name, getter) in functions(prototype.ctx(), URL_GETTERS)? {
        let setter = setters.iter().find(|(known, _)| *known == name);
        let setter = setter.and_then(|(_, setter)| setter.clone().into_function());
        if let Some(getter) = getter.into_function() {
            define_getter(prototype, name, &getter, setter.as_ref())?;
        }
    }
    set_functions(prototype, URL_METHODS)
});

type Pairs = Vec<(String, String)>;

/// Search parameters, of their own or those of a URL object, which they read and write.
#[derive(JsLifetime)]
struct Params {
    own: RefCell<Pairs>,
    url: Option<Rc<RefCell<Url>>>,
}

class!(Params, "URLSearchParams", |prototype| {
    set_functions(prototype, PARAMS_METHODS)?;
    let entries: Value<'_> = prototype.get("entries")?;
    let symbols: Object<'_> = prototype.ctx().globals().get("Symbol")?;
    prototype.set(symbols.get::<_, Value<'_>>("iterator")?, entries)
});

impl Params {
    fn pairs(&self) -> Pairs {
        match &self.url {
            Some(url) => url.borrow().query_pairs().into_owned().collect(),
            None => self.own.borrow().clone(),
        }
    }

    fn write(&self, pairs: Pairs) {
        match &self.url {
            Some(url) if pairs.is_empty() => url.borrow_mut().set_query(None),
            Some(url) => url.borrow_mut().set_query(Some(&serialised(&pairs))),
            None => *self.own.borrow_mut() = pairs,
        }
    }
}

fn serialised(pairs: &Pairs) -> String {
    url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(pairs)
        .finish()
}

fn host(url: &Url) -> String {
    match (url.host_str(), url.port()) {
        (Some(host), Some(port)) => format!("{host}:{port}"),
        (host, _) => host.unwrap_or_default().to_owned(),
    }
}

fn set_host(url: &mut Url, text: &str) {
    let (name, port) = match text.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() => (name, port.parse().ok()),
        _ => (text, url.port()),
    };
    ignore(url.set_host(Some(name)));
    ignore(url.set_port(port));
}

/// A part that does not fit leaves the URL as it was: so says the standard.
fn ignore<E>(outcome: std::result::Result<(), E>) {
    drop(outcome);
}

fn prefixed(mark: char, part: Option<&str>) -> String {
    let part = part.filter(|part| !part.is_empty());
    part.map_or_else(String::new, |part| format!("{mark}{part}"))
}

fn after(mark: char, text: &str) -> Option<&str> {
    let text = text.strip_prefix(mark).unwrap_or(text);
    (!text.is_empty()).then_some(text)
}

fn part<'js>(call: &Call<'_, 'js>, read: fn(&Url) -> String) -> Result<Value<'js>> {
    let object = Class::<UrlObject>::from_value(&call.this)?;
    let text = read(&object.borrow().url.borrow());
    call.string(&text)
}

fn change<'js>(call: &Call<'_, 'js>, write: fn(&mut Url, &str)) -> Result<Value<'js>> {
    let object = Class::<UrlObject>::from_value(&call.this)?;
    let text = call.text(0)?;
    write(&mut object.borrow().url.borrow_mut(), &text);
    Ok(call.undefined())
}

fn new_url<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let text = call.text(0)?;
    let parsed = match call.text_if_given(1)? {
        Some(base) => Url::parse(&base).and_then(|base| base.join(&text)),
        None => Url::parse(&text),
    };
    let url = parsed.map_err(|error| {
        let message = format!("invalid URL {text:?}: {error}");
        Exception::throw_type(&call.ctx, &message)
    })?;
    let url = Rc::new(RefCell::new(url));
    Ok(Class::instance(call.ctx.clone(), UrlObject { url })?.into_value())
}

fn new_params<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let own = RefCell::new(pairs_of(&call.arg(0))?);
    params_object(call, Params { own, url: None })
}

fn params_object<'js>(call: &Call<'_, 'js>, params: Params) -> Result<Value<'js>> {
    Ok(Class::instance(call.ctx.clone(), params)?.into_value())
}

/// A query string, pairs, an object, or other parameters.
fn pairs_of(given: &Value<'_>) -> Result<Pairs> {
    if let Ok(params) = Class::<Params>::from_value(given) {
        return Ok(params.borrow().pairs());
    }
    if let Some(list) = given.as_array() {
        let mut pairs = Vec::new();
        for pair in list.iter::<Array<'_>>() {
            let pair = pair?;
            let (name, value): (Coerced<String>, Coerced<String>) = (pair.get(0)?, pair.get(1)?);
            pairs.push((name.0, value.0));
        }
        return Ok(pairs);
    }
    if let Some(object) = given.as_object() {
        let pairs = object.props::<String, Coerced<String>>();
        return pairs
            .map(|pair| pair.map(|(name, value)| (name, value.0)))
            .collect();
    }
    if given.is_undefined() {
        return Ok(Vec::new());
    }
    let text: Coerced<String> = given.get()?;
    let query = text.0.strip_prefix('?').unwrap_or(&text.0);
    Ok(url::form_urlencoded::parse(query.as_bytes())
        .into_owned()
        .collect())
}

fn with<T>(call: &Call<'_, '_>, read: impl FnOnce(&Params) -> T) -> Result<T> {
    let params = Class::<Params>::from_value(&call.this)?;
    let params = params.borrow();
    Ok(read(&params))
}

fn change_pairs<'js>(call: &Call<'_, 'js>, change: impl FnOnce(&mut Pairs)) -> Result<Value<'js>> {
    with(call, |params| {
        let mut pairs = params.pairs();
        change(&mut pairs);
        params.write(pairs);
    })?;
    Ok(call.undefined())
}

fn append<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let pair = (call.text(0)?, call.text(1)?);
    change_pairs(call, |pairs| pairs.push(pair))
}

fn delete<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let name = call.text(0)?;
    change_pairs(call, |pairs| pairs.retain(|(known, _)| *known != name))
}

fn get<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let name = call.text(0)?;
    let found = with(call, |params| {
        params.pairs().into_iter().find(|(known, _)| *known == name)
    })?;
    match found {
        Some((_, value)) => call.string(&value),
        None => Ok(call.null()),
    }
}

fn get_all<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let name = call.text(0)?;
    let found = with(call, Params::pairs)?;
    let all = Array::new(call.ctx.clone())?;
    for (_, value) in found.into_iter().filter(|(known, _)| *known == name) {
        all.set(all.len(), value)?;
    }
    Ok(all.into_value())
}

fn has<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let name = call.text(0)?;
    let has = with(call, |params| {
        params.pairs().iter().any(|(known, _)| *known == name)
    })?;
    Ok(call.boolean(has))
}

/// Replaces the first of that name and drops the others.
fn set<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let (name, value) = (call.text(0)?, call.text(1)?);
    change_pairs(call, |pairs| {
        let first = pairs.iter().position(|(known, _)| *known == name);
        pairs.retain({
            let mut index = 0;
            let name = &name;
            move |(known, _)| {
                index += 1;
                known != name || Some(index - 1) == first
            }
        });
        match first {
            Some(first) => pairs[first].1 = value,
            None => pairs.push((name, value)),
        }
    })
}

fn sort<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    change_pairs(call, |pairs| {
        pairs.sort_by(|a, b| a.0.encode_utf16().cmp(b.0.encode_utf16()));
    })
}

fn to_text<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let text = with(call, |params| serialised(&params.pairs()))?;
    call.string(&text)
}

fn for_each<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let Some(visit) = call.arg(0).into_function() else {
        return call.fail_type("forEach() needs a function");
    };
    for (name, value) in with(call, Params::pairs)? {
        visit.call::<_, ()>((value, name, call.this.clone()))?;
    }
    Ok(call.undefined())
}

/// The iterator of an array with what is made of each pair.
fn iterate<'js, T: IntoJs<'js>>(
    call: &Call<'_, 'js>,
    make: fn((String, String)) -> T,
) -> Result<Value<'js>> {
    let all = Array::new(call.ctx.clone())?;
    for pair in with(call, Params::pairs)? {
        all.set(all.len(), make(pair))?;
    }
    let values: Function<'js> = all.as_object().get("values")?;
    values.call((rquickjs::function::This(all),))
}
