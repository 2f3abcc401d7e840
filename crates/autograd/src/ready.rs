//! The queue of nodes that can run: the highest sequence number first.
//!
//! Leaves all have the same number, and scripts see the order among them (hooks that print). PyTorch's queue is a binary heap of the C++
//! library's; this one moves its elements in the same way, so that equals come out in the same order.

/// Nodes, by sequence number and key, as a heap.
#[derive(Default)]
pub(super) struct ReadyQueue(Vec<(u64, usize)>);

impl ReadyQueue {
    /// A node can run.
    pub fn push(&mut self, seq_nr: u64, key: usize) {
        self.0.push((seq_nr, key));
        self.rise(self.0.len() - 1);
    }

    /// The key of the node to run next.
    pub fn pop(&mut self) -> Option<usize> {
        let last = self.0.pop()?;
        let Some(first) = self.0.first().copied() else { return Some(last.1) };
        // The hole that the first leaves goes down to the end, of equal children to the right one; there the last element rises.
        let (count, mut hole) = (self.0.len(), 0);
        while 2 * hole + 2 < count {
            let right = 2 * hole + 2;
            let child = if self.0[right].0 < self.0[right - 1].0 { right - 1 } else { right };
            self.0[hole] = self.0[child];
            hole = child;
        }
        if 2 * hole + 1 < count {
            self.0[hole] = self.0[2 * hole + 1];
            hole = 2 * hole + 1;
        }
        self.0[hole] = last;
        self.rise(hole);
        Some(first.1)
    }

    fn rise(&mut self, mut at: usize) {
        while at > 0 && self.0[(at - 1) / 2].0 < self.0[at].0 {
            self.0.swap((at - 1) / 2, at);
            at = (at - 1) / 2;
        }
    }
}
