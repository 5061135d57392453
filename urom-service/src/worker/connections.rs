//! The connections of a worker's data loop, by channel number.

use super::connection::Connection;
use super::messages::LinkKey;

/// Connections by channel number. A number is given again only after all others were.
#[derive(Debug)]
pub(crate) struct Connections {
    /// The place in `all` of each channel number; 0 for those that nobody has.
    places: Box<[u16; NUMBERS]>,
    all: Vec<Option<Box<(u16, Connection)>>>,
    next: u16,
    count: usize,
}

/// How many channel numbers there are. Number 0 is never given, so that a frame of zeros belongs to
/// nobody.
const NUMBERS: usize = 1 << 16;

impl Connections {
    /// Numbers begin with this one, or with 1 instead of 0.
    pub(crate) fn new(first: u16) -> Connections {
        // Fresh zeroed memory from the system is not touched before it is used.
        let places = vec![0; NUMBERS].into_boxed_slice().try_into();
        let places = places.unwrap_or_else(|_| unreachable!("the slice is as long as the array"));
        Connections { places, all: vec![None], next: first.max(1), count: 0 }
    }

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

    pub(crate) fn insert(&mut self, number: u16, connection: Connection) {
        let place = match self.all.iter().skip(1).position(Option::is_none) {
            Some(free) => free + 1,
            None => {
                self.all.push(None);
                self.all.len() - 1
            }
        };
        self.all[place] = Some(Box::new((number, connection)));
        // Fewer connections than numbers, so the place fits.
        self.places[usize::from(number)] = place as u16;
        self.count += 1;
    }

    #[inline]
    pub(crate) fn get(&mut self, number: u16) -> Option<&mut Connection> {
        let place = usize::from(self.places[usize::from(number)]);
        self.all.get_mut(place)?.as_deref_mut().map(|(_, connection)| connection)
    }

    pub(crate) fn remove(&mut self, number: u16) -> Option<Connection> {
        let place = usize::from(std::mem::take(&mut self.places[usize::from(number)]));
        let (_, connection) = *self.all.get_mut(place)?.take()?;
        self.count -= 1;
        Some(connection)
    }

    /// The number of the connection that belongs to a control stream.
    pub(crate) fn number_of(&self, link: LinkKey) -> Option<u16> {
        self.all.iter().flatten().find(|entry| entry.1.link == link).map(|entry| entry.0)
    }

    /// The connection that belongs to a control stream.
    pub(crate) fn of(&mut self, link: LinkKey) -> Option<&mut Connection> {
        let number = self.number_of(link)?;
        self.get(number)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(crate) fn numbers(&self) -> Vec<u16> {
        self.all.iter().flatten().map(|entry| entry.0).collect()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (u16, &mut Connection)> {
        self.all.iter_mut().flatten().map(|entry| (entry.0, &mut entry.1))
    }
}
