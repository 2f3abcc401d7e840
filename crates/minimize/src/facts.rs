//! What there is in a script to take away: its syntax tree, reduced to ranges of the text in the order of the source (`reader.rs`).

use crate::edits::Span;

/// A compound statement, and what may stand in its place.
pub(crate) struct Compound {
    /// The statement.
    pub(crate) span: Span,
    /// Lines that come first, and the statements of a block.
    pub(crate) bodies: Vec<(Option<String>, Vec<Span>)>,
}

/// Elements with commas between them.
#[derive(Default)]
pub(crate) struct List {
    pub(crate) items: Vec<Span>,
    /// Of integers alone, as sizes are.
    pub(crate) is_sizes: bool,
    pub(crate) is_tuple: bool,
}

/// A parameter of a function.
pub(crate) struct Parameter {
    pub(crate) name: String,
    /// With its default value.
    pub(crate) span: Span,
    pub(crate) default: Option<Span>,
}

/// A function that is defined.
pub(crate) struct Function {
    pub(crate) span: Span,
    pub(crate) name: String,
    /// The class that it is a method of: its name, and where it is.
    pub(crate) class: Option<(String, Span)>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) body: Vec<Span>,
    pub(crate) decorators: Vec<Span>,
    /// What it computes, where it does nothing else.
    pub(crate) result: Option<Span>,
    /// What a call of it may be replaced by: what it returns, where it does nothing else; of `__init__`, what it makes attributes of.
    pub(crate) values: Vec<Span>,
}

impl Function {
    /// The name that calls of it bear.
    pub(crate) fn called(&self) -> &str {
        match &self.class {
            Some((class, _)) if self.name == "__init__" => class,
            _ => &self.name,
        }
    }

    /// How many parameters no call names: `self`.
    pub(crate) fn bound(&self) -> usize {
        usize::from(self.class.is_some())
    }

    /// Which argument of a call a parameter takes.
    pub(crate) fn argument(&self, call: &Call, parameter: usize) -> Option<usize> {
        let name = &self.parameters.get(parameter)?.name;
        let keyword = call.keywords.iter().position(|keyword| keyword == name).map(|at| call.positional + at);
        keyword.or(parameter.checked_sub(self.bound()).filter(|at| *at < call.positional))
    }
}

/// A call.
pub(crate) struct Call {
    pub(crate) span: Span,
    /// The last name of what is called.
    pub(crate) name: String,
    /// Whether what is called may be anything: a name, an attribute of `self`, the result of a call.
    pub(crate) is_open: bool,
    /// Positional arguments, then keywords.
    pub(crate) arguments: Vec<Span>,
    pub(crate) positional: usize,
    pub(crate) keywords: Vec<String>,
    /// Whether it is a statement.
    pub(crate) is_statement: bool,
}

/// `name = value`
pub(crate) struct Assignment {
    pub(crate) span: Span,
    pub(crate) name: String,
    pub(crate) value: Span,
}

/// What a script is made of.
#[derive(Default)]
pub(crate) struct Facts {
    pub(crate) statements: usize,
    /// The statements of each block; those of a nested block come later. The first is the script's own.
    pub(crate) blocks: Vec<Vec<Span>>,
    pub(crate) compounds: Vec<Compound>,
    /// What is no statement and no element, and yet can go: decorators, default values, annotations, clauses.
    pub(crate) optional: Vec<Span>,
    pub(crate) lists: Vec<List>,
    /// Expressions, each with its parts.
    pub(crate) expressions: Vec<(Span, Vec<Span>)>,
    pub(crate) integers: Vec<(Span, u64)>,
    pub(crate) floats: Vec<Span>,
    pub(crate) texts: Vec<Span>,
    pub(crate) functions: Vec<Function>,
    pub(crate) calls: Vec<Call>,
    pub(crate) assignments: Vec<Assignment>,
    /// Tuples that are assigned to tuples: both, by their elements.
    pub(crate) pairs: Vec<[Vec<Span>; 2]>,
    pub(crate) names: Vec<(Span, String)>,
    /// Tuples of names that something is assigned to: the statement, the names, the value.
    pub(crate) unpacked: Vec<(Span, Vec<Span>, Span)>,
    /// Imports of one name: the statement, the name, what it stands for.
    pub(crate) imports: Vec<(Span, String, String)>,
    /// Ranges of strings.
    pub(crate) strings: Vec<Span>,
    pub(crate) comments: Vec<Span>,
}
