//! `libblkio`: driver, target, properties, buffers, and the jobs that share an instance.

use std::path::PathBuf;

use fiord_job::diagnostic::Diagnostic;
use fiord_job::option::def::OptionDef;
use fiord_job::option::handle::WordEnum;
use fiord_job::option::table::library::{
    HIPRI, LIBBLKIO_DRIVER, LIBBLKIO_FORCE_ENABLE_COMPLETION_EVENTFD, LIBBLKIO_NUM_ENTRIES,
    LIBBLKIO_PATH, LIBBLKIO_PRE_CONNECT_PROPS, LIBBLKIO_PRE_START_PROPS, LIBBLKIO_QUEUE_SIZE,
    LIBBLKIO_VECTORED, LIBBLKIO_WAIT_MODE, LIBBLKIO_WRITE_ZEROES_ON_TRIM,
};
use fiord_job::option::table::{
    DIRECT, FILE_APPEND, IOENGINE, MEM, SYNC_FILE_RANGE, UNLINK, UNLINK_EACH_LOOP,
};

use fiord_types::Dir;

use super::endpoint;
use crate::files::open;
use crate::load;
use crate::machine::survey::Survey;
use crate::model::{
    BlkioInstance, EndpointSubject, EnginePlan, JobPlan, LibblkioDriver, LibblkioPlan,
    LibblkioWaitMode, Load, Memory, Process,
};
use crate::options::reading::Reading;

/// A name and a value.
type Property = (String, String);

pub(super) fn options(job: Reading) -> Option<LibblkioPlan> {
    let Some(driver) = job.get(LIBBLKIO_DRIVER) else {
        let what = "engine libblkio requires option libblkio_driver to be set";
        let help = "To fix: set `libblkio_driver=io_uring` for a file or a block device, or \
                    `libblkio_driver=virtio-blk-vhost-user` for a vhost-user server";
        job.report(job.error(LIBBLKIO_DRIVER, what).help(help));
        return None;
    };
    let mut before_connect = properties(job, LIBBLKIO_PRE_CONNECT_PROPS);
    let path = path(job, &mut before_connect)?;
    let direct = open::direct(job);
    let mut instance = BlkioInstance::new(driver, path);
    if instance.opens_file() {
        of_open_file(job, direct, &mut before_connect);
    }
    instance.direct = direct && instance.opens_file();
    instance.before_connect = before_connect;
    let number = |name: &str, value: Option<u32>| Some((name.to_owned(), value?.to_string()));
    refuse_other_numbers(job, &instance);
    let numbers = [
        number("num-entries", job.get(LIBBLKIO_NUM_ENTRIES)),
        number("queue-size", job.get(LIBBLKIO_QUEUE_SIZE)),
    ];
    instance.before_start = numbers.into_iter().flatten().collect();
    instance.before_start.extend(properties(job, LIBBLKIO_PRE_START_PROPS));
    let wait = job.get(LIBBLKIO_WAIT_MODE);
    let forced = job.get(LIBBLKIO_FORCE_ENABLE_COMPLETION_EVENTFD);
    let polled = job.get(HIPRI);
    let waits = wait == LibblkioWaitMode::Eventfd;
    for (option, used) in [
        (LIBBLKIO_WAIT_MODE.def(), waits),
        (LIBBLKIO_FORCE_ENABLE_COMPLETION_EVENTFD.def(), forced),
    ] {
        if polled && used {
            let what = "a polled queue (`hipri`) has no event descriptor for completions";
            let help = format!("To fix: leave out `hipri` or `{}`", option.name);
            job.report(job.error(option, what).help(help));
        }
    }
    refuse_what_needs_a_file(job);
    Some(LibblkioPlan {
        instance,
        polled,
        vectored: job.get(LIBBLKIO_VECTORED),
        zeroes_on_trim: job.get(LIBBLKIO_WRITE_ZEROES_ON_TRIM),
        wait,
        completion_events: waits || forced,
    })
}

/// Refuses the size of queues that another kind of driver has.
fn refuse_other_numbers(job: Reading, instance: &BlkioInstance) {
    let rings = instance.opens_file();
    let (other, right) = match rings {
        true => (LIBBLKIO_QUEUE_SIZE, LIBBLKIO_NUM_ENTRIES),
        false => (LIBBLKIO_NUM_ENTRIES, LIBBLKIO_QUEUE_SIZE),
    };
    if job.get(other).is_some() {
        let what = format!(
            "`libblkio_driver={}` has no property for `{}`",
            instance.driver.word(),
            other.name()
        );
        let help = format!("To fix: use `{}`", right.name());
        job.report(job.error(other, what).help(help));
    }
}

/// The target: `libblkio_path`, or the property `path`, which replaces it.
fn path(job: Reading, properties: &mut Vec<Property>) -> Option<PathBuf> {
    let set = properties.iter().rev().find(|(name, _)| name == "path");
    let path = set.map(|(_, value)| value.clone()).or_else(|| job.get(LIBBLKIO_PATH));
    properties.retain(|(name, _)| name != "path");
    let path = path.filter(|path| !path.is_empty()).map(PathBuf::from);
    if path.is_none() {
        let what = "`ioengine=libblkio` has no target: the job sets no `libblkio_path`";
        let help = "To fix: name the file, device or socket: `libblkio_path=/dev/nvme0n1`";
        job.report(job.error(LIBBLKIO_PATH, what).help(help));
    }
    path
}

/// Reads a list of properties. A backslash before a colon makes it part of a value.
fn properties(
    job: Reading,
    option: fiord_job::option::handle::Opt<Option<String>>,
) -> Vec<Property> {
    let text = job.get(option).unwrap_or_default();
    let mut read = Vec::new();
    for part in split(&text) {
        match part.split_once('=') {
            Some((name, value)) if !name.trim().is_empty() => {
                read.push((name.trim().to_owned(), value.trim().to_owned()));
            }
            _ => {
                let what = format!("`{part}` in `{}` is not NAME=VALUE", option.name());
                let help = "To fix: write properties as `name=value:name=value`";
                job.report(job.error(option, what).help(help));
            }
        }
    }
    if read.iter().any(|(name, _)| name == "fd") {
        let what = "the property `fd` names a descriptor, but fiord inherits none for targets";
        job.report(job.error(option, what).help("To fix: set `libblkio_path`"));
    }
    read
}

/// The parts between the colons that have no backslash before them.
fn split(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut escaped = false;
    for c in text.chars() {
        let part = parts.last_mut().expect("there is always a part");
        match c {
            ':' if escaped => {
                part.pop();
                part.push(':');
            }
            ':' => parts.push(String::new()),
            c => part.push(c),
        }
        escaped = c == '\\' && !escaped;
    }
    parts.retain(|part| !part.trim().is_empty());
    parts
}

/// Checks the properties that only say how the file is opened, and removes them: fiord opens it.
fn of_open_file(job: Reading, direct: bool, properties: &mut Vec<Property>) {
    let writes = open::changes_files(load::mix(job).0, job.spec.engine().access);
    let option = LIBBLKIO_PRE_CONNECT_PROPS;
    for (name, value) in properties.iter() {
        let on = value == "true";
        match name.as_str() {
            "direct" if on != direct => {
                let what = format!(
                    "the property `direct={value}` contradicts `direct={}` of the job",
                    u8::from(direct)
                );
                let help =
                    format!("To fix: leave it out, and set `{}={}`", DIRECT.name(), u8::from(on));
                job.report(job.error(option, what).help(help));
            }
            "read-only" if on && writes => job.report(written_read_only(job)),
            _ => {}
        }
    }
    properties.retain(|(name, _)| name != "direct" && name != "read-only");
}

fn written_read_only(job: Reading) -> Diagnostic {
    let what = "the property `read-only=true` forbids jobs that write or trim";
    job.error(LIBBLKIO_PRE_CONNECT_PROPS, what)
        .help("To fix: leave it out, or use `rw=read` or `rw=randread`")
}

/// Refuses what an engine can do only with a file that it opens by itself.
fn refuse_what_needs_a_file(job: Reading) {
    let name = job.get(IOENGINE);
    let refuse = |option: &'static OptionDef, used: bool, why: &str| {
        if used {
            let what = format!("`ioengine={name}` {why}");
            let help = format!("To fix: leave out `{}`", option.name);
            job.report(job.error(option, what).help(help));
        }
    };
    refuse(UNLINK.def(), job.get(UNLINK), "does not remove its target");
    refuse(UNLINK_EACH_LOOP.def(), job.get(UNLINK_EACH_LOOP), "does not remove its target");
    refuse(FILE_APPEND.def(), job.get(FILE_APPEND), "cannot extend its target");
    let ranges = job.is_set(SYNC_FILE_RANGE);
    refuse(SYNC_FILE_RANGE.def(), ranges, "flushes the whole target, and has no ranges");
}

/// The target of a job, if the driver connects to it: asks it for its size.
pub(super) fn connect(
    job: Reading,
    engine: &EnginePlan,
    survey: &mut Survey,
) -> Option<Vec<PathBuf>> {
    let path = &engine.blkio()?.instance.path;
    if engine.def().access.is_remote()
        && let Err(why) = survey.ask(engine, path)
    {
        let option = match why.about {
            EndpointSubject::Property => LIBBLKIO_PRE_CONNECT_PROPS,
            _ => LIBBLKIO_PATH,
        };
        endpoint::refuse(job, option.def(), why);
        return Some(Vec::new());
    }
    Some(vec![path.clone()])
}

/// Sets the memory of the buffers. A job that does not set `mem` leaves the choice to libblkio, which takes a memory file.
pub(crate) fn process(job: Reading, engine: &EnginePlan, mut process: Process) -> Process {
    let Some(plan) = engine.blkio() else { return process };
    let driver = plan.instance.driver;
    let shares = matches!(driver, LibblkioDriver::VhostUser | LibblkioDriver::VhostVdpa);
    match &process.memory {
        _ if !job.is_set(MEM) => process.memory = Memory::MemoryFile,
        Memory::MmapHuge { file: None, page } if shares => {
            process.memory = Memory::HugeMemoryFile(*page);
        }
        other if shares && other.path().is_none() => {
            let what = format!(
                "`libblkio_driver={}` shares the buffers with another process as a file, which this `mem` does not \
                 provide",
                driver.word()
            );
            let help = "To fix: leave out `mem`, or use `mem=mmaphuge` for huge pages";
            job.report(job.error(MEM, what).help(help));
        }
        _ => {}
    }
    process
}

/// Refuses a target that a property declares as read-only to a job that writes.
pub(super) fn check(job: Reading, engine: &EnginePlan, load: &Load) {
    let Some(plan) = engine.blkio() else { return };
    let read_only = ("read-only".to_owned(), "true".to_owned());
    let writes = load.mix.has(Dir::Write) || load.mix.has(Dir::Trim);
    if writes && plan.instance.before_connect.contains(&read_only) {
        job.report(written_read_only(job));
    }
}

/// Counts the jobs that share each instance, and finds out whether one of them writes.
pub(crate) fn share(plans: &mut [JobPlan]) {
    let mut instances: Vec<(BlkioInstance, [u32; 2])> = Vec::new();
    let wanted = |plan: &JobPlan| {
        let blkio = plan.engine.blkio()?;
        let mut instance = blkio.instance.clone();
        // Each descriptor of a file has its own mode. A connection serves all jobs.
        instance.read_only = instance.opens_file() && plan.target.open.read_only;
        Some((instance, blkio.polled, plan.target.open.read_only))
    };
    let mut written = Vec::new();
    for (instance, polled, read_only) in plans.iter().filter_map(wanted) {
        let at = instances.iter().position(|(known, _)| *known == instance);
        let at = at.unwrap_or_else(|| {
            instances.push((instance, [0; 2]));
            written.push(false);
            instances.len() - 1
        });
        instances[at].1[usize::from(polled)] += 1;
        written[at] |= !read_only;
    }
    for plan in plans {
        let Some((instance, ..)) = wanted(plan) else { continue };
        let Some(at) = instances.iter().position(|(known, _)| *known == instance) else { continue };
        let [queues, poll_queues] = instances[at].1;
        if let EnginePlan::Libblkio(blkio) = &mut plan.engine {
            blkio.instance = instance.shared_by(queues, poll_queues);
            blkio.instance.read_only = !written[at];
        }
    }
}
