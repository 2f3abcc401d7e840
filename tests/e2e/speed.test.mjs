// How long a training loop takes that the interpreter runs operator by operator.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { output, playground, settled, shows, write } from "./lib/page.mjs";

/**
 * A two-layer MLP. 300 steps at the pace of the fastest 30, because a busy machine stops the browser now and then; the same
 * without the optimizer, and the forward alone.
 */
const script = (optimizer) => `import time, torch
torch.manual_seed(0)
x = torch.randn(64, 10)
y = (x[:, :1] * x[:, 1:2] > 0).float()
model = torch.nn.Sequential(torch.nn.Linear(10, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
optimizer = torch.optim.${optimizer}(model.parameters(), lr=0.01)

def loop(backward, step):
    return 10 * min(thirty(backward, step) for _ in range(10))

def thirty(backward, step):
    start = time.perf_counter()
    for _ in range(30):
        optimizer.zero_grad()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(model(x), y)
        if backward:
            loss.backward()
        if step:
            optimizer.step()
    return time.perf_counter() - start

whole, without_step, forward = loop(True, True), loop(True, False), loop(False, False)
print(f"took {whole:.3f} {without_step:.3f} {forward:.3f}")
`;

/** What 300 steps may take on a machine that has nothing else to do. */
const SECONDS = 2;

describe("an interpreted training loop", () => {
  const pages = playground();

  for (const optimizer of ["SGD", "Adam"]) {
    it(`ends in time with ${optimizer}`, async (t) => {
      const page = await pages.open();
      await settled(page);
      await write(page, script(optimizer));
      await shows(output(page), /took/);
      const [whole, withoutStep, forward] = (await output(page).textContent()).match(/took ([\d.]+) ([\d.]+) ([\d.]+)/).slice(1).map(Number);
      t.diagnostic(`${whole} s; without the optimizer ${withoutStep} s, forward alone ${forward} s`);
      assert.ok(whole < SECONDS, `${whole} s`);
    });
  }
});
