//! Engines whose library is not installed: the job fails with an error that names the package, and the other jobs run.

use std::time::Duration;

use crate::fiord::{Place, end, work};

/// Engines, the libraries that they load, and the packages that the messages name.
const ENGINES: &[(&str, &str, &str)] = &[
    ("--ioengine=nfs --nfs_url=nfs://127.0.0.1/x", "libnfs", "libnfs"),
    ("--ioengine=libiscsi --filename=iscsi\\://127.0.0.1/x/1", "libiscsi", "libiscsi"),
    ("--ioengine=rados --pool=x", "librados", "librados2"),
    ("--ioengine=rbd --pool=x --rbdname=x", "librbd", "librbd1"),
    ("--ioengine=gfapi --volume=x --brick=127.0.0.1", "libgfapi", "libgfapi0"),
    ("--ioengine=gfapi_async --volume=x --brick=127.0.0.1", "libgfapi", "libgfapi0"),
];

/// Replaces the directories of libraries by ones with links to all libraries but those of the engines.
const HIDE: &str = r#"
set -e
for libraries in /usr/lib/*-linux-gnu /usr/lib64 /lib64; do
  if [ ! -d "$libraries" ] || [ -L "$libraries" ]; then continue; fi
  name=$(echo "$libraries" | tr / +)
  mkdir "real$name" "links$name"
  mount --bind "$libraries" "real$name"
  for path in "$PWD/real$name"/*; do
    case "${path##*/}" in
      libnfs.so*|libiscsi.so*|librados.so*|librbd.so*|libgfapi.so*) ;;
      *) ln -s "$path" "links$name/${path##*/}" ;;
    esac
  done
done
for links in links*; do mount --bind "$links" "$(echo "${links#links}" | tr + /)"; done
"#;

/// Checks that an error names the library and its package.
#[track_caller]
fn names_the_package(text: &str, (engine, library, package): (&str, &str, &str)) {
    let parts = [
        format!("the library {library}.so"),
        "cannot open shared object file".to_owned(),
        format!("To fix: install the package `{package}"),
    ];
    assert!(parts.iter().all(|part| text.contains(part)), "{engine}: {text}");
}

/// Runs a job that must fail because of a library, beside another one.
#[track_caller]
fn fails_alone(place: &Place, engine: (&str, &str, &str)) {
    // Without `size`, and with options that depend on the size of the target.
    let job = format!("--name=j {} --rw=randwrite --bs=4k --offset=50% --verify=crc32c", engine.0);
    let other = "--name=other --ioengine=null --rw=read --bs=4k --size=4m";
    let ran = place.run(&format!("--output-format=json {job} {other}"));
    assert_eq!(ran.status, Some(1), "{engine:?}: {ran:?}");
    names_the_package(&ran.err, engine);
    let jobs = work(&ran.json());
    assert!(jobs[0].1 != 0 && jobs[0].2.iter().all(|dir| dir.1 == 0), "{engine:?}: {jobs:?}");
    assert_eq!((jobs[1].1, jobs[1].2[0].1), (0, 1024), "{engine:?}: {jobs:?}");
    // A job that waits for the first one runs if its options do not say otherwise.
    let after = format!("{job} {other} --stonewall --output-format=json");
    assert_eq!(work(&place.run(&after).json())[1].2[0].1, 1024, "{engine:?}");
    let long = "--size=1g --time_based --runtime=300";
    let ended =
        place.start(&format!("{job} --exitall_on_error {other} {long} --output-format=json"));
    assert_eq!(end(ended, Duration::from_secs(60)).status, Some(1), "{engine:?}");
}

/// Checks that `fiord check` and `--parse-only` report the library without running anything.
#[track_caller]
fn is_reported_by_check(place: &Place, engine: (&str, &str, &str)) {
    let job = format!("--name=j {} --rw=read --bs=4k --size=64k", engine.0);
    for line in [format!("check {job}"), format!("--parse-only {job}")] {
        let ran = place.run(&line);
        assert_eq!((ran.status, ran.out.as_str()), (Some(1), ""), "{line}: {ran:?}");
        names_the_package(&ran.err, engine);
        assert!(ran.err.contains("job `j`"), "{line}: {}", ran.err);
    }
}

#[test]
fn a_missing_library_ends_its_job_only_and_the_error_names_its_package() {
    let Some(place) = Place::with_own_mounts() else { return };
    let hidden = place.script(HIDE);
    assert_eq!(hidden.status, Some(0), "{hidden:?}");
    for engine in ENGINES {
        fails_alone(&place, *engine);
        is_reported_by_check(&place, *engine);
    }
}
