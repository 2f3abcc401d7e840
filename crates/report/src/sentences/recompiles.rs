//! Cache misses of a frame, grouped by the guard that failed.
//!
//! A miss names a guard per cache entry, newest first. It counts for that of the newest entry, the one that was made last to serve
//! such calls. Guards that differ in nothing but the constant are one cause: `self.step == 3` and `self.step == 4` are
//! `self.step == k`.

use serde::{Deserialize, Serialize};

use super::told::Files;
use super::{Sentence, counted, setting};
use crate::{RecompileLimit, Span};

/// The cache misses of one frame.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Misses {
    /// The frame id, as in `TORCH_LOGS=recompiles`.
    pub id: u32,
    /// By cause, the most frequent first.
    pub causes: Vec<Cause>,
    /// That it is not compiled again, where a limit was reached.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[cfg_attr(test, ts(optional))]
    pub limit: Option<Sentence>,
}

/// A guard that failed, and how often.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Cause {
    /// `self.step == k (line 9): 7 of 8 cache misses of forward [0]`
    pub sentence: Sentence,
    /// How many misses it counts.
    pub count: u32,
    /// The setting that PyTorch's hint names, as a line of Python.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[cfg_attr(test, ts(optional))]
    pub setting: Option<String>,
}

/// A reason of `TORCH_LOGS=recompiles`, taken apart.
#[derive(Debug, PartialEq)]
struct Reason<'a> {
    /// The guard without its constant.
    stem: String,
    /// The guard.
    condition: &'a str,
    /// Its file and line.
    place: Option<(&'a str, u32)>,
    /// The function that the line is in.
    function: Option<&'a str>,
    hint: Option<&'a str>,
}

/// Whether a text is a constant of Python's.
fn is_constant(text: &str) -> bool {
    let is_text = |quote: char| text.len() > 1 && text.starts_with(quote) && text.ends_with(quote);
    matches!(text, "True" | "False" | "None") || text.parse::<f64>().is_ok() || is_text('\'') || is_text('"')
}

/// What is left of a guard where its constant is taken away.
fn stem(condition: &str) -> String {
    if let Some((left, right)) = condition.split_once(" == ")
        && is_constant(right.trim())
    {
        // What is called so itself gets another letter.
        return format!("{} == {}", left.trim_end(), if left.trim_end() == "k" { "n" } else { "k" });
    }
    // `tensor 'x' size mismatch at index 0. expected 2, actual 3`
    let mismatch = condition.split_once(". expected ").map(|(before, _)| before).filter(|before| before.starts_with("tensor "));
    if let Some(before) = mismatch {
        return before.to_owned();
    }
    // Ids of objects are other ones in every run.
    match condition.strip_prefix("___check_").and_then(|rest| rest.split_once(", ")) {
        Some((asked, after)) => {
            let id = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
            if id > 0 { format!("___check_{asked}, ID{}", &after[id..]) } else { condition.to_owned() }
        }
        None => condition.to_owned(),
    }
}

fn reason(text: &str) -> Reason<'_> {
    // `0/3: ` before it, where entries have numbers.
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit() || c == b'/' || c == b'!');
    let text = text.split_once(": ").filter(|(id, _)| is_number(id)).map_or(text, |(_, rest)| rest);
    let (text, hint) = match text.split_once(" (HINT: ") {
        Some((before, hint)) => (before, Some(hint)),
        None => (text, None),
    };
    // `check  # code  # file.py:5 in f`
    let condition = text.split_once("  # ").map_or(text, |(condition, _)| condition).trim();
    let place = text.rsplit_once("  # ").and_then(|(_, place)| place.rsplit_once(" in "));
    let at = place.and_then(|(file, _)| file.rsplit_once(':')).and_then(|(file, line)| Some((file.trim(), line.parse().ok()?)));
    // What is said of parameters is part of the guard's own text.
    let hint = hint.or_else(|| condition.split_once(". Guard failed on a parameter").map(|(_, hint)| hint));
    Reason { stem: stem(condition), condition, place: at, function: place.map(|(_, function)| function.trim()), hint }
}

/// What is known of a cause.
struct Group {
    stem: String,
    condition: String,
    /// Whether it has failed with several constants.
    varies: bool,
    place: Option<(String, u32)>,
    count: u32,
    setting: Option<String>,
}

impl Group {
    fn place(&self) -> Option<(&str, u32)> {
        self.place.as_ref().map(|(file, line)| (file.as_str(), *line))
    }
}

/// A frame's misses while they are counted.
#[derive(Default)]
pub(super) struct Counted {
    function: String,
    count: u32,
    groups: Vec<Group>,
    limit: Option<(RecompileLimit, u32)>,
}

impl Counted {
    /// The name of the frame's function, where it is known before a reason says it.
    pub(super) fn of(&mut self, function: &str) {
        self.function = function.to_owned();
    }

    /// Counts a miss.
    pub(super) fn miss(&mut self, reasons: &[String]) {
        let Some(first) = reasons.first() else { return };
        let reason = reason(first);
        self.count += 1;
        if self.function.is_empty() {
            self.function = reason.function.unwrap_or_default().to_owned();
        }
        match self.groups.iter_mut().find(|group| group.stem == reason.stem && group.place() == reason.place) {
            Some(group) => {
                group.count += 1;
                group.varies |= group.condition != reason.condition;
            }
            None => self.groups.push(Group {
                stem: reason.stem,
                condition: reason.condition.to_owned(),
                varies: false,
                place: reason.place.map(|(file, line)| (file.to_owned(), line)),
                count: 1,
                setting: reason.hint.and_then(setting),
            }),
        }
    }

    /// Notes that a limit was reached.
    pub(super) fn limited(&mut self, limit: &RecompileLimit) {
        self.limit = Some((limit.clone(), 0));
    }

    /// Counts a call that ran uncompiled.
    pub(super) fn uncompiled(&mut self) {
        if let Some((_, calls)) = &mut self.limit {
            *calls = calls.saturating_add(1);
        }
    }

    pub(super) fn is_limited(&self) -> bool {
        self.limit.is_some()
    }

    fn cause(&self, id: u32, group: &Group, files: &Files) -> Cause {
        let mut sentence = Sentence::default();
        sentence.say(if group.varies { group.stem.as_str() } else { group.condition.as_str() });
        if let Some((file, line)) = &group.place {
            let beside = matches!(files, Files::Beside(script) if **script != **file).then(|| file.as_str().into());
            let span = Span { line: *line, end_line: *line, file: beside, ..Span::default() };
            sentence.say(" (").line(&span, matches!(files, Files::All).then_some(file)).say(")");
        }
        let whose = format!("{} [{id}]", self.function);
        sentence.say(format!(": {} of {} of {}", group.count, counted(self.count as usize, "cache miss", "cache misses"), whose.trim()));
        if let Some(setting) = &group.setting {
            sentence.say(format!("; set {setting}"));
        }
        Cause { sentence, count: group.count, setting: group.setting.clone() }
    }

    /// What it has come to so far.
    pub(super) fn told(&self, id: u32, files: &Files) -> Misses {
        let mut groups: Vec<&Group> = self.groups.iter().collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.count));
        let limit = self.limit.as_ref().map(|(limit, calls)| {
            let mut sentence = Sentence::default();
            let function = if self.function.is_empty() { &limit.function } else { &self.function };
            sentence.say(format!("{function} [{id}] is not compiled again: {} = {}", limit.config, limit.limit));
            if *calls > 0 {
                sentence.say(format!("; {} uncompiled", counted(*calls as usize, "call ran", "calls ran")));
            }
            sentence
        });
        Misses { id, causes: groups.into_iter().map(|group| self.cause(id, group, files)).collect(), limit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of a frame whose misses are these: entries that failed, one a line, a blank line between misses.
    fn said(misses: &str) -> String {
        let mut counted = Counted::default();
        for miss in misses.split("\n\n") {
            counted.miss(&miss.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>());
        }
        counted.told(0, &Files::One).causes.iter().map(|cause| format!("{}\n", cause.sentence.text())).collect()
    }

    const HINT: &str = "(HINT: torch.compile considers integer attributes of the nn.Module to be static. If you are observing recompilation, you might want to make this integer dynamic using torch._dynamo.config.allow_unspec_int_on_nn_module = True, or convert this integer into a tensor.)";

    #[test]
    fn guards_that_differ_in_their_constant_are_one_cause() {
        let step = |k: u32| format!("0/{k}: self.step == {k}                  # self.step += 1  # mp/int.py:8 in forward {HINT}");
        let misses =
            format!("{}\n\n{}\n{}\n\n0/2: self.training == True  # if self.training:  # mp/int.py:9 in forward", step(0), step(1), step(0));
        assert_eq!(
            said(&misses),
            "self.step == k (line 8): 2 of 3 cache misses of forward [0]; set torch._dynamo.config.allow_unspec_int_on_nn_module = True\n\
             self.training == True (line 9): 1 of 3 cache misses of forward [0]\n"
        );
    }

    #[test]
    fn sizes_are_one_cause_per_dimension() {
        let misses = "0/0: tensor 'x' size mismatch at index 0. expected 2, actual 3\n\n0/1: tensor 'x' size mismatch at index 0. expected 3, actual 4\n0/0: tensor 'x' size mismatch at index 0. expected 2, actual 4\n\n0/2: tensor 'x' size mismatch at index 1. expected 8, actual 9";
        assert_eq!(
            said(misses),
            "tensor 'x' size mismatch at index 0: 2 of 3 cache misses of [0]\n\
             tensor 'x' size mismatch at index 1. expected 8, actual 9: 1 of 3 cache misses of [0]\n"
        );
    }

    #[test]
    fn what_is_no_constant_stays() {
        let cases = [
            ("x.size()[0] == y.size()[0]", "x.size()[0] == y.size()[0]"),
            ("mode == 'a'", "mode == k"),
            ("p == 0.0", "p == k"),
            ("___check_obj_id(fn, 94723), type=<class 'code'>", "___check_obj_id(fn, ID), type=<class 'code'>"),
            ("___check_type_id(fn, ID), type=<class 'A'>", "___check_type_id(fn, ID), type=<class 'A'>"),
            ("GLOBAL_STATE changed: grad_mode", "GLOBAL_STATE changed: grad_mode"),
        ];
        for (condition, expected) in cases {
            assert_eq!(stem(condition), expected);
        }
    }

    #[test]
    fn a_parameters_guard_names_its_setting() {
        let miss = "0/0: tensor 'w' size mismatch at index 0. expected 4, actual 5. Guard failed on a parameter, consider using torch._dynamo.config.force_parameter_static_shapes = False to allow dynamism on parameters.";
        let mut counted = Counted::default();
        counted.miss(&[miss.to_owned()]);
        assert_eq!(
            counted.told(0, &Files::One).causes[0].setting.as_deref(),
            Some("torch._dynamo.config.force_parameter_static_shapes = False")
        );
    }

    #[test]
    fn a_limit_says_how_many_calls_ran_uncompiled() {
        let mut counted = Counted::default();
        counted.limited(&RecompileLimit {
            function: "f".to_owned(),
            config: "recompile_limit".to_owned(),
            limit: 8,
            ..RecompileLimit::default()
        });
        assert_eq!(
            counted.told(2, &Files::One).limit.map(|limit| limit.text()).as_deref(),
            Some("f [2] is not compiled again: recompile_limit = 8")
        );
        counted.uncompiled();
        assert_eq!(
            counted.told(2, &Files::One).limit.map(|limit| limit.text()).as_deref(),
            Some("f [2] is not compiled again: recompile_limit = 8; 1 call ran uncompiled")
        );
    }
}
