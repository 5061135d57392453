//! A host that is a process of its own: it connects, starts workers and keeps them busy as it is
//! told on its standard input, and tells on its standard output what became of every task.

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
