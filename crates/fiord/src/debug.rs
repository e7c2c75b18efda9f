//! `--debug`: what fiord thinks, on standard error, one line a fact.

use std::fmt::Write;

use fiord_plan::Plan;
use fiord_run::events::Event;

use crate::sink::complain;

/// The categories that have something to say here.
const SPOKEN: [&str; 6] = ["process", "file", "io", "parse", "job", "time"];

/// The categories asked for.
#[derive(Debug, Clone, Default)]
pub struct Debug {
    categories: Vec<String>,
}

impl Debug {
    /// As the command line names them. Those that stay silent are named at once.
    pub fn new(categories: &[String]) -> Self {
        let spoken = |c: &&str| SPOKEN.contains(c) || c.starts_with("job:");
        let names: Vec<&str> = categories.iter().map(String::as_str).collect();
        let silent: Vec<&str> = names.iter().copied().filter(|c| !spoken(c)).collect();
        // Whoever asks for everything knows that there is not something about everything.
        let everything = names.iter().filter(|c| spoken(c)).count() >= SPOKEN.len();
        if !silent.is_empty() && !everything {
            complain(&format!("debug    there are no messages about: {}\n", silent.join(", ")));
        }
        Debug { categories: categories.to_vec() }
    }

    fn has(&self, category: &str) -> bool {
        self.categories.iter().any(|c| c == category)
    }

    fn only_job(&self) -> Option<usize> {
        self.categories.iter().find_map(|c| c.strip_prefix("job:")?.parse().ok())
    }

    /// The plan, as far as categories ask for it.
    pub fn plan(&self, plan: &Plan) {
        let mut text = String::new();
        for job in &plan.jobs {
            let index = job.identity.index;
            if self.only_job().is_some_and(|only| only != index) {
                continue;
            }
            let name = &job.identity.name;
            let mut say = |category: &str, what: String| {
                if self.has(category) {
                    let _ = writeln!(text, "{category:<8} {index} {name}: {what}");
                }
            };
            say("parse", format!("options {:?}", job.identity.options));
            say("job", format!("{:?} {:?} {:?}", job.start, job.end, job.depth));
            say("process", format!("{:?}", job.process));
            say("io", format!("{:?} {:?} {:?}", job.engine, job.load, job.content));
            say("time", format!("{:?}", job.record));
            for file in &job.target.files {
                say("file", format!("{file:?}"));
            }
        }
        complain(&text);
    }

    /// An event of the run.
    pub fn event(&self, event: &Event<'_>) {
        let category = match event {
            Event::JobStarted { .. } | Event::JobEnded { .. } | Event::Command { .. } => "process",
            Event::LayingOut { .. } => "file",
            _ => return,
        };
        if self.has(category) {
            complain(&format!("{category:<8} {event:?}\n"));
        }
    }
}
