//! Edits of a text: ranges of it, each with what comes in its place.

use std::ops::Range;

/// A range of bytes of the source.
pub(crate) type Span = Range<usize>;

/// A range, and what comes in its place.
#[derive(Clone, Debug)]
pub(crate) struct Edit {
    /// What goes.
    pub(crate) span: Span,
    /// What comes.
    pub(crate) with: String,
}

impl Edit {
    pub(crate) fn delete(span: Span) -> Self {
        Edit { span, with: String::new() }
    }

    pub(crate) fn replace(span: Span, with: impl Into<String>) -> Self {
        Edit { span, with: with.into() }
    }
}

/// The text after some edits. What lies in a range that is gone is gone with it.
pub(crate) fn apply(source: &str, mut edits: Vec<Edit>) -> String {
    // They are few: the library's sort would be ten times this code, in the page, too.
    for end in 1..edits.len() {
        let comes_first = |a: &Edit, b: &Edit| (a.span.start, b.span.end) < (b.span.start, a.span.end);
        for at in (1..=end).rev() {
            if !comes_first(&edits[at], &edits[at - 1]) {
                break;
            }
            edits.swap(at, at - 1);
        }
    }
    let mut text = String::with_capacity(source.len());
    let mut at = 0;
    for Edit { span, with } in edits {
        if span.start >= at {
            text.push_str(&source[at..span.start]);
            text.push_str(&with);
        }
        at = at.max(span.end);
    }
    text.push_str(&source[at..]);
    text
}

/// Where the line of a place begins.
pub(crate) fn line_start(source: &str, at: usize) -> usize {
    source[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// The spaces before a place, where nothing else stands before it in its line.
pub(crate) fn indent(source: &str, at: usize) -> Option<&str> {
    Some(&source[line_start(source, at)..at]).filter(|before| before.trim().is_empty())
}

/// What goes with a statement: its lines where they are its own, otherwise the semicolon behind it.
pub(crate) fn whole_statement(source: &str, span: &Span) -> Span {
    let rest = &source[span.end..];
    let behind = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    let next = rest[behind..].chars().next();
    if indent(source, span.start).is_some() && next.is_none_or(|next| "#\r\n".contains(next)) {
        let end = rest.find('\n').map_or(source.len(), |newline| span.end + newline + 1);
        return line_start(source, span.start)..end;
    }
    if next == Some(';') {
        let rest = &rest[behind + 1..];
        let spaces = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        return span.start..span.end + behind + 1 + spaces;
    }
    span.clone()
}

/// Statements of a block as they are written with another indentation. Lines that begin within a string (`held`) stay as they are.
pub(crate) fn indented(source: &str, block: &[Span], held: &[Span], indentation: &str) -> String {
    let (Some(first), Some(last)) = (block.first(), block.last()) else { return String::new() };
    let own = indent(source, first.start).unwrap_or_default();
    let mut text = String::new();
    let mut at = first.start;
    for line in source[first.start..last.end].split_inclusive('\n') {
        let is_held = held.iter().any(|string| string.start < at && at < string.end);
        match line.strip_prefix(own) {
            Some(line) if at > first.start && !is_held => {
                text.push_str(indentation);
                text.push_str(line);
            }
            _ => text.push_str(line),
        }
        at += line.len();
    }
    text
}

/// Deletes an element of a list with what separates it from the others; nothing where commas are not what does.
pub(crate) fn without(source: &str, items: &[Span], at: usize) -> Option<Edit> {
    let item = items.get(at)?;
    if let Some(next) = items.get(at + 1) {
        let (comma, closers) = comma(source, item.end)?;
        let mut start = item.start;
        // Parentheses around it are no part of it.
        for _ in 0..closers {
            start = source[..start].rfind('(')?;
        }
        let spaces = source[comma + 1..next.start].find(|c: char| !c.is_whitespace()).unwrap_or(next.start - comma - 1);
        return Some(Edit::delete(start..comma + 1 + spaces));
    }
    let start = match at.checked_sub(1).and_then(|before| items.get(before)) {
        Some(before) => comma(source, before.end)?.0,
        None => item.start,
    };
    // A comma behind the last one goes with the first's, where one is left.
    let end = comma(source, item.end).filter(|(_, closers)| *closers == 0).map_or(item.end, |(comma, _)| comma + usize::from(at == 0));
    Some(Edit::delete(start..end))
}

/// The next comma, and how many parentheses close before it.
fn comma(source: &str, from: usize) -> Option<(usize, usize)> {
    let mut closers = 0;
    for (at, c) in source[from..].char_indices() {
        match c {
            ',' => return Some((from + at, closers)),
            ')' => closers += 1,
            c if c.is_whitespace() => {}
            _ => return None,
        }
    }
    None
}

/// An expression in the place of another: in parentheses, unless it is a name, a number, or ends in brackets, or is all that brackets or a
/// line hold.
pub(crate) fn placed(source: &str, place: &Span, text: &str) -> Edit {
    let before = source[..place.start].trim_end_matches(' ').chars().next_back();
    let behind = source[place.end..].trim_start_matches(' ').chars().next();
    let is_all = match (before, behind) {
        (Some('(' | '['), Some(')' | ']' | ',')) => true,
        (None | Some('=' | '\n'), None | Some('\n')) => !text.contains('\n'),
        _ => false,
    };
    Edit::replace(place.clone(), if is_all { text.to_owned() } else { held(text) })
}

/// An expression as it may stand anywhere.
pub(crate) fn held(text: &str) -> String {
    let mut depth = 0;
    let is_one = text.chars().all(|c| {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => return depth > 0 || c.is_alphanumeric() || "._".contains(c),
        }
        true
    });
    if is_one { text.to_owned() } else { format!("({text})") }
}

/// Whether all that parentheses hold is this, and they are no call's.
pub(crate) fn is_parenthesized(source: &str, span: &Span) -> bool {
    let before = source[..span.start].strip_suffix('(');
    let is_call = |before: &str| before.ends_with(|c: char| c.is_alphanumeric() || "_)]}\"'".contains(c));
    source[span.end..].starts_with(')') && before.is_some_and(|before| !is_call(before))
}
