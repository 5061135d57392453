//! Key files, and derived secrets.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;

use rustix::fs::Mode;

use super::*;

fn file(directory: &tempfile::TempDir, name: &str, bytes: &[u8], mode: u32) -> PathBuf {
    let path = directory.path().join(name);
    fs::write(&path, bytes).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    path
}

fn refusal(path: &Path) -> String {
    let text = Key::read(path).unwrap_err().to_string();
    assert!(text.starts_with(&format!("the key file {} ", path.display())), "{text}");
    text
}

#[test]
fn a_file_of_mode_0600_is_a_key_from_the_shortest_to_the_longest() {
    let directory = tempfile::tempdir().unwrap();
    for len in [MIN_KEY, MIN_KEY + 1, 64, MAX_KEY] {
        let path = file(&directory, "key", &vec![7; len], 0o600);
        assert_eq!(Key::read(&path).unwrap().bytes.len(), len);
    }
}

#[test]
fn any_other_mode_is_refused_and_named() {
    let directory = tempfile::tempdir().unwrap();
    for mode in [
        0o640, 0o604, 0o620, 0o602, 0o610, 0o601, 0o644, 0o666, 0o777, 0o700, 0o400, 0o4600, 0o1600,
    ] {
        let path = file(&directory, "key", &[7; 32], mode);
        // A user without access, who is not root, gets the system's error.
        let text = refusal(&path);
        assert!(text.contains(&format!("{mode:04o}")) && text.contains("chmod 600"), "{text}");
    }
}

#[test]
fn a_file_of_somebody_else_is_refused_and_both_users_named() {
    let text = check_access(1000, 1001, 0o600).unwrap_err().to_string();
    assert!(text.contains("user 1000") && text.contains("user 1001"), "{text}");
    // Root can read every file, but does not accept every file.
    assert!(matches!(
        check_access(1000, 0, 0o600),
        Err(KeyProblem::Owner { owner: 1000, user: 0 })
    ));
    assert!(check_access(0, 0, 0o600).is_ok());
}

#[test]
fn root_refuses_a_key_that_was_given_away() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(&directory, "key", &[7; 32], 0o600);
    if std::os::unix::fs::chown(&path, Some(12345), None).is_err() {
        // Only root can give files away.
        assert!(Key::read(&path).is_ok());
        return;
    }
    assert!(refusal(&path).contains("user 12345"));
}

#[test]
fn a_length_that_no_key_has_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    for len in [0, 1, MIN_KEY - 1] {
        let text = refusal(&file(&directory, "key", &vec![7; len], 0o600));
        assert!(
            text.contains(&format!("has {len} bytes")) && text.contains("/dev/urandom"),
            "{text}"
        );
    }
    let text = refusal(&file(&directory, "key", &vec![7; MAX_KEY + 1], 0o600));
    assert!(text.contains("4096"), "{text}");
    let path = file(&directory, "key", b"", 0o600);
    fs::File::options().write(true).open(&path).unwrap().set_len(1 << 40).unwrap();
    assert!(matches!(Key::read(&path).unwrap_err().problem(), KeyProblem::Long));
}

#[test]
fn a_key_that_is_no_file_is_refused_without_blocking() {
    let directory = tempfile::tempdir().unwrap();
    let key = file(&directory, "key", &[7; 32], 0o600);
    let at = |name: &str| directory.path().join(name);
    assert!(refusal(directory.path()).contains("not a regular file"));
    symlink(&key, at("link")).unwrap();
    assert!(refusal(&at("link")).contains("symbolic link"));
    symlink(at("nowhere"), at("dangling")).unwrap();
    assert!(refusal(&at("dangling")).contains("symbolic link"));
    rustix::fs::mknodat(
        rustix::fs::CWD,
        at("pipe"),
        rustix::fs::FileType::Fifo,
        Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    assert!(refusal(&at("pipe")).contains("not a regular file"));
    let _socket = UnixListener::bind(at("socket")).unwrap();
    assert!(refusal(&at("socket")).contains("not a regular file"));
    assert!(refusal(Path::new("/dev/zero")).contains("not a regular file"));
    assert!(refusal(&at("missing")).contains("cannot be read"));
    assert!(refusal(&key.join("below")).contains("cannot be read"));
}

#[test]
fn every_kind_of_stream_has_a_secret_of_its_own() {
    let key = |byte| Key { bytes: Arc::from([byte; 32]) };
    let secrets = [
        key(1).daemon_secret(),
        key(1).worker_secret(0),
        key(1).worker_secret(1),
        key(2).daemon_secret(),
        key(2).worker_secret(0),
    ];
    for (at, one) in secrets.iter().enumerate() {
        assert!(!secrets[at + 1..].contains(one));
    }
    assert!(key(1).daemon_secret() == key(1).daemon_secret());
    assert!(key(1).worker_secret(1) == key(1).worker_secret(1), "of this id's next worker too");
    assert!(Key::random().unwrap().daemon_secret() != Key::random().unwrap().daemon_secret());
}

#[test]
fn nothing_shows_a_key() {
    let key = Key { bytes: Arc::from([0xab; 32]) };
    assert_eq!(format!("{key:?} {:?}", key.daemon_secret()), "Key(..) Secret(..)");
}

#[test]
fn a_proof_is_hmac_sha_256() {
    // RFC 4231, test case 6: a key longer than a block.
    let expected = "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54";
    let tag = mac(&[0xaa; 131], &[b"Test Using Larger Than Block-Size Key - ", b"Hash Key First"]);
    let tag: String = tag.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(tag, expected);
}
