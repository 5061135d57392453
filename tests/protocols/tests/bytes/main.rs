//! Every byte of every message of the two protocols, as C lays them down, in both directions.

mod rdmo;
mod support;
mod ucc;
