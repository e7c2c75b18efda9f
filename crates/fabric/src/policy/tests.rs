use std::fs;
use std::os::unix::fs::symlink;

use super::path::DeviceNumber;
use super::*;

/// A directory of this test, which is removed at its end.
struct Room(PathBuf);

impl Room {
    fn new(name: &str) -> Room {
        let path = std::env::temp_dir().join(format!("fiord-policy-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("data/sub")).unwrap();
        fs::create_dir_all(path.join("other")).unwrap();
        Room(path.canonicalize().unwrap())
    }

    fn join(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    /// A policy file, in which `@` is this directory.
    fn policy(&self, text: &str) -> HostPolicy {
        let text = text.replace('@', self.0.to_str().unwrap());
        HostPolicy::read(&text, Path::new("/etc/fiord.policy")).unwrap()
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn target(path: impl Into<PathBuf>, writes: bool) -> WishKind {
    WishKind::Target { path: path.into(), writes }
}

/// The message for a wish; `None` if it is granted.
fn refusal(policy: &HostPolicy, kind: WishKind) -> Option<String> {
    let wish = Wish { job: "j".into(), option: "filename".into(), kind };
    policy.check(&[wish]).first().map(ToString::to_string)
}

fn is_granted(policy: &HostPolicy, kind: WishKind) -> bool {
    refusal(policy, kind).is_none()
}

#[test]
fn a_server_allows_its_directory_only() {
    let room = Room::new("server");
    let policy = HostPolicy::server(&room.join("data"));
    assert!(is_granted(&policy, target(room.join("data/new/file"), true)));
    assert!(is_granted(&policy, target(room.join("data/../data/./sub"), true)));
    assert!(is_granted(&policy, WishKind::Output(room.join("data/log_bw.1.log"))));
    assert!(!is_granted(&policy, target(room.join("data2/file"), false)));
    assert!(!is_granted(&policy, target(room.join("data/../other/file"), false)));
    assert!(!is_granted(&policy, target("/dev/null", false)));
    assert!(!is_granted(&policy, WishKind::Input("/etc/passwd".into())));
    assert!(!is_granted(&policy, WishKind::Output(room.join("log"))));
    let others = [
        WishKind::Command("id".into()),
        WishKind::Library("/tmp/x.so".into()),
        WishKind::Variable("HOME".into()),
        WishKind::Network("a connection to 10.0.0.1".into()),
        WishKind::Setting("I/O scheduler of sda".into()),
    ];
    for other in others {
        assert!(!is_granted(&policy, other.clone()), "{other:?}");
        assert!(is_granted(&HostPolicy::unlimited(), other));
    }
    assert!(is_granted(&HostPolicy::unlimited(), target("/etc/passwd", true)));
}

#[test]
fn messages_say_what_the_operator_can_change() {
    let room = Room::new("messages");
    let server = HostPolicy::server(&room.join("data"));
    assert_eq!(
        refusal(&server, target("/etc/passwd", true)).unwrap(),
        "job `j`, option filename: the policy of this host does not allow the file /etc/passwd. To fix: change the job, \
         or let the operator of the host start the server with --policy=FILE, where FILE has the line `directory = /etc`"
    );
    let file = room.policy("read-only-directory = @/data");
    assert_eq!(
        refusal(&file, WishKind::Command("id".into())).unwrap(),
        "job `j`, option filename: the policy of this host does not allow the command `id`. To fix: change the job, or \
         let the operator of the host write `exec = yes` into /etc/fiord.policy"
    );
    let writes = refusal(&file, target(room.join("data/x"), true)).unwrap();
    assert!(writes.contains("forbids writes to") && writes.contains("`directory = "), "{writes}");
    assert!(is_granted(&file, target(room.join("data/x"), false)));
    let all = room.policy("directory = @/data\nread-only = yes");
    let writes = refusal(&all, target(room.join("data/x"), true)).unwrap();
    assert!(
        writes.contains("forbids all writes") && writes.contains("`read-only = no`"),
        "{writes}"
    );
}

#[test]
fn links_are_followed() {
    let room = Room::new("links");
    symlink("/etc", room.join("data/etc")).unwrap();
    symlink("../other/new", room.join("data/dangling")).unwrap();
    symlink("loop", room.join("data/loop")).unwrap();
    symlink("data", room.join("alias")).unwrap();
    let policy = room.policy("directory = @/alias");
    assert!(is_granted(&policy, target(room.join("alias/file"), true)));
    assert!(is_granted(&policy, target(room.join("data/file"), true)));
    let message = refusal(&policy, target(room.join("data/etc/passwd"), false)).unwrap();
    assert!(message.contains("data/etc/passwd (which is /etc/passwd)"), "{message}");
    assert!(!is_granted(&policy, target(room.join("data/dangling"), true)));
    let message = refusal(&policy, target(room.join("data/loop"), true)).unwrap();
    assert!(message.contains("too many symbolic links"), "{message}");
    let message = refusal(&policy, target(room.join("data/new/../../other/x"), true)).unwrap();
    assert!(message.contains("`..` after a directory that does not exist"), "{message}");
    assert!(!is_granted(&policy, target(room.join("data/sub/../../other/x"), true)));
    // A process can have any file open, also of another container.
    let message = refusal(&room.policy("directory = /"), target("/proc/self/root/x", false));
    assert!(message.unwrap().contains("a link below /proc"));
}

#[test]
fn devices_need_a_rule_of_their_own() {
    let room = Room::new("devices");
    let policy = room.policy("directory = /\nread-only-device = /dev/nul*\ndevice = @/zero");
    symlink("/dev/zero", room.join("zero")).unwrap();
    assert!(is_granted(&policy, target("/dev/null", false)));
    assert!(!is_granted(&policy, target("/dev/null", true)));
    assert!(is_granted(&policy, target("/dev/zero", true)));
    let message = refusal(&policy, target("/dev/full", true)).unwrap();
    assert!(message.contains("the device /dev/full") && message.contains("`device = /dev/full`"));
    assert!(!is_granted(&policy, WishKind::Output("/dev/null".into())));
    assert!(matches("nvme*n*", "nvme0n1") && matches("*", "sda") && !matches("sd*1", "sda2"));
}

#[test]
fn a_generic_device_is_judged_like_the_block_device_behind_it() {
    use fiord_sys::file::Device;
    let room = Room::new("generic");
    let node = |is_block, name: &str, minor| ResolvedPath {
        path: Path::new("/dev").join(name),
        device: Some(DeviceNumber { is_block, number: Device { major: 0xfff, minor } }),
    };
    let message = |policy: &HostPolicy, generic: &str, block: &str, writes| {
        let judged = policy.node_to_judge(node(true, block, 1), node(false, generic, 2));
        let refusal = policy.refuse_resolved(&Path::new("/dev").join(generic), &judged, writes);
        refusal.map(|refusal| format!("{}, {}", refusal.why, refusal.line.unwrap()))
    };
    let policy = room.policy(
        "device = /dev/fiord-d*\nread-only-device = /dev/fiord-r*\ndevice = /dev/fiord-sg*",
    );
    assert_eq!(message(&policy, "fiord-g1", "fiord-disk", true), None);
    // A rule for the disk also decides if another one permits more on the generic device.
    assert_eq!(message(&policy, "fiord-sg1", "fiord-read", false), None);
    let writes = message(&policy, "fiord-sg1", "fiord-read", true).unwrap();
    assert!(writes.contains("forbids writes to /dev/fiord-sg1 (which is /dev/fiord-read)"));
    // A rule for the generic device does not need one for the disk.
    assert_eq!(message(&policy, "fiord-sg1", "fiord-other", true), None);
    let missing = message(&policy, "fiord-g1", "fiord-other", true).unwrap();
    assert!(
        missing.ends_with(
            "device /dev/fiord-g1 (which is /dev/fiord-other), device = /dev/fiord-other"
        )
    );
    assert!(message(&room.policy("directory = /"), "fiord-g1", "fiord-disk", false).is_some());
}

#[test]
fn other_rules() {
    let room = Room::new("other");
    let policy = room.policy(
        "# comment\nlog-directory = @/other\nread-only = yes\ndirectory=@/data\nexec = yes\nnetwork = yes\n\
         settings = yes\nlibrary = @/data/x.so\nvariable = DISK\n",
    );
    assert!(is_granted(&policy, WishKind::Output(room.join("other/log"))));
    assert!(!is_granted(&policy, WishKind::Output(room.join("data/log"))));
    assert!(!is_granted(&policy, WishKind::Input(room.join("other/log"))));
    let library = |path: &str| WishKind::Library(room.join(path).display().to_string());
    assert!(
        is_granted(&policy, library("data/sub/../x.so")) && !is_granted(&policy, library("y.so"))
    );
    assert!(!is_granted(&policy, WishKind::Library("x.so".into())));
    assert!(is_granted(&policy, WishKind::Variable("DISK".into())));
    assert!(!is_granted(&policy, WishKind::Variable("HOME".into())));
    assert!(is_granted(&policy, WishKind::Command("id".into())));
    assert!(is_granted(&policy, WishKind::Network("a listening port".into())));
    assert!(is_granted(&policy, WishKind::Setting("I/O scheduler of sda".into())));
}

#[test]
fn wrong_lines_are_refused() {
    let error = |text| HostPolicy::read(text, Path::new("p")).unwrap_err().to_string();
    assert_eq!(error("\nexec = maybe"), "p, line 2: the value of `exec` must be `yes` or `no`");
    assert_eq!(error("directory = data"), "p, line 1: `data` is not an absolute path");
    assert!(error("directoy = /x").starts_with("p, line 1: unknown key `directoy`; the keys are"));
    assert!(error("exec").contains("KEY = VALUE"));
    assert!(error("variable =").contains("needs a value"));
    assert!(error("device = /dev/*/x").contains("only the last part"));
}
