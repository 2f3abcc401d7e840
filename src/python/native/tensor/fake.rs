//! `torch._native_fake`: modes of fake tensors and environments of symbols, on which `torch._subclasses` and
//! `torch.fx.experimental.symbolic_shapes` are written.

use std::cell::RefCell;

use rustpython_vm::PyObject;
use rustpython_vm::builtins::PyTypeRef;

use crate::dynamo::Symbols;
use crate::tensor::Tensor;

pub(in crate::python::native) use module::module_def;

/// An environment of symbols as `ShapeEnv` is written on it.
pub fn symbols_object(symbols: Symbols, vm: &rustpython_vm::VirtualMachine) -> rustpython_vm::PyObjectRef {
    use rustpython_vm::PyPayload;
    use rustpython_vm::class::PyClassImpl;
    // The module may not have been imported.
    drop(module::PySymbols::make_static_type());
    module::PySymbols::new(symbols).into_pyobject(vm)
}

/// What a functional tensor of the script's stands for.
pub fn functional_value(t: &Tensor) -> crate::error::Result<Option<Tensor>> {
    let is_functional = crate::aot::functional::is_functional_tensor(t) && !crate::dynamo::tracing::is_called();
    is_functional.then(|| crate::aot::functional_tensor::unwrap(t)).transpose()
}

/// What is known of the symbols of a script's environment.
pub fn environment_of(symbols: &PyObject) -> Option<crate::shape::ShapeEnv> {
    symbols.downcast_ref::<module::PySymbols>().map(|symbols| symbols.environment())
}

#[pymodule(name = "torch._native_fake")]
mod module {
    use super::super::convert::{from_value, to_tensor, to_value};
    use super::super::errors::raise;
    use super::super::payload::{fake_object, set_fake_class, set_functional_class, wrap};
    use super::super::subclass::wrap_as;
    use super::*;
    use crate::aot::{fake_mode, functional};
    use crate::dispatch::{Modes, Value, modes, set_modes};
    use crate::dynamo::tracing::{symbol_number, symbol_numbers};
    use crate::dynamo::{Dim, InputSource, Treatment};
    use crate::shape::{Symbol, SymbolInfo};
    use crate::tensor::{Geometry, OfFakeMode, TensorSpec};
    use rustpython_vm::builtins::{PyStr, PyStrRef};
    use rustpython_vm::{AsObject, Py, PyObjectRef, PyPayload, PyRef, PyResult, VirtualMachine};

    /// Whether conditions, as text with the operator first, hold together: values by name, `False` where none do, `None` where that is not
    /// known.
    #[pyfunction]
    fn solve(conditions: Vec<PyStrRef>, vm: &VirtualMachine) -> PyResult<PyObjectRef> {
        let read = |text: &PyStrRef| validator::parse(&text.to_string_lossy()).map_err(|e| vm.new_value_error(e.0));
        let formulas = conditions.iter().map(read).collect::<PyResult<Vec<_>>>()?;
        match validator::satisfiable(&formulas, &validator::Values::new()) {
            validator::Satisfiable::Unknown => Ok(vm.ctx.none()),
            validator::Satisfiable::No => Ok(vm.ctx.new_bool(false).into()),
            validator::Satisfiable::Yes(values) => {
                let found = vm.ctx.new_dict();
                for (name, value) in values {
                    found.set_item(&*name, vm.ctx.new_int(value).into(), vm)?;
                }
                Ok(found.into())
            }
        }
    }

    /// What is known of the symbols of one environment.
    #[pyattr]
    #[pyclass(name = "Symbols")]
    #[derive(PyPayload)]
    pub struct PySymbols(RefCell<Symbols>);

    impl PySymbols {
        /// Of symbols.
        pub fn new(symbols: Symbols) -> Self {
            PySymbols(RefCell::new(symbols))
        }

        /// What is known of them.
        pub fn environment(&self) -> crate::shape::ShapeEnv {
            self.0.borrow().env.clone()
        }
    }

    impl std::fmt::Debug for PySymbols {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("Symbols")
        }
    }

    #[pyclass]
    impl PySymbols {
        /// Conditions that were installed, as PyTorch prints them.
        #[pymethod]
        fn guards(zelf: &Py<Self>, vm: &VirtualMachine) -> PyObjectRef {
            let guards = zelf.0.borrow().env.guards();
            let text = |g: &crate::shape::ShapeGuard| {
                let (left, relation, right) = g.number_last();
                vm.ctx.new_str(relation.condition(left, right)).into()
            };
            vm.ctx.new_list(guards.iter().map(text).collect()).into()
        }

        /// Conditions that no range of a symbol says, as Python.
        #[pymethod]
        fn conditions(zelf: &Py<Self>, vm: &VirtualMachine) -> PyObjectRef {
            let guards = zelf.0.borrow().env.guards();
            let is_range = |g: &&crate::shape::ShapeGuard| {
                let (left, relation, right) = g.number_last();
                left.as_symbol().is_some() && right.as_int().is_some() && relation != crate::shape::Relation::Ne
            };
            let text = |g: &crate::shape::ShapeGuard| {
                let (left, relation, right) = g.number_last();
                vm.ctx.new_str(format!("{} {} {}", left.in_python(), relation.text(), right.in_python())).into()
            };
            vm.ctx.new_list(guards.iter().filter(|g| !is_range(g)).map(text).collect()).into()
        }

        /// All conditions that were installed, as Python with sums and products in parentheses.
        #[pymethod]
        fn guard_texts(zelf: &Py<Self>, vm: &VirtualMachine) -> PyObjectRef {
            let guards = zelf.0.borrow().env.guards();
            let text = |g: &crate::shape::ShapeGuard| {
                let (left, relation, right) = g.number_last();
                vm.ctx.new_str(format!("{} {} {}", left.as_operand(), relation.text(), right.as_operand())).into()
            };
            vm.ctx.new_list(guards.iter().map(text).collect()).into()
        }

        /// Conditions on one symbol alone: the symbol, the condition as Python, by what it wants that divisible, whether it follows from
        /// such wishes, and whether nothing but the symbol's value satisfies it.
        #[pymethod]
        fn conditions_on_one(zelf: &Py<Self>, vm: &VirtualMachine) -> PyObjectRef {
            let text = |s: &str| -> PyObjectRef { vm.ctx.new_str(s).into() };
            let row = |g: crate::shape::GuardOnOne| -> PyObjectRef {
                let parts = vec![
                    text(&g.symbol.0),
                    text(&g.text),
                    vm.ctx.new_int(g.modulus).into(),
                    vm.ctx.new_bool(g.is_trivial).into(),
                    vm.ctx.new_bool(g.is_solved).into(),
                ];
                vm.ctx.new_tuple(parts).into()
            };
            let guards = zelf.0.borrow().env.guards_on_one();
            vm.ctx.new_list(guards.into_iter().map(row).collect()).into()
        }

        /// Installs what the script says: two sizes are equal. Gives whether they are.
        #[pymethod]
        fn equate(zelf: &Py<Self>, a: PyObjectRef, b: PyObjectRef, vm: &VirtualMachine) -> PyResult<bool> {
            let (Some(Value::Int(a)), Some(Value::Int(b))) = (to_value(&a, vm), to_value(&b, vm)) else {
                return Err(vm.new_type_error("expected integers"));
            };
            let env = zelf.0.borrow().env.clone();
            env.evaluate(&a.expr(), crate::shape::Relation::Eq, &b.expr()).map_err(|e| raise(e, vm))
        }

        /// Per symbol its name, bounds, value and where it comes from; a bound that is not there is the largest or smallest number.
        #[pymethod]
        fn symbols(zelf: &Py<Self>, vm: &VirtualMachine) -> PyObjectRef {
            let symbols = zelf.0.borrow().env.symbols();
            let row = |(Symbol(name), info): (Symbol, crate::shape::SymbolInfo)| {
                let value = info.hint.map_or_else(|| vm.ctx.none(), |n| vm.ctx.new_int(n).into());
                let text = |s: &str| vm.ctx.new_str(s).into();
                vm.ctx
                    .new_tuple(vec![
                        text(&name),
                        vm.ctx.new_int(info.lower).into(),
                        vm.ctx.new_int(info.upper).into(),
                        value,
                        text(&info.origin),
                    ])
                    .into()
            };
            vm.ctx.new_list(symbols.into_iter().map(row).collect()).into()
        }

        /// `create(source, value, lower, upper, is_shared)`: a symbol for a number of the script's.
        #[pymethod]
        fn create(
            zelf: &Py<Self>,
            source: PyStrRef,
            value: i64,
            lower: Option<i64>,
            upper: Option<i64>,
            is_shared: bool,
            vm: &VirtualMachine,
        ) -> PyResult {
            let origin = source.to_string_lossy().into_owned();
            let number = symbol_number(&origin);
            let (lower, upper) = (lower.unwrap_or(i64::MIN), upper.unwrap_or(i64::MAX));
            let size = zelf.0.borrow_mut().named(number, SymbolInfo { origin, hint: Some(value), lower, upper }, is_shared);
            from_value(Value::Int(size), vm)
        }

        /// Conditions as they are by now, as Python, but for those that ranges and equalities say.
        #[pymethod]
        fn produced(zelf: &Py<Self>, vm: &VirtualMachine) -> PyObjectRef {
            use crate::shape::Relation;
            let env = zelf.0.borrow().env.clone();
            let text = |g: &crate::shape::ShapeGuard| -> Option<PyObjectRef> {
                let (left, relation, right) = g.number_last();
                let (left, right) = (env.simplify(left), env.simplify(right));
                let is_range = left.as_symbol().is_some() && right.as_int().is_some() && relation != Relation::Ne;
                let is_known = left.sub(&right).as_int().is_some();
                let text = || format!("{} {} {}", left.in_python(), relation.text(), right.in_python());
                (!is_range && !is_known).then(|| vm.ctx.new_str(text()).into())
            };
            vm.ctx.new_list(env.guards().iter().filter_map(text).collect()).into()
        }

        /// A symbolic integer with every known equality used, as Python.
        #[pymethod]
        fn in_python(zelf: &Py<Self>, size: PyObjectRef, vm: &VirtualMachine) -> PyResult<String> {
            let Some(Value::Int(size)) = to_value(&size, vm) else { return Err(vm.new_type_error("expected an integer")) };
            Ok(zelf.0.borrow().env.simplify(&size.expr()).in_python().to_string())
        }

        /// Names of symbols in the order in which they were made.
        #[pymethod]
        fn created(zelf: &Py<Self>, vm: &VirtualMachine) -> PyObjectRef {
            let names = zelf.0.borrow().env.created();
            vm.ctx.new_list(names.into_iter().map(|name| vm.ctx.new_str(&*name.0).into()).collect()).into()
        }

        /// A symbolic integer with every known equality used.
        #[pymethod]
        fn simplify(zelf: &Py<Self>, size: PyObjectRef, vm: &VirtualMachine) -> PyResult {
            let Some(Value::Int(size)) = to_value(&size, vm) else { return Err(vm.new_type_error("expected an integer")) };
            let env = zelf.0.borrow().env.clone();
            let simple = env.simplify(&size.expr()).expanded();
            from_value(
                Value::Int(simple.as_int().map_or_else(|| crate::shape::SymInt::Sym(simple.clone(), env), crate::shape::SymInt::Int)),
                vm,
            )
        }

        /// Sizes zero and one become symbols, too.
        #[pymethod]
        fn keep_small_sizes(zelf: &Py<Self>) {
            zelf.0.borrow_mut().keep_small_sizes();
        }

        /// A symbol for a number that sizes are calculated from.
        #[pymethod]
        fn root(zelf: &Py<Self>, name: PyStrRef, value: i64, lower: i64, upper: Option<i64>, vm: &VirtualMachine) -> PyResult {
            let name = name.to_string_lossy().into_owned();
            let info = SymbolInfo { origin: name.clone(), hint: Some(value), lower, upper: upper.unwrap_or(i64::MAX) };
            let size = zelf.0.borrow_mut().root(symbol_number(&name), info);
            from_value(Value::Int(size), vm)
        }

        /// `declare(name, value, lower, upper)`: a symbol of a program that was made elsewhere.
        #[pymethod]
        fn declare(
            zelf: &Py<Self>,
            name: PyStrRef,
            value: Option<i64>,
            lower: Option<i64>,
            upper: Option<i64>,
            vm: &VirtualMachine,
        ) -> PyResult {
            let name = name.to_string_lossy().into_owned();
            let origin = if lower.is_some_and(|n| n >= 0) { "size" } else { "item" };
            let origin = if value.is_some() { name.clone() } else { origin.to_owned() };
            let info = SymbolInfo { origin, hint: value, lower: lower.unwrap_or(i64::MIN), upper: upper.unwrap_or(i64::MAX) };
            let size = zelf.0.borrow().env.declare(&name, info);
            from_value(Value::Int(size), vm)
        }

        /// What a size has become, with its least and its largest value.
        #[pymethod]
        fn bounds(zelf: &Py<Self>, size: PyObjectRef, vm: &VirtualMachine) -> PyResult {
            let Some(Value::Int(size)) = to_value(&size, vm) else { return Err(vm.new_type_error("expected an integer")) };
            let symbols = zelf.0.borrow();
            let (lower, upper) = symbols.env.bounds(&size.expr());
            let number = |n: Option<i64>| n.map_or_else(|| vm.ctx.none(), |n| vm.ctx.new_int(n).into());
            Ok(vm.ctx.new_tuple(vec![number(lower), number(upper)]).into())
        }

        /// What the script computed and compared in what it stated of numbers that only a run knows: names of Python's operators, in order.
        #[pymethod]
        fn stated(zelf: &Py<Self>, vm: &VirtualMachine) -> PyObjectRef {
            let stated = zelf.0.borrow().env.stated();
            vm.ctx.new_list(stated.iter().map(|name| vm.ctx.new_str(&**name).into()).collect()).into()
        }

        /// Symbols that others stand for, with what does.
        #[pymethod]
        fn replacements(zelf: &Py<Self>, vm: &VirtualMachine) -> PyObjectRef {
            let text = |s: String| vm.ctx.new_str(s).into();
            let pairs = zelf.0.borrow().env.replacements().into_iter();
            let pairs = pairs.map(|(symbol, expr)| vm.ctx.new_tuple(vec![text(symbol.0.to_string()), text(expr.to_string())]).into());
            vm.ctx.new_list(pairs.collect()).into()
        }

        /// An integer, or a float, that only a run would know.
        #[pymethod]
        fn unbacked(zelf: &Py<Self>, is_float: bool, vm: &VirtualMachine) -> PyResult {
            let env = zelf.0.borrow().env.clone();
            let number = if is_float { Value::SymFloat(env.unbacked_float("item")) } else { Value::Int(env.unbacked("item", i64::MIN)) };
            from_value(number, vm)
        }
    }

    #[pyfunction]
    fn symbols() -> PySymbols {
        PySymbols(RefCell::default())
    }

    #[pyfunction]
    fn set_class(class: PyTypeRef) {
        set_fake_class(class);
        fake_mode::set_is_parameter(|t| {
            let name = |vm: &VirtualMachine| wrap(t, vm).is_ok_and(|o| &*o.class().name() == "Parameter");
            rustpython_vm::vm::thread::with_current_vm(name)
        });
    }

    /// `create(symbols, allows_real, names_scalars, names_sizes)`: the number of a new mode.
    #[pyfunction]
    fn create(symbols: Option<PyRef<PySymbols>>, allows_real: bool, names_scalars: bool, names_sizes: bool) -> u32 {
        fake_mode::create(symbols.map(|s| s.0.borrow().env.clone()), allows_real, names_scalars, names_sizes).number
    }

    /// The script enters a mode, or, with 0, leaves all of them, until `exit`.
    #[pyfunction]
    fn enter(number: u32) {
        fake_mode::enter(fake_mode::numbered(number));
    }

    #[pyfunction]
    fn exit() {
        fake_mode::exit();
    }

    /// The number of the mode that the script is in; 0 outside of all.
    #[pyfunction]
    fn entered() -> u32 {
        fake_mode::entered().map_or(0, |mode| mode.number)
    }

    /// The number of the mode that made a tensor; 0 for others.
    #[pyfunction]
    fn mode_of(tensor: PyObjectRef) -> u32 {
        to_tensor(&tensor).map_or(0, |t| t.storage().fake_mode())
    }

    /// Whether a tensor stands for a value while a function is traced.
    #[pyfunction]
    fn is_of_trace(tensor: PyObjectRef) -> bool {
        to_tensor(&tensor).is_some_and(|t| crate::python::native::tensor::reading::is_of_trace(&t))
    }

    /// `from_tensor(number, tensor, symbols, kinds, source)`: what stands for a tensor in a mode. `kinds` says of every dimension whether
    /// it is a number (0), a symbol that equal sizes share (1), one of its own (2), or one that only a run knows (3), and its bounds.
    #[pyfunction]
    fn from_tensor(
        number: u32,
        tensor: PyObjectRef,
        symbols: Option<PyRef<PySymbols>>,
        kinds: Vec<Vec<Option<i64>>>,
        source: PyStrRef,
        vm: &VirtualMachine,
    ) -> PyResult {
        let t = self::tensor(&tensor, vm)?;
        let mut geometry: Geometry = (*t.geometry()).clone();
        if let Some(symbols) = symbols {
            let kind = |kind: Vec<Option<i64>>| match kind[..] {
                [Some(1), ..] => Dim::Shared,
                [Some(2), lower, upper] => Dim::Own(lower, upper),
                [Some(3), lower, upper] => Dim::Unknown(lower, upper),
                _ => Dim::Static,
            };
            geometry = symbolic(&symbols, &t, &source, kinds.into_iter().map(kind).collect());
        }
        let _made_by = OfFakeMode::new(number);
        faked(&t, geometry, vm)
    }

    /// What a tensor looks like with symbols for the dimensions that want some.
    fn symbolic(symbols: &PySymbols, t: &Tensor, source: &Py<PyStr>, dims: Vec<Dim>) -> Geometry {
        let source = source.to_string_lossy().into_owned();
        let numbers = symbol_numbers(&source, t.dim());
        let input = InputSource { name: source.clone(), source, numbers, ..InputSource::default() };
        let plan = Treatment { dims, varying_strides: Vec::new() };
        symbols.0.borrow_mut().geometry(&input, 0, &t.geometry(), &plan).0
    }

    /// What stands for a tensor, looking like this.
    fn faked(t: &Tensor, geometry: Geometry, vm: &VirtualMachine) -> PyResult {
        let fake = Tensor::fake(&TensorSpec { geometry, ..t.spec() }).map_err(|e| raise(e, vm))?;
        let wants_grad = crate::autograd::meta::requires_grad(t);
        crate::autograd::meta::set_requires_grad(&fake, wants_grad).map_err(|e| raise(e, vm))?;
        if wants_grad && !crate::autograd::meta::is_leaf(t) {
            // One that is no leaf may be written to: its fake tensor is the result of a call.
            let before = set_modes(Modes { grad: true, fake: true, ..modes() });
            let cloned = crate::t!("clone", &fake);
            set_modes(before);
            return wrap(&cloned.map_err(|e| raise(e, vm))?, vm);
        }
        wrap(&fake, vm)
    }

    /// The fake tensor for a tensor that a program is exported for. `sizes` says of every dimension whether it is a number (`None`), a
    /// symbol of its own within bounds (a pair), or what is calculated from one (a symbolic integer).
    #[pyfunction]
    fn fakify(tensor: PyObjectRef, symbols: PyRef<PySymbols>, sizes: Vec<PyObjectRef>, source: PyStrRef, vm: &VirtualMachine) -> PyResult {
        let t = self::tensor(&tensor, vm)?;
        let mut calculated = Vec::new();
        let mut dims = Vec::new();
        for (d, size) in sizes.iter().enumerate() {
            dims.push(match to_value(size, vm) {
                _ if vm.is_none(size) => Dim::Static,
                Some(Value::Int(size)) => {
                    calculated.push((d, size));
                    Dim::Static
                }
                _ => {
                    let bounds: Vec<Option<i64>> = size.try_to_value(vm)?;
                    Dim::Own(bounds.first().copied().flatten(), bounds.get(1).copied().flatten())
                }
            });
        }
        let mut geometry = symbolic(&symbols, &t, &source, dims);
        if !calculated.is_empty() {
            if !t.geometry().is_contiguous().map_err(|e| raise(e, vm))? {
                return Err(vm.new_not_implemented_error(
                    "a calculated dimension of an input that is not contiguous is not available in the playground",
                ));
            }
            let mut sizes = geometry.sizes;
            calculated.into_iter().for_each(|(d, size)| sizes[d] = size);
            geometry = Geometry::contiguous(sizes);
        }
        faked(&t, geometry, vm)
    }

    /// `fake(sizes, strides, offset, dtype, device, requires_grad)`: what stands for a tensor that looks like this.
    #[pyfunction]
    fn fake(
        sizes: Vec<PyObjectRef>,
        strides: Vec<PyObjectRef>,
        offset: PyObjectRef,
        dtype: PyObjectRef,
        device: PyObjectRef,
        requires_grad: bool,
        vm: &VirtualMachine,
    ) -> PyResult {
        let size = |o: &PyObjectRef| match to_value(o, vm) {
            Some(Value::Int(size)) => Ok(size),
            _ => Err(vm.new_type_error("expected an integer")),
        };
        let sizes = sizes.iter().map(size).collect::<PyResult<Vec<_>>>()?;
        let strides = strides.iter().map(size).collect::<PyResult<Vec<_>>>()?;
        let offset = size(&offset)?;
        if sizes.iter().chain(&strides).chain([&offset]).any(|n| n.as_int().is_some_and(|n| n < 0)) {
            return Err(vm.new_value_error("a tensor has no negative sizes, strides or offset"));
        }
        let (Some(Value::Dtype(dtype)), Some(Value::Device(device))) = (to_value(&dtype, vm), to_value(&device, vm)) else {
            return Err(vm.new_type_error("expected a torch.dtype and a torch.device"));
        };
        let spec = TensorSpec { geometry: Geometry { sizes, strides, offset }, dtype, device };
        let fake = Tensor::fake(&spec).map_err(|e| raise(e, vm))?;
        crate::autograd::meta::set_requires_grad(&fake, requires_grad).map_err(|e| raise(e, vm))?;
        fake_object(&fake, vm)
    }

    fn tensor(o: &PyObjectRef, vm: &VirtualMachine) -> PyResult<Tensor> {
        to_tensor(o).ok_or_else(|| vm.new_type_error("expected a Tensor"))
    }

    /// A functional tensor of a class that stands for a tensor; one that is functional stays what it is.
    #[pyfunction]
    fn to_functional(o: PyObjectRef, class: PyTypeRef, vm: &VirtualMachine) -> PyResult {
        if functional::is_functional_tensor(&tensor(&o, vm)?) {
            return Ok(o);
        }
        let made = functional::to_functional(&tensor(&o, vm)?).map_err(|e| raise(e, vm))?;
        wrap_as(&made, class, vm)
    }

    #[pyfunction]
    fn is_functional(o: PyObjectRef, vm: &VirtualMachine) -> PyResult<bool> {
        Ok(functional::is_functional_tensor(&tensor(&o, vm)?))
    }

    /// What a functional tensor stands for, writes included.
    #[pyfunction]
    fn from_functional(o: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        let value = crate::aot::functional_tensor::unwrap(&tensor(&o, vm)?).map_err(|e| raise(e, vm))?;
        wrap(&value, vm)
    }

    /// Every call is functionalized from here on, views staying views or not; with `None` no longer. Results get the class.
    #[pyfunction]
    fn functionalize_all(reapplies_views: Option<bool>, class: Option<PyTypeRef>) {
        set_functional_class(class);
        functional::enable(reapplies_views);
    }
}
