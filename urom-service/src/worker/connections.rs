//! The table of connections, by the channel number that commands carry.

use super::connection::Connection;
use super::messages::LinkKey;

/// Connections by channel number. A number is given again only after all others were.
#[derive(Debug)]
pub(crate) struct Connections {
    /// One more than the place in `all`, or 0, for each channel number.
    places: Box<[u16]>,
    all: Vec<Option<(u16, Connection)>>,
    next: u16,
    count: usize,
}

/// How many channel numbers there are. Number 0 is never given, so that a frame of zeros belongs to nobody.
const NUMBERS: usize = 1 << 16;

impl Connections {
    pub(crate) fn new() -> Connections {
        let places = vec![0; NUMBERS].into_boxed_slice();
        Connections { places, all: Vec::new(), next: 1, count: 0 }
    }

    /// A number that is free; `None` when none is.
    pub(crate) fn free_number(&mut self) -> Option<u16> {
        if self.count >= NUMBERS - 2 {
            return None;
        }
        while self.next == 0 || self.places[usize::from(self.next)] != 0 {
            self.next = self.next.wrapping_add(1);
        }
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        Some(number)
    }

    /// Enters a connection under a free number.
    pub(crate) fn insert(&mut self, number: u16, connection: Connection) {
        let place = match self.all.iter().position(Option::is_none) {
            Some(place) => place,
            None => {
                self.all.push(None);
                self.all.len() - 1
            }
        };
        self.all[place] = Some((number, connection));
        // Fewer connections than numbers, so the place fits.
        self.places[usize::from(number)] = place as u16 + 1;
        self.count += 1;
    }

    /// The connection of a number.
    #[inline]
    pub(crate) fn get(&mut self, number: u16) -> Option<&mut Connection> {
        let place = usize::from(self.places[usize::from(number)]).checked_sub(1)?;
        self.all.get_mut(place)?.as_mut().map(|(_, connection)| connection)
    }

    /// Takes a connection out.
    pub(crate) fn remove(&mut self, number: u16) -> Option<Connection> {
        let place = usize::from(std::mem::take(&mut self.places[usize::from(number)])).checked_sub(1)?;
        let (_, connection) = self.all.get_mut(place)?.take()?;
        self.count -= 1;
        Some(connection)
    }

    /// The number of the connection that belongs to a control stream.
    pub(crate) fn number_of(&self, link: LinkKey) -> Option<u16> {
        self.all.iter().flatten().find(|(_, connection)| connection.link == link).map(|(number, _)| *number)
    }

    /// All of them, with their numbers.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (u16, &mut Connection)> {
        self.all.iter_mut().flatten().map(|(number, connection)| (*number, connection))
    }
}
