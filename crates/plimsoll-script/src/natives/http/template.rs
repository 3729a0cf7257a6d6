//! `http.url`: an address that varies, with the name under which its requests are counted together.

use rquickjs::{Array, Class, Coerced, JsLifetime, Result, Value};

use crate::raw::Call;

/// What `http.url` makes: an address with the name under which its requests are counted together.
#[derive(JsLifetime)]
pub(crate) struct Template {
    pub(crate) url: String,
    pub(crate) name: String,
}

class!(Template, "HttpURL", |_| Ok(()));

/// The template tag `http.url`: the name shows `${}` where values stood.
pub(crate) fn create<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let (mut url, mut name) = (String::new(), String::new());
    if let Some(parts) = call.arg(0).as_array() {
        join(call, parts, &mut url, &mut name)?;
    } else {
        url = call.text(0)?;
        name.clone_from(&url);
    }
    let object = Class::instance(
        call.ctx.clone(),
        Template {
            url: url.clone(),
            name: name.clone(),
        },
    )?;
    let object = object.into_inner();
    object.set("url", url)?;
    object.set("name", name)?;
    Ok(object.into_value())
}

fn join(call: &Call<'_, '_>, parts: &Array<'_>, url: &mut String, name: &mut String) -> Result<()> {
    for (index, part) in parts.iter::<String>().enumerate() {
        let part = part?;
        url.push_str(&part);
        name.push_str(&part);
        if let Some(value) = call.args.get(index + 1) {
            url.push_str(&value.get::<Coerced<String>>()?.0);
            name.push_str("${}");
        }
    }
    Ok(())
}
