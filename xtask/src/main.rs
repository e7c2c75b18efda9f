//! Developers' tasks: `cargo xtask TASK`.

#![forbid(unsafe_code)]

mod bench;
mod docs;
mod place;
mod vm;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask TASK

  bench   runs fiord and fio in turn on the same work and prints the ratios (bench --help)
  docs    writes what is made from the option table: reference, manual, completions
          (docs --check only says which of them are out of date)
  vm      boots a Debian kernel with NVMe, zoned and SCSI devices under QEMU and runs the scenarios of
          tests/vm there, one command, or a shell (vm --help)
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let result = match args.first().map(String::as_str) {
        Some("bench") => bench::main(&args[1..]).map(|()| ExitCode::SUCCESS),
        Some("docs") => docs::task(&args[1..]).map(|()| ExitCode::SUCCESS),
        Some("vm") => vm::main(&args[1..]),
        Some("--help" | "-h" | "help") | None => {
            print!("{HELP}");
            Ok(ExitCode::SUCCESS)
        }
        Some(other) => Err(anyhow::anyhow!("unknown task '{other}'\n\n{HELP}")),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
