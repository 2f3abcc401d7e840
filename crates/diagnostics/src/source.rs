//! Lines of the script as PyTorch prints them, and where the script is just now.

use crate::span::Span;
use std::any::Any;
use std::rc::Rc;

/// A [`Span`] with what PyTorch prints of it above a node: `File: a.py:7 in f, code: return x + 1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Where.
    pub span: Span,
    /// Name of the script's file.
    pub file: std::rc::Rc<str>,
    /// Name of the Python function.
    pub function: std::rc::Rc<str>,
    /// The line of code, stripped.
    pub code: std::rc::Rc<str>,
    /// How many columns were stripped before it.
    pub indent: u32,
    /// Of a call in PyTorch's own code: the line there. File, function and code are of that place then, the span of the script's.
    pub library_line: Option<u32>,
}

impl Source {
    /// The line that is shown.
    pub fn line(&self) -> u32 {
        self.library_line.unwrap_or(self.span.line)
    }
}

/// Where in an expression `traceback` points: `~` up to there, `^` from there to the second place, `~` after it.
fn anchors(text: &[char]) -> Option<(usize, usize)> {
    let (mut depth, mut operator, mut opening) = (0i32, None, None);
    for (i, c) in text.iter().enumerate() {
        match c {
            '(' | '[' | '{' => {
                if depth == 0 {
                    opening = Some(i);
                }
                depth += 1;
            }
            ')' | ']' | '}' => depth -= 1,
            '<' | '>' | '=' | '!' if depth == 0 => return None,
            '+' | '-' | '*' | '/' | '%' | '@' | '&' | '|' | '^' if depth == 0 && i > 0 && text[i - 1] == ' ' => operator = Some(i),
            _ => {}
        }
    }
    if let Some(i) = operator {
        let wide = text.get(i + 1).is_some_and(|c| *c == text[i]);
        return Some((i, i + 1 + usize::from(wide)));
    }
    let last = *text.last()?;
    opening.filter(|i| *i > 0 && matches!(last, ')' | ']')).map(|i| (i, text.len()))
}

impl Source {
    /// The marks that Dynamo sets below the line; `None` where the whole line is meant.
    pub fn marks(&self) -> Option<String> {
        self.marked(anchors)
    }

    /// Those that a traceback of Python's sets there, which points at no part of a call.
    pub fn marks_of_traceback(&self) -> Option<String> {
        self.marked(|text| anchors(text).filter(|(_, to)| *to < text.len() || text.last() != Some(&')')))
    }

    fn marked(&self, anchors: impl Fn(&[char]) -> Option<(usize, usize)>) -> Option<String> {
        let code: Vec<char> = self.code.chars().collect();
        let start = self.span.column.checked_sub(self.indent)? as usize;
        let one_line = self.span.end_line == self.span.line;
        let end = if one_line { self.span.end_column.checked_sub(self.indent)? as usize } else { code.len() };
        let text = code.get(start..end.min(code.len()))?;
        let anchors = if one_line { anchors(text) } else { None };
        if text.is_empty() || (text.len() == code.len() && anchors.is_none()) {
            return None;
        }
        let (from, to) = anchors.unwrap_or((0, text.len()));
        let marked = (0..text.len()).map(|i| if (from..to).contains(&i) { '^' } else { '~' });
        Some(" ".repeat(start).chars().chain(marked).collect())
    }
}

/// How the script wrote the call that is being made; the captured graph shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// `torch.nn.functional.relu(x)`: what stands before the name, and the name.
    Function(&'static str, &'static str),
    /// `x.view(-1)`
    Method(&'static str),
    /// `x + y`
    Operator(&'static str),
}

thread_local! {
    static WRITTEN: std::cell::Cell<Option<Written>> = const { std::cell::Cell::new(None) };
    static MODULES: std::cell::RefCell<Option<Rc<ModuleStack>>> = const { std::cell::RefCell::new(None) };
    static ASKING: std::cell::RefCell<Option<Source>> = const { std::cell::RefCell::new(None) };
    static PROVIDER: std::cell::Cell<Option<fn() -> Option<Source>>> = const { std::cell::Cell::new(None) };
    static SPAN_PROVIDER: std::cell::Cell<Option<fn() -> Option<Span>>> = const { std::cell::Cell::new(None) };
}

/// Restores what was written before, when dropped.
pub struct WrittenGuard(Option<Written>);

impl Written {
    /// Until the guard is dropped, calls are written this way.
    pub fn enter(self) -> WrittenGuard {
        WrittenGuard(WRITTEN.replace(Some(self)))
    }

    /// How the call under way is written.
    pub fn current() -> Option<Written> {
        WRITTEN.get()
    }
}

impl Drop for WrittenGuard {
    fn drop(&mut self) {
        WRITTEN.set(self.0);
    }
}

/// Says who knows where the script is.
pub fn set_source_provider(provider: fn() -> Option<Source>) {
    PROVIDER.set(Some(provider));
}

/// Says who knows at which expression the script is: cheaper than its whole [`Source`].
pub fn set_span_provider(provider: fn() -> Option<Span>) {
    SPAN_PROVIDER.set(Some(provider));
}

/// At which expression the script is.
pub fn current_span() -> Option<Span> {
    SPAN_PROVIDER.get().and_then(|p| p())
}

/// Says which line of the script the calls that follow are made for, where that is not where the script is.
pub fn set_asking(source: Option<Source>) {
    ASKING.set(source);
}

/// The line of the script that asks for something now.
pub fn asking() -> Option<Source> {
    ASKING.with_borrow(Clone::clone).or_else(current_source)
}

/// Where the script is.
pub fn current_source() -> Option<Source> {
    PROVIDER.get().and_then(|p| p())
}

/// A module whose `forward` runs.
pub struct CalledModule {
    /// Tells it from others while it lives.
    pub id: usize,
    /// Where the script finds it: `L['self'].layers.0`.
    pub path: Rc<str>,
    /// Its class, as the room above knows it.
    pub class: Rc<dyn Any>,
}

/// The modules whose `forward` runs where a call is made.
pub struct ModuleStack {
    /// Their names below the compiled one, outermost first, joined by dots: `layers.0.attn`.
    pub name: Rc<str>,
    /// The modules, outermost first, without the one whose `forward` is compiled.
    pub called: Vec<Rc<CalledModule>>,
}

impl std::fmt::Debug for ModuleStack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

/// Says in which modules the calls that follow are made; gives what was said before.
pub fn set_modules(modules: Option<Rc<ModuleStack>>) -> Option<Rc<ModuleStack>> {
    MODULES.replace(modules)
}

/// The modules whose `forward` runs.
pub fn current_modules() -> Option<Rc<ModuleStack>> {
    MODULES.with_borrow(Clone::clone)
}
