//! `shape FORMAT REFERENCE OURS`: compares two files; prints the first difference.

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [format, reference, ours] = args.as_slice() else {
        eprintln!("usage: shape normal|json|terse REFERENCE OURS");
        return ExitCode::from(2);
    };
    let read = |path: &String| std::fs::read_to_string(path).map_err(|e| format!("{path}: {e}"));
    let check = match format.as_str() {
        "normal" => fiord_golden::normal::shape,
        "json" | "json+" => fiord_golden::json::shape,
        _ => fiord_golden::terse::shape,
    };
    let texts = read(reference).and_then(|a| read(ours).map(|b| (a, b)));
    match texts.and_then(|(a, b)| check(&a, &b).map_err(|e| e.to_string())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(difference) => {
            println!("{difference}");
            ExitCode::FAILURE
        }
    }
}
