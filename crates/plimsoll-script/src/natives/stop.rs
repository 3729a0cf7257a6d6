//! Ends the function under way where its virtual user is told to stop.

use rquickjs::{Ctx, Error, Exception, Result};

use crate::raw::{Call, throw_uncatchable};
use crate::resolve::is_of_k6_alone;
use crate::turn::{End, Resumption};
use crate::vu_state::VuState;

/// A stop ends the function under way.
pub(crate) fn stop_if_asked(call: &Call<'_, '_>, resumption: &Resumption) -> Result<()> {
    if matches!(resumption, Resumption::Stop) {
        *call.vu.ending.borrow_mut() = Some(End::Interrupted);
        return Err(throw_uncatchable(
            &call.ctx,
            "the iteration was interrupted",
        ));
    }
    Ok(())
}

/// What k6 has and is not there yet names itself and ends the test: a script that catches it would test something else.
pub(crate) fn not_there<T>(call: &Call<'_, '_>, what: &str, instead: &str) -> Result<T> {
    let message = format!("{what} is not there yet, so the test ends here; {instead}");
    Err(end_without(&call.ctx, &call.vu, &message))
}

/// The same of a module, which scripts ask for with `require` and `import()`. Others throw, as in k6.
pub(crate) fn no_module(ctx: &Ctx<'_>, vu: &VuState, specifier: &str, message: &str) -> Error {
    if is_of_k6_alone(specifier) {
        return end_without(ctx, vu, message);
    }
    Exception::throw_reference(ctx, message)
}

fn end_without(ctx: &Ctx<'_>, vu: &VuState, message: &str) -> Error {
    let error = throw_uncatchable(ctx, message);
    *vu.ending.borrow_mut() = Some(End::Missing {
        message: message.into(),
    });
    error
}
