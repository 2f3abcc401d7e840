//! `_numpy`: inner loops of `numpy` (`src/python/stdlib/numpy/`): its bit generators with what is drawn from them, its order of
//! summation, and the shortest digits of floats smaller than Python's.
//!
//! Draws come out bit for bit as in numpy 2: the stream is part of what scripts rely on. Two generators are known, the legacy
//! MT19937 and PCG64; which samplers a caller asks for decides between numpy's `RandomState` and `Generator`.

pub(super) use module::module_def;

mod generator;
mod ziggurat;

#[pymodule(name = "_numpy")]
mod module {
    use std::cell::RefCell;

    use rustpython_vm::{
        Py, PyObjectRef, PyPayload, PyResult, VirtualMachine, builtins::PyTupleRef, function::ArgBytesLike, types::Constructor,
    };

    use super::generator::{self, Source};
    use super::ziggurat::{self, Layers};
    use crate::python::native::tensor::{raise, to_tensor, wrap};
    use crate::tensor::{Device, Dtype, Element, Tensor, TensorSpec};

    /// Samples as a tensor of a dtype.
    fn drawn<T: Element>(count: usize, dtype: Dtype, vm: &VirtualMachine, mut draw: impl FnMut() -> T) -> PyResult {
        let fill = |tensor: Tensor| {
            tensor.with_slice_mut::<T, _>(|slice| slice.iter_mut().for_each(|place| *place = draw()))?;
            Ok(tensor)
        };
        let size = crate::shape::SymInt::Int(count as i64);
        let tensor = Tensor::zeros(&TensorSpec::contiguous(vec![size], dtype, Device::CPU)).and_then(fill);
        wrap(&tensor.map_err(|e| raise(e, vm))?, vm)
    }

    fn floats(count: usize, vm: &VirtualMachine, draw: impl FnMut() -> f64) -> PyResult {
        drawn(count, Dtype::Float64, vm, draw)
    }

    fn singles(count: usize, vm: &VirtualMachine, draw: impl FnMut() -> f32) -> PyResult {
        drawn(count, Dtype::Float32, vm, draw)
    }

    fn integers(count: usize, vm: &VirtualMachine, mut draw: impl FnMut() -> u64) -> PyResult {
        drawn(count, Dtype::Int64, vm, || draw() as i64)
    }

    fn layers(tables: &ArgBytesLike, vm: &VirtualMachine) -> PyResult<Layers> {
        tables.with_ref(Layers::new).ok_or_else(|| vm.new_value_error("a table has the wrong size"))
    }

    /// A bit generator with its state: `BitGenerator("MT19937", words)` or `BitGenerator("PCG64", words)`, words of 32 bits.
    #[pyattr]
    #[pyclass(module = "_numpy", name = "BitGenerator")]
    #[derive(Debug, PyPayload)]
    struct BitGenerator {
        source: RefCell<Source>,
    }

    impl Constructor for BitGenerator {
        type Args = (String, Vec<u32>);

        fn py_new(_class: &Py<rustpython_vm::builtins::PyType>, (kind, words): Self::Args, vm: &VirtualMachine) -> PyResult<Self> {
            let source = Source::new(&kind, &words).ok_or_else(|| vm.new_value_error("state is not valid"))?;
            Ok(BitGenerator { source: RefCell::new(source) })
        }
    }

    #[pyclass(with(Constructor))]
    impl BitGenerator {
        /// The state as words, from which a generator like this one is made.
        #[pymethod]
        fn words(zelf: &Py<Self>, vm: &VirtualMachine) -> PyTupleRef {
            let words = zelf.source.borrow().words();
            vm.ctx.new_tuple(words.into_iter().map(|word| vm.ctx.new_int(word).into()).collect())
        }

        #[pymethod]
        fn next64(zelf: &Py<Self>) -> u64 {
            zelf.source.borrow_mut().next64()
        }

        #[pymethod]
        fn next32(zelf: &Py<Self>) -> u32 {
            zelf.source.borrow_mut().next32()
        }

        #[pymethod]
        fn next_double(zelf: &Py<Self>) -> f64 {
            zelf.source.borrow_mut().next_double()
        }

        /// Uniform in [0, 1).
        #[pymethod]
        fn doubles(zelf: &Py<Self>, count: usize, vm: &VirtualMachine) -> PyResult {
            let source = &mut *zelf.source.borrow_mut();
            floats(count, vm, || source.next_double())
        }

        /// The same of 24 bits.
        #[pymethod]
        fn singles(zelf: &Py<Self>, count: usize, vm: &VirtualMachine) -> PyResult {
            let source = &mut *zelf.source.borrow_mut();
            singles(count, vm, || source.next_single())
        }

        /// Normal samples of `RandomState`.
        #[pymethod]
        fn legacy_normals(zelf: &Py<Self>, count: usize, vm: &VirtualMachine) -> PyResult {
            let source = &mut *zelf.source.borrow_mut();
            floats(count, vm, || source.legacy_normal())
        }

        /// Normal samples of `Generator`.
        #[pymethod]
        fn normals(zelf: &Py<Self>, count: usize, tables: ArgBytesLike, vm: &VirtualMachine) -> PyResult {
            let layers = layers(&tables, vm)?;
            let source = &mut *zelf.source.borrow_mut();
            floats(count, vm, || ziggurat::normal(source, &layers))
        }

        /// The same in float32.
        #[pymethod]
        fn single_normals(zelf: &Py<Self>, count: usize, tables: ArgBytesLike, vm: &VirtualMachine) -> PyResult {
            let layers = layers(&tables, vm)?;
            let source = &mut *zelf.source.borrow_mut();
            singles(count, vm, || ziggurat::single_normal(source, &layers))
        }

        /// Exponential samples of `Generator`.
        #[pymethod]
        fn exponentials(zelf: &Py<Self>, count: usize, tables: ArgBytesLike, vm: &VirtualMachine) -> PyResult {
            let layers = layers(&tables, vm)?;
            let source = &mut *zelf.source.borrow_mut();
            floats(count, vm, || ziggurat::exponential(source, &layers))
        }

        /// Integers in `low ..= low + range`, drawn as for a dtype of so many bits, by masks (`RandomState`) or by Lemire's method.
        #[pymethod]
        fn bounded(zelf: &Py<Self>, count: usize, low: i64, range: u64, bits: u32, masked: bool, vm: &VirtualMachine) -> PyResult {
            let source = &mut *zelf.source.borrow_mut();
            let mut pending = generator::Pending::default();
            integers(count, vm, || (low as u64).wrapping_add(source.bounded(range, bits, masked, &mut pending)))
        }

        /// The same with bounds of each one's own.
        #[pymethod]
        fn bounded_each(zelf: &Py<Self>, lows: Vec<i64>, ranges: Vec<u64>, bits: u32, masked: bool, vm: &VirtualMachine) -> PyResult {
            let source = &mut *zelf.source.borrow_mut();
            let mut pending = generator::Pending::default();
            let mut bounds = lows.iter().zip(&ranges);
            integers(lows.len().min(ranges.len()), vm, || {
                bounds.next().map_or(0, |(low, range)| (*low as u64).wrapping_add(source.bounded(*range, bits, masked, &mut pending)))
            })
        }

        /// Where each of so many elements comes from when they are shuffled from the last down to `first`.
        #[pymethod]
        fn shuffled(zelf: &Py<Self>, count: usize, first: usize, masked: bool, vm: &VirtualMachine) -> PyResult {
            let source = &mut *zelf.source.borrow_mut();
            let mut order: Vec<u64> = (0..count as u64).collect();
            for i in (first..count).rev() {
                order.swap(i, source.interval(i as u64, masked) as usize);
            }
            let mut order = order.into_iter();
            integers(count, vm, || order.next().unwrap_or_default())
        }

        /// So many different integers below `all`, by Floyd's method.
        #[pymethod]
        fn sampled(zelf: &Py<Self>, all: u64, count: u64, vm: &VirtualMachine) -> PyResult {
            let source = &mut *zelf.source.borrow_mut();
            let mut seen = std::collections::HashSet::new();
            let mut next = all - count.min(all);
            integers(count as usize, vm, || {
                let drawn = source.interval(next, false);
                let chosen = if seen.insert(drawn) { drawn } else { next };
                seen.insert(chosen);
                next += 1;
                chosen
            })
        }
    }

    /// `sum(t, reduced)`: the sum of a contiguous tensor of float32 or float64 along the axes that are reduced, in numpy's order.
    #[pyfunction]
    fn sum(tensor: PyObjectRef, reduced: Vec<bool>, vm: &VirtualMachine) -> PyResult {
        let tensor = to_tensor(&tensor).ok_or_else(|| vm.new_type_error("a tensor is summed"))?;
        let geometry = tensor.concrete().map_err(|e| raise(e, vm))?;
        let sizes = geometry.sizes.clone();
        let range = geometry.offset..geometry.offset + geometry.numel();
        if !geometry.is_contiguous() || sizes.len() != reduced.len() {
            return Err(vm.new_value_error("what is summed is contiguous"));
        }
        let kept = || sizes.iter().zip(&reduced).filter(|(_, reduced)| !**reduced).map(|(size, _)| *size as i64).collect::<Vec<_>>();
        let summed = match tensor.dtype() {
            Dtype::Float64 => {
                tensor.with_slice::<f64, _>(|data| bytes_of(&generator::sum(&data[range], &sizes, &reduced), f64::to_le_bytes))
            }
            Dtype::Float32 => {
                tensor.with_slice::<f32, _>(|data| bytes_of(&generator::sum(&data[range], &sizes, &reduced), f32::to_le_bytes))
            }
            _ => return Err(vm.new_type_error("floats are summed")),
        };
        let result = summed.and_then(|bytes| Tensor::from_bytes(&bytes, &kept(), tensor.dtype()));
        wrap(&result.map_err(|e| raise(e, vm))?, vm)
    }

    fn bytes_of<T: Copy, const N: usize>(values: &[T], bytes: fn(T) -> [u8; N]) -> Vec<u8> {
        values.iter().flat_map(|value| bytes(*value)).collect()
    }

    /// The shortest digits that read back as a float of 4 bytes, or of 2, with an exponent: `1.5e-3`.
    #[pyfunction]
    fn shortest(value: f64, itemsize: usize) -> String {
        if itemsize == 4 {
            return format!("{:e}", value as f32);
        }
        let half = |value: f64| half::f16::from_f64(value);
        let mut texts = (0..5).map(|digits| format!("{value:.digits$e}"));
        texts.find(|text| text.parse().is_ok_and(|read| half(read) == half(value))).unwrap_or_else(|| format!("{value:e}"))
    }
}
