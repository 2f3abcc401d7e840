//! Higher-order operators: control flow, custom functions, checkpoints, hooks, and operators around a call of another.

pub(super) mod auto_functionalized;
mod autograd_function;
mod checkpoint;
mod cond;
mod flex_attention;
pub(in crate::aot) mod flex_math;
pub(in crate::aot) mod hook;
mod invoke_subgraph;
mod map;
pub(super) mod mod_index;
pub(super) mod operator;
mod random_state;
mod rows;
mod scan;
mod subgraphs;
mod while_loop;
mod with_effects;

/// Puts all of them into the table.
pub(super) fn register() {
    operator::register(|| {
        vec![
            &autograd_function::AUTOGRAD_FUNCTION_APPLY,
            &auto_functionalized::AUTO_FUNCTIONALIZED,
            &checkpoint::TAG_ACTIVATION_CHECKPOINT,
            &cond::COND,
            &flex_attention::FLEX_ATTENTION,
            &flex_attention::FLEX_ATTENTION_BACKWARD,
            &hook::REGISTER_HOOK,
            &hook::REGISTER_HOOK_TRAMPOLINE,
            &invoke_subgraph::INVOKE_SUBGRAPH_OPERATOR,
            &map::MAP,
            &mod_index::MOD_INDEX,
            &random_state::RUN_AND_SAVE_RNG_STATE,
            &random_state::RUN_WITH_RNG_STATE,
            &scan::SCAN,
            &while_loop::WHILE_LOOP,
            &while_loop::WHILE_LOOP_STACK_OUTPUT,
            &with_effects::WITH_EFFECTS,
        ]
    });
}
