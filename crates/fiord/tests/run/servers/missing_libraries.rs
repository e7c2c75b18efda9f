//! Engines whose library is not installed: the error names the package, before any job of the command begins.

use crate::fiord::Place;

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

/// Runs a job that must be refused because of a library, beside another one.
#[track_caller]
fn is_refused(place: &Place, (engine, library, package): (&str, &str, &str)) {
    let other = "--name=other --ioengine=null --rw=read --bs=4k --size=4m";
    let ran = place.run(&format!("--name=j {engine} --rw=read --bs=4k --size=64k {other}"));
    assert_eq!(ran.status, Some(1), "{engine}: {ran:?}");
    let texts = [
        format!("the library {library}.so"),
        "cannot open shared object file".to_owned(),
        format!("To fix: install the package `{package}"),
    ];
    assert!(texts.iter().all(|text| ran.err.contains(text)), "{engine}: {}", ran.err);
    // The error is known before the run, so no job begins.
    assert!(ran.out.is_empty() && ran.err.contains("job `j`"), "{engine}: {ran:?}");
    // The other job runs by itself.
    place.run(other).ok();
}

#[test]
fn a_missing_library_is_a_clear_error_that_names_its_package() {
    let Some(place) = Place::with_own_mounts() else { return };
    let hidden = place.script(HIDE);
    assert_eq!(hidden.status, Some(0), "{hidden:?}");
    ENGINES.iter().for_each(|engine| is_refused(&place, *engine));
}
