//! Hand-offs between threads beyond a plain mutex or channel, tested in every order of their steps.
//! The models are this crate's tests; CONTRIBUTING.md lists all hand-offs.
