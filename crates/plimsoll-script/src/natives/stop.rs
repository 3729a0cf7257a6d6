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
