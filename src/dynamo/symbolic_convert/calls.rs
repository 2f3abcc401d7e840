//! Calls: into functions and modules of Python's, and what is known of others.

use crate::python::native::calls::imported;
use std::rc::Rc;

use rustpython_vm::builtins::{PyBoundMethod, PyCode, PyDict, PyFunction, PyInt, PyList, PyStr, PyTuple, PyType};
use rustpython_vm::function::FuncArgs;
use rustpython_vm::{AsObject, Py, PyObject, PyObjectRef, VirtualMachine};

use super::instructions::Path;
use super::values::{is_constant, is_module, is_tensor, own_method, string};
use super::{DEPTH, Reader, Seen, constant, join, slot_names};
use crate::dynamo::bytecode_analysis::decoded::place_of;
use crate::dynamo::bytecode_analysis::rest_variables;
use crate::dynamo::guards::guard::{Fact, Kind};
use crate::dynamo::settings::switch;
use crate::dynamo::source::{Source, cell, deque, is_known_dict, own_attribute};
use crate::dynamo::variables::nn_module::is_at_home;

/// Methods of tensors that give no tensor.
const GIVES_NO_TENSOR: &[&str] = &[
    "item",
    "tolist",
    "numpy",
    "size",
    "stride",
    "dim",
    "ndimension",
    "numel",
    "nelement",
    "element_size",
    "storage_offset",
    "data_ptr",
    "is_contiguous",
    "is_floating_point",
    "is_complex",
    "get_device",
    "equal",
    "allclose",
    "backward",
];

impl Reader<'_> {
    /// What a call gives.
    pub(super) fn call(&mut self, callee: &Seen, args: Vec<Seen>, names: Vec<String>, depth: usize) -> Seen {
        let vm = self.vm;
        if depth > DEPTH {
            return Seen::Unknown;
        }
        match callee {
            Seen::Method(function, own) => {
                let mut all = vec![(**own).clone()];
                all.extend(args);
                let place = self.methods.get(&function.get_id()).cloned();
                self.call(&Seen::Known(vec![(function.clone(), place)]), all, names, depth)
            }
            Seen::Known(all) => {
                let mut result = None;
                for (o, source) in all.clone() {
                    let one = if let Some(function) = o.downcast_ref::<PyFunction>() {
                        let is_held = |source: &Source| match source {
                            // Which function a method is is not asked.
                            Source::Key(of, _) => !of.is_of_attributes(),
                            source => matches!(source, Source::Local(_) | Source::Attr(..) | Source::Index(..)),
                        };
                        if let Some(source) = source.as_ref().filter(|source| self.tells || is_held(source)) {
                            self.note(source, Kind::Is(o.clone()), None);
                        }
                        self.call_function(function, source.as_ref(), args.clone(), &names, depth)
                    } else if is_module(&o, vm) {
                        self.call_module(&o, source.as_ref(), args.clone(), names.clone(), depth)
                    } else if let Some(call) = own_method(&o, "__call__", vm) {
                        let own = Seen::Known(vec![(o.clone(), source.clone())]);
                        if let Some(source) = &source {
                            self.realize_one(&o, source);
                        }
                        self.call(&Seen::Method(call, Box::new(own)), args.clone(), names.clone(), depth + 1)
                    } else if let Some(method) = o.downcast_ref::<PyBoundMethod>()
                        && let (Ok(function), Ok(own)) =
                            (method.as_object().get_attr("__func__", vm), method.as_object().get_attr("__self__", vm))
                    {
                        // What it is bound to is known by the place where it was found first.
                        let place = self.found.get(&own.get_id()).map(|(_, place)| place.clone());
                        let own = Seen::Known(vec![(own, place)]);
                        self.call(&Seen::Method(function, Box::new(own)), args.clone(), names.clone(), depth + 1)
                    } else {
                        if let Some(source) = &source {
                            self.realize_one(&o, source);
                        }
                        let is_of_tensor = args.iter().any(|arg| matches!(arg, Seen::Tensor)) && is_at_home(&o, "torch", vm);
                        let result = self.call_native(&o, &args, &names);
                        if is_of_tensor { Seen::Tensor } else { result }
                    };
                    result = Some(match result {
                        None => one,
                        Some(r) => join(r, one),
                    });
                }
                result.unwrap_or(Seen::Unknown)
            }
            _ => {
                args.iter().for_each(|a| self.realize_all(a));
                match callee {
                    Seen::TensorMethod(name) if !GIVES_NO_TENSOR.contains(&&**name) => Seen::Tensor,
                    _ => Seen::Unknown,
                }
            }
        }
    }

    /// A call of a module: the hooks that come before it, its `forward`, and those that come after it.
    fn call_module(&mut self, o: &PyObjectRef, source: Option<&Rc<Source>>, mut args: Vec<Seen>, names: Vec<String>, depth: usize) -> Seen {
        let vm = self.vm;
        if o.class().get_attr(vm.ctx.intern_str("_is_never_captured")).is_some_and(|never| never.is(&vm.ctx.true_value))
            && !switch("allow_rnn")
        {
            args.iter().for_each(|a| self.realize(a));
            return Seen::Unknown;
        }
        let own = Seen::Known(vec![(o.clone(), source.cloned())]);
        if let Some(source) = source {
            self.note(source, Kind::Type(o.class().to_owned().into()), None);
        }
        let positional = |args: &[Seen]| Seen::Items(args[..args.len() - names.len().min(args.len())].to_vec());
        for hook in self.hooks(o, source, "_forward_pre_hooks") {
            let given = positional(&args);
            let result = self.call(&hook, vec![own.clone(), given], Vec::new(), depth + 1);
            if let (Seen::Items(new), true) = (result, names.is_empty()) {
                args = new;
            }
        }
        let mut result = match (own_attribute(o, "forward", vm), o.class().get_attr(vm.ctx.intern_str("forward"))) {
            (Some(forward), _) => {
                let place = source.map(|s| Rc::new(Source::Attr(s.clone(), "forward".into())));
                if let Some(source) = source {
                    self.found.entry(o.get_id()).or_insert_with(|| (o.clone(), source.clone()));
                }
                self.call(&Seen::Known(vec![(forward, place)]), args.clone(), names.clone(), depth + 1)
            }
            (None, Some(forward)) => self.call(&Seen::Method(forward, Box::new(own.clone())), args.clone(), names.clone(), depth + 1),
            (None, None) => Seen::Unknown,
        };
        for hook in self.hooks(o, source, "_forward_hooks") {
            self.call(&hook, vec![own.clone(), positional(&args), result], Vec::new(), depth + 1);
            result = Seen::Unknown;
        }
        result
    }

    /// The hooks of a kind that are called around a module: those of all modules, then its own.
    fn hooks(&mut self, o: &PyObjectRef, source: Option<&Rc<Source>>, kind: &str) -> Vec<Seen> {
        let name = format!("_global{kind}");
        let of_all = imported("torch.nn.modules._module_hooks", self.vm).ok().and_then(|module| module.dict());
        let found = of_all.as_ref().and_then(|globals| globals.get_item_opt(&*name, self.vm).ok().flatten());
        let place = of_all.map(|globals| Rc::new(Source::Imported(globals, "torch.nn.modules.module".into(), name.as_str().into())));
        let mut hooks = self.hooks_in(found, place);
        let place = source.map(|s| Rc::new(Source::Attr(s.clone(), kind.into())));
        hooks.extend(self.hooks_in(own_attribute(o, kind, self.vm), place));
        hooks
    }

    /// What a dictionary of hooks holds. Where it holds none, nothing depends on it: PyTorch has no guard on modules without hooks.
    fn hooks_in(&mut self, hooks: Option<PyObjectRef>, source: Option<Rc<Source>>) -> Vec<Seen> {
        let Some(hooks) = hooks.as_ref().and_then(|h| h.downcast_ref::<PyDict>()).filter(|h| h.__len__() > 0) else { return Vec::new() };
        if let Some(source) = &source {
            self.note(source, Kind::Entries(hooks.__len__()), None);
        }
        let keyed = |(key, hook): (PyObjectRef, PyObjectRef)| {
            Seen::Known(vec![(hook, source.as_ref().map(|s| Rc::new(Source::Key(s.clone(), key))))])
        };
        hooks.into_iter().map(keyed).collect()
    }

    /// A call of something that is not written in Python.
    fn call_native(&mut self, o: &PyObjectRef, args: &[Seen], names: &[String]) -> Seen {
        let vm = self.vm;
        let name = o.get_attr("__name__", vm).ok().and_then(|n| n.downcast_ref::<PyStr>().map(|s| s.to_string_lossy().into_owned()));
        let name = name.unwrap_or_default();
        self.calls_builtin(&name, args);
        match (name.as_str(), args) {
            ("enumerate", [items, ..]) => {
                return match self.elements(items) {
                    Seen::Each(one) => Seen::Each(Box::new(Seen::Items(vec![Seen::Unknown, *one]))),
                    _ => Seen::Unknown,
                };
            }
            ("zip", _) => {
                let each = args.iter().map(|a| match self.elements(a) {
                    Seen::Each(one) => *one,
                    _ => Seen::Unknown,
                });
                return Seen::Each(Box::new(Seen::Items(each.collect())));
            }
            ("dict", [items]) => {
                drop(self.elements(items));
                return Seen::Unknown;
            }
            ("reversed" | "iter" | "list" | "tuple", [items]) | ("sorted", [items, ..]) => return self.elements(items),
            ("len", [Seen::Known(all)])
                if let [(object, _)] = all.as_slice()
                    && let Some(method) = own_method(object, "__len__", vm) =>
            {
                return self.call(&Seen::Method(method, Box::new(args[0].clone())), Vec::new(), Vec::new(), 1);
            }
            ("len", [Seen::Known(all)]) => {
                self.realize(&args[0]);
                return match all.as_slice() {
                    [(o, source)] if o.downcast_ref::<PyDict>().is_some() => {
                        if is_known_dict(o) {
                            self.written_to(&args[0])
                        } else {
                            drop(self.entries(o, source.as_ref()))
                        }
                        o.length(vm).map_or(Seen::Unknown, |n| constant(vm.ctx.new_int(n).into()))
                    }
                    [(o, _)] if o.downcast_ref::<PyList>().is_some() || o.downcast_ref::<PyTuple>().is_some() || deque(o, vm).is_some() => {
                        o.length(vm).map_or(Seen::Unknown, |n| constant(vm.ctx.new_int(n).into()))
                    }
                    _ => Seen::Unknown,
                };
            }
            ("isinstance", [Seen::Known(all), Seen::Known(classes)]) => {
                let class = classes.first().map(|(c, _)| c.clone());
                let (Some(class), [(o, source)]) = (class, all.as_slice()) else { return Seen::Unknown };
                if let Some(source) = source.as_ref().filter(|_| !is_tensor(o) && !is_module(o, vm)) {
                    self.note(source, Kind::Type(o.class().to_owned().into()), None);
                    // Numbers are constants or symbols before their class is known; other constants may stay unread.
                    let is_number = |class: &Py<PyType>| class.is(vm.ctx.types.int_type) || class.is(vm.ctx.types.float_type);
                    if is_number(o.class()) {
                        self.realize(&args[0]);
                    }
                }
                if asks_script(&class, vm) {
                    return Seen::Unknown;
                }
                return o.is_instance(&class, vm).map_or(Seen::Unknown, |b| constant(vm.ctx.new_bool(b).into()));
            }
            ("getattr" | "hasattr", [object, attr, ..]) => {
                let Some(attr) = self.known_constant(attr) else { return Seen::Unknown };
                let Some(attr) = attr.downcast_ref::<PyStr>().map(|s| s.to_string_lossy().into_owned()) else { return Seen::Unknown };
                if let Some(has) = self.has_attribute(object, &attr, name == "hasattr") {
                    if name == "hasattr" {
                        return constant(vm.ctx.new_bool(has).into());
                    }
                    if let (false, Some(default)) = (has, args.get(2)) {
                        return default.clone();
                    }
                }
                let noted = self.facts.len();
                let found = self.attribute(object, &attr);
                // A class's own `__getattr__` has looked for it in a dictionary, where it is not.
                let is_missing = |fact: &Fact| {
                    !fact.source.is_of_attributes()
                        && matches!(&fact.kind, Kind::Contains(key, false) if string(Some(key)).as_ref() == Some(&attr))
                };
                let new = self.facts.get(noted..).and_then(|new| new.iter().find(|fact| is_missing(fact)));
                if let (Seen::Unknown, Some(of), Seen::Known(all)) = (&found, new.map(|fact| fact.source.clone()), object)
                    && let [(_, Some(source))] = all.as_slice()
                {
                    self.facts.truncate(noted);
                    self.known.retain(|_, at| *at < noted);
                    self.note(&source.clone(), Kind::HasAttr(attr.as_str().into(), false, Some(of)), None);
                }
                return if name == "getattr" { found } else { Seen::Unknown };
            }
            (_, [own @ Seen::Known(all), given @ ..]) if o.class().name().to_string() == "method_descriptor" => {
                if let [(dict, Some(source))] = all.as_slice()
                    && dict.downcast_ref::<PyDict>().is_some()
                {
                    return self.call_of_dict(&name, own, (dict, source), given);
                }
            }
            ("get", [Seen::Keywords(known), key, ..]) => {
                let key = super::values::string(self.known_constant(key).as_ref());
                let value = known.iter().find(|(name, _)| Some(name) == key.as_ref()).map(|(_, value)| value.clone());
                return value.or_else(|| args.get(2).cloned()).unwrap_or_else(|| constant(vm.ctx.none()));
            }
            ("min" | "max", [_, _]) | ("abs", [_]) if names.is_empty() && is_builtin(o, &name, vm) => {
                let operands: Vec<&Seen> = args.iter().collect();
                let computed = self.deferred(&operands, |values| {
                    let same = values.iter().all(|v| v.class().is(values[0].class()));
                    if same { o.call(FuncArgs::from(values.to_vec()), vm).ok() } else { None }
                });
                if let Some(computed) = computed {
                    return computed;
                }
            }
            _ => {}
        }
        // Constants that are only printed are not guarded: the graph breaks there.
        let is_printed = |a: &Seen| name == "print" && matches!(a, Seen::Known(all) if all.iter().all(|(o, _)| is_constant(o, vm)));
        let is_method = o.class().name().to_string() == "method_descriptor";
        for a in args.iter().filter(|a| !is_printed(a)) {
            if is_method { self.realize(a) } else { self.realize_all(a) }
        }
        let constants: Option<Vec<PyObjectRef>> = args.iter().map(|a| self.known_constant(a)).collect();
        match (name.as_str(), constants) {
            ("int" | "float" | "bool" | "abs" | "min" | "max" | "round" | "str", Some(values))
                if names.is_empty() && is_builtin(o, &name, vm) =>
            {
                o.call(FuncArgs::from(values), vm).map_or(Seen::Unknown, constant)
            }
            _ => Seen::Unknown,
        }
    }

    /// A call of a method of a dictionary that is found somewhere.
    fn call_of_dict(&mut self, name: &str, own: &Seen, (dict, source): (&PyObjectRef, &Rc<Source>), given: &[Seen]) -> Seen {
        given.iter().take(1).for_each(|key| self.realize(key));
        let key = given.first().and_then(|key| self.known_constant(key));
        let other = || given.get(1).cloned().unwrap_or_else(|| constant(self.vm.ctx.none()));
        match (name, key) {
            ("keys", _) => Seen::Each(Box::new(self.entries(dict, Some(source)).0)),
            ("values", _) => Seen::Each(Box::new(self.entries(dict, Some(source)).1)),
            ("items", _) => {
                let (keys, values) = self.entries(dict, Some(source));
                Seen::Each(Box::new(Seen::Items(vec![keys, values])))
            }
            ("get", Some(key)) => {
                let other = other();
                self.asked_for(dict, source, &key).unwrap_or(other)
            }
            ("setdefault", Some(key)) => {
                let other = other();
                let found = self.asked_for(dict, source, &key);
                if found.is_none() {
                    self.written_to(own);
                }
                found.unwrap_or(other)
            }
            ("clear", _) => {
                self.note(source, Kind::Length(dict.downcast_ref::<PyDict>().map_or(0, |d| d.__len__())), None);
                Seen::Unknown
            }
            ("pop" | "popitem" | "update" | "copy" | "setdefault", key) => {
                given.iter().skip(1).for_each(|value| self.realize(value));
                self.written_to(own);
                if name == "update" {
                    given.iter().take(1).for_each(|other| self.written_to(other));
                }
                key.map_or(Seen::Unknown, |key| self.item(own, &constant(key)))
            }
            _ => {
                given.iter().for_each(|value| self.realize(value));
                Seen::Unknown
            }
        }
    }

    fn call_function(
        &mut self,
        function: &Py<PyFunction>,
        source: Option<&Rc<Source>>,
        args: Vec<Seen>,
        names: &[String],
        depth: usize,
    ) -> Seen {
        let vm = self.vm;
        let object = function.as_object();
        let Ok(code) = object.get_attr("__code__", vm) else { return Seen::Unknown };
        let Some(code) = code.downcast_ref::<PyCode>().filter(|code| self.follows(code, &args)) else { return Seen::Unknown };
        // numpy is called outside of graphs.
        if code.source_path.as_str().starts_with("numpy/") {
            args.iter().for_each(|a| self.realize_all(a));
            return Seen::Unknown;
        }
        // What `disable` keeps out is not followed; a compiled function is.
        let is_compiled = object.get_attr("_torchdynamo_wrapper_id", vm).is_ok_and(|id| {
            id.downcast_ref::<PyInt>().is_some_and(|id| id.try_to_primitive::<usize>(vm).is_ok_and(|id| id == object.get_id()))
        });
        if let Some(inner) = is_compiled.then(|| object.get_attr("_torchdynamo_orig_callable", vm).ok()).flatten() {
            return self.call(&constant(inner), args, names.to_vec(), depth + 1);
        }
        if object.get_attr("_torchdynamo_disable", vm).is_ok() {
            return Seen::Unknown;
        }
        // PyTorch's functions use what they are given.
        if is_at_home(object, "torch.nn.functional", vm) {
            args.iter().for_each(|a| self.realize_items(a));
        }
        let slots: Vec<String> = slot_names(code).collect();
        let mut values: Vec<Seen> = vec![Seen::Unknown; slots.len()];
        let (count, only) = (code.arg_count as usize, code.kwonlyarg_count as usize);
        let split = args.len() - names.len().min(args.len());
        let (positional, keywords) = args.split_at(split);
        let mut given = vec![false; count + only];
        for (i, v) in positional.iter().take(count).enumerate() {
            values[i] = v.clone();
            given[i] = true;
        }
        let mut others = Vec::new();
        for (name, v) in names.iter().zip(keywords) {
            if let Some(i) = slots.iter().take(count + only).position(|s| s == name) {
                values[i] = v.clone();
                given[i] = true;
            } else {
                others.push((name.clone(), v.clone()));
            }
        }
        let [more, keywords] = rest_variables(code);
        if let Some(rest) = more.and_then(|i| values.get_mut(i)) {
            *rest = Seen::Items(positional.iter().skip(count).cloned().collect());
        }
        if let Some(rest) = keywords.and_then(|i| values.get_mut(i)) {
            *rest = Seen::Keywords(others);
        }
        let defaults = object.get_attr("__defaults__", vm).ok().and_then(|d| d.downcast_ref::<PyTuple>().map(|t| t.as_slice().to_vec()));
        for (i, v) in defaults.unwrap_or_default().into_iter().rev().enumerate() {
            if let Some(slot) = count.checked_sub(i + 1).filter(|s| !given[*s]) {
                values[slot] = constant(v);
            }
        }
        let cells = code.freevars.len();
        for i in 0..cells {
            let Some(value) = cell(object, i, vm) else { continue };
            let slot = slots.len() - cells + i;
            values[slot] = Seen::Known(vec![(value, source.map(|s| Rc::new(Source::Cell(s.clone(), i))))]);
        }
        let globals = object.get_attr("__globals__", vm).ok().and_then(|g| g.downcast::<PyDict>().ok());
        self.run(code, Path { position: 0, stack: Vec::new(), slots: values }, globals, depth + 1)
    }
}

/// Whether an object is the builtin of that name, which may be called with constants: nothing of the script's runs then.
fn is_builtin(o: &PyObjectRef, name: &str, vm: &VirtualMachine) -> bool {
    vm.builtins.get_attr(vm.ctx.intern_str(name), vm).is_ok_and(|builtin| builtin.is(o))
}

/// Whether the script says what a class's objects are.
fn asks_script(class: &PyObject, vm: &VirtualMachine) -> bool {
    let check = class.class().get_attr(vm.ctx.intern_str("__instancecheck__"));
    let code = check.and_then(|check| check.get_attr("__code__", vm).ok()?.downcast::<PyCode>().ok());
    code.is_some_and(|code| place_of(&code, 0).is_some())
}
