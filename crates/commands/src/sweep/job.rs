//! The swept job as typed, and its command line at given settings.

use fiord_job::Invocation;
use fiord_job::command::{Action, GeneralOptions};
use fiord_job::load::Loader;
use fiord_job::option::table::sim::SIM_SEED;
use fiord_job::option::table::{
    self, IOENGINE, NUMJOBS, RAMP_TIME, RATE, RATE_IOPS, RUNTIME, STARTDELAY, STONEWALL,
};
use fiord_job::spec::{JobSpec, Setting};
use fiord_types::Nanos;

use crate::axis::PointSettings;
use crate::rejected::{self, Rejected};
use crate::runs::hosts::HostsArgs;

/// Why a job cannot be swept.
#[derive(Debug, thiserror::Error)]
pub enum NotSweepable {
    /// The parser rejects it.
    #[error(transparent)]
    Rejected(#[from] Rejected),
    /// The command line has options of the run that a sweep sets itself.
    #[error(
        "a sweep takes a job; of the general options it accepts only --readonly, --section, --max-jobs and \
         --warnings-fatal. To fix: leave the others out"
    )]
    GeneralOptions,
    /// The jobs do not run together.
    #[error(
        "job {job} runs after others, but a sweep sums up jobs that run together. To fix: select one \
         with --section"
    )]
    Later { job: String },
    /// `--rate` and a job file with several sections.
    #[error(
        "--rate needs a job with one section, because it cannot split a rate among several. To fix: \
         select one with --section"
    )]
    Sections,
    /// `--rate` and a job with a rate.
    #[error(
        "--rate sets the rates, but the job sets {option} itself. To fix: leave {option} out of the job"
    )]
    HasRate { option: &'static str },
}

/// A job, or several jobs that run together.
#[derive(Debug)]
pub struct Job {
    jobs: Vec<JobSpec>,
    general: GeneralOptions,
    /// The hosts that run the job.
    pub hosts: HostsArgs,
    pub name: String,
}

/// Parses the name of a job file, or the options of a job.
///
/// # Errors
/// The parser rejects the job, or its jobs do not run together.
pub fn read(args: &[String], loader: &mut dyn Loader) -> Result<Job, NotSweepable> {
    let invocation = rejected::parse(args, loader)?;
    let Invocation { action, general, jobs, .. } = invocation;
    let allowed = GeneralOptions {
        sections: general.sections.clone(),
        readonly: general.readonly,
        max_jobs: general.max_jobs,
        warnings_fatal: general.warnings_fatal,
        ..GeneralOptions::default()
    };
    if action != Action::Run || general != allowed {
        return Err(NotSweepable::GeneralOptions);
    }
    if let Some(job) = jobs.iter().skip(1).find(|j| j.get(STONEWALL) || j.new_group) {
        return Err(NotSweepable::Later { job: job.name.clone() });
    }
    let file = args.iter().find(|a| !a.starts_with('-'));
    let stem = file.map(|f| f.rsplit('/').next().unwrap_or(f));
    let name = match stem {
        Some(stem) => stem.strip_suffix(".fio").unwrap_or(stem).to_owned(),
        None => jobs[0].name.clone(),
    };
    Ok(Job { jobs, general, hosts: HostsArgs::default(), name })
}

impl Job {
    /// Returns the arguments of a run at these settings, with those that name its hosts.
    #[must_use]
    pub fn command(&self, settings: &PointSettings) -> Vec<String> {
        let mut arguments = self.hosts.arguments();
        if arguments.is_empty() {
            return self.arguments(settings);
        }
        // Each host expands the words about itself.
        let text =
            |setting: &Setting| setting.text_for_hosts.as_ref().or(setting.text.as_ref()).cloned();
        arguments.append(&mut self.arguments_with(settings, text));
        arguments
    }

    /// Returns the arguments of one of several runs at these settings. A simulated device without a seed of its own gives the
    /// same results each time, so each further run has another seed.
    #[must_use]
    pub fn repeated_command(&self, settings: &PointSettings, number: u32) -> Vec<String> {
        let unseeded = |job: &JobSpec| job.engine().virtual_time && !job.is_set(SIM_SEED);
        let swept = |(name, _): &(String, String)| {
            is_called(SIM_SEED.def().name, name) || is_called(IOENGINE.def().name, name)
        };
        if number == 1 || settings.iter().any(swept) || !self.jobs.iter().all(unseeded) {
            return self.command(settings);
        }
        let mut seeded = settings.clone();
        seeded.push((SIM_SEED.def().name.into(), number.to_string()));
        self.command(&seeded)
    }

    /// Returns the arguments of a run at these settings. The settings come last in each job, so
    /// they override earlier values.
    #[must_use]
    pub fn arguments(&self, settings: &PointSettings) -> Vec<String> {
        self.arguments_with(settings, |setting| setting.text.clone())
    }

    fn arguments_with(
        &self,
        settings: &PointSettings,
        text: impl Fn(&Setting) -> Option<String>,
    ) -> Vec<String> {
        let mut out = Vec::new();
        for job in &self.jobs {
            out.push(format!("--name={}", job.name));
            for setting in job.settings.iter().filter(|s| s.def.name != "name") {
                let swept = |(name, _): &(String, String)| is_called(setting.def.name, name);
                // Skip the job's own value of a swept option.
                if !settings.iter().any(swept) {
                    out.push(match text(setting) {
                        Some(text) => format!("--{}={text}", setting.def.name),
                        None => format!("--{}", setting.def.name),
                    });
                }
            }
            out.extend(settings.iter().map(|(name, value)| format!("--{name}={value}")));
        }
        if self.general.readonly {
            out.push("--readonly".into());
        }
        if self.general.warnings_fatal {
            out.push("--warnings-fatal".into());
        }
        out.extend(self.general.max_jobs.map(|n| format!("--max-jobs={n}")));
        out
    }

    /// Returns the number of instances (`numjobs`) at these settings, for `--rate`.
    ///
    /// # Errors
    /// The job has more than one section, or sets a rate itself.
    pub fn instances(
        &self,
        settings: &PointSettings,
        loader: &mut dyn Loader,
    ) -> Result<u64, NotSweepable> {
        let at = rejected::parse(&self.arguments(settings), loader)?;
        let [job] = at.jobs.as_slice() else {
            return Err(NotSweepable::Sections);
        };
        let rates = [RATE.def(), RATE_IOPS.def()];
        if let Some(option) = rates.into_iter().find(|option| job.is_set(*option)) {
            return Err(NotSweepable::HasRate { option: option.name });
        }
        Ok(job.get(NUMJOBS).into())
    }

    /// Parses the job at these settings, to check their names and values. Returns the maximum
    /// duration in nanoseconds.
    ///
    /// # Errors
    /// The parser rejects the job, or fiord does not support one of its options.
    pub fn check(
        &self,
        settings: &PointSettings,
        loader: &mut dyn Loader,
    ) -> Result<u64, Rejected> {
        let at = rejected::parse(&self.arguments(settings), loader)?;
        rejected::check_supported(&at)?;
        Ok(at.jobs.iter().map(duration).max().unwrap_or(0))
    }
}

/// Whether `typed` names the option `name` or is an alias of it.
fn is_called(name: &str, typed: &str) -> bool {
    let all = table::options().iter().chain(table::engine_options());
    name == typed || all.into_iter().any(|o| o.name == name && o.aliases.contains(&typed))
}

/// Maximum duration of a job in nanoseconds; 0 if unknown.
fn duration(job: &JobSpec) -> u64 {
    match job.get(RUNTIME) {
        Nanos::ZERO => 0,
        runtime => {
            let ramp = job.get(RAMP_TIME).unwrap_or(Nanos::ZERO);
            runtime.0 + ramp.0 + job.get(STARTDELAY).high()
        }
    }
}

#[cfg(test)]
mod tests {
    use fiord_job::load::Memory;

    use super::*;

    fn settings(list: &[(&str, &str)]) -> PointSettings {
        list.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect()
    }

    #[test]
    fn a_setting_takes_the_place_of_what_the_job_says() {
        let text = "[global]\nrw=randread\niodepth=8\n[a]\nsize=1m\nruntime=5\n[b]\nsize=2m\nblocksize=8k\n";
        let mut memory = Memory::job(text);
        let job = read(&["job.fio".into()], &mut memory).unwrap();
        assert_eq!(job.name, "job");
        let at = settings(&[("iodepth", "2"), ("bs", "4k")]);
        assert_eq!(
            job.arguments(&at).join(" "),
            "--name=a --rw=randread --size=1m --runtime=5 \
            --iodepth=2 --bs=4k --name=b --rw=randread --size=2m --iodepth=2 --bs=4k"
        );
        assert_eq!(job.check(&at, &mut memory).unwrap(), 5_000_000_000);
        // An alias sweeps the option.
        let at = job.arguments(&settings(&[("blocksize", "4k")])).join(" ");
        assert!(!at.contains("8k"), "{at}");
    }

    #[test]
    fn what_cannot_be_swept_is_refused() {
        let read = |args: &[&str]| {
            let args: Vec<String> = args.iter().map(|a| a.to_string()).collect();
            read(&args, &mut Memory::default())
        };
        let rejected = read(&["none.fio"]).unwrap_err();
        assert!(matches!(rejected, NotSweepable::Rejected(_)), "{rejected}");
        assert!(rejected.to_string().contains("none.fio"), "{rejected}");
        let general = read(&["--name=a", "--size=1m", "--output=x"]);
        assert!(matches!(general, Err(NotSweepable::GeneralOptions)));
        let two = ["--name=a", "--size=1m", "--name=b", "--stonewall", "--size=1m"];
        assert!(matches!(read(&two), Err(NotSweepable::Later { job }) if job == "b"));
        let job = read(&["--name=a", "--size=1m"]).unwrap();
        let wrong = job.check(&settings(&[("iodpth", "1")]), &mut Memory::default());
        let wrong = wrong.unwrap_err().to_string();
        assert!(wrong.contains("iodpth") && wrong.contains("did you mean `iodepth`"), "{wrong}");
    }
}
