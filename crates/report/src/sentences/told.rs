//! Events with the sentences that they come to: after a cache miss what the misses of its frame come to, after a graph break its place.
//!
//! A script may miss and break without end: what is said again after an event is of its own frame or place, and calls that run
//! uncompiled are counted without a word until the script ends.

use std::collections::{BTreeMap, HashMap};

use super::breaks::{self, Key};
use super::recompiles::Counted;
use super::{BreakPlace, Misses, Sentence};
use crate::{Event, GraphBreak};

/// What was said so far.
#[derive(Default)]
pub struct Told {
    frames: BTreeMap<u32, Counted>,
    places: HashMap<Key, (u32, u32)>,
    /// Whose lines are meant.
    files: Files,
}

/// Whose lines a number may be of.
#[derive(Default)]
pub(super) enum Files {
    /// The script's alone.
    #[default]
    One,
    /// The script's, which has this name, and of files beside it.
    Beside(Box<str>),
    /// Of several files, all of which are named.
    All,
}

impl Told {
    /// Of a log, whose lines are of several files.
    pub fn of_log() -> Self {
        Told { files: Files::All, ..Told::default() }
    }

    /// Of a run of the script of this name.
    pub fn of_script(name: &str) -> Self {
        Told { files: Files::Beside(name.into()), ..Told::default() }
    }

    /// The function of a frame.
    pub fn frame(&mut self, frame: u32, function: &str) {
        self.frames.entry(frame).or_default().of(function);
    }

    /// What is to be said after an event.
    pub fn after(&mut self, event: &Event) -> Vec<Event> {
        match event {
            Event::Captured { region } => {
                if let Some(entry) = &region.entry {
                    self.frame(entry.frame, &region.function);
                }
                Vec::new()
            }
            Event::Recompiled { reasons } => self.missed(reasons).map(|misses| Event::Misses { misses }).into_iter().collect(),
            Event::Limited { limit } => {
                self.frames.entry(limit.frame).or_default().limited(limit);
                vec![Event::Misses { misses: self.of_frame(limit.frame) }]
            }
            Event::Uncompiled { frame, .. } => {
                self.frames.get_mut(frame).into_iter().for_each(Counted::uncompiled);
                Vec::new()
            }
            Event::Broke { graph_break } => vec![Event::BreakPlace { place: self.broke(graph_break, None) }],
            Event::Finished { .. } => {
                let limited: Vec<u32> = self.frames.iter().filter(|(_, frame)| frame.is_limited()).map(|(id, _)| *id).collect();
                limited.into_iter().map(|id| Event::Misses { misses: self.of_frame(id) }).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Counts a miss; gives what those of its frame come to. A reason begins with the frame: `0/3: ...`.
    pub fn missed(&mut self, reasons: &[String]) -> Option<Misses> {
        let (before, _) = reasons.first()?.split_once('/')?;
        let frame = before.trim_start_matches('!').parse().ok()?;
        self.frames.entry(frame).or_default().miss(reasons);
        Some(self.of_frame(frame))
    }

    /// Counts a graph break; gives its place.
    pub fn broke(&mut self, graph_break: &GraphBreak, file: Option<&str>) -> BreakPlace {
        let next = u32::try_from(self.places.len()).unwrap_or(u32::MAX);
        let file = file.filter(|_| matches!(self.files, Files::All));
        let key = breaks::key(graph_break, file);
        let (id, count) = self.places.entry(key).or_insert((next, 0));
        *count = count.saturating_add(1);
        breaks::place(*id, *count, (graph_break, file.map(str::to_owned).as_ref()))
    }

    fn of_frame(&mut self, frame: u32) -> Misses {
        self.frames.entry(frame).or_default().told(frame, &self.files)
    }
}

/// What there is to say of cache misses and graph breaks, a line each.
pub fn lines(misses: &[Misses], places: &[BreakPlace]) -> Vec<String> {
    let mut out = Vec::new();
    for misses in misses {
        out.extend(misses.causes.iter().map(|cause| cause.sentence.text()));
        out.extend(misses.limit.as_ref().map(Sentence::text));
    }
    for place in places {
        out.push(format!("graph break at {}", place.sentence.text()));
        out.extend(place.hints.iter().map(|hint| format!("  {hint}")));
        out.extend(place.url.iter().map(|url| format!("  {url}")));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CacheEntryView, CapturedGraph, RecompileLimit, Report, Span};

    /// The sentences of a report that is folded from events and from what is said after them.
    fn said(events: Vec<Event>) -> String {
        let (mut told, mut report) = (Told::default(), Report::default());
        for event in events {
            let more = told.after(&event);
            report.fold(event);
            more.into_iter().for_each(|event| report.fold(event));
        }
        lines(&report.misses, &report.break_places).join("\n")
    }

    fn captured(frame: u32, function: &str) -> Event {
        let entry = Some(CacheEntryView { frame, ..CacheEntryView::default() });
        Event::Captured { region: CapturedGraph { function: function.to_owned(), entry, ..CapturedGraph::default() } }
    }

    #[test]
    fn misses_of_each_frame_are_said_by_themselves() {
        let missed = |reason: &str| Event::Recompiled { reasons: vec![reason.to_owned()] };
        let limit = RecompileLimit {
            frame: 0,
            function: "f".to_owned(),
            config: "recompile_limit".to_owned(),
            limit: 2,
            ..RecompileLimit::default()
        };
        let events = vec![
            captured(0, "f"),
            captured(1, "g"),
            missed("0/0: k == 0"),
            missed("1/0: mode == 'a'"),
            missed("0/1: k == 1"),
            Event::Limited { limit },
            Event::Uncompiled { frame: 0, span: None },
            Event::Uncompiled { frame: 0, span: None },
            Event::Finished { exception: None, seconds: 0.0 },
        ];
        assert_eq!(
            said(events),
            "k == n: 2 of 2 cache misses of f [0]\n\
             f [0] is not compiled again: recompile_limit = 2; 2 calls ran uncompiled\n\
             mode == 'a': 1 of 1 cache miss of g [1]"
        );
    }

    #[test]
    fn each_place_of_a_break_is_said_once() {
        let broke = |line: u32, reason: &str, hints: &[&str]| Event::Broke {
            graph_break: GraphBreak {
                reason: reason.to_owned(),
                span: Some(Span { line, column: 4, end_line: line, end_column: 9, file: None }),
                hints: hints.iter().map(|hint| (*hint).to_owned()).collect(),
                url: Some("https://example.org/gb0124.html".to_owned()),
                ..GraphBreak::default()
            },
        };
        let item = || broke(12, "Unsupported Tensor.item() call", &["Set `torch._dynamo.config.capture_scalar_outputs = True`"]);
        let mut told = Told::default();
        let mut last = None;
        for event in [item(), broke(14, "Data-dependent branching", &[]), item(), item()] {
            last = told.after(&event).pop();
        }
        let Some(Event::BreakPlace { place }) = last else { panic!("{last:?}") };
        assert_eq!((place.id, place.count), (0, 3));
        assert_eq!(place.sentence.text(), "line 12: Unsupported Tensor.item() call, 3 times");
        assert_eq!(place.setting.as_deref(), Some("torch._dynamo.config.capture_scalar_outputs = True"));
    }
}
