//! Small systems, one rule each.

use validator::{Formula, Values, Verdict, implies, needed, parse};

fn formulas(texts: &[&str]) -> Vec<Formula> {
    texts.iter().map(|t| parse(t).unwrap()).collect()
}

/// What is said of guards and of what was asked.
fn verdict(target: &[&str], source: &[&str]) -> String {
    match implies(&formulas(target), &formulas(source), &Values::new()) {
        Verdict::Proved => "proved".to_owned(),
        Verdict::NotDecided => "not decided".to_owned(),
        Verdict::Counterexample(values, at) => {
            let values: Vec<String> = values.iter().map(|(name, value)| format!("{name} = {value}")).collect();
            format!("counterexample to {}: {}", source[at], values.join(", "))
        }
    }
}

#[test]
fn guards_that_imply_what_was_asked() {
    for (target, source) in [
        (&["(> s0 5)"][..], "(> s0 4)"),
        (&["(>= a 2)", "(== b (* 2 a))"], "(>= b 4)"),
        (&["(< a b)", "(< b c)"], "(< (+ a 1) c)"),
        (&["(== (mod a 8) 0)"], "(== (mod a 4) 0)"),
        (&["(== (mod a 8) 0)", "(>= a 1)"], "(>= a 8)"),
        (&["(== (mod a 4) 0)", "(== (mod a 6) 0)", "(>= a 1)"], "(>= a 12)"),
        (&["(== (mod a 8) 0)"], "(== (idiv a 4) (* 2 (idiv a 8)))"),
        (&["(>= a 2)", "(>= b 2)"], "(>= (* a b) 4)"),
        (&["(>= a 2)", "(>= b 2)"], "(!= (* a b) a)"),
        (&["(>= a 2)", "(>= b 2)"], "(> (+ (* a b) (* -1 a)) 1)"),
        (&["(>= a 2)", "(>= b 2)"], "(<= (mod a b) a)"),
        (&["(>= a 2)", "(>= b 2)", "(< a b)"], "(== (idiv a b) 0)"),
        (&["(>= a 2)", "(>= b 2)"], "(== (idiv (* a b) b) a)"),
        (&["(>= a 2)", "(== b (* a a))"], "(== (mod b a) 0)"),
        (&["(>= a 3)", "(<= a 5)", "(!= a 3)", "(!= a 4)"], "(== a 5)"),
        (&["(<= (* a a) 30)", "(>= a 5)"], "(== a 5)"),
        (&["(>= a 2)", "(>= b 2)", "(>= c 1)", "(< b c)"], "(< (* a b) (* a c))"),
        (&["(>= a 2)"], "(!= (idiv a 2) a)"),
        (&["(>= a 2)"], "(== (max a 1) a)"),
        (&["(>= a 4)"], "(!= (* (+ a -2) (+ a -2)) 0)"),
        (&["(<= a 9000000000000000000)"], "(<= a 9000000000000000001)"),
        (&["(>= a 2)", "(>= b 2)"], "(>= (+ (max a b) (min a b)) (+ a b))"),
        (&["(or (== a 3) (== a 4))"], "(and (>= a 3) (< a 5))"),
        (&["(not (and (> a 3) p))", "p"], "(<= a 3)"),
        (&["(== (if (> a 3) 1 2) 1)"], "(> a 3)"),
        (&["(== (+ a b) 7)", "(>= a 2)", "(>= b 2)"], "(<= a 5)"),
        (&["(== (* 2 a) (* 3 b))", "(>= b 1)"], "(>= a 3)"),
        (&["(== (idiv (+ a 3) 4) 1)"], "(<= (+ a -1) 3)"),
    ] {
        assert_eq!(verdict(target, &[source]), "proved", "{target:?}: {source}");
    }
}

#[test]
fn guards_that_allow_more() {
    for (target, source, expected) in [
        (&["(> s0 2)"][..], "(> s0 4)", "s0 = 3"),
        (&["(== (mod a 4) 0)", "(>= a 1)"], "(== (mod a 8) 0)", "a = 4"),
        (&["(>= a 2)", "(>= b 2)"], "(!= (* a b) 6)", "a = 2, b = 3"),
        (&["(>= a 2)", "(>= b 2)"], "(<= (* a b) 40)", "a = 2, b = 21"),
        (&["(>= a 2)", "(== b (+ a 3))"], "(!= (mod b a) 0)", "a = 3, b = 6"),
        (&["(>= a 2)", "(<= a 90)"], "(!= (idiv a 7) 9)", "a = 63"),
    ] {
        assert_eq!(verdict(target, &[source]), format!("counterexample to {source}: {expected}"), "{target:?}: {source}");
    }
}

#[test]
fn what_is_not_decided_is_not_said() {
    for (target, source) in [
        // No bound, and no integers satisfy it: that takes number theory.
        (&["(>= x 1)", "(>= y 1)", "(>= z 1)"][..], "(!= (+ (* x x x) (* y y y)) (* z z z))"),
        // A float is any number here.
        (&["(>= a 2)"], "(== (opaque |FloorToInt(0.5*a)|) 1)"),
    ] {
        assert_eq!(verdict(target, &[source]), "not decided", "{target:?}: {source}");
    }
}

#[test]
fn numbers_at_the_end_of_what_is_computed_with() {
    let (large, larger) = ("170141183460469231731687303715884105727", "79228162514264337593543950336");
    for (target, source, expected) in [
        (format!("(== a {large})"), "(> a 0)".to_owned(), "not decided"),
        (format!("(== a {larger})"), format!("(> (* a a) {larger})"), "not decided"),
        (format!("(<= a -{larger})"), "(< a 0)".to_owned(), "proved"),
        (format!("(>= a {larger})"), format!("(> (+ a {larger}) 0)"), "proved"),
        (format!("(>= (* {larger} a) {larger})"), "(>= a 1)".to_owned(), "proved"),
    ] {
        assert_eq!(verdict(&[&target], &[&source]), expected, "{target}: {source}");
    }
}

#[test]
fn the_fewest_guards_that_leave_one_value() {
    let given = formulas(&["(>= a 2)"]);
    let among = formulas(&["(< a 9)", "(!= a 2)", "(== (mod a 5) 0)", "(!= a 7)"]);
    let only = parse("(== a 5)").unwrap();
    assert_eq!(needed(&given, &among, &only, &Values::new()), Some(vec![0, 2]));
    assert_eq!(needed(&given, &among[..2], &only, &Values::new()), None);
}
