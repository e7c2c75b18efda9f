//! Writes the generated documentation of the command line below `docs` (`cargo xtask docs` runs it).

use std::fs;
use std::io;
use std::path::Path;

fn main() -> io::Result<()> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    for (name, text) in fiord::pages::all() {
        let path = docs.join(&name);
        if fs::read_to_string(&path).is_ok_and(|now| now == text) {
            continue;
        }
        fs::write(&path, text)?;
        println!("wrote docs/{name}");
    }
    Ok(())
}
