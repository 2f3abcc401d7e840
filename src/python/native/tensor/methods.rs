//! Which operators are methods of tensors. PyTorch says so of each; here a method is made for every operator whose first argument is
//! `self`, but for those named below, which PyTorch has as functions of modules alone.

use rustpython_vm::builtins::PyType;
use rustpython_vm::{Py, PyPayload, PyRef, VirtualMachine};

use super::packet::{PyPacket, Style, base_name};
use crate::dispatch::{Type, all};

/// What the names of functions begin with.
const FUNCTIONS_OF: [&str; 4] = ["special_", "fft_", "linalg_", "upsample_"];

/// What the names of functions end with: pools and pads by their dimensions, views that are copies.
const KINDS: [&str; 4] = ["1d", "2d", "3d", "_copy"];

/// The others.
const FUNCTIONS: &str = "alias alpha_dropout_ binary_cross_entropy binary_cross_entropy_with_logits bucketize cauchy celu celu_ \
    channel_shuffle col2im combinations constant_pad_nd copy cross_entropy_loss dropout_ elu elu_ empty_like exponential \
    feature_alpha_dropout_ feature_dropout_ fill full_like gelu gelu_ geometric glu hardsigmoid hardsigmoid_ hardswish hardswish_ \
    hardtanh hardtanh_ hinge_embedding_loss huber_loss im2col kl_div l1_loss leaky_relu leaky_relu_ lift lift_fresh log_normal \
    log_sigmoid log_sigmoid_forward max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices mish mish_ \
    mse_loss multi_margin_loss multilabel_margin_loss multilabel_margin_loss_forward nll_loss nll_loss2d_forward nll_loss_forward \
    nll_loss_nd nonzero_numpy normal_functional one_hot ones_like pad pdist pixel_shuffle pixel_unshuffle poisson \
    rand_like randint_like randn_like random relu6 relu6_ rrelu rrelu_ rrelu_with_noise_functional rsub selu selu_ silu silu_ slice \
    smooth_l1_loss soft_margin_loss softplus softshrink std_mean tensordot threshold threshold_ uniform unique_dim var_mean \
    view_as_complex view_as_real zero zeros_like";

fn is_method(name: &str, functions: &std::collections::HashSet<&str>) -> bool {
    let of_module = FUNCTIONS_OF.iter().any(|p| name.starts_with(p)) || KINDS.iter().any(|k| name.ends_with(k));
    name.starts_with('_') || name == "index_copy" || !of_module && !functions.contains(name)
}

/// Gives the class its methods.
pub fn add_methods(class: &'static Py<PyType>, vm: &VirtualMachine) {
    let functions = FUNCTIONS.split_whitespace().collect();
    let mut done = std::collections::HashSet::new();
    for entry in all() {
        let takes_self = entry.schema.arguments.first().is_some_and(|a| a.name == "self" && a.ty == Type::Tensor);
        let Some(end) = entry.name.rfind('.') else { continue };
        let name = &entry.name[..end];
        let short = base_name(name);
        if !takes_self || !name.starts_with("aten.") || !is_method(short, &functions) || !done.insert(name) {
            continue;
        }
        let key = vm.ctx.intern_str(short);
        if class.get_direct_attr(key).is_none() {
            let method: PyRef<PyPacket> = PyPacket { packet: name, style: Style::Method }.into_ref(&vm.ctx);
            class.set_attr(key, method.into());
        }
    }
}
