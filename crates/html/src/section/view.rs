//! A run as the sections see it: jobs of one machine, or of many hosts.

use fiord_stat::finding::Finding;
use fiord_stat::hosts::{HostReport, HostsReport};
use fiord_stat::report::{DirKind, DirReport, JobReport, Report};
use fiord_types::HostIndex;

/// A run on one machine or on many hosts.
#[derive(Debug)]
pub(crate) struct RunView<'a> {
    /// The report of the run as a whole.
    pub(crate) whole: &'a Report,
    /// The run on many hosts; `None` for one on one machine.
    pub(crate) together: Option<&'a HostsReport>,
    /// The machines with a report.
    pub(crate) machines: Vec<MachineView<'a>>,
    /// The jobs of all machines, in order.
    pub(crate) entries: Vec<EntryView<'a>>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct MachineView<'a> {
    /// The name of the host; empty for the only machine.
    pub(crate) name: &'a str,
    pub(crate) report: &'a Report,
    /// The host; `None` for the only machine.
    pub(crate) host: Option<&'a HostReport>,
}

/// An entry of the report.
#[derive(Debug)]
pub(crate) struct EntryView<'a> {
    pub(crate) machine: HostIndex,
    pub(crate) job: &'a JobReport,
    /// A name that no other entry has.
    pub(crate) label: String,
}

impl<'a> RunView<'a> {
    /// A run on one machine.
    pub(crate) fn alone(report: &'a Report) -> Self {
        let machine = MachineView { name: "", report, host: None };
        RunView::of(report, None, vec![machine])
    }

    /// A run on many hosts.
    pub(crate) fn of_hosts(run: &'a HostsReport) -> Self {
        let machine = |host: &'a HostReport| {
            let report = host.report.as_ref()?;
            Some(MachineView { name: host.own_name(), report, host: Some(host) })
        };
        let machines = run.hosts.iter().filter_map(machine).collect();
        RunView::of(&run.all, Some(run), machines)
    }

    fn of(
        whole: &'a Report,
        together: Option<&'a HostsReport>,
        machines: Vec<MachineView<'a>>,
    ) -> Self {
        let mut entries: Vec<EntryView<'a>> = Vec::new();
        let mut seen: std::collections::HashMap<String, usize> = std::collections::HashMap::new();
        let repeated = |machine: &MachineView<'_>, name: &str| {
            machine.report.jobs.iter().filter(|job| job.name == name).nth(1).is_some()
        };
        for (at, machine) in machines.iter().enumerate() {
            let mut several: std::collections::HashMap<&str, bool> =
                std::collections::HashMap::new();
            for job in &machine.report.jobs {
                let many =
                    *several.entry(&job.name).or_insert_with(|| repeated(machine, &job.name));
                let mut label = match machine.name {
                    "" => job.name.clone(),
                    host => format!("{host}: {}", job.name),
                };
                let count = seen.entry(label.clone()).or_default();
                *count += 1;
                if many || *count > 1 {
                    label = format!("{label} #{count}");
                }
                entries.push(EntryView { machine: HostIndex::at(at), job, label });
            }
        }
        RunView { whole, together, machines, entries }
    }

    /// Rows in which jobs did I/O: the entry and the row. Rows for all directions count only without others.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&EntryView<'a>, &'a DirReport)> {
        self.entries.iter().flat_map(|entry| active(entry.job).map(move |row| (entry, row)))
    }

    /// All findings with the name of the host, if there are several: first those of the whole run.
    pub(crate) fn findings(&self) -> Vec<(&'a str, &'a Finding)> {
        let whole = self.whole.extras.findings.iter().map(|finding| ("", finding));
        let own = self.machines.iter().filter(|machine| machine.host.is_some());
        let own = own.flat_map(|machine| {
            machine.report.extras.findings.iter().map(|finding| (machine.name, finding))
        });
        let mut all: Vec<_> = whole.chain(own).collect();
        all.sort_by_key(|(_, finding)| finding.rank());
        all
    }
}

/// The rows of a job in which it did I/O.
pub(crate) fn active(job: &JobReport) -> impl Iterator<Item = &DirReport> {
    let has_others = job.dirs.iter().any(|row| row.kind != DirKind::Mixed && row.total_ios > 0);
    let counts =
        move |row: &&DirReport| row.total_ios > 0 && (row.kind != DirKind::Mixed || !has_others);
    job.dirs.iter().filter(counts)
}

/// The word for a row.
pub(crate) fn word(kind: DirKind) -> &'static str {
    match kind {
        DirKind::Read => "read",
        DirKind::Write => "write",
        DirKind::Trim => "trim",
        DirKind::Mixed => "all",
    }
}
