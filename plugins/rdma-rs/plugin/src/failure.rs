//! Why an operation, or a whole instance, failed.

use std::rc::Rc;

use urom_pdk::prelude::*;

/// A code and a text, which several operations end with.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) code: DocaError,
    pub(crate) why: Rc<str>,
}

impl Failure {
    pub(crate) fn new(code: DocaError, why: impl Into<Rc<str>>) -> Failure {
        Failure { code, why: why.into() }
    }

    /// What the operations end with that were not complete when this happened.
    pub(crate) fn of_others(&self) -> Failure {
        if self.code == DocaError::SHUTDOWN {
            return self.clone();
        }
        let why = format!("the instance had failed before: {}", self.why);
        Failure::new(DocaError::CONNECTION_ABORTED, why)
    }

    pub(crate) fn error(&self) -> Error {
        Error::new(self.code, self.why.to_string())
    }
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Failure {
        Failure::new(error.code(), error.to_string())
    }
}
