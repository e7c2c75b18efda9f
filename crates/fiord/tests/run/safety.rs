//! Tests of unintended writes: to system files, through planted links, to files of other users. They run in a
//! sandbox with a private `/etc`.

use std::os::unix::fs::OpenOptionsExt;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::fiord::{Place, Ran};
use crate::ground::Loop;

/// Contents of `/etc/passwd` in the sandbox.
const PASSWD: &str = "root:x:0:0::/root:/bin/sh\n";

/// A sandbox with system files, and many paths that lead to them.
fn system() -> Option<Place> {
    let place = Place::confined(&["/etc", "/tmp"])?;
    let ran = place.script(&format!(
        "chmod 1777 /tmp && mkdir /etc/sub whole part &&
         printf '{PASSWD}' >/etc/passwd && cp /etc/passwd /etc/sub/passwd &&
         ln -s /etc etc && ln -s etc/passwd link && ln -s /etc/new dangling && : >one &&
         mount --bind /etc whole && mount --bind /etc/sub part && mount --bind /etc/passwd one"
    ));
    assert_eq!(ran.status, Some(0), "{ran:?}");
    Some(place)
}

/// Requires that `/etc` is unchanged.
#[track_caller]
fn untouched(place: &Place, line: &str) {
    let all = place.script("cd /etc && ls -R && cat passwd sub/passwd").out;
    assert_eq!(all, format!(".:\npasswd\nsub\n\n./sub:\npasswd\n{PASSWD}{PASSWD}"), "{line}");
}

#[track_caller]
fn refused(place: &Place, line: &str) -> Ran {
    let ran = place.run(&format!("--name=a {line}"));
    assert_ne!(ran.status, Some(0), "{line}: {ran:?}");
    assert!(ran.err.contains("To fix:") && !ran.err.contains("panicked"), "{line}: {ran:?}");
    ran
}

#[test]
fn no_spelling_leads_to_a_file_of_the_system() {
    let Some(place) = system() else { return };
    let up = "../".repeat(place.path("").components().count());
    for path in [
        "/etc/passwd",
        "/etc/../etc/./passwd",
        "//etc//passwd",
        &format!("{up}etc/passwd"),
        "etc/passwd",
        "link",
        "/proc/self/root/etc/passwd",
        "/proc/self/cwd/link",
        "whole/passwd",
        "part/passwd",
        "one",
        "/etc/new",
        "/etc/new/deep/f",
        "dangling",
        "etc/new",
        "whole/new",
        "part/new",
        "/bin/fiord-test",
        "/dev/sdaa",
    ] {
        for rw in ["--rw=read --size=8k", "--rw=write --size=4k", "--rw=randrw --size=4k"] {
            let ran = refused(&place, &format!("{rw} --bs=512 --filename={path}"));
            let said = ran.err.contains("system directory") || ran.err.contains("no device");
            assert!(said, "{path}: {}", ran.err);
            untouched(&place, path);
        }
    }
    assert_eq!(place.script("ls /dev/sdaa /bin/fiord-test 2>/dev/null").out, "");
}

#[test]
fn no_option_leads_to_a_file_of_the_system() {
    let Some(place) = system() else { return };
    for line in [
        "--rw=read --size=8k --directory=/etc",
        "--rw=write --size=8k --directory=etc --nrfiles=4",
        "--rw=write --size=8k --directory=whole --filename_format=x.$filenum",
        "--rw=write --size=8k --directory=/etc --filename=passwd",
        "--rw=write --opendir=/etc",
        "--rw=read --opendir=/etc --size=1m",
        "--rw=read --bs=1 --opendir=/etc --unlink=1",
        "--rw=read --bs=1 --filename=link:etc/passwd --unlink=1",
        "--rw=read --bs=1 --filename=etc/passwd --unlink_each_loop=1 --loops=2",
        "--rw=read --size=8k --filename=link --create_only=1",
        "--rw=write --size=8k --filename=link --create_only=1",
        "--rw=write --size=8k --filename=link --create_on_open=1",
        "--rw=write --size=8k --filename=link --create_serialize=0",
        "--rw=write --size=8k --filename=link --overwrite=1",
        "--rw=write --size=8k --filename=link --file_append=1",
        "--rw=write --size=8k --filename=link --fill_device=1",
        "--rw=write --size=8k --filename=link --ioengine=mmap",
        "--rw=write --size=8k --filename=link --ioengine=libaio --direct=1",
        "--rw=write --size=8k --filename=link --ioengine=io_uring",
        "--rw=write --size=8k --filename=link --fallocate=truncate",
        "--rw=write --size=8k --filename=link --fallocate=posix --numjobs=2",
        "--rw=read --size=8k --filename=link --pre_read=1",
        "--rw=read --size=8k --mem=mmap:link",
        "--rw=read --size=8k --mem=mmapshared:/etc/passwd",
        "--rw=read --size=8k --mem=mmaphuge:one",
        "--rw=read --size=8k --mem=mmap:/etc/new",
        "--rw=read --size=8k --mem=mmap:dangling",
        "--rw=read --size=8k --exec_prerun=true --aux-path=/etc",
        "--rw=read --size=8k --exec_prerun=true --aux-path=part",
    ] {
        refused(&place, line);
        untouched(&place, line);
    }
    let ran = place.run("--name=a --rw=trim --size=8k --filename=link");
    assert_eq!(ran.status, Some(1), "{ran:?}");
    let ran = place.run("sweep --dir=/etc/s --set iodepth=1 --name=a --rw=read --size=8k");
    assert_ne!(ran.status, Some(0), "{ran:?}");
    untouched(&place, "sweep");
}

#[test]
fn what_is_asked_for_is_done() {
    let Some(place) = system() else { return };
    let read = "--name=a --rw=read --bs=1 --filename=/etc/passwd";
    place.run(read).ok();
    place.run("--name=a --rw=read --bs=1 --opendir=/etc").ok();
    untouched(&place, read);
    place.run(&format!("{read} --output=/etc/report")).ok();
    assert!(place.script("cat /etc/report").out.contains("read: IOPS"));
    place.run("--name=a --rw=write --size=4k --filename=/etc/sub/f --allow_mounted_write=1").ok();
    assert_eq!(place.script("stat -c %s /etc/sub/f").out, "4096\n");
    place.run("--name=a --rw=read --size=8k --filename=/tmp/new/deep/f --unlink=1").ok();
    assert_eq!(place.script("ls -A /tmp/new/deep").out, "");
    place.run("--name=a --rw=read --size=8k --mem=mmap:/tmp/buffers --numjobs=3").ok();
    assert_eq!(place.script("ls /tmp").out, "new\n");
}

/// Reports, logs and pages never overwrite a device.
#[test]
fn outputs_do_not_overwrite_devices_and_files_in_use() {
    let place = Place::new();
    let Some(device) = Loop::new(&place, 4 << 20) else { return };
    // `O_EXCL`, with which file systems and other users hold a device.
    const EXCLUSIVE: i32 = 0o200;
    let device_path = device.path();
    std::fs::write(device_path, vec![7; 1 << 20]).unwrap();
    let held =
        std::fs::OpenOptions::new().read(true).custom_flags(EXCLUSIVE).open(device_path).unwrap();
    let run = "--name=a --ioengine=null --filename=x --size=64k --rw=read";
    for file in ["r.json", "s.json"] {
        place.run(&format!("{run} --output-format=json --output={file}")).ok();
    }
    // The image is a file that a device in use lies in.
    for path in [device_path, "image"] {
        for line in [
            format!("{run} --output={path}"),
            format!("{run} --html={path}"),
            format!("{run} --series={path} --series-format=csv"),
            format!("{run} --write_iolog={path}"),
            format!("compare r.json s.json --output={path}"),
            format!("report r.json --output={path}"),
        ] {
            let ran = place.run(&line);
            assert_ne!(ran.status, Some(0), "{line}: {ran:?}");
            assert!(
                ran.err.contains("EBUSY") || ran.err.contains("would be overwritten"),
                "{line}: {}",
                ran.err
            );
            assert!(ran.err.contains("To fix: "), "{line}: {}", ran.err);
        }
    }
    drop(held);
    let data = std::fs::read(device_path).unwrap();
    assert!(data[..1 << 20].iter().all(|byte| *byte == 7));
}

/// Names may come from elsewhere: from a job file, or a report of another machine.
#[test]
fn names_do_not_control_the_terminal() {
    let place = Place::new();
    let name = "a\u{1b}[31m\u{9b}2Jb\u{202e}c";
    let run = |more: &[&str]| {
        let mut command = place.command("--ioengine=null --rw=read --size=64k");
        Ran::from(command.arg(format!("--name={name}")).args(more).output().unwrap()).ok()
    };
    let is_plain = |text: &str| !text.contains(['\u{1b}', '\u{9b}', '\u{202e}']);
    for format in ["normal", "terse"] {
        let ran = run(&["--output-format", format]);
        assert!(is_plain(&ran.out) && ran.out.contains("a?[31m?2Jb?c"), "{}", ran.out);
    }
    // What a shell makes of the command line is the same job.
    let shown = run(&["--showcmd"]).out;
    assert!(is_plain(&shown), "{shown}");
    let words =
        Command::new("bash").args(["-c", &format!("printf '%s\\n' {shown}")]).output().unwrap();
    assert!(
        String::from_utf8_lossy(&words.stdout).contains(&format!("--name={name}\n")),
        "{words:?}"
    );
    for file in ["a.json", "b.json"] {
        run(&["--output-format=json", "--output", file]);
        // Programs get the name as it is.
        let text = std::fs::read_to_string(place.path(file)).unwrap();
        let report: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(report["jobs"][0]["jobname"], name);
    }
    for format in ["text", "markdown"] {
        let ran = place.run(&format!("compare a.json b.json --format={format}"));
        assert!(is_plain(&ran.out) && ran.out.contains("[31m?2Jb?c"), "{ran:?}");
    }
    let ran = run_failing(&place, name);
    assert!(is_plain(&ran.err) && ran.err.contains("bogus"), "{ran:?}");
}

fn run_failing(place: &Place, name: &str) -> Ran {
    let mut command = place.command("--ioengine=null --rw=bogus --size=64k");
    Ran::from(command.arg(format!("--name={name}")).output().unwrap())
}

#[test]
fn planted_links_are_not_followed() {
    let Some(place) = Place::confined(&["/tmp"]) else { return };
    place.write("victim", "mine");
    let victim = place.path("victim").display().to_string();
    place.script(&format!("chmod 1777 /tmp && ln -s {victim} /tmp/a.0.0"));
    let write = "--rw=write --size=8k --directory=/tmp";
    let ran = refused(&place, write);
    assert!(ran.err.contains("symbolic link"), "{}", ran.err);
    refused(&place, "--rw=read --size=8k --directory=/tmp");
    place.script("rm /tmp/a.0.0 && ln -s nothing /tmp/a.0.0");
    refused(&place, write);
    place.script(&format!("rm /tmp/a.0.0 && ln -s {victim} /tmp/a.prerun.txt"));
    let prerun = "--name=a --size=4k --ioengine=null --exec_prerun=true --aux-path=/tmp";
    let ran = place.run(prerun);
    assert!(ran.status == Some(1) && ran.err.contains("symbolic link"), "{ran:?}");
    // Another user owns a file at the path that fiord generates: if fiord wrote to it, that user could read
    // the data.
    place.script("rm /tmp/a.* && : >/tmp/a.0.0 && chown 12345 /tmp/a.0.0 && chmod 666 /tmp/a.0.0");
    let ran = refused(&place, write);
    assert!(ran.err.contains("belongs to the user 12345"), "{}", ran.err);
    assert_eq!(place.script("stat -c %s /tmp/a.0.0").out, "0\n");
    assert_eq!(std::fs::read_to_string(place.path("victim")).unwrap(), "mine");
    place.script("rm /tmp/a.0.0");
    place.run(&format!("--name=a {write}")).ok();
    place.run(&format!("--name=a {write}")).ok();
    place.run(prerun).ok();
    place.run(prerun).ok();
}

#[test]
fn made_up_names_of_devices_lead_through_links_of_the_system() {
    let Some(place) = Place::confined(&["/dev"]) else { return };
    place.write("mine", "");
    place.script(&format!(
        "mknod /dev/sink c 1 5 && ln -s sink /dev/a.0.0 && ln -s {}/mine /dev/b.0.0",
        place.path("").display()
    ));
    place.run("--name=a --rw=write --size=8k --directory=/dev").ok();
    let ran = place.run("--name=b --rw=write --size=8k --directory=/dev");
    assert!(ran.status == Some(1) && ran.err.contains("symbolic link"), "{ran:?}");
    assert_eq!(std::fs::read(place.path("mine")).unwrap(), b"");
}

/// A program swaps links and directories as fast as possible while jobs open their files.
#[test]
fn races_are_lost_by_those_who_run_them() {
    let Some(place) = system() else { return };
    place.script("mkdir mine && : >mine/passwd && mkdir turn");
    let mut swapping = place.program_in(&place.path(""), "/bin/sh");
    swapping.args([
        "-c",
        "while [ -d turn ]; do
             ln -sfn mine d; ln -sfn mine/passwd f; ln -sfn mine/fresh a.0.0
             ln -sfn /etc d; ln -sfn /etc/passwd f; rm a.0.0; ln -sfn /etc/fresh a.0.0
         done",
    ]);
    let mut swapping = swapping.spawn().unwrap();
    let from = Instant::now();
    let mut reached = 0;
    while from.elapsed() < Duration::from_millis(1500) {
        for line in [
            "--rw=write --size=4k --filename=d/passwd",
            "--rw=write --size=4k --filename=f --create_on_open=1",
            "--rw=read --size=4k --filename=d/passwd:d/fresh --unlink=1",
            "--rw=write --size=4k --nrfiles=1",
        ] {
            reached += u32::from(place.run(&format!("--name=a {line}")).status == Some(0));
        }
    }
    place.script("rmdir turn");
    swapping.wait().unwrap();
    println!("{reached} jobs found files of their own");
    untouched(&place, "a race");
}

fn extended(document: &Value, findings: &Value) -> Vec<String> {
    let found = findings.as_array().unwrap_or_else(|| panic!("{document}"));
    let id = |finding: &&Value| finding["id"] == "file-extended";
    let text = |finding: &Value| finding["evidence"].as_str().unwrap().to_owned();
    found.iter().filter(id).map(text).collect()
}

#[test]
fn a_read_job_says_what_it_adds_to_a_file_of_another() {
    let place = Place::new();
    place.write("notes", "mine\n");
    let line = "--name=a --rw=read --size=8k --filename=notes";
    let ran = place.run(&format!("{line} --readonly"));
    assert_eq!((ran.status, std::fs::read(place.path("notes")).unwrap().len()), (Some(1), 5));
    let document = place.run(&format!("check --format=json {line}")).json();
    let expected = ["8187 bytes are added to notes"];
    assert_eq!(extended(&document, &document["findings"]), expected);
    let ran = place.run(&format!("{line} --output-format=json")).ok();
    assert_eq!(ran.err, "");
    let document = ran.json();
    assert_eq!(extended(&document, &document["fiord"]["findings"]), expected);
    assert_eq!(std::fs::read(place.path("notes")).unwrap().len(), 8192);
    // A file that fiord created may be extended, whatever its name is.
    for line in ["--filename=own", "", "--filename=a.0.0"] {
        for size in ["4k", "8k", "16k"] {
            let line = format!("--name=a --rw=read --size={size} {line} --output-format=json");
            let document = place.run(&line).ok().json();
            let entries = extended(&document, &document["fiord"]["findings"]);
            assert!(entries.is_empty(), "{line}: {entries:?}");
        }
    }
}

/// Only the guard creates, truncates, renames or removes files.
#[test]
fn every_write_goes_through_the_guard() {
    const WORDS: [&str; 11] = [
        "File::create",
        "fs::write(",
        "OpenOptions",
        "O_CREAT",
        "create_dir",
        "fs::rename",
        "fs::copy",
        "fs::remove",
        "remove_file(",
        "O_TRUNC",
        "libc::unlink",
    ];
    // Control files of the kernel: a scheduler, a control group. The flags of `open` themselves. Files on a server.
    const OTHERS: [&str; 5] = [
        "sys/src/block.rs",
        "sys/src/cgroup.rs",
        "sys/src/file/guard.rs",
        "sys/src/file/open.rs",
        "engine/src/nfs/session.rs",
    ];
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut directories = vec![crates.to_path_buf()];
    let mut found = Vec::new();
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(crates).unwrap().display().to_string();
            let test =
                ["tests", "fixture", "scratch", "examples"].iter().any(|part| name.contains(part));
            if path.is_dir() && !test && !path.join("CACHEDIR.TAG").exists() {
                directories.push(path);
            } else if name.ends_with(".rs") && !test && !OTHERS.contains(&name.as_str()) {
                let text = std::fs::read_to_string(&path).unwrap();
                let tests = ["#[cfg(test)]", "#[cfg(all(test"];
                let end = tests.iter().filter_map(|mark| text.find(mark)).min();
                let code = &text[..end.unwrap_or(text.len())];
                let words = WORDS.iter().filter(|word| code.contains(**word));
                found.extend(words.map(|word| format!("{name}: {word}")));
            }
        }
    }
    assert!(found.is_empty(), "use fiord_sys::file::FileGuard instead: {found:#?}");
}
