//! What a script leaves behind: nothing that the next one meets.

use aot_playground::python::{Interpreter, ModulePath, RunOptions, on_large_stack};
use aot_playground::report::{Event, Report};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

fn run(interpreter: &Interpreter, script: &str) -> Report {
    run_with(interpreter, script, &[])
}

/// With files beside the script.
fn run_with(interpreter: &Interpreter, script: &str, files: &[(&str, &str)]) -> Report {
    let mut modules = ModulePath::default();
    modules.add("", files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())));
    let options = RunOptions { modules: Arc::new(modules), ..RunOptions::default() };
    let report = Rc::new(RefCell::new(Report::default()));
    let sink = {
        let report = report.clone();
        Rc::new(move |event: Event| report.borrow_mut().fold(event))
    };
    interpreter.run(script, "script.py", &options, sink);
    report.take()
}

/// What shows that the library is as it should be.
const HEALTHY: &str = r#"
import collections, copy, functools, importlib, io, json, math, os, random, re, sys, time, types, warnings, _forget
import torch
print(math.sqrt(4.0), json.dumps([1, "a"]), copy.deepcopy([1]), len(re.findall("a", "banana")))
print(collections.OrderedDict(a=1), functools.reduce(lambda a, b: a + b, [1, 2, 3]), io.StringIO("x").read())
print(type(random.random()), sorted(os.environ) == sorted(os.environ), sys.maxsize > 0, callable(time.time))
print(torch.ones(2).sum(), json.JSONEncoder().encode({"k": 1}), json.JSONEncoder.item_separator, isinstance(sys.modules, dict))
print(getattr(math, "left", "nothing"), hasattr(collections, "left"), "theirs" in sys.modules)
"#;

/// Each does what a script that means no good does.
const POISONS: &[&str] = &[
    "import math; math.sqrt = lambda x: 'poison'; math.left = 'something'",
    "import sys, types; sys.modules['json'] = types.ModuleType('json'); sys.modules['theirs'] = types.ModuleType('theirs')",
    "import json; json.dumps = lambda x: 'poison'; json.JSONEncoder.encode = lambda self, o: 'poison'",
    "import json; json.dumps.__code__ = (lambda *a, **k: 'poison').__code__; json.JSONEncoder.item_separator = ' poison '",
    "import copy; copy.deepcopy.__defaults__ = (1, 2); copy._deepcopy_dispatch.clear(); copy.deepcopy = None",
    "import random; random.random = lambda: 'poison'; random.Random.random = None",
    "import importlib, sys; sys.meta_path.clear(); sys.path_hooks.clear(); importlib.import_module = None",
    "import importlib._bootstrap as b; b._find_and_load.__code__ = (lambda *a: 1 / 0).__code__",
    "import _forget; _forget.forget = lambda: None; _forget._UNDO.clear(); import math; math.sqrt = None",
    "import collections; collections.left = 1; collections.OrderedDict = dict; collections.namedtuple = None",
    "import functools; functools.reduce = None; functools.partial = None; functools.wraps.__code__ = (lambda *a, **k: None).__code__",
    "import builtins; builtins.print = lambda *a: None; builtins.len = None; builtins.__import__ = None",
    "import sys; sys.modules.clear()",
    "import sys; sys.modules = {}; sys.stdout = None; sys.setrecursionlimit(50)",
    "import re; re.findall = None; re._cache.clear(); re.compile.__kwdefaults__ = {'x': 1}",
    "import warnings; warnings.warn = None; warnings.filters = None; warnings.showwarning = print",
    "import io, os; io.StringIO = None; os.environ['X'] = 'poison'; os.environ = None",
    "import torch; torch.ones = None; torch.Tensor.sum = None; torch.nn.Linear.forward = None",
    "import codecs, encodings; codecs.lookup = None; encodings.search_function = None; encodings._cache.clear()",
    "import gc; gc.collect = None; gc.freeze = None; import atexit; atexit._run_exitfuncs = None",
    "import types; types.FunctionType = None; import abc; abc.ABCMeta.__instancecheck__ = lambda *a: False",
    "import time; time.time = None; import enum; enum.Enum.__repr__ = lambda self: 'poison'; import typing; typing.Any = None",
];

#[test]
fn a_script_leaves_nothing_behind() {
    on_large_stack(|| {
        let interpreter = Interpreter::new();
        let healthy = run(&interpreter, HEALTHY);
        assert!(healthy.exception.is_none(), "{}", healthy.exception.map_or_else(String::new, |e| e.traceback));
        let mut wrong = Vec::new();
        for poison in POISONS {
            // Once where the library was just imported by the poisoned script, once where it was there.
            for _ in 0..2 {
                run(&interpreter, poison);
                let after = run(&interpreter, HEALTHY);
                let failed = after.exception.as_ref().map_or("", |e| e.traceback.as_str());
                if after.stdout != healthy.stdout || !failed.is_empty() {
                    let diff = similar::TextDiff::from_lines(&healthy.stdout, &after.stdout).unified_diff().to_string();
                    wrong.push(format!("{poison}\n{diff}{failed}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), 2 * POISONS.len(), wrong.join("\n"));
    })
    .unwrap();
}

#[test]
fn files_beside_a_script_are_those_of_its_run() {
    const SCRIPT: &str = "
import torch, sys
try:
    import layers, tqdm, random
    print(torch.compile(layers.f)(torch.ones(2)).tolist(), layers.__file__, tqdm.__file__ == 'tqdm.py', hasattr(random, 'theirs'))
except ImportError as error:
    print(error)
layers = sys.modules.get('layers')
if layers is not None: layers.SCALE = 100
";
    let said = |report: Report| format!("{}{}", report.stderr, report.stdout);
    on_large_stack(|| {
        let interpreter = Interpreter::new();
        let layers = |scale: u32| format!("SCALE = {scale}\ndef f(x):\n    return x * SCALE\n");
        let (two, three) = (layers(2), layers(3));
        let files = |text: &str| run_with(&interpreter, SCRIPT, &[("layers.py", text), ("tqdm.py", ""), ("random.py", "theirs = 1")]);
        let ignored = "'random' is not imported from files: the standard library has a module of this name\n";
        for _ in 0..2 {
            assert_eq!(said(files(&two)), format!("{ignored}[2.0, 2.0] layers.py True False\n"));
            assert_eq!(said(files(&three)), format!("{ignored}[3.0, 3.0] layers.py True False\n"));
            assert_eq!(said(run(&interpreter, SCRIPT)), "No module named 'layers'\n");
            // The library's own is there again.
            let own = run(&interpreter, "import tqdm; print(list(tqdm.tqdm([1])), tqdm.__spec__.origin)");
            assert_eq!(said(own), "[1] frozen\n");
        }
    })
    .unwrap();
}
