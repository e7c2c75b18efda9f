//! What the jobs would do to this machine, so that its policy can forbid it.

use std::path::{Path, PathBuf};

use fiord_fabric::policy::{Wish, WishKind};
use fiord_job::command::Invocation;
use fiord_job::option::table::{
    BUFFER_PATTERN, CGROUP, DIRECTORY, EXEC_POSTRUN, EXEC_PRERUN, FILENAME, GID, IOENGINE,
    IOSCHEDULER, MEM, READ_IOLOG, UID, VERIFY_DUMP, VERIFY_EXTENTS, VERIFY_PATTERN, WRITE_IOLOG,
    target_option,
};
use fiord_job::option::value::PatternPart;
use fiord_job::spec::JobSpec;
use fiord_plan::{EngineAccess, FileKind, FilePlan, JobPlan, Plan, TraceInput};
use fiord_types::Bytes;

/// Everything that the jobs would do to this machine. Memory and CPU time are not listed.
/// `trigger_command`: what the host runs when the trigger has fired. Verify states and journals are files of the coordinator.
pub(super) fn of(invocation: &Invocation, plan: &Plan, trigger_command: Option<&str>) -> Vec<Wish> {
    let mut list = WishList::default();
    let aux_path = invocation.general.aux_path.as_deref().unwrap_or(".");
    for job in &plan.jobs {
        list.job.clone_from(&job.identity.name);
        let spec = invocation.jobs.get(job.identity.section);
        if job.identity.instance == 0 {
            spec.into_iter().for_each(|spec| list.patterns(spec));
            list.process(job, Path::new(aux_path));
        }
        list.engine(job);
        list.targets(job, spec);
        list.traces(job);
        list.outputs(job);
    }
    let general = &invocation.general;
    list.job = "all".into();
    if let Some(command) = trigger_command {
        list.add("trigger-remote", WishKind::Command(command.to_owned()));
    }
    if let Some(name) = &general.bandwidth_log {
        list.add("bandwidth-log", WishKind::Output(name.into()));
    }
    list.wishes
}

#[derive(Debug, Default)]
struct WishList {
    wishes: Vec<Wish>,
    /// The name of the job that is looked at.
    job: String,
}

impl WishList {
    fn add(&mut self, option: &str, kind: WishKind) {
        let wish = Wish { job: self.job.clone(), option: option.to_owned(), kind };
        // The instances of a job mostly wish for the same.
        if self.wishes.last() != Some(&wish) {
            self.wishes.push(wish);
        }
    }

    fn output(&mut self, option: &str, path: &Path) {
        self.add(option, WishKind::Output(path.to_path_buf()));
    }

    /// Files whose contents become data.
    fn patterns(&mut self, spec: &JobSpec) {
        for option in [BUFFER_PATTERN, VERIFY_PATTERN] {
            for part in spec.get(option).unwrap_or_default() {
                if let PatternPart::File(name) = part {
                    self.add(option.name(), WishKind::Input(name.into()));
                }
            }
        }
    }

    /// What the instances of a job share: commands, settings of the machine, files in `aux_path`.
    fn process(&mut self, job: &JobPlan, aux_path: &Path) {
        let commands = [(EXEC_PRERUN, &job.start.prerun), (EXEC_POSTRUN, &job.start.postrun)];
        for (option, command) in commands {
            if let Some(command) = command {
                self.add(option.name(), WishKind::Command(command.clone()));
                self.output(option.name(), &aux_path.join("output.txt"));
            }
        }
        let process = &job.process;
        if let Some(scheduler) = &job.target.scheduler {
            let what = format!("I/O scheduler {scheduler}");
            self.add(IOSCHEDULER.name(), WishKind::Setting(what));
        }
        if let Some(group) = &process.cgroup {
            let what = format!("control group {}", group.name);
            self.add(CGROUP.name(), WishKind::Setting(what));
        }
        if let Some(uid) = process.uid {
            self.add(UID.name(), WishKind::Setting(format!("user id {uid}")));
        }
        if let Some(gid) = process.gid {
            self.add(GID.name(), WishKind::Setting(format!("group id {gid}")));
        }
        if job.verify.as_ref().is_some_and(|verify| verify.dump) {
            self.output(VERIFY_DUMP.name(), &aux_path.join("block.received"));
        }
    }

    /// Programs and libraries.
    fn engine(&mut self, job: &JobPlan) {
        let engine = &job.engine;
        if let Some(program) = engine.program() {
            let mut words = vec![program.program.clone()];
            words.extend(program.arguments.iter().cloned());
            self.add(IOENGINE.name(), WishKind::Command(words.join(" ")));
            for path in program.output.iter().flat_map(|(out, err)| [out, err]) {
                self.output("std_redirect", path);
            }
        } else if let Some(library) = engine.library() {
            self.add(IOENGINE.name(), WishKind::Library(library.display().to_string()));
        } else if engine.def().runs_programs {
            self.add(IOENGINE.name(), WishKind::Command(engine.def().name.to_owned()));
        }
        if let Some(plan) = engine.blkio() {
            // Properties can name files and devices.
            if !plan.instance.before_connect.is_empty() || !plan.instance.before_start.is_empty() {
                self.add(IOENGINE.name(), WishKind::Library("libblkio".into()));
            }
            let path = plan.instance.path.clone();
            let writes = !plan.instance.read_only;
            self.add("libblkio_path", WishKind::Target { path, writes });
        }
    }

    fn targets(&mut self, job: &JobPlan, spec: Option<&JobSpec>) {
        let option = match spec.and_then(|spec| target_option(spec.engine())) {
            Some(option) => option.name,
            None if job.target.open.generated => DIRECTORY.name(),
            None => FILENAME.name(),
        };
        for file in &job.target.files {
            let writes = job.changes_files() || lays_out(file);
            let target = |path: PathBuf| WishKind::Target { path, writes };
            match file.kind {
                FileKind::Virtual => {}
                FileKind::Endpoint if job.engine.def().access == EngineAccess::Stream => {
                    let what = format!("connection at {}", file.path.display());
                    self.add(option, WishKind::Network(what));
                }
                FileKind::Endpoint if job.engine.endpoint().is_some() => {
                    let shown = job.engine.endpoint().map(|plan| plan.shown(&file.path));
                    let what = format!("connection to {}", shown.unwrap_or_default());
                    self.add(option, WishKind::Network(what));
                }
                _ => self.add(option, target(file.path.clone())),
            }
        }
        if let Some(tree) = job.engine.names().and_then(|names| names.tree.as_ref()) {
            let path = tree.root.clone();
            self.add(option, WishKind::Target { path, writes: true });
        }
        if let Some(donor) = job.engine.donor() {
            let path = donor.to_path_buf();
            self.add("donorname", WishKind::Target { path, writes: true });
        }
        if let Some(file) = job.process.memory.path() {
            self.add(MEM.name(), WishKind::Target { path: file.to_path_buf(), writes: true });
        }
    }

    /// Traces that are replayed.
    fn traces(&mut self, job: &JobPlan) {
        let Some(replay) = &job.replay else { return };
        let mut inputs = Vec::new();
        match &replay.input {
            TraceInput::Files(paths) => inputs.extend(paths),
            TraceInput::Stream(_) => self.input(replay.input.path()),
            TraceInput::Merged(merge) => {
                inputs.extend(merge.sources.iter().flat_map(|source| &source.files));
                self.output("merge_blktrace_file", &merge.file);
            }
        }
        inputs.into_iter().for_each(|path| self.input(path));
    }

    fn input(&mut self, path: &Path) {
        self.add(READ_IOLOG.name(), WishKind::Input(path.to_path_buf()));
    }

    /// Files that the job writes besides its targets.
    fn outputs(&mut self, job: &JobPlan) {
        for file in job.log.iter().flat_map(|log| &log.files) {
            self.output("write_*_log", &file.path);
        }
        if let Some(iolog) = &job.iolog {
            self.output(WRITE_IOLOG.name(), &iolog.path);
        }
        if let Some(path) = &job.reporting.verify_extents {
            self.output(VERIFY_EXTENTS.name(), path);
        }
    }
}

/// Whether the layout creates or extends a file.
fn lays_out(file: &FilePlan) -> bool {
    file.size_needed.is_some_and(|needed| needed > file.size_now.unwrap_or(Bytes::ZERO))
}
