//! What a check found: compiled functions called again in eager mode, and their values compared.

use serde::{Deserialize, Serialize};

use crate::Span;

/// At most so many differences of a compilation are kept; the others are counted.
const MOST_DIFFERENCES: usize = 8;

/// Where two runs part: the first node whose value differs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct DifferingNode {
    /// The graph it belongs to: `captured`, `forward`, `backward` or `inference`.
    pub graph: String,
    /// Its name there.
    pub name: String,
    /// What it calls: `aten.cos.default`.
    pub target: String,
    /// Its arguments: `(primals_1,)`.
    pub args: String,
    /// The node of the graph as it was traced whose place it took, where a pass put it in.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[cfg_attr(test, ts(optional))]
    pub in_place_of: Option<String>,
    /// Where in the script it comes from.
    pub span: Option<Span>,
}

/// A value of a compiled call that is not eager mode's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Difference {
    /// The graph that ran: `forward`, `backward` or `inference`.
    pub part: String,
    /// Which value: `output 0`, `input 1 after the call`, `gradient of input 0`.
    pub value: String,
    /// How it differs.
    pub how: String,
    /// The first node that differs, where it could be found.
    pub node: Option<DifferingNode>,
}

/// What the calls of a compilation came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Check {
    /// Which compilation.
    pub compilation: u32,
    /// Forwards that were compared, and backwards.
    pub compared: [u32; 2],
    /// Why calls were not compared, and how many.
    pub not_compared: Vec<(String, u32)>,
    /// The first differences.
    pub differences: Vec<Difference>,
    /// How many more there are.
    pub more: u32,
    /// All of that in sentences.
    pub sentences: Vec<String>,
}

/// `1 call`, `2 calls`.
fn counted(count: u32, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

impl Check {
    /// A call was compared: its forward, or its backward.
    pub fn compared(&mut self, is_backward: bool, difference: Option<Difference>) {
        let count = &mut self.compared[usize::from(is_backward)];
        *count = count.saturating_add(1);
        match difference {
            Some(difference) if self.differences.len() < MOST_DIFFERENCES => self.differences.push(difference),
            Some(_) => self.more = self.more.saturating_add(1),
            None => {}
        }
        self.say();
    }

    /// A call was not compared.
    pub fn not_compared(&mut self, reason: String) {
        match self.not_compared.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, count)) => *count = count.saturating_add(1),
            None => self.not_compared.push((reason, 1)),
        }
        self.say();
    }

    fn say(&mut self) {
        let mut lines: Vec<String> = self.differences.iter().map(Difference::sentence).collect();
        if self.more > 0 {
            lines.push(format!("{} not shown", counted(self.more, "more difference")));
        }
        if self.differences.is_empty() && self.compared != [0, 0] {
            let [forwards, backwards] = self.compared;
            let backwards = if backwards == 0 { String::new() } else { format!(" and {}", counted(backwards, "backward")) };
            lines.push(format!("{}{backwards} gave what eager mode gives", counted(forwards, "call")));
        }
        lines.extend(self.not_compared.iter().map(|(reason, count)| format!("{} not compared: {reason}", counted(*count, "call"))));
        self.sentences = lines;
    }
}

impl Difference {
    fn sentence(&self) -> String {
        let mut text = format!("{}: {}: {}", self.part, self.value, self.how);
        if let Some(node) = &self.node {
            let line = node.span.as_ref().map(|span| format!(", {}", span.words())).unwrap_or_default();
            let instead = node.in_place_of.as_ref().map(|name| format!(", in place of {name}")).unwrap_or_default();
            let called = format!("{} = {}{}", node.name, node.target, node.args);
            text += &format!("; first differing node, of the {} graph: {called}{instead}{line}", node.graph);
        }
        text
    }
}
