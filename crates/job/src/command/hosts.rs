//! Which hosts a command line names, and what each of them is to run.
//!
//! `--hosts` and `--hostsfile` name hosts that run all jobs. `--client` names servers that run the job files between it
//! and the next `--client`, as in fio. Several `--client` in a row share the files after them.

use std::num::NonZeroU32;
use std::sync::Arc;

use super::args::{self, Arguments, Parsed, ParsedArgument};
use super::table::Acts;
use crate::diagnostic::Diagnostic;
use crate::spec::Place;

/// Hosts that run the same jobs.
#[derive(Debug, Clone, Default)]
pub struct HostGroup {
    pub hosts: Vec<HostNames>,
    /// The options that these hosts get, and the jobs of the command line.
    pub options: Vec<String>,
    /// Job files of the coordinator.
    pub files: Vec<String>,
    /// Job files of the hosts (`--remote-config`).
    pub own_files: Vec<String>,
    /// Where `files` are on the command line: the numbers of their arguments.
    placed_files: Vec<usize>,
}

impl HostGroup {
    /// The arguments of `fiord` on these hosts.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = self.options.clone();
        arguments.extend(self.own_files.iter().map(|file| format!("--remote-config={file}")));
        if !self.files.is_empty() {
            arguments.push("--".into());
            arguments.extend(self.files.iter().cloned());
        }
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
    /// The complete command line, for messages.
    typed: TypedArguments,
}

/// A command line, and where its parts went.
#[derive(Debug, Clone, Default)]
struct TypedArguments {
    arguments: Vec<String>,
    /// The number of each argument in [`HostGroup::options`].
    options: Vec<usize>,
    /// The number of each argument in [`HostsCommand::rest`].
    rest: Vec<usize>,
}

impl TypedArguments {
    /// Moves the places of messages about other arguments to this command line. `numbers` has the number of each of those
    /// arguments; `None` stands for one that the user did not type.
    fn locate(
        &self,
        numbers: &[Option<usize>],
        others: &[String],
        mut wrong: Vec<Diagnostic>,
    ) -> Vec<Diagnostic> {
        let (theirs, starts) = args::source_of(others);
        let (source, typed_starts) = args::source_of(&self.arguments);
        let moved = |at: usize| {
            let argument = starts.partition_point(|start| *start <= at).checked_sub(1)?;
            let number = (*numbers.get(argument)?)?;
            Some(typed_starts.get(number)? + at - starts[argument])
        };
        for place in wrong.iter_mut().filter_map(|message| message.place.as_mut()) {
            if *place.source != *theirs {
                continue;
            }
            let Some(begin) = moved(place.span.start) else { continue };
            let last = place.span.end.max(place.span.start + 1) - 1;
            let end = moved(last).map_or(begin, |at| at + 1).max(begin);
            *place = Place { source: Arc::clone(&source), span: begin..end };
        }
        wrong
    }
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

    /// Messages about [`HostGroup::local_arguments`] with their places on the command line that the user typed.
    #[must_use]
    pub fn group_as_typed(&self, group: &HostGroup, wrong: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let mut numbers: Vec<Option<usize>> =
            self.typed.options.iter().copied().map(Some).collect();
        if !group.placed_files.is_empty() {
            numbers.push(None);
            numbers.extend(group.placed_files.iter().copied().map(Some));
        }
        self.typed.locate(&numbers, &group.local_arguments(), wrong)
    }

    /// Messages about [`HostsCommand::rest`] with their places on the command line that the user typed.
    #[must_use]
    pub fn rest_as_typed(&self, wrong: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let numbers: Vec<Option<usize>> = self.typed.rest.iter().copied().map(Some).collect();
        self.typed.locate(&numbers, &self.rest, wrong)
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
    /// The job files before the first host.
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
            ParsedArgument::File(name, _) => {
                let number = parsed.arguments.start;
                let group = self.last();
                group.files.push(name.clone());
                group.placed_files.push(number);
            }
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
        let without = |left_out: &[usize]| -> Vec<usize> {
            let kept = |at: &usize| !left_out.contains(at) && Some(*at) != marker;
            (0..args.len()).filter(kept).collect()
        };
        let typed = TypedArguments {
            arguments: args.to_vec(),
            options: without(&self.taken),
            rest: without(&self.placed),
        };
        let named = |numbers: &[usize]| -> Vec<String> {
            numbers.iter().map(|number| args[*number].clone()).collect()
        };
        let (options, rest) = (named(&typed.options), named(&typed.rest));
        for group in &mut self.groups {
            if group.files.is_empty() && group.own_files.is_empty() && !has_jobs {
                let host = group.hosts.first();
                let name = host.map_or("", |host| host.text.as_str());
                self.wrong.push(
                    Diagnostic::error(
                        format!("no job for {name}"),
                        host.map(|host| host.place.clone()),
                    )
                    .help("To fix: write the job file after the hosts that run it"),
                );
            }
            group.options.clone_from(&options);
        }
        self.wrong.append(&mut self.refused);
        if !self.wrong.is_empty() {
            return Err(self.wrong);
        }
        Ok(HostsCommand { groups: self.groups, rest, typed })
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
    fn messages_show_what_the_user_typed() {
        let line = "--client=a --output x.json z.fio --client=b --bs 4q y.fio";
        let args: Vec<String> = line.split_whitespace().map(String::from).collect();
        let command = hosts_command(&args).unwrap().unwrap();
        let group = &command.groups[1];
        let (source, starts) = args::source_of(&group.local_arguments());
        let at = |span| Diagnostic::error("x", Some(Place { source: Arc::clone(&source), span }));
        assert_eq!(source.text, "--bs 4q -- y.fio");
        let wrong = vec![at(0..7), at(starts[3]..starts[3] + 5), at(8..10)];
        let shown = |message: &Diagnostic| {
            let place = message.place.clone().unwrap();
            place.source.text[place.span].to_owned()
        };
        let located: Vec<String> = command.group_as_typed(group, wrong).iter().map(shown).collect();
        assert_eq!(located, ["--bs 4q", "y.fio", "--"]);
        let (source, _) = args::source_of(&command.rest);
        let message = Diagnostic::error("x", Some(Place { source, span: 9..15 }));
        let located = command.rest_as_typed(vec![message]);
        assert_eq!(shown(&located[0]), "x.json");
        assert_eq!(located[0].place.as_ref().unwrap().source.text, line);
    }

    #[test]
    fn abbreviations_of_fio_keep_their_meaning() {
        let line = ["--name=a", "--ioengine=net", "--host=x"].map(String::from);
        assert!(args::read(&line).wrong.is_empty());
    }
}
