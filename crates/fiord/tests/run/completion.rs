//! Tests of the completions in real shells. A shell that is not installed is skipped with a message.

use std::path::Path;
use std::process::Command;

use crate::fiord::Place;

/// What a user has typed, a word that must be offered, and one that must not.
const TYPED: [(&str, &str, &str); 9] = [
    ("fiord swe", "sweep", "check"),
    ("fiord sweep --rest", "--restart", "--format"),
    ("fiord sweep --format=", "json", "sweep"),
    ("fiord sweep --rwmix", "--rwmixread", "--restart"),
    ("fiord --rwmix", "--rwmixwrite", "sweep"),
    ("fiord --rw=randr", "randread", "write"),
    ("fiord help key", "keys", "sweep"),
    ("fiord keys ", "trust", "--rw"),
    ("fiord precondition --li", "--limit", "--rwmixread"),
];

/// Prints what zsh adds for `$3`. `$1` is a directory for its files, `$2` that of the completions.
const ZSH: &str = r#"
zmodload zsh/zpty || exit 3
print -r -- "PROMPT=
fpath=($2 \$fpath)
autoload -U compinit
compinit -u -D
bindkey '^I' complete-word
compadd() {
    if [[ \${@[1,(i)(-|--)]} == *-(O|A|D)\\ * ]]; then builtin compadd \"\$@\"; return \$?; fi
    typeset -a hits
    builtin compadd -A hits \"\$@\"
    local hit; for hit in \$hits; do print -r -- \"HIT:\$hit\"; done
    return 0
}
print READY" > $1/init.zsh
zpty z TERM=dumb zsh -f -i
zpty -w z "source $1/init.zsh"
zpty -r -m z out '*READY*'
zpty -w -n z "$3"$'\t'
zpty -r -m z out '*HIT:*' && print -rn -- $out
sleep 0.3
while zpty -r -t z out; do print -rn -- $out; done
zpty -d z
"#;

/// Prints what bash completes for the words `$2` and more, with the script `$1`. bash splits words at equals signs.
const BASH: &str = r#"
source "$1"
compopt() { :; }
line=${2//=/ = }
read -ra COMP_WORDS <<< "$line"
[[ $2 == *' ' ]] && COMP_WORDS+=('')
COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
_fiord
printf '%s\n' "${COMPREPLY[@]}"
"#;

/// Runs a program for at most 30 s. `None` if it is not installed.
fn output(command: Command) -> Option<String> {
    let program = command.get_program().to_owned();
    let args: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
    let limited = Command::new("timeout").arg("30").arg(&program).args(args).output().ok()?;
    let missing = limited.status.code() == Some(127);
    (!missing).then(|| String::from_utf8_lossy(&limited.stdout).replace('\r', ""))
}

fn offered(shell: &str, place: &Place, completions: &Path, typed: &str) -> Option<Vec<String>> {
    let mut command = Command::new(shell);
    match shell {
        "bash" => {
            command
                .args(["--norc", "-c", BASH, "bash"])
                .arg(completions.join("fiord.bash"))
                .arg(typed);
        }
        "zsh" => {
            command.args(["-f", "-c", ZSH, "zsh"]).arg(place.path(".")).arg(completions).arg(typed);
        }
        _ => {
            let script = completions.join("fiord.fish");
            let script = format!("source {}; complete -C '{typed}'", script.display());
            command.args(["--no-config", "-c", &script]);
        }
    }
    let text = output(command)?;
    // zsh marks its words, and fish adds a description and what comes before the equals sign.
    let word = |line: &str| match shell {
        "zsh" => line.split("HIT:").nth(1).map(|word| word.trim_end_matches('=').to_owned()),
        "fish" => {
            let word = line.split('\t').next()?;
            Some(if typed.contains('=') {
                word.split('=').nth(1)?.to_owned()
            } else {
                word.to_owned()
            })
        }
        _ => Some(line.trim_end_matches('=').to_owned()),
    };
    Some(text.lines().filter_map(word).collect())
}

#[test]
fn shells_complete_subcommands_and_their_options() {
    let completions = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/completions");
    let completions = completions.canonicalize().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let place = Place::new();
        for (typed, expected, other) in TYPED {
            let Some(words) = offered(shell, &place, &completions, typed) else {
                eprintln!("skipped: no {shell} here");
                break;
            };
            assert!(words.iter().any(|word| word == expected), "{shell}: {typed}: {words:?}");
            assert!(words.iter().all(|word| word != other), "{shell}: {typed}: {words:?}");
        }
    }
}

#[test]
fn manual_pages_have_no_mistakes() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let pages = std::fs::read_dir(docs).unwrap().map(|entry| entry.unwrap().path());
    let pages: Vec<_> =
        pages.filter(|path| path.extension().is_some_and(|end| end == "1")).collect();
    assert!(pages.len() > 14, "{pages:?}");
    for page in &pages {
        let text = std::fs::read_to_string(page).unwrap();
        for section in ["EXIT STATUS", "ENVIRONMENT", "EXAMPLES"] {
            assert!(text.contains(&format!("\n.SH {section}\n")), "{}: {section}", page.display());
        }
        let mut lint = Command::new("mandoc");
        lint.args(["-Tlint", "-Wwarning"]).arg(page);
        match output(lint) {
            Some(mistakes) => assert_eq!(mistakes, "", "{}", page.display()),
            None => return eprintln!("skipped: no mandoc here"),
        }
    }
}
