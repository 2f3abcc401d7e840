//! Formulas as text, operator first, as `torch.fx.experimental.validator.z3str` prints them: `(== s1 (* 2 s0))`. A name with parentheses or
//! spaces stands between bars: `(> |L['x'].size()[0]| 4)`.

use crate::{Formula, Name, Term};
use shape::Relation;

/// Why a text is no formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable(pub String);

/// How deep parentheses may nest.
const DEEPEST: u32 = 200;

/// A text taken apart.
enum Part {
    Word(String),
    List(Vec<Part>),
}

fn unreadable<T>(why: impl Into<String>) -> Result<T, Unreadable> {
    Err(Unreadable(why.into()))
}

fn parts(text: &mut std::iter::Peekable<std::str::Chars<'_>>, depth: u32) -> Result<Vec<Part>, Unreadable> {
    let mut found = Vec::new();
    while let Some(c) = text.peek().copied() {
        match c {
            ')' => break,
            '(' if depth == DEEPEST => return unreadable("parentheses nest too deep"),
            '(' => {
                text.next();
                let inner = parts(text, depth + 1)?;
                if text.next() != Some(')') {
                    return unreadable("a parenthesis is not closed");
                }
                found.push(Part::List(inner));
            }
            '|' => {
                text.next();
                found.push(Part::Word(text.by_ref().take_while(|c| *c != '|').collect()));
            }
            c if c.is_whitespace() => {
                text.next();
            }
            _ => {
                let mut word = String::new();
                while let Some(c) = text.next_if(|c| !c.is_whitespace() && !matches!(c, '(' | ')' | '|')) {
                    word.push(c);
                }
                found.push(Part::Word(word));
            }
        }
    }
    Ok(found)
}

/// Reads a formula.
///
/// # Errors
/// Where the text is none.
pub fn parse(text: &str) -> Result<Formula, Unreadable> {
    let mut chars = text.chars().peekable();
    let found = parts(&mut chars, 0)?;
    match (found.as_slice(), chars.next()) {
        ([one], None) => formula(one),
        _ => unreadable(format!("no single formula: {text}")),
    }
}

fn formula(part: &Part) -> Result<Formula, Unreadable> {
    let items = match part {
        Part::Word(word) => {
            return Ok(match word.as_str() {
                "true" => Formula::Constant(true),
                "false" => Formula::Constant(false),
                name => Formula::Variable(name.into()),
            });
        }
        Part::List(items) => items,
    };
    let Some((Part::Word(head), rest)) = items.split_first() else { return unreadable("a list without an operator") };
    let all = || rest.iter().map(formula).collect::<Result<Vec<_>, _>>();
    if let Some(relation) = Relation::ALL.into_iter().find(|r| r.text() == head) {
        let [left, right] = rest else { return unreadable(format!("{head} takes two terms")) };
        return Ok(Formula::Compare(term(left)?, relation, term(right)?));
    }
    match (head.as_str(), rest) {
        ("and", _) => Ok(Formula::And(all()?)),
        ("or", _) => Ok(Formula::Or(all()?)),
        ("not", [one]) => Ok(Formula::Not(Box::new(formula(one)?))),
        _ => unreadable(format!("{head} is no condition")),
    }
}

fn term(part: &Part) -> Result<Term, Unreadable> {
    let items = match part {
        Part::Word(word) => return Ok(word.parse().map_or_else(|_| Term::Variable(word.as_str().into()), Term::Number)),
        Part::List(items) => items,
    };
    let Some((Part::Word(head), rest)) = items.split_first() else { return unreadable("a list without an operator") };
    let all = || rest.iter().map(term).collect::<Result<Vec<_>, _>>();
    let one = |part: &Part| term(part).map(Box::new);
    Ok(match (head.as_str(), rest) {
        ("+", _) => Term::Sum(all()?),
        ("*", _) => Term::Product(all()?),
        ("-", [a]) => Term::Product(vec![Term::Number(-1), term(a)?]),
        ("-", [a, b]) => Term::Sum(vec![term(a)?, Term::Product(vec![Term::Number(-1), term(b)?])]),
        ("idiv", [a, b]) => Term::FloorDiv(one(a)?, one(b)?),
        ("mod", [a, b]) => Term::Mod(one(a)?, one(b)?),
        ("pow", [a, b]) => Term::Power(one(a)?, one(b)?),
        ("max", [_, ..]) => Term::Max(all()?),
        ("min", [_, ..]) => Term::Min(all()?),
        ("if", [condition, yes, no]) => Term::If(Box::new(formula(condition)?), one(yes)?, one(no)?),
        ("opaque", [Part::Word(name)]) => Term::Opaque(name.as_str().into()),
        _ => return unreadable(format!("{head} is no term")),
    })
}

/// A formula as text.
pub(crate) fn write(formula: &Formula) -> String {
    let all = |head: &str, items: &[Formula]| list(head, items.iter().map(write));
    match formula {
        Formula::Constant(holds) => holds.to_string(),
        Formula::Variable(name) => quoted(name),
        Formula::Compare(a, relation, b) => list(relation.text(), [a, b].into_iter().map(write_term)),
        Formula::And(items) => all("and", items),
        Formula::Or(items) => all("or", items),
        Formula::Not(f) => all("not", std::slice::from_ref(f)),
    }
}

fn write_term(term: &Term) -> String {
    let all = |head: &str, items: &[Term]| list(head, items.iter().map(write_term));
    let pair = |head: &str, a: &Term, b: &Term| list(head, [a, b].into_iter().map(write_term));
    match term {
        Term::Number(n) => n.to_string(),
        Term::Variable(name) => quoted(name),
        Term::Sum(items) => all("+", items),
        Term::Product(items) => all("*", items),
        Term::FloorDiv(a, b) => pair("idiv", a, b),
        Term::Mod(a, b) => pair("mod", a, b),
        Term::Power(a, b) => pair("pow", a, b),
        Term::Max(items) => all("max", items),
        Term::Min(items) => all("min", items),
        Term::If(condition, yes, no) => list("if", [write(condition), write_term(yes), write_term(no)].into_iter()),
        Term::Opaque(name) => list("opaque", [quoted(name)].into_iter()),
    }
}

fn list(head: &str, items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    format!("({head} {})", items.join(" "))
}

fn quoted(name: &Name) -> String {
    let is_plain = |c: char| !c.is_whitespace() && !matches!(c, '(' | ')' | '|');
    if name.chars().all(is_plain) { name.to_string() } else { format!("|{name}|") }
}

impl std::fmt::Display for Formula {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&write(self))
    }
}
