//! What Python knows of a traced function: its name, the sources of its tensors, and the name of its resume function.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use rustpython_vm::builtins::{PyDict, PyDictRef};
use rustpython_vm::{AsObject, PyObject, PyObjectRef, VirtualMachine};

use super::cache::found_inputs::Remembered;
use super::guards::manager::Verdict;
use crate::dispatch::{Exclude, Key};
use crate::dynamo::discarded::erased;
use crate::dynamo::{CapturedGraph, DimMark, InputSource};
use crate::python::native::tensor::{items, to_tensor, wrap};
use crate::tensor::Tensor;

/// What Python knows of a compiled function's call.
pub struct About {
    /// The function's name.
    pub name: String,
    /// Names its tensors.
    pub namer: RefCell<PyObjectRef>,
    /// What the Python values mean for the entries of the place that is recorded.
    pub verdict: RefCell<Verdict>,
    /// The globals of the function, where they are known.
    pub globals: Option<PyDictRef>,
    /// The functions that it closes over, by number.
    pub closure: usize,
    /// Where the tensors of an earlier call were found.
    pub remembered: RefCell<Option<Remembered>>,
    /// After a break: how PyTorch calls what is left of the function.
    pub resumed: RefCell<Option<ResumeFunction>>,
}

impl About {
    /// What is known where a function is called.
    pub fn new(name: String, namer: PyObjectRef, globals: Option<PyDictRef>) -> Self {
        About {
            name,
            namer: RefCell::new(namer),
            verdict: RefCell::default(),
            globals,
            closure: 0,
            remembered: RefCell::default(),
            resumed: RefCell::default(),
        }
    }
}

/// A resume function: the code after a graph break, which Dynamo compiles as a function of its own.
pub struct ResumeFunction {
    function: Rc<str>,
    name: Rc<str>,
    /// How many values it was given that no variable holds.
    unnamed: Cell<usize>,
    /// Tensors in what the call before it returned, by number, with the way to each.
    returned: RefCell<Vec<(u64, Vec<usize>)>>,
}

impl ResumeFunction {
    /// The resume function of a function at a line.
    pub fn new(function: &str, line: u32) -> Self {
        let name = format!("torch_dynamo_resume_in_{function}_at_{line}").into();
        ResumeFunction { function: function.into(), name, unnamed: Cell::new(0), returned: RefCell::default() }
    }

    /// The call that broke the graph returned this.
    pub fn note_returned(&self, result: &PyObject, vm: &VirtualMachine) {
        let mut found = Vec::new();
        let mut open = vec![(result.to_owned(), Vec::new())];
        while let Some((o, way)) = open.pop() {
            if let Some(t) = to_tensor(&o) {
                found.push((t.id(), way));
            } else if o.class().is(vm.ctx.types.tuple_type) || o.class().is(vm.ctx.types.list_type) {
                let items = items(&o).unwrap_or_default();
                open.extend(items.into_iter().enumerate().map(|(i, item)| (item, way.iter().copied().chain([i]).collect::<Vec<_>>())));
            }
        }
        self.returned.replace(found);
    }

    /// Where a tensor is found that no variable holds: in what the call before returned, or among values of expressions under way.
    fn unnamed(&self, t: &Tensor) -> (String, String) {
        let returned = self.returned.borrow();
        if let Some((_, way)) = returned.iter().find(|(id, way)| *id == t.id() && !way.is_empty()) {
            let name: String = way.iter().map(|i| format!("{i}_")).collect();
            let place: String = way.iter().map(|i| format!("[{i}]")).collect();
            return (format!("L_stack0_{name}"), format!("L['___stack0']{place}"));
        }
        let i = self.unnamed.replace(self.unnamed.get() + 1);
        (format!("L_stack{i}_"), format!("L['___stack{i}']"))
    }

    /// Nodes of the function are shown as nodes of its resume function.
    pub fn rename(&self, captured: &mut CapturedGraph) {
        let ids: Vec<_> = captured.graph.nodes().map(|n| n.id).collect();
        for id in ids {
            if let Some(source) = captured.graph.node_mut(id).meta.source.as_mut().filter(|s| s.function == self.function) {
                source.function = self.name.clone();
            }
        }
    }
}

impl About {
    /// The file and the first line of the function, and the name of its code.
    pub fn home(&self) -> (String, u32, String) {
        rustpython_vm::vm::thread::with_current_vm(|vm| {
            let told =
                vm.call_method(&self.namer.borrow(), "home", ()).and_then(|o| o.try_to_value::<Vec<PyObjectRef>>(vm)).unwrap_or_default();
            let file = told.first().and_then(|o| o.str(vm).ok()).map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
            let line = told.get(1).and_then(|o| o.clone().try_to_value::<u32>(vm).ok()).unwrap_or(0);
            let resumed = self.resumed.borrow().as_ref().map(|rest| rest.name.to_string());
            let of_code = || told.get(2).and_then(|o| o.str(vm).ok()).map(|s| s.to_string_lossy().into_owned());
            (file, line, resumed.or_else(of_code).unwrap_or_else(|| self.name.clone()))
        })
    }

    /// The function for a person: of code after a break, PyTorch's name of the resume function.
    pub fn function(&self) -> String {
        self.resumed.borrow().as_ref().map_or_else(|| self.name.clone(), |rest| rest.name.to_string())
    }

    /// The modules that the function may read tensors of.
    pub fn modules(&self) -> Vec<PyObjectRef> {
        rustpython_vm::vm::thread::with_current_vm(|vm| {
            vm.call_method(&self.namer.borrow(), "modules_found", ()).and_then(|found| found.try_to_value(vm)).unwrap_or_default()
        })
    }

    /// Where the caller keeps a tensor.
    pub fn source(&self, t: &Tensor, index: usize) -> InputSource {
        rustpython_vm::vm::thread::with_current_vm(|vm| {
            if let Some(known) = self.remembered.borrow().as_ref().and_then(|r| r.source(t, index, vm)) {
                return InputSource { attribute: known.attribute.map(|_| t.id()), ..known };
            }
            // Reading tensors to name them is no part of the graph.
            let _outside = Exclude::only(Key::Capture);
            // What was discarded is found where something stands for it.
            let object = erased(t).map_or_else(|| wrap(t, vm), Ok);
            let told = object.and_then(|o| self.namer.borrow().call((o,), vm));
            let told = told.ok().and_then(|o| crate::python::native::tensor::items(&o));
            let mut source = told.and_then(|t| input_source(&t, vm)).unwrap_or_else(|| {
                let (name, place) = match &*self.resumed.borrow() {
                    Some(rest) => rest.unnamed(t),
                    None => (format!("L_tensor_{index}_"), format!("L['tensor_{index}']")),
                };
                InputSource { name, source: place, ..InputSource::default() }
            });
            source.attribute = source.attribute.map(|_| t.id());
            source.numbers = symbol_numbers(&source.source, t.dim());
            source
        })
    }
}

/// `(name, source, is_static, {dim: (kind, min, max)}, is_attribute, is_held, is_frozen, is_parameter)` as Python tells it.
fn input_source(told: &[PyObjectRef], vm: &VirtualMachine) -> Option<InputSource> {
    let text = |i: usize| Some(told.get(i)?.downcast_ref::<rustpython_vm::builtins::PyStr>()?.to_string_lossy().into_owned());
    let mut marks = Vec::new();
    if let Some(dict) = told.get(3).and_then(|o| o.downcast_ref::<PyDict>()) {
        for (dim, mark) in dict {
            let parts = crate::python::native::tensor::items(&mark)?;
            let bound = |i: usize| parts.get(i).filter(|o| !vm.is_none(o)).and_then(|o| o.clone().try_to_value::<i64>(vm).ok());
            let kind = match &*parts.first()?.downcast_ref::<rustpython_vm::builtins::PyStr>()?.to_string_lossy() {
                "dynamic" => DimMark::Dynamic(bound(1), bound(2)),
                "maybe" => DimMark::Maybe(bound(1), bound(2)),
                "unbacked" => DimMark::Unbacked(bound(1), bound(2)),
                _ => DimMark::Static,
            };
            marks.push((dim.try_to_value::<usize>(vm).ok()?, kind));
        }
    }
    let says = |i: usize| told.get(i).is_some_and(|o| o.is(&vm.ctx.true_value));
    let (is_static, is_held, is_frozen) = (says(2), says(5), says(6));
    let is_parameter = says(7) || is_static && text(1).is_some_and(|s| s.contains("._parameters['"));
    let attribute = says(4).then_some(0);
    let (name, source) = (text(0)?, text(1)?);
    Some(InputSource { name, source, is_static, is_held, is_parameter, attribute, is_frozen, marks, ..InputSource::default() })
}

/// The numbers of the symbols for a tensor's sizes (the number it holds, where it has none), strides and offset.
pub fn symbol_numbers(source: &str, dims: usize) -> Vec<u32> {
    let sizes = (0..dims).map(|d| format!("{source}.size()[{d}]"));
    let item = (dims == 0).then(|| [format!("{source}.item()"), String::new()]).into_iter().flatten();
    let strides = (0..dims).map(|d| format!("{source}.stride()[{d}]"));
    let all = sizes.chain(item).chain(strides).chain([format!("{source}.storage_offset()")]);
    all.map(|place| symbol_number(&place)).collect()
}

/// PyTorch numbers a symbol by the hash of where its size is found.
pub fn symbol_number(source: &str) -> u32 {
    use sha2::Digest;
    let digest = sha2::Sha256::digest(source.as_bytes());
    digest.iter().fold(0, |n, byte| (n * 256 + u32::from(*byte)) % 100)
}
