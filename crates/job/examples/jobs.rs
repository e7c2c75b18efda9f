//! Prints what a command line says: `cargo run -p fiord-job --example jobs -- --name=a --bs=4k`.

use std::process::ExitCode;

use fiord_job::{Action, diagnostic, invocation, load::Machine, unsupported};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let invocation = match invocation(&args, &mut Machine) {
        Ok(invocation) => invocation,
        Err(wrong) => {
            eprint!("{}", diagnostic::render(&wrong, false));
            return ExitCode::FAILURE;
        }
    };
    match &invocation.action {
        Action::Print(text) | Action::ShowCmd(text) => print!("{text}"),
        Action::ParseOnly => {}
        Action::NoJobs(text) => {
            println!("{text}");
            eprintln!("No job(s) defined");
            return ExitCode::FAILURE;
        }
        Action::Run => {
            for job in &invocation.jobs {
                println!("[{}] engine {}", job.name, job.engine().name);
                for s in &job.settings {
                    println!("  {}={:?} -> {:?}", s.def.name, s.text, s.value);
                }
                eprint!("{}", diagnostic::render(&unsupported(job), false));
            }
        }
    }
    ExitCode::SUCCESS
}
