//! `_random`: CPython's Mersenne Twister, on which `random` stands.

pub(super) use module::module_def;

#[pymodule(name = "_random")]
mod module {
    use std::cell::RefCell;

    use malachite_bigint::{BigInt, Sign};
    use rustpython_vm::{
        Py, PyObjectRef, PyPayload, PyResult, VirtualMachine,
        builtins::{PyInt, PyIntRef, PyTupleRef},
        function::OptionalArg,
        types::{Constructor, DefaultConstructor, Initializer},
    };

    use super::{Twister, WORDS, fill};

    /// The generator's state.
    #[pyattr]
    #[pyclass(module = "_random", name = "Random")]
    #[derive(Debug, PyPayload, Default)]
    struct Random {
        generator: RefCell<Twister>,
    }

    impl DefaultConstructor for Random {}

    impl Initializer for Random {
        type Args = OptionalArg<PyObjectRef>;

        fn init(zelf: &Py<Self>, seed: Self::Args, vm: &VirtualMachine) -> PyResult<()> {
            Random::seed(zelf, seed, vm)
        }
    }

    #[pyclass(flags(BASETYPE), with(Constructor, Initializer))]
    impl Random {
        #[pymethod]
        fn seed(zelf: &Py<Self>, seed: OptionalArg<PyObjectRef>, vm: &VirtualMachine) -> PyResult<()> {
            let mut key = match seed.into_option().filter(|seed| !vm.is_none(seed)) {
                Some(seed) => match seed.downcast::<PyInt>() {
                    Ok(number) => number.as_bigint().magnitude().to_u32_digits(),
                    // Anything else is taken by its hash.
                    Err(object) => {
                        let hash = object.hash(vm)?.unsigned_abs();
                        vec![hash as u32, (hash >> 32) as u32]
                    }
                },
                None => {
                    let mut bytes = [0; 32];
                    fill(&mut bytes, vm)?;
                    bytes.as_chunks().0.iter().copied().map(u32::from_le_bytes).collect()
                }
            };
            while key.len() > 1 && key.last() == Some(&0) {
                key.pop();
            }
            if key.is_empty() {
                key.push(0);
            }
            *zelf.generator.borrow_mut() = Twister::from_key(&key);
            Ok(())
        }

        #[pymethod]
        fn random(zelf: &Py<Self>) -> f64 {
            zelf.generator.borrow_mut().next_f64()
        }

        #[pymethod]
        fn getrandbits(zelf: &Py<Self>, bits: PyIntRef, vm: &VirtualMachine) -> PyResult<PyObjectRef> {
            let bits: i64 = bits.try_to_primitive(vm)?;
            if bits < 0 {
                return Err(vm.new_value_error("number of bits must be non-negative"));
            }
            let mut generator = zelf.generator.borrow_mut();
            let mut bytes = Vec::new();
            let mut left = bits as u64;
            while left > 0 {
                let word = generator.next_u32();
                let word = if left < 32 { word >> (32 - left) } else { word };
                bytes.extend_from_slice(&word.to_le_bytes());
                left = left.saturating_sub(32);
            }
            Ok(vm.ctx.new_int(BigInt::from_bytes_le(Sign::Plus, &bytes)).into())
        }

        #[pymethod]
        fn getstate(zelf: &Py<Self>, vm: &VirtualMachine) -> PyTupleRef {
            let generator = zelf.generator.borrow();
            let words = generator.state.iter().copied().chain([generator.index as u32]);
            vm.ctx.new_tuple(words.map(|word| vm.ctx.new_int(word).into()).collect())
        }

        #[pymethod]
        fn setstate(zelf: &Py<Self>, state: PyTupleRef, vm: &VirtualMachine) -> PyResult<()> {
            let words: Vec<u32> = state.as_slice().iter().map(|word| word.try_to_value(vm)).collect::<PyResult<_>>()?;
            let Some((index, words)) = words.split_last() else {
                return Err(vm.new_value_error("state vector is the wrong size"));
            };
            if words.len() != WORDS {
                return Err(vm.new_value_error("state vector is the wrong size"));
            }
            let twister = Twister::from_state(words, *index as usize);
            *zelf.generator.borrow_mut() = twister.ok_or_else(|| vm.new_value_error("invalid state"))?;
            Ok(())
        }
    }

    /// Bytes of the system's own randomness, for `os.urandom`.
    #[pyfunction]
    fn urandom(count: usize, vm: &VirtualMachine) -> PyResult<Vec<u8>> {
        let mut bytes = vec![0; count];
        fill(&mut bytes, vm)?;
        Ok(bytes)
    }
}

use rustpython_vm::{PyResult, VirtualMachine};

fn fill(bytes: &mut [u8], vm: &VirtualMachine) -> PyResult<()> {
    getrandom::fill(bytes).map_err(|error| vm.new_os_error(error.to_string()))
}

/// Words of the generator's state.
const WORDS: usize = 624;
/// Distance of the two words that make a new one.
const MIDDLE: usize = 397;

/// MT19937, seeded as CPython seeds it. Source: Matsumoto and Nishimura.
pub(super) struct Twister {
    state: [u32; WORDS],
    index: usize,
}

impl std::fmt::Debug for Twister {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Twister").field("index", &self.index).finish_non_exhaustive()
    }
}

impl Default for Twister {
    fn default() -> Self {
        Twister::from_word(5489)
    }
}

impl Twister {
    /// How many words a state has.
    pub(super) const WORDS: usize = WORDS;

    /// The words of the state, and which comes next.
    pub(super) fn state(&self) -> (&[u32], usize) {
        (&self.state, self.index)
    }

    /// A generator in a state; `None` where it is none.
    pub(super) fn from_state(words: &[u32], index: usize) -> Option<Self> {
        let state = words.try_into().ok()?;
        (index <= WORDS).then_some(Twister { state, index })
    }

    fn from_word(seed: u32) -> Self {
        let mut state = [0; WORDS];
        state[0] = seed;
        for i in 1..WORDS {
            state[i] = (state[i - 1] ^ state[i - 1] >> 30).wrapping_mul(1_812_433_253).wrapping_add(i as u32);
        }
        Twister { state, index: WORDS }
    }

    /// `init_by_array` of the reference implementation; `key` is not empty.
    fn from_key(key: &[u32]) -> Self {
        let mut twister = Twister::from_word(19_650_218);
        let state = &mut twister.state;
        let mut i = 1;
        let mut mix = |state: &mut [u32; WORDS], multiplier: u32, add: &dyn Fn(usize) -> u32| {
            let mixed = (state[i - 1] ^ state[i - 1] >> 30).wrapping_mul(multiplier);
            state[i] = (state[i] ^ mixed).wrapping_add(add(i));
            i += 1;
            if i == WORDS {
                state[0] = state[WORDS - 1];
                i = 1;
            }
        };
        for k in 0..WORDS.max(key.len()) {
            let j = k % key.len();
            mix(state, 1_664_525, &|_| key[j].wrapping_add(j as u32));
        }
        for _ in 1..WORDS {
            mix(state, 1_566_083_941, &|i| (i as u32).wrapping_neg());
        }
        state[0] = 0x8000_0000;
        twister
    }

    pub(super) fn next_u32(&mut self) -> u32 {
        if self.index == WORDS {
            for i in 0..WORDS {
                let mixed = self.state[i] & 0x8000_0000 | self.state[(i + 1) % WORDS] & 0x7fff_ffff;
                let odd = if mixed & 1 == 1 { 0x9908_b0df } else { 0 };
                self.state[i] = self.state[(i + MIDDLE) % WORDS] ^ mixed >> 1 ^ odd;
            }
            self.index = 0;
        }
        let mut word = self.state[self.index];
        self.index += 1;
        word ^= word >> 11;
        word ^= word << 7 & 0x9d2c_5680;
        word ^= word << 15 & 0xefc6_0000;
        word ^ word >> 18
    }

    /// Uniform in [0, 1), with 53 bits.
    pub(super) fn next_f64(&mut self) -> f64 {
        let high = self.next_u32() >> 5;
        let low = self.next_u32() >> 6;
        (f64::from(high) * 67_108_864.0 + f64::from(low)) / 9_007_199_254_740_992.0
    }
}
