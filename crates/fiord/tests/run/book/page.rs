//! The commands, job files and links of a page of the documentation.
//!
//! | in the page | meaning |
//! |---|---|
//! | a block of the language `console`, lines that begin with `$ ` | commands, which run in the order of the page |
//! | `\` at the end of such a line | the command continues on the next line |
//! | `<!-- exit status: N -->` above the block | the status with which its commands end, instead of 0 |
//! | `<!-- not run: REASON -->` above the block | its commands do not run |
//! | "Save this as `NAME`" in the paragraph above a block of the language `ini` | the job file NAME of later commands |
//! | `<!-- commands of this page are not run: REASON -->` | commands outside of `console` blocks do not run |

/// A page of the documentation.
#[derive(Debug)]
pub(super) struct Page {
    /// Path in the repository.
    pub name: String,
    /// Job files and commands, in the order of the page.
    pub steps: Vec<Step>,
    /// Why commands outside of `console` blocks do not run.
    pub reason: Option<String>,
    /// Targets of links.
    pub links: Vec<String>,
}

/// A job file or a command of a page.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A job file that later commands use.
    File { name: String, text: String },
    /// A command and its exit status.
    Command { text: String, status: i32 },
    /// A command that does not run, and the reason in the comment above it.
    NotRun { text: String, reason: Option<String> },
}

/// What is known above a line.
#[derive(Debug, Default)]
struct Above {
    not_run: Option<String>,
    status: i32,
    file: Option<String>,
}

impl Page {
    /// Reads a page.
    pub(super) fn parse(name: &str, text: &str) -> Self {
        let mut page =
            Page { name: name.to_owned(), steps: Vec::new(), reason: None, links: links(text) };
        let mut above = Above::default();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let content = line.trim_start();
            if let Some(language) = content.strip_prefix("```") {
                let indent = line.len() - content.len();
                let inside =
                    lines.by_ref().take_while(|line| !line.trim_start().starts_with("```"));
                let block: Vec<&str> =
                    inside.map(|line| line.get(indent..).unwrap_or("")).collect();
                page.block(language, &block, &std::mem::take(&mut above));
            } else if let Some(comment) = comment(content) {
                page.comment(comment, &mut above);
            } else if let Some(name) = saved_as(content) {
                above.file = Some(name);
            } else if !content.is_empty() && indented(line) {
                page.bare(content);
            } else if !content.is_empty() {
                // The comments belong to the next block only; a name may be followed by more of its paragraph.
                above = Above { file: above.file, ..Above::default() };
            }
        }
        page
    }

    fn comment(&mut self, comment: &str, above: &mut Above) {
        if let Some(reason) = comment.strip_prefix("commands of this page are not run:") {
            self.reason = Some(reason.trim().to_owned());
        } else if let Some(reason) = comment.strip_prefix("not run:") {
            above.not_run = Some(reason.trim().to_owned());
        } else if let Some(status) = comment.strip_prefix("exit status:") {
            above.status =
                status.trim().parse().unwrap_or_else(|_| panic!("{}: {comment}", self.name));
        }
    }

    /// Reads a block between fences.
    fn block(&mut self, language: &str, block: &[&str], above: &Above) {
        match (language, &above.file) {
            ("console", _) => {
                for text in commands(block) {
                    self.steps.push(match &above.not_run {
                        Some(reason) => Step::NotRun { text, reason: Some(reason.clone()) },
                        None => Step::Command { text, status: above.status },
                    });
                }
            }
            ("ini", Some(name)) => {
                let text = block.iter().map(|line| format!("{line}\n")).collect();
                self.steps.push(Step::File { name: name.clone(), text });
            }
            ("" | "sh", _) => block.iter().for_each(|line| self.bare(line)),
            _ => {}
        }
    }

    /// Notes a line outside of `console` blocks if it is a command.
    fn bare(&mut self, line: &str) {
        let command = line.strip_prefix("$ ").unwrap_or(line);
        if command.starts_with("fiord ") {
            self.steps.push(Step::NotRun { text: command.to_owned(), reason: None });
        }
    }
}

/// Whether Markdown takes the line as a part of a block of code.
fn indented(line: &str) -> bool {
    line.starts_with("    ")
}

fn comment(line: &str) -> Option<&str> {
    Some(line.strip_prefix("<!--")?.strip_suffix("-->")?.trim())
}

fn saved_as(line: &str) -> Option<String> {
    let (_, name) = line.split_once("Save this as `")?;
    Some(name.split('`').next()?.to_owned())
}

/// Returns the commands of a `console` block. Lines without `$` are output.
fn commands(block: &[&str]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut continues = false;
    for line in block {
        let part = line.strip_prefix("$ ");
        match part.or(continues.then_some(*line)) {
            Some(part) => {
                let (part, more) =
                    part.strip_suffix('\\').map_or((part, false), |part| (part, true));
                match found.last_mut().filter(|_| continues) {
                    Some(command) => *command = format!("{} {}", command.trim_end(), part.trim()),
                    None => found.push(part.trim().to_owned()),
                }
                continues = more;
            }
            None => continues = false,
        }
    }
    found
}

/// Returns the targets of the links `[text](target)`.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for part in text.split("](").skip(1) {
        found.extend(
            part.split(')').next().filter(|link| !link.contains([' ', '\n'])).map(str::to_owned),
        );
    }
    found
}

#[test]
fn marks_of_a_page() {
    let page = Page::parse(
        "a.md",
        "Save this as `a.fio`, or\nanother:\n\n```ini\n[a]\nsize=1m\n```\n<!-- exit status: 2 -->\n```console\n$ fiord a.fio \\\n    \
         --minimal\noutput\n$ fiord b\n```\n1. <!-- no mark -->\n   <!-- not run: needs b -->\n   ```console\n   $ c\n   ```\n\
         [x](y.md#z)\n\n    fiord d\n",
    );
    assert_eq!(page.links, ["y.md#z"]);
    let command = |text: &str| Step::Command { text: text.to_owned(), status: 2 };
    let not_run = |text: &str, reason: Option<&str>| Step::NotRun {
        text: text.to_owned(),
        reason: reason.map(str::to_owned),
    };
    assert_eq!(
        page.steps,
        [
            Step::File { name: "a.fio".to_owned(), text: "[a]\nsize=1m\n".to_owned() },
            command("fiord a.fio --minimal"),
            command("fiord b"),
            not_run("c", Some("needs b")),
            not_run("fiord d", None),
        ]
    );
}
