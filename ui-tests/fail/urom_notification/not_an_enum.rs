//! The attribute on other items.

use urom_abi::urom_notification;

#[urom_notification]
mod notification {}

#[urom_notification]
trait Notification {}

fn main() {}
