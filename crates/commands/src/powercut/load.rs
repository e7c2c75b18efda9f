//! The load of a round: the user's job, or random writes with flushes at several depths.

use std::path::Path;

use fiord_job::load::Loader;
use fiord_types::{Bytes, Nanos};

use super::error::PowercutError;
use super::settings::{CutMethod, PowercutSettings};
use crate::axis::PointSettings;
use crate::sweep::job;

/// Largest region that the default load writes in a round. It bounds the memory of the writer and the time of the
/// check.
const REGION: Bytes = Bytes(16 << 30);
/// Regions begin at multiples of this.
const REGION_GRID: Bytes = Bytes(1 << 20);
/// How long the writer may run after everything else had time: it ends by itself if this process is killed.
const SPARE: Nanos = Nanos::from_secs(60);
/// How long the writer waits for a cut by hand.
const BY_HAND: Nanos = Nanos::from_secs(30 * 86_400);

/// Reads the user's job and returns its arguments.
///
/// # Errors
/// The parser rejects it, or its jobs do not run together.
pub(super) fn read(args: &[String], loader: &mut dyn Loader) -> Result<Vec<String>, PowercutError> {
    let job = job::read(args, loader)?;
    let arguments = job.arguments(&Vec::new());
    // The settings of a round must not turn a valid job into a wrong one; its own errors come first.
    job.check(&Vec::new(), loader)?;
    Ok(arguments)
}

/// The arguments of the writer in a round.
///
/// # Errors
/// The parser rejects the job with the settings of the round.
pub(super) fn arguments(
    settings: &PowercutSettings,
    round: u32,
    journal: &Path,
    loader: &mut dyn Loader,
) -> Result<Vec<String>, PowercutError> {
    let mut at = vec![
        ("filename".to_owned(), escaped(&settings.target.path)),
        ("verify".into(), "fiord".into()),
        ("do_verify".into(), "0".into()),
        ("verify_state_save".into(), "0".into()),
        ("verify_journal".into(), journal.display().to_string()),
        ("randseed".into(), (settings.random(round) >> 16).to_string()),
        ("time_based".into(), "1".into()),
        ("runtime".into(), format!("{}ms", runtime(settings, round).as_millis())),
    ];
    let job = if settings.load.is_empty() {
        at.extend(region(settings, round));
        job::read(&usual(settings), loader)?
    } else {
        job::read(&settings.load, loader)?
    };
    job.check(&at, loader)?;
    Ok(job.arguments(&at))
}

/// `:` separates the files of `filename`.
fn escaped(path: &Path) -> String {
    path.display().to_string().replace(':', "\\:")
}

/// The longest time that the writer runs.
fn runtime(settings: &PowercutSettings, round: u32) -> Nanos {
    if settings.method == CutMethod::Manual {
        return BY_HAND;
    }
    let waits = settings.wait.saturating_add(settings.linger);
    settings.cut_time(round).saturating_add(waits).saturating_add(SPARE)
}

/// The default load: small and large writes, flushed after each write, now and then, and rarely.
fn usual(settings: &PowercutSettings) -> Vec<String> {
    let direct = if settings.target.is_device { "1" } else { "0" };
    let mut out = Vec::new();
    for (name, depth, fsync) in [("each", 1, 1), ("some", 4, 16), ("few", 16, 64)] {
        out.push(format!("--name={name}"));
        let options = [
            "--rw=randwrite".to_owned(),
            "--norandommap".into(),
            "--bsrange=4k-64k".into(),
            "--ioengine=libaio".into(),
            format!("--direct={direct}"),
            format!("--iodepth={depth}"),
            format!("--fsync={fsync}"),
        ];
        out.extend(options);
    }
    out
}

/// The part of the target that the default load writes in a round.
fn region(settings: &PowercutSettings, round: u32) -> PointSettings {
    let size = settings.target.size.min(REGION);
    let places = settings.target.size.saturating_sub(size).0 / REGION_GRID.0 + 1;
    let offset = settings.random(round).rotate_left(32) % places * REGION_GRID.0;
    vec![("offset".into(), offset.to_string()), ("size".into(), size.0.to_string())]
}

#[cfg(test)]
mod tests {
    use fiord_job::load::Memory;

    use super::super::settings::example;
    use super::*;

    fn of(settings: &PowercutSettings, round: u32) -> Vec<String> {
        let journal = Path::new("/j/1.journal");
        arguments(settings, round, journal, &mut Memory::default()).unwrap()
    }

    #[test]
    fn the_default_load_has_three_jobs_with_one_journal() {
        let mut settings = example(CutMethod::Kill);
        let line = of(&settings, 1).join(" ");
        assert_eq!(line.matches("--verify_journal=/j/1.journal").count(), 3, "{line}");
        assert_eq!(line.matches("--verify=fiord").count(), 3, "{line}");
        assert!(line.contains("--fsync=64") && line.contains("--direct=0"), "{line}");
        assert!(line.contains("--offset=0 --size=1048576"), "{line}");
        assert_eq!(of(&settings, 1), of(&settings, 1), "a round can be repeated");
        assert_ne!(of(&settings, 1), of(&settings, 2), "rounds differ");
        settings.target.size = Bytes(1 << 40);
        let offsets: Vec<String> = (1..4)
            .map(|round| of(&settings, round).into_iter().find(|a| a.starts_with("--offset")))
            .map(Option::unwrap)
            .collect();
        assert!(offsets[0] != offsets[1] || offsets[1] != offsets[2], "{offsets:?}");
    }

    #[test]
    fn the_user_s_job_keeps_its_load_and_gets_the_target() {
        let mut settings = example(CutMethod::Manual);
        let words = ["--name=a", "--rw=write", "--bs=8k", "--filename=x", "--size=1m", "--fsync=4"];
        settings.load = read(&words.map(String::from), &mut Memory::default()).unwrap();
        let line = of(&settings, 1).join(" ");
        assert!(line.contains("--bs=8k") && line.contains("--fsync=4"), "{line}");
        assert!(line.contains("--filename=/t") && !line.contains("--filename=x"), "{line}");
        let wrong = read(&["--name=a".into(), "--iodpth=4".into()], &mut Memory::default());
        assert!(wrong.unwrap_err().to_string().contains("iodpth"));
    }
}
