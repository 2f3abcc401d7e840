//! Polynomials of integer variables, multiplied out: one normal form for all that are equal.

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

/// A sum of products with their coefficients, none of which is zero, in the order of the products.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Polynomial(pub Vec<(Monomial, i128)>);

/// Puts a short list in order.
pub fn sort<T: Ord>(list: &mut [T]) {
    for end in 1..list.len() {
        let mut at = end;
        while at > 0 && list[at] < list[at - 1] {
            list.swap(at, at - 1);
            at -= 1;
        }
    }
}

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
        Polynomial(if n == 0 { Vec::new() } else { vec![(Vec::new(), n)] })
    }
}

impl Polynomial {
    /// One variable.
    pub fn variable(var: Var) -> Self {
        Polynomial(vec![(vec![var], 1)])
    }

    /// The number, where it is one.
    pub fn as_number(&self) -> Option<i128> {
        match self.0.as_slice() {
            [] => Some(0),
            [(monomial, number)] if monomial.is_empty() => Some(*number),
            _ => None,
        }
    }

    /// The number in it.
    pub fn number(&self) -> i128 {
        self.0.first().filter(|(monomial, _)| monomial.is_empty()).map_or(0, |(_, number)| *number)
    }

    /// What it is but for its number, and the number.
    pub fn without_number(&self) -> (Polynomial, i128) {
        (Polynomial(self.products().map(|(m, c)| (m.clone(), c)).collect()), self.number())
    }

    /// Its products with their coefficients, without the number.
    pub fn products(&self) -> impl Iterator<Item = (&Monomial, i128)> {
        self.0.iter().filter(|(m, _)| !m.is_empty()).map(|(m, c)| (m, *c))
    }

    /// Every variable in it, maybe more than once.
    pub fn variables(&self) -> impl Iterator<Item = Var> {
        self.0.iter().flat_map(|(m, _)| m).copied()
    }

    fn put(&mut self, monomial: Monomial, coefficient: i128) -> Option<()> {
        let at = self.0.partition_point(|(known, _)| *known < monomial);
        let known = self.0.get(at).filter(|(known, _)| *known == monomial).map(|(_, number)| *number);
        let sum = known.unwrap_or(0).checked_add(coefficient)?;
        match (known, sum) {
            (Some(_), 0) => drop(self.0.remove(at)),
            (Some(_), _) => self.0[at].1 = sum,
            (None, 0) => {}
            (None, _) => self.0.insert(at, (monomial, sum)),
        }
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
                sort(&mut monomial);
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
            let start = Polynomial(vec![(rest, *coefficient)]);
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
            let part = Polynomial(vec![(monomial, coefficient)]);
            rest = rest.plus(&part.times(divisor)?, -1)?;
            quotient = quotient.plus(&part, 1)?;
        }
        Some((quotient, rest))
    }

    /// Divided by a variable that every product has.
    pub fn without_factor(&self, var: Var) -> Polynomial {
        let mut terms: Vec<_> = self.0.iter().filter_map(|(m, c)| Some((without(m, &[var])?, *c))).collect();
        sort(&mut terms);
        Polynomial(terms)
    }

    /// A variable that stands in every product, and that no number stands beside.
    pub fn common_factors(&self) -> Vec<Var> {
        let Some((first, _)) = self.0.first() else { return Vec::new() };
        let mut common = first.clone();
        common.dedup();
        common.retain(|v| self.0.iter().all(|(m, _)| m.contains(v)));
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
