//! Compilations of logs run with inputs that are drawn: every gradient has its input's sizes. Other sizes give other bytes.

use super::{open, recorded};
use report::bundle::{Computed, Value};
use std::collections::BTreeMap;
use trace::{Log, decision, report as of_log, runnable::runnable};

/// `primals_1 float32[2, 3]`, per value.
fn shown(values: &[Computed]) -> String {
    let one = |computed: &Computed| match &computed.named.value {
        Value::Tensor { tensor } => format!("{} {}{:?}", computed.named.name, tensor.dtype, tensor.shape),
        _ => format!("{} {:?}", computed.named.name, computed.named.value),
    };
    values.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// What a compilation computes with drawn inputs.
fn ran(log: &Log, index: usize) -> Result<String, String> {
    let compilation = &log.compilations[index];
    let bundle = runnable(log, compilation, index, &decision::graphs(log, compilation))?;
    let (bundle, _) = cpu::bundle::completed(&bundle).map_err(|error| error.to_string())?;
    let result = cpu::bundle::run_bundle_cpu(&bundle).map_err(|error| error.to_string())?;
    Ok(format!("{} / {}", shown(&result.forward.outputs), result.backward.map(|part| shown(&part.outputs)).unwrap_or_default()))
}

#[test]
fn logged_graphs_run_with_drawn_inputs() {
    operators::install();
    cpu::install();
    let log = open(&[("a.log", &recorded("21_dynamic_true.trace.txt"))]).unwrap();
    let other = Log { sizes: BTreeMap::from([("s77".to_owned(), 5)]), ..log.clone() };
    let bytes =
        |log: &Log| of_log::compilation(log, 0).compilation.saved.unwrap_or_default().iter().filter_map(|saved| saved.bytes).sum::<u64>();
    let attention = open(&[("a.log", &recorded("06_dropout_sdpa.trace.txt"))]).unwrap();
    let symbols = of_log::compilation(&log, 0).symbols;
    let got = format!(
        "{symbols:?}\n{} bytes: {}\n{} bytes: {}\n{}\n",
        bytes(&log),
        ran(&log, 0).unwrap(),
        bytes(&other),
        ran(&other, 0).unwrap(),
        ran(&attention, 0).unwrap(),
    );
    let want = "\
[(\"s77\", Some(3)), (\"s27\", Some(6)), (\"s21\", Some(8))]
168 bytes: mul_2 float32[], _softmax float32[3, 2, 4], t float32[6, 3], primals_1 Int { value: 3 }, primals_4 Int { value: 8 }, primals_2 Int { value: 6 }, sym_size_int_1 Int { value: 4 } / None None, None None, None None, None None, mm_1 float32[6, 8]
280 bytes: mul_2 float32[], _softmax float32[5, 2, 4], t float32[6, 5], primals_1 Int { value: 5 }, primals_4 Int { value: 8 }, primals_2 Int { value: 6 }, sym_size_int_1 Int { value: 4 } / None None, None None, None None, None None, mm_1 float32[6, 8]
getitem float32[2, 2, 5, 8], primals_1 float32[2, 2, 5, 8], primals_2 float32[2, 2, 5, 8], primals_3 float32[2, 2, 5, 8], getitem_1 float32[2, 2, 5], detach_1 float32[2, 2, 5, 8] / getitem_2 float32[2, 2, 5, 8], getitem_3 float32[2, 2, 5, 8], getitem_4 float32[2, 2, 5, 8]
";
    assert_eq!(got, want);
}

#[test]
fn what_nobody_knows_is_not_drawn() {
    operators::install();
    let text = recorded("21_dynamic_true.trace.txt").replace("\"val\": ", "\"forgotten\": ");
    let log = open(&[("a.log", &text)]).unwrap();
    let why = ran(&log, 0).unwrap_err();
    assert_eq!(why, "primals_1: nobody knows its sizes: the log does not say what its symbols stood for");
}
