//! Scripts as they are made smaller, by predicates on their text.

use minimize::{Smallest, Verdict, minimize, number, statements};

/// The smallest script that still holds all of `words`.
fn holding(source: &str, words: &[&str]) -> Smallest {
    let mut keeps = |text: &str| if words.iter().all(|word| text.contains(word)) { Verdict::Keeps } else { Verdict::Loses };
    minimize(source, [], &mut keeps, &mut |_| {})
}

fn check(cases: &[(&str, &[&str], &str)]) {
    for (source, words, smallest) in cases {
        assert_eq!(holding(source, words).text, *smallest, "of\n{source}");
    }
}

#[test]
fn statements_go_and_what_held_them() {
    check(&[
        ("a = 1\nb = 2\nc = 3\n", &["b = "], "b = 1\n"),
        ("def main(x):\n    y = x\n    b(y)\n\nif __name__ == '__main__':\n    main(3)\n", &["b(", "3"], "3\nb()\n"),
        ("if x:\n    y = 1\n    keep()\nelse:\n    z()\n", &["keep"], "keep()\n"),
        ("with torch.no_grad():\n    for i in range(4):\n        keep(i)  # why\n", &["keep"], "keep()\n"),
        ("for i in range(4):\n    keep(i)\n", &["keep", "range"], "keep(range())\n"),
        ("try:\n    f()\nexcept ValueError:\n    keep()\nfinally:\n    g()\n", &["keep"], "keep()\n"),
        ("x = 1; keep(); y = 2\n", &["keep"], "keep()\n"),
        ("class A(B):\n    '''Text.'''\n    def f(self):\n        return keep(1)\n", &["class", "keep"], "class A:\n    return keep()\n"),
        ("@d\n@e(1)\ndef f(a: int = 1, *, b=2) -> int:\n    return a\n", &["def f"], "def f():\n    pass\n"),
    ]);
}

#[test]
fn strings_of_several_lines_keep_their_lines() {
    check(&[(
        "if x:\n    text = '''\nfirst\n    second # no comment\n'''\n    show(text)  # a comment\n",
        &["first\n    second # no comment\n", "show"],
        "show('''\nfirst\n    second # no comment\n''')\n",
    )]);
}

#[test]
fn elements_parts_and_numbers_go() {
    check(&[
        ("from torch import nn, optim, keep\n", &["import", "keep"], "from torch import keep\n"),
        ("f(a, (b), c=keep(1), *d)\n", &["keep"], "keep()\n"),
        ("f(a, keep, d)\n", &["f(", "keep"], "f(keep)\n"),
        ("x = {'a': 1, 'keep': 2}\n", &["keep", ":"], "{'keep': 1}\n"),
        ("x = (a + b).relu() if c else keep.sum()\n", &["keep"], "keep\n"),
        ("x = keep((a + b) * c)\n", &["keep", "a", "b"], "keep(a + b)\n"),
        (
            "x = torch.randn(64, 32)\ny = torch.randn(64, 32)\n",
            &["x = torch.randn(", "y = torch.randn("],
            "x = torch.randn()\ny = torch.randn()\n",
        ),
        ("a, b = f(1), keep(2)\n", &["b = keep"], "b = keep()\n"),
        ("print(f'{x} and {keep}')\n", &["keep"], "keep\n"),
        ("x = 1000000\nf(x, 17)\n", &["f(", "1"], "f(1)\n"),
        ("f('a long text that nobody wants to read: keep')\n", &["f(", "keep"], "f(\"dy wants to read: keep\")\n"),
    ]);
}

/// What scripts need is kept by a predicate that follows names as Python does: what is used is defined before.
fn is_sound(text: &str) -> bool {
    let defined = |name: &str, at: usize| {
        ["def NAME(", "class NAME", "NAME = ", "(self, NAME", "(NAME)"].iter().any(|form| text[..at].contains(&form.replace("NAME", name)))
    };
    text.match_indices("use_").all(|(at, _)| {
        let name: String = text[at + 4..].chars().take_while(char::is_ascii_alphanumeric).collect();
        defined(&name, at)
    })
}

#[test]
fn names_are_replaced_by_their_values() {
    let mut keeps = |text: &str| if is_sound(text) && text.contains("keep(use_") { Verdict::Keeps } else { Verdict::Loses };
    let smallest = minimize("a = 5\nb = a\nc = b + 1\nkeep(use_c)\n", [], &mut keeps, &mut |_| {});
    assert_eq!(smallest.text, "c = b\nkeep(use_c)\n");
    check(&[
        ("def f(x, y=2):\n    return keep(x)\nf(a + b, y=3)\n", &["keep(", "a + b"], "keep(a + b)\n"),
        (
            "class Net(Module):\n    def __init__(self, d):\n        super().__init__()\n        self.keep = Linear(d, 1)\n    def forward(self, x):\n        return self.keep(x)\nNet(8)(z)\n",
            &["Linear(", "(z)"],
            "Linear()(z)\n",
        ),
    ]);
}

#[test]
fn modules_go_without_their_class() {
    check(&[(
        "class Net(Module):\n    def __init__(self):\n        super().__init__()\n        self.a = A()\n    def forward(self, x):\n        y = keep(self.a, x)\n        return y\ncompile(Net())(1)\n",
        &["= A()", "keep(", "a, x)", "compile("],
        "a = A()\nkeep(a, x)\ncompile()\n",
    )]);
    // What an object is made of may be made after its class, and any of its methods may be what is called.
    let mut runs = |text: &str| {
        let [made, used, called] = ["made = list(net)\n", "views = made", "keep("].map(|word| text.find(word));
        let in_order = made < used || (text.contains("def step(self)") && text.contains("Flat().step()"));
        if made.and(used).and(called).is_some() && in_order { Verdict::Keeps } else { Verdict::Loses }
    };
    let source = "class Flat:\n    def __init__(self):\n        self.views = made\n    def step(self):\n        keep(self.views)\nmade = list(net)\nFlat().step()\n";
    assert_eq!(minimize(source, [], &mut runs, &mut |_| {}).text, "made = list(net)\nviews = made\nkeep()\n");
}

#[test]
fn parameters_go_with_their_arguments() {
    let commas = |line: &str| line.matches(',').count();
    let mut keeps = |text: &str| {
        let line = |start: &str| text.lines().find(|line| line.starts_with(start)).map(commas);
        let kept = line("def f(").is_some() && line("def f(") == line("f(") && text.contains("g(") && line("g(") == Some(1);
        if kept { Verdict::Keeps } else { Verdict::Loses }
    };
    let smallest = minimize("def f(x, y, z):\n    more()\nf(1, 2, 3)\ng(3, 4)\n", [], &mut keeps, &mut |_| {});
    assert_eq!(smallest.text, "def f():\n    pass\nf()\ng(1, 1)\n");
}

#[test]
fn what_is_no_python_has_lines() {
    check(&[("a = 1\nfor x in\nb = 2\n", &["for x in"], "for x in\n")]);
}

#[test]
fn what_was_tried_is_not_tried_again() {
    let source = "a = 1\nb = 2\nc = 3\nd = 4\nkeep = 5\n";
    let mut tried = Vec::new();
    let mut keeps = |text: &str| {
        tried.push(number(text));
        if text.contains("keep = ") { Verdict::Keeps } else { Verdict::Loses }
    };
    let whole = minimize(source, [], &mut keeps, &mut |_| {});
    assert_eq!(whole.tries as usize, tried.len());
    let numbers = tried.len();
    tried.sort_unstable();
    tried.dedup();
    assert_eq!(tried.len(), numbers);
    // Everything but what keeps: another search comes to the same and tries less.
    let mut lost = Vec::new();
    let mut keeps = |text: &str| match text.contains("keep = ") {
        true => Verdict::Keeps,
        false => {
            lost.push(number(text));
            Verdict::Loses
        }
    };
    minimize(source, [], &mut keeps, &mut |_| {});
    let mut keeps = |text: &str| if text.contains("keep = ") { Verdict::Keeps } else { panic!("tried again:\n{text}") };
    assert_eq!(minimize(source, lost, &mut keeps, &mut |_| {}).text, whole.text);
}

#[test]
fn a_search_can_be_stopped_and_tells_how_far_it_is() {
    let source: String = (0..40).map(|line| format!("x{line} = {line}\n")).collect();
    let (mut left, mut heard) = (8, Vec::new());
    let mut keeps = |text: &str| {
        left -= 1;
        match (left, text.contains("x7 = ")) {
            (0, _) => Verdict::Stop,
            (_, true) => Verdict::Keeps,
            (_, false) => Verdict::Loses,
        }
    };
    let smallest = minimize(&source, [], &mut keeps, &mut |smallest| heard.push(smallest.statements));
    assert_eq!(smallest.tries, 7);
    assert_eq!(heard.last(), Some(&smallest.statements));
    assert!(heard.is_sorted_by(|a, b| a > b) && smallest.statements < 20, "{heard:?}");
    assert_eq!(statements(&smallest.text), smallest.statements);
}
