//! Whether inequalities contradict each other, products taken as variables: Fourier-Motzkin elimination, with numbers rounded as integers
//! allow.

use crate::polynomial::{Monomial, Polynomial, is_small, sort};
use crate::problem::Kind;
use crate::search::{Interval, State, tightened};
use std::collections::HashMap;

/// Systems do not grow beyond this many inequalities.
const MOST_ROWS: usize = 240;
/// Products of inequalities that are added.
const MOST_PRODUCTS: usize = 80;

/// A sum that is at most zero: coefficients by column, and the number.
type Row = (Vec<(u32, i128)>, i128);

/// Whether no values satisfy what is left. That some do is not said by `false`.
pub fn is_refuted(state: &State, steps: &mut u32) -> bool {
    let sums = sums_at_most_zero(state);
    let mut columns: Vec<Monomial> = Vec::new();
    let mut system = System::default();
    for sum in &sums {
        let row: Vec<(u32, i128)> = sum
            .products()
            .map(|(m, c)| {
                let known = columns.iter().position(|column| column == m);
                let at = known.unwrap_or_else(|| {
                    columns.push(m.clone());
                    columns.len() - 1
                });
                (at as u32, c)
            })
            .collect();
        if system.add((row, sum.number())) {
            return true;
        }
    }
    system.eliminate(steps)
}

/// Sums that are at most zero: comparisons, bounds of variables and of products, and products of those.
fn sums_at_most_zero(state: &State) -> Vec<Polynomial> {
    let mut sums: Vec<Polynomial> = Vec::new();
    for literal in &state.literals {
        match literal.kind {
            Kind::AtMost => sums.push(literal.of.clone()),
            Kind::Zero => {
                sums.push(literal.of.clone());
                sums.extend(Polynomial::default().plus(&literal.of, -1));
            }
            Kind::NotZero => {}
        }
    }
    let mut monomials: Vec<Monomial> = sums.iter().flat_map(|s| s.products().map(|(m, _)| m.clone())).collect();
    sort(&mut monomials);
    monomials.dedup();
    let products: Vec<&Monomial> = monomials.iter().filter(|m| m.len() > 1).collect();
    let mut factors: Monomial = monomials.concat();
    sort(&mut factors);
    factors.dedup();
    let bounds = |of: Polynomial, Interval { low, high }: Interval| {
        let least = low.and_then(|n| Polynomial::from(n).plus(&of, -1));
        let most = high.and_then(|n| of.plus(&Polynomial::from(n), -1));
        least.into_iter().chain(most)
    };
    let of_variables: Vec<(u32, Polynomial)> =
        factors.iter().flat_map(|v| bounds(Polynomial::variable(*v), state.of_product(&[*v])).map(|sum| (*v, sum))).collect();
    if !products.is_empty() {
        // Of two sums at most zero, the product is at least zero: bounds with bounds, and comparisons with bounds.
        let is_known = |sum: &Polynomial| sum.products().all(|(m, _)| m.len() == 1 || monomials.contains(m));
        let mut more = Vec::new();
        for (i, (a, first)) in of_variables.iter().enumerate() {
            let others = of_variables[i..].iter().map(|(_, second)| second).chain(&sums);
            for second in others.filter(|s| s.products().all(|(m, _)| m.len() < products.iter().map(|p| p.len()).max().unwrap_or(0))) {
                if more.len() >= MOST_PRODUCTS || !products.iter().any(|p| p.contains(a)) {
                    break;
                }
                let product = first.times(second).and_then(|p| Polynomial::default().plus(&p, -1));
                more.extend(product.filter(is_known));
            }
        }
        sums.extend(more);
        for product in products {
            let of = Polynomial([(product.clone(), 1)].into());
            sums.extend(bounds(of, state.of_product(product)));
        }
    }
    sums.extend(of_variables.into_iter().map(|(_, sum)| sum));
    sums
}

/// Rows by their coefficients: of two with the same, the stricter.
#[derive(Default)]
struct System(HashMap<Vec<(u32, i128)>, i128>);

impl System {
    /// Adds a row; whether it contradicts itself.
    fn add(&mut self, (mut coefficients, mut number): Row) -> bool {
        sort(&mut coefficients);
        tightened(&mut coefficients, &mut number);
        if coefficients.is_empty() {
            return number > 0;
        }
        let known = self.0.entry(coefficients).or_insert(number);
        *known = (*known).max(number);
        false
    }

    fn eliminate(mut self, steps: &mut u32) -> bool {
        loop {
            // Per column, rows in which its coefficient is above zero, and below.
            let mut counts: Vec<(usize, usize)> = Vec::new();
            for (column, coefficient) in self.0.keys().flatten() {
                if counts.len() <= *column as usize {
                    counts.resize(*column as usize + 1, (0, 0));
                }
                let count = &mut counts[*column as usize];
                if *coefficient > 0 { count.0 += 1 } else { count.1 += 1 }
            }
            let used = counts.into_iter().enumerate().filter(|(_, count)| *count != (0, 0));
            let Some((column, (above, below))) = used.min_by_key(|(column, (above, below))| (above * below, *column)) else {
                return false;
            };
            let column = column as u32;
            if self.0.len() + above * below > MOST_ROWS + above + below {
                return false;
            }
            let of = |row: &[(u32, i128)]| row.iter().find(|(c, _)| *c == column).map_or(0, |(_, n)| *n);
            let (with, without): (Vec<Row>, Vec<Row>) = self.0.drain().partition(|(row, _)| of(row) != 0);
            self.0.extend(without);
            let Some(left) = steps.checked_sub((above * below / 4 + with.len() / 4 + 1) as u32) else {
                *steps = 0;
                return false;
            };
            *steps = left;
            for (row, number) in with.iter().filter(|(row, _)| of(row) > 0) {
                for (other, other_number) in with.iter().filter(|(row, _)| of(row) < 0) {
                    let (a, b) = (of(row), -of(other));
                    // A row that is too large is left out: without it less contradicts.
                    let Some(sum) = combined((row, *number), b, (other, *other_number), a) else { continue };
                    if self.add(sum) {
                        return true;
                    }
                }
            }
        }
    }
}

fn combined(
    (row, number): (&[(u32, i128)], i128),
    times: i128,
    (other, other_number): (&[(u32, i128)], i128),
    times_other: i128,
) -> Option<Row> {
    let mut sum: Vec<(u32, i128)> = row.iter().map(|(c, n)| Some((*c, n.checked_mul(times)?))).collect::<Option<_>>()?;
    for (column, n) in other {
        let n = n.checked_mul(times_other)?;
        match sum.iter_mut().find(|(c, _)| c == column) {
            Some((_, known)) => *known = known.checked_add(n)?,
            None => sum.push((*column, n)),
        }
    }
    sum.retain(|(_, n)| *n != 0);
    let number = number.checked_mul(times)?.checked_add(other_number.checked_mul(times_other)?)?;
    (is_small(number) && sum.iter().all(|(_, n)| is_small(*n))).then_some((sum, number))
}
