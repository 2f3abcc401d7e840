//! What is tried, from large to small: statements, blocks in the place of what holds them, clauses, elements, parts of expressions, numbers.
//!
//! A pass that made something smaller may have made room for one before it: all are repeated until nothing changes. What was tried before is
//! not tried again, so that the last round costs little.

use std::collections::BTreeSet;

use crate::edits::{Edit, Span, apply, held, indent, indented, is_parenthesized, line_start, placed, whole_statement, without};
use crate::facts::{Call, Facts, Function, List};
use crate::{Search, text_of};

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
        assigned_values(search);
        sizes(search);
        numbers(search);
        elements(search);
        parts(search);
        parameters(search);
        targets(search);
        texts(search);
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
    let strings = crate::facts::facts(&text).map(|facts| facts.strings).unwrap_or_default();
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
    let before = search.smallest.statements;
    let text = search.text().to_owned();
    search.each(&|_, facts| compounds(facts), &|source, (span, bodies, held)| {
        let indentation = indent(source, span.start).unwrap_or_default();
        let body = |(first, block): &(Option<String>, Vec<Span>)| {
            let line = first.as_ref().map(|line| format!("{line}\n{indentation}")).unwrap_or_default();
            apply(source, vec![Edit::replace(span.clone(), line + &indented(source, block, held, indentation))])
        };
        bodies.iter().map(body).collect()
    });
    search.each(&called_functions, &|source, edits| vec![apply(source, edits.clone())]);
    before != search.smallest.statements || text != search.text()
}

type Bodies = Vec<(Option<String>, Vec<Span>)>;

fn compounds(facts: Facts) -> Vec<(Span, Bodies, Vec<Span>)> {
    facts.compounds.into_iter().map(|compound| (compound.span, compound.bodies, facts.strings.clone())).collect()
}

/// Per function that is called in one statement: the edits that write its body there.
fn called_functions(source: &str, facts: Facts) -> Vec<Vec<Edit>> {
    let inlined = |function: &Function| {
        let mut calls = facts.calls.iter().filter(|call| call.name == function.name);
        let call = calls.find(|call| call.is_statement && call.keywords.is_empty() && call.positional <= function.parameters.len())?;
        let indentation = indent(source, call.span.start)?;
        let arguments = function.parameters.iter().zip(&call.arguments);
        let lines: String =
            arguments.map(|(parameter, value)| format!("{} = {}\n{indentation}", parameter.name, text_of(source, value))).collect();
        let body = lines + &indented(source, &function.body, &facts.strings, indentation);
        Some(vec![Edit::delete(whole_statement(source, &function.span)), Edit::replace(call.span.clone(), body)])
    };
    facts.functions.iter().filter(|function| function.class.is_none()).filter_map(inlined).collect()
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
    search.each(
        &|source, facts| {
            let mut all = Vec::new();
            for [names, values] in &facts.pairs {
                let both = |at: usize| Some(vec![without(source, names, at)?, without(source, values, at)?]);
                all.extend((0..names.len()).rev().filter_map(both));
            }
            all
        },
        &|source, edits| vec![apply(source, edits.clone())],
    );
}

/// A class whose instances are called, as modules are: its attributes and its method apart, without it.
fn modules(search: &mut Search) {
    search.each(
        &|source, facts| facts.functions.iter().filter_map(|method| without_class(source, &facts, method)).collect(),
        &|source, edits| vec![apply(source, edits.clone())],
    );
}

fn without_class(source: &str, facts: &Facts, method: &Function) -> Option<Vec<Edit>> {
    let (class, whole) = method.class.as_ref().filter(|_| ["forward", "__call__"].contains(&&*method.name))?;
    let own = format!("{}.", method.parameters.first()?.name);
    let indentation = indent(source, whole.start)?;
    let init = facts.functions.iter().find(|other| other.name == "__init__" && other.class.as_ref().is_some_and(|(_, span)| span == whole));
    let attributes = init.iter().flat_map(|init| &init.body).filter(|statement| !text_of(source, statement).starts_with("super("));
    let attributes = attributes.map(|statement| indented(source, std::slice::from_ref(statement), &facts.strings, indentation));
    let parameters = method.parameters.iter().skip(1).map(|parameter| text_of(source, &parameter.span)).collect::<Vec<_>>().join(", ");
    let deeper = format!("{indentation}    ");
    let body = indented(source, &method.body, &facts.strings, &deeper);
    let function = format!("def {}({parameters}):\n{deeper}{body}", method.name);
    let apart = attributes.chain([function]).collect::<Vec<_>>().join(&format!("\n{indentation}")).replace(&own, "");
    let calls = facts.calls.iter().filter(|call| call.name == *class && call.arguments.is_empty());
    let calls = calls.map(|call| Edit::replace(call.span.clone(), method.name.clone()));
    Some(calls.chain([Edit::replace(whole.clone(), apart)]).collect())
}

/// Calls replaced by what the function returns; of a class, by what it makes an attribute of: a module in the place of the one that holds it.
fn called_values(search: &mut Search) {
    search.each(
        &|source, facts| {
            let all = facts.functions.iter().flat_map(|function| function.values.iter().map(move |value| (function, value)));
            all.filter_map(|(function, value)| called_value(source, &facts, function, value)).collect()
        },
        &|source, candidates: &[Vec<Edit>; 2]| candidates.iter().map(|edits| apply(source, edits.clone())).collect(),
    );
}

/// With what is called, and without.
fn called_value(source: &str, facts: &Facts, function: &Function, value: &Span) -> Option<[Vec<Edit>; 2]> {
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
    let all = edits.iter().cloned().chain([Edit::delete(whole_statement(source, defined))]).collect();
    (!edits.is_empty()).then_some([all, edits])
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
    search.each(
        &|source, facts| {
            let mut all = Vec::new();
            for assignment in &facts.assignments {
                let value = text_of(source, &assignment.value);
                let used = facts.names.iter().filter(|(span, name)| *name == assignment.name && span.start >= assignment.span.end);
                let used: Vec<Span> = used.map(|(span, _)| span.clone()).collect();
                if used.is_empty() || (used.len() > 1 && value.len() > SHORT) {
                    continue;
                }
                let mut edits: Vec<Edit> = used.into_iter().map(|span| placed(source, &span, value)).collect();
                edits.push(Edit::delete(whole_statement(source, &assignment.span)));
                all.push(edits);
            }
            all
        },
        &|source, edits| vec![apply(source, edits.clone())],
    );
}

/// Values alone, where nobody reads what they are assigned to.
fn targets(search: &mut Search) {
    search.each(&|_, facts| facts.assignments, &|source, assignment| {
        vec![apply(source, vec![Edit::delete(assignment.span.start..assignment.value.start)])]
    });
}

/// Elements of lists: arguments, bases, names of imports. Those that can all go go together.
fn elements(search: &mut Search) {
    search.each(&|_, facts| facts.lists.into_iter().map(|list| list.items).collect(), &|source, items: &Vec<Span>| {
        let single = (0..items.len()).rev().filter_map(|at| without(source, items, at)).map(|edit| apply(source, vec![edit]));
        let all = items.first().zip(items.last()).filter(|_| items.len() > 1);
        let all = all.map(|(first, last)| apply(source, vec![Edit::delete(first.start..last.end)]));
        all.into_iter().chain(single).collect()
    });
}

/// Expressions replaced by one of their parts.
fn parts(search: &mut Search) {
    search.each(&|_, facts| facts.expressions, &|source, (whole, parts)| {
        let part = |part: &Span| apply(source, vec![placed(source, whole, text_of(source, part))]);
        let bare = is_parenthesized(source, whole)
            .then(|| apply(source, vec![Edit::replace(whole.start - 1..whole.end + 1, text_of(source, whole))]));
        bare.into_iter().chain(parts.iter().map(part)).collect()
    });
}

/// Parameters, with the arguments of calls by the function's name, or of all calls that may be meant; and their values in their place.
fn parameters(search: &mut Search) {
    search.each(
        &|source, facts| {
            let mut all = Vec::new();
            for function in &facts.functions {
                all.extend((0..function.parameters.len()).rev().filter_map(|at| without_parameter(source, &facts, function, at)));
            }
            all
        },
        &|source, candidates| candidates.iter().map(|edits| apply(source, edits.clone())).collect(),
    );
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
    search.each(
        &|source, facts| {
            let mut all: Vec<Vec<Edit>> = Vec::new();
            for is_wanted in [|list: &List| list.is_sizes, |list: &List| list.is_tuple] {
                let lists: Vec<_> = facts.lists.iter().filter(|list| is_wanted(list)).collect();
                let lengths: BTreeSet<usize> = lists.iter().map(|list| list.items.len()).filter(|length| *length > 1).collect();
                for length in lengths.into_iter().rev() {
                    for at in (0..length).rev() {
                        let of_length = lists.iter().filter(|list| list.items.len() == length);
                        all.push(of_length.filter_map(|list| without(source, &list.items, at)).collect());
                    }
                }
            }
            all
        },
        &|source, edits| vec![apply(source, edits.clone())],
    );
}

/// Integers: all at once, all equal ones at once, each alone; then other numbers.
fn numbers(search: &mut Search) {
    let replaced =
        |source: &str, spans: &[Span], with: &str| apply(source, spans.iter().map(|span| Edit::replace(span.clone(), with)).collect());
    // Sizes have to agree: where all are one, much can go between them. Small ones may be dimensions instead.
    for (above, number) in [(1, "1"), (2, "1"), (4, "1"), (2, "2"), (4, "2"), (8, "4")] {
        let large: Vec<Span> = search.facts().integers.iter().filter(|(_, value)| *value > above).map(|(span, _)| span.clone()).collect();
        let text = replaced(search.text(), &large, number);
        if search.attempt(text) {
            break;
        }
    }
    let smaller = |value: u64| {
        let halves = [16, 8, 4, 2].into_iter().map(move |by| value / by);
        let all: BTreeSet<u64> = [1, 2, 3].into_iter().chain(halves).filter(|&less| less > 0 && less < value).collect();
        all.into_iter().map(|number| number.to_string()).collect::<Vec<_>>()
    };
    search.each(
        &|_, facts| {
            let values: BTreeSet<u64> = facts.integers.iter().map(|(_, value)| *value).filter(|value| *value > 1).collect();
            let of_value = |wanted: u64| {
                let spans = facts.integers.iter().filter(|(_, value)| *value == wanted).map(|(span, _)| span.clone());
                (spans.collect::<Vec<_>>(), wanted)
            };
            values.into_iter().rev().map(of_value).collect()
        },
        &|source, (spans, value)| smaller(*value).iter().map(|number| replaced(source, spans, number)).collect(),
    );
    search.each(&|_, facts| facts.integers, &|source, (span, value)| {
        smaller(*value).iter().map(|number| replaced(source, std::slice::from_ref(span), number)).collect()
    });
    search.each(&|_, facts| facts.floats, &|source, span| match text_of(source, span).len() {
        ..=3 => Vec::new(),
        _ => vec![replaced(source, std::slice::from_ref(span), "1.0")],
    });
}

/// Strings: empty, or halves of long ones.
fn texts(search: &mut Search) {
    search.each(&|_, facts| facts.texts, &|source, span| {
        let text = text_of(source, span);
        let mut shorter = vec!["\"\"".to_owned()];
        let inner = text.strip_prefix(['"', '\'']).and_then(|text| text.strip_suffix(['"', '\''])).unwrap_or_default();
        if inner.len() > LONG && !inner.contains(['\\', '\n', '"', '\'']) {
            let middle = (inner.len() / 2..=inner.len()).find(|&at| inner.is_char_boundary(at)).unwrap_or(inner.len());
            shorter.extend([&inner[..middle], &inner[middle..]].map(|half| format!("\"{half}\"")));
        }
        match inner.is_empty() && text.len() == 2 {
            true => Vec::new(),
            false => shorter.into_iter().map(|with| apply(source, vec![Edit::replace(span.clone(), with)])).collect(),
        }
    });
}
