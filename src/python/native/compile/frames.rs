//! Where Python stands when a graph ends: which frames run, which of their variables are read later on, and whether the front
//! end could go on from there.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use rustpython_vm::builtins::{PyCode, PyDict, PyList, PyStr, PyTuple};
use rustpython_vm::bytecode::{Instruction, find_exception_handler};
use rustpython_vm::frame::{FrameObject, current_thread_frame_materialize};
use rustpython_vm::{AsObject, Py, PyObject, PyObjectRef, PyResult, VirtualMachine};

use super::code::Code;
use super::reads::Resumed;
use crate::dispatch::Value;
use crate::python::native::tensor::{TensorBase, symbolic, wrap};
use crate::python::span::{FrameMark, instructions_above};
use crate::shape::SymInt;
use crate::tensor::Tensor;

thread_local! {
    static DECODED: RefCell<HashMap<usize, (PyObjectRef, Rc<Code>)>> = RefCell::default();
}

/// Forgets decoded code.
pub fn reset() {
    DECODED.take();
}

/// The decoded code of a code object.
pub fn decoded(code: &Py<PyCode>) -> Rc<Code> {
    let key = std::ptr::from_ref(code) as usize;
    if let Some(known) = DECODED.with_borrow(|d| d.get(&key).map(|(_, c)| c.clone())) {
        return known;
    }
    let made = Code::new(code);
    DECODED.with_borrow_mut(|d| d.insert(key, (code.to_owned().into(), made.clone())));
    made
}

/// Code and instruction of each frame, outermost first: what goes on from here is code of its own.
pub type Chain = Vec<(usize, u32)>;

/// A tensor or a symbolic size that a variable holds.
struct Held {
    id: usize,
    size: Option<SymInt>,
}

/// Where Python stands.
#[derive(Default)]
pub struct Standing {
    /// Code and instruction of each frame, outermost first.
    pub chain: Chain,
    /// Whether the front end would give the whole function up: it cannot go on inside a loop or a `try`.
    pub gives_up: bool,
    /// The function that goes on, where it is one alone.
    pub resumed: Option<Resumed>,
    dead: HashMap<usize, usize>,
    ranks: HashMap<usize, usize>,
    held: HashSet<usize>,
    /// Symbolic sizes that variables hold, each with its rank among what is returned.
    sizes: Vec<(usize, SymInt)>,
    compares: bool,
}

/// Tensors and symbolic sizes in a variable's value, in order.
fn tensors(o: &PyObject, depth: usize, found: &mut Vec<Held>, vm: &VirtualMachine) {
    if o.downcast_ref::<TensorBase>().is_some() {
        found.push(Held { id: o.get_id(), size: None });
    } else if let Some(size) = symbolic(o, vm) {
        found.push(Held { id: o.get_id(), size: Some(size) });
    } else if depth < 4 {
        if let Some(items) = o.downcast_ref::<PyTuple>() {
            items.as_slice().iter().for_each(|i| tensors(i, depth + 1, found, vm));
        } else if let Some(items) = o.downcast_ref::<PyList>() {
            let items = items.borrow_vec().to_vec();
            items.iter().for_each(|i| tensors(i, depth + 1, found, vm));
        } else if let Some(dict) = o.downcast_ref::<PyDict>() {
            dict.into_iter().for_each(|(_, v)| tensors(&v, depth + 1, found, vm));
        }
    }
}

/// Whether an exception raised at an instruction would be caught by a `try` of the function.
fn in_try(code: &Py<PyCode>, decoded: &Code, at: u32) -> bool {
    let Some(handler) = find_exception_handler(&code.exceptiontable, at) else { return false };
    let Some(position) = decoded.position(handler.target) else { return false };
    let after: Vec<_> = decoded.steps.iter().skip(position).take(2).map(|s| s.op).collect();
    !matches!(after.as_slice(), [Instruction::PushExcInfo, Instruction::WithExceptStart])
        && !matches!(after.first(), Some(Instruction::Swap { .. } | Instruction::PopTop | Instruction::PopIter))
}

/// Looks at the frames above a marked one.
pub fn standing(base: FrameMark, vm: &VirtualMachine) -> PyResult<Standing> {
    let mut standing = Standing::default();
    let Some(mut instructions) = instructions_above(base) else { return Ok(standing) };
    instructions.reverse();
    let depth = instructions.len();
    let mut frames = Vec::new();
    let mut frame: Option<PyObjectRef> = current_thread_frame_materialize(vm).map(Into::into);
    while let Some(object) = frame.take().filter(|_| frames.len() < depth) {
        let back = object.get_attr("f_back", vm)?;
        frames.push(object);
        frame = (!vm.is_none(&back)).then_some(back);
    }
    frames.reverse();
    let innermost = frames.len().saturating_sub(1);
    for (i, object) in frames.iter().enumerate() {
        let Some(frame) = object.downcast_ref::<FrameObject>() else { continue };
        let Some(code) = frame.iframe().code().as_object().downcast_ref::<PyCode>() else { continue };
        let decoded = decoded(code);
        let Some(at) = instructions.get(i).copied() else { continue };
        let Some(position) = decoded.position(at) else { continue };
        standing.chain.push((std::ptr::from_ref(code) as usize, at));
        // The library's own frames are not what PyTorch's would be, but for containers, whose loops are.
        let is_script = place_of(code, at).is_some();
        let loops = is_script || code.source_path.as_str().ends_with("container.py");
        standing.gives_up |= loops && decoded.is_in_loop(position) || is_script && in_try(code, &decoded, at);
        if i == innermost {
            standing.compares = matches!(decoded.steps[position].op, Instruction::CompareOp { .. });
        }
        let locals = frame.locals(vm)?;
        let Some(values) = locals.obj().downcast_ref::<PyDict>() else { continue };
        if innermost == 0 {
            let variable = |(k, v): (PyObjectRef, PyObjectRef)| Some((k.downcast_ref::<PyStr>()?.to_string_lossy().as_ref().into(), v));
            let globals = frame.iframe().globals().to_owned();
            let locals = values.into_iter().filter_map(variable).filter(|(_, v)| v.downcast_ref::<TensorBase>().is_none()).collect();
            standing.resumed = Some(Resumed { code: code.to_owned().into(), globals: Some(globals), locals, position, truth: None });
        }
        for (slot, name) in code.varnames.iter().enumerate() {
            let Some(value) = values.get_item_opt(name.as_str(), vm)? else { continue };
            let mut found = Vec::new();
            tensors(&value, 0, &mut found, vm);
            if decoded.is_live(position, slot) {
                for held in found {
                    let next = standing.ranks.len();
                    let rank = *standing.ranks.entry(held.id).or_insert(next);
                    if let Some(size) = held.size.filter(|_| rank == next) {
                        standing.sizes.push((rank, size));
                    }
                }
            } else if value.downcast_ref::<TensorBase>().is_some() {
                *standing.dead.entry(value.get_id()).or_default() += 1;
            } else {
                standing.held.extend(found.into_iter().map(|h| h.id));
            }
        }
    }
    Ok(standing)
}

impl Standing {
    /// The tensors and sizes whose values are wanted later on, in the order in which the front end returns them: those of expressions
    /// under way, those of variables, those that are kept elsewhere. `operands` are what the last call was made on.
    pub fn wanted(&self, known: Vec<Tensor>, operands: &[Tensor], vm: &VirtualMachine) -> PyResult<Vec<Value>> {
        let mut wanted = Vec::new();
        for (i, t) in known.into_iter().enumerate() {
            let object = wrap(&t, vm)?;
            let id = object.get_id();
            let dead = self.dead.get(&id).copied().unwrap_or(0)
                + usize::from(self.compares && !self.ranks.contains_key(&id) && operands.iter().any(|o| o.is(&t)));
            if dead > 0 && object.strong_count() - 1 <= dead {
                continue;
            }
            let key = match self.ranks.get(&id) {
                Some(rank) => (1, *rank),
                None if self.held.contains(&id) => (2, i),
                None => (0, i),
            };
            wanted.push((key, Value::Tensor(t)));
        }
        wanted.extend(self.sizes.iter().map(|(rank, size)| ((1, *rank), Value::Int(size.clone()))));
        wanted.sort_by_key(|(key, _)| *key);
        Ok(wanted.into_iter().map(|(_, t)| t).collect())
    }
}

/// How many values a frame so many calls above the running one is unpacking into: 3 in `b, t, c = x.shape`.
pub fn unpacked_count(depth: usize) -> Option<u32> {
    let (code, at) = crate::python::span::caller(depth)?;
    let decoded = decoded(&code);
    let step = decoded.steps.get(decoded.position(at)?)?;
    matches!(step.op, Instruction::UnpackSequence { .. }).then_some(step.arg)
}

/// The script's place of an instruction; none in the library.
pub fn place_of(code: &Py<PyCode>, at: u32) -> Option<crate::span::Source> {
    let range = code.locations.get(at as usize)?;
    crate::python::span::place_in(code.source_path.as_str(), code.obj_name.as_str(), *range)
}
