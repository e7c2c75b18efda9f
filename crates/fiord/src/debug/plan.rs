//! Lines of `--debug` about the plan of a job.

use fiord_plan::{JobPlan, Rate, VerifyMethod, VerifyPass};
use fiord_types::{Dir, PerDir};

/// How the job verifies.
pub(super) fn verification(job: &JobPlan) -> Vec<String> {
    let Some(plan) = &job.verify else { return Vec::new() };
    let name = &job.identity.name;
    let method = match plan.method {
        VerifyMethod::Fio(method) => format!("{method:?}").to_lowercase(),
        VerifyMethod::Fiord => "fiord".to_owned(),
    };
    let interval = match plan.interval {
        Some(interval) => format!("every {} bytes", interval.0),
        None => "each write".to_owned(),
    };
    let pass = match plan.pass {
        VerifyPass::AfterWrites => "checks its writes after the loop",
        VerifyPass::WritesOnly => "does not check its writes",
        VerifyPass::Only => "checks the writes of an earlier run",
        VerifyPass::Reads => "checks each block that it reads",
    };
    let mut lines = vec![
        format!("{name}: method {method}, header in {interval} at offset {}", plan.header_offset.0),
        format!(
            "{name}: {pass}, with {} threads; knows its writes by {:?}",
            plan.threads, plan.tracking
        ),
    ];
    if let Some(backlog) = plan.backlog {
        lines.push(format!("{name}: {backlog:?}"));
    }
    lines
}

pub(super) fn rates(job: &JobPlan) -> Vec<String> {
    let pace = &job.pace;
    let of = |what: &str, rates: &PerDir<Option<Rate>>| {
        let line = |dir: Dir| {
            let rate = match rates[dir]? {
                Rate::Bytes(bytes) => format!("{bytes} bytes/s"),
                Rate::Ios(ios) => format!("{ios} IOPS"),
            };
            Some(format!("{}: {}s: {what} {rate}", job.identity.name, dir.name()))
        };
        Dir::ALL.into_iter().filter_map(line).collect::<Vec<_>>()
    };
    [of("at most", &pace.rate), of("at least", &pace.min_rate)].concat()
}

/// The zones of the job's files.
pub(super) fn zones(job: &JobPlan) -> Vec<String> {
    let Some(zoned) = &job.load.zoned else { return Vec::new() };
    let limit = |limit: Option<u32>| limit.map_or("no limit".to_owned(), |limit| limit.to_string());
    let job_line = format!(
        "{}: max_open_zones={}, job_max_open_zones={}",
        job.identity.name,
        zoned.max_open.map_or("of the device".to_owned(), |most| most.to_string()),
        limit(zoned.job_max_open)
    );
    let files = job.target.files.iter().filter_map(|file| {
        let zones = file.zones?;
        let kind = match zones.emulated {
            Some(capacity) => format!("emulated, {} bytes writable", capacity.0),
            None => "of the device".to_owned(),
        };
        Some(format!("{}: zones of {} bytes, {kind}", file.path.display(), zones.size.0))
    });
    std::iter::once(job_line).chain(files).collect()
}
