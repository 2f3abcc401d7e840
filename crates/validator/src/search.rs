//! The search for values: bounds are narrowed until nothing changes, then what is left is split.

use crate::Values;
use crate::formula::Formula;
use crate::linear;
use crate::polynomial::{Monomial, Polynomial, Var};
use crate::polynomial::{gcd, is_small};
use crate::problem::{Kind, Literal, Node, Problem};

/// What a search comes to.
#[derive(Clone, Debug)]
pub enum Answer {
    /// These values satisfy what was written.
    Yes(Values),
    /// Nothing does.
    No,
    /// The steps did not suffice, or a number was too large.
    Unknown,
}

/// Bounds of variables are no larger: products of a few of them can be computed with.
const LARGEST_BOUND: i128 = 1 << 40;
/// Rounds of narrowing before what is left is split.
const MOST_ROUNDS: u32 = 24;
/// How often the values of variables without a bound are split on the way to one box.
const MOST_OPENED: u32 = 10;
/// How often anything is split on that way.
const DEEPEST: u32 = 60;

/// Between which numbers something lies; `None` stands for no bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    /// The least.
    pub low: Option<i128>,
    /// The largest.
    pub high: Option<i128>,
}

impl Interval {
    fn is_empty(self) -> bool {
        matches!((self.low, self.high), (Some(low), Some(high)) if low > high)
    }

    /// The only number in it.
    pub fn as_number(self) -> Option<i128> {
        self.low.filter(|low| self.high == Some(*low))
    }

    fn contains(self, n: i128) -> bool {
        self.low.is_none_or(|low| low <= n) && self.high.is_none_or(|high| n <= high)
    }

    fn times(self, other: Interval) -> Interval {
        // An end without bound is one beyond all numbers; so is a product that is too large.
        let beyond = |sign: i128| if sign < 0 { i128::MIN } else { i128::MAX };
        let ends = |of: Interval| [of.low.unwrap_or(i128::MIN), of.high.unwrap_or(i128::MAX)];
        let product = |a: i128, b: i128| match (a, b) {
            (0, _) | (_, 0) => 0,
            (i128::MIN | i128::MAX, _) | (_, i128::MIN | i128::MAX) => beyond(a.signum() * b.signum()),
            _ => a.checked_mul(b).unwrap_or_else(|| beyond(a.signum() * b.signum())),
        };
        let all = ends(self).map(|a| ends(other).map(|b| product(a, b)));
        let all = || all.iter().flatten().copied();
        Interval { low: all().min().filter(|n| *n != i128::MIN), high: all().max().filter(|n| *n != i128::MAX) }
    }

    fn scaled(self, by: i128) -> Interval {
        let end = |n: Option<i128>| n.and_then(|n| n.checked_mul(by));
        if by < 0 { Interval { low: end(self.high), high: end(self.low) } } else { Interval { low: end(self.low), high: end(self.high) } }
    }

    fn plus(self, other: Interval) -> Interval {
        let end = |a: Option<i128>, b: Option<i128>| a?.checked_add(b?);
        Interval { low: end(self.low, other.low), high: end(self.high, other.high) }
    }
}

/// Why narrowing ends.
enum Stop {
    /// Nothing satisfies it.
    Conflict,
    /// Steps are used up, or numbers too large.
    Limit,
}

type Narrowed<T> = Result<T, Stop>;

/// What is left to satisfy.
#[derive(Clone, Default)]
pub struct State {
    /// Bounds by variable.
    pub bounds: Vec<Interval>,
    /// Comparisons that hold together.
    pub literals: Vec<Literal>,
    choices: Vec<Vec<Node>>,
    /// Variables that equations solved, in order: what they are, in terms of the others.
    solved: Vec<(Var, Polynomial)>,
    is_conflict: bool,
}

fn spend(steps: &mut u32, count: usize) -> Narrowed<()> {
    *steps = steps.checked_sub(u32::try_from(count).unwrap_or(u32::MAX)).ok_or(Stop::Limit)?;
    Ok(())
}

impl State {
    fn bound(&self, var: Var) -> Interval {
        self.bounds.get(var as usize).copied().unwrap_or_default()
    }

    /// Between which numbers a product lies.
    pub fn of_product(&self, monomial: &[Var]) -> Interval {
        let mut product = Interval { low: Some(1), high: Some(1) };
        for powers in monomial.chunk_by(|a, b| a == b) {
            let base = self.bound(powers[0]);
            let mut power = (1..powers.len()).fold(base, |product, _| product.times(base));
            if powers.len().is_multiple_of(2) {
                power.low = Some(power.low.unwrap_or(0).max(0));
            }
            product = product.times(power);
        }
        product
    }

    fn of_sum(&self, of: &Polynomial) -> Interval {
        let start = Interval { low: Some(0), high: Some(0) };
        of.0.iter().fold(start, |sum, (m, c)| sum.plus(self.of_product(m).scaled(*c)))
    }

    /// Whether a comparison holds of all values within the bounds, or of none.
    fn decided(&self, literal: &Literal) -> Option<bool> {
        let Interval { low, high } = self.of_sum(&literal.of);
        let (is_above, is_below) = (low.is_some_and(|n| n > 0), high.is_some_and(|n| n < 0));
        let is_zero = low == Some(0) && high == Some(0);
        match literal.kind {
            Kind::AtMost if is_above => Some(false),
            Kind::AtMost if high.is_some_and(|n| n <= 0) => Some(true),
            Kind::Zero if is_above || is_below => Some(false),
            Kind::Zero if is_zero => Some(true),
            Kind::NotZero if is_zero => Some(false),
            Kind::NotZero if is_above || is_below => Some(true),
            _ => None,
        }
    }

    fn decided_node(&self, node: &Node) -> Option<bool> {
        match node {
            Node::Constant(holds) => Some(*holds),
            Node::Literal(literal) => self.decided(literal),
            Node::And(items) => {
                let all: Vec<_> = items.iter().map(|n| self.decided_node(n)).collect();
                if all.contains(&Some(false)) { Some(false) } else { all.iter().all(|d| *d == Some(true)).then_some(true) }
            }
            Node::Or(items) => {
                let all: Vec<_> = items.iter().map(|n| self.decided_node(n)).collect();
                if all.contains(&Some(true)) { Some(true) } else { all.iter().all(|d| *d == Some(false)).then_some(false) }
            }
        }
    }

    fn add(&mut self, node: Node) {
        match node {
            Node::Constant(true) => {}
            Node::Constant(false) => self.is_conflict = true,
            Node::Literal(literal) => self.literals.push(literal),
            Node::And(items) => items.into_iter().for_each(|n| self.add(n)),
            Node::Or(mut items) if items.len() == 1 => self.add(items.remove(0)),
            Node::Or(items) => self.choices.push(items),
        }
    }

    fn narrow_to(&mut self, var: Var, low: Option<i128>, high: Option<i128>) -> Narrowed<bool> {
        let before = self.bound(var);
        // Beyond the largest bound nothing is narrowed: an equation without a solution would raise one without end.
        let low = low.filter(|n| *n >= -LARGEST_BOUND).map(|n| n.min(LARGEST_BOUND));
        let high = high.filter(|n| *n <= LARGEST_BOUND).map(|n| n.max(-LARGEST_BOUND));
        let narrowed = Interval { low: before.low.into_iter().chain(low).max(), high: before.high.into_iter().chain(high).min() };
        if self.bounds.len() <= var as usize {
            self.bounds.resize(var as usize + 1, Interval::default());
        }
        self.bounds[var as usize] = narrowed;
        if narrowed.is_empty() { Err(Stop::Conflict) } else { Ok(narrowed != before) }
    }

    /// What bounds of a product say of its factors.
    fn narrow_product(&mut self, monomial: &Monomial, low: Option<i128>, high: Option<i128>) -> Narrowed<bool> {
        if let [var] = monomial.as_slice() {
            return self.narrow_to(*var, low, high);
        }
        let mut changed = false;
        for powers in monomial.chunk_by(|a, b| a == b) {
            let (var, count) = (powers[0], powers.len() as u32);
            let rest: Monomial = monomial.iter().copied().filter(|v| *v != var).collect();
            let rest = self.of_product(&rest);
            let Some(divisor @ 1..) = rest.low else { continue };
            // var**count lies between these: where the product is no larger than a number below zero, the others are at their most.
            let over = |n: i128, is_far: bool| if is_far { Some(n) } else { rest.high };
            let most = high.map(|high| over(divisor, high >= 0).map_or(-1, |by| high.div_euclid(by)));
            let least = low.map(|low| over(divisor, low <= 0).map_or(1, |by| -(-low).div_euclid(by)));
            if count == 1 {
                changed |= self.narrow_to(var, least, most)?;
            } else if self.bound(var).low.is_some_and(|n| n >= 0) {
                let least = least.filter(|n| *n > 0).map(|n| root(n - 1, count) + 1);
                changed |= self.narrow_to(var, least, most.map(|n| root(n, count)))?;
            }
        }
        Ok(changed)
    }

    /// Narrows the bounds of what a comparison speaks of.
    fn narrow(&mut self, literal: &Literal) -> Narrowed<bool> {
        match literal.kind {
            Kind::AtMost => self.narrow_sum(&literal.of, 1),
            Kind::Zero => Ok(self.narrow_sum(&literal.of, 1)? | self.narrow_sum(&literal.of, -1)?),
            Kind::NotZero => {
                // A variable at an end of its bounds, or a product that is a number.
                let mut products = literal.of.products();
                let (Some((monomial, coefficient)), None) = (products.next(), products.next()) else { return Ok(false) };
                let number = literal.of.number();
                let [var] = monomial.as_slice() else { return Ok(false) };
                if number % coefficient != 0 {
                    return Ok(false);
                }
                let not = -(number / coefficient);
                let Interval { low, high } = self.bound(*var);
                let low = low.filter(|n| *n == not).map(|n| n + 1);
                let high = high.filter(|n| *n == not).map(|n| n - 1);
                self.narrow_to(*var, low, high)
            }
        }
    }

    /// What `sign * sum <= 0` says.
    fn narrow_sum(&mut self, sum: &Polynomial, sign: i128) -> Narrowed<bool> {
        let least = |state: &State, m: &Monomial, c: i128| state.of_product(m).scaled(c).low;
        let parts: Vec<(Monomial, i128, Option<i128>)> =
            sum.products().map(|(m, c)| (m.clone(), c * sign, least(self, m, c * sign))).collect();
        let unbounded = parts.iter().filter(|(.., least)| least.is_none()).count();
        if unbounded > 1 {
            return Ok(false);
        }
        let mut total = sum.number().checked_mul(sign).ok_or(Stop::Limit)?;
        for (.., least) in &parts {
            total = total.checked_add(least.unwrap_or(0)).ok_or(Stop::Limit)?;
        }
        if unbounded == 0 && total > 0 {
            return Err(Stop::Conflict);
        }
        let mut changed = false;
        for (monomial, coefficient, least) in &parts {
            if unbounded == 1 && least.is_some() {
                continue;
            }
            // coefficient * product <= left
            let left = least.unwrap_or(0).checked_sub(total).ok_or(Stop::Limit)?;
            let bound = left.div_euclid(coefficient.abs());
            changed |= if *coefficient > 0 {
                self.narrow_product(monomial, None, Some(bound))?
            } else {
                self.narrow_product(monomial, bound.checked_neg(), None)?
            };
        }
        Ok(changed)
    }

    /// A comparison with what is known put in: `None` where it holds.
    fn simplified(&self, literal: &Literal, steps: &mut u32) -> Narrowed<Option<Literal>> {
        let mut of = literal.of.clone();
        spend(steps, of.0.len() + 1)?;
        let fixed: Vec<(Var, i128)> = of.variables().filter_map(|v| Some((v, self.bound(v).as_number()?))).collect();
        for (var, number) in fixed {
            of = of.replaced(var, &Polynomial::from(number)).ok_or(Stop::Limit)?;
        }
        // A factor that all have and that is not zero.
        for var in of.common_factors() {
            let bound = self.bound(var);
            let is_above = bound.low.is_some_and(|n| n > 0);
            if is_above || literal.kind != Kind::AtMost && bound.high.is_some_and(|n| n < 0) {
                of = of.without_factor(var);
            }
        }
        let content = of.content();
        if content > 1 {
            let number = of.number();
            match literal.kind {
                Kind::Zero if number % content != 0 => return Err(Stop::Conflict),
                Kind::NotZero if number % content != 0 => return Ok(None),
                _ => {}
            }
            // The number is rounded towards what is stricter.
            let divided = |(m, c): &(Monomial, i128)| {
                let quotient = if m.is_empty() { -(-c).div_euclid(content) } else { c / content };
                (quotient != 0).then(|| (m.clone(), quotient))
            };
            of = Polynomial(of.0.iter().filter_map(divided).collect());
        }
        let literal = Literal { of, kind: literal.kind };
        match self.decided(&literal) {
            Some(false) => Err(Stop::Conflict),
            Some(true) if literal.of.as_number().is_some() || literal.kind == Kind::NotZero => Ok(None),
            // What bounds of several variables say stays: bounds of one follow from it.
            Some(true) => Ok(None),
            None => Ok(Some(literal)),
        }
    }

    /// A variable that an equation solves, and what it is.
    fn solved_by(literal: &Literal) -> Option<(Var, Polynomial)> {
        if literal.kind != Kind::Zero {
            return None;
        }
        let alone = |var: Var| literal.of.variables().filter(|v| *v == var).count() == 1;
        let (monomial, coefficient) = literal.of.products().filter(|(m, c)| m.len() == 1 && c.abs() == 1 && alone(m[0])).last()?;
        let var = monomial[0];
        let rest = literal.of.plus(&Polynomial::variable(var), -coefficient)?;
        Some((var, Polynomial::default().plus(&rest, -coefficient)?))
    }

    fn replace(&mut self, var: Var, by: &Polynomial, steps: &mut u32) -> Narrowed<()> {
        let mut count = 0;
        let mut in_literal = |literal: &Literal| -> Option<Literal> {
            count += 1;
            Some(Literal { of: literal.of.replaced(var, by)?, kind: literal.kind })
        };
        let literals = self.literals.iter().map(&mut in_literal).collect::<Option<Vec<_>>>().ok_or(Stop::Limit)?;
        fn in_node(node: &Node, with: &mut dyn FnMut(&Literal) -> Option<Literal>) -> Option<Node> {
            Some(match node {
                Node::Constant(holds) => Node::Constant(*holds),
                Node::Literal(literal) => Node::Literal(with(literal)?),
                Node::And(items) => Node::And(items.iter().map(|n| in_node(n, with)).collect::<Option<_>>()?),
                Node::Or(items) => Node::Or(items.iter().map(|n| in_node(n, with)).collect::<Option<_>>()?),
            })
        }
        let choices = self.choices.iter().map(|choice| choice.iter().map(|n| in_node(n, &mut in_literal)).collect::<Option<Vec<_>>>());
        self.choices = choices.collect::<Option<Vec<_>>>().ok_or(Stop::Limit)?;
        self.literals = literals;
        spend(steps, count)?;
        let Interval { low, high } = self.bound(var);
        let ends = [low.map(|n| Polynomial::from(n).plus(by, -1)), high.map(|n| by.plus(&Polynomial::from(n), -1))];
        for of in ends.into_iter().flatten() {
            self.literals.push(Literal { of: of.ok_or(Stop::Limit)?, kind: Kind::AtMost });
        }
        self.bounds[var as usize] = Interval::default();
        self.solved.push((var, by.clone()));
        Ok(())
    }

    fn propagate(&mut self, steps: &mut u32) -> Narrowed<()> {
        for _ in 0..MOST_ROUNDS {
            if self.is_conflict {
                return Err(Stop::Conflict);
            }
            let mut changed = false;
            let mut kept: Vec<Literal> = Vec::with_capacity(self.literals.len());
            for literal in std::mem::take(&mut self.literals) {
                let Some(literal) = self.simplified(&literal, steps)? else { continue };
                changed |= self.narrow(&literal)?;
                // What narrowed one variable alone is said by its bounds.
                let is_bound = literal.kind == Kind::AtMost
                    && literal.of.products().count() == 1
                    && literal.of.products().all(|(m, _)| m.len() == 1)
                    && literal.of.number().abs() < LARGEST_BOUND;
                if !is_bound && !kept.contains(&literal) {
                    kept.push(literal);
                }
            }
            self.literals = opposites(kept)?;
            if let Some((var, by)) = self.literals.iter().find_map(Self::solved_by) {
                if self.bounds.len() <= var as usize {
                    self.bounds.resize(var as usize + 1, Interval::default());
                }
                self.replace(var, &by, steps)?;
                changed = true;
            }
            for choice in std::mem::take(&mut self.choices) {
                spend(steps, choice.len())?;
                let decided: Vec<Option<bool>> = choice.iter().map(|n| self.decided_node(n)).collect();
                if decided.contains(&Some(true)) {
                    continue;
                }
                let count = choice.len();
                let mut left: Vec<Node> = choice.into_iter().zip(&decided).filter(|(_, d)| **d != Some(false)).map(|(n, _)| n).collect();
                changed |= left.len() < count;
                match left.len() {
                    0 => return Err(Stop::Conflict),
                    1 => self.add(left.remove(0)),
                    _ => self.choices.push(left),
                }
            }
            if !changed {
                break;
            }
        }
        Ok(())
    }

    /// Per variable, how often it occurs in what is left.
    fn left(&self) -> Vec<u32> {
        fn count(node: &Node, found: &mut Vec<u32>) {
            match node {
                Node::Constant(_) => {}
                Node::Literal(literal) => count_in(literal, found),
                Node::And(items) | Node::Or(items) => items.iter().for_each(|n| count(n, found)),
            }
        }
        fn count_in(literal: &Literal, found: &mut Vec<u32>) {
            for var in literal.of.variables() {
                if found.len() <= var as usize {
                    found.resize(var as usize + 1, 0);
                }
                found[var as usize] += 1;
            }
        }
        let mut found = vec![0; self.bounds.len()];
        self.literals.iter().for_each(|literal| count_in(literal, &mut found));
        self.choices.iter().flatten().for_each(|n| count(n, &mut found));
        found
    }
}

/// The largest number whose power is no larger.
fn root(n: i128, power: u32) -> i128 {
    if n <= 1 {
        return n.max(-1);
    }
    let (mut low, mut high) = (1i128, 1i128 << (127 / power));
    while low < high {
        let middle = low + (high - low + 1) / 2;
        if middle.checked_pow(power).is_some_and(|p| p <= n) { low = middle } else { high = middle - 1 }
    }
    low
}

/// Comparisons of one sum and of its opposite put together: both at most zero is zero, and beyond each other is none.
fn opposites(literals: Vec<Literal>) -> Narrowed<Vec<Literal>> {
    // The largest number that was seen beside the sum, where that is at most zero.
    let mut known: Vec<(Polynomial, i128)> = Vec::new();
    let apart = Polynomial::without_number;
    let sums = literals.iter().filter(|l| l.kind != Kind::NotZero);
    for literal in sums {
        let mut sides = vec![apart(&literal.of)];
        if literal.kind == Kind::Zero {
            sides.extend(Polynomial::default().plus(&literal.of, -1).map(|of| apart(&of)));
        }
        for (rest, number) in sides {
            match known.iter_mut().find(|(sum, _)| *sum == rest) {
                Some((_, strictest)) => *strictest = (*strictest).max(number),
                None => known.push((rest, number)),
            }
        }
    }
    let mut kept = Vec::with_capacity(literals.len());
    for literal in literals {
        let (rest, number) = apart(&literal.of);
        let opposite = Polynomial::default().plus(&rest, -1).ok_or(Stop::Limit)?;
        let strictest = |of: &Polynomial| known.iter().find(|(sum, _)| sum == of).map(|(_, number)| *number);
        let (own, other) = (strictest(&rest), strictest(&opposite));
        // rest <= -own and -rest <= -other: rest lies between other and -own.
        if let (Some(own), Some(other)) = (own, other)
            && own.checked_add(other).is_none_or(|n| n > 0)
        {
            return Err(Stop::Conflict);
        }
        match literal.kind {
            Kind::AtMost if own.is_some_and(|own| own > number) => {}
            Kind::AtMost if other.is_some_and(|other| other == -number) => kept.push(Literal { kind: Kind::Zero, ..literal }),
            Kind::NotZero => match (own, other) {
                (own, other) if own.is_some_and(|own| own > number) || other.is_some_and(|other| other > -number) => {}
                (Some(own), Some(other)) if own == number && other == -number => return Err(Stop::Conflict),
                (Some(own), _) if own == number => {
                    let of = literal.of.plus(&Polynomial::from(1), 1).ok_or(Stop::Limit)?;
                    kept.push(Literal { of, kind: Kind::AtMost });
                }
                (_, Some(other)) if other == -number => {
                    let of = Polynomial::from(1).plus(&literal.of, -1).ok_or(Stop::Limit)?;
                    kept.push(Literal { of, kind: Kind::AtMost });
                }
                _ => kept.push(literal),
            },
            _ => kept.push(literal),
        }
    }
    Ok(kept)
}

/// A problem, narrowed as far as that goes without splitting.
pub struct Search {
    problem: Problem,
    state: State,
    is_refuted: bool,
    hints: Values,
}

impl Search {
    /// Narrows what the formulas of a problem say together.
    pub fn new(problem: Problem, hints: &Values, steps: &mut u32) -> Search {
        let mut state = State::default();
        problem.nodes.iter().cloned().for_each(|n| state.add(n));
        state.bounds.resize(problem.count() as usize, Interval::default());
        let before = state.clone();
        let is_refuted = match state.propagate(steps) {
            Err(Stop::Conflict) => true,
            Err(Stop::Limit) => {
                state = before;
                false
            }
            Ok(()) => false,
        };
        Search { problem, state, is_refuted, hints: hints.clone() }
    }

    /// Whether one more formula can hold together with them.
    pub fn with(&self, formula: &Formula, steps: &mut u32) -> Answer {
        if self.is_refuted {
            return Answer::No;
        }
        let mut problem = self.problem.clone();
        let nodes = problem.nodes.len();
        // What was said before is copied.
        if problem.add(formula).is_none() || spend(steps, nodes / 4).is_err() {
            return Answer::Unknown;
        }
        let mut state = self.state.clone();
        state.bounds.resize(problem.count() as usize, Interval::default());
        let mut added = problem.nodes.split_off(nodes);
        // What was solved is said in terms of the others.
        let solved = state.solved.clone();
        for node in added.drain(..) {
            let mut one = State { bounds: state.bounds.clone(), ..State::default() };
            one.add(node);
            for (var, by) in &solved {
                one.bounds[*var as usize] = Interval::default();
                if one.replace(*var, by, steps).is_err() {
                    return Answer::Unknown;
                }
            }
            state.is_conflict |= one.is_conflict;
            state.literals.extend(one.literals);
            state.choices.extend(one.choices);
        }
        let mut hints = vec![None; problem.count() as usize];
        problem.names().for_each(|(name, var)| hints[var as usize] = self.hints.get(name).copied());
        Splitting { problem: &problem, hints }.solve(state, steps, (0, 0))
    }
}

/// The values of a problem's variables, box by box.
struct Splitting<'a> {
    problem: &'a Problem,
    /// By variable.
    hints: Vec<Option<i128>>,
}

impl Splitting<'_> {
    fn hint(&self, var: Var) -> Option<i128> {
        self.hints.get(var as usize).copied().flatten()
    }

    fn solve(&self, mut state: State, steps: &mut u32, (depth, opened): (u32, u32)) -> Answer {
        match state.propagate(steps) {
            Err(Stop::Conflict) => return Answer::No,
            Err(Stop::Limit) => return Answer::Unknown,
            Ok(()) => {}
        }
        if depth > DEEPEST {
            return Answer::Unknown;
        }
        if linear::is_refuted(&state, steps) {
            return Answer::No;
        }
        if state.literals.is_empty() && state.choices.is_empty() {
            return self.found(&state);
        }
        let boxes = match self.split(&state) {
            Some(boxes) => boxes,
            None => return Answer::Unknown,
        };
        let mut is_known = true;
        for (nodes, opens) in boxes {
            let opened = opened + u32::from(opens);
            if opened > MOST_OPENED {
                is_known = false;
                continue;
            }
            let mut inner = state.clone();
            nodes.into_iter().for_each(|n| inner.add(n));
            match self.solve(inner, steps, (depth + 1, opened)) {
                Answer::Yes(values) => return Answer::Yes(values),
                Answer::Unknown => is_known = false,
                Answer::No => {}
            }
            if *steps == 0 {
                return Answer::Unknown;
            }
        }
        if is_known { Answer::No } else { Answer::Unknown }
    }

    /// Cases that together are all; with each, whether it leaves a variable without bounds.
    fn split(&self, state: &State) -> Option<Vec<(Vec<Node>, bool)>> {
        if let Some(at) = (0..state.choices.len()).min_by_key(|i| state.choices[*i].len()) {
            return Some(state.choices[at].iter().map(|n| (vec![n.clone()], false)).collect());
        }
        let sides = |of: &Polynomial| {
            let below = of.plus(&Polynomial::from(1), 1)?;
            let above = Polynomial::from(1).plus(of, -1)?;
            Some([below, above].map(|of| (vec![Node::Literal(Literal { of, kind: Kind::AtMost })], false)).to_vec())
        };
        let unequal = state.literals.iter().filter(|l| l.kind == Kind::NotZero).min_by_key(|l| l.of.0.len());
        if let Some(literal) = unequal {
            return sides(&literal.of);
        }
        let width = |var: Var| {
            let Interval { low, high } = state.bound(var);
            low.zip(high).and_then(|(low, high)| high.checked_sub(low)).unwrap_or(i128::MAX)
        };
        let left = state.left();
        let order = |var: &Var| (width(*var), self.hint(*var).is_none(), std::cmp::Reverse(left[*var as usize]));
        let var = (0..left.len() as Var).filter(|v| left[*v as usize] > 0).min_by_key(order)?;
        let Interval { low, high } = state.bound(var);
        let at = |a: i128, b: i128| (Some(a), Some(b));
        let hint = self.hint(var).filter(|n| state.bound(var).contains(*n));
        let mut cases: Vec<(Option<i128>, Option<i128>)> = match (low, high, hint) {
            (low, high, Some(hint)) => vec![at(hint, hint), (low, hint.checked_sub(1)), (hint.checked_add(1), high)],
            (Some(low), Some(high), _) if high - low > 8 => {
                let middle = low + (high - low) / 2;
                vec![at(low, low), at(low + 1, middle), at(middle + 1, high)]
            }
            (Some(low), high, _) => vec![at(low, low), (low.checked_add(1), high)],
            (None, Some(high), _) => vec![at(high, high), (None, high.checked_sub(1))],
            (None, None, _) => vec![at(0, 0), (Some(1), None), (None, Some(-1))],
        };
        cases.retain(|(low, high)| !(Interval { low: *low, high: *high }).is_empty());
        let case = |(low, high): (Option<i128>, Option<i128>)| {
            let of = Polynomial::variable(var);
            let least = low.map(|n| Polynomial::from(n).plus(&of, -1));
            let most = high.map(|n| of.plus(&Polynomial::from(n), -1));
            let bounds = [least, most].into_iter().flatten().map(|of| Some(Node::Literal(Literal { of: of?, kind: Kind::AtMost })));
            Some((bounds.collect::<Option<Vec<_>>>()?, low.is_none() || high.is_none()))
        };
        cases.into_iter().map(case).collect()
    }

    /// Values within the bounds, with those of solved variables computed.
    fn found(&self, state: &State) -> Answer {
        let value = |var: Var| {
            let bound = state.bound(var);
            let hint = self.hint(var).filter(|n| bound.contains(*n));
            hint.or(bound.low).or(bound.high).unwrap_or(0)
        };
        let mut values: Vec<i128> = (0..self.problem.count()).map(value).collect();
        for (var, by) in state.solved.iter().rev() {
            let product = |m: &Monomial| m.iter().try_fold(1i128, |p, v| p.checked_mul(*values.get(*v as usize)?));
            let sum = by.0.iter().try_fold(0i128, |sum, (m, c)| sum.checked_add(product(m)?.checked_mul(*c)?));
            let Some(sum) = sum else { return Answer::Unknown };
            values[*var as usize] = sum;
        }
        let named: Values = self.problem.names().filter_map(|(name, var)| Some((name.clone(), *values.get(var as usize)?))).collect();
        if self.problem.formulas.iter().all(|f| f.holds(&named) == Some(true)) { Answer::Yes(named) } else { Answer::Unknown }
    }
}

/// A sum divided by what divides all of its coefficients, the number rounded towards what is stricter.
pub(crate) fn tightened(coefficients: &mut [(u32, i128)], number: &mut i128) {
    let common = coefficients.iter().fold(0, |g, (_, c)| gcd(g, *c));
    if common > 1 && is_small(*number) {
        coefficients.iter_mut().for_each(|(_, c)| *c /= common);
        *number = -(-*number).div_euclid(common);
    }
}
