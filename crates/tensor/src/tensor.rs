//! `Tensor`: a geometry over a storage, with slots that rooms above fill (autograd, functionalization, Python).

use super::{Device, Dtype, Element, Geometry, Storage, Subclass, TensorSpec};
use diagnostics::error::Result;
use shape::{SymInt, ints};
use std::any::Any;
use std::cell::{Cell, Ref, RefCell, RefMut};
use std::rc::{Rc, Weak};

thread_local! {
    static NEXT: Cell<u64> = const { Cell::new(1) };
}

/// State that a room above attaches to a tensor; only that room knows its type.
pub type Slot = RefCell<Option<Box<dyn Any>>>;

/// What a [`Tensor`] points to.
pub struct TensorImpl {
    id: u64,
    storage: RefCell<Storage>,
    geometry: RefCell<Rc<Geometry>>,
    dtype: Cell<Dtype>,
    version: RefCell<Rc<Cell<u64>>>,
    /// Dimensions that were symbolic in the compiled graph that returned it, a bit for each.
    dynamic_dims: Cell<u64>,
    /// Its math bits: conjugate bit, negative bit, zero tensor.
    math_bits: Cell<MathBits>,
    /// Autograd's state.
    pub autograd: Slot,
    /// Functionalization's state: present on a functional wrapper.
    pub functional: Slot,
    /// The tracer's state: which value of which graph this is.
    pub proxy: Slot,
    /// The state of a transform: present on a tensor of one of its levels.
    pub transform: Slot,
    /// The Python object this tensor is known by.
    pub python: Slot,
    /// Present where its class is the script's own and answers operators.
    pub subclass: RefCell<Option<Rc<dyn Subclass>>>,
}

/// Math bits: what has still to be done to the elements of a tensor; whoever reads them does it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MathBits {
    /// They are to be conjugated.
    pub conj: bool,
    /// They are to be negated.
    pub neg: bool,
    /// They are all zero, whatever the memory holds; sums and products with it are known without reading it.
    pub zero: bool,
}

/// A tensor.
#[derive(Clone)]
pub struct Tensor(Rc<TensorImpl>);

/// A geometry in numbers, for kernels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Concrete {
    /// Sizes.
    pub sizes: Vec<usize>,
    /// Strides in elements.
    pub strides: Vec<isize>,
    /// First element.
    pub offset: usize,
}

/// How many elements there are of such sizes; the largest number where there are more.
pub fn elements(sizes: &[usize]) -> usize {
    if sizes.contains(&0) { 0 } else { sizes.iter().fold(1, |n: usize, size| n.saturating_mul(*size)) }
}

impl Concrete {
    /// Number of elements; the largest number where there are more.
    pub fn numel(&self) -> usize {
        elements(&self.sizes)
    }

    /// Whether elements lie densely in row-major order.
    pub fn is_contiguous(&self) -> bool {
        let mut expected = 1isize;
        self.sizes.iter().zip(&self.strides).rev().all(|(&size, &stride)| {
            let fits = size == 1 || stride == expected;
            expected = expected.saturating_mul(size as isize);
            fits
        }) || self.numel() == 0
    }
}

impl MathBits {
    /// Whether any bit is set.
    pub fn any(self) -> bool {
        self != MathBits::default()
    }
}

impl Tensor {
    /// A tensor over a storage.
    pub fn from_storage(storage: Storage, geometry: Geometry, dtype: Dtype) -> Self {
        Self::with_version(storage, geometry, dtype, Rc::new(Cell::new(0)))
    }

    fn with_version(storage: Storage, geometry: Geometry, dtype: Dtype, version: Rc<Cell<u64>>) -> Self {
        let id = NEXT.get();
        NEXT.set(id + 1);
        Tensor(Rc::new(TensorImpl {
            id,
            storage: RefCell::new(storage),
            geometry: RefCell::new(Rc::new(geometry)),
            dtype: Cell::new(dtype),
            version: RefCell::new(version),
            dynamic_dims: Cell::new(0),
            math_bits: Cell::default(),
            autograd: Slot::default(),
            functional: Slot::default(),
            proxy: Slot::default(),
            transform: Slot::default(),
            python: Slot::default(),
            subclass: RefCell::default(),
        }))
    }

    /// A zeroed tensor of the spec on the CPU.
    pub fn zeros(spec: &TensorSpec) -> Result<Self> {
        let bytes = spec.storage_bytes()?.guard_int()?;
        let bytes = usize::try_from(bytes).map_err(|_| super::storage::not_enough_memory(bytes as u128))?;
        let geometry = Geometry {
            sizes: ints(&shape::concrete(&spec.geometry.sizes)?),
            strides: ints(&shape::concrete(&spec.geometry.strides)?),
            offset: SymInt::Int(spec.geometry.offset.guard_int()?),
        };
        Ok(Self::from_storage(Storage::zeroed(bytes, spec.device)?, geometry, spec.dtype))
    }

    /// A tensor of the spec without values.
    pub fn fake(spec: &TensorSpec) -> Result<Self> {
        let bytes = spec.storage_bytes()?;
        Ok(Self::from_storage(Storage::fake(bytes, spec.device), spec.geometry.clone(), spec.dtype))
    }

    /// A tensor of the spec that has no memory in a run either: its class answers operators.
    pub fn without_memory(spec: &TensorSpec) -> Result<Self> {
        let bytes = spec.storage_bytes()?;
        Ok(Self::from_storage(Storage::hollow(bytes, spec.device), spec.geometry.clone(), spec.dtype))
    }

    /// A contiguous tensor of the given elements.
    pub fn from_slice<T: Element>(values: &[T], sizes: &[i64]) -> Result<Self> {
        Self::from_bytes(bytemuck::cast_slice(values), sizes, T::DTYPE)
    }

    /// A contiguous tensor of the given bytes.
    pub fn from_bytes(bytes: &[u8], sizes: &[i64], dtype: Dtype) -> Result<Self> {
        let t = Self::zeros(&TensorSpec::contiguous(ints(sizes), dtype, Device::CPU))?;
        t.storage().bytes_mut()?.copy_from_slice(bytes);
        Ok(t)
    }

    /// Its math bits: conjugate bit, negative bit, zero tensor.
    pub fn math_bits(&self) -> MathBits {
        self.0.math_bits.get()
    }

    /// Sets its math bits.
    pub fn set_math_bits(&self, math_bits: MathBits) {
        self.0.math_bits.set(math_bits);
    }

    /// Another view of the same storage, sharing its version counter.
    pub fn view_as(&self, geometry: Geometry) -> Tensor {
        Self::with_version(self.storage().clone(), geometry, self.dtype(), self.0.version.borrow().clone())
    }

    /// The same storage read as another dtype.
    pub fn view_dtype(&self, geometry: Geometry, dtype: Dtype) -> Tensor {
        Self::with_version(self.storage().clone(), geometry, dtype, self.0.version.borrow().clone())
    }

    /// The same values with a version counter of their own (what `.data` and saved tensors share).
    pub fn shallow_copy(&self) -> Tensor {
        let copy = Self::with_version(self.storage().clone(), (*self.geometry()).clone(), self.dtype(), Rc::new(Cell::new(self.version())));
        self.give_class(&copy);
        copy.set_math_bits(self.math_bits());
        copy
    }

    /// Another handle on the whole of it, sharing its version counter.
    pub fn handle(&self) -> Tensor {
        let handle = self.view_as((*self.geometry()).clone());
        self.give_class(&handle);
        handle.set_math_bits(self.math_bits());
        handle
    }

    /// What stands for the same values is of the same class.
    fn give_class(&self, other: &Tensor) {
        *other.0.subclass.borrow_mut() = self.0.subclass.borrow().as_ref().map(|s| s.copied());
    }

    /// The impl behind the handle, with the slots.
    pub fn imp(&self) -> &TensorImpl {
        &self.0
    }

    /// A weak handle.
    pub fn downgrade(&self) -> Weak<TensorImpl> {
        Rc::downgrade(&self.0)
    }

    /// The tensor of a weak handle, while it lives.
    pub fn upgrade(weak: &Weak<TensorImpl>) -> Option<Tensor> {
        weak.upgrade().map(Tensor)
    }

    /// How many handles there are.
    pub fn handles(&self) -> usize {
        Rc::strong_count(&self.0)
    }

    /// An identity that no other tensor ever has.
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// Whether two handles are of one tensor.
    pub fn is(&self, other: &Tensor) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// Element type.
    pub fn dtype(&self) -> Dtype {
        self.0.dtype.get()
    }

    /// Device.
    pub fn device(&self) -> Device {
        self.0.storage.borrow().device()
    }

    /// Its storage.
    pub fn storage(&self) -> Ref<'_, Storage> {
        self.0.storage.borrow()
    }

    /// Whether its values do not exist.
    pub fn is_fake(&self) -> bool {
        self.storage().is_fake()
    }

    /// Sizes, strides and offset.
    pub fn geometry(&self) -> Rc<Geometry> {
        self.0.geometry.borrow().clone()
    }

    /// Sizes.
    pub fn sizes(&self) -> Vec<SymInt> {
        self.geometry().sizes.clone()
    }

    /// Number of dimensions.
    pub fn dim(&self) -> usize {
        self.0.geometry.borrow().sizes.len()
    }

    /// The size of a dimension that exists.
    pub fn size(&self, dim: usize) -> SymInt {
        self.0.geometry.borrow().sizes[dim].clone()
    }

    /// Number of elements.
    pub fn numel(&self) -> SymInt {
        self.geometry().numel()
    }

    /// Everything but the values.
    pub fn spec(&self) -> TensorSpec {
        TensorSpec { geometry: (*self.geometry()).clone(), dtype: self.dtype(), device: self.device() }
    }

    /// The geometry in numbers.
    pub fn concrete(&self) -> Result<Concrete> {
        let g = self.geometry();
        let list = |v: &[SymInt]| v.iter().map(SymInt::guard_int).collect::<Result<Vec<_>>>();
        Ok(Concrete {
            sizes: list(&g.sizes)?.into_iter().map(|v| v as usize).collect(),
            strides: list(&g.strides)?.into_iter().map(|v| v as isize).collect(),
            offset: g.offset.guard_int()? as usize,
        })
    }

    /// Its elements' storage, to read; elements start at the geometry's offset.
    pub fn with_slice<T: Element, R>(&self, f: impl FnOnce(&[T]) -> R) -> Result<R> {
        let storage = self.storage();
        let slice = storage.slice::<T>()?;
        Ok(f(&slice))
    }

    /// Its elements' storage, to write.
    pub fn with_slice_mut<T: Element, R>(&self, f: impl FnOnce(&mut RefMut<'_, [T]>) -> R) -> Result<R> {
        let storage = self.storage();
        let mut slice = storage.slice_mut::<T>()?;
        Ok(f(&mut slice))
    }

    /// How often it was written to in place, views included.
    pub fn version(&self) -> u64 {
        self.0.version.borrow().get()
    }

    /// Counts one write.
    pub fn bump_version(&self) {
        let version = self.0.version.borrow();
        version.set(version.get() + 1);
    }

    /// It counts its own writes from now on.
    pub fn count_own_writes(&self) {
        let version = self.version();
        *self.0.version.borrow_mut() = Rc::new(Cell::new(version));
    }

    /// Changes sizes, strides and offset in place (`t_`, `resize_`, `as_strided_`).
    pub fn set_geometry(&self, geometry: Geometry) {
        *self.0.geometry.borrow_mut() = Rc::new(geometry);
    }

    /// Becomes a handle on another tensor's storage, geometry and dtype (`set_`, `.data =`, a fake tensor that gets its value).
    pub fn adopt(&self, other: &Tensor) {
        let storage = other.storage().clone();
        *self.0.storage.borrow_mut() = storage;
        self.set_geometry((*other.geometry()).clone());
        self.0.dtype.set(other.dtype());
        self.set_math_bits(other.math_bits());
    }

    /// Says that a compiled graph returned it, in which its size in a dimension was symbolic.
    pub fn mark_dynamic_dim(&self, dim: usize) {
        self.0.dynamic_dims.set(self.0.dynamic_dims.get() | 1u64.checked_shl(dim as u32).unwrap_or(0));
    }

    /// Whether its size in a dimension was symbolic in the compiled graph that returned it.
    pub fn is_dynamic_dim(&self, dim: usize) -> bool {
        self.0.dynamic_dims.get().checked_shr(dim as u32).is_some_and(|bits| bits & 1 == 1)
    }

    /// Has the storage of another tensor from here on, and shares its version counter.
    pub fn share_storage(&self, other: &Tensor) {
        let storage = other.storage().clone();
        *self.0.storage.borrow_mut() = storage;
        self.share_version(other);
    }

    /// Shares another tensor's version counter.
    pub fn share_version(&self, other: &Tensor) {
        let version = other.0.version.borrow().clone();
        *self.0.version.borrow_mut() = version;
    }

    /// Whether elements lie densely in row-major order. May guard.
    pub fn is_contiguous(&self) -> Result<bool> {
        self.geometry().is_contiguous()
    }
}

impl std::fmt::Debug for Tensor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tensor#{}({}{})", self.id(), self.spec().annotation(), if self.is_fake() { ", fake" } else { "" })
    }
}
