//! Which process of a parallel job this is, as its launcher says in environment variables.
//!
//! | launcher | rank and number of ranks | where rank 0 waits |
//! |---|---|---|
//! | any | `FIORD_RANK`, `FIORD_RANKS` | `FIORD_RENDEZVOUS` |
//! | Slurm (`srun`) | `SLURM_PROCID`, `SLURM_STEP_NUM_TASKS` | first host of `SLURM_STEP_NODELIST`; this machine, if there is one host |
//! | Open MPI (`mpirun`) | `OMPI_COMM_WORLD_RANK`, `OMPI_COMM_WORLD_SIZE` | this machine, if it runs all ranks |
//! | MPICH, Intel MPI (`mpiexec`) | `PMI_RANK`, `PMI_SIZE` | this machine, if it runs all ranks |
//! | Kubernetes (indexed job) | `JOB_COMPLETION_INDEX`, `FIORD_RANKS` | `FIORD_RENDEZVOUS` |
//!
//! The variables with `FIORD` precede the others. `FIORD_RENDEZVOUS` is needed if the ranks run on several machines and
//! the launcher does not say where rank 0 runs. In a Slurm allocation, `mpirun` and `mpiexec` use `SLURM_JOB_NODELIST`.
//! The port is [`RENDEZVOUS_PORT`], and another for each Slurm step, because steps can share a machine.

use std::fmt::Display;
use std::num::NonZeroU32;
use std::str::FromStr;

use fiord_types::HostIndex;

use crate::hostlist::{self, HostListError};

/// The TCP port at which rank 0 waits if nothing says another.
pub const RENDEZVOUS_PORT: u16 = 8765;

/// Slurm steps use this port and the following ones.
const FIRST_STEP_PORT: u64 = 20_000;

/// How many ports Slurm steps use.
const STEP_PORTS: u64 = 10_000;

/// The place of this process in a parallel job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchedRank {
    /// Number of this process, from 0.
    pub rank: HostIndex,
    /// How many processes the job has.
    pub ranks: NonZeroU32,
    /// Where rank 0 waits for the others: `HOST,PORT`.
    pub rendezvous: String,
    /// What started the process, for messages.
    pub launcher: RankLauncher,
}

/// What started the processes of a parallel job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankLauncher {
    /// The user, or a script.
    Fiord,
    /// `srun` of Slurm.
    Slurm,
    /// `mpirun` of Open MPI.
    OpenMpi,
    /// `mpiexec` of MPICH or one of its relatives.
    Mpich,
    /// An indexed job of Kubernetes.
    Kubernetes,
}

/// Why the place in a parallel job is unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RankError {
    /// No launcher has set its variables.
    #[error(
        "no launcher says which rank this process is. To fix: start fiord with srun, mpirun or an indexed job of \
         Kubernetes, or set FIORD_RANK, FIORD_RANKS and FIORD_RENDEZVOUS"
    )]
    NotLaunched,
    /// A variable has no number.
    #[error("{variable}={text}: this is not a number of ranks")]
    NoNumber {
        variable: &'static str,
        /// Value of the variable.
        text: String,
    },
    /// One of two variables is missing.
    #[error("{present} is set, but {missing} is not. To fix: set {missing} in all processes")]
    Missing {
        /// The variable that is set.
        present: &'static str,
        /// The variable that is not set.
        missing: &'static str,
    },
    /// The rank is not below the number of ranks.
    #[error("rank {rank} of {ranks}: ranks are counted from 0")]
    Beyond {
        rank: HostIndex,
        /// The number of ranks.
        ranks: NonZeroU32,
    },
    /// The launcher does not say where rank 0 runs.
    #[error(
        "the launcher does not say where rank 0 runs. To fix: set FIORD_RENDEZVOUS=HOST in all processes (mpirun -x, \
         mpiexec -genv), where HOST is the machine of rank 0"
    )]
    NoRendezvous,
    /// The list of hosts cannot be read.
    #[error("{variable}: {why}")]
    Hosts { variable: &'static str, why: HostListError },
}

const LOOPBACK: &str = "127.0.0.1";

/// Variables of a launcher: rank, number of ranks.
const LAUNCHERS: [(RankLauncher, &str, &str); 5] = [
    (RankLauncher::Fiord, "FIORD_RANK", RANKS),
    (RankLauncher::OpenMpi, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    (RankLauncher::Mpich, "PMI_RANK", "PMI_SIZE"),
    // A batch script has SLURM_PROCID, too. Only srun sets the number of the tasks of its step.
    (RankLauncher::Slurm, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
    (RankLauncher::Kubernetes, "JOB_COMPLETION_INDEX", RANKS),
];

const RANKS: &str = "FIORD_RANKS";
const RENDEZVOUS: &str = "FIORD_RENDEZVOUS";

/// Finds the place of this process. `variable` returns the value of an environment variable.
///
/// # Errors
/// No launcher has started the process, or its variables contradict each other.
pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<LaunchedRank, RankError> {
    let set = |name: &'static str| variable(name).filter(|value| !value.is_empty());
    let is_used = |launcher: &(RankLauncher, &'static str, &'static str)| {
        set(launcher.1).is_some()
            && (launcher.0 != RankLauncher::Slurm || set(launcher.2).is_some())
    };
    let found = LAUNCHERS.into_iter().find(is_used);
    let (launcher, rank_variable, size_variable) = found.ok_or(RankError::NotLaunched)?;
    let size_variable = if set(RANKS).is_some() { RANKS } else { size_variable };
    let missing = RankError::Missing { present: rank_variable, missing: size_variable };
    let rank = HostIndex(number(rank_variable, &set(rank_variable).unwrap_or_default())?);
    let ranks: NonZeroU32 = number(size_variable, &set(size_variable).ok_or(missing)?)?;
    if rank.0 >= ranks.get() {
        return Err(RankError::Beyond { rank, ranks });
    }
    let rendezvous = match set(RENDEZVOUS) {
        Some(place) => with_port(place),
        None => format!("{},{}", first_host(launcher, ranks, set)?, port(launcher, set)),
    };
    Ok(LaunchedRank { rank, ranks, rendezvous, launcher })
}

fn number<N: FromStr>(variable: &'static str, text: &str) -> Result<N, RankError> {
    text.trim().parse().map_err(|_| RankError::NoNumber { variable, text: text.into() })
}

/// Adds the port to `HOST`; `HOST,PORT` and `HOST:PORT` have one.
fn with_port(place: String) -> String {
    let (host, port) = place.rsplit_once([',', ':']).unwrap_or((&place, ""));
    // An IPv6 address has several colons.
    let has_port = port.parse::<u16>().is_ok() && (place.contains(',') || !host.contains(':'));
    if has_port { format!("{host},{port}") } else { format!("{place},{RENDEZVOUS_PORT}") }
}

fn first_host(
    launcher: RankLauncher,
    ranks: NonZeroU32,
    set: impl Fn(&'static str) -> Option<String>,
) -> Result<String, RankError> {
    let lists = match launcher {
        RankLauncher::Slurm => ["SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"],
        RankLauncher::OpenMpi | RankLauncher::Mpich => ["SLURM_JOB_NODELIST", "SLURM_NODELIST"],
        RankLauncher::Fiord | RankLauncher::Kubernetes => {
            let present =
                if launcher == RankLauncher::Fiord { "FIORD_RANK" } else { "JOB_COMPLETION_INDEX" };
            return Err(RankError::Missing { present, missing: RENDEZVOUS });
        }
    };
    let local = ["OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"];
    if local.into_iter().filter_map(&set).any(|n| n.parse() == Ok(ranks)) {
        return Ok(LOOPBACK.into());
    }
    for variable in lists {
        if let Some(list) = set(variable) {
            let hosts = hostlist::parse(&list).map_err(|why| RankError::Hosts { variable, why })?;
            return Ok(match hosts.as_slice() {
                [first, _, ..] => first.clone(),
                _ => LOOPBACK.into(),
            });
        }
    }
    Err(RankError::NoRendezvous)
}

fn port(launcher: RankLauncher, set: impl Fn(&'static str) -> Option<String>) -> impl Display {
    let number = |name| set(name).and_then(|text| text.trim().parse::<u64>().ok());
    match (launcher, number("SLURM_JOB_ID")) {
        (RankLauncher::Slurm, Some(job)) => {
            // Steps of a job run at the same time more often than jobs with neighbouring numbers on one machine.
            let step = number("SLURM_STEP_ID").unwrap_or(0);
            FIRST_STEP_PORT + job.wrapping_mul(31).wrapping_add(step) % STEP_PORTS
        }
        _ => u64::from(RENDEZVOUS_PORT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Finds the place in an environment: `NAME=value NAME=value`.
    fn launched(environment: &str) -> Result<LaunchedRank, RankError> {
        let pairs: Vec<_> =
            environment.split(' ').filter_map(|pair| pair.split_once('=')).collect();
        read(|name| {
            pairs.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).into())
        })
    }

    fn place(environment: &str) -> String {
        let LaunchedRank { rank, ranks, rendezvous, launcher } = launched(environment).unwrap();
        format!("{launcher:?} {rank}/{ranks} at {rendezvous}")
    }

    fn error(environment: &str) -> String {
        launched(environment).unwrap_err().to_string()
    }

    #[test]
    fn launchers_are_recognized() {
        let slurm = "SLURM_PROCID=3 SLURM_NTASKS=8 SLURM_STEP_NUM_TASKS=4 SLURM_JOB_NODELIST=login \
                     SLURM_STEP_NODELIST=n[07-08,12] SLURM_JOB_ID=4711 SLURM_STEP_ID=2";
        assert_eq!(place(slurm), "Slurm 3/4 at n07,26043");
        let alone = slurm.replace("n[07-08,12]", "n07");
        assert_eq!(place(&alone), "Slurm 3/4 at 127.0.0.1,26043");
        let open_mpi = "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_SIZE=";
        assert_eq!(place(&format!("{open_mpi}4")), "OpenMpi 1/4 at 127.0.0.1,8765");
        let in_slurm = format!("{open_mpi}2 SLURM_PROCID=0 SLURM_JOB_NODELIST=a,b");
        assert_eq!(place(&in_slurm), "OpenMpi 1/4 at a,8765");
        let mpich = "PMI_RANK=0 PMI_SIZE=2 MPI_LOCALNRANKS=2";
        assert_eq!(place(mpich), "Mpich 0/2 at 127.0.0.1,8765");
        let kubernetes = "JOB_COMPLETION_INDEX=5 FIORD_RANKS=8 FIORD_RENDEZVOUS=fiord-0.fiord";
        assert_eq!(place(kubernetes), "Kubernetes 5/8 at fiord-0.fiord,8765");
        assert_eq!(place(&format!("FIORD_RANK=1 {kubernetes}")), "Fiord 1/8 at fiord-0.fiord,8765");
    }

    #[test]
    fn the_rendezvous_can_have_a_port() {
        let at = |text: &str| with_port(text.into());
        assert_eq!(at("n1"), "n1,8765");
        assert_eq!(at("n1:99"), "n1,99");
        assert_eq!(at("n1,99"), "n1,99");
        assert_eq!(at("fe80::1"), "fe80::1,8765");
        assert_eq!(at("fe80::1,99"), "fe80::1,99");
        let moved = "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 FIORD_RENDEZVOUS=n1:7";
        assert_eq!(place(moved), "OpenMpi 0/1 at n1,7");
    }

    #[test]
    fn errors_say_what_is_missing() {
        // A batch script, which srun did not start.
        let batch = "SLURM_PROCID=0 SLURM_NTASKS=8 SLURM_JOB_NODELIST=n[1-8]";
        assert_eq!(launched(batch), Err(RankError::NotLaunched));
        assert!(error("").starts_with("no launcher says which rank this process is. To fix: "));
        assert!(
            error("OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=4")
                .contains("set FIORD_RENDEZVOUS=HOST")
        );
        assert_eq!(
            error("JOB_COMPLETION_INDEX=0"),
            "JOB_COMPLETION_INDEX is set, but FIORD_RANKS is not. To fix: set FIORD_RANKS in all processes"
        );
        assert!(
            error("JOB_COMPLETION_INDEX=0 FIORD_RANKS=2").contains("but FIORD_RENDEZVOUS is not")
        );
        assert_eq!(error("PMI_RANK=2 PMI_SIZE=2"), "rank 2 of 2: ranks are counted from 0");
        assert!(error("PMI_RANK=-1 PMI_SIZE=2").starts_with("PMI_RANK=-1: this is not"));
        assert!(error("PMI_RANK=0 PMI_SIZE=0").starts_with("PMI_SIZE=0: this is not"));
        let list = "SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2 SLURM_STEP_NODELIST=n[1";
        assert_eq!(error(list), "SLURM_STEP_NODELIST: character 2: `[` without `]` after it");
    }
}
