//! The smallest script that still does what it is kept for: an exception, a text, an operator in a graph.
//!
//! [`minimize`] takes parts of a script away, again and again, and asks after each whether what is left still keeps it. It knows Python's
//! syntax and nothing else: whoever asks runs the scripts. It goes from what is large to what is small, in [`passes`], until nothing
//! more can go. Everything that was tried is remembered, by a number that is the same everywhere: whoever ends a try, with the process
//! or the worker that it hangs in, starts again with the smallest script so far and loses nothing.

mod edits;
mod facts;
mod passes;
mod reader;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use edits::{Edit, Span, apply};
use facts::Facts;

/// What a script that was tried came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It still keeps it.
    Keeps,
    /// It does not.
    Loses,
    /// It was not tried, and nothing more is to be.
    Stop,
}

/// The smallest script so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Smallest {
    /// Its text.
    pub text: String,
    /// How many statements it has, nested ones included.
    pub statements: usize,
    /// How many scripts were tried.
    pub tries: u32,
}

/// The number of a script among those that were tried: 52 bits, which JavaScript's numbers hold.
pub fn number(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish() >> 12
}

/// How many statements a script has, nested ones included; none where it is no script.
pub fn statements(text: &str) -> usize {
    reader::facts(text).map_or(0, |facts| facts.statements)
}

/// Makes `source` smaller as long as `keeps` says that what is to be kept is. `lost`: numbers of scripts that are known not to keep it.
/// `shrunk` hears of every smaller script.
pub fn minimize(
    source: &str,
    lost: impl IntoIterator<Item = u64>,
    keeps: &mut dyn FnMut(&str) -> Verdict,
    shrunk: &mut dyn FnMut(&Smallest),
) -> Smallest {
    let smallest = Smallest { text: source.to_owned(), statements: statements(source), tries: 0 };
    let mut search =
        Search { smallest, tried: lost.into_iter().collect(), is_stopped: false, is_script: reader::parses(source), keeps, shrunk };
    passes::all(&mut search);
    search.smallest
}

/// A search under way.
struct Search<'a> {
    smallest: Smallest,
    tried: HashSet<u64>,
    is_stopped: bool,
    /// Whether the source is Python at all: where it is not, that may be what is kept.
    is_script: bool,
    keeps: &'a mut dyn FnMut(&str) -> Verdict,
    shrunk: &'a mut dyn FnMut(&Smallest),
}

impl Search<'_> {
    fn text(&self) -> &str {
        &self.smallest.text
    }

    fn facts(&self) -> Facts {
        reader::facts(self.text()).unwrap_or_default()
    }

    /// Tries a script, and takes it where it keeps what is to be kept.
    fn attempt(&mut self, text: String) -> bool {
        if self.is_stopped || text == self.smallest.text || !self.tried.insert(number(&text)) || reader::parses(&text) != self.is_script {
            return false;
        }
        match (self.keeps)(&text) {
            Verdict::Loses => {
                self.smallest.tries += 1;
                false
            }
            Verdict::Keeps => {
                self.smallest = Smallest { statements: statements(&text), text, tries: self.smallest.tries + 1 };
                (self.shrunk)(&self.smallest);
                true
            }
            Verdict::Stop => {
                self.is_stopped = true;
                false
            }
        }
    }

    /// Takes away as many of `count` things as can go, `largest` at a time at first, then half as many, then single ones; the last
    /// first, since what comes later depends on what comes before. `without` writes the script without those that are marked.
    fn reduce(&mut self, count: usize, largest: usize, without: &dyn Fn(&[bool]) -> String) {
        let mut gone = vec![false; count];
        let mut size = largest.min(count);
        while size > 0 && !self.is_stopped {
            let left: Vec<usize> = (0..count).filter(|&at| !gone[at]).collect();
            for chunk in left.rchunks(size) {
                chunk.iter().for_each(|&at| gone[at] = true);
                if !self.attempt(without(&gone)) {
                    chunk.iter().for_each(|&at| gone[at] = false);
                }
            }
            size /= 2;
        }
    }

    /// Goes through things by number, and tries what to do about each, one script after the other, as long as something of it keeps.
    /// `candidates` has nothing more where there is no thing of this number.
    fn each(&mut self, candidates: &dyn Fn(&str, &Facts, usize) -> Option<Vec<Vec<Edit>>>) {
        let mut number = 0;
        while !self.is_stopped {
            let Some(tried) = candidates(self.text(), &self.facts(), number) else { return };
            let source = self.text().to_owned();
            if !tried.into_iter().any(|edits| self.attempt(apply(&source, edits))) {
                number += 1;
            }
        }
    }
}

/// The text of a range.
fn text_of<'a>(source: &'a str, span: &Span) -> &'a str {
    &source[span.clone()]
}
