//! The option table: every job option is declared once.
pub(crate) mod declare;
pub mod def;
pub mod engine;
pub mod engines_page;
pub mod fault;
pub mod handle;
pub mod parse;
pub mod read;
pub mod reference;
pub mod shape;
pub mod table;
pub mod value;
