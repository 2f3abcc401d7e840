//! Polynomials of integer variables, multiplied out: one normal form for all that are equal.

use std::collections::BTreeMap;

/// A variable, by its number in a problem.
pub type Var = u32;

/// A product of variables, sorted; the empty one is the number one.
pub type Monomial = Vec<Var>;

/// Larger polynomials are not computed with.
const MOST_TERMS: usize = 80;
const HIGHEST_DEGREE: usize = 8;

/// Numbers that are computed with are no larger: sums and opposites of few of them need no check.
pub const LARGEST: i128 = 1 << 96;

/// Whether a number is not too large to compute with.
pub fn is_small(n: i128) -> bool {
    (-LARGEST..=LARGEST).contains(&n)
}

/// A sum of products with their coefficients, none of which is zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Polynomial(pub BTreeMap<Monomial, i128>);

/// The greatest common divisor, not negative.
pub fn gcd(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.saturating_abs()
}

impl From<i128> for Polynomial {
    fn from(n: i128) -> Self {
        Polynomial(if n == 0 { BTreeMap::new() } else { BTreeMap::from([(Vec::new(), n)]) })
    }
}

impl Polynomial {
    /// One variable.
    pub fn variable(var: Var) -> Self {
        Polynomial(BTreeMap::from([(vec![var], 1)]))
    }

    /// The number, where it is one.
    pub fn as_number(&self) -> Option<i128> {
        match self.0.len() {
            0 => Some(0),
            1 => self.0.get(&Vec::new()).copied(),
            _ => None,
        }
    }

    /// The number in it.
    pub fn number(&self) -> i128 {
        self.0.get(&Vec::new()).copied().unwrap_or(0)
    }

    /// Its products with their coefficients, without the number.
    pub fn products(&self) -> impl Iterator<Item = (&Monomial, i128)> {
        self.0.iter().filter(|(m, _)| !m.is_empty()).map(|(m, c)| (m, *c))
    }

    /// Every variable in it, maybe more than once.
    pub fn variables(&self) -> impl Iterator<Item = Var> {
        self.0.keys().flatten().copied()
    }

    fn put(&mut self, monomial: Monomial, coefficient: i128) -> Option<()> {
        let sum = self.0.get(&monomial).copied().unwrap_or(0).checked_add(coefficient)?;
        if sum == 0 {
            self.0.remove(&monomial)
        } else {
            self.0.insert(monomial, sum)
        };
        (self.0.len() <= MOST_TERMS && is_small(sum)).then_some(())
    }

    /// `self + other * factor`; `None` where that is too large.
    pub fn plus(&self, other: &Polynomial, factor: i128) -> Option<Polynomial> {
        let mut sum = self.clone();
        for (monomial, coefficient) in &other.0 {
            sum.put(monomial.clone(), coefficient.checked_mul(factor)?)?;
        }
        Some(sum)
    }

    /// `self * other`; `None` where that is too large.
    pub fn times(&self, other: &Polynomial) -> Option<Polynomial> {
        let mut product = Polynomial::default();
        for (m, a) in &self.0 {
            for (n, b) in &other.0 {
                let mut monomial: Monomial = m.iter().chain(n).copied().collect();
                if monomial.len() > HIGHEST_DEGREE {
                    return None;
                }
                monomial.sort_unstable();
                product.put(monomial, a.checked_mul(*b)?)?;
            }
        }
        Some(product)
    }

    /// With a variable replaced by a polynomial; `None` where that is too large.
    pub fn replaced(&self, var: Var, by: &Polynomial) -> Option<Polynomial> {
        if !self.variables().any(|v| v == var) {
            return Some(self.clone());
        }
        let mut sum = Polynomial::default();
        for (monomial, coefficient) in &self.0 {
            let rest: Monomial = monomial.iter().copied().filter(|v| *v != var).collect();
            let power = monomial.len() - rest.len();
            let start = Polynomial(BTreeMap::from([(rest, *coefficient)]));
            let product = (0..power).try_fold(start, |product, _| product.times(by))?;
            sum = sum.plus(&product, 1)?;
        }
        Some(sum)
    }

    /// The greatest common divisor of its coefficients but the number; zero where it is a number.
    pub fn content(&self) -> i128 {
        self.products().fold(0, |g, (_, c)| gcd(g, c))
    }

    /// The quotient by `divisor` and what is left of it, where every product of it that has the divisor's leading product as a factor is
    /// taken apart.
    pub fn divided(&self, divisor: &Polynomial) -> Option<(Polynomial, Polynomial)> {
        let (leading, by) = divisor.0.iter().max_by_key(|(m, _)| (m.len(), (*m).clone()))?;
        let (mut quotient, mut rest) = (Polynomial::default(), self.clone());
        for _ in 0..MOST_TERMS {
            let found = rest.0.iter().rev().find_map(|(m, c)| Some((without(m, leading)?, c / by)).filter(|(_, q)| *q != 0 && c % by == 0));
            let Some((monomial, coefficient)) = found else { break };
            let part = Polynomial(BTreeMap::from([(monomial, coefficient)]));
            rest = rest.plus(&part.times(divisor)?, -1)?;
            quotient = quotient.plus(&part, 1)?;
        }
        Some((quotient, rest))
    }

    /// Divided by a variable that every product has.
    pub fn without_factor(&self, var: Var) -> Polynomial {
        Polynomial(self.0.iter().filter_map(|(m, c)| Some((without(m, &[var])?, *c))).collect())
    }

    /// A variable that stands in every product, and that no number stands beside.
    pub fn common_factors(&self) -> Vec<Var> {
        let Some(first) = self.0.keys().next() else { return Vec::new() };
        let mut common = first.clone();
        common.dedup();
        common.retain(|v| self.0.keys().all(|m| m.contains(v)));
        common
    }
}

/// A product without the factors of another, where it has all of them.
fn without(monomial: &[Var], factors: &[Var]) -> Option<Monomial> {
    let mut rest = monomial.to_vec();
    for factor in factors {
        let at = rest.iter().position(|v| v == factor)?;
        rest.remove(at);
    }
    Some(rest)
}
