//! What runs a kernel's code: tiles natively, WebAssembly in the page.

#[cfg(not(target_arch = "wasm32"))]
pub use native::Machine;
#[cfg(target_arch = "wasm32")]
pub use page::Machine;

#[cfg(not(target_arch = "wasm32"))]
mod native {
    use crate::kernel::Code;
    use crate::tiles::{TILE, Tiles};
    use diagnostics::error::Result;

    /// Runs a kernel's code.
    pub struct Machine(Tiles);

    impl Machine {
        /// Of a kernel's code.
        ///
        /// # Errors
        /// None natively.
        pub fn new(code: &Code) -> Result<Machine> {
            Ok(Machine(Tiles::new(code)))
        }
        /// Elements of a tile.
        pub fn tile(&self) -> usize {
            TILE
        }
        /// Takes what is the same in every tile.
        pub fn begin(&mut self, constants: &[f32], same: &[f32]) {
            self.0.begin(constants, same);
        }
        /// Runs a tile.
        pub fn run(&mut self, inputs: &[&[f32]], n: usize) {
            self.0.run(inputs, n);
        }
        /// The input that an output is, where it is one.
        pub fn passes(&self, output: usize) -> Option<usize> {
            self.0.passes(output)
        }
        /// An output of the tile that has just been run, where it is no input.
        pub fn output(&self, output: usize) -> &[f32] {
            self.0.output(output)
        }
    }
}

#[cfg(target_arch = "wasm32")]
mod page {
    use crate::kernel::Code;
    use crate::wasm::{FUNCTION, MEMORY, write};
    use diagnostics::error::{Error, Result};
    use js_sys::{Function, Object, Reflect, Uint8Array, WebAssembly};
    use std::cell::RefCell;
    use std::collections::HashMap;
    use wasm_bindgen::{JsCast, JsValue};

    /// Elements of a tile: inputs and outputs of some kernels stay in the second cache.
    const TILE: usize = 4096;
    /// Modules that are kept.
    const KEPT: usize = 64;

    thread_local! {
        static FUNCTIONS: RefCell<HashMap<Code, Function>> = RefCell::default();
    }

    fn failed(error: JsValue) -> Error {
        Error::runtime(format!("a kernel was refused: {error:?}"))
    }

    fn compiled(code: &Code) -> Result<Function> {
        if let Some(function) = FUNCTIONS.with_borrow(|f| f.get(code).cloned()) {
            return Ok(function);
        }
        let bytes = write(code);
        let module = WebAssembly::Module::new(&Uint8Array::from(bytes.as_slice()).into()).map_err(failed)?;
        let (imports, given) = (Object::new(), Object::new());
        Reflect::set(&given, &MEMORY.1.into(), &wasm_bindgen::memory()).map_err(failed)?;
        Reflect::set(&imports, &MEMORY.0.into(), &given).map_err(failed)?;
        let instance = WebAssembly::Instance::new(&module, &imports).map_err(failed)?;
        let function: Function = Reflect::get(&instance.exports(), &FUNCTION.into()).map_err(failed)?.unchecked_into();
        FUNCTIONS.with_borrow_mut(|f| {
            if f.len() >= KEPT {
                f.clear();
            }
            f.insert(code.clone(), function.clone());
        });
        Ok(function)
    }

    /// Runs a kernel's code.
    pub struct Machine {
        function: Function,
        /// What the function reads: the number of elements, addresses, constants.
        given: Vec<u32>,
        inputs: usize,
        same: Vec<f32>,
        outputs: Vec<Vec<f32>>,
        is_same: Vec<bool>,
    }

    impl Machine {
        /// Of a kernel's code.
        ///
        /// # Errors
        /// Where the browser refuses the module.
        pub fn new(code: &Code) -> Result<Machine> {
            let (inputs, outputs) = (usize::from(code.inputs), code.outputs.len());
            let mut is_same = vec![false; inputs];
            for step in &code.steps {
                if let crate::kernel::Step::Same(i) = step {
                    is_same[usize::from(*i)] = true;
                }
            }
            Ok(Machine {
                function: compiled(code)?,
                given: vec![0; 1 + inputs + outputs + usize::from(code.constants)],
                inputs,
                same: vec![0.0; inputs],
                outputs: vec![vec![0.0; TILE]; outputs],
                is_same,
            })
        }
        /// Elements of a tile.
        pub fn tile(&self) -> usize {
            TILE
        }
        /// Takes what is the same in every tile.
        pub fn begin(&mut self, constants: &[f32], same: &[f32]) {
            let first = 1 + self.inputs + self.outputs.len();
            self.given[first..].iter_mut().zip(constants).for_each(|(to, v)| *to = v.to_bits());
            self.same.copy_from_slice(same);
        }
        /// Runs a tile.
        pub fn run(&mut self, inputs: &[&[f32]], n: usize) {
            self.given[0] = n as u32;
            for (i, slice) in inputs.iter().enumerate() {
                debug_assert!(self.is_same[i] || slice.len() >= n);
                self.given[1 + i] = if self.is_same[i] { &raw const self.same[i] as u32 } else { slice.as_ptr() as u32 };
            }
            for (i, output) in self.outputs.iter_mut().enumerate() {
                self.given[1 + self.inputs + i] = output.as_mut_ptr() as u32;
            }
            // The function reads n elements of every input and writes as many of every output, which are at least as long; it cannot fail.
            let _ = self.function.call1(&JsValue::NULL, &JsValue::from(self.given.as_ptr() as u32));
        }
        /// The input that an output is, where it is one: here outputs are always written.
        pub fn passes(&self, _output: usize) -> Option<usize> {
            None
        }
        /// An output of the tile that has just been run.
        pub fn output(&self, output: usize) -> &[f32] {
            &self.outputs[output]
        }
    }
}
