//! The text of an uncaught exception, as CPython 3.11 prints it.

use std::collections::HashSet;
use std::fmt::Write;
use std::rc::Rc;

use rustpython_vm::{
    AsObject, Py, PyObject, PyObjectRef, PyRef, TryFromObject, VirtualMachine,
    builtins::{PyBaseException, PyBaseExceptionRef, PyCode, PyStr, PyTraceback},
};

use super::current::Run;
use super::files::{Kind, SourceFile};
use super::limit;
use crate::report::{Exception, Span};

/// CPython shows this many copies of a line that repeats itself, then counts.
const SHOWN_REPEATS: usize = 3;

/// Describes the exception that ended `run`.
pub(super) fn describe(exception: &PyBaseExceptionRef, run: &Run, vm: &VirtualMachine) -> Exception {
    Exception {
        kind: exception.class().__qualname__(vm).str(vm).map_or_else(|_| exception.class().name().to_string(), |name| lossy(&name)),
        message: message(exception, vm),
        traceback: text(exception, run, vm),
        span: span(exception, run, vm),
    }
}

/// The innermost place in what the visitor wrote: where the exception passed through it last, or where its syntax is wrong.
fn span(exception: &Py<PyBaseException>, run: &Run, vm: &VirtualMachine) -> Option<Span> {
    if let Some(syntax) = syntax_error(exception, vm)
        && let Some(file) = run.named(&syntax.filename, vm)
    {
        let column = syntax.offset.unwrap_or(1).max(1) as u32 - 1;
        let end_column = syntax.end_offset.filter(|&end| end > 0).map_or(column + 1, |end| (end as u32 - 1).max(column + 1));
        let line = syntax.line?;
        let end_line = syntax.end_line.filter(|&end| end >= line).unwrap_or(line);
        return Some(Span { line, column, end_line, end_column, file: file.of_span() });
    }
    let (innermost, file) = entries(exception)
        .into_iter()
        .rev()
        .find_map(|entry| Some(entry.clone()).zip(file_of(&entry, run).filter(|f| f.kind != Kind::Package)))?;
    let line = innermost.lineno.get() as u32;
    let code = innermost.frame.iframe().code();
    let range = usize::try_from(innermost.lasti / 2).ok().and_then(|index| code.locations.get(index));
    Some(match range {
        Some((start, end)) if start.line == innermost.lineno => Span {
            line,
            column: file.column(line as usize, start.character_offset.to_zero_indexed()),
            end_line: end.line.get() as u32,
            end_column: file.column(end.line.get(), end.character_offset.to_zero_indexed()),
            file: file.of_span(),
        },
        _ => {
            let end_column = file.raw_line(line as usize).chars().count() as u32;
            Span { line, column: 0, end_line: line, end_column, file: file.of_span() }
        }
    })
}

/// The innermost place in the script that an exception passed through, as the compiler's messages show it.
pub fn source(exception: &Py<PyBaseException>) -> Option<crate::span::Source> {
    entries(exception).iter().rev().find_map(in_script).map(|(.., place)| place)
}

/// The instructions of the script's that the exception passed through, outermost first.
pub fn passed(exception: &Py<PyBaseException>) -> Vec<(PyRef<PyCode>, u32)> {
    entries(exception).iter().filter_map(in_script).map(|(code, at, _)| (code, at)).collect()
}

/// The instruction of an entry and its place; none outside of the script.
fn in_script(entry: &PyRef<PyTraceback>) -> Option<(PyRef<PyCode>, u32, crate::span::Source)> {
    let code = entry.frame.iframe().code();
    let at = u32::try_from(entry.lasti / 2).ok()?;
    let place = super::span::place_in(code, *code.locations.get(at as usize)?)?;
    Some((code.to_owned(), at, place))
}

/// The traceback, outermost frame first.
fn entries(exception: &Py<PyBaseException>) -> Vec<PyRef<PyTraceback>> {
    let mut entries: Vec<PyRef<PyTraceback>> = exception.traceback().map(|first| first.iter().collect()).unwrap_or_default();
    if limit::is_time_limit(exception) {
        // Of the entries of one frame the last is where it was raised first.
        entries.reverse();
        entries.dedup_by(|outer, inner| outer.frame.is(&inner.frame));
        entries.reverse();
    }
    entries
}

/// The file of an entry; none of the library's.
fn file_of(entry: &Py<PyTraceback>, run: &Run) -> Option<Rc<SourceFile>> {
    run.file(entry.frame.iframe().code().source_path())
}

/// The whole text, with the exceptions it was raised from or while handling.
pub(super) fn text(exception: &PyBaseExceptionRef, run: &Run, vm: &VirtualMachine) -> String {
    const CAUSE: &str = "\nThe above exception was the direct cause of the following exception:\n\n";
    const CONTEXT: &str = "\nDuring handling of the above exception, another exception occurred:\n\n";
    // From the last exception to the first, each with the sentence that leads to the one before it in this list.
    let mut chain = vec![(exception.clone(), "")];
    let mut seen = HashSet::from([exception.get_id()]);
    while let Some((last, _)) = chain.last() {
        let next = match last.__cause__() {
            Some(cause) => Some((cause, CAUSE)),
            None if flag(last.as_object(), "__suppress_context__", vm) => None,
            None => last.__context__().map(|context| (context, CONTEXT)),
        };
        match next {
            Some((next, sentence)) if seen.insert(next.get_id()) => chain.push((next, sentence)),
            _ => break,
        }
    }
    let mut out = String::new();
    for (exception, sentence) in chain.iter().rev() {
        write_frames(&mut out, exception, run);
        write_exception(&mut out, exception, run, vm);
        out.push_str(sentence);
    }
    out
}

fn write_frames(out: &mut String, exception: &Py<PyBaseException>, run: &Run) {
    let entries = entries(exception);
    if entries.is_empty() {
        return;
    }
    out.push_str("Traceback (most recent call last):\n");
    let mut last = None;
    let mut repeats = 0;
    for entry in &entries {
        let code = entry.frame.iframe().code();
        // As CPython does: how a module is found is not part of the program.
        if code.source_path().as_str().starts_with("<frozen importlib") {
            continue;
        }
        let place = (code.source_path().as_str(), entry.lineno.get(), code.obj_name.as_str());
        if last == Some(place) {
            repeats += 1;
        } else {
            write_repeats(out, repeats);
            repeats = 1;
            last = Some(place);
        }
        if repeats > SHOWN_REPEATS {
            continue;
        }
        let (file, line, function) = place;
        let _ = writeln!(out, "  File \"{file}\", line {line}, in {function}");
        if let Some(known) = file_of(entry, run) {
            let source = known.line(line);
            if !source.is_empty() {
                let _ = writeln!(out, "    {source}");
            }
        }
    }
    write_repeats(out, repeats);
}

fn write_repeats(out: &mut String, repeats: usize) {
    if repeats > SHOWN_REPEATS {
        let more = repeats - SHOWN_REPEATS;
        let _ = writeln!(out, "  [Previous line repeated {more} more time{}]", if more > 1 { "s" } else { "" });
    }
}

pub(super) fn write_exception(out: &mut String, exception: &Py<PyBaseException>, run: &Run, vm: &VirtualMachine) {
    let name = type_name(exception, vm);
    let message = match syntax_error(exception, vm) {
        Some(syntax) => {
            syntax.write_place(out, run, vm);
            syntax.message
        }
        None => message(exception, vm),
    };
    out.push_str(&name);
    if !message.is_empty() {
        let _ = write!(out, ": {message}");
    }
    if let Some(suggestion) = rustpython_vm::suggestion::offer_suggestions(exception, vm) {
        let _ = write!(out, ". Did you mean: '{}'?", suggestion.to_string_lossy());
    }
    out.push('\n');
    if let Some(notes) = attribute(exception.as_object(), "__notes__", vm)
        && let Ok(notes) = Vec::<PyObjectRef>::try_from_object(vm, notes)
    {
        for note in notes {
            let note = note.str(vm).map_or_else(|_| "<note str() failed>".to_owned(), |note| lossy(&note));
            for line in note.split('\n') {
                let _ = writeln!(out, "{line}");
            }
        }
    }
}

/// `module.Class`; the module is left out where everybody knows it.
fn type_name(exception: &Py<PyBaseException>, vm: &VirtualMachine) -> String {
    let class: PyObjectRef = exception.class().to_owned().into();
    let name = attribute_text(&class, "__qualname__", vm).unwrap_or_else(|| exception.class().name().to_string());
    match attribute_text(&class, "__module__", vm) {
        Some(module) if module != "builtins" && module != "__main__" => format!("{module}.{name}"),
        _ => name,
    }
}

fn message(exception: &Py<PyBaseException>, vm: &VirtualMachine) -> String {
    exception.as_object().str(vm).map_or_else(|_| "<exception str() failed>".to_owned(), |text| lossy(&text))
}

/// What a `SyntaxError` carries.
struct Syntax {
    message: String,
    filename: String,
    line: Option<u32>,
    offset: Option<i64>,
    end_line: Option<u32>,
    end_offset: Option<i64>,
    text: Option<String>,
}

fn syntax_error(exception: &Py<PyBaseException>, vm: &VirtualMachine) -> Option<Syntax> {
    if !exception.fast_isinstance(vm.ctx.exceptions.syntax_error) {
        return None;
    }
    let object = exception.as_object();
    let is_indentation = exception.fast_isinstance(vm.ctx.exceptions.indentation_error);
    let number = |name| attribute(object, name, vm).and_then(|value| value.try_to_value::<i64>(vm).ok());
    Some(Syntax {
        message: attribute_text(object, "msg", vm).unwrap_or_else(|| message(exception, vm)),
        filename: attribute_text(object, "filename", vm).unwrap_or_else(|| "<string>".to_owned()),
        line: number("lineno").and_then(|line| u32::try_from(line).ok()),
        offset: number("offset"),
        end_line: number("end_lineno").and_then(|line| u32::try_from(line).ok()),
        // CPython points at a place there, not at a range.
        end_offset: number("end_offset").filter(|_| !is_indentation),
        text: attribute_text(object, "text", vm),
    })
}

impl Syntax {
    /// The file, the line and carets under what is wrong.
    fn write_place(&self, out: &mut String, run: &Run, vm: &VirtualMachine) {
        let Some(line) = self.line else { return };
        let _ = writeln!(out, "  File \"{}\", line {line}", self.filename);
        let file = run.named(&self.filename, vm);
        let text = match (&self.text, &file) {
            (Some(text), _) => text.as_str(),
            (None, Some(file)) => file.raw_line(line as usize),
            (None, None) => return,
        };
        let text = text.trim_end_matches(['\n', '\r']);
        let stripped = text.trim_start_matches([' ', '\n', '\x0c', '\t']);
        let _ = writeln!(out, "    {}", stripped.trim_end());
        let Some(offset) = self.offset.filter(|&offset| offset >= 1) else { return };
        let length = text.chars().count() as i64;
        let mut end = match self.end_offset {
            Some(end) if end > 0 && self.end_line == Some(line) => end,
            Some(_) if self.end_line.is_some_and(|end_line| end_line > line) => length + 1,
            _ => offset,
        };
        if end <= offset {
            end = offset + 1;
        }
        let indent = length - stripped.chars().count() as i64;
        let start = offset - 1 - indent;
        if start >= 0 {
            let space: String = stripped
                .chars()
                .chain(std::iter::repeat(' '))
                .take(start as usize)
                .map(|c| if c.is_whitespace() { c } else { ' ' })
                .collect();
            let _ = writeln!(out, "    {space}{}", "^".repeat((end - offset).max(1) as usize));
        }
    }
}

fn attribute(object: &PyObject, name: &'static str, vm: &VirtualMachine) -> Option<PyObjectRef> {
    object.get_attr(name, vm).ok().filter(|value| !vm.is_none(value))
}

fn attribute_text(object: &PyObject, name: &'static str, vm: &VirtualMachine) -> Option<String> {
    attribute(object, name, vm)?.str(vm).ok().map(|text| lossy(&text))
}

fn flag(object: &PyObject, name: &'static str, vm: &VirtualMachine) -> bool {
    attribute(object, name, vm).is_some_and(|value| value.try_to_bool(vm).unwrap_or(false))
}

fn lossy(text: &Py<PyStr>) -> String {
    text.to_string_lossy().into_owned()
}
