//! Selection and sorting with the steps of the C++ library that PyTorch is built with: among equal values, which come first is an
//! outcome of these steps, and `topk` shows it.

/// Puts the first `k` of `items` in front, as `topk` does: `before` says which of two comes first.
pub fn top_k<T: Copy>(items: &mut [T], k: usize, sorted: bool, before: impl Fn(&T, &T) -> bool) {
    if k == 0 {
        return;
    }
    let order = Order { before };
    if k * 64 <= items.len() {
        order.partial_sort(items, k);
    } else {
        order.nth_element(items, k - 1);
        if sorted {
            order.sort(&mut items[..k - 1]);
        }
    }
}

/// Sorts as `sort` does where it need not be stable.
pub fn sort<T: Copy>(items: &mut [T], before: impl Fn(&T, &T) -> bool) {
    Order { before }.sort(items);
}

struct Order<F> {
    before: F,
}

/// Rounds before a heap takes over.
fn depth_limit(n: usize) -> usize {
    2 * n.max(1).ilog2() as usize
}

impl<F> Order<F> {
    fn nth_element<T: Copy>(&self, items: &mut [T], nth: usize)
    where
        F: Fn(&T, &T) -> bool,
    {
        let (mut first, mut last, mut depth) = (0, items.len(), depth_limit(items.len()));
        while last - first > 3 {
            if depth == 0 {
                self.heap_select(&mut items[first..last], nth + 1 - first);
                items.swap(first, nth);
                return;
            }
            depth -= 1;
            let cut = first + self.partition(&mut items[first..last]);
            if cut <= nth { first = cut } else { last = cut }
        }
        self.insertion_sort(&mut items[first..last]);
    }

    /// Splits around the median of three; gives where the second part begins.
    fn partition<T: Copy>(&self, items: &mut [T]) -> usize
    where
        F: Fn(&T, &T) -> bool,
    {
        let (a, b, c) = (1, items.len() / 2, items.len() - 1);
        let less = |items: &[T], x: usize, y: usize| (self.before)(&items[x], &items[y]);
        let median = if less(items, a, b) {
            if less(items, b, c) {
                b
            } else if less(items, a, c) {
                c
            } else {
                a
            }
        } else if less(items, a, c) {
            a
        } else if less(items, b, c) {
            c
        } else {
            b
        };
        items.swap(0, median);
        let (mut low, mut high) = (1, items.len());
        loop {
            while less(items, low, 0) {
                low += 1;
            }
            high -= 1;
            while less(items, 0, high) {
                high -= 1;
            }
            if low >= high {
                return low;
            }
            items.swap(low, high);
            low += 1;
        }
    }

    fn insertion_sort<T: Copy>(&self, items: &mut [T])
    where
        F: Fn(&T, &T) -> bool,
    {
        for i in 1..items.len() {
            let value = items[i];
            let mut hole = i;
            while hole > 0 && (self.before)(&value, &items[hole - 1]) {
                items[hole] = items[hole - 1];
                hole -= 1;
            }
            items[hole] = value;
        }
    }

    fn sort<T: Copy>(&self, items: &mut [T])
    where
        F: Fn(&T, &T) -> bool,
    {
        // Parts of up to sixteen are left to the insertion sort at the end.
        let mut parts = vec![(0, items.len(), depth_limit(items.len()))];
        while let Some((first, mut last, mut depth)) = parts.pop() {
            while last - first > 16 {
                if depth == 0 {
                    self.partial_sort(&mut items[first..last], last - first);
                    break;
                }
                depth -= 1;
                let cut = first + self.partition(&mut items[first..last]);
                parts.push((cut, last, depth));
                last = cut;
            }
        }
        self.insertion_sort(items);
    }

    fn partial_sort<T: Copy>(&self, items: &mut [T], k: usize)
    where
        F: Fn(&T, &T) -> bool,
    {
        self.heap_select(items, k);
        for last in (1..k).rev() {
            let value = items[last];
            items[last] = items[0];
            self.sift(&mut items[..last], 0, value);
        }
    }

    /// Brings the first `k` to the front, as a heap.
    fn heap_select<T: Copy>(&self, items: &mut [T], k: usize)
    where
        F: Fn(&T, &T) -> bool,
    {
        for parent in (0..k / 2).rev() {
            let value = items[parent];
            self.sift(&mut items[..k], parent, value);
        }
        for i in k..items.len() {
            if (self.before)(&items[i], &items[0]) {
                let value = items[i];
                items[i] = items[0];
                self.sift(&mut items[..k], 0, value);
            }
        }
    }

    /// Puts a value into the hole of a heap: down to a leaf, then up again to its place.
    fn sift<T: Copy>(&self, heap: &mut [T], top: usize, value: T)
    where
        F: Fn(&T, &T) -> bool,
    {
        let (n, mut hole) = (heap.len(), top);
        while 2 * hole + 2 < n {
            let right = 2 * hole + 2;
            let child = if (self.before)(&heap[right], &heap[right - 1]) { right - 1 } else { right };
            heap[hole] = heap[child];
            hole = child;
        }
        if 2 * hole + 2 == n {
            heap[hole] = heap[2 * hole + 1];
            hole = 2 * hole + 1;
        }
        while hole > top {
            let parent = (hole - 1) / 2;
            if !(self.before)(&heap[parent], &value) {
                break;
            }
            heap[hole] = heap[parent];
            hole = parent;
        }
        heap[hole] = value;
    }
}
