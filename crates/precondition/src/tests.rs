use std::fs;

use fiord_run::Undisturbed;
use fiord_zones::consent::Answer;

use super::*;

struct Always(Answer);

impl Ask for Always {
    fn ask(&mut self, _: &str) -> Answer {
        self.0
    }
}

/// Stops at once.
struct Stop;

impl Interrupts for Stop {
    fn next(&mut self) -> Option<Interrupt> {
        Some(Interrupt::End(2))
    }
}

fn place(name: &str) -> PathBuf {
    let path =
        std::env::temp_dir().join(format!("fiord-precondition-{}-{name}", std::process::id()));
    fs::create_dir_all(&path).unwrap();
    path
}

fn run_on(
    place: &std::path::Path,
    more: &[&str],
    answer: Answer,
    interrupts: &mut dyn Interrupts,
) -> (End, String, String) {
    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }
    let state = format!("--state={}", place.join("state.json").display());
    let file = place.join("f").display().to_string();
    let line = ["x", &file, &state].into_iter().chain(more.iter().copied());
    let args = <Line as clap::Parser>::parse_from(line).args;
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let end = run(
        &args,
        &mut Session {
            out: &mut out,
            err: &mut err,
            ask: &mut Always(answer),
            interrupts,
            terminal: false,
        },
    );
    (end, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
}

#[test]
fn a_file_is_written_in_full_with_data_that_does_not_repeat() {
    let place = place("full");
    // Not a whole number of blocks: 3 MiB and a half page.
    let size = (3 << 20) + 2048;
    fs::write(place.join("f"), vec![0u8; size]).unwrap();
    let (end, out, err) = run_on(&place, &["--yes"], Answer::Nobody, &mut Undisturbed);
    assert_eq!(end, End::Done, "{out}{err}");
    assert!(out.contains("written in full: 3.1 MB"), "{out}");
    assert!(err.contains("Everything on it will be lost"), "{err}");
    let data = fs::read(place.join("f")).unwrap();
    assert_eq!(data.len(), size);
    let mut sectors: Vec<&[u8]> = data.chunks(512).collect();
    assert!(sectors.iter().all(|sector| sector.iter().any(|byte| *byte != 0)));
    sectors.sort_unstable();
    assert!(sectors.windows(2).all(|pair| pair[0] != pair[1]), "a sector repeats");
    assert!(!place.join("state.json").exists(), "nothing is left to pick up");
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn without_a_yes_nothing_is_touched() {
    let place = place("no");
    fs::write(place.join("f"), vec![7u8; 1 << 20]).unwrap();
    for answer in [Answer::No, Answer::Nobody] {
        let (end, _, err) = run_on(&place, &[], answer, &mut Undisturbed);
        assert_eq!(end, End::Failed);
        assert!(err.contains("nothing was changed"), "{err}");
    }
    assert!(fs::read(place.join("f")).unwrap().iter().all(|byte| *byte == 7));
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn stopped_and_picked_up() {
    let place = place("stop");
    fs::write(place.join("f"), vec![0u8; 8 << 20]).unwrap();
    let key = target::all(&[place.join("f")]).unwrap().remove(0).key;
    let store = Store::open(Some(&place.join("state.json"))).unwrap();
    store.put(&key, state::Place { passes: 0, position: 6 << 20 }).unwrap();
    let (end, out, err) = run_on(&place, &["--yes"], Answer::Nobody, &mut Undisturbed);
    assert_eq!(end, End::Done, "{out}{err}");
    assert!(err.contains("goes on at    75.0 %") && out.contains("2.1 MB at"), "{out}{err}");
    let data = fs::read(place.join("f")).unwrap();
    assert!(data[..6 << 20].iter().all(|byte| *byte == 0), "what was done is left alone");
    assert!(data[6 << 20..].chunks(512).all(|sector| sector.iter().any(|byte| *byte != 0)));
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn a_stop_is_remembered() {
    let place = place("remember");
    fs::write(place.join("f"), vec![0u8; 64 << 20]).unwrap();
    let (end, out, err) = run_on(&place, &["--yes", "--passes=2"], Answer::Nobody, &mut Stop);
    assert_eq!(end, End::Stopped, "{out}{err}");
    assert!(out.contains("the same command goes on from there"), "{out}");
    let (end, out, _) = run_on(&place, &["--yes", "--passes=2"], Answer::Nobody, &mut Undisturbed);
    assert_eq!(end, End::Done, "{out}");
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn what_cannot_be_written_is_refused() {
    let place = place("refused");
    fs::write(place.join("f"), "").unwrap();
    let (end, _, err) = run_on(&place, &["--yes"], Answer::Nobody, &mut Undisturbed);
    assert!(end == End::Failed && err.contains("is empty"), "{err}");
    assert!(target::all(&["/dev/null".into()]).unwrap_err().contains("neither"));
    let twice = [place.clone().join("f"), place.join("f")];
    fs::write(place.join("f"), "x").unwrap();
    assert!(target::all(&twice).unwrap_err().contains("twice"));
    fs::remove_dir_all(place).unwrap();
}
