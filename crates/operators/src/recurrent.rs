//! Recurrent layers and cells, composed as PyTorch composes them on the CPU: one product for all inputs, then step by step.

use diagnostics::error::{Error, Result};
use dispatch::{Call, OpBuilder, OpClasses, Rule, Value};
use dispatch::{aten, t};
use tensor::{Dtype, Tensor};

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    for (name, run) in [
        ("rnn_tanh", (|c| layers(c, Cell::Tanh)) as fn(&Call) -> Result<Value>),
        ("rnn_relu", |c| layers(c, Cell::Relu)),
        ("gru", |c| layers(c, Cell::Gru)),
    ] {
        b.op(
            &format!("{name}.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)"),
            Rule::Composite(run),
        );
        b.op(
            &format!("{name}.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)"),
            Rule::Composite(run),
        ).classes(OpClasses::SEEDED);
    }
    b.at("gru.data").doc("A gated recurrent unit over a sequence.");
    b.at("rnn_relu.data").doc("A simple recurrent network with `relu`.");
    b.at("rnn_tanh.data").doc("A simple recurrent network with `tanh`.");
    b.op(
        "lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)",
        Rule::Composite(|c| layers(c, Cell::Lstm)),
    );
    b.op(
        "lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor, Tensor)",
        Rule::Composite(|c| layers(c, Cell::Lstm)),
    ).doc("A long short-term memory over a sequence.").classes(OpClasses::SEEDED);
    b.op(
        "lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> (Tensor, Tensor)",
        Rule::Composite(|c| {
            let hidden = c.tensors("hx")?;
            if hidden.len() != 2 {
                return Err(Error::runtime("lstm_cell expects two hidden states"));
            }
            let state = one_step(c, Cell::Lstm, State { h: hidden[0].clone(), c: Some(hidden[1].clone()) })?;
            Ok(Value::List(vec![state.h.into(), state.c.into()]))
        }),
    )
    .doc("One step of a long short-term memory.");
    for (name, run) in [
        ("gru_cell", (|c| single(c, Cell::Gru)) as fn(&Call) -> Result<Value>),
        ("rnn_tanh_cell", |c| single(c, Cell::Tanh)),
        ("rnn_relu_cell", |c| single(c, Cell::Relu)),
    ] {
        b.op(
            &format!("{name}(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor"),
            Rule::Composite(run),
        );
    }
    b.at("gru_cell").doc("One step of a gated recurrent unit.");
    b.at("rnn_relu_cell").doc("One step of a simple recurrent network with `relu`.");
    b.at("rnn_tanh_cell").doc("One step of a simple recurrent network with `tanh`.");
}

/// What happens at a step.
#[derive(Clone, Copy, PartialEq)]
enum Cell {
    Tanh,
    Relu,
    Gru,
    Lstm,
}

/// A hidden state, with a cell state where there is one.
#[derive(Clone)]
struct State {
    h: Tensor,
    c: Option<Tensor>,
}

/// The parameters of one direction of one layer.
struct Parameters {
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Option<Tensor>,
    b_hh: Option<Tensor>,
    w_hr: Option<Tensor>,
}

impl Parameters {
    fn input(&self, x: &Tensor) -> Result<Tensor> {
        t!("linear", x, &self.w_ih, self.b_ih.clone())
    }
    fn hidden(&self, h: &Tensor) -> Result<Tensor> {
        t!("linear", h, &self.w_hh, self.b_hh.clone())
    }
}

fn parts(gates: Tensor, n: i64) -> Result<Vec<Tensor>> {
    aten!("unsafe_chunk", gates, n, 1)?.tensors()
}

/// One step. `input` gives the input's part of the gates when it is asked for: PyTorch computes it first for a GRU and after
/// the hidden part elsewhere.
fn step(cell: Cell, input: impl Fn() -> Result<Tensor>, state: &State, p: &Parameters) -> Result<State> {
    let h = match cell {
        Cell::Tanh | Cell::Relu => {
            let hidden = p.hidden(&state.h)?;
            let sum = t!("add_.Tensor", hidden, input()?)?;
            if cell == Cell::Tanh { t!("tanh", sum)? } else { t!("relu", sum)? }
        }
        Cell::Gru => {
            let i = parts(input()?, 3)?;
            let g = parts(p.hidden(&state.h)?, 3)?;
            let reset = t!("sigmoid_", t!("add_.Tensor", &g[0], &i[0])?)?;
            let update = t!("sigmoid_", t!("add_.Tensor", &g[1], &i[1])?)?;
            let new = t!("tanh_", t!("add.Tensor", &i[2], t!("mul_.Tensor", &g[2], reset)?)?)?;
            t!("add_.Tensor", t!("mul_.Tensor", t!("sub.Tensor", &state.h, &new)?, update)?, new)?
        }
        Cell::Lstm => {
            let Some(cx) = &state.c else { return Err(Error::runtime("lstm expects two hidden states")) };
            let hidden = p.hidden(&state.h)?;
            let g = parts(t!("add_.Tensor", hidden, input()?)?, 4)?;
            let [enter, forget] = [t!("sigmoid_", &g[0])?, t!("sigmoid_", &g[1])?];
            let [new, leave] = [t!("tanh_", &g[2])?, t!("sigmoid_", &g[3])?];
            let kept = t!("mul.Tensor", forget, cx)?;
            let cy = t!("add_.Tensor", kept, t!("mul.Tensor", enter, new)?)?;
            let mut hy = t!("mul.Tensor", leave, t!("tanh", &cy)?)?;
            if let Some(w_hr) = &p.w_hr {
                hy = t!("matmul", hy, t!("t", w_hr)?)?;
            }
            return Ok(State { h: hy, c: Some(cy) });
        }
    };
    Ok(State { h, c: None })
}

fn one_step(c: &Call, cell: Cell, state: State) -> Result<State> {
    let optional = |name: &str| c.opt_tensor(name).cloned();
    let p = Parameters {
        w_ih: c.tensor("w_ih")?.clone(),
        w_hh: c.tensor("w_hh")?.clone(),
        b_ih: optional("b_ih"),
        b_hh: optional("b_hh"),
        w_hr: None,
    };
    let input = c.tensor("input")?;
    for (name, t, dims) in [("input", input, 1), ("w_ih", &p.w_ih, 2), ("w_hh", &p.w_hh, 2)] {
        crate::shapes::need_dims(&c.entry.schema.name, name, t, dims)?;
    }
    if !input.size(input.dim() - 1).sym_eq(p.w_ih.size(1))? {
        return Err(Error::runtime(format!(
            "input has inconsistent input_size: got {} expected {}",
            input.size(input.dim() - 1),
            p.w_ih.size(1)
        )));
    }
    step(cell, || p.input(input), &state, &p)
}

fn single(c: &Call, cell: Cell) -> Result<Value> {
    Ok(one_step(c, cell, State { h: c.tensor("hx")?.clone(), c: None })?.h.into())
}

/// The parameter list, direction by direction.
fn gather(c: &Call, projected: bool) -> Result<Vec<Parameters>> {
    let (flat, biases) = (c.tensors("params")?, c.bool("has_biases")?);
    let per = 2 + 2 * usize::from(biases) + usize::from(projected);
    if flat.is_empty() || !flat.len().is_multiple_of(per) {
        return Err(Error::runtime("got an incorrect number of RNN parameters"));
    }
    Ok(flat
        .chunks(per)
        .map(|p| Parameters {
            w_ih: p[0].clone(),
            w_hh: p[1].clone(),
            b_ih: biases.then(|| p[2].clone()),
            b_hh: biases.then(|| p[3].clone()),
            w_hr: projected.then(|| p[per - 1].clone()),
        })
        .collect())
}

/// One direction of one layer over a padded sequence: outputs in the input's order, and the last state.
fn padded(cell: Cell, input: &Tensor, mut state: State, p: &Parameters, reverse: bool) -> Result<(Tensor, State)> {
    let mut steps = aten!("unbind.int", p.input(input)?, 0)?.tensors()?;
    if reverse {
        steps.reverse();
    }
    let mut outputs = Vec::with_capacity(steps.len());
    for x in steps {
        state = step(cell, || Ok(x.clone()), &state, p)?;
        outputs.push(state.h.clone());
    }
    if reverse {
        outputs.reverse();
    }
    Ok((t!("stack", outputs, 0)?, state))
}

fn map_state(state: &State, f: impl Fn(&Tensor) -> Result<Tensor>) -> Result<State> {
    Ok(State { h: f(&state.h)?, c: state.c.as_ref().map(&f).transpose()? })
}

fn narrow(t: &Tensor, from: i64, length: i64) -> Result<Tensor> {
    t!("narrow", t, 0, from, length)
}

/// One direction of one layer over a packed sequence: steps have falling numbers of items.
fn packed(cell: Cell, input: &Tensor, first: &State, p: &Parameters, batches: &[i64], reverse: bool) -> Result<(Tensor, State)> {
    let projected = p.input(input)?;
    let mut steps = Vec::new();
    let mut at = 0;
    for n in batches {
        steps.push((narrow(&projected, at, *n)?, *n));
        at += n;
    }
    if reverse {
        steps.reverse();
    }
    let mut count = steps.first().map_or(0, |s| s.1);
    let mut state = map_state(first, |t| narrow(t, 0, count))?;
    let (mut outputs, mut done): (Vec<Tensor>, Vec<State>) = (Vec::new(), Vec::new());
    for (x, n) in steps {
        if n < count {
            done.push(map_state(&state, |t| narrow(t, n, count - n))?);
            state = map_state(&state, |t| narrow(t, 0, n))?;
        } else if n > count {
            let more = map_state(first, |t| narrow(t, count, n - count))?;
            let join = |a: &Tensor, b: &Tensor| t!("cat", vec![a.clone(), b.clone()], 0);
            state = State { h: join(&state.h, &more.h)?, c: state.c.as_ref().zip(more.c.as_ref()).map(|(a, b)| join(a, b)).transpose()? };
        }
        count = n;
        state = step(cell, || Ok(x.clone()), &state, p)?;
        outputs.push(state.h.clone());
    }
    if reverse {
        outputs.reverse();
    } else {
        done.push(state);
        done.reverse();
        let h = t!("cat", done.iter().map(|s| s.h.clone()).collect::<Vec<_>>(), 0)?;
        let cells: Vec<Tensor> = done.iter().filter_map(|s| s.c.clone()).collect();
        let c = if cells.is_empty() { None } else { Some(t!("cat", cells, 0)?) };
        state = State { h, c };
    }
    Ok((t!("cat", outputs, 0)?, state))
}

/// The numbers of a packed sequence's `batch_sizes`, which is a tensor of the CPU.
fn batch_sizes(t: &Tensor) -> Result<Vec<i64>> {
    if t.dim() != 1 {
        return Err(Error::runtime(format!("expected `batch_sizes` to be a 1D tensor, but got {}D", t.dim())));
    }
    if t.dtype() != Dtype::Int64 {
        return Err(Error::runtime(format!("expected scalar type Long but found {}", t.dtype().scalar_type())));
    }
    tensor::check_count(t.size(0).guard_int()?)?;
    tensor::strided::integers(t)
}

fn layers(c: &Call, cell: Cell) -> Result<Value> {
    let batches = if c.entry.schema.overload == "data" { Some(batch_sizes(c.tensor("batch_sizes")?)?) } else { None };
    let mut input = c.tensor(if batches.is_some() { "data" } else { "input" })?.clone();
    let batch_first = batches.is_none() && c.bool("batch_first")?;
    if batch_first {
        input = t!("transpose.int", input, 0, 1)?;
    }
    let states: Vec<State> = if cell == Cell::Lstm {
        let hx = c.tensors("hx")?;
        if hx.len() != 2 {
            return Err(Error::runtime("lstm expects two hidden states"));
        }
        for state in &hx {
            super::shapes::wrap_dim(2, state.dim())?;
        }
        let (h, cell) = (aten!("unbind.int", &hx[0], 0)?.tensors()?, aten!("unbind.int", &hx[1], 0)?.tensors()?);
        h.into_iter().zip(cell).map(|(h, c)| State { h, c: Some(c) }).collect()
    } else {
        aten!("unbind.int", c.tensor("hx")?, 0)?.tensors()?.into_iter().map(|h| State { h, c: None }).collect()
    };
    let last = |t: &Tensor| t.size(t.dim() - 1);
    let projected = match states.first() {
        Some(State { h, c: Some(c) }) => !last(h).sym_eq(last(c))?,
        _ => false,
    };
    let (parameters, directions) = (gather(c, projected)?, 1 + usize::from(c.bool("bidirectional")?));
    let (count, dropout, train) = (parameters.len() / directions, c.float("dropout")?, c.bool("train")?);
    let fits = c.int("num_layers")? == count as i64 && parameters.len() == count * directions;
    if !fits || states.len() != parameters.len() {
        return Err(Error::runtime("Expected more hidden states in stacked_rnn"));
    }
    let mut finals = Vec::new();
    for layer in 0..count {
        let mut outputs = Vec::new();
        for direction in 0..directions {
            let at = layer * directions + direction;
            let (p, first, reverse) = (&parameters[at], &states[at], direction == 1);
            let (output, state) = match &batches {
                Some(batches) => packed(cell, &input, first, p, batches, reverse)?,
                None => padded(cell, &input, first.clone(), p, reverse)?,
            };
            outputs.push(output);
            finals.push(state);
        }
        input = match outputs.pop() {
            Some(only) if outputs.is_empty() => only,
            Some(back) => {
                let dim = back.dim() as i64 - 1;
                t!("cat", vec![outputs[0].clone(), back], dim)?
            }
            None => input,
        };
        if dropout != 0.0 && train && layer + 1 < count {
            input = t!("dropout", input, dropout, true)?;
        }
    }
    let stacked = |tensors: Vec<Tensor>| t!("stack", tensors, 0).map(Value::from);
    let cells = if cell == Cell::Lstm { Some(stacked(finals.iter().filter_map(|s| s.c.clone()).collect())?) } else { None };
    let hidden = stacked(finals.iter().map(|s| s.h.clone()).collect())?;
    if batch_first {
        input = t!("transpose_", input, 0, 1)?;
    }
    Ok(Value::List([Some(input.into()), Some(hidden), cells].into_iter().flatten().collect()))
}
