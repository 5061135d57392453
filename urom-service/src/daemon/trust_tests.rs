//! Trusted and untrusted paths of plugins.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, chown, symlink};

use rustix::fs::XattrFlags;

use super::*;

struct Tree(tempfile::TempDir);

impl Tree {
    fn new() -> Tree {
        Tree(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        // The temporary directory may be behind a link.
        self.0.path().canonicalize().unwrap().join(name)
    }

    fn directory(&self, name: &str, mode: u32) -> PathBuf {
        fs::create_dir_all(self.path(name)).unwrap();
        self.set(name, mode)
    }

    fn file(&self, name: &str, mode: u32) -> PathBuf {
        fs::write(self.path(name), "").unwrap();
        self.set(name, mode)
    }

    fn set(&self, name: &str, mode: u32) -> PathBuf {
        fs::set_permissions(self.path(name), Permissions::from_mode(mode)).unwrap();
        self.path(name)
    }
}

fn truster(user: u32, group: u32, owners: Vec<u32>) -> Truster {
    Truster { user, group, owners, unmapped: None }
}

fn refused(path: &Path) -> String {
    check(path).unwrap_err().to_string()
}

#[test]
fn a_mode_that_lets_others_write_refuses_what_it_holds() {
    let tree = Tree::new();
    let directory = tree.directory("up/below", 0o755);
    let file = tree.file("up/below/file.so", 0o644);
    for (changed, mode, is_directory_good, is_file_good) in [
        ("up", 0o755, true, true),
        ("up", 0o777, false, false),
        // A sticky directory may be on the path, but may not contain plugins.
        ("up", 0o1777, true, true),
        ("up/below", 0o1777, false, true),
        ("up/below", 0o777, false, false),
        ("up/below", 0o757, false, false),
        ("up/below", 0o702, false, false),
        ("up/below", 0o700, true, true),
        ("up/below", 0o555, true, true),
        ("up/below", 0o1755, true, true),
        ("up/below", 0o2755, true, true),
        ("up/below/file.so", 0o666, true, false),
        ("up/below/file.so", 0o646, true, false),
        ("up/below/file.so", 0o400, true, true),
    ] {
        let before = fs::metadata(tree.path(changed)).unwrap().permissions();
        let target = tree.set(changed, mode);
        for (path, is_good) in [(&directory, is_directory_good), (&file, is_file_good)] {
            let result = check(path);
            assert_eq!(result.is_ok(), is_good, "{changed} {mode:o}: {result:?}");
            if let Err(error) = result {
                let text = error.to_string();
                let named = format!("{} (mode {mode:04o})", target.display());
                assert!(text.contains(&named), "{text}");
                assert_eq!(text.contains("chmod go-w"), mode & STICKY == 0, "{text}");
            }
        }
        fs::set_permissions(target, before).unwrap();
    }
    check(Path::new("/usr/lib")).unwrap();
    check(Path::new("/")).unwrap();
}

#[test]
fn a_group_that_may_write_is_the_users_own_and_not_root_s() {
    for (user, own, trusted) in [(7, 7, true), (8, 7, false), (7, 8, false)] {
        assert_eq!(truster(user, own, Vec::new()).is_own(7), trusted, "{user} of group {own}");
    }
    assert!(!truster(0, 0, Vec::new()).is_own(0));
    let metadata = fs::metadata(Tree::new().directory("group", 0o770)).unwrap();
    let other = truster(metadata.uid(), metadata.gid() + 1, vec![metadata.uid()]);
    assert!(other.judge(Path::new("p"), &metadata, true).is_err());
}

#[test]
fn a_user_whom_an_access_list_lets_write_is_not_the_users_own_group() {
    /// The kernel's format: version 2; tag, rights and id for owner, user, group, mask, others.
    const LIST: [(u16, u16, u32); 5] = [
        (1, 7, u32::MAX),
        (2, 7, 54321),
        (4, 5, u32::MAX),
        (0x10, 7, u32::MAX),
        (0x20, 5, u32::MAX),
    ];
    let tree = Tree::new();
    let path = tree.directory("listed", 0o775);
    // Root's own group gets no special treatment, so root takes another group for this test.
    let own = chown(&path, None, Some(12345)).map(|()| 12345);
    let group = own.unwrap_or_else(|_| fs::metadata(&path).unwrap().gid());
    let judge = truster(group, group, Vec::new());
    let do_others_write = || judge.do_others_write(&path, &fs::metadata(&path).unwrap()).unwrap();
    assert!(!do_others_write(), "its own group");
    let entries = LIST.iter().flat_map(|(tag, rights, who)| {
        [&tag.to_le_bytes()[..], &rights.to_le_bytes(), &who.to_le_bytes()].concat()
    });
    let list: Vec<u8> = 2_u32.to_le_bytes().into_iter().chain(entries).collect();
    if let Err(error) = rustix::fs::setxattr(&path, ACCESS_LIST, &list, XattrFlags::empty()) {
        assert_eq!(error, Errno::OPNOTSUPP);
        assert!(std::env::var_os("CI").is_none(), "CI's machine can run everything");
        eprintln!("left out: {} is on a file system without access control lists", path.display());
        return;
    }
    assert!(do_others_write());
    tree.set("listed", 0o755);
    assert!(!do_others_write());
}

#[test]
fn links_count_as_what_they_lead_through() {
    let tree = Tree::new();
    let (good, open) = (tree.directory("good", 0o755), tree.directory("open", 0o777));
    tree.file("good/file.so", 0o644);
    let inside = tree.directory("sticky/inside", 0o755);
    tree.directory("sticky", 0o1777);
    for (target, link) in [
        (good.as_path(), tree.path("link")),
        (&good, open.join("link")),
        (Path::new("../open"), good.join("link")),
        (Path::new(".."), inside.join("up")),
        (Path::new("round"), tree.path("round")),
        (Path::new("missing"), tree.path("dangling")),
    ] {
        symlink(target, link).unwrap();
    }
    check(&tree.path("link/file.so")).unwrap();
    check(&inside).unwrap();
    for (path, part) in [
        // A good path through a link that others may replace, and the reverse.
        ("open/link/file.so", "open"),
        ("good/link", "open"),
        ("open/../good/file.so", "open"),
        // Through a link to a directory that may only be on the path.
        ("sticky/inside/up", "sticky"),
        ("round", "Too many levels"),
        ("dangling", "No such file"),
    ] {
        let text = refused(&tree.path(path));
        assert!(text.contains(part), "{path}: {text}");
    }
}

#[test]
fn a_file_of_another_user_is_refused_unless_that_user_can_replace_the_program() {
    let tree = Tree::new();
    let program = tree.file("program", 0o755);
    let path = tree.directory("theirs", 0o755);
    let metadata = fs::metadata(&path).unwrap();
    let (owner, user) = (metadata.uid(), metadata.uid() + 1);
    let judge = |owners| truster(user, 0, owners).judge_owner(&path, &metadata);
    judge(owners(&program)).unwrap();
    let text = judge(vec![user]).unwrap_err().to_string();
    assert!(text.contains(&format!("`--user {owner}`")) && text.contains(&user.to_string()));
    if chown(&path, Some(12345), None).is_ok() {
        let text = refused(&path);
        assert!(text.contains("--user 12345") && text.contains("(0)"), "{text}");
        assert!(refused(&path.join("../theirs")).contains("12345"));
        let above = tree.directory("above", 0o755);
        let program = tree.file("above/program", 0o755);
        chown(&above, Some(12345), None).unwrap();
        truster(0, 0, owners(&program)).walk(&path, true, &mut 0).unwrap();
    }
}

#[test]
fn the_number_of_unmapped_users_is_root_s_in_a_namespace_that_does_not_map_root() {
    let metadata = fs::metadata(Tree::new().directory("theirs", 0o755)).unwrap();
    let owner = metadata.uid();
    let other = Truster { unmapped: Some(owner), ..truster(owner + 1, 0, vec![owner + 1]) };
    let text = other.judge_owner(Path::new("p"), &metadata).unwrap_err().to_string();
    assert!(text.contains("user namespace") && !text.contains("--user"), "{text}");
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
