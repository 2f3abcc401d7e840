//! `flex_attention` captured as a higher-order operator: the function that changes a score and the one that masks it are run once each, on
//! the position of one score, and what they recorded is cut out as bodies.

use std::cell::Cell;
use std::rc::Rc;

use rustpython_vm::builtins::PyDict;
use rustpython_vm::{AsObject, PyObjectRef, PyResult, VirtualMachine};

use super::control_flow::{Carried, Made, Traced, fresh, trace};
use super::higher_order_ops::nodes;
use crate::aot::laid_out_like;
use crate::dispatch::Value;
use crate::dynamo::{Part, Recorder};
use crate::error::Error;
use crate::graph::{Arg, NodeId};
use crate::python::native::tensor::{raise, to_tensor, to_value};
use crate::tensor::{Dtype, Tensor, TensorSpec};

thread_local! {
    /// Whether the functions of an attention run: their positions index as tensors, and are never read as numbers.
    static BY_POSITION: Cell<bool> = const { Cell::new(false) };
}

/// Whether indices without dimensions stay tensors.
pub(crate) fn indexes_by_position() -> bool {
    BY_POSITION.get()
}

/// What a call is given besides its two functions.
pub struct Given<'a> {
    /// Queries, keys and values.
    pub tensors: &'a [PyObjectRef],
    /// What the mask is by blocks, but for the function.
    pub blocks: &'a [PyObjectRef],
    /// By what scores are multiplied.
    pub scale: &'a PyObjectRef,
    /// What kernels are told.
    pub options: &'a PyObjectRef,
}

/// An argument as the graph has it.
fn argument(recorder: &Recorder, object: &PyObjectRef, vm: &VirtualMachine) -> PyResult<Arg> {
    let error = |e: Error| raise(e, vm);
    if let Some(dict) = object.downcast_ref::<PyDict>() {
        let entry = |(key, value): (PyObjectRef, PyObjectRef)| {
            Ok((Rc::<str>::from(&*key.str(vm)?.to_string_lossy()), argument(recorder, &value, vm)?))
        };
        return Ok(Arg::Dict(dict.into_iter().map(entry).collect::<PyResult<_>>()?));
    }
    Ok(match to_value(object, vm) {
        Some(Value::None) => Arg::None,
        Some(Value::Tensor(t)) => Arg::Node(recorder.node_of(&t).map_err(error)?),
        Some(Value::Bool(b)) => Arg::Bool(b),
        Some(Value::Int(size)) => recorder.size(&size).map_err(error)?,
        Some(Value::Float(f)) => Arg::Float(f),
        Some(Value::SymFloat(f)) => Arg::Float(f.guard_float().map_err(error)?),
        Some(Value::Str(s)) => Arg::Str(s),
        _ => return Err(vm.new_type_error(format!("flex_attention takes no {}", object.class().name()))),
    })
}

/// One of the functions, run once; what it reads besides are the last of its inputs.
fn body(
    recorder: &Rc<Recorder>,
    mark: &crate::dynamo::Mark,
    function: &PyObjectRef,
    like: &[TensorSpec],
    given: &mut Vec<NodeId>,
    vm: &VirtualMachine,
) -> PyResult<(Traced, Vec<NodeId>)> {
    let (args, takes) = fresh(recorder, &like.iter().cloned().map(Carried::Tensor).collect::<Vec<_>>(), given, vm)?;
    let before = BY_POSITION.replace(true);
    let traced = trace(recorder, mark, ("flex_attention", function), args, takes, vm);
    BY_POSITION.set(before);
    let mut traced = traced?;
    let [Value::Tensor(result)] = traced.results.as_slice() else {
        return Err(raise(Error::runtime("Expected output of score_mod to be a tensor."), vm));
    };
    traced.part.returns = Arg::Node(recorder.node_of(result).map_err(|e| raise(e, vm))?);
    let free = recorder.free_values(&traced.part);
    traced.part.takes.extend(&free);
    Ok((traced, free))
}

/// Records `flex_attention`.
pub fn flex_attention(recorder: &Rc<Recorder>, [score, mask]: [&PyObjectRef; 2], given: &Given, vm: &VirtualMachine) -> PyResult {
    let error = |e: Error| raise(e, vm);
    let tensors: Vec<Tensor> = given.tensors.iter().filter_map(|o| to_tensor(o)).collect();
    let [query, _, value] = tensors.as_slice() else { return Err(vm.new_type_error("flex_attention takes three tensors")) };
    tensors.iter().try_for_each(|t| recorder.node_of(t).map(drop)).map_err(error)?;
    let scalar = |dtype| TensorSpec::contiguous(Vec::new(), dtype, query.device());
    let mark = recorder.mark();
    let mut own = Vec::new();
    let positions = vec![scalar(Dtype::Int32); 4];
    let with_score = [&[scalar(query.dtype())], &positions[..]].concat();
    let (of_score, score_reads) = body(recorder, &mark, score, &with_score, &mut own, vm)?;
    let (of_mask, mask_reads) = body(recorder, &mark, mask, &positions, &mut own, vm)?;
    let mut sizes = query.sizes();
    let rows = TensorSpec::contiguous(sizes[..3].to_vec(), Dtype::Float32, query.device());
    sizes[3] = value.size(3);
    let strides = laid_out_like(&sizes, &query.geometry());
    let out = TensorSpec::strided(sizes, strides, query.dtype(), query.device());
    let results: Vec<Value> =
        [&out, &rows, &rows].into_iter().map(|spec| Tensor::fake(spec).map(Value::Tensor)).collect::<Result<_, _>>().map_err(error)?;
    let mut operands = tensors.clone();
    operands.extend(recorder.tensors_of(&score_reads));
    let parts: Vec<Part> = vec![of_score.part, of_mask.part];
    let cut = recorder.cut(mark, &parts, &own);
    if let [score, mask] = cut.bodies.as_slice() {
        let mut blocks = given.blocks.iter().map(|o| argument(recorder, o, vm)).collect::<PyResult<Vec<_>>>()?;
        let mut call: Vec<Arg> = tensors.iter().filter_map(|t| recorder.known_node(t)).map(Arg::Node).collect();
        call.push(Arg::Node(recorder.subgraph("score_mod", score.graph.clone())));
        blocks.push(Arg::Node(recorder.subgraph("mask_fn", mask.graph.clone())));
        call.push(Arg::Tuple(blocks));
        call.push(argument(recorder, given.scale, vm)?);
        call.push(argument(recorder, given.options, vm)?);
        call.push(Arg::Tuple(nodes(score_reads.iter().filter_map(|id| cut.moved(*id)))));
        call.push(Arg::Tuple(nodes(mask_reads.iter().filter_map(|id| cut.moved(*id)))));
        recorder.call_higher_order("flex_attention", call, Vec::new(), &results);
    }
    let tuple = vm.ctx.types.tuple_type.to_owned().into();
    Made { recorder, name: "FlexAttention", operands, results }.give(&tuple, vm)
}
