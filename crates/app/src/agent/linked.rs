//! The jobs of an agent that talk to other hosts (`peer`): one for each connection, with an end that waits for each end that
//! connects.

use fiord_fabric::message::NetLink;
use fiord_job::diagnostic::Diagnostic;
use fiord_job::option::table::net::{HOSTNAME, LISTEN, PEER, PORT, VERB};
use fiord_job::option::table::{
    NEW_GROUP, RATE, RATE_IOPS, RATE_IOPS_MIN, RATE_MIN, RW, Rw, STONEWALL, THINKTIME,
};
use fiord_job::option::value::ValueError;
use fiord_job::spec::JobSpec;

use crate::peer_ends::{answering_end_waits, listens_by_option};

/// Replaces the jobs with `peer` by one job for each connection of this host.
///
/// # Errors
/// The coordinator named no peer for a job.
pub(super) fn linked(
    jobs: Vec<JobSpec>,
    links: &[NetLink],
) -> Result<Vec<JobSpec>, Vec<Diagnostic>> {
    let mut all = Vec::with_capacity(jobs.len() + links.len());
    let mut wrong = Vec::new();
    for (section, job) in jobs.into_iter().enumerate() {
        if !job.is_set(PEER) {
            all.push(job);
            continue;
        }
        let mut own = links.iter().filter(|link| link.job.get() == section).peekable();
        if own.peek().is_none() {
            wrong.push(no_peer(&job));
        }
        for (n, link) in own.enumerate() {
            match end(&job, link, n == 0) {
                Ok(end) => all.push(end),
                Err(error) => wrong.push(Diagnostic::error(error.what, Some(job.place.clone()))),
            }
        }
    }
    if wrong.is_empty() { Ok(all) } else { Err(wrong) }
}

fn no_peer(job: &JobSpec) -> Diagnostic {
    let place = job.setting(PEER).map(|setting| setting.place.clone());
    let what = "the coordinator did not say who the peer of this job is";
    Diagnostic::error(what, place)
        .help("To fix: give the job file to the coordinator instead of --remote-config")
}

/// One end of a connection. `leads`: it is the first one of its job, and waits for the jobs before it.
fn end(job: &JobSpec, link: &NetLink, leads: bool) -> Result<JobSpec, ValueError> {
    let mut end = job.clone();
    if !leads {
        end.unset(STONEWALL);
        end.unset(NEW_GROUP);
        end.new_group = false;
    }
    let reads = matches!(job.get(RW).word, Rw::Read | Rw::RandRead) != link.answers;
    if link.answers {
        end.set(RW, answer(job.get(RW).word))?;
        // One end sets the pace.
        let paces = [RATE.def(), RATE_MIN.def(), RATE_IOPS.def(), RATE_IOPS_MIN.def()];
        paces.into_iter().chain([THINKTIME.def()]).for_each(|option| end.unset(option));
    }
    end.unset(HOSTNAME);
    end.set(PORT, &link.port.to_string())?;
    match (answering_end_waits(job) == link.answers, listens_by_option(job)) {
        (true, true) => end.set(LISTEN, "1")?,
        // The peer says what both do (rdma).
        (true, false) => end.unset(VERB),
        (false, _) => end.set(HOSTNAME, &link.address)?,
    }
    let way = if reads { "from" } else { "to" };
    end.name = format!("{}_{way}_{}", job.name, link.host.replace('/', "_"));
    Ok(end)
}

/// What the other end does.
fn answer(rw: Rw) -> &'static str {
    match rw {
        Rw::Read => "write",
        Rw::Write => "read",
        Rw::RandRead => "randwrite",
        Rw::RandWrite => "randread",
        // The planner refuses both ends: a connection has one direction.
        _ => "rw",
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU16;

    use fiord_job::load::Memory;
    use fiord_types::JobIndex;

    use super::*;

    fn link(job: usize, host: &str, answers: bool) -> NetLink {
        NetLink {
            job: JobIndex::at(job),
            host: host.into(),
            address: format!("{host}-ib"),
            port: NonZeroU16::new(700).unwrap(),
            answers,
        }
    }

    /// The jobs of this host as their names and the options that differ.
    fn ends(line: &str, links: &[NetLink]) -> Vec<String> {
        let line: Vec<String> = line.split_whitespace().map(String::from).collect();
        let jobs = fiord_job::invocation(&line, &mut Memory::default()).unwrap().jobs;
        let word = |job: &JobSpec| {
            let listens = if job.get(LISTEN) { " listens" } else { "" };
            let to = job.get(HOSTNAME).map(|to| format!(" to {to}")).unwrap_or_default();
            let paced = if job.is_set(RATE) { " paced" } else { "" };
            let waits = if job.get(STONEWALL) { " stonewall" } else { "" };
            let port = job.get(PORT).unwrap_or_default();
            let rw = job.get(RW).word;
            format!("{} {rw:?}{listens}{to}{paced}{waits} {port}", job.name)
        };
        linked(jobs, links).unwrap().iter().map(word).collect()
    }

    #[test]
    fn one_end_waits_and_the_other_connects() {
        let links = [link(1, "x", false), link(1, "y", true)];
        let job = "--name=first --ioengine=null --size=1m --name=a --size=1m --stonewall --rate=1m";
        let tcp = format!("{job} --ioengine=net --peer=next --rw=write");
        let found = ends(&tcp, &links);
        assert_eq!(found[0], "first Read 0");
        assert_eq!(found[1], "a_to_x Write to x-ib paced stonewall 700");
        assert_eq!(found[2], "a_from_y Read listens 700");
        let tcp = ends(&format!("{job} --ioengine=net --peer=next --rw=read"), &links);
        assert_eq!(tcp[1], "a_from_x Read to x-ib paced stonewall 700");
        assert_eq!(tcp[2], "a_to_y Write listens 700");
        // The end that reads waits.
        for engine in ["net --protocol=udp", "rdma"] {
            let found = ends(&format!("{job} --rw=read --ioengine={engine} --peer=next"), &links);
            assert_eq!(found[1], "a_from_x Read paced stonewall 700");
            assert_eq!(found[2], "a_to_y Write to y-ib 700");
        }
    }

    #[test]
    fn a_job_without_a_peer_is_refused() {
        let line = ["--name=a", "--ioengine=net", "--peer=next", "--size=1m"].map(String::from);
        let jobs = fiord_job::invocation(&line, &mut Memory::default()).unwrap().jobs;
        let wrong = linked(jobs, &[link(1, "x", true)]).unwrap_err();
        assert!(wrong[0].what.contains("did not say who the peer"), "{wrong:?}");
    }
}
