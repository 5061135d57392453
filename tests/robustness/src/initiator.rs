//! Messages of initiators to the RDMO plugin: headers and scatters.

use rdmo_protocol::data::{Malformed, Part, Request};

use crate::exact;

/// Input: the header's length, the header, and a scatter's data.
pub fn message(input: &[u8]) {
    let Some((&len, rest)) = input.split_first() else { return };
    let (header, data) = rest.split_at(rest.len().min(len.into()));
    let (header, data) = (exact(header), exact(data));
    let count = match Request::read(&header) {
        Ok(request) => {
            let mut buffer = Request::BUFFER;
            let written = request.header(&mut buffer);
            let mut read = header[..written.len()].to_vec();
            read[12] &= 1;
            read[13..16].fill(0);
            assert_eq!(written, read);
            match request.operation {
                rdmo_protocol::data::Operation::Scatter { count } => count,
                _ => return,
            }
        }
        Err(Malformed::Part { .. } | Malformed::LongPart(_)) => panic!("that is of parts"),
        Err(_) => return,
    };
    match Part::read_all(count, &data) {
        Ok(parts) => {
            assert_eq!(parts.len() as u64, count);
            let mut written = Vec::with_capacity(data.len());
            parts.iter().for_each(|part| part.write(&mut written).expect("it was read"));
            assert_eq!(Part::read_all(count, &written), Ok(parts));
        }
        // The parts before it are readable.
        Err(Malformed::Part { part, count: of }) => {
            assert!(of == count && part < count);
            if count <= (data.len() / 24) as u64 {
                assert!(Part::read_all(part, &data).is_ok());
            }
        }
        Err(other) => panic!("{other}"),
    }
}
