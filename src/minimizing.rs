//! Makes scripts smaller: what is to be kept of a script, and whether a smaller one keeps it. `crates/minimize` decides what is tried;
//! whoever calls this runs it, in the page one after the other in a worker, natively with limits.

use std::collections::BTreeSet;

use minimize::Verdict;
pub use minimize::{Smallest, number, statements};

use crate::python::RunOptions;
use crate::report::{Exception, GraphView, Report};

/// Runs a script and gives what became known, or nothing where nothing more is to be run. A run that was ended has no more than what it said
/// before.
pub type Run<'a> = &'a mut dyn FnMut(&str, &RunOptions) -> Option<Report>;

/// What is to be kept of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The exception that ends it.
    Exception,
    /// A text in what it prints.
    Text(String),
    /// An operator in a graph.
    Operator(String),
    /// That it does not do compiled what it does in eager mode.
    DiffersFromEager,
}

impl Keep {
    /// By the words of the command line and the page: `exception`, `text:TEXT`, `operator:NAME`, `differs:eager`.
    pub fn named(words: &str) -> Option<Self> {
        match words.split_once(':') {
            None if words == "exception" => Some(Keep::Exception),
            Some(("text", text)) if !text.is_empty() => Some(Keep::Text(text.to_owned())),
            Some(("operator", name)) if !name.is_empty() => Some(Keep::Operator(name.trim_start_matches("torch.ops.").to_owned())),
            Some(("differs", "eager")) => Some(Keep::DiffersFromEager),
            _ => None,
        }
    }
}

/// What is kept, as the whole script has it.
enum Kept {
    /// Class and message of an exception.
    Exception((String, String)),
    Text(String),
    Operator(String),
    /// Values that a check finds to differ, by the operators that first do.
    Checked(BTreeSet<Option<String>>),
    /// Other output than in eager mode.
    Printed,
}

/// Why there is nothing to make smaller.
const STOPPED: &str = "stopped before the script had ended";

/// Makes `program` smaller as long as it keeps what is to be kept. `lost`: scripts that are known not to keep it, by number. `shrunk` hears of
/// the script itself, once it ran, and of every smaller one.
///
/// # Errors
///
/// A sentence, where the script itself does not have what is to be kept.
pub fn minimize(
    program: &str,
    keep: &Keep,
    options: &RunOptions,
    lost: &[u64],
    run: Run<'_>,
    shrunk: &mut dyn FnMut(&Smallest),
) -> Result<Smallest, String> {
    let options = RunOptions { check: *keep == Keep::DiffersFromEager, ..options.clone() };
    let kept = kept(program, keep, &options, run)?;
    shrunk(&Smallest { text: program.to_owned(), statements: minimize::statements(program), tries: 0 });
    let mut keeps = |text: &str| match kept.is_kept(text, &options, run) {
        Some(true) => Verdict::Keeps,
        Some(false) => Verdict::Loses,
        None => Verdict::Stop,
    };
    Ok(minimize::minimize(program, lost.iter().copied(), &mut keeps, shrunk))
}

/// Runs the whole script.
fn kept(program: &str, keep: &Keep, options: &RunOptions, run: Run<'_>) -> Result<Kept, String> {
    let report = run(program, options).ok_or(STOPPED)?;
    match keep {
        Keep::Exception => {
            report.exception.as_ref().map(|e| Kept::Exception(class_and_message(e))).ok_or("no exception ends the script".to_owned())
        }
        Keep::Text(text) if printed(&report).contains(text) => Ok(Kept::Text(text.clone())),
        Keep::Text(text) => Err(format!("the script does not print '{text}'")),
        Keep::Operator(name) if has_operator(&report, name) => Ok(Kept::Operator(name.clone())),
        Keep::Operator(name) => Err(format!("no graph of the script has the operator '{name}'")),
        Keep::DiffersFromEager => match differing(&report) {
            found if !found.is_empty() => Ok(Kept::Checked(found)),
            _ if Kept::Printed.is_kept(program, options, run).ok_or(STOPPED)? => Ok(Kept::Printed),
            _ => Err(format!("under '{}' the script computes and prints what it does in eager mode", options.backend)),
        },
    }
}

impl Kept {
    fn is_kept(&self, program: &str, options: &RunOptions, run: Run<'_>) -> Option<bool> {
        let report = run(program, options)?;
        Some(match self {
            Kept::Exception(kept) => report.exception.as_ref().is_some_and(|exception| class_and_message(exception) == *kept),
            Kept::Text(text) => printed(&report).contains(text),
            Kept::Operator(name) => has_operator(&report, name),
            Kept::Checked(kept) => differing(&report).iter().any(|found| kept.contains(found)),
            Kept::Printed => {
                let eager = RunOptions { backend: "eager".to_owned(), check: false, ..options.clone() };
                // What differs from one run to the next is no difference.
                cut(&printed(&run(program, &eager)?)) != cut(&printed(&report))
                    && cut(&printed(&run(program, options)?)) == cut(&printed(&report))
            }
        })
    }
}

/// What a script prints: standard output, standard error and the exception that ends it.
fn printed(report: &Report) -> String {
    let exception = report.exception.as_ref().map(|exception| format!("{}: {}\n", exception.kind, exception.message));
    format!("{}{}{}", report.stdout, report.stderr, exception.unwrap_or_default())
}

fn class_and_message(exception: &Exception) -> (String, String) {
    // Dynamo's end in lines of the script.
    let message = exception.message.split("\n\nfrom user code:").next().unwrap_or_default();
    (exception.kind.clone(), cut(message))
}

/// A text without its numbers: addresses, sizes, of which there may be more or fewer.
fn cut(text: &str) -> String {
    let mut left = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let is_word = left.ends_with(|before: char| before.is_alphanumeric() || before == '_');
        if c.is_ascii_digit() && !is_word {
            rest = match rest.strip_prefix("0x") {
                Some(address) => address.trim_start_matches(|c: char| c.is_ascii_hexdigit()),
                None => rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.'),
            };
            // A list of them is as good as one.
            let separator = left.trim_end_matches([',', ' ', 'x', '-']);
            if separator.len() < left.len() && separator.ends_with('#') {
                left.truncate(separator.len());
            } else {
                left.push('#');
            }
            // `2x3`
            if let Some(more) = rest.strip_prefix('x').filter(|more| more.starts_with(|c: char| c.is_ascii_digit())) {
                rest = more.trim_start_matches(|c: char| c.is_ascii_digit());
            }
        } else {
            left.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    left
}

fn has_operator(report: &Report, name: &str) -> bool {
    let follows = |rest: &str| rest.is_empty() || rest.starts_with(['.', '(']);
    let is_it = |text: &str| text.trim_start_matches("torch.ops.").strip_prefix(name).is_some_and(follows);
    let has = |graph: &GraphView| {
        // Subgraphs stand in the text alone.
        let in_text = || graph.readable.match_indices("torch.ops.").any(|(at, _)| is_it(&graph.readable[at..]));
        graph.nodes.iter().any(|node| is_it(&node.target)) || in_text()
    };
    let of_compilation = report.compilations.iter().flat_map(|c| {
        [&c.functionalized, &c.joint, &c.forward, &c.backward, &c.inference, &c.frozen].into_iter().filter_map(Option::as_ref)
    });
    of_compilation.chain(report.regions.iter().map(|region| &region.graph)).chain(report.tapes.iter().map(|tape| &tape.graph)).any(has)
}

/// What a check found to differ, by the operators that first do.
fn differing(report: &Report) -> BTreeSet<Option<String>> {
    let differences = report.checks.iter().flat_map(|check| &check.differences);
    differences.map(|difference| difference.node.as_ref().map(|node| node.target.clone())).collect()
}
