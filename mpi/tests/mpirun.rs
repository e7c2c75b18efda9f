//! Runs `fiord-mpi` with `mpirun`, or with the launcher that `FIORD_MPIRUN` names. It must belong to the MPI library of the
//! build.

use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A directory that is removed at the end of the test.
struct Room(PathBuf);

impl Room {
    fn new(name: &str) -> Room {
        let path = std::env::temp_dir().join(format!("fiord-mpi-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Room(path)
    }

    fn start(&self, ranks: usize, line: &str) -> Child {
        let launcher = std::env::var("FIORD_MPIRUN").unwrap_or_else(|_| "mpirun".into());
        let mut command = Command::new(launcher);
        command.args(["-n", &ranks.to_string(), env!("CARGO_BIN_EXE_fiord-mpi")]);
        command.args(line.split_whitespace()).current_dir(&self.0);
        // Open MPI refuses both by default: to run as root, and to run more processes than there are cores.
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        command.env("OMPI_MCA_rmaps_base_oversubscribe", "1");
        command.env("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("mpirun of an MPI library")
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Waits for the end, with a limit. The output of these tests fits into the pipes.
#[track_caller]
fn end(mut child: Child) -> Output {
    let until = Instant::now() + Duration::from_secs(120);
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > until {
            let _ = child.kill();
            panic!("it did not end: {:?}", child.wait_with_output());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().unwrap()
}

#[test]
fn all_ranks_run_the_jobs_and_rank_0_reports() {
    let room = Room::new("all");
    let line = "--minimal --name=a --rw=write --bs=4k --size=64k --filename=f-$rank-$ranks";
    let ran = end(room.start(4, line));
    assert!(ran.status.success(), "{ran:?}");
    for rank in 0..4 {
        let file = room.0.join(format!("f-{rank}-4"));
        assert_eq!(file.metadata().unwrap().len(), 65536);
    }
    // A line for each rank, and one for all of them.
    let text = String::from_utf8_lossy(&ran.stdout);
    let jobs =
        text.lines().filter(|line| line.split(';').nth(1).is_some_and(|v| v.starts_with("fio")));
    assert!(jobs.count() >= 4, "{ran:?}");
}

#[test]
fn a_mistake_ends_all_ranks() {
    let room = Room::new("mistake");
    let ran = end(room.start(3, "--name=a --rw=sideways"));
    assert!(!ran.status.success(), "{ran:?}");
    let errors = String::from_utf8_lossy(&ran.stderr);
    // Rank 0 shows the mistake; the others say why they end.
    assert_eq!(errors.matches("fiord: failed parsing rw=sideways").count(), 1, "{errors}");
    assert_eq!(errors.matches("it does not run the jobs: failed parsing").count(), 2, "{errors}");
}
