//! Ends the function under way where its virtual user is told to stop.

use rquickjs::Result;

use crate::raw::{Call, throw_uncatchable};
use crate::turn::{End, Resumption};

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
    let error = throw_uncatchable(&call.ctx, &message);
    *call.vu.ending.borrow_mut() = Some(End::Missing {
        message: message.into(),
    });
    Err(error)
}
