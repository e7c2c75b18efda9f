//! Results as one HTML page that works offline: `--html` and `fiord report`.
//!
//! A pure function of the results: the page has no time of its own and loads nothing. It contains the data
//! ([`fiord_report::embedded`]), so that programs can read it back.
//!
//! | question | module |
//! |---|---|
//! | which results can a page show, and how are they read | [`result`] |
//! | what is on the page, in which order | [`page`] |
//! | one part of the page | `section/` |
//! | a chart | [`chart`] |
//! | how are numbers written | [`quantity`] |
//! | what may the page load and run | `policy.rs` |
//! | which data does the page contain, and how is it kept small | `data.rs` |
//!
//! ```
//! use fiord_html::page;
//! use fiord_html::result::{NamedResult, PageResult};
//! use fiord_stat::report::{JobReport, Report};
//!
//! let job = JobReport { name: "<script>alert(1)</script>".into(), ..JobReport::default() };
//! let report = Report { jobs: vec![job], ..Report::default() };
//! let result = NamedResult { name: String::new(), content: PageResult::Run(Box::new(report)) };
//! let page = page::page(&[result]);
//! assert!(page.starts_with("<!doctype html>") && !page.contains("<script>alert"));
//! ```

#![forbid(unsafe_code)]

pub mod chart;
pub mod page;
pub mod quantity;
pub mod result;
pub mod svg;

mod data;
mod policy;
mod section;
