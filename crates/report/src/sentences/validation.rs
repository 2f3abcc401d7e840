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
                    sentence.say(format!(" pass{} the guards, but not {text}", if sizes.len() == 1 { "es" } else { "" }));
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

    /// What is worth saying of some guards beside a report, a line each: that they are not proved, and symbols that they leave one value.
    pub fn lines(&self, of: &str) -> Vec<String> {
        let verdict = (self.verdict != ValidationVerdict::Proved).then(|| format!("{of}: {}", self.sentence.text()));
        let single = self.symbols.iter().filter(|s| s.only.is_some());
        verdict.into_iter().chain(single.map(|s| format!("{of}: {} ({}): {}", s.name, s.source, s.sentence.text()))).collect()
    }
}

impl NarrowedSymbol {
    fn tell(&mut self) {
        let mut sentence = Sentence::default();
        let bounds = match (self.lower, self.upper) {
            (Some(lower), Some(upper)) => format!("{lower} <= {} <= {upper}; ", self.name),
            (Some(lower), None) => format!("{lower} <= {}; ", self.name),
            (None, Some(upper)) => format!("{} <= {upper}; ", self.name),
            (None, None) => String::new(),
        };
        // A single value says more than bounds.
        let bounds = if self.only.is_some() { String::new() } else { bounds };
        sentence.say(bounds + &counted(self.guards.len(), "guard", "guards"));
        lines(&mut sentence, &self.guards);
        if let Some(only) = self.only {
            let leaves = match self.leave_one.len() {
                0 => "; its range leaves".to_owned(),
                1 => "; this one leaves".to_owned(),
                n => format!("; these {} leave", number(n)),
            };
            sentence.say(format!("{leaves} only {only}"));
            if self.leave_one != self.guards {
                lines(&mut sentence, &self.leave_one);
            }
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
        if spans.iter().all(|known: &&crate::Span| (known.line, &known.file) != (span.line, &span.file)) {
            spans.push(span);
        }
    }
    for (at, span) in spans.iter().enumerate() {
        sentence.say(if at == 0 { ": " } else { ", " }).line(span, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Span, ValidationSize};

    fn guard(text: &str, line: u32) -> Guard {
        Guard { text: text.to_owned(), span: Some(Span { line, ..Span::default() }) }
    }

    #[test]
    fn a_validation_is_said() {
        let guards = vec![guard("L['x'].size()[0] > 3", 5), guard("L['x'].size()[0] < 6", 5), guard("L['x'].size()[0] != 4", 6)];
        let symbol =
            NarrowedSymbol { name: "s0".to_owned(), lower: Some(2), upper: Some(5), guards: guards.clone(), ..NarrowedSymbol::default() };
        let only = NarrowedSymbol { only: Some(5), leave_one: guards.clone(), ..symbol.clone() };
        let fewer = NarrowedSymbol { only: Some(5), leave_one: vec![guards[2].clone()], ..symbol.clone() };
        let proved =
            Validation { verdict: ValidationVerdict::Proved, asked: 3, symbols: vec![symbol, only, fewer], ..Validation::default() };
        let failed = Validation {
            verdict: ValidationVerdict::Counterexample,
            sizes: vec![ValidationSize { name: "s0".to_owned(), value: "6".to_owned() }],
            condition: Some(guards[1].clone()),
            ..Validation::default()
        };
        let all = [proved, failed, Validation::default()].map(Validation::told);
        let said = all.iter().flat_map(|v| std::iter::once(&v.sentence).chain(v.symbols.iter().map(|s| &s.sentence)));
        let said: Vec<String> = said.map(Sentence::text).collect();
        assert_eq!(all[0].lines("f").len(), 2);
        assert_eq!(all[2].lines("f"), [format!("f: {}", all[2].sentence.text())]);
        let expected = [
            "proved: what tracing asked for (3 conditions) follows from the guards",
            "2 <= s0 <= 5; 3 guards: line 5, line 6",
            "3 guards: line 5, line 6; these three leave only 5",
            "3 guards: line 5, line 6; this one leaves only 5: line 6",
            "counterexample: s0 = 6 passes the guards, but not L['x'].size()[0] < 6, which tracing asked for at line 5",
            "not decided: no proof that what tracing asked for follows from the guards, and no counterexample",
        ];
        assert_eq!(said, expected);
    }
}
