//! What is tried, from large to small: statements, blocks in the place of what holds them, clauses, elements, parts of expressions, numbers.
//!
//! A pass that made something smaller may have made room for one before it: all are repeated until nothing changes. What was tried before is
//! not tried again, so that the last round costs little.

use crate::edits::{Edit, Span, apply, held, indent, indented, is_parenthesized, line_start, placed, whole_statement, without};
use crate::facts::{Call, Compound, Facts, Function, List, Parameter};
use crate::{Search, text_of};

/// Lists of sizes, and tuples, that are longer are left alone.
const MOST_DIMENSIONS: usize = 6;
/// Strings longer than this may be halved.
const LONG: usize = 24;
/// An assignment's value longer than this is not written in more than one place.
const SHORT: usize = 24;

/// All of it, as long as something changes.
pub(crate) fn all(search: &mut Search) {
    if !search.is_script {
        return lines(search);
    }
    loop {
        let before = search.text().to_owned();
        tidy(search);
        statements(search);
        while blocks_in_place(search) {
            statements(search);
        }
        clauses(search);
        pairs(search);
        called_values(search);
        modules(search);
        functions_in_place(search);
        imports(search);
        unpacked(search);
        assigned_values(search);
        sizes(search);
        numbers(search);
        elements(search);
        parts(search);
        totals(search);
        parameters(search);
        targets(search);
        texts(search);
        bodies(search);
        if search.is_stopped || search.text() == before {
            return;
        }
    }
}

/// What is no Python has lines.
fn lines(search: &mut Search) {
    let source = search.text().to_owned();
    let lines: Vec<&str> = source.split_inclusive('\n').collect();
    let left = |gone: &[bool]| lines.iter().zip(gone).filter(|(_, gone)| !**gone).map(|(line, _)| *line).collect();
    search.reduce(lines.len(), lines.len(), &left);
}

/// Comments, empty lines and what is left of others, all at once.
fn tidy(search: &mut Search) {
    let facts = search.facts();
    let source = search.text();
    let comment = |comment: &Span| {
        let own_line = indent(source, comment.start).is_some();
        let line = line_start(source, comment.start);
        let code = line + source[line..comment.start].trim_end_matches([' ', '\t']).len();
        Edit::delete(if own_line { line..(comment.end + 1).min(source.len()) } else { code..comment.end })
    };
    let text = apply(source, facts.comments.iter().map(comment).collect());
    let strings = crate::reader::facts(&text).map(|facts| facts.strings).unwrap_or_default();
    let mut tidied = String::with_capacity(text.len());
    let mut start = 0;
    let is_held = |at: usize| strings.iter().any(|string| string.start < at && at < string.end);
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        let code = line.trim_end().trim_end_matches(';').trim_end();
        if is_held(start) || is_held(end) {
            tidied.push_str(line);
        } else if !code.is_empty() {
            tidied.push_str(code);
            tidied.push('\n');
        }
        start = end;
    }
    search.attempt(tidied);
}

/// Statements, block by block, the script's own first.
fn statements(search: &mut Search) {
    let mut at = 0;
    loop {
        let facts = search.facts();
        let Some(block) = facts.blocks.get(at).filter(|_| !search.is_stopped) else { return };
        let source = search.text().to_owned();
        let edits = |gone: &[bool]| {
            let is_empty = at > 0 && gone.iter().all(|gone| *gone);
            let marked = block.iter().zip(gone).enumerate().filter(|(_, (_, gone))| **gone);
            marked
                .map(|(number, (span, _))| match is_empty && number == 0 {
                    true => Edit::replace(span.clone(), "pass"),
                    false => Edit::delete(whole_statement(&source, span)),
                })
                .collect()
        };
        search.reduce(block.len(), block.len(), &|gone| apply(&source, edits(gone)));
        at += 1;
    }
}

/// Blocks in the place of the statements that hold them; bodies of functions in the place of the calls. Whether there was one.
fn blocks_in_place(search: &mut Search) -> bool {
    let text = search.text().to_owned();
    search.each(&|source, facts, at| {
        let Compound { span, bodies } = facts.compounds.get(at)?;
        let indentation = indent(source, span.start).unwrap_or_default();
        let body = |(first, block): &(Option<String>, Vec<Span>)| {
            let mut text = String::new();
            if let Some(line) = first {
                text = [line, "\n", indentation].concat();
            }
            text.push_str(&indented(source, block, &facts.strings, indentation));
            vec![Edit::replace(span.clone(), text)]
        };
        Some(bodies.iter().map(body).collect())
    });
    search
        .each(&|source, facts, at| facts.functions.get(at).map(|function| called_function(source, facts, function).into_iter().collect()));
    text != search.text()
}

/// The edits that write a function's body where it is called, in a statement of its own.
fn called_function(source: &str, facts: &Facts, function: &Function) -> Option<Vec<Edit>> {
    let mut calls = facts.calls.iter().filter(|call| call.name == function.name && function.class.is_none());
    let call = calls.find(|call| call.is_statement && call.keywords.is_empty() && call.positional <= function.parameters.len())?;
    let indentation = indent(source, call.span.start)?;
    let mut text = String::new();
    for (parameter, value) in function.parameters.iter().zip(&call.arguments) {
        text.push_str(&[&parameter.name, " = ", text_of(source, value), "\n", indentation].concat());
    }
    text.push_str(&indented(source, &function.body, &facts.strings, indentation));
    Some(vec![Edit::delete(whole_statement(source, &function.span)), Edit::replace(call.span.clone(), text)])
}

/// Clauses, decorators, default values, annotations.
fn clauses(search: &mut Search) {
    let optional = search.facts().optional;
    let source = search.text().to_owned();
    let left = |gone: &[bool]| {
        apply(&source, optional.iter().zip(gone).filter(|(_, gone)| **gone).map(|(span, _)| Edit::delete(span.clone())).collect())
    };
    search.reduce(optional.len(), optional.len(), &left);
}

/// Elements of a tuple with what is assigned to them.
fn pairs(search: &mut Search) {
    search.each(&|source, facts, at| {
        let [names, values] = facts.pairs.get(at)?;
        let both = |at: usize| Some(vec![without(source, names, at)?, without(source, values, at)?]);
        Some((0..names.len()).rev().filter_map(both).collect())
    });
}

/// A class of which there is an instance, whose methods are called: its attributes and its methods apart, without it.
fn modules(search: &mut Search) {
    search.each(&|source, facts, at| facts.functions.get(at).map(|method| without_class(source, facts, method).into_iter().collect()));
}

fn without_class(source: &str, facts: &Facts, first: &Function) -> Option<Vec<Edit>> {
    let (class, whole) = first.class.as_ref()?;
    let methods: Vec<&Function> = facts.functions.iter().filter(|other| other.class == first.class).collect();
    let is_call = |method: &&Function| ["forward", "__call__"].contains(&&*method.name);
    let called = methods.iter().copied().find(is_call).map(|method| &*method.name);
    let of_class = |call: &&Call| call.name == *class && call.arguments.is_empty();
    if !std::ptr::eq(methods[0], first) {
        return None;
    }
    // What its attributes are made of may be made after the class.
    let made = facts.calls.iter().find(of_class).map(|call| call.span.start);
    let holds = |statement: &&Span| made.is_some_and(|made| statement.contains(&made)) && statement.start >= whole.end;
    let place = facts.blocks.first()?.iter().find(holds);
    let indentation = indent(source, place.unwrap_or(whole).start)?;
    let mut apart = String::new();
    for method in methods {
        let own = [&method.parameters.first()?.name, "."].concat();
        let mut text = String::new();
        if method.name == "__init__" {
            for statement in method.body.iter().filter(|statement| !text_of(source, statement).starts_with("super(")) {
                text.push_str(&indented(source, std::slice::from_ref(statement), &facts.strings, indentation));
                text.push_str(&["\n", indentation].concat());
            }
        } else {
            let deeper = [indentation, "    "].concat();
            let body = indented(source, &method.body, &facts.strings, &deeper);
            let parameters = heads(source, &method.parameters[1..]);
            text.push_str(&["def ", &method.name, "(", &parameters, "):\n", &deeper, &body, "\n", indentation].concat());
        }
        apart.push_str(&text.replace(&own, ""));
    }
    let (mut edits, mut inside) = (Vec::new(), Vec::new());
    for call in facts.calls.iter().filter(of_class) {
        let edit = match (source[call.span.end..].starts_with('.'), called) {
            (true, _) => Edit::delete(call.span.start..call.span.end + 1),
            (false, Some(name)) => Edit::replace(call.span.clone(), name),
            (false, None) => return None,
        };
        match place.filter(|place| place.contains(&call.span.start)) {
            Some(place) => inside.push(Edit { span: edit.span.start - place.start..edit.span.end - place.start, ..edit }),
            None => edits.push(edit),
        }
    }
    match place {
        Some(place) => {
            apart.push_str(&apply(text_of(source, place), inside));
            edits.push(Edit::replace(place.clone(), apart));
            edits.push(Edit::delete(whole_statement(source, whole)));
        }
        None => edits.push(Edit::replace(whole.clone(), apart)),
    }
    Some(edits)
}

/// Parameters as they are written.
fn heads(source: &str, parameters: &[Parameter]) -> String {
    parameters.iter().map(|parameter| text_of(source, &parameter.span)).collect::<Vec<_>>().join(", ")
}

/// Functions of one expression written where they are used, with what decorates them.
fn functions_in_place(search: &mut Search) {
    search.each(&|source, facts, at| {
        facts.functions.get(at).map(|function| function_in_place(source, facts, function).into_iter().collect())
    });
}

fn function_in_place(source: &str, facts: &Facts, function: &Function) -> Option<Vec<Edit>> {
    let result = function.result.as_ref().filter(|_| function.class.is_none())?;
    let space = if function.parameters.is_empty() { "" } else { " " };
    let mut text = ["lambda", space, &heads(source, &function.parameters), ": ", text_of(source, result)].concat();
    for decorator in function.decorators.iter().rev() {
        text = [text_of(source, decorator), "(", &text, ")"].concat();
    }
    let is_outside = |span: &Span| span.start < function.span.start || function.span.end <= span.start;
    let mut uses = facts.names.iter().filter(|(span, name)| *name == function.name && is_outside(span));
    let only = uses.next().filter(|_| uses.next().is_none())?;
    Some(vec![Edit::delete(whole_statement(source, &function.span)), placed(source, &only.0, &text)])
}

/// What a function does, done where it is defined.
fn bodies(search: &mut Search) {
    search.each(&|source, facts, at| {
        let function = facts.functions.get(at)?;
        let indentation = indent(source, function.span.start).unwrap_or_default();
        Some(vec![vec![Edit::replace(function.span.clone(), indented(source, &function.body, &facts.strings, indentation))]])
    });
}

/// Names that are imported, replaced by what they stand for.
fn imports(search: &mut Search) {
    search.each(&|source, facts, at| {
        let (statement, name, whole) = facts.imports.get(at)?;
        let mut edits = vec![Edit::delete(whole_statement(source, statement))];
        for (span, _) in facts.names.iter().filter(|(_, used)| used == name) {
            edits.push(Edit::replace(span.clone(), whole.clone()));
        }
        Some(vec![edits])
    });
}

/// One name of those that something is assigned to.
fn unpacked(search: &mut Search) {
    search.each(&|source, facts, at| {
        let (statement, names, value) = facts.unpacked.get(at)?;
        let one = |(at, name): (usize, &Span)| {
            let line = [text_of(source, name), " = (", text_of(source, value), ")[", &at.to_string(), "]"].concat();
            vec![Edit::replace(statement.clone(), line)]
        };
        Some(names.iter().enumerate().map(one).collect())
    });
}

/// Calls replaced by what the function returns; of a class, by what it makes an attribute of: a module in the place of the one that holds it.
fn called_values(search: &mut Search) {
    search.each(&|source, facts, at| {
        let function = facts.functions.get(at)?;
        Some(function.values.iter().flat_map(|value| called_value(source, facts, function, value)).collect())
    });
}

/// With what is called, and without.
fn called_value(source: &str, facts: &Facts, function: &Function, value: &Span) -> Vec<Vec<Edit>> {
    let of_call = |call: &Call| {
        let given = |name: &str| {
            let at = function.parameters.iter().skip(function.bound()).position(|parameter| parameter.name == name)? + function.bound();
            function.argument(call, at).and_then(|argument| call.arguments.get(argument)).or(function.parameters[at].default.as_ref())
        };
        placed(source, &call.span, &with_values(source, facts, value, &given))
    };
    let is_other = |call: &Call| !(value.start..value.end).contains(&call.span.start);
    let edits: Vec<Edit> = facts.calls.iter().filter(|call| call.name == function.called() && is_other(call)).map(of_call).collect();
    let defined = function.class.as_ref().map_or(&function.span, |(_, class)| class);
    if edits.is_empty() {
        return Vec::new();
    }
    let mut all = edits.clone();
    all.push(Edit::delete(whole_statement(source, defined)));
    vec![all, edits]
}

/// A range of the source with values in the place of some names.
fn with_values<'a>(source: &str, facts: &Facts, within: &Span, given: &dyn Fn(&str) -> Option<&'a Span>) -> String {
    let edit = |(span, name): &(Span, String)| {
        let value = held(text_of(source, given(name)?));
        Some(Edit::replace(span.start - within.start..span.end - within.start, value))
    };
    let inside = facts.names.iter().filter(|(span, _)| within.start <= span.start && span.end <= within.end);
    apply(text_of(source, within), inside.filter_map(edit).collect())
}

/// Values in the place of the names that they are assigned to.
fn assigned_values(search: &mut Search) {
    search.each(&|source, facts, at| {
        let assignment = facts.assignments.get(at)?;
        let value = text_of(source, &assignment.value);
        let mut edits = vec![Edit::delete(whole_statement(source, &assignment.span))];
        for (span, _) in facts.names.iter().filter(|(span, name)| *name == assignment.name && span.start >= assignment.span.end) {
            edits.push(placed(source, span, value));
        }
        Some(if edits.len() == 2 || (edits.len() > 2 && value.len() <= SHORT) { vec![edits] } else { Vec::new() })
    });
}

/// Values alone, where nobody reads what they are assigned to.
fn targets(search: &mut Search) {
    search.each(&|_, facts, at| {
        let assignment = facts.assignments.get(at)?;
        Some(vec![vec![Edit::delete(assignment.span.start..assignment.value.start)]])
    });
}

/// Elements of lists: arguments, bases, names of imports. Those that can all go go together.
fn elements(search: &mut Search) {
    search.each(&|source, facts, at| {
        let items = &facts.lists.get(at)?.items;
        let mut all = Vec::new();
        if let [first, .., last] = &**items {
            all.push(vec![Edit::delete(first.start..last.end)]);
        }
        all.extend((0..items.len()).rev().filter_map(|at| without(source, items, at)).map(|edit| vec![edit]));
        Some(all)
    });
}

/// Expressions replaced by one of their parts.
fn parts(search: &mut Search) {
    search.each(&|source, facts, at| {
        let (whole, parts) = facts.expressions.get(at)?;
        let mut all = Vec::new();
        if is_parenthesized(source, whole) {
            all.push(vec![Edit::replace(whole.start - 1..whole.end + 1, text_of(source, whole))]);
        }
        all.extend(parts.iter().map(|part| vec![placed(source, whole, text_of(source, part))]));
        Some(all)
    });
}

/// Expressions replaced by the sum of one of their parts: a loss is one number, whatever it is made of.
fn totals(search: &mut Search) {
    search.each(&|source, facts, at| {
        let (whole, parts) = facts.expressions.get(at)?;
        let total = |part: &Span| vec![placed(source, whole, &[&held(text_of(source, part)), ".sum()"].concat())];
        // What is a sum already has parts only: each turn leaves one call less.
        let is_total = text_of(source, whole).ends_with(".sum()");
        Some(if is_total { Vec::new() } else { parts.iter().map(total).collect() })
    });
}

/// Parameters, with the arguments of calls by the function's name, or of all calls that may be meant; and their values in their place.
fn parameters(search: &mut Search) {
    search.each(&|source, facts, number| {
        let mut before = 0;
        for function in &facts.functions {
            let count = function.parameters.len();
            if number < before + count {
                return Some(without_parameter(source, facts, function, before + count - 1 - number).unwrap_or_default());
            }
            before += count;
        }
        None
    });
}

fn without_parameter(source: &str, facts: &Facts, function: &Function, at: usize) -> Option<Vec<Vec<Edit>>> {
    let spans: Vec<Span> = function.parameters.iter().map(|parameter| parameter.span.clone()).collect();
    let parameter = without(source, &spans, at)?;
    let edits = |wants: &dyn Fn(&Call) -> bool| -> Vec<Edit> {
        let of_call = |call: &Call| without(source, &call.arguments, function.argument(call, at)?);
        facts.calls.iter().filter(|call| wants(call)).filter_map(of_call).chain([parameter.clone()]).collect()
    };
    let takes = function.parameters.len() - function.bound();
    let is_named = |call: &Call| call.name == function.called();
    let mut all = vec![edits(&is_named), edits(&|call| is_named(call) || (call.is_open && call.arguments.len() == takes))];
    let argument = facts.calls.iter().filter(|call| is_named(call)).find_map(|call| call.arguments.get(function.argument(call, at)?));
    if let (Some(value), Some((first, last))) =
        (argument.or(function.parameters[at].default.as_ref()), function.body.first().zip(function.body.last()))
    {
        let body = first.start..last.end;
        let given = |name: &str| (name == function.parameters[at].name).then_some(value);
        let replaced = Edit::replace(body.clone(), with_values(source, facts, &body, &given));
        // A call in the body has its argument still.
        let outside = edits(&|call| is_named(call) && !body.contains(&call.span.start));
        all.push(outside.into_iter().chain([replaced]).collect());
    }
    Some(all)
}

/// One dimension of all sizes that have as many, one element of all tuples that have as many.
fn sizes(search: &mut Search) {
    search.each(&|source, facts, number| {
        let (length, is_tuple) = (MOST_DIMENSIONS.checked_sub(number / 2).filter(|length| *length > 1)?, number % 2 == 1);
        let lists: Vec<&List> = facts.lists.iter().filter(|list| list.items.len() == length).collect();
        let wanted = || lists.iter().filter(|list| if is_tuple { list.is_tuple } else { list.is_sizes });
        let of_all = |at: usize| wanted().filter_map(|list| without(source, &list.items, at)).collect();
        Some((0..length).rev().map(of_all).collect())
    });
}

/// Integers with another number in their place.
fn renumbered(spans: &[Span], number: u64) -> Vec<Edit> {
    spans.iter().map(|span| Edit::replace(span.clone(), number.to_string())).collect()
}

/// Numbers less than one, those that are likely to do first.
fn smaller(value: u64) -> Vec<u64> {
    let mut all: Vec<u64> = Vec::new();
    for number in [1, 2, 3, value / 16, value / 8, value / 4, value / 2] {
        if number > 0 && number < value && !all.contains(&number) {
            all.push(number);
        }
    }
    all
}

/// Integers: all at once, all equal ones at once, each alone; then other numbers.
fn numbers(search: &mut Search) {
    // Sizes have to agree: where all are one, much can go between them. Small ones may be dimensions instead.
    for (above, number) in [(1, 1), (2, 1), (4, 1), (2, 2), (4, 2), (8, 4)] {
        let large: Vec<Span> = search.facts().integers.iter().filter(|(_, value)| *value > above).map(|(span, _)| span.clone()).collect();
        let text = apply(search.text(), renumbered(&large, number));
        if search.attempt(text) {
            break;
        }
    }
    search.each(&|_, facts, at| {
        let (_, value) = facts.integers.get(at)?;
        let equal: Vec<Span> = facts.integers.iter().filter(|(_, other)| other == value).map(|(span, _)| span.clone()).collect();
        Some(smaller(*value).into_iter().map(|number| renumbered(&equal, number)).collect())
    });
    search.each(&|_, facts, at| {
        let (span, value) = facts.integers.get(at)?;
        Some(smaller(*value).into_iter().map(|number| renumbered(std::slice::from_ref(span), number)).collect())
    });
    search.each(&|_, facts, at| {
        let span = facts.floats.get(at)?;
        Some(if span.len() > "1.0".len() { vec![vec![Edit::replace(span.clone(), "1.0")]] } else { Vec::new() })
    });
}

/// Strings: empty, or halves of long ones.
fn texts(search: &mut Search) {
    search.each(&|source, facts, at| {
        let span = facts.texts.get(at)?;
        let text = text_of(source, span);
        let mut shorter = vec!["\"\"".to_owned()];
        let inner = text.strip_prefix(['"', '\'']).and_then(|text| text.strip_suffix(['"', '\''])).unwrap_or_default();
        if inner.len() > LONG && !inner.contains(['\\', '\n', '"', '\'']) {
            let middle = (inner.len() / 2..=inner.len()).find(|&at| inner.is_char_boundary(at)).unwrap_or(inner.len());
            shorter.extend([&inner[..middle], &inner[middle..]].map(|half| ["\"", half, "\""].concat()));
        }
        let is_empty = text.len() == 2;
        Some(if is_empty { Vec::new() } else { shorter.into_iter().map(|with| vec![Edit::replace(span.clone(), with)]).collect() })
    });
}
