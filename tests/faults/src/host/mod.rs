//! A host process. Orders on standard input connect it, start workers and keep them busy; it
//! reports the end of every task on standard output.

mod call;
mod counted;
mod load;
mod loopbacks;
mod obey;
mod pace;
mod words;

pub(crate) use loopbacks::MARKS;
pub use obey::serve;
pub(crate) use pace::Pace;
pub(crate) use words::{Call, Kind, Order, Said, Tally, Trouble, Word};
