//! Developers' tasks: `cargo xtask TASK`.

#![forbid(unsafe_code)]

mod args;
mod bench;
mod book;
mod build;
mod dist;
mod docs;
mod pairs;
mod place;
mod servers;
mod vm;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask TASK

  bench   run fiord and fio alternately on the same jobs and print the ratios (bench --help)
  book    make a book with a search field from docs, in target/book
          (book --install installs mdbook, which it needs, into target/tools)
  dist    build a release: program, debug information, packages, tarball, checksums (dist --help)
  docs    write the pages that are generated from the option table: reference, manual, completions
          (docs --check only lists the pages that are out of date)
  pairs   run jobs with every pair of option values under fiord and fio and compare them (pairs --help)
  servers start Ceph or GlusterFS and run the tests of their engines (servers --help)
  vm      boot a Debian kernel with NVMe, zoned and SCSI devices under QEMU and run the scenarios of
          tests/vm there, one command, or a shell (vm --help)
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let result = match args.first().map(String::as_str) {
        Some("bench") => bench::main(&args[1..]).map(|()| ExitCode::SUCCESS),
        Some("book") => book::task(&args[1..]).map(|()| ExitCode::SUCCESS),
        Some("dist") => dist::main(&args[1..]).map(|()| ExitCode::SUCCESS),
        Some("docs") => docs::task(&args[1..]).map(|()| ExitCode::SUCCESS),
        Some("pairs") => pairs::main(&args[1..]),
        Some("servers") => servers::main(&args[1..]),
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
