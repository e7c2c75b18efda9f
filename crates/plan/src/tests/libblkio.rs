//! `ioengine=libblkio`: drivers, targets, properties, and what is refused.

use std::path::Path;

use fiord_job::load::Memory as NoFiles;
use fiord_types::Bytes;

use super::*;
use crate::model::*;

const FILE: &str = "--name=a --ioengine=libblkio --libblkio_driver=io_uring --libblkio_path=f";
const SERVER: &str =
    "--name=a --ioengine=libblkio --libblkio_driver=virtio-blk-vhost-user --libblkio_path=sock";

fn machine() -> Fake {
    Fake::empty().file("f", 1 << 20).disk("/dev/sda", 1 << 30)
}

/// A server with a disk of 8 MiB and blocks of 4 KiB.
#[derive(Debug)]
struct Server;

impl Endpoints for Server {
    fn ask(
        &self,
        engine: &EnginePlan,
        address: &Path,
    ) -> Result<Option<EndpointFacts>, EndpointError> {
        assert_eq!(engine.blkio().unwrap().instance.path, address);
        if address == Path::new("sock") {
            return Ok(Some(EndpointFacts {
                block: Bytes(4096),
                ..EndpointFacts::fixed(Bytes::from_mib(8))
            }));
        }
        let help = Some("To fix: start it".to_owned());
        Err(EndpointError {
            what: "nothing listens".into(),
            help,
            errno: None,
            about: EndpointSubject::Target,
        })
    }
}

fn connected(line: &str) -> Result<Vec<JobPlan>, Vec<Diagnostic>> {
    let args: Vec<String> = line.split_whitespace().map(String::from).collect();
    let invocation = fiord_job::invocation(&args, &mut NoFiles::default()).unwrap();
    let options = PlanOptions { endpoints: Some(&Server), ..PlanOptions::of(&invocation) };
    resolve(&invocation.jobs, options, &machine()).map(|resolved| resolved.plan.jobs)
}

fn blkio(plan: &JobPlan) -> &LibblkioPlan {
    plan.engine.blkio().unwrap()
}

#[test]
fn the_target_is_the_path_and_its_size_is_fixed() {
    let plan = job(&machine(), FILE);
    let file = &plan.target.files[0];
    assert_eq!((file.path.as_path(), file.kind), (Path::new("f"), FileKind::Regular));
    assert_eq!((file.len, file.size_needed), (Bytes::from_mib(1), None));
    assert_eq!(plan.process.memory, Memory::MemoryFile);
    let larger = job(&machine(), &format!("{FILE} --size=4m"));
    assert_eq!(
        (larger.target.files[0].len, larger.target.files[0].size_needed),
        (Bytes::from_mib(1), None)
    );
    let device = job(&machine(), &FILE.replace("path=f", "path=/dev/sda"));
    assert_eq!(device.target.files[0].kind, FileKind::Block);
    assert!(!plan.target.open.generated);
}

#[test]
fn a_server_says_how_large_its_disk_is() {
    let plan = &connected(SERVER).unwrap()[0];
    let file = &plan.target.files[0];
    assert_eq!((file.kind, file.len), (FileKind::Endpoint, Bytes::from_mib(8)));
    assert_eq!(plan.engine.def().access, EngineAccess::Endpoint);
    let errors = connected(&format!("{SERVER} --bs=512")).unwrap_err();
    assert_eq!(
        errors[0].what,
        "job `a`: `sock` needs multiples of its block size of 4096 bytes; the job uses 512"
    );
    let unknown = error(&machine(), SERVER);
    assert!(unknown.contains("only the server knows the size of `sock`"), "{unknown}");
}

#[test]
fn devices_in_use_and_system_files_are_protected() {
    let machine = machine().mounted("/dev/sda").file("/etc/passwd", 1 << 20);
    let write = |path: &str| error(&machine, &format!("{FILE} --rw=write").replace("path=f", path));
    let refused = write("path=/dev/sda");
    assert!(refused.contains("`/dev/sda` appears mounted"), "{refused}");
    let property = write("path=f --libblkio_pre_connect_props=path=/dev/sda");
    assert!(property.contains("`/dev/sda` appears mounted"), "{property}");
    job(&machine, &format!("{FILE} --rw=read").replace("path=f", "path=/dev/sda"));
}

#[test]
fn properties_are_read_in_their_order() {
    let line = format!(
        "{SERVER} --size=1m --libblkio_pre_connect_props=a=1:b=x\\:y --libblkio_queue_size=16 \
         --libblkio_pre_start_props=c=2"
    );
    let plan = job(&machine(), &line);
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let instance = &blkio(&plan).instance;
    assert_eq!(instance.before_connect, [pair("a", "1"), pair("b", "x:y")]);
    assert_eq!(instance.before_start, [pair("queue-size", "16"), pair("c", "2")]);
    let entries = job(&machine(), &format!("{FILE} --libblkio_num_entries=4"));
    assert_eq!(blkio(&entries).instance.before_start, [pair("num-entries", "4")]);
    let other =
        job(&machine(), &format!("{FILE} --direct=1 --libblkio_pre_connect_props=direct=true"));
    assert!(blkio(&other).instance.direct && blkio(&other).instance.before_connect.is_empty());
}

#[test]
fn jobs_with_equal_options_share_an_instance() {
    let plans = jobs(
        &machine(),
        &format!(
            "{SERVER} --size=1m --rw=read --numjobs=3 --name=b {} --hipri --size=1m --rw=write",
            &SERVER[8..]
        ),
    );
    assert_eq!(plans.len(), 4);
    for plan in &plans {
        let instance = &blkio(plan).instance;
        assert_eq!((instance.queues(), instance.poll_queues()), (3, 1));
        assert!(!instance.read_only);
        assert_eq!(instance, &blkio(&plans[0]).instance);
    }
    let reader = job(&machine(), &format!("{SERVER} --size=1m --rw=read"));
    assert!(blkio(&reader).instance.read_only);
}

#[test]
fn buffers_are_memory_that_the_driver_can_use() {
    let memory = |line: &str| job(&machine(), line).process.memory;
    assert_eq!(memory(&format!("{SERVER} --size=1m")), Memory::MemoryFile);
    assert_eq!(memory(&format!("{SERVER} --size=1m --mem=mmaphuge")), Memory::HugeMemoryFile(None));
    assert_eq!(memory(&format!("{FILE} --mem=malloc")), Memory::Malloc);
    let refused = error(&machine(), &format!("{SERVER} --size=1m --mem=malloc"));
    assert!(refused.contains("shares the buffers with another process as a file"), "{refused}");
}

#[test]
fn what_is_wrong_is_refused_once() {
    let without = "--name=a --ioengine=libblkio";
    for (line, what) in [
        (without.to_owned(), "engine libblkio requires option libblkio_driver to be set"),
        (format!("{without} --libblkio_driver=io_uring"), "`ioengine=libblkio` has no target"),
        (
            FILE.replace("path=f", "path=none"),
            "`none` does not exist, and `ioengine=libblkio` does not create files",
        ),
        (FILE.replace("path=f", "path=/dev/none"), "there is no device `/dev/none`"),
        (
            format!("{FILE} --libblkio_pre_connect_props=fd=3"),
            "the property `fd` names a descriptor",
        ),
        (
            format!("{FILE} --libblkio_pre_connect_props=x"),
            "`x` in `libblkio_pre_connect_props` is not NAME=VALUE",
        ),
        (format!("{FILE} --libblkio_pre_connect_props=direct=true"), "contradicts `direct=0`"),
        (
            format!("{FILE} --rw=write --libblkio_pre_connect_props=read-only=true"),
            "forbids jobs that write",
        ),
        (
            format!("{SERVER} --size=1m --rw=trim --libblkio_pre_connect_props=read-only=true"),
            "forbids jobs that write",
        ),
        (
            format!("{FILE} --libblkio_queue_size=16"),
            "`libblkio_driver=io_uring` has no property for `libblkio_queue_size`",
        ),
        (
            format!("{SERVER} --size=1m --libblkio_num_entries=16"),
            "has no property for `libblkio_num_entries`",
        ),
        (
            format!("{FILE} --hipri --libblkio_wait_mode=eventfd"),
            "a polled queue (`hipri`) has no event descriptor",
        ),
        (format!("{FILE} --rw=write --unlink=1"), "`ioengine=libblkio` does not remove its target"),
        (format!("{FILE} --rw=write --sync_file_range=write:8"), "flushes the whole target"),
        (
            format!("{FILE} --rw=trim"),
            "`f` is a regular file, and only block devices can be trimmed",
        ),
    ] {
        let errors = run(&machine(), &line).expect_err(&line);
        assert!(errors.len() == 1 && errors[0].what.contains(what), "{line}: {errors:?}");
    }
    job(&machine(), &format!("{FILE} --rw=trim --libblkio_write_zeroes_on_trim"));
}
