//! Following a function's code: one instruction after the other, each branch that may be taken.

use std::collections::HashSet;
use std::rc::Rc;

use rustpython_vm::builtins::{PyCode, PyDict, PyDictRef, PyFunction, PyList, PyStr, PyTuple, PyType};
use rustpython_vm::bytecode::oparg;
use rustpython_vm::{AsObject, Py, PyObject, PyObjectRef, VirtualMachine};

use super::outer_effects::is_list;
use super::values::{is_constant, is_enum, is_tensor, own_accessor, string};
use super::{Reader, Seen, constant, join};
use crate::dynamo::bytecode_analysis::decoded::{decoded, place_of};
use crate::dynamo::bytecode_analysis::instruction::{Operation, Step};
use crate::dynamo::guards::guard::Kind;
use crate::dynamo::source::{Source, entry, is_known_dict};

/// A path that is still to be followed.
pub(super) struct Path {
    /// The next instruction.
    pub position: usize,
    /// What expressions under way hold.
    pub stack: Vec<Seen>,
    /// What variables hold.
    pub slots: Vec<Seen>,
}

impl Reader<'_> {
    /// Follows a function's code; gives what it returns.
    pub(super) fn run(&mut self, code: &Py<PyCode>, start: Path, globals: Option<PyDictRef>, depth: usize) -> Seen {
        let decoded = decoded(code);
        let here = self.place.clone();
        let mut visited = HashSet::new();
        let mut paths = vec![(start, self.stored.clone())];
        let mut result: Option<Seen> = None;
        let outer = self.way.len();
        while let Some((mut path, stored)) = paths.pop() {
            self.stored = stored;
            while visited.insert(path.position) && self.budget > 0 {
                self.budget -= 1;
                self.at = if depth == 0 { Some((path.position, false)) } else { self.at.map(|(at, _)| (at, true)) };
                let step = decoded.steps[path.position];
                // A comprehension stands in its function.
                self.way.truncate(outer);
                let begin = decoded.comprehension(step.at).filter(|(begin, _)| *begin < step.at);
                self.way.extend(begin.and_then(|(begin, _)| decoded.position(begin)));
                self.way.push(path.position);
                let place = place_of(code, step.at);
                self.note_code(place.is_some(), depth);
                if place.is_some() {
                    self.place = place;
                }
                if matches!(step.op, Operation::ReturnValue) {
                    let value = path.stack.pop().unwrap_or(Seen::Unknown);
                    if depth == 0 {
                        self.hand_back(&value, &mut !matches!(value, Seen::Items(_)));
                    }
                    self.returns_at(depth);
                    result = Some(match result {
                        None => value,
                        Some(r) => join(r, value),
                    });
                    break;
                }
                let jump = self.step(code, &step, &mut path, globals.as_ref(), depth);
                let next =
                    decoded.position(step.next).filter(|_| (step.next as usize) <= decoded.steps.last().map_or(0, |s| s.at as usize));
                let target = step.target.and_then(|t| decoded.position(t));
                match (jump, next, target) {
                    (Jump::Never, Some(next), _) => path.position = next,
                    (Jump::Always, _, Some(target)) => path.position = target,
                    (Jump::Maybe, Some(next), Some(target)) => {
                        let other = Path { position: target, stack: path.stack.clone(), slots: path.slots.clone() };
                        paths.push((other, self.stored.clone()));
                        path.position = next;
                    }
                    _ => break,
                }
            }
        }
        self.way.truncate(outer);
        self.place = here;
        result.unwrap_or(Seen::Unknown)
    }

    /// A comprehension begins. Dynamo realizes what it closes over, by name, up to the first that is no constant.
    fn enclose(&mut self, code: &Py<PyCode>, step: &Step, slots: &[Seen]) {
        let decoded = decoded(code);
        if decoded.comprehension(step.at).is_none_or(|(begin, _)| begin != step.at) {
            return;
        }
        let names: Vec<String> = super::slot_names(code).collect();
        let mut read = decoded.enclosed(step.at);
        read.sort_by_key(|slot| names.get(*slot as usize));
        let values = read.into_iter().filter_map(|slot| slots.get(slot as usize));
        if let Some(first) = values.into_iter().find(|seen| self.known_constant(seen).is_none()) {
            self.realize_tensor(&first.clone());
        }
    }

    /// One instruction.
    pub(super) fn step(&mut self, code: &Py<PyCode>, step: &Step, path: &mut Path, globals: Option<&PyDictRef>, depth: usize) -> Jump {
        let vm = self.vm;
        let stack = &mut path.stack;
        let slot = |slots: &[Seen], i: u32| slots.get(i as usize).cloned().unwrap_or(Seen::Unknown);
        fn pop(stack: &mut Vec<Seen>) -> Seen {
            stack.pop().unwrap_or(Seen::Unknown)
        }
        fn take(stack: &mut Vec<Seen>, n: usize) -> Vec<Seen> {
            let at = stack.len().saturating_sub(n);
            stack.split_off(at)
        }
        match step.op {
            Operation::LoadConst(position) => {
                let value: PyObjectRef = code.constants[position.into()].clone().into();
                stack.push(constant(value));
            }
            Operation::LoadSmallInt(number) => stack.push(constant(vm.ctx.new_int(number).into())),
            Operation::LoadFastAndClear(variable) => {
                stack.push(slot(&path.slots, variable));
                self.enclose(code, step, &path.slots);
            }
            Operation::LoadFast(variable) | Operation::LoadDeref(variable) => {
                let seen = slot(&path.slots, variable);
                // What is loaded from a cell that was there before is realized where something is done with it.
                let first_free = code.localspluskinds.len() - code.freevars.len();
                let is_cell = matches!(step.op, Operation::LoadDeref(_)) && (variable as usize) < first_free;
                if is_cell || decoded(code).is_enclosed(variable) {
                    self.realize_tensor(&seen);
                }
                stack.push(seen);
            }
            Operation::LoadFastPair(a, b) => {
                for i in [a, b] {
                    let seen = slot(&path.slots, i);
                    if decoded(code).is_enclosed(i) {
                        self.realize_tensor(&seen);
                    }
                    stack.push(seen);
                }
            }
            Operation::StoreFast(variable) | Operation::StoreDeref(variable) => {
                let value = pop(stack);
                let first_free = code.localspluskinds.len() - code.freevars.len();
                if matches!(step.op, Operation::StoreDeref(_)) && variable as usize >= first_free {
                    self.sets_variable(false);
                }
                if matches!(step.op, Operation::StoreFast(_)) {
                    self.keep_number(&value);
                }
                if let Some(s) = path.slots.get_mut(variable as usize) {
                    *s = value;
                }
            }
            Operation::StoreFastPair(a, b) => {
                for i in [a, b] {
                    let value = pop(stack);
                    self.keep_number(&value);
                    if let Some(s) = path.slots.get_mut(i as usize) {
                        *s = value;
                    }
                }
            }
            Operation::StoreFastLoadFast(a, b) => {
                let value = pop(stack);
                self.keep_number(&value);
                if let Some(s) = path.slots.get_mut(a as usize) {
                    *s = value;
                }
                stack.push(slot(&path.slots, b));
            }
            Operation::LoadGlobal { name, .. } | Operation::LoadName(name) => {
                let name = code.names[name as usize];
                let own = globals.and_then(|g| g.get_item_opt(name.as_str(), vm).ok().flatten());
                let is_root = globals.zip(self.globals.as_ref()).is_some_and(|(a, b)| a.is(b));
                stack.push(match (own, globals) {
                    (Some(value), Some(globals)) if is_root => {
                        Seen::Known(vec![(value, Some(Rc::new(Source::Global(globals.clone(), name.as_str().into()))))])
                    }
                    (Some(value), Some(globals)) if place_of(code, step.at).is_some() => {
                        let module = string(globals.get_item_opt("__name__", vm).ok().flatten().as_ref());
                        let source = module.map(|m| Rc::new(Source::Imported(globals.clone(), m.into(), name.as_str().into())));
                        Seen::Known(vec![(value, source)])
                    }
                    (Some(value), _) => constant(value),
                    (None, _) => vm.builtins.get_attr(name, vm).map_or(Seen::Unknown, |value| {
                        let source = self.tells.then(|| Rc::new(Source::Builtin(name.as_str().into())));
                        Seen::Known(vec![(value, source)])
                    }),
                });
                if step.op.gives_empty_place() {
                    stack.push(Seen::Null);
                }
            }
            Operation::LoadAttr { name, is_called } => {
                let object = pop(stack);
                let name = code.names[name as usize];
                if is_called {
                    self.calls_method(&object, name.as_str());
                }
                let found = self.attribute(&object, name.as_str());
                let stack = &mut path.stack;
                stack.push(found);
                if is_called {
                    stack.push(Seen::Null);
                }
            }
            Operation::LoadSuperAttr { name, is_called } => {
                let taken = take(stack, 3);
                let name = code.names[name as usize];
                let found = match (taken.get(1), taken.get(2)) {
                    (Some(Seen::Known(classes)), Some(own @ Seen::Known(objects))) => {
                        let class = classes.first().and_then(|(c, _)| c.downcast_ref::<PyType>().map(|c| c.to_owned()));
                        let mro = objects.first().map(|(o, _)| o.class().mro_map_collect(|c| c.to_owned())).unwrap_or_default();
                        let after = mro.iter().position(|c| class.as_ref().is_some_and(|k| c.is(k))).map_or(mro.len(), |i| i + 1);
                        let held = |c: &Py<PyType>| c.as_object().get_attr("__dict__", vm).ok()?.get_item(name.as_str(), vm).ok();
                        let found = mro[after.min(mro.len())..].iter().find_map(|c| held(c));
                        found
                            .filter(|f| f.downcast_ref::<PyFunction>().is_some())
                            .map_or(Seen::Unknown, |f| Seen::Method(f, Box::new(own.clone())))
                    }
                    _ => Seen::Unknown,
                };
                stack.push(found);
                if is_called {
                    stack.push(Seen::Null);
                }
            }
            Operation::Call(count) | Operation::CallKw(count) => {
                let names = match step.op {
                    Operation::CallKw(_) => match pop(stack) {
                        Seen::Known(all) => all.first().and_then(|(o, _)| {
                            o.downcast_ref::<PyTuple>().map(|t| {
                                t.as_slice()
                                    .iter()
                                    .filter_map(|n| n.downcast_ref::<PyStr>().map(|s| s.to_string_lossy().into_owned()))
                                    .collect()
                            })
                        }),
                        _ => None,
                    }
                    .unwrap_or_default(),
                    _ => Vec::new(),
                };
                let mut args = take(stack, count as usize);
                let own = pop(stack);
                let callee = pop(stack);
                if !matches!(own, Seen::Null) {
                    args.insert(0, own);
                }
                let result = self.call(&callee, args, names, depth);
                path.stack.push(result);
            }
            Operation::CallFunctionEx => {
                let (keywords, args) = (pop(stack), pop(stack));
                let own = pop(stack);
                let callee = pop(stack);
                let mut given = match args {
                    Seen::Items(items) => items,
                    other => self.parts(&other),
                };
                if !matches!(own, Seen::Null) {
                    given.insert(0, own);
                }
                let (names, keywords): (Vec<String>, Vec<Seen>) = self.keywords(&keywords).into_iter().unzip();
                given.extend(keywords);
                let result = self.call(&callee, given, names, depth);
                path.stack.push(result);
            }
            Operation::PushNull => stack.push(Seen::Null),
            Operation::Copy(n) => {
                let value = stack.len().checked_sub(n as usize).and_then(|i| stack.get(i)).cloned().unwrap_or(Seen::Unknown);
                stack.push(value);
            }
            Operation::Swap(n) => {
                let top = stack.len().wrapping_sub(1);
                if let Some(other) = stack.len().checked_sub(n as usize).filter(|_| !stack.is_empty()) {
                    stack.swap(top, other);
                }
            }
            Operation::BuildSequence(count) => {
                let items = take(stack, count as usize);
                stack.push(Seen::Items(items));
            }
            Operation::ListExtend => {
                let more = match pop(stack) {
                    Seen::Items(items) => items,
                    other => {
                        self.realize(&other);
                        self.parts(&other)
                    }
                };
                if let Some(Seen::Items(items)) = path.stack.last_mut() {
                    items.extend(more);
                }
            }
            Operation::ListAppend(n) => {
                let value = pop(stack);
                let list = stack.len().checked_sub(n as usize).and_then(|at| stack.get_mut(at));
                if let Some(Seen::Items(items)) = list {
                    items.push(value);
                }
            }
            // What is called stands below the dictionary of its keywords, and stays there.
            Operation::DictUpdate => {
                let more = pop(stack);
                self.realize(&more);
                // All of its keys count.
                self.written_to(&more);
                let stack = &mut path.stack;
                let more = self.keywords(&more);
                if let Some(Seen::Keywords(known)) = stack.last_mut() {
                    known.retain(|(k, _)| more.iter().all(|(name, _)| name != k));
                    known.extend(more);
                }
            }
            Operation::BuildMap(pairs) => {
                let items = take(stack, 2 * pairs as usize);
                items.iter().skip(1).step_by(2).for_each(|value| self.realize_number(value));
                let pair = |[key, value]: &[Seen; 2]| Some((string(self.known_constant(key).as_ref())?, value.clone()));
                let pairs: Option<Vec<(String, Seen)>> = items.as_chunks().0.iter().map(pair).collect();
                stack.push(pairs.map_or(Seen::Unknown, Seen::Keywords));
            }
            Operation::CallIntrinsic1 if matches!(stack.last(), Some(Seen::Items(_))) => {}
            Operation::UnpackSequence(count) => {
                let count = count as usize;
                let value = pop(stack);
                let parts: Vec<Seen> = match &value {
                    Seen::Items(items) if items.len() == count => items.clone(),
                    Seen::Known(_) => (0..count).map(|i| self.item(&value, &constant(vm.ctx.new_int(i).into()))).collect(),
                    _ => vec![Seen::Unknown; count],
                };
                path.stack.extend(parts.into_iter().rev());
            }
            Operation::BinarySlice => {
                let (stop, start, container) = (pop(stack), pop(stack), pop(stack));
                let result = self.slice(&container, &start, &stop);
                path.stack.push(result);
            }
            Operation::BinaryOp(op) => {
                let (b, a) = (pop(stack), pop(stack));
                if matches!(op, oparg::BinaryOperator::InplaceAdd) && is_list(&a) {
                    self.changes_object(&a);
                }
                let is_of_tensor = matches!(a, Seen::Tensor) || matches!(b, Seen::Tensor);
                let deferred = if defers(op) { self.deferred(&[&a, &b], |v| binary(op, &v[0], &v[1], vm)) } else { None };
                let result = if matches!(op, oparg::BinaryOperator::Subscr) {
                    self.item(&a, &b)
                } else if let Some(deferred) = deferred {
                    deferred
                } else {
                    self.realize(&a);
                    self.realize(&b);
                    if matches!(op, oparg::BinaryOperator::Or | oparg::BinaryOperator::InplaceOr) {
                        [&a, &b].into_iter().for_each(|side| self.written_to(side));
                    }
                    match (self.known_constant(&a), self.known_constant(&b)) {
                        (Some(a), Some(b)) => binary(op, &a, &b, vm).map_or(Seen::Unknown, constant),
                        _ => Seen::Unknown,
                    }
                };
                path.stack.push(if is_of_tensor { Seen::Tensor } else { result });
            }
            Operation::CompareOp(op) => {
                let (b, a) = (pop(stack), pop(stack));
                let compare = |v: &[PyObjectRef]| v[0].rich_compare_bool(&v[1], compare_op(op), vm).ok().map(|t| vm.ctx.new_bool(t).into());
                if let Some(deferred) = self.deferred(&[&a, &b], compare) {
                    path.stack.push(deferred);
                    return Jump::Never;
                }
                self.realize(&a);
                self.realize(&b);
                let single = |s: &Seen| match s {
                    Seen::Computed(value, _) => Some(value.clone()),
                    Seen::Known(all) if all.len() == 1 && (is_constant(&all[0].0, vm) || is_enum(&all[0].0, vm)) => Some(all[0].0.clone()),
                    _ => None,
                };
                let result = match (single(&a), single(&b)) {
                    (Some(a), Some(b)) => a.rich_compare_bool(&b, compare_op(op), vm).ok().map(|t| constant(vm.ctx.new_bool(t).into())),
                    _ => None,
                };
                path.stack.push(result.unwrap_or(Seen::Unknown));
            }
            Operation::IsOp { is_negated } => {
                let (b, a) = (pop(stack), pop(stack));
                self.realize(&a);
                self.realize(&b);
                self.realize_tensor(&a);
                self.realize_tensor(&b);
                let result = match (&a, &b) {
                    (Seen::Known(a), Seen::Known(b)) if a.len() == 1 && b.len() == 1 => {
                        Some(constant(vm.ctx.new_bool(a[0].0.is(&b[0].0) != is_negated).into()))
                    }
                    _ => None,
                };
                path.stack.push(result.unwrap_or(Seen::Unknown));
            }
            Operation::ContainsOp { is_negated } => {
                let (container, key) = (pop(stack), pop(stack));
                self.realize(&key);
                let mut result = Seen::Unknown;
                let is_found = matches!(&key, Seen::Known(all) if all.iter().any(|(_, source)| source.is_some()));
                if let (Seen::Known(all), Some(key)) = (&container, self.known_constant(&key)) {
                    match all.as_slice() {
                        [(o, Some(source))] if o.downcast_ref::<PyDict>().is_some() => {
                            let has = o.downcast_ref::<PyDict>().is_some_and(|d| entry(d, &key, vm).is_some());
                            self.realize_one(o, source);
                            if is_found && !has {
                                // Which keys there are is all that can be said of one that is a value itself.
                                self.written_to(&container);
                            } else if is_known_dict(o) {
                                self.note(source, Kind::Contains(key, has), None);
                            }
                            result = constant(vm.ctx.new_bool(has != is_negated).into());
                        }
                        _ => self.realize(&container),
                    }
                }
                path.stack.push(result);
            }
            Operation::ToBool => {
                let value = pop(stack);
                self.realize_truth(&value);
                let truth = self.truth(&value).map_or(Seen::Unknown, |t| constant(vm.ctx.new_bool(t).into()));
                path.stack.push(truth);
            }
            Operation::UnaryNot => {
                let value = pop(stack);
                let truth = self.truth(&value).map_or(Seen::Unknown, |t| constant(vm.ctx.new_bool(!t).into()));
                path.stack.push(truth);
            }
            Operation::PopJumpIf(on) => {
                let value = pop(stack);
                self.realize_truth(&value);
                return match self.truth(&value) {
                    Some(t) if t == on => Jump::Always,
                    Some(_) => Jump::Never,
                    None => Jump::Maybe,
                };
            }
            Operation::PopJumpIfNone(on) => {
                let value = pop(stack);
                self.realize(&value);
                self.realize_tensor(&value);
                return match &value {
                    Seen::Known(all) if all.len() == 1 => {
                        if vm.is_none(&all[0].0) == on {
                            Jump::Always
                        } else {
                            Jump::Never
                        }
                    }
                    Seen::Method(..) | Seen::Items(_) => {
                        if on {
                            Jump::Never
                        } else {
                            Jump::Always
                        }
                    }
                    _ => Jump::Maybe,
                };
            }
            Operation::GetIter => {
                let value = pop(stack);
                let each = self.elements(&value);
                path.stack.push(each);
            }
            Operation::ForIter => {
                let one = match stack.last() {
                    Some(Seen::Each(one)) => (**one).clone(),
                    _ => Seen::Unknown,
                };
                stack.push(one);
                return Jump::Maybe;
            }
            Operation::JumpForward | Operation::JumpBackward => {
                return Jump::Always;
            }
            Operation::Raise { .. } | Operation::Reraise => return Jump::Nowhere,
            op => {
                let uses = !matches!(
                    op,
                    Operation::PopTop
                        | Operation::StoreAttr(_)
                        | Operation::StoreSubscr
                        | Operation::StoreGlobal
                        | Operation::EndFor
                        | Operation::PopIter
                );
                let taken = take(stack, step.popped);
                match (op, taken.as_slice()) {
                    (Operation::StoreGlobal, _) => self.sets_variable(true),
                    (Operation::StoreSubscr, [_, container, _])
                    | (Operation::DeleteSubscr, [container, _])
                    | (Operation::DeleteAttr, [container]) => self.changes_object(container),
                    (Operation::StoreAttr(name), [_, object]) => {
                        self.sets_attribute(object, code.names.get(name as usize).map_or("", |name| name.as_str()));
                    }
                    _ => {}
                }
                for value in taken.iter().filter(|_| uses) {
                    self.realize(value);
                }
                // An object or a container is given numbers that are known.
                if let (Operation::StoreAttr(_), [value, _]) | (Operation::StoreSubscr, [value, ..]) = (op, taken.as_slice()) {
                    self.realize_number(value);
                }
                if let (Operation::StoreAttr(name), [value, object]) = (op, taken.as_slice()) {
                    self.realize(object);
                    if let (Seen::Known(all), Some(name)) = (object, code.names.get(name as usize))
                        && let [(o, _)] = all.as_slice()
                    {
                        let name = name.as_str();
                        let of_class = o.class().get_attr(vm.ctx.intern_str(name)).filter(|a| &*a.class().name() == "property");
                        let setter = of_class.and_then(|property| property.get_attr("fset", vm).ok()).filter(|setter| !vm.is_none(setter));
                        match own_accessor(o, "__setattr__", vm) {
                            None if let Some(setter) = setter => {
                                self.call(&constant(setter), vec![object.clone(), value.clone()], Vec::new(), depth + 1);
                            }
                            Some(method) => {
                                let given = vec![constant(vm.ctx.new_str(name).into()), value.clone()];
                                self.call(&Seen::Method(method, Box::new(object.clone())), given, Vec::new(), depth + 1);
                            }
                            None => drop(self.stored.insert((o.get_id(), name.to_owned()), value.clone())),
                        }
                    }
                }
                // Where something is stored, or no more, decides.
                if let (Operation::StoreSubscr, [_, container, key]) | (Operation::DeleteSubscr, [container, key]) = (op, taken.as_slice())
                {
                    self.written_to(container);
                    self.realize(key);
                }
                path.stack.extend(std::iter::repeat_n(Seen::Unknown, step.pushed));
            }
        }
        Jump::Never
    }

    /// A number is put into a variable: a function whose graph breaks hands it on.
    fn keep_number(&mut self, value: &Seen) {
        if self.breaks && matches!(value, Seen::Computed(..)) {
            self.realize_number(value);
        }
    }

    /// A value is returned: tensors and containers are realized then, if they were not before. Constants are handed on unread, but for
    /// those in a tuple or a list that stand before its first tensor (`reads_none` from there on).
    fn hand_back(&mut self, seen: &Seen, reads_none: &mut bool) {
        match seen {
            Seen::Items(items) => items.iter().for_each(|item| self.hand_back(item, reads_none)),
            Seen::Known(all) => {
                if !*reads_none && all.iter().all(|(o, _)| is_constant(o, self.vm)) {
                    self.realize(seen);
                    return;
                }
                *reads_none |= all.iter().any(|(o, _)| is_tensor(o));
                for (o, source) in all {
                    let is_container = || {
                        o.downcast_ref::<PyTuple>().is_some()
                            || o.downcast_ref::<PyList>().is_some()
                            || o.downcast_ref::<PyDict>().is_some()
                    };
                    match source {
                        Some(source) if is_tensor(o) => self.note(source, Kind::Type(o.class().to_owned().into()), None),
                        Some(source) if is_container() => self.realize_one(o, source),
                        _ => {}
                    }
                }
            }
            Seen::Unknown | Seen::Tensor => *reads_none = true,
            Seen::Computed(..) if !*reads_none => self.realize(seen),
            // It is computed again when the function returns, of values of the same types.
            Seen::Computed(_, operands) => {
                for (o, source) in operands {
                    self.note(source, Kind::Type(o.class().to_owned().into()), None);
                }
            }
            _ => {}
        }
    }

    /// A dictionary is written to, copied, or asked for its length: which keys it has matters, but not their order.
    pub(super) fn written_to(&mut self, seen: &Seen) {
        let Seen::Known(all) = seen else { return };
        for (o, source) in all {
            if let (Some(dict), Some(source)) = (o.downcast_ref::<PyDict>().filter(|_| is_known_dict(o)), source) {
                self.note(source, Kind::Type(o.class().to_owned().into()), None);
                self.note(source, Kind::Length(dict.__len__()), None);
                for (key, _) in dict.into_iter().take(64) {
                    self.note(source, Kind::Key(key), None);
                }
            }
        }
    }

    /// A value decides which way to go.
    fn realize_truth(&mut self, seen: &Seen) {
        if let Seen::Known(all) = seen {
            for (o, source) in all.clone() {
                let Some(source) = &source else { continue };
                if is_known_dict(&o) {
                    self.written_to(&Seen::Known(vec![(o.clone(), Some(source.clone()))]));
                } else if let Some(dict) = o.downcast_ref::<PyDict>() {
                    self.note(source, Kind::Entries(dict.__len__()), None);
                }
                self.realize_first_item(&o, source);
            }
        }
        self.realize(seen);
    }
}

/// Where an instruction goes on.
pub(super) enum Jump {
    Never,
    Always,
    Maybe,
    Nowhere,
}

fn compare_op(op: oparg::ComparisonOperator) -> rustpython_vm::types::PyComparisonOp {
    use rustpython_vm::types::PyComparisonOp as Op;
    match op {
        oparg::ComparisonOperator::Less => Op::Lt,
        oparg::ComparisonOperator::LessOrEqual => Op::Le,
        oparg::ComparisonOperator::Equal => Op::Eq,
        oparg::ComparisonOperator::NotEqual => Op::Ne,
        oparg::ComparisonOperator::Greater => Op::Gt,
        oparg::ComparisonOperator::GreaterOrEqual => Op::Ge,
    }
}

/// Whether arithmetic is deferred until its result is used: what cannot fail.
fn defers(op: oparg::BinaryOperator) -> bool {
    use oparg::BinaryOperator as Op;
    let plain = matches!(op, Op::Add | Op::Subtract | Op::Multiply | Op::And | Op::Or | Op::Xor);
    plain || matches!(op, Op::InplaceAdd | Op::InplaceSubtract | Op::InplaceMultiply | Op::InplaceAnd | Op::InplaceOr | Op::InplaceXor)
}

/// Arithmetic of constants.
fn binary(op: oparg::BinaryOperator, a: &PyObject, b: &PyObject, vm: &VirtualMachine) -> Option<PyObjectRef> {
    use oparg::BinaryOperator as Op;
    match op {
        Op::Add | Op::InplaceAdd => vm._add(a, b),
        Op::Subtract | Op::InplaceSubtract => vm._sub(a, b),
        Op::Multiply | Op::InplaceMultiply => vm._mul(a, b),
        Op::FloorDivide | Op::InplaceFloorDivide => vm._floordiv(a, b),
        Op::Remainder | Op::InplaceRemainder => vm._mod(a, b),
        Op::TrueDivide | Op::InplaceTrueDivide => vm._truediv(a, b),
        Op::And | Op::InplaceAnd => vm._and(a, b),
        Op::Or | Op::InplaceOr => vm._or(a, b),
        Op::Xor | Op::InplaceXor => vm._xor(a, b),
        _ => return None,
    }
    .ok()
}
