//! The bottom of the stack: real tensors go to a CPU kernel, fake ones to the shape rule alone.

use super::float8;
use super::registry::{entry_of, full_name};
use super::{Call, OpEntry, OpRef, Rule, Type, Value, named};
use diagnostics::error::{Error, ErrorKind, Result};
use std::sync::OnceLock;
use tensor::{DeviceType, Dtype, Geometry, MathBits, Tensor, TensorSpec};

/// A CPU lowering.
#[derive(Clone, Copy)]
pub enum Kernel {
    /// Fills results that the shape rule described and that were allocated zeroed; undefined results are left out.
    Fill(fn(&Call, &[Tensor]) -> Result<()>),
    /// Makes the whole result (operators whose rule is `Data`).
    Make(fn(&Call) -> Result<Value>),
    /// Writes into `self` directly (in-place operators with a kernel of their own).
    Mutate(fn(&Call) -> Result<()>),
}

/// CPU lowerings by operator.
#[derive(Default)]
pub struct KernelTable {
    real: Vec<Option<Kernel>>,
    /// For calls in which a tensor is complex.
    complex: Vec<Option<Kernel>>,
}

impl KernelTable {
    /// Registers a kernel that fills results: `fill("aten.mm.default", mm)`.
    pub fn fill(&mut self, name: &str, kernel: fn(&Call, &[Tensor]) -> Result<()>) {
        put(&mut self.real, name, Kernel::Fill(kernel));
    }
    /// Registers a kernel that makes the whole result.
    pub fn make(&mut self, name: &str, kernel: fn(&Call) -> Result<Value>) {
        put(&mut self.real, name, Kernel::Make(kernel));
    }
    /// Registers a kernel that writes into `self`.
    pub fn mutate(&mut self, name: &str, kernel: fn(&Call) -> Result<()>) {
        put(&mut self.real, name, Kernel::Mutate(kernel));
    }
    /// Registers the kernel of calls with complex tensors.
    pub fn complex(&mut self, name: &str, kernel: Kernel) {
        put(&mut self.complex, name, kernel);
    }
    /// Registers a kernel of calls with complex tensors that fills results.
    pub fn fill_complex(&mut self, name: &str, kernel: fn(&Call, &[Tensor]) -> Result<()>) {
        self.complex(name, Kernel::Fill(kernel));
    }
}

/// Of an operator of the catalogue: a name that no entry has is a mistake that the first call of any kernel shows.
fn put(kernels: &mut Vec<Option<Kernel>>, name: &str, kernel: Kernel) {
    let entry = entry_of(name).unwrap_or_else(|| panic!("a kernel of {name}, which the catalogue does not have"));
    kernels.resize(kernels.len().max(entry.id + 1), None);
    kernels[entry.id] = Some(kernel);
}

fn kernel_of(kernels: &[Option<Kernel>], entry: &OpEntry) -> Option<Kernel> {
    kernels.get(entry.id).copied().flatten()
}

/// What registers every kernel: kernels are written in terms of dispatch, so that it can't name them.
static KERNELS: OnceLock<fn(&mut KernelTable)> = OnceLock::new();

/// Says what registers every CPU kernel, before the first runs: `cpu::install` does. What comes later changes nothing.
pub fn install_kernels(register: fn(&mut KernelTable)) {
    let _ = KERNELS.set(register);
}

/// Fills the results of a call in the place of its operator's kernel; gives whether it did.
pub type Large = fn(&Call, &[Tensor]) -> Result<bool>;

static LARGE: OnceLock<Large> = OnceLock::new();

/// Says what is asked before an operator's own kernel fills results: kernels of fused loops are written in terms of graphs, so that no
/// table can name them.
pub fn install_large(large: Large) {
    let _ = LARGE.set(large);
}

fn table() -> &'static KernelTable {
    static TABLE: OnceLock<KernelTable> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table = KernelTable::default();
        let register = KERNELS.get().expect("no kernels are known yet: call `cpu::install()`");
        register(&mut table);
        table
    })
}

/// The kernel of calls without complex tensors.
pub fn real_kernel(entry: &OpEntry) -> Option<Kernel> {
    kernel_of(&table().real, entry)
}

fn complex_kernel(entry: &OpEntry) -> Result<Kernel> {
    kernel_of(&table().complex, entry)
        .ok_or_else(|| Error::not_implemented(format!("\"{}\" not implemented for 'ComplexFloat'", entry.base_name())))
}

fn any_complex(args: &[Value]) -> bool {
    let mut complex = false;
    args.iter().for_each(|v| v.for_each_tensor(&mut |t| complex |= t.dtype().is_complex()));
    complex
}

/// The kernel of a call, by what it is called on and what it makes.
fn kernel(entry: &OpEntry, args: &[Value], made: &[Tensor]) -> Result<Option<Kernel>> {
    if any_complex(args) || made.iter().any(|t| t.dtype().is_complex()) {
        return complex_kernel(entry).map(Some);
    }
    Ok(real_kernel(entry))
}

/// Whether real tensors can go through this operator: by its rule alone or by a kernel.
pub fn has_kernel(entry: &'static OpEntry) -> bool {
    match entry.rule {
        Rule::Composite(_) | Rule::View(_) | Rule::InplaceView(_) => true,
        Rule::Inplace(functional) => real_kernel(entry).is_some() || entry_of(&full_name(functional)).is_some_and(has_kernel),
        Rule::Script => super::script_has(super::Part::Kernel, entry),
        Rule::Fresh(_) | Rule::Data => real_kernel(entry).is_some() || kernel_of(&table().complex, entry).is_some(),
    }
}

fn missing(entry: &OpEntry) -> Error {
    Error::not_implemented(format!(
        "The operator 'aten::{}' is not currently implemented for the CPU (the playground does not have it; operators.html lists what it has).",
        &entry.name["aten.".len().min(entry.name.len())..]
    ))
}

/// Refuses arguments that no kernel could read into memory.
fn check_room(args: &[Value]) -> Result<()> {
    let mut room = Ok(());
    let mut check = |t: &Tensor| {
        let elements = t.geometry().sizes.iter().try_fold(1, |n: u64, size| Some(n.saturating_mul(size.as_int()?.max(0) as u64)));
        if let (Ok(()), Some(elements)) = (&room, elements) {
            room = tensor::check_room(elements, t.dtype().itemsize());
        }
    };
    args.iter().for_each(|v| v.for_each_tensor(&mut check));
    room
}

thread_local! {
    /// Whether an operator is run.
    static IN_KERNEL: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Runs an operator: allocates by its rule and fills by its kernel, or, where an argument is fake (or `fake` says so), by the
/// rule alone.
pub fn run_backend(entry: &'static OpEntry, args: &[Value], fake: bool) -> Result<Value> {
    if !tensor::pretends_cuda() {
        return super::contained(entry.name, || run(entry, args, fake)).map_err(|error| of_meta(error, entry, args));
    }
    // What a kernel calls is its own business.
    let is_outermost = !IN_KERNEL.replace(true);
    let checked = if is_outermost { check_pretended(entry, args) } else { Ok(()) };
    let result = checked.and_then(|()| super::contained(entry.name, || run(entry, args, fake)));
    if is_outermost {
        IN_KERNEL.set(false);
    }
    result.map_err(|error| of_meta(error, entry, args))
}

/// Refuses a device that values would have to lie on: there is no GPU, but for one that is pretended.
pub fn require_device(device: tensor::Device) -> Result<()> {
    match device.kind {
        DeviceType::Cuda if tensor::pretends_cuda() => match device.index {
            None | Some(0) => Ok(()),
            Some(_) => Err(Error::runtime("CUDA error: invalid device ordinal")),
        },
        DeviceType::Cuda => Err(Error::runtime(
            "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver from http://www.nvidia.com/Download/index.aspx",
        )),
        _ => Ok(()),
    }
}

/// Refuses tensors of the pretended device beside those of the CPU, but for numbers of the CPU.
fn check_pretended(entry: &'static OpEntry, args: &[Value]) -> Result<()> {
    static COPY: OpRef = OpRef::new("copy");
    let known = [&named::TO_COPY, &named::COPY_, &named::INDEX_PUT_, &named::INDEX_PUT, &named::INDEX, &COPY];
    if named::is_any(entry, &known) || matches!(entry.rule, Rule::Composite(_)) {
        return Ok(());
    }
    let mut devices: Vec<tensor::Device> = Vec::new();
    args.iter().for_each(|v| {
        v.for_each_tensor(&mut |t| {
            let is_number = t.dim() == 0 && t.device().kind == DeviceType::Cpu;
            if !is_number && !devices.contains(&t.device()) {
                devices.push(t.device());
            }
        })
    });
    match &devices[..] {
        [a, b, ..] if devices.iter().any(|d| d.kind == DeviceType::Cuda) => {
            Err(Error::runtime(format!("Expected all tensors to be on the same device, but found at least two devices, {a} and {b}!")))
        }
        _ => Ok(()),
    }
}

/// Refuses tensors with values beside tensors on the meta device, which has none. Tensors without dimensions are numbers.
fn check_devices(entry: &'static OpEntry, args: &[Value]) -> Result<()> {
    let mut devices = Vec::new();
    let mut has_values = false;
    let mut note = |t: &Tensor| {
        if t.dim() > 0 && !devices.contains(&t.device()) {
            devices.push(t.device());
        }
        has_values |= t.dim() > 0 && !t.is_fake();
    };
    args.iter().for_each(|v| v.for_each_tensor(&mut note));
    let [expected, other] = devices[..] else { return Ok(()) };
    if !has_values || [expected, other].iter().all(|d| d.kind != tensor::DeviceType::Meta) {
        return Ok(());
    }
    if expected.kind == tensor::DeviceType::Meta && only_indexes(entry, args) {
        return Ok(());
    }
    if std::ptr::eq(entry, named::COPY_.get()) {
        // Values may be left behind; they cannot be made up.
        let from_meta = other.kind == tensor::DeviceType::Meta;
        return if from_meta { Err(Error::not_implemented("Cannot copy out of meta tensor; no data!")) } else { Ok(()) };
    }
    Err(Error::runtime(format!("Tensor on device {other} is not on the expected device {expected}!")))
}

/// Whether the tensors with values are positions alone, which nothing reads where there are no elements.
fn only_indexes(entry: &OpEntry, args: &[Value]) -> bool {
    // Two that look, as PyTorch's do.
    let looks = ["index_add", "index_copy"].contains(&entry.base_name().trim_end_matches('_'));
    let is_position = |name: &str| ["index", "indices", "mask"].contains(&name);
    let mut all = !looks;
    for (_, value) in entry.schema.arguments.iter().zip(args).filter(|(argument, _)| !is_position(&argument.name)) {
        value.for_each_tensor(&mut |t| all &= t.dim() == 0 || t.device().kind == tensor::DeviceType::Meta);
    }
    all
}

/// What is said where the values of a tensor on the meta device are asked for: it has none, and nothing is pretended about that.
fn of_meta(error: Error, entry: &'static OpEntry, args: &[Value]) -> Error {
    if !matches!(error.kind, ErrorKind::DataDependent | ErrorKind::DynamicOutputShape) {
        return error;
    }
    let mut on_meta = false;
    args.iter().for_each(|v| v.for_each_tensor(&mut |t| on_meta |= t.device().kind == tensor::DeviceType::Meta));
    if !on_meta {
        // Positions of a mask are those of what is not zero.
        let of_mask = named::is_any(entry, &[&named::INDEX, &named::INDEX_PUT, &named::INDEX_PUT_]);
        return match error.kind {
            ErrorKind::DynamicOutputShape => Error::new(error.kind, if of_mask { "aten.nonzero.default" } else { entry.name }),
            _ => error,
        };
    }
    if std::ptr::eq(entry, named::LOCAL_SCALAR_DENSE.get()) {
        return Error::runtime("Tensor.item() cannot be called on meta tensors");
    }
    Error::not_implemented(format!(
        "aten::{}: attempted to run this operator with Meta tensors, but there was no fake impl or Meta kernel registered. You may have run into this message while using an operator with PT2 compilation APIs (torch.compile/torch.export); in order to use this operator with those APIs you'll need to add a fake impl. Please see the following for next steps:  https://pytorch.org/tutorials/advanced/custom_ops_landing_page.html",
        entry.base_name()
    ))
}

/// Refuses a list of booleans of another length than its array has.
fn check_arrays(entry: &OpEntry, args: &[Value]) -> Result<()> {
    for (argument, value) in entry.schema.arguments.iter().zip(args) {
        if let (Type::List(inner, Some(length)), Value::List(given)) = (&argument.ty, value)
            && **inner == Type::Bool
            && given.len() != *length
        {
            return Err(Error::runtime(format!(
                "Tried to convert a List with {} elements to a fixed-size array of size {length}",
                given.len()
            )));
        }
    }
    Ok(())
}

fn run(entry: &'static OpEntry, args: &[Value], fake: bool) -> Result<Value> {
    let call = Call { entry, args };
    check_arrays(entry, args)?;
    let pretended = fake;
    let fake = fake || Value::any_fake(args);
    if fake && !pretended {
        check_devices(entry, args)?;
    }
    if !fake {
        if !matches!(entry.rule, Rule::View(_) | Rule::Script | Rule::Composite(_)) {
            check_room(args)?;
        }
        super::refusals::check(entry, args)?;
        if !matches!(entry.rule, Rule::View(_) | Rule::Script) && args.iter().any(has_math_bits) {
            let out = run(entry, &resolved(entry, args)?, pretended)?;
            // What was written to is what was given.
            let written = entry.schema.arguments.iter().position(|a| a.mutated).and_then(|i| args[i].as_tensor());
            return Ok(written.filter(|_| matches!(out, Value::Tensor(_))).map_or(out, |t| t.into()));
        }
    }
    match entry.rule {
        Rule::Composite(f) => f(&call),
        Rule::Script => super::script::run(entry, args, fake),
        Rule::View(rule) => {
            // A number that stands where a tensor is expected has memory when it is viewed.
            let number = match args.first() {
                Some(Value::Complex(re, im)) => Some(Tensor::from_bytes(bytemuck::cast_slice(&[*re, *im]), &[], Dtype::Complex128)?),
                _ => None,
            };
            let found = number.as_ref().or_else(|| args.iter().find_map(Value::as_tensor));
            let base = found.ok_or_else(|| Error::runtime(format!("{}: no tensor to view", entry.name)))?;
            let dtype = entry.view_dtype.map_or(Ok(base.dtype()), |f| f(&call))?;
            let view = |g| {
                let view = if dtype == base.dtype() { base.view_as(g) } else { base.view_dtype(g, dtype) };
                view.set_math_bits(math_bits_of_view(entry, base.math_bits()));
                view
            };
            let views = rule(&call)?.into_iter().map(|g| Value::Tensor(view(g))).collect();
            Ok(wrap(entry, views))
        }
        Rule::Fresh(rule) => {
            let specs = rule(&call)?;
            let fake = if pretended { true } else { without_values(&call, &specs, fake)? };
            // The one kind of result that is neither filled nor a view: it shares memory, and autograd takes it for a new tensor.
            if let (false, Some(Kernel::Make(made))) = (fake, real_kernel(entry)) {
                return float8::make(&call, made);
            }
            let make = |spec: &TensorSpec| {
                if fake {
                    return Tensor::fake(spec);
                }
                require_device(spec.device)?;
                if entry.schema.position("pin_memory").is_some_and(|at| matches!(args.get(at), Some(Value::Bool(true)))) {
                    // Memory is pinned for a GPU.
                    require_device(tensor::Device { kind: DeviceType::Cuda, index: None })?;
                }
                // Strides of zero make more elements than there is memory for: kernels go through all of them.
                if let Some(elements) = spec.geometry.numel().as_int()
                    && let Err(no_room) = tensor::check_room(elements.max(0) as u64, spec.dtype.itemsize())
                {
                    // What nobody could count is refused in other words.
                    return spec.storage_bytes().and(Err(no_room));
                }
                Tensor::zeros(spec)
            };
            let made: Vec<Option<Tensor>> = specs.iter().map(|s| s.as_ref().map(make).transpose()).collect::<Result<_>>()?;
            if !fake {
                let outs: Vec<Tensor> = made.iter().flatten().cloned().collect();
                let Some(Kernel::Fill(fill)) = kernel(entry, args, &outs)? else { return Err(missing(entry)) };
                if !float8::fill(&call, &outs, fill)? && !LARGE.get().map_or(Ok(false), |large| large(&call, &outs))? {
                    fill(&call, &outs)?;
                }
            }
            Ok(wrap(entry, made.into_iter().map(Value::from).collect()))
        }
        Rule::Inplace(_) if super::foreach::is_foreach(entry) => {
            for each in super::foreach::each(&call, true)? {
                run(each.entry, &each.args, fake)?;
            }
            Ok(Value::None)
        }
        Rule::Inplace(functional) => {
            let target = args.first().ok_or_else(|| missing(entry))?.tensor()?.clone();
            let functional = entry_of(&full_name(functional)).ok_or_else(|| missing(entry))?;
            if !fake {
                super::overlap::check_overlap(functional, &target, &args[1..])?;
                if (functional.is_elementwise() || std::ptr::eq(entry, named::COPY_.get()))
                    && let Some(rows) = super::overlap::rows(&target, args)?
                {
                    rows.into_iter().try_for_each(|row| run(entry, &row, fake).map(drop))?;
                    return Ok(Value::Tensor(target));
                }
                let own = if any_complex(args) { kernel_of(&table().complex, entry) } else { real_kernel(entry) };
                if let Some(Kernel::Mutate(mutate)) = own {
                    // What does not go together is what its rule refuses.
                    if let Rule::Fresh(rule) = functional.rule {
                        rule(&Call { entry: functional, args })?;
                    }
                    float8::mutate(&call, mutate)?;
                    return Ok(Value::Tensor(target));
                }
            }
            let result = run(functional, args, fake)?.into_tensor()?;
            check_inplace(&target, &result)?;
            if !fake {
                let copy = named::COPY_.get();
                let args = [Value::Tensor(target.clone()), Value::Tensor(result), Value::Bool(false)];
                let Some(Kernel::Mutate(copy_)) = kernel(copy, &args, &[])? else { return Err(missing(copy)) };
                float8::mutate(&Call { entry: copy, args: &args }, copy_)?;
            }
            Ok(Value::Tensor(target))
        }
        Rule::InplaceView(rule) => {
            let target = args.first().ok_or_else(|| missing(entry))?.tensor()?.clone();
            let geometry: Geometry = rule(&call)?;
            target.set_geometry(geometry);
            Ok(Value::Tensor(target))
        }
        Rule::Data if fake && entry.looks.is_some() => {
            let specs = entry.looks.map_or(Ok(Vec::new()), |looks| looks(&call))?;
            let made = |spec: Option<TensorSpec>| spec.map_or(Ok(Value::None), |s| Tensor::fake(&s).map(Value::Tensor));
            Ok(wrap(entry, specs.into_iter().map(made).collect::<Result<_>>()?))
        }
        Rule::Data if fake => Err(Error::new(ErrorKind::DataDependent, entry.name)),
        Rule::Data => match kernel(entry, args, &[])? {
            Some(Kernel::Make(make)) => float8::make(&call, make),
            _ => Err(missing(entry)),
        },
    }
}

/// The math bits of a view, by those of the tensor that it is taken of.
pub fn math_bits_of_view(entry: &OpEntry, of: MathBits) -> MathBits {
    match () {
        () if named::CONJ.is(entry) => MathBits { conj: !of.conj, ..of },
        () if named::NEG_VIEW.is(entry) => MathBits { neg: !of.neg, ..of },
        () => of,
    }
}

fn has_math_bits(value: &Value) -> bool {
    let mut any = false;
    value.for_each_tensor(&mut |t| any |= t.math_bits().any());
    any
}

/// The arguments of a call with their math bits resolved: kernels read and write memory as it is.
fn resolved(entry: &'static OpEntry, args: &[Value]) -> Result<Vec<Value>> {
    let mut target = MathBits::default();
    let mut given = Vec::new();
    for (argument, value) in entry.schema.arguments.iter().zip(args) {
        given.push(match value {
            Value::Tensor(t) if argument.mutated && t.math_bits().any() => {
                target = t.math_bits();
                let memory = t.view_as((*t.geometry()).clone());
                Value::Tensor(memory)
            }
            other => other.map_tensors(&mut |t| apply(t, t.math_bits()))?,
        });
    }
    if target.any() {
        // What is written is what will be read, once it is conjugated again.
        let source = given.get(1).and_then(Value::as_tensor).filter(|_| named::COPY_.is(entry) && !target.zero).cloned();
        let Some(source) = source else {
            let name = entry.base_name();
            return Err(Error::not_implemented(format!("{name} on a tensor that has the conjugate or negative bit; clone it first")));
        };
        let source = if target.conj && !source.dtype().is_complex() { source } else { apply(&source, target)? };
        given[1] = Value::Tensor(source);
    }
    Ok(given)
}

/// A tensor's memory with math bits resolved.
fn apply(t: &Tensor, bits: MathBits) -> Result<Tensor> {
    if !bits.any() {
        return Ok(t.clone());
    }
    let run = |name: &str, t: Tensor| {
        let entry = entry_of(name).ok_or_else(|| Error::runtime(format!("the catalogue has no operator {name}")))?;
        run_backend(entry, &super::fill_args(entry, vec![Value::Tensor(t)], &[])?, false)?.into_tensor()
    };
    let mut out = t.view_as((*t.geometry()).clone());
    if bits.zero {
        return run("aten.zeros_like.default", out);
    }
    if bits.conj {
        out = run("aten._conj_physical.default", out)?;
    }
    if bits.neg {
        out = run("aten.neg.default", out)?;
    }
    Ok(out)
}

/// A tensor that may be read as it lies in memory: its math bits are resolved.
pub fn as_in_memory(t: &Tensor) -> Result<Tensor> {
    if t.is_fake() { Ok(t.clone()) } else { apply(t, t.math_bits()) }
}

/// Whether a call has no values to compute: where its results lie on the meta device, or an argument has none. What only looks like
/// an argument (`empty_like`, `new_zeros`) has values wherever it is made on a device that has them.
fn without_values(call: &Call, specs: &[Option<TensorSpec>], fake: bool) -> Result<bool> {
    let on_meta = |kind: DeviceType| kind == DeviceType::Meta;
    let Some(spec) = specs.iter().flatten().next() else { return Ok(fake) };
    if !fake || on_meta(spec.device.kind) {
        return Ok(fake || on_meta(spec.device.kind));
    }
    let leaves_meta =
        call.args.first().and_then(Value::as_tensor).is_some_and(|t| on_meta(t.device().kind) && t.storage().fake_mode() == 0);
    if !leaves_meta {
        return Ok(true);
    }
    let name = call.entry.base_name();
    if name == "_to_copy" {
        return Err(Error::not_implemented("Cannot copy out of meta tensor; no data!"));
    }
    Ok(!(name.ends_with("_like") || name.starts_with("new_")))
}

/// One result as itself, several as a list.
fn wrap(entry: &OpEntry, mut values: Vec<Value>) -> Value {
    if entry.returns_list() || entry.schema.returns.len() > 1 { Value::List(values) } else { values.pop().unwrap_or_default() }
}

/// What an in-place operator demands of its result, in PyTorch's words.
fn check_inplace(target: &Tensor, result: &Tensor) -> Result<()> {
    let (have, want) = (target.sizes(), result.sizes());
    let mut same = have.len() == want.len();
    for (a, b) in have.iter().zip(&want) {
        same = same && a.sym_eq(b.clone())?;
    }
    if !same {
        return Err(Error::runtime(format!("output with shape {have:?} doesn't match the broadcast shape {want:?}")));
    }
    if !result.dtype().can_cast(target.dtype()) {
        return Err(Error::runtime(format!(
            "result type {} can't be cast to the desired output type {}",
            result.dtype().scalar_type(),
            target.dtype().scalar_type()
        )));
    }
    Ok(())
}
