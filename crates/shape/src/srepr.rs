//! Expressions as files of exported programs have them: sympy's `srepr`, the calls that make an expression.

use super::expr::{Atom, Bitwise, Monomial};
use super::symfloat::Rounding;
use super::{Expr, FloatExpr, Relation, ShapeEnv, Symbol};

impl Expr {
    /// The calls of sympy's that make the expression.
    pub fn srepr(&self, env: &ShapeEnv) -> String {
        let degree = |m: &Monomial| m.iter().map(|(_, power)| *power).sum::<u32>();
        let mut terms: Vec<(&Monomial, &i64)> = self.0.iter().collect();
        // A number comes last.
        terms.sort_by(|(a, _), (b, _)| degree(b).cmp(&degree(a)).then_with(|| a.cmp(b)));
        let term = |(m, c): (&Monomial, &i64)| {
            let factor = |(atom, power): &(Atom, u32)| {
                let base = of_atom(atom, env);
                if *power == 1 { base } else { format!("Pow({base}, Integer({power}))") }
            };
            let coefficient = (*c != 1 || m.is_empty()).then(|| format!("Integer({c})"));
            joined("Mul", coefficient.into_iter().chain(m.iter().map(factor)).collect())
        };
        if terms.is_empty() { "Integer(0)".to_owned() } else { joined("Add", terms.into_iter().map(term).collect()) }
    }
}

/// A call of several operands; one stands for itself.
fn joined(call: &str, operands: Vec<String>) -> String {
    match operands.as_slice() {
        [one] => one.clone(),
        several => format!("{call}({})", several.join(", ")),
    }
}

fn of_symbol(symbol: &Symbol, env: &ShapeEnv) -> String {
    let is_positive = !symbol.0.starts_with('u') && env.info(symbol).is_some_and(|info| info.lower >= 1);
    format!("Symbol('{}', {}integer=True)", symbol.0, if is_positive { "positive=True, " } else { "" })
}

fn of_atom(atom: &Atom, env: &ShapeEnv) -> String {
    let call = |name: &str, operands: &[&Expr]| {
        let operands: Vec<String> = operands.iter().map(|e| e.srepr(env)).collect();
        format!("{name}({})", operands.join(", "))
    };
    match atom {
        Atom::Symbol(symbol) => of_symbol(symbol, env),
        Atom::Sum(e) => e.srepr(env),
        Atom::Rounded(rounded) => {
            let name = match rounded.0 {
                Rounding::Ceil => "CeilToInt",
                Rounding::Floor => "FloorToInt",
                Rounding::Trunc => "TruncToInt",
                Rounding::Round => "RoundToInt",
            };
            format!("{name}({})", rounded.1.srepr(env))
        }
        Atom::FloorDiv(a, b) => call("FloorDiv", &[a, b]),
        Atom::Max(of) => call("Max", &of.iter().collect::<Vec<_>>()),
        Atom::Min(of) => call("Min", &of.iter().collect::<Vec<_>>()),
        Atom::Mod(a, b) => call("Mod", &[a, b]),
        Atom::PythonMod(a, b) => call("PythonMod", &[a, b]),
        Atom::Power(a, b) => call("PowByNatural", &[a, b]),
        Atom::Abs(e) => call("Abs", &[e]),
        Atom::Bitwise(op, a, b) => {
            let name = match op {
                Bitwise::And => "BitwiseFn_bitwise_and",
                Bitwise::Or => "BitwiseFn_bitwise_or",
                Bitwise::Xor => "BitwiseFn_bitwise_xor",
            };
            call(name, &[a, b])
        }
    }
}

impl FloatExpr {
    /// The calls of sympy's that make the expression.
    pub fn srepr(&self, env: &ShapeEnv) -> String {
        match self {
            FloatExpr::Symbol(symbol) => format!("Symbol('{}')", symbol.0),
            FloatExpr::Number(number) => format!("Float('{number:?}', precision=53)"),
            FloatExpr::ToFloat(e) => format!("ToFloat({})", e.srepr(env)),
            FloatExpr::IntTrueDiv(a, b) => format!("IntTrueDiv({}, {})", a.srepr(env), b.srepr(env)),
            FloatExpr::Function(name, of) => format!("OpaqueUnaryFn_{name}({})", of.srepr(env)),
            FloatExpr::Round(of, digits) => format!("RoundDecimal({}, Integer({digits}))", of.srepr(env)),
            FloatExpr::Neg(of) => format!("Mul(Integer(-1), {})", of.srepr(env)),
            FloatExpr::Binary(name, a, b) => {
                let (a, b) = (a.srepr(env), b.srepr(env));
                match *name {
                    "sub" => format!("Add({a}, Mul(Integer(-1), {b}))"),
                    "mul" => format!("Mul({a}, {b})"),
                    "truediv" => format!("FloatTrueDiv({a}, {b})"),
                    "pow" => format!("FloatPow({a}, {b})"),
                    "sym_max" => format!("Max({a}, {b})"),
                    "sym_min" => format!("Min({a}, {b})"),
                    _ => format!("Add({a}, {b})"),
                }
            }
        }
    }
}

impl Relation {
    /// The class of sympy's.
    pub fn srepr(self) -> &'static str {
        match self {
            Relation::Eq => "Equality",
            Relation::Ne => "Unequality",
            Relation::Lt => "StrictLessThan",
            Relation::Le => "LessThan",
            Relation::Gt => "StrictGreaterThan",
            Relation::Ge => "GreaterThan",
        }
    }
}
