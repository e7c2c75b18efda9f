//! Results as one HTML page that works offline: `--html` and `fiord report`.
//!
//! A pure function of the results: the page has no time of its own and loads nothing. It contains the data
//! ([`fiord_report::embedded`]), so that programs can read it back.
//!
//! | question | module |
//! |---|---|
//! | which results can a page show, and how are they read | [`result`] |
//! | what is on the page, in which order | [`page`] |
//! | what does each section show | `section/` |
//! | how are charts drawn, and what does a new kind of chart need | [`chart`] |
//! | how are numbers written | [`quantity`] |
//! | what may the page load and run | `policy.rs` |
//! | which data does the page contain, and how is it kept small | `data.rs` |
//! | how does the page look: colours in light, dark and print | `assets/page.css` |
//! | how are charts zoomed and read with a pointer or keys | `assets/page.js` |
//!
//! A page that is read back shows the same charts, so a section uses only what the JSON of its result contains.
//! The content security policy has the hashes of the style sheet and the scripts. They are computed from the files, so a
//! change of `page.css` or `page.js` needs no other change; the files of `assets/uplot` stay as they are.
//!
//! `docs/dev/chart.md` explains how to add a chart.
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
