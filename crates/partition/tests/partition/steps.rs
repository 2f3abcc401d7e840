//! What a joint graph costs to partition that is twice as long as another: at most 2.3 times as many steps, with every solver of memory
//! budgets. Steps are visits of nodes, edges of the network that the flow looks at, and entries of the knapsacks' tables.

#[path = "../../benches/partition/stack.rs"]
mod stack;

use graph::{Graph, parse, steps};
use partition::{MemoryBudgetSolver, PartitionConfig, mark_backward, partition};
use stack::{TRANSFORMER_BLOCK, stack};

/// How much more a graph of twice the length may cost.
const MOST: f64 = 2.3;

/// `x.sin()`
const SIN: &str = "\
class inner_f(torch.nn.Module):
    def forward(self, primals, tangents):
        primals_1: \"f32[64]\"; tangents_1: \"f32[64]\";
        primals_1, tangents_1, = fx_pytree.tree_flatten_spec([primals, tangents], self._in_spec)
        sin: \"f32[64]\" = torch.ops.aten.sin.default(primals_1)
        cos: \"f32[64]\" = torch.ops.aten.cos.default(primals_1)
        mul: \"f32[64]\" = torch.ops.aten.mul.Tensor(tangents_1, cos)
        return pytree.tree_unflatten([sin, mul], self._out_spec)
";

/// `x + torch.tanh(x @ w)`
const RESIDUAL: &str = "\
class inner_f(torch.nn.Module):
    def forward(self, primals, tangents):
        primals_1: \"f32[64, 64]\"; primals_2: \"f32[64, 64]\"; tangents_1: \"f32[64, 64]\";
        primals_1, primals_2, tangents_1, = fx_pytree.tree_flatten_spec([primals, tangents], self._in_spec)
        mm: \"f32[64, 64]\" = torch.ops.aten.mm.default(primals_1, primals_2)
        tanh: \"f32[64, 64]\" = torch.ops.aten.tanh.default(mm)
        add: \"f32[64, 64]\" = torch.ops.aten.add.Tensor(primals_1, tanh)
        tanh_backward: \"f32[64, 64]\" = torch.ops.aten.tanh_backward.default(tangents_1, tanh)
        t: \"f32[64, 64]\" = torch.ops.aten.t.default(primals_1)
        mm_1: \"f32[64, 64]\" = torch.ops.aten.mm.default(t, tanh_backward)
        t_1: \"f32[64, 64]\" = torch.ops.aten.t.default(primals_2)
        mm_2: \"f32[64, 64]\" = torch.ops.aten.mm.default(tanh_backward, t_1)
        add_1: \"f32[64, 64]\" = torch.ops.aten.add.Tensor(tangents_1, mm_2)
        return pytree.tree_unflatten([add, add_1, mm_1], self._out_spec)
";

/// The products of neighbours, of their products, and so on, of so many primals.
fn tree(leaves: usize) -> Graph {
    const KIND: &str = "\"f32[64, 64]\"";
    let primals: Vec<String> = (1..=leaves).map(|i| format!("primals_{i}")).collect();
    let inputs: Vec<&str> = primals.iter().map(String::as_str).chain(["tangents_1"]).collect();
    let mut text = "class inner_f(torch.nn.Module):\n    def forward(self, primals, tangents):\n        ".to_owned();
    text += &inputs.iter().map(|name| format!("{name}: {KIND}; ")).collect::<String>();
    text += &format!("\n        {}, = fx_pytree.tree_flatten_spec([primals, tangents], self._in_spec)\n", inputs.join(", "));
    let mut count = 0;
    let mut call = |a: &str, b: &str| {
        let name = format!("mul{}", if count == 0 { String::new() } else { format!("_{count}") });
        count += 1;
        text += &format!("        {name}: {KIND} = torch.ops.aten.mul.Tensor({a}, {b})\n");
        name
    };
    let mut level = primals.clone();
    let mut products = Vec::new();
    while level.len() > 1 {
        let pairs = level.chunks(2).map(|pair| match pair {
            [a, b] => {
                let product = call(a, b);
                products.push((product.clone(), a.clone(), b.clone()));
                product
            }
            rest => rest[0].clone(),
        });
        level = pairs.collect();
    }
    let mut gradients = std::collections::HashMap::from([(level[0].clone(), "tangents_1".to_owned())]);
    for (product, a, b) in products.iter().rev() {
        let incoming = gradients[product].clone();
        gradients.insert(a.clone(), call(&incoming, b));
        gradients.insert(b.clone(), call(&incoming, a));
    }
    let returned: Vec<&str> = [&*level[0]].into_iter().chain(primals.iter().map(|p| &*gradients[p])).collect();
    text += &format!("        return pytree.tree_unflatten([{}], self._out_spec)\n", returned.join(", "));
    let mut graph = parse(&text, &|_| None).unwrap().graph;
    mark_backward(&mut graph, 1);
    graph
}

#[test]
fn twice_the_length_takes_twice_the_steps() {
    operators::install();
    let families: [(&str, usize, &dyn Fn(usize) -> Graph); 4] = [
        ("chain", 80, &|n| stack(SIN, n)),
        ("tree", 80, &tree),
        ("residual stack", 40, &|n| stack(RESIDUAL, n)),
        ("transformer", 6, &|n| stack(TRANSFORMER_BLOCK, n)),
    ];
    let solvers = ["dp", "greedy", "ilp", "dp_knapsack_sliding_hirschberg", "dynamic_memory_budget_dp"];
    let mut wrong = String::new();
    for (family, length, graph) in families {
        for (budget, solver) in [(1.0, "dp")].into_iter().chain(solvers.map(|solver| (0.5, solver))) {
            let cost = |times: usize| {
                let joint = graph(times * length);
                let config = PartitionConfig {
                    activation_memory_budget: budget,
                    activation_memory_budget_solver: MemoryBudgetSolver::of(solver),
                    ..PartitionConfig::default()
                };
                let before = steps();
                partition(&joint, 1, &config).unwrap();
                steps() - before
            };
            let costs = [1, 2, 4].map(cost);
            let [first, second] = [costs[1] - costs[0], costs[2] - costs[1]];
            if second as f64 > MOST * first as f64 {
                wrong += &format!("{family}, budget {budget}, {solver}: {costs:?}\n");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
