//! What translation validation came to, and what guards leave of a symbol.

use super::{Sentence, counted};
use crate::{Guard, NarrowedSymbol, Validation, ValidationVerdict};

impl Validation {
    /// Puts what it came to into words.
    #[must_use]
    pub fn told(mut self) -> Self {
        let mut sentence = Sentence::default();
        match (self.verdict, &self.condition) {
            (ValidationVerdict::Proved, _) => {
                let conditions = counted(self.asked as usize, "condition", "conditions");
                sentence.say(format!("proved: what tracing asked for ({conditions}) follows from the guards"));
            }
            (ValidationVerdict::Counterexample, condition) => {
                let sizes: Vec<String> = self.sizes.iter().map(|size| format!("{} = {}", size.name, size.value)).collect();
                sentence.say(format!("counterexample: {}", sizes.join(", ")));
                if let Some(Guard { text, span }) = condition {
                    sentence.say(format!(" pass{} the guards, but not `{text}`", if sizes.len() == 1 { "es" } else { "" }));
                    if let Some(span) = span {
                        sentence.say(", which tracing asked for at ").line(span, None);
                    }
                }
            }
            (ValidationVerdict::NotDecided, _) => {
                sentence.say("not decided: no proof that what tracing asked for follows from the guards, and no counterexample");
            }
        }
        self.sentence = sentence;
        self.symbols.iter_mut().for_each(NarrowedSymbol::tell);
        self
    }
}

impl NarrowedSymbol {
    fn tell(&mut self) {
        let mut sentence = Sentence::default();
        let bounds = match (self.only, self.lower, self.upper) {
            (Some(only), ..) => format!("only {only} is left"),
            (None, Some(lower), Some(upper)) => format!("{lower} <= {} <= {upper}", self.name),
            (None, Some(lower), None) => format!("{lower} <= {}", self.name),
            (None, None, Some(upper)) => format!("{} <= {upper}", self.name),
            (None, None, None) => format!("{} has no bound", self.name),
        };
        sentence.say(format!("{bounds}; {}", counted(self.guards.len(), "guard", "guards")));
        lines(&mut sentence, &self.guards);
        if let Some(only) = self.only {
            let leaves = match self.leave_one.len() {
                0 => "; its range leaves".to_owned(),
                1 => "; this one leaves".to_owned(),
                n => format!("; these {} leave", number(n)),
            };
            sentence.say(leaves + &format!(" only {only}"));
            lines(&mut sentence, &self.leave_one);
        }
        self.sentence = sentence;
    }
}

fn number(n: usize) -> String {
    const WORDS: [&str; 10] = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];
    WORDS.get(n).map_or_else(|| n.to_string(), ToString::to_string)
}

/// The lines of guards, each once.
fn lines(sentence: &mut Sentence, guards: &[Guard]) {
    let mut spans: Vec<_> = Vec::new();
    for span in guards.iter().filter_map(|guard| guard.span.as_ref()) {
        if spans.iter().all(|known: &&crate::Span| known.line != span.line) {
            spans.push(span);
        }
    }
    for (at, span) in spans.iter().enumerate() {
        sentence.say(if at == 0 { ": " } else { ", " }).line(span, None);
    }
}
