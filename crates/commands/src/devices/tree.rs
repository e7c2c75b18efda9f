//! Formats the PCIe tree from the root complex to the disks.

use fiord_sys::survey::pcie::Function;
use fiord_sys::survey::{Disk, SharedLink};

use crate::amount::decimal;
use crate::devices::{Shown, words};

/// A PCI function, the functions below it, and its disks.
struct Node<'a> {
    function: &'a Function,
    below: Vec<Node<'a>>,
    disks: Vec<&'a Disk>,
}

pub(crate) fn text(shown: &Shown) -> String {
    let mut roots: Vec<Node<'_>> = Vec::new();
    let mut elsewhere = Vec::new();
    for disk in &shown.disks {
        if disk.pcie.is_empty() {
            elsewhere.push(disk);
        } else {
            insert(&mut roots, &disk.pcie, disk);
        }
    }
    let mut text = String::new();
    for root in &roots {
        text.push_str(&format!("{}\n", label(root, None, &shown.links)));
        children(root, "", shown, &mut text);
    }
    if !elsewhere.is_empty() {
        text.push_str("not on PCI\n");
        let last = elsewhere.len() - 1;
        for (n, disk) in elsewhere.iter().enumerate() {
            let branch = if n == last { "└─ " } else { "├─ " };
            text.push_str(&format!("{branch}{}\n", name(disk)));
        }
    }
    text
}

fn insert<'a>(nodes: &mut Vec<Node<'a>>, path: &'a [Function], disk: &'a Disk) {
    let [function, rest @ ..] = path else { return };
    let at = nodes.iter().position(|node| node.function.address == function.address);
    let at = at.unwrap_or_else(|| {
        nodes.push(Node { function, below: Vec::new(), disks: Vec::new() });
        nodes.len() - 1
    });
    match rest {
        [] => nodes[at].disks.push(disk),
        rest => insert(&mut nodes[at].below, rest, disk),
    }
}

fn children(node: &Node<'_>, indent: &str, shown: &Shown, text: &mut String) {
    let count = node.below.len() + node.disks.len();
    let mut n = 0;
    let mut branch = || {
        n += 1;
        if n == count { ("└─ ", "   ") } else { ("├─ ", "│  ") }
    };
    for disk in &node.disks {
        let (branch, _) = branch();
        text.push_str(&format!("{indent}{branch}{}\n", name(disk)));
    }
    for below in &node.below {
        let (branch, more) = branch();
        let label = label(below, Some(node.function), &shown.links);
        text.push_str(&format!("{indent}{branch}{label}\n"));
        children(below, &format!("{indent}{more}"), shown, text);
    }
}

fn name(disk: &Disk) -> String {
    let model = disk.identity.model.as_ref().map(|m| format!("  {m}")).unwrap_or_default();
    format!("{}  {}{model}", disk.name, decimal(disk.capacity.0.into()))
}

/// Formats the address, the kind, the link and its oversubscription.
fn label(node: &Node<'_>, above: Option<&Function>, links: &[SharedLink]) -> String {
    let function = node.function;
    let what = match (function.is_bridge(), above) {
        (true, None) => "root port",
        (true, Some(_)) => "bridge",
        (false, _) => function.driver.as_deref().unwrap_or("adapter"),
    };
    let mut text = format!("{}  {what}", function.address);
    // A root port reports the link below it.
    let is_root_port = function.is_bridge() && above.is_none();
    if let (false, Some(words), Some(now)) = (is_root_port, words::link(function), function.now) {
        text.push_str(&format!("  {words}  {}/s", decimal(now.bytes().into())));
    }
    if let Some(link) = links.iter().find(|link| link.address == function.address)
        && link.disks.len() > 1
    {
        text.push_str(&format!(
            "  shared by {} disks that could move {}/s: {}",
            link.disks.len(),
            decimal(link.demand.0.into()),
            words::ratio(link)
        ));
    }
    text
}
