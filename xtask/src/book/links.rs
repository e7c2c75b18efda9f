//! Links from pages of the book to other files of the repository, which the book does not contain.

/// Returns the page with its links to files outside of `docs` replaced by their text. `folder` is the directory of
/// the page in `docs`, empty or ending in a slash.
pub(super) fn within(page: &str, folder: &str) -> String {
    let mut out = String::with_capacity(page.len());
    let mut rest = page;
    while let Some(middle) = rest.find("](") {
        let Some(start) = rest[..middle].rfind('[') else {
            out.push_str(&rest[..middle + 2]);
            rest = &rest[middle + 2..];
            continue;
        };
        let end = rest[middle..].find(')').map_or(rest.len(), |end| middle + end + 1);
        let target = &rest[middle + 2..end.saturating_sub(1).max(middle + 2)];
        if leaves(target, folder) {
            out.push_str(&rest[..start]);
            out.push_str(&rest[start + 1..middle]);
        } else {
            out.push_str(&rest[..end]);
        }
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

/// Whether a relative link leads out of `docs`.
fn leaves(target: &str, folder: &str) -> bool {
    let mut depth = folder.matches('/').count();
    for part in target.split('/') {
        match part {
            ".." if depth == 0 => return true,
            ".." => depth -= 1,
            "." | "" => {}
            _ => depth += 1,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::within;

    #[test]
    fn only_links_out_of_the_book_are_replaced() {
        let page = "[a](../x.md#y), [b](b.md) and [`c`](../../c) or [d](https://d.example/../e).";
        assert_eq!(within(page, ""), "a, [b](b.md) and `c` or [d](https://d.example/../e).");
        assert_eq!(
            within(page, "recipes/"),
            "[a](../x.md#y), [b](b.md) and `c` or [d](https://d.example/../e)."
        );
        assert_eq!(within("a](b [c", ""), "a](b [c");
    }
}
