use std::fs;

use fiord_run::NoInterrupts;

use super::*;
use crate::consent::{Answer, Scripted};
use crate::target::TargetError;

/// An interrupt at the first check.
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

fn arguments(place: &std::path::Path, more: &[&str]) -> PreconditionArgs {
    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: PreconditionArgs,
    }
    let state = format!("--state={}", place.join("state.json").display());
    let file = place.join("f").display().to_string();
    let own = more.iter().any(|word| word.starts_with("--state="));
    let state = (!own).then_some(state.as_str());
    let line = ["x", &file].into_iter().chain(state).chain(more.iter().copied());
    <Line as clap::Parser>::parse_from(line).args
}

fn run_on(
    place: &std::path::Path,
    more: &[&str],
    answer: Answer,
    interrupts: &mut dyn Interrupts,
) -> (Result<CommandEnd, PreconditionError>, String, String) {
    let args = arguments(place, more);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let ask = &mut Scripted::new(answer);
    let end = run(
        &args,
        &mut Session { out: &mut out, columns: None, err: &mut err, ask },
        interrupts,
        false,
    );
    (end, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
}

#[test]
fn a_file_is_written_in_full_with_data_that_does_not_repeat() {
    let place = place("full");
    // Not a whole number of blocks: 3 MiB and a half page.
    let size = (3 << 20) + 2048;
    fs::write(place.join("f"), vec![0u8; size]).unwrap();
    let (end, out, err) = run_on(&place, &["--yes"], Answer::NoTerminal, &mut NoInterrupts);
    assert_eq!(end.unwrap(), CommandEnd::Done, "{out}{err}");
    assert!(out.contains("fully written: 3.1 MB"), "{out}");
    assert!(out.contains("All data on it will be lost") && err.is_empty(), "{out}{err}");
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
    for (answer, why) in
        [(Answer::No, NoConsent::ByUser), (Answer::NoTerminal, NoConsent::NoTerminal)]
    {
        let (end, ..) = run_on(&place, &[], answer, &mut NoInterrupts);
        assert!(
            matches!(end, Err(PreconditionError::NoConsent(refused)) if refused == why),
            "{end:?}"
        );
    }
    assert!(fs::read(place.join("f")).unwrap().iter().all(|byte| *byte == 7));
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn stopped_and_picked_up() {
    let place = place("stop");
    fs::write(place.join("f"), vec![0u8; 8 << 20]).unwrap();
    let key = target::all(&[place.join("f")]).unwrap().remove(0).key;
    let store = ProgressFile::open(Some(&place.join("state.json"))).unwrap();
    store.put(&key, FillPosition { passes: 0, position: Bytes(6 << 20) }).unwrap();
    let (end, out, err) = run_on(&place, &["--yes"], Answer::NoTerminal, &mut NoInterrupts);
    assert_eq!(end.unwrap(), CommandEnd::Done, "{out}{err}");
    assert!(out.contains("resumes at    75.0 %") && out.contains("2.1 MB at"), "{out}{err}");
    assert_eq!(err, "");
    let data = fs::read(place.join("f")).unwrap();
    assert!(data[..6 << 20].iter().all(|byte| *byte == 0), "what was done is left alone");
    assert!(data[6 << 20..].chunks(512).all(|sector| sector.iter().any(|byte| *byte != 0)));
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn a_stop_is_remembered() {
    let place = place("remember");
    fs::write(place.join("f"), vec![0u8; 64 << 20]).unwrap();
    let (end, out, err) = run_on(&place, &["--yes", "--passes=2"], Answer::NoTerminal, &mut Stop);
    assert_eq!(end.unwrap(), CommandEnd::Stopped, "{out}{err}");
    assert!(out.contains("run the same command to resume"), "{out}");
    let (end, out, _) =
        run_on(&place, &["--yes", "--passes=2"], Answer::NoTerminal, &mut NoInterrupts);
    assert_eq!(end.unwrap(), CommandEnd::Done, "{out}");
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn what_cannot_be_written_is_refused() {
    let place = place("refused");
    fs::write(place.join("f"), "").unwrap();
    let (end, ..) = run_on(&place, &["--yes"], Answer::NoTerminal, &mut NoInterrupts);
    assert!(matches!(end, Err(PreconditionError::Target(Unsuitable::Empty { .. }))), "{end:?}");
    let refused = |path: &str| target::all(&[path.into()]).unwrap_err();
    assert!(matches!(refused("/dev/null"), Unsuitable::Neither { .. }));
    assert!(matches!(refused("/dev/fiord-none"), Unsuitable::Target(TargetError::Missing { .. })));
    let twice = [place.clone().join("f"), place.join("f")];
    fs::write(place.join("f"), "x").unwrap();
    assert!(matches!(target::all(&twice), Err(Unsuitable::Overlap { .. })));
    fs::remove_dir_all(place).unwrap();
}

/// Extents and passes must not repeat data.
#[test]
fn no_two_jobs_write_the_same_data() {
    let place = place("differ");
    fs::write(place.join("f"), vec![0u8; 1 << 20]).unwrap();
    let data = || {
        let (end, out, err) = run_on(&place, &["--yes"], Answer::NoTerminal, &mut NoInterrupts);
        assert_eq!(end.unwrap(), CommandEnd::Done, "{out}{err}");
        fs::read(place.join("f")).unwrap()
    };
    let both = [data(), data()].concat();
    let mut sectors: Vec<&[u8]> = both.chunks(512).collect();
    sectors.sort_unstable();
    assert!(sectors.windows(2).all(|pair| pair[0] != pair[1]), "a sector repeats");
    fs::remove_dir_all(place).unwrap();
}

/// Files can end within a block; direct I/O cannot.
#[test]
fn files_of_any_size() {
    let place = place("odd");
    for size in [1usize, 511, 1_000_001, (1 << 20) + 1] {
        fs::write(place.join("f"), vec![0u8; size]).unwrap();
        let (end, out, err) = run_on(&place, &["--yes"], Answer::NoTerminal, &mut NoInterrupts);
        assert_eq!(end.unwrap(), CommandEnd::Done, "{size}: {out}{err}");
        let data = fs::read(place.join("f")).unwrap();
        assert_eq!(data.len(), size);
        let whole = data.chunks(64).filter(|chunk| chunk.len() == 64);
        assert!(whole.into_iter().all(|chunk| chunk.iter().any(|b| *b != 0)), "{size}");
    }
    fs::remove_dir_all(place).unwrap();
}

/// Two concurrent calls, each with its own devices.
#[test]
fn calls_share_the_file_of_places() {
    let place = place("share");
    let path = place.join("below/state.json");
    let open = || ProgressFile::open(Some(&path)).unwrap();
    let (one, two) = (open(), open());
    let at = |position| FillPosition { passes: 1, position };
    one.put("a", at(Bytes(4096))).unwrap();
    two.put("b", at(Bytes(8192))).unwrap();
    assert_eq!(
        (open().place("a", Bytes(1 << 20)), open().place("b", Bytes(1 << 20))),
        (at(Bytes(4096)), at(Bytes(8192)))
    );
    one.forget("a").unwrap();
    assert_eq!(open().place("b", Bytes(1 << 20)), at(Bytes(8192)));
    two.forget("b").unwrap();
    assert_eq!(fs::read_dir(place.join("below")).unwrap().count(), 0, "nothing is left");
    fs::remove_dir_all(place).unwrap();
}

/// The error comes before any data is written, not after the first extent.
#[test]
fn a_place_that_cannot_be_kept() {
    let place = place("nowhere");
    fs::write(place.join("f"), vec![7u8; 4096]).unwrap();
    let state = format!("--state={}", place.join("f/state.json").display());
    let args = ["--yes", &state];
    let (end, ..) = run_on(&place, &args, Answer::NoTerminal, &mut NoInterrupts);
    assert!(matches!(end, Err(PreconditionError::State(_))), "{end:?}");
    assert!(end.unwrap_err().to_string().contains("--state=FILE"));
    assert!(fs::read(place.join("f")).unwrap().iter().all(|byte| *byte == 7));
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn places_in_words() {
    let words =
        |passes, position| FillPosition { passes, position: Bytes(position) }.words(Bytes(1000));
    assert_eq!(words(0, 500), "50.0 %");
    assert_eq!(words(1, 0), "the end of 1 full pass");
    assert_eq!(words(2, 250), "25.0 %, after 2 full passes");
}

#[test]
fn a_limit_before_the_steady_state_is_another_end() {
    let place = place("limit");
    fs::write(place.join("f"), [0; 4096]).unwrap();
    let targets = target::all(&[place.join("f")]).unwrap();
    let output = || Output::open(&arguments(&place, &[])).unwrap();
    let end_of = |ended: Result<FillEnd, FillError>| {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let ask = &mut Scripted::new(Answer::No);
        let mut session = Session { out: &mut out, columns: None, err: &mut err, ask };
        let target = targets[0].clone();
        let device = FilledDevice { target, end: Some(ended), record: FillRecord::new() };
        output().conclude(vec![device], &mut session).unwrap()
    };
    let written = |steady| FillEnd::Written {
        bytes: Bytes(4096),
        seconds: 1.0,
        random: Some((1000, steady)),
    };
    assert_eq!(end_of(Ok(written(true))), CommandEnd::Done);
    assert_eq!(end_of(Ok(written(false))), CommandEnd::NotSteady);
    assert_eq!(end_of(Err(FillError::Stuck)), CommandEnd::Failed);
    fs::remove_dir_all(&place).unwrap();
}

/// The document of `--format=json`, read back from the page that is made of it.
fn document(text: &str) -> fiord_html::result::PreconditionDocument {
    use fiord_html::result::{PageResult, read};
    let results = read("", text).unwrap();
    let page = fiord_html::page::page(&results);
    assert!(page.contains("Preconditioning of"));
    let mut again = read("", &page).unwrap();
    match again.remove(0).content {
        PageResult::Precondition(filled) => *filled,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_result_as_json_has_passes_rounds_and_the_steady_window() {
    use fiord_html::result::FilledState;
    let place = place("json");
    fs::write(place.join("f"), vec![0u8; 3 << 20]).unwrap();
    let more = ["--yes", "--format=json", "--passes=2", "--random", "--round=1", "--limit=1"];
    let (end, out, err) = run_on(&place, &more, Answer::NoTerminal, &mut NoInterrupts);
    let end = end.unwrap();
    assert_eq!(err, "");
    let filled = document(&out);
    let target = &filled.targets[0];
    assert_eq!((target.size, target.written), (Bytes(3 << 20), Bytes(6 << 20)));
    let names: Vec<&str> = target.passes.iter().map(|pass| pass.name.as_str()).collect();
    assert_eq!(names, ["1/2", "2/2"]);
    assert!(target.passes.iter().all(|pass| pass.extents.iter().all(|e| e.bw > Bytes::ZERO)));
    let random = target.random.as_ref().unwrap();
    // A slow machine may not become steady within the limit.
    assert!(!random.rounds.is_empty() && random.rounds[0].iops > 0.0, "{random:?}");
    assert!(random.rounds.windows(2).all(|pair| pair[0].to == pair[1].from), "{random:?}");
    let attained = random.window.as_ref().is_some_and(|window| window.attained);
    let state = if attained { FilledState::Written } else { FilledState::NotSteady };
    assert_eq!((target.end, filled.complete), (state, attained));
    assert_eq!(end == CommandEnd::Done, attained);
    let from = random.window.as_ref().map(|window| (window.from < window.to, window.iops > 0.0));
    assert!(from.is_none_or(|sound| sound == (true, true)), "{random:?}");
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn results_go_to_a_file_which_is_created_before_any_data_is_lost() {
    let place = place("output");
    fs::write(place.join("f"), vec![7u8; 4096]).unwrap();
    let missing = format!("--output={}", place.join("none/r.json").display());
    let (end, ..) = run_on(&place, &["--yes", &missing], Answer::NoTerminal, &mut NoInterrupts);
    assert!(matches!(end, Err(PreconditionError::Create(_))), "{end:?}");
    assert!(fs::read(place.join("f")).unwrap().iter().all(|byte| *byte == 7));
    let file = format!("--output={}", place.join("r.json").display());
    let dry = ["--dry-run", "--format=json", &file];
    let (end, out, err) = run_on(&place, &dry, Answer::NoTerminal, &mut NoInterrupts);
    assert_eq!((end.unwrap(), out.as_str(), err.as_str()), (CommandEnd::Done, "", ""));
    let filled = document(&fs::read_to_string(place.join("r.json")).unwrap());
    assert_eq!(filled.targets[0].end, fiord_html::result::FilledState::DryRun);
    assert!(!filled.complete && filled.targets[0].passes.is_empty());
    fs::remove_dir_all(place).unwrap();
}
