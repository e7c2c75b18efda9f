//! Facts about this machine for jobs of other hosts: planning opens and lists only what the policy allows.
//!
//! The finished plan is checked again, with everything that it does (`wishes.rs`). Planning alone can already open devices,
//! read traces and states, and connect to servers. It may check whether a file exists, and how long it is.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::{self, Debug, Formatter};
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use fiord_fabric::policy::{Forbidden, HostPolicy, Wish, WishKind};
use fiord_job::spec::JobSpec;
use fiord_plan::machine::system::SystemFacts;
use fiord_plan::{
    EndpointError, EndpointFacts, EndpointSubject, Endpoints, EnginePlan, Facts, Found, NotScsi,
    Passthrough, ScsiDisk, ZoneFacts,
};
use fiord_run::Targets;
use fiord_sys::flash::Flash;
use fiord_sys::in_use::{Users, WriteObstacle};
use fiord_sys::nvme;
use fiord_sys::nvme::admin::Refused;
use fiord_types::{Bytes, Errno};

/// The facts that the policy allows, and what it did not allow so far.
pub(super) struct AllowedFacts<'a> {
    policy: &'a HostPolicy,
    /// The jobs, for messages.
    jobs: &'a [JobSpec],
    /// The verify states that the coordinator sent, by their file names.
    states: &'a HashMap<String, Vec<u8>>,
    forbidden: RefCell<Vec<Forbidden>>,
}

impl Debug for AllowedFacts<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("AllowedFacts").field("policy", self.policy).finish_non_exhaustive()
    }
}

impl<'a> AllowedFacts<'a> {
    pub(super) fn new(
        policy: &'a HostPolicy,
        jobs: &'a [JobSpec],
        states: &'a HashMap<String, Vec<u8>>,
    ) -> Self {
        AllowedFacts { policy, jobs, states, forbidden: RefCell::default() }
    }

    /// The verify state that a path without hosts would lead to. `None`: the path is not that of a state.
    fn state(&self, path: &Path) -> Option<io::Result<Vec<u8>>> {
        let name = path.file_name()?.to_str()?;
        let rest = name.strip_prefix("local")?;
        rest.ends_with("-verify.state").then(|| {
            let missing = format!(
                "the --aux-path of the coordinator contains no file whose name is that of this host followed by \
                 `{rest}`"
            );
            self.states.get(name).cloned().ok_or_else(|| io::Error::other(missing))
        })
    }

    /// What the policy did not allow.
    pub(super) fn forbidden(&self) -> Vec<Forbidden> {
        self.forbidden.borrow().clone()
    }

    fn allow(&self, path: &Path, kind: WishKind) -> io::Result<()> {
        let (job, option) = self.origin(path);
        let mut refused = self.policy.check(&[Wish { job, option, kind }]);
        let Some(first) = refused.first() else { return Ok(()) };
        let error = io::Error::new(io::ErrorKind::PermissionDenied, first.to_string());
        self.forbidden.borrow_mut().append(&mut refused);
        Err(error)
    }

    fn allow_input(&self, path: &Path) -> io::Result<()> {
        self.allow(path, WishKind::Input(path.to_path_buf()))
    }

    /// The job and the option that a path comes from.
    fn origin(&self, path: &Path) -> (String, String) {
        let shown = path.to_string_lossy();
        let length = |text: &Option<String>| {
            text.as_ref().filter(|text| shown.contains(text.as_str())).map_or(0, String::len)
        };
        let settings = self.jobs.iter().flat_map(|job| {
            job.settings.iter().map(move |setting| (length(&setting.text), job, setting))
        });
        // A short text, such as the name of a job, is in a path by chance.
        let longest =
            settings.filter(|(length, ..)| *length > 0).max_by_key(|(length, ..)| *length);
        if let Some((_, job, setting)) = longest {
            return (job.name.clone(), setting.def.name.to_owned());
        }
        let job = self.jobs.first().map(|job| job.name.clone()).unwrap_or_default();
        (job, "filename".to_owned())
    }
}

/// Whether a path leads to a device. Planning opens devices to learn about them.
fn is_device(path: &Path) -> bool {
    let device = |kind: std::fs::FileType| kind.is_block_device() || kind.is_char_device();
    std::fs::metadata(path).is_ok_and(|found| device(found.file_type()))
}

impl Endpoints for AllowedFacts<'_> {
    fn ask(
        &self,
        engine: &EnginePlan,
        address: &Path,
    ) -> Result<Option<EndpointFacts>, EndpointError> {
        let kind = match engine.endpoint() {
            Some(plan) => WishKind::Network(format!("connection to {}", plan.shown(address))),
            None if address.is_absolute() => {
                WishKind::Target { path: address.to_path_buf(), writes: false }
            }
            None => WishKind::Network(format!("connection to {}", address.display())),
        };
        let refused = |error: io::Error| EndpointError {
            what: error.to_string(),
            help: None,
            errno: Some(Errno::EACCES),
            about: EndpointSubject::Policy,
        };
        self.allow(address, kind).map_err(refused)?;
        Targets.ask(engine, address)
    }
}

impl Facts for AllowedFacts<'_> {
    fn look(&self, path: &Path) -> io::Result<Found> {
        if is_device(path) {
            self.allow(path, WishKind::Target { path: path.to_path_buf(), writes: false })?;
        }
        SystemFacts.look(path)
    }
    fn look_at_link(&self, path: &Path) -> (io::Result<Found>, bool) {
        match is_device(path) {
            true => (self.look(path), self.is_link(path)),
            false => SystemFacts.look_at_link(path),
        }
    }
    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        self.allow_input(directory)?;
        SystemFacts.list(directory)
    }
    fn text(&self, path: &Path) -> io::Result<String> {
        self.allow_input(path)?;
        SystemFacts.text(path)
    }
    fn contents(&self, path: &Path, most: Bytes) -> io::Result<Vec<u8>> {
        if let Some(state) = self.state(path) {
            return state;
        }
        self.allow_input(path)?;
        SystemFacts.contents(path, most)
    }
    fn open_trace(&self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        if path == Path::new("-") {
            return Err(io::Error::other("an agent has no standard input"));
        }
        self.allow_input(path)?;
        SystemFacts.open_trace(path)
    }
    fn logical_block(&self, device: &Path) -> Option<u32> {
        SystemFacts.logical_block(device)
    }
    fn dax_alignment(&self, device: &Path) -> Option<Bytes> {
        SystemFacts.dax_alignment(device)
    }
    fn passthrough(&self, device: &Path) -> Option<Passthrough> {
        SystemFacts.passthrough(device)
    }
    fn namespace(&self, device: &Path) -> Result<nvme::NvmeDevice, Refused> {
        SystemFacts.namespace(device)
    }
    fn generic_sibling(&self, device: &Path) -> Option<PathBuf> {
        SystemFacts.generic_sibling(device)
    }
    fn block_sibling(&self, device: &Path) -> Option<PathBuf> {
        SystemFacts.block_sibling(device)
    }
    fn zones(&self, device: &Path) -> Option<ZoneFacts> {
        SystemFacts.zones(device)
    }
    fn scsi_disk(&self, device: &Path) -> Result<ScsiDisk, NotScsi> {
        SystemFacts.scsi_disk(device)
    }
    fn flash(&self, device: &Path) -> Option<Flash> {
        SystemFacts.flash(device)
    }
    fn user(
        &self,
        device: &Path,
        users: &Users,
    ) -> Result<Option<WriteObstacle>, fiord_sys::Error> {
        SystemFacts.user(device, users)
    }
    fn system_directory(&self, path: &Path) -> Option<String> {
        SystemFacts.system_directory(path)
    }
    fn is_link(&self, path: &Path) -> bool {
        SystemFacts.is_link(path)
    }
    fn is_created_by_fiord(&self, path: &Path) -> bool {
        SystemFacts.is_created_by_fiord(path)
    }
    fn takes_buffers(&self, path: &Path) -> bool {
        SystemFacts.takes_buffers(path)
    }
    fn free_space(&self, path: &Path) -> Option<u64> {
        SystemFacts.free_space(path)
    }
    fn placement_ids(&self, device: &Path) -> Result<Vec<u16>, Refused> {
        SystemFacts.placement_ids(device)
    }
    fn write_streams(&self, device: &Path) -> Option<u32> {
        SystemFacts.write_streams(device)
    }
    fn block_device(&self, major: u32, minor: u32) -> Option<PathBuf> {
        SystemFacts.block_device(major, minor)
    }
    fn page_size(&self) -> u64 {
        SystemFacts.page_size()
    }
    fn huge_pages(&self) -> Vec<u64> {
        SystemFacts.huge_pages()
    }
    fn cpus(&self) -> Vec<u32> {
        SystemFacts.cpus()
    }
    fn nodes(&self) -> Vec<u32> {
        SystemFacts.nodes()
    }
    fn cpus_of_node(&self, node: u32) -> Vec<u32> {
        SystemFacts.cpus_of_node(node)
    }
    fn entropy(&self) -> u64 {
        SystemFacts.entropy()
    }
}
