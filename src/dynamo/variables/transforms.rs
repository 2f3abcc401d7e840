//! Calls of `torch.func`'s transforms while a graph is captured.

use std::rc::Rc;

use rustpython_vm::function::FuncArgs;
use rustpython_vm::{PyObject, PyResult, VirtualMachine};

use crate::dispatch::Exclude;
use crate::dynamo::Recorder;
use crate::dynamo::eval_frame::call::{break_graph, is_whole, note_returned};
use crate::python::native::tensor::raise;

/// Calls a transform. What is computed in it belongs to its level, so no graph ends there: where one would, it ends before the call, which
/// Python makes then, and nothing in it is compiled.
pub fn call(recorder: &Rc<Recorder>, transform: &PyObject, args: FuncArgs, vm: &VirtualMachine) -> PyResult {
    // Of transforms inside of each other the outer one is what ends the graph. Where a break is an error, it is raised where it happens.
    if recorder.is_attempting() || is_whole() {
        return transform.call(args, vm);
    }
    let (mark, part) = (recorder.mark(), recorder.section());
    let (result, refused) = recorder.attempt(|| transform.call(args.clone(), vm));
    let Some(reason) = refused else { return result };
    // Nothing that it did so far counts.
    recorder.forget_part(mark, &part);
    break_graph(&reason.of_call()).map_err(|e| raise(e, vm))?;
    let result = {
        let _outside = Exclude::capture_too();
        transform.call(args, vm)?
    };
    note_returned(&result, vm);
    Ok(result)
}
