//! Views and copies of views.

use super::expr::*;
use super::table::{Decomposed, Table};
use dispatch::t;
use dispatch::{Call, Value};
use operators::shapes::wrap_dim;
use tensor::MemoryFormat;

/// Registers the rules.
pub fn register(table: &mut Table) {
    table.add("aten.t.default", transpose_all).takes_complex();
    table.add("aten.transpose.int", transpose).takes_complex();
    table.add("aten.detach.default", |c| done(t!("alias", c.tensor("self")?)?)).takes_complex();
    table.add("aten._unsafe_view.default", |c| done(t!("view", c.tensor("self")?, c.get("size"))?)).takes_complex();
    table.add("aten._reshape_alias.default", |c| done(t!("view", c.tensor("self")?, c.get("size"))?)).takes_complex();
    table
        .add("aten.unsafe_split.Tensor", |c| {
            Ok(Some(dispatch::aten!("split.Tensor", c.tensor("self")?, c.get("split_size"), c.get("dim"))?))
        })
        .takes_complex();
    table
        .add("aten.unsafe_split_with_sizes.default", |c| {
            Ok(Some(dispatch::aten!("split_with_sizes", c.tensor("self")?, c.get("split_sizes"), c.get("dim"))?))
        })
        .takes_complex();
    table.add("aten.lift.default", |c| done(c.tensor("self")?.clone())).takes_complex();
    table.add("aten.diagonal_copy.default", |c| copied(t!("diagonal", c.tensor("self")?, c.get("offset"), c.get("dim1"), c.get("dim2"))?));
    table.add("aten.alias_copy.default", |c| copied(t!("alias", c.tensor("self")?)?));
    table.add("aten.expand_copy.default", |c| copied(t!("expand", c.tensor("self")?, c.get("size"))?));
    table.add("aten.permute_copy.default", |c| copied(t!("permute", c.tensor("self")?, c.get("dims"))?));
    table.add("aten.narrow_copy.default", |c| {
        let (start, length) = (c.sym_int("start")?, c.sym_int("length")?);
        copied(t!("slice.Tensor", c.tensor("self")?, c.get("dim"), &start, &start + &length)?)
    });
    table.add("aten.t_copy.default", |c| copied(t!("t", c.tensor("self")?)?));
    table.add("aten.unsqueeze_copy.default", |c| copied(t!("unsqueeze", c.tensor("self")?, c.get("dim"))?));
}

fn copied(view: tensor::Tensor) -> Decomposed {
    done(t!("clone", view; memory_format = MemoryFormat::Contiguous)?)
}

fn transpose_all(c: &Call) -> Decomposed {
    let x = c.tensor("self")?;
    if x.dim() < 2 { done(t!("alias", x)?) } else { done(t!("permute", x, vec![1i64, 0])?) }
}

fn transpose(c: &Call) -> Decomposed {
    let x = c.tensor("self")?;
    let (a, b) = (wrap_dim(c.int("dim0")?, x.dim())?, wrap_dim(c.int("dim1")?, x.dim())?);
    if x.dim() < 2 || a == b {
        return done(t!("alias", x)?);
    }
    let mut order: Vec<usize> = (0..x.dim()).collect();
    order.swap(a, b);
    done(t!("permute", x, Value::List(order.into_iter().map(Value::from).collect()))?)
}
