"""Files a script writes are there to be read, and everything else about paths follows."""
import csv
import json
import os
import pickle
import shutil
import tempfile
from pathlib import Path
import torch

os.makedirs("out/a/b", exist_ok=True)
os.makedirs("out/a/b", exist_ok=True)
try:
    os.makedirs("out/a")
except FileExistsError as e:
    print("FileExistsError", e)
with open("out/log.txt", "w") as f:
    print("epoch 1", file=f)
    f.write("epoch 2\n")
with open("out/log.txt", "a") as f:
    f.write("epoch 3\n")
print(open("out/log.txt").read().splitlines())
with open(os.path.join("out", "log.txt")) as f:
    print([line.strip() for line in f])
print(os.path.exists("out"), os.path.isfile("out"), os.path.isdir("out"), os.path.getsize("out/log.txt"), sorted(os.listdir("out")))
json.dump({"a": [1, 2]}, open("out/c.json", "w"))
print(json.load(open("out/c.json")))
with open("out/rows.csv", "w", newline="") as f:
    w = csv.DictWriter(f, fieldnames=["step", "loss", "note"])
    w.writeheader()
    w.writerow({"step": 1, "loss": 0.5, "note": 'a "b", c'})
with open("out/rows.csv", newline="") as f:
    print(list(csv.DictReader(f)), list(csv.reader(["1,2", '"x,y",'])))
p = Path("out") / "deep" / "er"
p.mkdir(parents=True, exist_ok=True)
(p / "note.md").write_text("hello\nworld")
print((p / "note.md").read_text().upper(), (p / "note.md").exists(), (p / "note.md").suffix, sorted(x.name for x in Path("out").iterdir()))
print(sorted(str(x) for x in Path("out").rglob("*.md")))
for root, folders, files in os.walk("out"):
    print(root, sorted(folders), sorted(files))
    folders.sort()
os.rename("out/log.txt", "out/old.txt")
shutil.copy("out/old.txt", "out/new.txt")
os.remove("out/old.txt")
print(sorted(os.listdir("out")))
for bad in (lambda: open("missing.txt"), lambda: os.remove("missing"), lambda: open("nowhere/x", "w"), lambda: os.listdir("nix"), lambda: open("out")):
    try:
        bad()
    except OSError as e:
        print(type(e).__name__, e)
with tempfile.TemporaryDirectory() as d:
    torch.save({"w": torch.arange(3.0), "epoch": 2}, os.path.join(d, "ckpt.pt"))
    ck = torch.load(os.path.join(d, "ckpt.pt"))
    print(ck, os.listdir(d))
print(os.path.exists(d))
model = torch.nn.Linear(2, 1)
torch.save(model.state_dict(), "out/model.pth")
other = torch.nn.Linear(2, 1)
print(other.load_state_dict(torch.load("out/model.pth", weights_only=True)), torch.equal(other.weight, model.weight))
try:
    torch.save(1, "nowhere/model.pt")
except RuntimeError as e:
    print(e)
try:
    torch.load("nothing.pt")
except FileNotFoundError as e:
    print(e)
with open("out/p.pkl", "wb") as f:
    pickle.dump([1, {"a": 2}], f)
with open("out/p.pkl", "rb") as f:
    print(pickle.load(f))
with open("out/new.txt", "r+") as f:
    f.seek(6)
    f.write("X")
print(open("out/new.txt").readline())
try:
    open("out/new.txt").write("a")
except Exception as e:
    print(type(e).__name__, e)
shutil.rmtree("out")
print(os.path.exists("out"))
