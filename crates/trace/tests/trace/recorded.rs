//! Recorded logs: every graph prints back, every partition is decided as logged, and `explain` says what `logs/explained.txt` holds.
//! `ACCEPT=1` writes that file.

use super::folders::check;
use super::{folder, open, recorded};
use graph::print_readable;
use trace::{Given, Stage, decision, explain, report};

/// The recorded logs, those of one run together.
fn all() -> Vec<(String, Vec<Given>)> {
    let read = |name: &str| Given { name: name.to_owned(), bytes: std::fs::read(folder().join(name)).unwrap() };
    let names = |below: &str| {
        let entries = std::fs::read_dir(folder().join(below)).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let is_log = |name: &String| name.ends_with(".trace.txt") || name.ends_with("_logs.txt") || name.starts_with("rank_");
        let mut names: Vec<String> =
            entries.filter(is_log).map(|name| if below.is_empty() { name } else { format!("{below}/{name}") }).collect();
        names.sort();
        names
    };
    let mut out: Vec<(String, Vec<Given>)> =
        ["", "2.1.2", "2.4.1"].iter().flat_map(|below| names(below)).map(|name| (name.clone(), vec![read(&name)])).collect();
    out.push(("ranks".to_owned(), names("ranks").iter().map(|name| read(name)).collect()));
    out
}

#[test]
fn recorded_logs_are_read() {
    operators::install();
    let (mut explained, mut wrong, mut split) = (String::new(), Vec::new(), 0);
    for (name, given) in all() {
        let log = trace::open(given).unwrap();
        for compilation in &log.compilations {
            let frame = log.frame_of(compilation);
            wrong.extend(compilation.graphs.iter().filter_map(|graph| check(&log, graph, frame)));
            let graphs = decision::graphs(&log, compilation);
            if compilation.graph(&Stage::Joint).is_some() && graphs.forward.is_some() {
                split += 1;
                match decision::decide(&log, compilation, &graphs) {
                    Ok(decision) if decision.is_same => {}
                    Ok(decision) => wrong.push(format!("{name}: {}", decision.differences.join("; "))),
                    Err(why) => wrong.push(format!("{name}: {why}")),
                }
            }
        }
        wrong.extend(log.frames.iter().filter_map(|frame| check(&log, frame.graph.as_ref()?, Some(frame))));
        wrong.extend(log.compiled_autograd.iter().filter_map(|(_, graph)| check(&log, graph, None)));
        explained.push_str(&format!("=== {name}\n{}\n", explain::explain(&log)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(split >= 20, "{split} partitions");
    let path = folder().join("explained.txt");
    if std::env::var_os("ACCEPT").is_some() {
        std::fs::write(&path, &explained).unwrap();
    }
    let want = std::fs::read_to_string(&path).unwrap();
    let differing = want.lines().zip(explained.lines()).find(|(a, b)| a != b);
    assert!(want == explained, "explained.txt says otherwise (ACCEPT=1 writes it): {differing:?}");
}

/// The report has the fields of a run's, and those of a log beside them.
#[test]
fn reports_have_the_shape_of_a_runs() {
    operators::install();
    let log = open(&[("a.log", &recorded("06_dropout_sdpa.trace.txt"))]).unwrap();
    let mut out = Vec::new();
    report::write(&log, &mut out).unwrap();
    let report: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let compilations = report["compilations"].as_array().unwrap();
    let shown: Vec<String> = compilations
        .iter()
        .map(|c| {
            let saved: Vec<String> = c["saved"]
                .as_array()
                .map_or_else(Vec::new, |all| all.iter().map(|s| format!("{}:{}", s["name"].as_str().unwrap(), s["bytes"])).collect());
            format!("{} {} {} {} {} [{}]", c["compile_id"], c["attempt"], c["kind"], c["region"], c["comparison"]["same"], saved.join(" "))
        })
        .collect();
    assert_eq!(
        shown,
        [
            "\"[0/0]\" 0 \"joint\" 0 true [primals_1:640 primals_2:640 primals_3:640 getitem_1:80 detach_1:640]",
            "\"[0/1]\" 0 \"joint\" 1 null [primals_1:640 primals_2:640 primals_3:640 getitem_1:80 getitem_3:160 detach_1:640]",
            "\"[0/1]\" 1 \"joint\" 2 true [primals_1:640 primals_2:640 primals_3:640 getitem_1:80 getitem_3:160 detach_1:640]",
        ]
    );
    assert_eq!(
        report["recompiles"],
        serde_json::json!([[
            "0/0: p == 0.0                                                 # return F.dropout(y, p, training=True)  # er/project/06_dropout_sdpa.py:7 in attn"
        ]])
    );
    let run: serde_json::Value = serde_json::to_value(::report::Report::default()).unwrap();
    let missing: Vec<&String> = run.as_object().unwrap().keys().filter(|name| report.get(name).is_none()).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// A type, a constant and a call that nothing here has stay what they are.
#[test]
fn what_is_unknown_stays_as_it_is() {
    let text = "class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: \"f8e4m3fn[4, 4][4, 1]xpu:3\", arg1_1: \"DTensor(f32[8][1]cuda:0, S(0))\", arg2_1: \"Sym(TruncToInt(s0))\"):
        # No stacktrace found for following nodes
        mine: \"f32[4, 4][4, 1]xpu:3\" = torch.ops.mylib.mine.default(arg0_1, dtype = torch.float8_e5m2, layout = torch.sparse_csr, x = MyEnum.A);  arg0_1 = None
        other: \"f32[8][1]cuda:0\" = __import_mine.call(arg1_1)(arg2_1) if True else 0;  arg1_1 = arg2_1 = None
        return (mine, other)
";
    let log = open(&[("a.txt", text)]).unwrap();
    let parsed = log.graph(&log.compilations[0].graphs[0], None).unwrap();
    assert_eq!(print_readable(&parsed.graph, parsed.style).text, text);
    let bytes: Vec<Option<u64>> = parsed.graph.placeholders().map(|node| node.tensor().and_then(|t| t.bytes())).collect();
    assert_eq!(bytes, [Some(16), Some(32), None]);
}
