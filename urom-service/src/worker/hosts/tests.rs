//! Hosts that leave answers unread.
