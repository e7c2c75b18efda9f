//! The option registry: every option of a job, declared once.
pub mod def;
pub mod read;
pub mod value;
