//! Dispatch: what an operator is, and the re-entrant stack of layers a call of it goes through.
//!
//! A call goes from the top of the stack down: function transforms, capture (torch-level), autocast, autograd with view and
//! version tracking, functionalization, a script's `__torch_dispatch__`, tracing, and last a kernel or a fake kernel. A
//! layer sees calls and makes calls and knows nothing of those below it. Eager mode is the same way with fewer layers.
//! Composite operators take themselves apart just above autograd, unless a layer above has taken the call.

mod arithmetic;
mod batch;
mod builder;
mod contain;
mod entry;
mod float8;
pub mod foreach;
mod kernel;
pub mod levels;
mod lookup;
pub mod named;
mod overlap;
mod refusals;
mod registry;
pub mod saved_fields;
mod schema;
mod script;
mod stack;
mod unbacked;
mod value;

pub use arithmetic::{
    Fact, add_sizes, ask_broadcast, ask_broadcast_all, ask_call, ask_contiguity, ask_empty, ask_numel, ask_order, ask_view, ask_view_made,
    ask_write, compare_sizes, count_of, counted, divide_sizes, multiply, remainder_sizes, subtract_sizes,
};
pub use batch::{Batch, BatchCall, BatchRule, BatchedTensor};
pub use builder::OpBuilder;
pub use contain::{contained, is_contained};
pub use entry::{
    Backward, Call, CastPolicy, Complex, Derivative, Dual, Forward, ForwardFormula, Grad, Grads, OpEntry, Refusal, Rule, Tags,
};
pub use kernel::{
    Kernel, KernelTable, Large, as_in_memory, has_kernel, install_kernels, install_large, math_bits_of_view, real_kernel, require_device,
    run_backend,
};
pub use lookup::{lookup, op, overloads, overloads_as_called};
pub use operator_classes::OpClasses;
pub use overlap::check_overlap;
pub use registry::{OpRef, all, install_catalogue};
pub use schema::{Argument, Default, Return, Schema, Type};
pub use script::{
    Part, ScriptOperators, call_script, call_script_batched, define, forget_script_operators, script_has, set_script_operators,
};
pub use stack::{
    Exclude, KeepWhole, Key, Layer, Modes, Restore, call, call_below, default_device, device_context, fill_args, fill_factory_options,
    has_layer, is_excluded, is_kept_whole, is_taken, lift_to_input, measure_float, modes, pop_layer, push_layer, recorded_size,
    set_device_context, set_modes, take_layers,
};
pub use unbacked::{Naming, SizeNamer, size_of_nonzero, size_of_values};
pub use value::Value;

/// Calls an operator by name from Rust: `aten!("add.Tensor", a, b; alpha = 2.0)?` gives a [`Value`].
#[macro_export]
macro_rules! aten {
    ($name:literal $(, $arg:expr)* $(; $($key:ident = $value:expr),+)?) => {{
        static OP: $crate::OpRef = $crate::OpRef::new($name);
        $crate::fill_args(OP.get(), vec![$($crate::Value::from($arg)),*], &[$($((stringify!($key), $crate::Value::from($value))),+)?])
            .and_then(|args| $crate::call(OP.get(), args))
    }};
}

/// Calls an operator whose result is one tensor: `t!("mm", a, b)?` gives a `Tensor`.
#[macro_export]
macro_rules! t {
    ($($all:tt)*) => { $crate::aten!($($all)*).and_then($crate::Value::into_tensor) };
}
