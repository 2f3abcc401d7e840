//! What a script said about sizes and its function did not keep: a dimension marked dynamic that turned out to be a number, or that takes
//! fewer values than the script allowed for.

use crate::dynamo::CapturedGraph;
use crate::dynamo::dynamic_shapes::{Dim, DimMark, Treatment};
use crate::dynamo::graph_breaks::user_code::from_user_code;
use crate::dynamo::settings::switch;
use crate::error::{Error, ErrorKind, Result};
use crate::shape::{Expr, Relation, ShapeGuard, SymInt, Symbol};
use crate::span::current_source;
use crate::tensor::Geometry;
use std::collections::BTreeSet;

/// Sizes lie within the bounds that the script gave.
pub(in crate::dynamo) fn check(plan: &Treatment, geometry: &Geometry) -> Result<()> {
    if switch("allow_ignore_mark_dynamic") {
        return Ok(());
    }
    for (dim, size) in plan.dims.iter().zip(&geometry.sizes) {
        let (Dim::Own(least, most), Some(size)) = (dim, size.as_int()) else { continue };
        let (least, most) = (least.unwrap_or(0), most.unwrap_or(i64::MAX));
        if size < least || size > most {
            let most = if most == i64::MAX { "int_oo".to_owned() } else { most.to_string() };
            let message = format!("{size} not in range [{least}, {most}]{}", from_user_code(current_source().as_ref()));
            return Err(Error::new(ErrorKind::ConstraintViolation, message));
        }
    }
    Ok(())
}

/// What was said of a dimension.
struct Said {
    source: String,
    bounds: Option<(Option<i64>, Option<i64>)>,
    size: Expr,
}

impl Said {
    /// That not all values that were allowed for satisfy a condition on the place where the size is found first.
    fn unsatisfied(&self, first: &str, condition: &str) -> String {
        let (least, most) = self.bounds.unwrap_or_default();
        unsatisfied(first, first, (least.filter(|n| *n > 2), most), condition)
    }
}

/// That a dimension that was to vary is a number.
pub fn specialized(name: &str, number: i64) -> String {
    format!(
        "You marked {name} as dynamic but your code specialized it to be a constant ({number}). If you're using mark_dynamic, either remove it or use maybe_mark_dynamic. If you're using Dim.DYNAMIC, replace it with either Dim.STATIC or Dim.AUTO."
    )
}

/// That not all values of a dimension satisfy a condition: its name, where it is found, and the bounds that were given for it.
pub fn unsatisfied(name: &str, place: &str, (least, most): (Option<i64>, Option<i64>), condition: &str) -> String {
    let asked = match (least, most) {
        (Some(least), Some(most)) => format!(" {least} <= {name} <= {most}"),
        (None, Some(most)) => format!(" {name} <= {most}"),
        (Some(least), None) => format!(" {least} <= {name}"),
        (None, None) => String::new(),
    };
    format!("Not all values of {name} = {place} in the specified range{asked} satisfy the generated guard {condition}")
}

/// The bounds that a size found at a place has, as a condition.
pub fn within(place: &str, lower: i64, upper: Option<i64>) -> String {
    let upper = upper.map_or_else(|| "IntInfinity()".to_owned(), |n| n.to_string());
    format!("{lower} <= {place} and {place} <= {upper}")
}

/// What is said of dimensions, of which these are the names.
pub fn violated(names: &[String], said: &[String]) -> String {
    let said: String = said.iter().map(|m| format!("\n  - {m}")).collect();
    format!("Constraints violated ({})! For more information, run with TORCH_LOGS=\"+dynamic\".{said}", names.join(", "))
}

impl CapturedGraph {
    /// What PyTorch says where a dimension that is marked dynamic was specialized to a number, or its bounds were not kept; `None`
    /// where all are.
    pub fn violated_constraints(&self) -> Option<String> {
        if switch("allow_ignore_mark_dynamic") {
            return None;
        }
        let marked = |input: &crate::dynamo::output_graph::graph_arg::GraphArg| -> Vec<Said> {
            let said = |(dim, mark): &(usize, DimMark)| {
                let DimMark::Dynamic(min, max) = mark else { return None };
                let size = self.env.simplify(&input.spec.spec.geometry.sizes.get(*dim)?.expr());
                let bounds = (min.is_some() || max.is_some()).then_some((*min, *max));
                Some(Said { source: format!("{}.size()[{dim}]", input.source.source), bounds, size })
            };
            input.source.marks.iter().filter_map(said).collect()
        };
        let all: Vec<Said> = self.touched.iter().flat_map(marked).collect();
        let mut names = BTreeSet::new();
        let mut messages = Vec::new();
        for said in &all {
            let Some(number) = said.size.as_int() else { continue };
            // Zero and one are numbers in any case.
            let is_allowed = match said.bounds {
                Some(bounds) => bounds == (Some(number), Some(number)),
                None => matches!(number, 0 | 1),
            };
            if is_allowed {
                continue;
            }
            let stack = self.specialized_at(&said.source).unwrap_or_default();
            messages.push(specialized(&said.source, number) + &stack);
            names.insert(said.source.clone());
        }
        let bounded: Vec<(&Said, &Symbol)> =
            all.iter().filter(|said| said.bounds.is_some()).filter_map(|said| Some((said, said.size.as_symbol()?))).collect();
        for guard in self.env.guards() {
            let (left, right) = (self.env.simplify(&guard.left), self.env.simplify(&guard.right));
            let symbols: BTreeSet<Symbol> = left.symbols().into_iter().chain(right.symbols()).collect();
            if symbols.len() != 1 || self.env.holds_in_range(&left, guard.relation, &right) {
                continue;
            }
            for (said, _) in bounded.iter().filter(|(_, symbol)| symbols.contains(*symbol)) {
                let first = self.first_place(&said.size).unwrap_or_else(|| said.source.clone());
                let named = |expr: &Expr| {
                    super::text::as_python(&expr.substitute(&|_| Some(Expr::symbol(Symbol(first.as_str().into())))).as_operand())
                };
                let text = format!("{} {} {}", named(&left), guard.relation.text(), named(&right));
                messages.push(said.unsatisfied(&first, &text) + ".");
                names.insert(first);
            }
        }
        for (said, symbol) in bounded {
            let Some(info) = self.env.info(symbol) else { continue };
            let (least, most) = said.bounds.unwrap_or_default();
            let is_kept = info.lower <= least.unwrap_or(2).max(2) && (info.upper == i64::MAX || most.is_some_and(|m| m <= info.upper));
            if !is_kept {
                let first = self.first_place(&said.size).unwrap_or_else(|| said.source.clone());
                let upper = (info.upper != i64::MAX).then_some(info.upper);
                messages.push(said.unsatisfied(&first, &within(&first, info.lower, upper)));
                names.insert(first);
            }
        }
        let names: Vec<String> = names.into_iter().collect();
        (!names.is_empty()).then(|| violated(&names, &messages) + "\n")
    }

    /// The first dimension among the inputs that is an expression.
    fn first_place(&self, size: &Expr) -> Option<String> {
        self.touched.iter().find_map(|input| {
            let is_it = |s: &SymInt| self.env.simplify(&s.expr()) == *size;
            let d = input.spec.spec.geometry.sizes.iter().position(is_it)?;
            Some(format!("{}.size()[{d}]", input.source.source))
        })
    }

    /// The line that made a size a number, as a traceback shows it.
    fn specialized_at(&self, source: &str) -> Option<String> {
        let (symbol, _) = self.env.symbols().into_iter().find(|(_, info)| info.origin == source)?;
        let specializes =
            |g: &&ShapeGuard| g.relation == Relation::Eq && [&g.left, &g.right].iter().any(|side| side.symbols().contains(&symbol));
        let guards = self.env.guards();
        let place = guards.iter().find(specializes)?.source.as_ref()?;
        let marks = place.marks_of_traceback().map_or_else(String::new, |m| format!("    {m}\n"));
        Some(format!(
            "\n\nUser stack:\n  File \"{}\", line {}, in {}\n    {}\n{marks}",
            place.file,
            place.line(),
            place.function,
            place.code
        ))
    }
}
