//! Developers' tasks: `cargo xtask TASK`.

mod bench;
mod docs;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask TASK

  bench   runs fiord and fio in turn on the same work and prints the ratios (bench --help)
  docs    writes what is made from the option table: reference, manual, completions
          (docs --check only says which of them are out of date)
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let result = match args.first().map(String::as_str) {
        Some("bench") => bench::main(&args[1..]),
        Some("docs") => docs::task(&args[1..]),
        Some("--help" | "-h" | "help") | None => {
            print!("{HELP}");
            Ok(())
        }
        Some(other) => Err(anyhow::anyhow!("no task is called '{other}'\n\n{HELP}")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
