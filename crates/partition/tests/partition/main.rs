//! The partitioners, beside what PyTorch partitioned and by what holds of every partition.

mod random;
mod random_graph;
mod recorded;
