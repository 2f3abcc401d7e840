//! Sizes as guards say them: Python that computes them, with every quotient, remainder and sum of an operand in parentheses.

use super::Expr;
use super::expr::{Atom, Monomial};

impl Expr {
    /// The expression as Python: its number first.
    pub fn in_python(&self) -> String {
        let degree = |m: &Monomial| m.iter().map(|(_, power)| *power).sum::<u32>();
        let mut terms: Vec<(&Monomial, &i64)> = self.0.iter().collect();
        terms.sort_by(|(a, _), (b, _)| (!a.is_empty(), degree(b)).cmp(&(!b.is_empty(), degree(a))).then_with(|| a.cmp(b)));
        let number = |n: i64| if n < 0 { format!("({n})") } else { n.to_string() };
        let term = |(m, c): (&Monomial, &i64)| {
            let factors = m.iter().map(|(atom, power)| if *power == 1 { of_atom(atom) } else { format!("{}**{power}", of_atom(atom)) });
            let coefficient = (*c != 1 || m.is_empty()).then(|| number(*c));
            coefficient.into_iter().chain(factors).collect::<Vec<_>>().join("*")
        };
        if terms.is_empty() { "0".to_owned() } else { terms.into_iter().map(term).collect::<Vec<_>>().join(" + ") }
    }

    /// The same as an operand.
    pub fn as_operand(&self) -> String {
        let is_closed = self.as_int().is_some() || self.as_atom().is_some_and(|(_, power)| power == 1);
        if is_closed { self.in_python() } else { format!("({})", self.in_python()) }
    }
}

fn of_atom(atom: &Atom) -> String {
    match atom {
        Atom::Sum(e) => format!("({})", e.in_python()),
        Atom::FloorDiv(a, b) => format!("({} // {})", a.as_operand(), b.as_operand()),
        Atom::Mod(a, b) | Atom::PythonMod(a, b) => format!("({} % {})", a.as_operand(), b.as_operand()),
        Atom::Power(a, b) => format!("({} ** {})", a.as_operand(), b.as_operand()),
        Atom::Bitwise(op, a, b) => format!("({} {} {})", a.as_operand(), op.operator(), b.as_operand()),
        Atom::Abs(e) => format!("abs({})", e.in_python()),
        Atom::Symbol(_) | Atom::Rounded(_) | Atom::Max(_) | Atom::Min(_) => atom.to_string(),
    }
}
