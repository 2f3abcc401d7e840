//! In which module a call is made: modules whose `forward` runs, and their names below the compiled one (`layers.0.attn`), as
//! PyTorch's `nn_module_stack` has them. A module that is not below the compiled one goes by the name of its class.

use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;

use rustpython_vm::builtins::{PyCode, PyDict, PyStr, PyTuple};
use rustpython_vm::{AsObject, Py, PyObject, PyObjectRef, VirtualMachine};

use crate::dynamo::source::own_attribute;
use crate::python::span::leave_out;
use crate::span::{CalledModule, ModuleStack, set_modules};

/// A module whose `forward` runs.
struct Entered {
    module: PyObjectRef,
    path: Rc<str>,
    /// It and those around it, for the calls that it makes.
    stack: Rc<ModuleStack>,
    /// Whether it is one of PyTorch's.
    is_of_library: bool,
    /// Whether it is, and has no hooks: its body is no function of its own.
    is_plain: bool,
    /// Bodies of such modules that run in its own: they are skipped where that is.
    bodies: Vec<PyObjectRef>,
}

thread_local! {
    static ENTERED: RefCell<Vec<Entered>> = const { RefCell::new(Vec::new()) };
    static NUMBERING: RefCell<Option<PyObjectRef>> = const { RefCell::new(None) };
}

/// Lets a function of the library's number the calls of modules in place of their identities, while a program is exported: it is given
/// the module, and gives a number or `None`, with which the call is not told. `None` ends that.
pub fn number_calls(by: Option<PyObjectRef>) {
    NUMBERING.set(by);
}

/// Forgets modules that an ended run was in.
pub fn reset() {
    ENTERED.take();
    set_modules(None);
}

/// The compiled callable is called: where it is a module or a method of one, names count from there.
pub fn enter_root(callee: &PyObject, vm: &VirtualMachine) {
    let owner = if children(callee, vm).is_some() { Ok(callee.to_owned()) } else { callee.get_attr("__self__", vm) };
    reset();
    if let Ok(module) = owner
        && children(&module, vm).is_some()
    {
        push(module, "".into(), None, true, vm);
    }
}

/// A module is called.
pub fn enter(module: PyObjectRef, vm: &VirtualMachine) {
    let path = path_of(&module, vm);
    let body = plain_body(&module, vm);
    push(module, path, body, false, vm);
}

/// Whether the compiled module's own call runs, and Dynamo sees no more of it than its `forward`: those of PyTorch's
/// modules are compiled with what surrounds them.
pub fn is_root_call(vm: &VirtualMachine) -> bool {
    ENTERED.with_borrow(|entered| match entered.as_slice() {
        [root, call] => root.module.is(&call.module) && !is_of_library(&root.module, vm),
        _ => false,
    })
}

/// Whether a module is of a class of PyTorch's.
pub fn is_of_library(module: &PyObject, vm: &VirtualMachine) -> bool {
    is_at_home(module.class().as_object(), "torch.nn.modules", vm)
}

/// Whether a module's `forward` is PyTorch's, whatever the module's class.
pub fn has_forward_of_library(module: &PyObject, vm: &VirtualMachine) -> bool {
    module.get_class_attr(vm.ctx.intern_str("forward")).is_some_and(|forward| is_at_home(&forward, "torch.nn.", vm))
}

/// Whether the module that a class or a function says it was defined in has a name that begins like this.
pub fn is_at_home(object: &PyObject, prefix: &str, vm: &VirtualMachine) -> bool {
    let home = object.get_attr("__module__", vm);
    home.is_ok_and(|m| m.downcast_ref::<PyStr>().is_some_and(|m| m.to_string_lossy().starts_with(prefix)))
}

/// The first of a call's arguments that is no constant.
pub fn first_value(args: &PyObject) -> Option<PyObjectRef> {
    let is_constant = |o: &PyObject| ["int", "bool", "float", "str", "NoneType"].contains(&&*o.class().name().to_string());
    args.downcast_ref::<PyTuple>()?.as_slice().iter().find(|o| !is_constant(o)).and_then(|o| match o.downcast_ref::<PyTuple>() {
        Some(_) => first_value(o),
        None => Some(o.clone()),
    })
}

/// The body of one of PyTorch's modules, where it has no hooks that are called around it.
fn plain_body(module: &PyObject, vm: &VirtualMachine) -> Option<PyObjectRef> {
    let has = |kind: &str| own_attribute(module, kind, vm).is_some_and(|h| h.try_to_bool(vm).unwrap_or(false));
    if !is_of_library(module, vm) || has("_forward_hooks") || has("_forward_pre_hooks") {
        return None;
    }
    body(module, vm)
}

/// The code of a module's body.
pub fn body(module: &PyObject, vm: &VirtualMachine) -> Option<PyObjectRef> {
    module.class().get_attr(vm.ctx.intern_str("forward"))?.get_attr("__code__", vm).ok()
}

/// A module is called outside of what is recorded.
pub fn enter_outside(module: &PyObject, vm: &VirtualMachine) {
    leave_out_all(plain_body(module, vm).as_slice());
}

fn leave_out_all(bodies: &[PyObjectRef]) {
    bodies.iter().filter_map(|b| b.downcast_ref::<PyCode>()).for_each(leave_out);
}

/// A graph breaks: PyTorch's modules that run go on in Python, from their beginning, and so does the innermost of the script's where its
/// body `is_skipped`.
pub fn end_graph(is_skipped: bool) {
    ENTERED.with_borrow(|entered| {
        let script = entered.iter().rposition(|e| !e.is_of_library).filter(|_| is_skipped);
        let left = entered.iter().enumerate().filter(|(i, e)| e.is_plain || Some(*i) == script);
        left.for_each(|(_, e)| leave_out_all(&e.bodies));
    });
}

/// The innermost call of a module has ended.
pub fn leave() {
    let outer = ENTERED.with_borrow_mut(|entered| {
        let left = entered.pop();
        // Other bodies are traced as frames of their own if the graph breaks around them.
        if let (Some(left), Some(outer)) = (left.filter(|e| e.is_plain), entered.last_mut()) {
            outer.bodies.extend(left.bodies);
        }
        entered.last().map(|e| e.stack.clone())
    });
    set_modules(outer);
}

fn push(module: PyObjectRef, path: Rc<str>, body: Option<PyObjectRef>, is_root: bool, vm: &VirtualMachine) {
    let is_of_library = is_of_library(&module, vm);
    let around = ENTERED.with_borrow(|entered| entered.last().map(|e| (e.path.clone(), e.stack.clone())));
    let calls_root =
        ENTERED.with_borrow(|entered| matches!(entered.as_slice(), [root] if root.stack.called.is_empty() && root.module.is(&module)));
    let mut called = around.as_ref().map_or_else(Vec::new, |(_, stack)| stack.called.clone());
    let numbering = NUMBERING.with_borrow(Clone::clone);
    let number = match &numbering {
        Some(number) => number.call((module.clone(),), vm).ok().and_then(|number| number.try_to_value(vm).ok()),
        None => Some(module.get_id()),
    };
    // The compiled module's own call is not told: its `forward` is the frame.
    if let (Some(id), false) = (number, is_root || calls_root) {
        let outer = called.last().map(|outer| outer.path.clone());
        let place = match (&around, outer) {
            (None, _) => found_at(&module, vm).unwrap_or_else(|| path.clone()),
            (Some((above, _)), outer) => {
                let name = path.strip_prefix(&**above).unwrap_or(&path).trim_start_matches('.');
                join(outer.as_deref().unwrap_or("L['self']"), name)
            }
        };
        let class = Rc::new(PyObjectRef::from(module.class().to_owned()));
        called.push(Rc::new(CalledModule { id, path: place, class }));
    }
    let stack = Rc::new(ModuleStack { name: path.clone(), called });
    set_modules(Some(stack.clone()));
    let entered = Entered { module, path, stack, is_of_library, is_plain: body.is_some(), bodies: body.into_iter().collect() };
    ENTERED.with_borrow_mut(|all| all.push(entered));
}

/// Where the script's functions, the innermost first, find a module that no other module calls: among their variables or the globals, or
/// in what those hold.
fn found_at(module: &PyObject, vm: &VirtualMachine) -> Option<Rc<str>> {
    let inside = |value: &PyObject| match children(value, vm) {
        Some(_) => name_below(value, module, vm),
        None => value.dict().and_then(|held| named(&held, &|held| held.is(module))),
    };
    crate::python::span::scopes(vm).into_iter().find_map(|(locals, globals)| {
        let mut scopes = locals.iter().map(|locals| ("L", locals)).chain([("G", &globals)]);
        let found = scopes.find_map(|(scope, names)| {
            if let Some(name) = named(names, &|value| value.is(module)) {
                return Some(format!("{scope}['{name}']"));
            }
            let holder = named(names, &|value| inside(value).is_some())?;
            let name = inside(&*names.get_item(holder.as_str(), vm).ok()?)?;
            Some(format!("{scope}['{holder}'].{name}"))
        });
        found.map(Into::into)
    })
}

/// The first name in a dict whose value is what is looked for.
fn named(dict: &Py<PyDict>, is_it: &dyn Fn(&PyObject) -> bool) -> Option<String> {
    let found = dict.into_iter().find(|(_, value)| is_it(value));
    found.and_then(|(name, _)| name.downcast_ref::<PyStr>().map(|name| name.to_string_lossy().into_owned()))
}

fn path_of(module: &PyObject, vm: &VirtualMachine) -> Rc<str> {
    let entered: Vec<(PyObjectRef, Rc<str>)> =
        ENTERED.with_borrow(|entered| entered.iter().rev().map(|e| (e.module.clone(), e.path.clone())).collect());
    for (outer, path) in &entered {
        if outer.is(module) {
            return path.clone();
        }
        if let Some(name) = name_below(outer, module, vm) {
            return join(path, &name);
        }
    }
    let class = module.class().name().to_string();
    match entered.first() {
        Some((_, path)) => join(path, &class),
        None => class.into(),
    }
}

fn join(outer: &str, name: &str) -> Rc<str> {
    if outer.is_empty() { name.into() } else { format!("{outer}.{name}").into() }
}

/// Children by name; `None` for what is no module.
fn children(module: &PyObject, vm: &VirtualMachine) -> Option<Vec<(String, PyObjectRef)>> {
    let registry = module.dict()?.get_item_opt("_modules", vm).ok()??;
    let named = registry.downcast_ref::<PyDict>()?.into_iter();
    Some(named.filter_map(|(name, child)| Some((name.downcast_ref::<PyStr>()?.to_string_lossy().into_owned(), child))).collect())
}

/// The dotted name of a module below another, as `named_modules()` gives it; the shortest, where there are several.
fn name_below(outer: &PyObject, module: &PyObject, vm: &VirtualMachine) -> Option<String> {
    let mut level = vec![(String::new(), outer.to_owned())];
    let mut seen = HashSet::new();
    while !level.is_empty() {
        let mut next = Vec::new();
        for (path, parent) in level {
            for (name, child) in children(&parent, vm).unwrap_or_default() {
                let full = if path.is_empty() { name } else { format!("{path}.{name}") };
                if child.is(module) {
                    return Some(full);
                }
                if seen.insert(child.get_id()) {
                    next.push((full, child));
                }
            }
        }
        level = next;
    }
    None
}
