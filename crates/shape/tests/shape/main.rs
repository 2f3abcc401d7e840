//! Symbolic sizes keep their values: whatever the rules of simplification make of an expression, it evaluates to what the same
//! arithmetic gives on numbers, and what is decided without a guard holds.

use shape::{Expr, Relation, ShapeEnv, SymInt, Symbol, SymbolInfo};

/// Numbers from a seed (xorshift).
struct Draws(u64);

impl Draws {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

const NAMES: [&str; 3] = ["s0", "s1", "s2"];

fn floor_div(a: i64, b: i64) -> i64 {
    let q = a / b;
    if a % b != 0 && (a < 0) != (b < 0) { q - 1 } else { q }
}

/// A random expression, and its value where the symbols have these.
fn expression(draws: &mut Draws, env: &ShapeEnv, values: [i64; 3], depth: u32) -> (SymInt, i64) {
    if depth == 0 || draws.below(5) == 0 {
        if draws.below(3) == 0 {
            let n = draws.below(9) as i64 - 2;
            return (SymInt::Int(n), n);
        }
        let i = draws.below(3) as usize;
        return (SymInt::Sym(Expr::symbol(Symbol(NAMES[i].into())), env.clone()), values[i]);
    }
    let (a, x) = expression(draws, env, values, depth - 1);
    let (b, y) = expression(draws, env, values, depth - 1);
    match draws.below(7) {
        0 => (&a + &b, x + y),
        1 => (&a - &b, x - y),
        2 => (&a * &b, x * y),
        3 => (a.max(&b), x.max(y)),
        4 => (a.min(&b), x.min(y)),
        n => {
            // Divisors are sizes or numbers above zero.
            let k = draws.below(6) as i64 + 1;
            let i = draws.below(3) as usize;
            let (divisor, d) = if draws.below(2) == 0 {
                (SymInt::Int(k), k)
            } else {
                (SymInt::Sym(Expr::symbol(Symbol(NAMES[i].into())), env.clone()), values[i])
            };
            if n == 5 { (a.floor_div(&divisor).unwrap(), floor_div(x, d)) } else { (a.modulo(&divisor).unwrap(), x - d * floor_div(x, d)) }
        }
    }
}

fn environment(values: [i64; 3]) -> ShapeEnv {
    let env = ShapeEnv::default();
    for (name, value) in NAMES.iter().zip(values) {
        env.symbol(name, SymbolInfo { origin: format!("L['{name}'].size()[0]"), hint: Some(value), lower: 2, upper: i64::MAX });
    }
    env
}

#[test]
fn simplification_keeps_values() {
    let mut draws = Draws(0x9e37_79b9_7f4a_7c15);
    for round in 0..4000 {
        let values = [0; 3].map(|_| draws.below(40) as i64 + 2);
        let env = environment(values);
        let (size, value) = expression(&mut draws, &env, values, 4);
        assert_eq!(size.hint(), Some(value), "round {round}: {size} where the symbols are {values:?}");
    }
}

#[test]
fn what_is_decided_without_a_guard_holds() {
    let relations = [Relation::Eq, Relation::Ne, Relation::Lt, Relation::Le, Relation::Gt, Relation::Ge];
    let mut draws = Draws(0x2545_f491_4f6c_dd1d);
    for round in 0..4000 {
        let values = [0; 3].map(|_| draws.below(12) as i64 + 2);
        let env = environment(values);
        let (a, x) = expression(&mut draws, &env, values, 3);
        let (b, y) = expression(&mut draws, &env, values, 3);
        for relation in relations {
            if let Some(answer) = env.decide(&a.expr(), relation, &b.expr()) {
                let text = relation.text();
                assert_eq!(answer, relation.holds(x, y), "round {round}: {a} {text} {b} where the symbols are {values:?}");
            }
        }
    }
}

#[test]
fn guards_that_were_installed_hold_and_are_used() {
    let mut draws = Draws(0xd1b5_4a32_d192_ed03);
    for round in 0..2000 {
        let values = [0; 3].map(|_| draws.below(12) as i64 + 2);
        let env = environment(values);
        for _ in 0..3 {
            let (a, x) = expression(&mut draws, &env, values, 2);
            let (b, y) = expression(&mut draws, &env, values, 2);
            assert_eq!(a.compare(Relation::Le, &b).unwrap(), x <= y, "round {round}: {a} <= {b}");
            assert_eq!(a.compare(Relation::Eq, &b).unwrap(), x == y, "round {round}: {a} == {b}");
            // What a guard made of the symbols changes no value.
            assert_eq!((a.hint(), b.hint()), (Some(x), Some(y)), "round {round}");
        }
        for guard in env.guards() {
            let number = |e: &Expr| env.hint(e).unwrap();
            assert!(guard.relation.holds(number(&guard.left), number(&guard.right)), "round {round}: {guard:?}");
        }
    }
}

#[test]
fn expressions_in_files_are_calls_of_sympy() {
    let env = ShapeEnv::default();
    let info = SymbolInfo { origin: "x".into(), hint: Some(6), lower: 2, upper: i64::MAX };
    let s = env.symbol("s0", info).expr();
    let symbol = "Symbol('s0', positive=True, integer=True)";
    assert_eq!(s.srepr(&env), symbol);
    assert_eq!(s.scale(2).add(&1.into()).srepr(&env), format!("Add(Mul(Integer(2), {symbol}), Integer(1))"));
    assert_eq!(s.mul(&s).srepr(&env), format!("Pow({symbol}, Integer(2))"));
    assert_eq!(s.floor_div(&4.into()).srepr(&env), format!("FloorDiv({symbol}, Integer(4))"));
    assert_eq!(s.sub(&s).srepr(&env), "Integer(0)");
    assert_eq!(env.unbacked("item", 0).expr().srepr(&env), "Symbol('u0', integer=True)");
}

#[test]
fn a_declared_symbol_keeps_later_ones_from_its_name() {
    let env = ShapeEnv::default();
    let info = SymbolInfo { origin: "item".into(), hint: None, lower: 0, upper: i64::MAX };
    assert_eq!(env.declare("u3", info).to_string(), "u3");
    assert_eq!(env.unbacked("item", 0).to_string(), "u4");
}
