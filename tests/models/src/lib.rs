//! Hand-offs between threads that are not simply a mutex or a channel, tried in every order in
//! which their steps can happen. The models are this crate's tests; CONTRIBUTING.md lists all
//! hand-offs.
