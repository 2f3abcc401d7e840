//! Loops over the same rows, in one kernel.
//!
//! Layer norm is the model: a sum over each row, a second one that needs the first, then every element of the row. A kernel whose root
//! is a reduction has a *row* for each element of the root, and walks over its elements in *passes*: in each, reductions side by side
//! and loops over all elements; after it, loops over one value for each row. What a pass found of a row is in registers from then on.
//!
//! How the elements of a loop are met: its dimensions belong to the rows or to the turns of a row ([`Side`]), whichever of them the
//! loads of what is known of the rows say.

use super::address::{Address, address, address_of, own_address};
use super::language::{Loop, Prim, View, X, row_major};
use super::schedule::Group;
use std::collections::HashMap;

/// What a dimension of a loop over elements counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Rows.
    Rows,
    /// The turns of a row.
    Turns,
}

/// A loop over all elements of the rows.
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    /// The loop.
    pub prim: &'a Prim,
    /// What each of its dimensions counts.
    pub sides: Vec<Side>,
}

impl Elements<'_> {
    /// Sizes of the dimensions of one side.
    pub fn sizes(&self, side: Side) -> Vec<i64> {
        self.prim.out.sizes.iter().zip(&self.sides).filter(|(_, s)| **s == side).map(|(size, _)| *size).collect()
    }

    /// Whether elements come row by row, so that the position of one is its row's times the turns, plus its turn.
    pub fn is_row_by_row(&self) -> bool {
        matches!(self.order().as_slice(), [] | [_] | [(Side::Rows, _), (Side::Turns, _)])
    }

    /// The address that a value of each row has in this loop.
    pub fn address_of_row(&self, value: &View) -> Option<Address> {
        row_address(value, &self.prim.out.sizes, &self.sides)
    }

    /// Dimensions with neighbours of the same side taken together: loops of the same order meet the same elements in a turn.
    fn order(&self) -> Vec<(Side, i64)> {
        let mut order: Vec<(Side, i64)> = Vec::new();
        for (size, side) in self.prim.out.sizes.iter().zip(&self.sides).filter(|(size, _)| **size != 1) {
            match order.last_mut() {
                Some((last, have)) if last == side => *have *= size,
                _ => order.push((*side, *size)),
            }
        }
        order
    }
}

/// One walk over the elements of each row, and what follows it.
#[derive(Clone, Debug, Default)]
pub struct Pass<'a> {
    /// Reductions, side by side.
    pub sums: Vec<&'a Prim>,
    /// Loops over all elements, in order.
    pub elements: Vec<Elements<'a>>,
    /// Loops over one value for each row, in order.
    pub after: Vec<&'a Prim>,
}

/// How a loop takes part.
enum Role {
    Sum,
    Elements(Vec<Side>),
    After,
}

/// A kernel's rows.
pub struct Rows<'a> {
    /// How many there are.
    pub count: i64,
    /// Turns of each.
    pub turns: i64,
    passes: Vec<Pass<'a>>,
    /// What is known of each row: the regions by storage, and the pass that finds them.
    known: HashMap<usize, (&'a View, usize)>,
    /// Values of elements: by storage, the pass and its loop there.
    made: HashMap<usize, (usize, usize)>,
}

/// The rows of a group whose root is a reduction; nothing where its loops do not share them.
pub fn rows(group: &Group) -> Option<Rows<'_>> {
    let (count, turns) = group.root.rows_and_turns()?;
    let mut rows = Rows { count, turns, passes: vec![Pass::default()], known: HashMap::new(), made: HashMap::new() };
    group.prims().all(|prim| rows.push(prim)).then_some(rows)
}

impl<'a> Rows<'a> {
    /// The passes.
    pub fn into_passes(self) -> Vec<Pass<'a>> {
        self.passes
    }

    /// Whether a loop can be one more of them.
    pub fn takes(&self, prim: &Prim) -> bool {
        self.role(prim).is_some()
    }

    /// Takes a loop; false where it can't.
    fn push(&mut self, prim: &'a Prim) -> bool {
        let Some((role, new)) = self.role(prim) else { return false };
        if new {
            self.passes.push(Pass::default());
        }
        let at = self.passes.len() - 1;
        let pass = &mut self.passes[at];
        match role {
            Role::Elements(sides) => {
                self.made.insert(prim.out.storage, (at, pass.elements.len()));
                pass.elements.push(Elements { prim, sides });
                return true;
            }
            Role::Sum => pass.sums.push(prim),
            Role::After => pass.after.push(prim),
        }
        self.known.insert(prim.out.storage, (&prim.out, at));
        true
    }

    /// What a loop is among them, and whether it needs a walk of its own.
    fn role(&self, prim: &Prim) -> Option<(Role, bool)> {
        let numel = prim.out.numel();
        match &prim.body {
            Loop::Reduce { .. } if prim.rows_and_turns() == Some((self.count, self.turns)) => Some((Role::Sum, self.needs_walk(prim)?)),
            Loop::Pointwise(_) if numel == self.count => self.needs_walk(prim).map(|_| (Role::After, false)),
            Loop::Pointwise(x) if numel == self.count * self.turns => {
                let (sides, new) = self.sides(prim, x)?;
                Some((Role::Elements(sides), new))
            }
            _ => None,
        }
    }

    /// Whether a loop over rows needs what the last walk finds; nothing where it needs what registers do not hold.
    fn needs_walk(&self, prim: &Prim) -> Option<bool> {
        let (mut held, mut needs) = (true, false);
        prim.body.bodies().iter().for_each(|body| {
            body.for_each_load(&mut |view, index| {
                if let Some((value, pass)) = self.known.get(&view.storage) {
                    let own = own_address(value);
                    held &= own.is_some() && address(view, index, &prim.out.sizes) == own;
                    needs |= pass + 1 == self.passes.len();
                }
                held &= !self.made.contains_key(&view.storage);
            });
        });
        held.then_some(needs)
    }

    /// What the dimensions of a loop over elements count, and whether it needs a walk of its own. Its loads decide.
    fn sides(&self, prim: &Prim, body: &X) -> Option<(Vec<Side>, bool)> {
        let sizes = &prim.out.sizes;
        let mut loads: Vec<(View, Vec<X>)> = Vec::new();
        body.for_each_load(&mut |view, index| {
            if self.known.contains_key(&view.storage) || self.made.contains_key(&view.storage) {
                loads.push((view.clone(), index.to_vec()));
            }
        });
        let last = self.passes.len() - 1;
        let new = loads.iter().any(|(view, _)| self.known.get(&view.storage).is_some_and(|(_, pass)| *pass == last));
        if loads.is_empty() || sizes.len() > 16 {
            return None;
        }
        let fits = |sides: &[Side]| {
            let elements = Elements { prim, sides: sides.to_vec() };
            // In one turn all loops of a walk are at the same element.
            let same = new || self.passes[last].elements.first().is_none_or(|other| other.order() == elements.order());
            same && loads.iter().all(|(view, index)| {
                let at = address(view, index, sizes);
                match (self.known.get(&view.storage), self.made.get(&view.storage)) {
                    (Some((value, _)), _) => at.is_some() && at == elements.address_of_row(value),
                    (_, Some((pass, nth))) => {
                        !new && *pass == last && at.is_some() && at == own_address(&self.passes[last].elements[*nth].prim.out)
                    }
                    _ => true,
                }
            })
        };
        (0..1u32 << sizes.len())
            .map(|bits| (0..sizes.len()).map(|d| if bits >> d & 1 == 0 { Side::Rows } else { Side::Turns }).collect::<Vec<_>>())
            .filter(|sides| {
                let turns: i64 = sizes.iter().zip(sides).filter(|(_, side)| **side == Side::Turns).map(|(size, _)| size).product();
                turns == self.turns
            })
            .find(|sides| fits(sides))
            .map(|sides| (sides, new))
    }
}

/// The address of a value of each row in a loop over elements.
fn row_address(value: &View, sizes: &[i64], sides: &[Side]) -> Option<Address> {
    let Some(Address::Flat(offset)) = own_address(value) else { return None };
    let rows: Vec<i64> = sizes.iter().zip(sides).map(|(size, side)| if *side == Side::Rows { *size } else { 1 }).collect();
    let strides = row_major(&rows).into_iter().zip(sides).map(|(stride, side)| if *side == Side::Rows { stride } else { 0 }).collect();
    Some(address_of(strides, offset, sizes))
}
