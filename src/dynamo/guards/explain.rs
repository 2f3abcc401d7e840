//! Guards as `torch._dynamo.explain` lists them: those that every entry has, and those on the Python values and tensors that a
//! function reads, in the order in which it does.

use std::cell::RefCell;
use std::collections::HashMap;

use rustpython_vm::builtins::{PyFunction, PyInt, PyType};
use rustpython_vm::class::StaticType;
use rustpython_vm::{AsObject, PyObject, VirtualMachine};

use super::guard::Kind;
use super::needs::Needs;
use crate::dynamo::guards::failures::Holder;
use crate::python::native::tensor::TensorBase;

thread_local! {
    /// What the cache entries are guarded on that were made since they are asked for.
    static TOLD: RefCell<Option<Vec<Told>>> = const { RefCell::new(None) };
}

/// A guard: what it asks, of which value, in which kinds, and its texts.
#[derive(Clone)]
pub struct Told {
    /// The name of what makes it: `TENSOR_MATCH`.
    pub asks: &'static str,
    /// Where its value is found; nothing for the settings of the program.
    pub name: String,
    /// Where that is, in a word: `local`.
    pub scope: String,
    /// The kinds that it is checked as; none for what has no text.
    pub kinds: Vec<&'static str>,
    /// What is checked, as Python.
    pub texts: Vec<String>,
}

/// Whether guards are asked for: then modules of Python and what is called of them count as well.
pub fn is_asked() -> bool {
    TOLD.with_borrow(Option::is_some)
}

/// Begins to keep guards, or ends; gives those that were kept.
pub fn keep(keeps: bool) -> Vec<Told> {
    TOLD.replace(keeps.then(Vec::new)).unwrap_or_default()
}

/// A cache entry was made that is guarded on this.
pub fn note(needs: &Needs, vm: &VirtualMachine) {
    if is_asked() {
        let told = all(needs, vm);
        TOLD.with_borrow_mut(|kept| kept.iter_mut().for_each(|kept| kept.extend(told.iter().cloned())));
    }
}

/// What every entry is guarded on.
fn of_program() -> impl Iterator<Item = Told> {
    const SETTINGS: [(&str, &str, &str); 7] = [
        ("shape_env", "SHAPE_ENV", ""),
        ("global", "DETERMINISTIC_ALGORITHMS", ""),
        ("global", "GRAD_MODE", ""),
        ("global", "DEFAULT_DEVICE", "utils_device.CURRENT_DEVICE == None"),
        ("global", "GLOBAL_STATE", ""),
        ("global", "TORCH_FUNCTION_STATE", ""),
        ("global", "AUTOGRAD_SAVED_TENSORS_HOOKS", "torch._functorch.aot_autograd.utils.top_saved_tensors_hooks ids == None"),
    ];
    SETTINGS.into_iter().map(|(scope, asks, text)| {
        let texts: Vec<String> = (!text.is_empty()).then(|| text.to_owned()).into_iter().collect();
        Told { asks, name: String::new(), scope: scope.to_owned(), kinds: texts.iter().map(|_| asks).collect(), texts }
    })
}

fn all(needs: &Needs, vm: &VirtualMachine) -> Vec<Told> {
    let modules = needs.modules(vm);
    let names: Vec<String> = needs.facts.iter().map(|f| f.source.text(vm)).collect();
    let mut told: Vec<Told> = of_program().collect();
    for (i, (fact, name)) in needs.facts.iter().zip(&names).enumerate() {
        let others = || needs.facts.iter().zip(&names).enumerate().filter(|(j, (_, n))| *j != i && *n == name).map(|(_, (f, _))| f);
        let (asks, kinds, texts) = match &fact.kind {
            Kind::Type(class) if is_tensor(class) => ("TENSOR_MATCH", vec!["TENSOR_MATCH"], unmarked(name)),
            // What has a length is told with that.
            Kind::Type(_) if others().any(|f| matches!(f.kind, Kind::Length(_))) => continue,
            Kind::Length(_) => {
                let of_type = others().find(|f| matches!(f.kind, Kind::Type(_)));
                let texts = of_type.into_iter().chain([fact]).map(|f| f.text(vm)).collect();
                ("SEQUENCE_LENGTH", vec!["TYPE_MATCH", "SEQUENCE_LENGTH"], texts)
            }
            Kind::Type(_) => ("TYPE_MATCH", vec!["TYPE_MATCH"], vec![fact.text(vm)]),
            Kind::Equals(value) => {
                let kind = match &*value.class().name() {
                    "bool" => "BOOL_MATCH",
                    "NoneType" => "NONE_MATCH",
                    _ => "EQUALS_MATCH",
                };
                let is_found = !matches!(*fact.source, crate::dynamo::source::Source::Local(_));
                if kind == "EQUALS_MATCH" && is_found && value.downcast_ref::<PyInt>().is_some() {
                    told.push(Told {
                        asks: kind,
                        name: name.clone(),
                        scope: scope(name, &modules),
                        kinds: vec![kind],
                        texts: vec![fact.text(vm)],
                    });
                }
                ("CONSTANT_MATCH", vec![kind], vec![fact.text(vm)])
            }
            Kind::Is(value) if value.downcast_ref::<PyFunction>().is_some() => ("CLOSURE_MATCH", Vec::new(), Vec::new()),
            Kind::Is(value) => {
                let is_module = value.class().is(vm.ctx.types.module_type);
                (if is_module { "MODULE_MATCH" } else { "BUILTIN_MATCH" }, vec!["ID_MATCH"], vec![fact.text(vm)])
            }
            Kind::Entries(n) => {
                let keys = others().filter_map(|f| match &f.kind {
                    Kind::KeyAt(_, key) => Some(key.repr(vm).map(|s| s.to_string_lossy().into_owned()).unwrap_or_default()),
                    _ => None,
                });
                let keys = keys.collect::<Vec<_>>().join(", ");
                let length = if *n == 0 { format!("not {name}") } else { format!("len({name}) == {n}") };
                (
                    "DICT_KEYS_MATCH",
                    vec!["SEQUENCE_LENGTH", "DICT_KEYS_MATCH"],
                    vec![length, format!("list(dict.keys({name})) == [{keys}]")],
                )
            }
            Kind::Remaining(_) => ("TUPLE_ITERATOR_LEN", vec!["TUPLE_ITERATOR_LEN"], vec![fact.text(vm)]),
            // What a symbol cannot be is told with the conditions on symbols.
            Kind::Key(_) | Kind::KeyAt(..) | Kind::NotNan => continue,
            Kind::HasAttr(_, has, _) => {
                let kind = if *has { "HASATTR" } else { "NO_HASATTR" };
                (kind, vec![kind], vec![fact.text(vm)])
            }
            Kind::Contains(..) => ("DICT_CONTAINS", vec!["DICT_CONTAINS"], vec![fact.text(vm)]),
            Kind::Temporary => ("BUILTIN_MATCH", vec!["ID_MATCH"], vec![fact.text(vm)]),
            Kind::Same(_) => ("DUPLICATE_INPUT", vec!["DUPLICATE_INPUT"], vec![fact.text(vm)]),
        };
        told.push(Told { asks, name: name.clone(), scope: scope(name, &modules), kinds, texts });
    }
    told
}

fn is_tensor(class: &PyObject) -> bool {
    class.downcast_ref::<PyType>().is_some_and(|c| c.fast_issubclass(TensorBase::static_type()))
}

/// That a tensor has no marks.
fn unmarked(name: &str) -> Vec<String> {
    let marks = ["dynamic", "weak_dynamic", "unbacked", "strict_unbacked", "static"];
    marks.iter().map(|mark| format!("hasattr({name}, '_dynamo_{mark}_indices') == False")).collect()
}

/// Where a value is found, in a word: among variables or globals, and in which kind of module.
fn scope(name: &str, modules: &HashMap<String, Holder>) -> String {
    let base = if name.starts_with("L[") { "local" } else { "global" };
    let holds = |place: &&String| name.strip_prefix(place.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
    let holder = modules.keys().filter(holds).max_by_key(|place| place.len());
    match holder.and_then(|place| modules.get(place)) {
        Some(Holder::Own) => format!("{base}_unspecialized_nn_module"),
        Some(Holder::Library) => format!("{base}_unspecialized_builtin_nn_module"),
        None => base.to_owned(),
    }
}
