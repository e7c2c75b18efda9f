//! Which hosts a command line names, and what each of them is to run.
//!
//! `--hosts` and `--hostsfile` name hosts that run all jobs. `--client` names servers that run the job files between it
//! and the next `--client`, as in fio. Several `--client` in a row share the files behind them.

use std::num::NonZeroU32;

use super::args::{self, Arguments, Parsed, ParsedArgument};
use super::table::Acts;
use crate::diagnostic::Diagnostic;
use crate::spec::Place;

/// Hosts that run the same jobs.
#[derive(Debug, Clone, Default)]
pub struct HostGroup {
    /// The hosts.
    pub hosts: Vec<HostNames>,
    /// The options that these hosts get, and the jobs of the command line.
    pub options: Vec<String>,
    /// Job files of the coordinator.
    pub files: Vec<String>,
    /// Job files of the hosts (`--remote-config`).
    pub own_files: Vec<String>,
}

impl HostGroup {
    /// The arguments of `fiord` on these hosts.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = self.options.clone();
        arguments.extend(self.own_files.iter().map(|file| format!("--remote-config={file}")));
        arguments.push("--".into());
        arguments.extend(self.files.iter().cloned());
        arguments
    }

    /// The arguments without the job files that only the hosts have: what the coordinator can check.
    #[must_use]
    pub fn local_arguments(&self) -> Vec<String> {
        HostGroup { own_files: Vec::new(), ..self.clone() }.arguments()
    }
}

/// Names of hosts, as the user wrote them.
#[derive(Debug, Clone)]
pub struct HostNames {
    /// The value of the option.
    pub text: String,
    /// What the value is.
    pub form: HostForm,
    /// Where it is on the command line.
    pub place: Place,
}

/// What the value of an option that names hosts is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostForm {
    /// `--hosts`: a list.
    List,
    /// `--hostsfile`: a file with one host in each line.
    File,
    /// `--client`: the address of a server, or a file with one address in each line.
    Client,
    /// `--ranks`: the processes of a parallel job. The command line does not say how many there are: the text is empty
    /// until the program writes their number there.
    Ranks,
}

/// A command line that names hosts.
#[derive(Debug, Clone, Default)]
pub struct HostsCommand {
    /// The hosts. Not empty.
    pub groups: Vec<HostGroup>,
    /// The arguments without the hosts and job files: options of this process, and jobs of the command line.
    pub rest: Vec<String>,
}

impl HostsCommand {
    /// Whether the hosts are the processes of a parallel job (`--ranks`).
    #[must_use]
    pub fn is_ranks(&self) -> bool {
        self.hosts().any(|host| host.form == HostForm::Ranks)
    }

    /// Says how many processes the parallel job has.
    pub fn set_ranks(&mut self, ranks: NonZeroU32) {
        let hosts = self.groups.iter_mut().flat_map(|group| &mut group.hosts);
        hosts
            .filter(|host| host.form == HostForm::Ranks)
            .for_each(|host| host.text = ranks.to_string());
    }

    fn hosts(&self) -> impl Iterator<Item = &HostNames> {
        self.groups.iter().flat_map(|group| &group.hosts)
    }
}

impl HostForm {
    /// The option for hosts that are reached in this way.
    fn option(self) -> &'static str {
        match self {
            HostForm::List | HostForm::File => "--hosts",
            HostForm::Client => "--client",
            HostForm::Ranks => "--ranks",
        }
    }
}

/// Finds the hosts of a command line (without the program's own name). `None`: the jobs run in this process.
///
/// ```
/// use fiord_job::command::hosts::hosts_command;
///
/// let line = ["--client=a", "--bs=4k", "x.fio", "--client=b", "y.fio"].map(String::from);
/// let command = hosts_command(&line)?.unwrap();
/// assert_eq!(command.groups[0].arguments(), ["--bs=4k", "--", "x.fio"]);
/// assert_eq!(command.groups[1].arguments(), ["--bs=4k", "--", "y.fio"]);
/// # Ok::<(), Vec<fiord_job::diagnostic::Diagnostic>>(())
/// ```
///
/// # Errors
/// An option cannot be used with hosts, a host has no job, or `--client` and `--hosts` are mixed. Errors that
/// [`super::invocation`] reports are not looked for.
pub fn hosts_command(args: &[String]) -> Result<Option<HostsCommand>, Vec<Diagnostic>> {
    let arguments = args::read(args);
    let mut split = Split::default();
    for parsed in &arguments.parsed {
        split.take(parsed);
    }
    if split.groups.is_empty() {
        return Ok(None);
    }
    split.finished(&arguments, args).map(Some)
}

/// State while the arguments are distributed.
#[derive(Default)]
struct Split {
    groups: Vec<HostGroup>,
    /// The job files in front of the first host.
    early: HostGroup,
    /// Arguments that do not go to all hosts.
    taken: Vec<usize>,
    /// Arguments that name hosts and job files.
    placed: Vec<usize>,
    wrong: Vec<Diagnostic>,
    /// Options that are wrong if there is a host.
    refused: Vec<Diagnostic>,
}

impl Split {
    fn take(&mut self, parsed: &Parsed) {
        let (mut taken, mut placed) = (true, true);
        match &parsed.what {
            ParsedArgument::File(name, _) => self.last().files.push(name.clone()),
            ParsedArgument::General(def, text, place) => {
                let text = text.clone().unwrap_or_default();
                let host = |form| HostNames { text: text.clone(), form, place: place.clone() };
                match (def.name, def.acts) {
                    ("hosts", _) => self.host(host(HostForm::List)),
                    ("hostsfile", _) => self.host(host(HostForm::File)),
                    ("client", _) => self.host(host(HostForm::Client)),
                    ("ranks", _) => self.host(host(HostForm::Ranks)),
                    ("remote-config", _) => self.last().own_files.push(text),
                    (_, Acts::AtHosts) => (taken, placed) = (false, false),
                    (_, Acts::AtCoordinator) => placed = false,
                    (name, Acts::Refused(why)) => {
                        let what = format!("--{name} cannot be used with hosts: {why}");
                        self.refused.push(Diagnostic::error(what, Some(place.clone())));
                    }
                }
            }
        }
        if taken {
            self.taken.extend(parsed.arguments.clone());
        }
        if placed {
            self.placed.extend(parsed.arguments.clone());
        }
    }

    /// The group that job files belong to now.
    fn last(&mut self) -> &mut HostGroup {
        self.groups.last_mut().unwrap_or(&mut self.early)
    }

    fn host(&mut self, host: HostNames) {
        let is_server = host.form == HostForm::Client;
        let differs = |other: &&HostNames| other.form.option() != host.form.option();
        if let Some(other) = self.groups.iter().flat_map(|group| &group.hosts).find(differs) {
            let (one, other) = (other.form.option(), host.form.option());
            let what = format!("{one} cannot be mixed with {other}");
            self.wrong.push(Diagnostic::error(what, Some(host.place.clone())).help(
                "To fix: name all servers with --client, or reach all hosts over ssh with --hosts, or use --ranks alone",
            ));
        }
        let begins = match self.groups.last() {
            None => true,
            Some(group) => is_server && !(group.files.is_empty() && group.own_files.is_empty()),
        };
        if begins {
            let group = std::mem::take(&mut self.early);
            self.groups.push(group);
        }
        self.last().hosts.push(host);
    }

    fn finished(
        mut self,
        parsed: &Arguments,
        args: &[String],
    ) -> Result<HostsCommand, Vec<Diagnostic>> {
        let has_jobs = parsed.profile.is_some() || parsed.sections.iter().any(|s| !s.is_global());
        let marker = args.iter().position(|argument| argument == "--");
        let without = |left_out: &[usize]| -> Vec<String> {
            let kept = |(at, _): &(usize, &String)| !left_out.contains(at) && Some(*at) != marker;
            args.iter().enumerate().filter(kept).map(|(_, argument)| argument.clone()).collect()
        };
        let (options, rest) = (without(&self.taken), without(&self.placed));
        for group in &mut self.groups {
            if group.files.is_empty() && group.own_files.is_empty() && !has_jobs {
                let host = group.hosts.first();
                let name = host.map_or("", |host| host.text.as_str());
                self.wrong.push(
                    Diagnostic::error(
                        format!("no job for {name}"),
                        host.map(|host| host.place.clone()),
                    )
                    .help("To fix: write the job file behind the hosts that run it"),
                );
            }
            group.options.clone_from(&options);
        }
        self.wrong.append(&mut self.refused);
        if !self.wrong.is_empty() {
            return Err(self.wrong);
        }
        Ok(HostsCommand { groups: self.groups, rest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hosts and the arguments of a group.
    type Found = (Vec<String>, Vec<String>);

    fn groups(line: &str) -> Result<Vec<Found>, String> {
        let args: Vec<String> = line.split_whitespace().map(String::from).collect();
        let found = hosts_command(&args).map_err(|errors| errors[0].what.clone())?;
        let found = found.map(|command| command.groups).unwrap_or_default();
        let texts = |group: &HostGroup| group.hosts.iter().map(|host| host.text.clone()).collect();
        Ok(found.iter().map(|group| (texts(group), group.arguments())).collect())
    }

    fn group(hosts: &[&str], arguments: &[&str]) -> Found {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_string()).collect();
        (owned(hosts), owned(arguments))
    }

    #[test]
    fn each_server_runs_the_files_behind_it() {
        let line =
            "--client=a x.fio --output-format=json -C b --readonly y.fio --remote-config=/r.fio";
        let expected = [
            group(&["a"], &["--readonly", "--", "x.fio"]),
            group(&["b"], &["--readonly", "--remote-config=/r.fio", "--", "y.fio"]),
        ];
        assert_eq!(groups(line).unwrap(), expected);
    }

    #[test]
    fn servers_in_a_row_share_files() {
        let expected = [group(&["a", "b"], &["--", "x.fio"])];
        assert_eq!(groups("--client=a --client b x.fio").unwrap(), expected);
    }

    #[test]
    fn a_list_of_hosts_runs_everything() {
        let line = "x.fio --bs=4k --hosts n[1-2] --name=j --eta=never --hosts=m -- -y.fio";
        let expected = [group(&["n[1-2]", "m"], &["--bs=4k", "--name=j", "--", "x.fio", "-y.fio"])];
        assert_eq!(groups(line).unwrap(), expected);
    }

    #[test]
    fn what_hosts_cannot_do_is_refused() {
        assert_eq!(groups("x.fio --debug=io").unwrap(), []);
        let wrong = |line: &str| groups(line).unwrap_err();
        assert!(
            wrong("--hosts=a --debug=io x.fio").starts_with("--debug cannot be used with hosts")
        );
        assert!(wrong("--hosts=a --client=b x.fio").starts_with("--hosts cannot be mixed"));
        assert!(
            wrong("--ranks --hosts=b x.fio").starts_with("--ranks cannot be mixed with --hosts")
        );
        assert_eq!(wrong("--client=a x.fio --client=b"), "no job for b");
    }

    #[test]
    fn abbreviations_of_fio_keep_their_meaning() {
        let line = ["--name=a", "--ioengine=net", "--host=x"].map(String::from);
        assert!(args::read(&line).wrong.is_empty());
    }
}
