//! The hosts on which a command starts its runs, and the options of a run that name them.

use fiord_app::coordinator::HostsRun;
use fiord_app::coordinator::reach::{self, SshHost};
use fiord_job::command::hosts::hosts_command;
use fiord_job::diagnostic::Diagnostic;
use fiord_job::load::Loader;

use crate::rejected::Rejected;

/// Options that name hosts which ssh reaches.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Many hosts (docs/hosts.md)")]
pub struct SshArgs {
    /// Run on these hosts over ssh; n[01-12],x are 13 hosts. May be repeated.
    #[arg(long, value_name = "LIST")]
    pub hosts: Vec<String>,
    /// Run on the hosts that FILE lists, over ssh.
    #[arg(long, value_name = "FILE")]
    pub hostsfile: Vec<String>,
    /// The command that reaches a host of --hosts.
    #[arg(long, value_name = "COMMAND")]
    pub ssh: Option<String>,
    /// The fiord to run on the hosts of --hosts.
    #[arg(long, value_name = "PATH")]
    pub remote_fiord: Option<String>,
}

/// Options that name hosts. They mean what they mean for a run, which gets them as they are.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Many hosts (docs/hosts.md)")]
pub struct HostsArgs {
    /// The hosts that ssh reaches.
    #[command(flatten)]
    pub over_ssh: SshArgs,
    /// Run on this server (`fiord --server`). May be repeated.
    #[arg(long, value_name = "ADDRESS")]
    pub client: Vec<String>,
    /// How the hosts share their files: `private`, `same` or `split`.
    #[arg(long, value_name = "HOW")]
    pub hosts_data: Option<String>,
    /// Directory of the keys for connections to servers.
    #[arg(long, value_name = "DIR")]
    pub keys: Option<String>,
    /// Connect to servers on other machines without keys.
    #[arg(long)]
    pub insecure: bool,
}

impl SshArgs {
    /// The hosts, in order. `None`: no option names one, and the command runs on this machine.
    ///
    /// # Errors
    /// A list of hosts is wrong, or an option about hosts is set without a host.
    pub fn reached(&self, loader: &mut dyn Loader) -> Result<Option<Vec<SshHost>>, Rejected> {
        let line = HostsArgs { over_ssh: self.clone(), ..HostsArgs::default() }.arguments();
        if self.hosts.is_empty() && self.hostsfile.is_empty() {
            return line.first().map_or(Ok(None), |option| Err(no_host(option)));
        }
        let mut line = line;
        // A job, because only jobs run on hosts otherwise.
        line.push("--name=x".to_owned());
        let command = hosts_command(&line).map_err(Rejected)?.unwrap_or_default();
        let general = fiord_job::invocation(&command.rest, loader).map_err(Rejected)?.general;
        reach::over_ssh(&command, &general.hosts, loader).map(Some).map_err(Rejected)
    }
}

impl HostsArgs {
    /// The arguments of a run, which stand before its jobs. Empty if no host is named.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        let SshArgs { hosts, hostsfile, ssh, remote_fiord } = &self.over_ssh;
        let lists = [("hosts", hosts), ("hostsfile", hostsfile), ("client", &self.client)];
        let named = lists.into_iter().flat_map(|(name, all)| all.iter().map(move |v| (name, v)));
        let single = [
            ("hosts-data", &self.hosts_data),
            ("ssh", ssh),
            ("remote-fiord", remote_fiord),
            ("keys", &self.keys),
        ];
        let single = single.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        let mut words: Vec<String> =
            named.chain(single).map(|(name, value)| format!("--{name}={value}")).collect();
        words.extend(self.insecure.then(|| "--insecure".to_owned()));
        words
    }

    /// Checks the options together with the jobs of a run, and counts the hosts. `None`: the runs take place on this
    /// machine.
    ///
    /// # Errors
    /// A list of hosts is wrong, an option has a wrong value, or the jobs cannot run on hosts.
    pub fn count(&self, jobs: &[String], loader: &mut dyn Loader) -> Result<Option<u64>, Rejected> {
        let mut line = self.arguments();
        line.extend(jobs.iter().cloned());
        let Some(command) = hosts_command(&line).map_err(Rejected)? else {
            return match self.arguments().first() {
                None => Ok(None),
                Some(option) => Err(no_host(option)),
            };
        };
        let general = fiord_job::invocation(&command.rest, loader).map_err(Rejected)?.general;
        let run = HostsRun::of(&command, &general, None, loader).map_err(Rejected)?;
        Ok(run.map(|run| run.order.hosts.len() as u64))
    }
}

/// An option about hosts on a command line without hosts.
fn no_host(option: &str) -> Rejected {
    let what = format!("{option}: no host is named");
    let help = "To fix: name hosts with --hosts, --hostsfile or --client";
    Rejected(vec![Diagnostic::error(what, None).help(help)])
}

#[cfg(test)]
mod tests {
    use fiord_job::load::Memory;

    use super::*;

    fn count(args: &HostsArgs) -> Result<Option<u64>, String> {
        let jobs = ["--name=a", "--size=1m"].map(String::from);
        args.count(&jobs, &mut Memory::default()).map_err(|error| error.to_string())
    }

    #[test]
    fn hosts_are_counted_and_options_passed_on() {
        assert_eq!(count(&HostsArgs::default()), Ok(None));
        let over_ssh = SshArgs {
            hosts: vec!["n[1-3]".into(), "x".into()],
            ssh: Some("ssh -p 2222".into()),
            ..SshArgs::default()
        };
        let reached = over_ssh.reached(&mut Memory::default()).unwrap().unwrap();
        assert_eq!((reached.len(), reached[3].name.as_str()), (4, "x"));
        let command = reached[3].command(&["devices".into(), "a b".into()]);
        assert_eq!(command, ["ssh", "-p", "2222", "x", "fiord", "devices", "'a b'"]);
        let args = HostsArgs {
            over_ssh,
            hosts_data: Some("same".into()),
            insecure: true,
            ..HostsArgs::default()
        };
        let words =
            ["--hosts=n[1-3]", "--hosts=x", "--hosts-data=same", "--ssh=ssh -p 2222", "--insecure"];
        assert_eq!(args.arguments(), words);
        assert_eq!(count(&args), Ok(Some(4)));
    }

    #[test]
    fn wrong_hosts_are_named() {
        let on = |hosts: &str| SshArgs { hosts: vec![hosts.to_owned()], ..SshArgs::default() };
        let over_ssh = on("n[1");
        let wrong = count(&HostsArgs { over_ssh, ..HostsArgs::default() }).unwrap_err();
        assert!(wrong.contains("list of hosts n[1"), "{wrong}");
        let (over_ssh, client) = (on("a"), vec!["b".to_owned()]);
        let wrong = count(&HostsArgs { over_ssh, client, ..HostsArgs::default() }).unwrap_err();
        assert!(wrong.contains("cannot be mixed"), "{wrong}");
        let (over_ssh, hosts_data) = (on("a"), Some("some".to_owned()));
        let wrong = count(&HostsArgs { over_ssh, hosts_data, ..HostsArgs::default() });
        assert!(wrong.unwrap_err().contains("hosts-data"));
        let over_ssh = SshArgs { ssh: Some("ssh".to_owned()), ..SshArgs::default() };
        let wrong = count(&HostsArgs { over_ssh, ..HostsArgs::default() }).unwrap_err();
        assert!(wrong.contains("--ssh=ssh: no host is named"), "{wrong}");
    }
}
