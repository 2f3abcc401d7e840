//! Environments of symbols as tracing leaves them.

use shape::{Expr, Relation, ShapeEnv, SymInt, SymbolInfo};
use validator::{Verdict, validate};

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

fn size(env: &ShapeEnv, name: &str, hint: i64) -> SymInt {
    let info = SymbolInfo { origin: format!("L['{name}'].size()[0]"), hint: Some(hint), lower: 2, upper: i64::MAX };
    env.symbol(name, info)
}

/// The verdict, and per symbol which guards speak of it and which leave one value.
fn said(env: &ShapeEnv) -> String {
    let validation = validate(env).unwrap();
    let verdict = match &validation.verdict {
        Verdict::Proved => "proved".to_owned(),
        Verdict::NotDecided => "not decided".to_owned(),
        Verdict::Counterexample(values, at) => format!("counterexample {values:?} to {}", validation.source[*at].formula),
    };
    let symbols = validation.narrowed.iter().map(|narrowed| {
        let only = narrowed.only.as_ref().map(|(value, guards)| format!(", only {value} by {guards:?}")).unwrap_or_default();
        format!("; {} in {:?}{only}", narrowed.symbol.0, narrowed.guards)
    });
    verdict + &symbols.collect::<String>()
}

#[test]
fn what_was_asked_follows_from_the_guards() {
    let env = ShapeEnv::default();
    env.log_operations();
    let (a, b) = (size(&env, "a", 8), size(&env, "b", 16));
    assert!(b.sym_eq(&a * 2).unwrap());
    assert!((&(&a + &b) * &a).compare(Relation::Gt, &40.into()).unwrap());
    assert!(a.modulo(&4.into()).unwrap().sym_eq(0).unwrap());
    assert!(b.floor_div(&4.into()).unwrap().compare(Relation::Ne, &1.into()).unwrap());
    assert!(a.max(&2.into()).sym_eq(&a + 0).unwrap());
    assert_eq!(said(&env), "proved; a in [0, 1, 2, 3]; b in [0]");
}

#[test]
fn a_flipped_equality_is_found() {
    let env = ShapeEnv::default();
    env.flip_equalities();
    let (a, b) = (size(&env, "a", 8), size(&env, "b", 16));
    assert!(b.sym_eq(&a * 2).unwrap());
    assert_eq!(said(&env), "counterexample {\"a\": 9, \"b\": 16} to (== b (* 2 a)); a in [0]; b in [0]");
}

#[test]
fn three_guards_that_leave_one_value() {
    let env = ShapeEnv::default();
    let a = size(&env, "a", 5);
    assert!(a.compare(Relation::Gt, &3.into()).unwrap());
    assert!(a.compare(Relation::Lt, &6.into()).unwrap());
    assert!(a.compare(Relation::Ne, &4.into()).unwrap());
    assert_eq!(said(&env), "proved; a in [0, 1, 2], only 5 by [0, 1, 2]");
}

#[test]
fn an_environment_without_symbols_has_nothing_to_prove() {
    let env = ShapeEnv::default();
    assert!(env.evaluate(&Expr::from(2), Relation::Eq, &Expr::from(2)).unwrap());
    assert!(validate(&env).is_none());
}

/// A random size computed from others.
fn expression(draws: &mut Draws, sizes: &[SymInt], depth: u32) -> SymInt {
    if depth == 0 || draws.below(4) == 0 {
        return if draws.below(3) == 0 {
            SymInt::Int(draws.below(9) as i64 + 1)
        } else {
            sizes[draws.below(sizes.len() as u64) as usize].clone()
        };
    }
    let (a, b) = (expression(draws, sizes, depth - 1), expression(draws, sizes, depth - 1));
    let divisor =
        if draws.below(3) == 0 { sizes[draws.below(sizes.len() as u64) as usize].clone() } else { SymInt::Int(draws.below(6) as i64 + 1) };
    match draws.below(8) {
        0 | 1 => &a + &b,
        2 => &a - &b,
        3 => &a * &b,
        4 => a.max(&b),
        5 => a.min(&b),
        6 => a.floor_div(&divisor).unwrap(),
        _ => a.modulo(&divisor).unwrap(),
    }
}

/// Whatever sizes are computed and compared, guards imply what was asked, and operations are what they were simplified to.
#[test]
fn nothing_contradicts_random_traces() {
    let mut draws = Draws(0x9e37_79b9_7f4a_7c15);
    let (rounds, mut proved) = (400, 0);
    for round in 0..rounds {
        let env = ShapeEnv::default();
        env.log_operations();
        let sizes = ["a", "b", "c"].map(|name| size(&env, name, draws.below(40) as i64 + 2));
        for _ in 0..4 {
            let (left, right) = (expression(&mut draws, &sizes, 2), expression(&mut draws, &sizes, 1));
            left.compare(Relation::ALL[draws.below(6) as usize], &right).unwrap();
        }
        let Some(validation) = validate(&env) else { continue };
        if let Verdict::Counterexample(values, at) = &validation.verdict {
            panic!("round {round}: {values:?} contradicts {}, of\n{:#?}", validation.source[*at].formula, env.guards());
        }
        proved += usize::from(validation.verdict == Verdict::Proved);
    }
    assert!(proved * 100 >= rounds * 90, "{proved} of {rounds} are proved");
}
