//! A command from its bytes to the descriptor of its answer.

use super::{DecodeError, EncodeError};
use crate::descriptor::NotificationDesc;
use crate::protocol::{Reply, Request};

/// Reads a command, lets `run` answer it, and writes the answer with the fields that it repeats.
///
/// It is generic so that generated code names nothing of the answer: when that is no notification, the error is where
/// the answer is named, and nowhere else.
///
/// # Errors
/// Those of `read`, of `run`, and of [`Reply::into_descriptor`].
#[inline]
pub async fn serve<C, F, E>(
    read: impl FnOnce() -> Result<C, DecodeError>,
    run: impl FnOnce(C) -> F,
) -> Result<NotificationDesc, E>
where
    C: Request,
    F: Future<Output = Result<C::Reply, E>>,
    E: From<DecodeError> + From<EncodeError>,
{
    let command = read()?;
    let echo = command.echo();
    Ok(run(command).await?.into_descriptor(&echo)?)
}
