//! Places from which plugins are loaded, and those from which they are not.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, chown, symlink};

use rustix::fs::XattrFlags;

use super::*;

/// A directory that nobody else gets into, below which a test changes modes.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        // Where temporary files lie may itself be behind a link.
        self.0.path().canonicalize().unwrap().join(name)
    }

    fn directory(&self, name: &str, mode: u32) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(&path).unwrap();
        self.set(name, mode);
        path
    }

    fn file(&self, name: &str, mode: u32) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, "").unwrap();
        self.set(name, mode);
        path
    }

    fn set(&self, name: &str, mode: u32) {
        fs::set_permissions(self.path(name), Permissions::from_mode(mode)).unwrap();
    }
}

fn truster(user: u32, group: u32, owners: Vec<u32>) -> Truster {
    Truster {
        user,
        group,
        owners,
        unmapped: 65_534,
        is_root_unmapped: false,
        are_all_mapped: false,
    }
}

fn refused(path: &Path) -> String {
    check(path).unwrap_err().to_string()
}

#[test]
fn what_only_root_and_the_user_may_write_is_trusted() {
    let place = Place::new();
    for mode in [0o755, 0o700, 0o555, 0o1755, 0o2755] {
        check(&place.directory("a", mode)).unwrap();
    }
    for mode in [0o755, 0o644, 0o600, 0o400] {
        check(&place.file("a/file.so", mode)).unwrap();
        place.set("a", 0o755);
    }
    check(Path::new("/usr/lib")).unwrap();
    check(Path::new("/")).unwrap();
}

#[test]
fn a_directory_that_others_may_write_to_is_refused_and_named() {
    let place = Place::new();
    for mode in [0o777, 0o757, 0o702, 0o1777] {
        let path = place.directory("open", mode);
        let text = refused(&path);
        assert!(
            text.contains(path.to_str().unwrap()) && text.contains(&format!("{mode:04o}")),
            "{text}"
        );
        assert_eq!(text.contains("chmod go-w"), mode & STICKY == 0, "{text}");
    }
}

#[test]
fn so_is_one_that_a_group_may_write_to_unless_it_is_the_users_own() {
    let metadata = fs::metadata(Place::new().directory("group", 0o770)).unwrap();
    // Judged without its owner, who runs this test.
    let group = metadata.gid();
    for (user, own, trusted) in [
        (group, group, group != 0),
        (group + 1, group, false),
        (group, group + 1, false),
        (0, 0, false),
    ] {
        let judge = truster(metadata.uid(), own, Vec::new());
        let is_own = truster(user, own, Vec::new()).is_own(group);
        assert_eq!(is_own, trusted, "user {user} of group {own}");
        if !judge.is_own(group) {
            assert!(judge.judge(Path::new("p"), &metadata, true).is_err());
        }
    }
}

/// An access control list as the kernel takes it: everybody as in 0755, and one user more with
/// these rights. The mask lets all of them write.
fn list_with_a_user(user: u32, rights: u16) -> Vec<u8> {
    const NOBODY: u32 = u32::MAX;
    // The owner, the user, the group, the most that those get who are named or of the group, and
    // everybody else.
    let entries = [
        (1u16, 7u16, NOBODY),
        (2, rights, user),
        (4, 5, NOBODY),
        (0x10, 7, NOBODY),
        (0x20, 5, NOBODY),
    ];
    let mut list = 2u32.to_le_bytes().to_vec();
    for (tag, rights, who) in entries {
        list.extend([tag, rights].into_iter().flat_map(u16::to_le_bytes).chain(who.to_le_bytes()));
    }
    list
}

#[test]
fn a_user_whom_an_access_list_lets_write_is_not_the_users_own_group() {
    let place = Place::new();
    let path = place.directory("listed", 0o755);
    // Root's own group counts as any other, so root takes one for this test.
    let group = if chown(&path, None, Some(12345)).is_ok() {
        12345
    } else {
        fs::metadata(&path).unwrap().gid()
    };
    let judge = truster(group, group, Vec::new());
    let do_others_write = || judge.do_others_write(&path, &fs::metadata(&path).unwrap()).unwrap();
    place.set("listed", 0o775);
    assert!(!do_others_write(), "its own group");
    place.set("listed", 0o755);
    let set = |rights| {
        rustix::fs::setxattr(
            &path,
            ACCESS_LIST,
            &list_with_a_user(54321, rights),
            XattrFlags::empty(),
        )
    };
    if let Err(error) = set(7) {
        assert_eq!(error, Errno::OPNOTSUPP);
        assert!(std::env::var_os("CI").is_none(), "CI's machine can run everything");
        eprintln!("left out: {} is on a file system without access control lists", path.display());
        return;
    }
    assert_eq!(
        fs::metadata(&path).unwrap().mode() & 0o777,
        0o775,
        "what the list grants shows as the group's"
    );
    assert!(do_others_write());
    set(5).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o775, "the mask shows");
    assert!(!do_others_write(), "the user may read");
    set(7).unwrap();
    // What the message asks for.
    place.set("listed", 0o755);
    assert!(!do_others_write());
}

#[test]
fn a_file_that_others_may_write_to_is_refused() {
    let place = Place::new();
    for mode in [0o666, 0o646, 0o757] {
        let path = place.file("open.so", mode);
        assert!(refused(&path).contains("open.so"), "{mode:o}");
    }
}

#[test]
fn a_directory_further_up_counts_and_the_sticky_bit_makes_it_passable() {
    let place = Place::new();
    let below = place.directory("up/below", 0o755);
    let file = place.file("up/below/file.so", 0o644);
    let single = place.file("up/single.so", 0o644);
    for (mode, trusted) in [(0o755, true), (0o777, false), (0o1777, true)] {
        place.set("up", mode);
        for path in [&below, &file, &single] {
            assert_eq!(check(path).is_ok(), trusted, "{mode:o}");
        }
    }
}

#[test]
fn links_count_as_what_they_lead_through() {
    let place = Place::new();
    let (good, open) = (place.directory("good", 0o755), place.directory("open", 0o777));
    place.file("good/file.so", 0o644);
    symlink(&good, place.path("link")).unwrap();
    check(&place.path("link/file.so")).unwrap();
    // A good place by way of a link that others may replace, and the other way round.
    symlink(&good, open.join("link")).unwrap();
    assert!(refused(&open.join("link/file.so")).contains("open"));
    symlink("../open", good.join("link")).unwrap();
    assert!(refused(&good.join("link")).contains("open"));
    // By way of one and out of it again.
    assert!(refused(&open.join("../good/file.so")).contains("open"));
    // Up to what was only on the way.
    place.directory("sticky", 0o1777);
    let inside = place.directory("sticky/inside", 0o755);
    check(&inside).unwrap();
    symlink("..", inside.join("up")).unwrap();
    assert!(refused(&inside.join("up")).contains("sticky"));
}

#[test]
fn links_that_lead_nowhere_or_in_circles_are_errors() {
    let place = Place::new();
    symlink("round", place.path("round")).unwrap();
    assert!(matches!(check(&place.path("round")), Err(Distrust::Io(_))));
    symlink("missing", place.path("dangling")).unwrap();
    assert!(refused(&place.path("dangling")).contains("No such file"));
}

#[test]
fn what_belongs_to_somebody_else_is_refused_and_both_users_named() {
    let place = Place::new();
    let path = place.directory("theirs", 0o755);
    let metadata = fs::metadata(&path).unwrap();
    let other = truster(metadata.uid() + 1, 0, Vec::new());
    if metadata.uid() != 0 {
        let text = other.judge_owner(&path, &metadata).unwrap_err().to_string();
        assert!(text.contains(&format!("user {}", metadata.uid())), "{text}");
    }
    // Only root can give things away.
    if chown(&path, Some(12345), None).is_ok() {
        let text = refused(&path);
        assert!(text.contains("user 12345") && text.contains("(0)"), "{text}");
        assert!(refused(&path.join("../theirs")).contains("12345"));
    }
}

#[test]
fn who_owns_the_way_to_the_program_is_trusted_with_plugins() {
    let place = Place::new();
    let program = place.file("program", 0o755);
    let path = place.directory("theirs", 0o755);
    let metadata = fs::metadata(&path).unwrap();
    let other = |owners| truster(metadata.uid() + 1, 0, owners);
    other(owners(&program)).judge_owner(&path, &metadata).unwrap();
    if metadata.uid() != 0 {
        other(owners(Path::new("/proc"))).judge_owner(&path, &metadata).unwrap_err();
    }
    if chown(&path, Some(12345), None).is_ok() {
        let text = refused(&path);
        assert!(text.contains("--user 12345"), "{text}");
        let above = place.directory("above", 0o755);
        let program = place.file("above/program", 0o755);
        chown(&above, Some(12345), None).unwrap();
        let judge = truster(0, 0, owners(&program));
        judge.walk(&path, true, &mut 0).unwrap();
    }
}

#[test]
fn the_number_of_unmapped_users_is_roots_in_a_namespace_that_does_not_map_root() {
    let place = Place::new();
    let path = place.directory("theirs", 0o755);
    let metadata = fs::metadata(&path).unwrap();
    let judge = |is_root_unmapped| Truster {
        unmapped: metadata.uid(),
        is_root_unmapped,
        ..truster(metadata.uid() + 1, 0, Vec::new())
    };
    judge(true).judge(&path, &metadata, true).unwrap();
    if metadata.uid() != 0 {
        let text = judge(false).judge(&path, &metadata, true).unwrap_err().to_string();
        assert!(text.contains("user namespace") && !text.contains("chown"), "{text}");
        // Where all are mapped, the number is that of a user.
        let all = Truster { are_all_mapped: true, ..judge(false) };
        let text = all.judge(&path, &metadata, true).unwrap_err().to_string();
        assert!(!text.contains("namespace") && text.contains("run the service as"), "{text}");
    }
    place.set("theirs", 0o757);
    let writable = fs::metadata(&path).unwrap();
    judge(true).judge(&path, &writable, true).unwrap_err();
    for (map, root) in [
        ("         0          0 4294967295\n", true),
        ("1000 1000 1\n", false),
        ("0 1000 1\n1 100000 65536\n", false),
        ("0 100000 65536\n65536 0 1\n", true),
        ("", false),
    ] {
        assert_eq!(maps_root(map), root, "{map:?}");
        assert_eq!(maps_all(map), map.contains("4294967295"), "{map:?}");
    }
}

#[test]
fn nobody_is_told_to_take_a_right_from_a_directory_that_is_everybodys() {
    assert!(remedy_of(0o0777).contains("chmod go-w"));
    assert!(!remedy_of(0o1777).contains("chmod"));
}
