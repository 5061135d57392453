//! The graph plugin's commands and notifications.
