//! Tests of buffers in huge pages of the sizes that this kernel supports.
//!
//! The owner of the machine decides whether huge pages are reserved. If none are, the run must say so.

use crate::fiord::Place;

/// Returns `(page size in bytes, free pages)` for each size, as the kernel reports them.
fn sizes() -> Vec<(u64, u64)> {
    let pools = std::fs::read_dir("/sys/kernel/mm/hugepages").into_iter().flatten().flatten();
    let pool = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let kib: u64 = name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
        let free = std::fs::read_to_string(entry.path().join("free_hugepages")).ok()?;
        Some((kib << 10, free.trim().parse().ok()?))
    };
    pools.filter_map(pool).collect()
}

#[test]
fn buffers_lie_in_huge_pages_or_the_run_says_how_to_reserve_them() {
    for (page, free) in sizes() {
        for mem in ["mmaphuge", "shmhuge"] {
            let place = Place::new();
            let line = format!(
                "--name=a --filename=f --size=64k --bs=4k --rw=write --iomem={mem} \
                 --hugepage-size={page} --output-format=json"
            );
            let ran = place.run(&line);
            if ran.status == Some(0) {
                assert!(free > 0, "{page}");
                assert_eq!(ran.json()["jobs"][0]["write"]["io_bytes"], 64 << 10);
                continue;
            }
            let file = format!("hugepages-{}kB/nr_hugepages", page >> 10);
            let refused = ran.err.contains("EPERM");
            assert!(
                refused || (ran.err.contains(&file) && ran.err.contains("echo ")),
                "{}",
                ran.err
            );
        }
    }
}

#[test]
fn a_size_that_the_kernel_lacks_is_said() {
    let place = Place::new();
    // Whether or not pages of the default size are reserved.
    let job = "--name=a --filename=f --size=64k --iomem=mmaphuge --hugepage-size=3m";
    let ran = place.run(&format!("check {job}")).ok();
    assert!(ran.out.contains("value-adjusted: ") && ran.err.is_empty(), "{ran:?}");
    assert!(ran.out.contains("no huge pages of 3 MiB"), "{}", ran.out);
    for (page, _) in sizes() {
        let words = if page >= 1 << 30 { page >> 30 } else { page >> 20 };
        assert!(page < 1 << 20 || ran.out.contains(&format!("{words} ")), "{}", ran.out);
    }
    // A file on another file system does not use huge pages.
    if sizes().iter().any(|(page, _)| *page == 2 << 20) {
        let line = "--name=a --filename=f --size=64k --iomem=mmaphuge:here --hugepage-size=2m";
        let ran = place.run(line);
        assert_eq!(ran.status, Some(1));
        assert!(ran.err.contains("here") && ran.err.contains("not a hugetlbfs"), "{}", ran.err);
    }
}
