//! How the coordinator reaches each host.

use std::io;

use fiord_fabric::hostlist::{self, HostListError};
use fiord_fabric::hub::{BadEndpoint, Endpoint};
use fiord_job::command::HostsOptions;
use fiord_job::command::hosts::{HostForm, HostNames, HostsCommand};
use fiord_job::diagnostic::Diagnostic;
use fiord_job::load::Loader;
use fiord_types::{Errno, HostIndex};

/// A host and the way to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reach {
    /// The name of the host, as the user wrote it.
    pub name: String,
    /// Name or address of the host in the network, for other hosts.
    pub address: String,
    /// How to reach it.
    pub way: Way,
}

/// How to reach an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// Run this command, whose standard input and output lead to the agent.
    Command(Vec<String>),
    /// Connect to a server.
    Server(Endpoint),
    /// The host is a process of the same parallel job as this one. The caller connects it.
    Rank,
}

impl Way {
    /// The address of the server. `None` if a command reaches the host.
    #[must_use]
    pub fn endpoint(&self) -> Option<&Endpoint> {
        match self {
            Way::Server(endpoint) => Some(endpoint),
            Way::Command(_) | Way::Rank => None,
        }
    }

    /// The TCP port of the server. `None` for other ways.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        match self {
            Way::Command(_) | Way::Rank => None,
            Way::Server(endpoint) => endpoint.port(),
        }
    }
}

/// A host that ssh reaches, for programs other than agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshHost {
    /// The name of the host, as the user wrote it.
    pub name: String,
    /// The words before those of the command.
    words: Vec<String>,
}

impl SshHost {
    /// The command that runs fiord with these arguments on the host.
    #[must_use]
    pub fn command(&self, arguments: &[String]) -> Vec<String> {
        self.words.iter().cloned().chain(arguments.iter().map(|word| quoted(word))).collect()
    }
}

/// The hosts of a command line that ssh reaches, in order.
///
/// # Errors
/// A list of hosts is wrong, or a file cannot be read.
pub fn over_ssh(
    command: &HostsCommand,
    options: &HostsOptions,
    loader: &mut dyn Loader,
) -> Result<Vec<SshHost>, Vec<Diagnostic>> {
    let mut all = Vec::new();
    for group in &command.groups {
        let found = hosts(&group.hosts, options, loader).map_err(|error| vec![*error])?;
        all.extend(found.into_iter().map(|host| {
            let words = ssh_words(&host.name, options);
            SshHost { name: host.name, words }
        }));
    }
    Ok(all)
}

/// The command that reaches a host unless `--ssh` names another. It asks no questions, because the questions of several hosts
/// would appear at the same time.
const SSH: [&str; 3] = ["ssh", "-o", "BatchMode=yes"];

/// Why the hosts of an option are not known.
#[derive(Debug, thiserror::Error)]
enum ReachError {
    #[error("list of hosts {list}: {error}")]
    List { list: String, error: HostListError },
    #[error("the list of servers {list} is empty. To fix: write one server in each line")]
    Empty { list: String },
    #[error(
        "cannot read the list of hosts {list}: {}. To fix: name a file with one host in each line",
        Errno::explain(.error)
    )]
    File { list: String, error: io::Error },
    #[error(transparent)]
    Endpoint(#[from] BadEndpoint),
}

/// The hosts that the user named, in order.
///
/// # Errors
/// A list or an address is invalid, or a file cannot be read.
pub(super) fn hosts(
    named: &[HostNames],
    options: &HostsOptions,
    loader: &mut dyn Loader,
) -> Result<Vec<Reach>, Box<Diagnostic>> {
    let mut hosts = Vec::new();
    for names in named {
        hosts.extend(of_option(names, options, loader).map_err(|error| {
            Box::new(Diagnostic::error(error.to_string(), Some(names.place.clone())))
        })?);
    }
    Ok(hosts)
}

/// The hosts that one option names.
fn of_option(
    names: &HostNames,
    options: &HostsOptions,
    loader: &mut dyn Loader,
) -> Result<Vec<Reach>, ReachError> {
    let text = &names.text;
    let in_list = |error| ReachError::List { list: text.clone(), error };
    let listed: Vec<String> = match names.form {
        HostForm::List => hostlist::parse(text).map_err(in_list)?,
        HostForm::File => hostlist::parse_file(&file(text, loader)?).map_err(in_list)?,
        // As in fio, a file with this name lists the servers.
        HostForm::Client if std::fs::metadata(text).is_ok_and(|found| found.is_file()) => {
            let lines = file(text, loader)?;
            let lines = lines.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
            lines.filter(|line| !line.is_empty()).map(String::from).collect()
        }
        HostForm::Client => vec![text.clone()],
        HostForm::Ranks => {
            let ranks = HostIndex(0).to(HostIndex(text.parse().unwrap_or_default()));
            ranks.map(|rank| format!("rank{rank}")).collect()
        }
    };
    if listed.is_empty() {
        return Err(ReachError::Empty { list: text.clone() });
    }
    let reach = |name: String| match names.form {
        HostForm::Client => server(&name),
        HostForm::Ranks => Ok(Reach { address: name.clone(), name, way: Way::Rank }),
        HostForm::List | HostForm::File => Ok(agent_over_ssh(name, options)),
    };
    listed.into_iter().map(reach).collect()
}

fn file(name: &str, loader: &mut dyn Loader) -> Result<String, ReachError> {
    let bytes = loader.read(name);
    let bytes = bytes.map_err(|error| ReachError::File { list: name.to_owned(), error })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn server(address: &str) -> Result<Reach, ReachError> {
    let mut endpoint = Endpoint::parse(address)?;
    let name = match &mut endpoint {
        Endpoint::Tcp { host, .. } => {
            // As in fio, the name stays empty in results, and the server is one of this machine.
            let name = host.clone();
            if host.is_empty() {
                "localhost".clone_into(host);
            }
            name
        }
        Endpoint::Unix(path) => path.display().to_string(),
    };
    let address = match &endpoint {
        Endpoint::Tcp { host, .. } => host.clone(),
        Endpoint::Unix(_) => "localhost".to_owned(),
    };
    Ok(Reach { name, address, way: Way::Server(endpoint) })
}

/// Reaches a host with ssh, which passes the words after the host to a shell there. No name in a list of hosts begins
/// with `-`, so ssh does not take it for an option.
fn agent_over_ssh(name: String, options: &HostsOptions) -> Reach {
    let mut command = ssh_words(&name, options);
    command.extend(["agent", "--stdio"].map(String::from));
    // The user on the host does not belong to the network.
    let address = name.rsplit_once('@').map_or(name.as_str(), |(_, host)| host).to_owned();
    Reach { name, address, way: Way::Command(command) }
}

/// The words that run fiord on a host, without its arguments.
fn ssh_words(name: &str, options: &HostsOptions) -> Vec<String> {
    let mut command: Vec<String> = match options.ssh.as_slice() {
        [] => SSH.iter().map(|word| (*word).to_owned()).collect(),
        words => words.to_vec(),
    };
    command.push(name.to_owned());
    command.push(quoted(options.remote_fiord.as_deref().unwrap_or("fiord")));
    command
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%=,~".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use fiord_job::command::hosts::hosts_command;
    use fiord_job::load::Memory;

    use super::*;

    fn reached(line: &[&str], loader: &mut Memory) -> Result<Vec<Reach>, String> {
        let line: Vec<String> = line.iter().map(|word| (*word).to_owned()).collect();
        let command = hosts_command(&line).unwrap().unwrap();
        let options =
            HostsOptions { remote_fiord: Some("/opt/my fiord".into()), ..HostsOptions::default() };
        hosts(&command.groups[0].hosts, &options, loader).map_err(|error| error.what.clone())
    }

    #[test]
    fn hosts_are_reached_over_ssh_and_servers_by_their_address() {
        let mut files = Memory::job("");
        files.files.push(("list".into(), "# all\nn[1-2]\n\nme@x # the old one\n".into()));
        let found = reached(&["--hostsfile=list", "--name=a"], &mut files).unwrap();
        let names: Vec<&str> = found.iter().map(|host| host.name.as_str()).collect();
        assert_eq!(names, ["n1", "n2", "me@x"]);
        let Way::Command(command) = &found[2].way else { panic!("{found:?}") };
        let words = ["ssh", "-o", "BatchMode=yes", "me@x", "'/opt/my fiord'", "agent", "--stdio"];
        assert_eq!(command[..], words);
        let found = reached(&["--client=ip4:n1,4000", "x.fio"], &mut files).unwrap();
        assert_eq!((found[0].name.as_str(), found[0].way.port()), ("n1", Some(4000)));
        let found = reached(&["--client=,4000", "x.fio"], &mut files).unwrap();
        let Way::Server(endpoint) = &found[0].way else { panic!("{found:?}") };
        assert_eq!((found[0].name.as_str(), endpoint.is_loopback()), ("", Ok(true)));
    }

    #[test]
    fn a_name_never_becomes_an_option_of_ssh() {
        let wrong =
            |list: &str| reached(&["--hosts", list, "--name=a"], &mut Memory::job("")).unwrap_err();
        assert!(wrong("-oProxyCommand=x").contains("looks like an option"));
        assert!(wrong("a,b]").starts_with("list of hosts a,b]: character 4"));
    }
}
