//! What reads logs.

use aot_playground::report::log::{GivenFile, OfLog};
use aot_playground::report::protocol::{FromReader, ToReader};
use aot_playground::report::{PartitionQuery, Question};
use aot_playground::web::reader::handle;
use serde_json::Value;

/// A log of PyTorch's.
const LOG: &[u8] = include_bytes!("../../../crates/trace/tests/trace/logs/01_mlp.trace.txt");

fn asked(message: ToReader) -> Result<Value, String> {
    match handle(message) {
        Some(FromReader::Answer { text, .. }) => serde_json::from_str(&text).map_err(|error| error.to_string()),
        Some(FromReader::Unanswered { message, .. }) => Err(message),
        _ => Err("no answer".to_owned()),
    }
}

fn opened(name: &str, bytes: &[u8]) -> Result<Value, String> {
    let files = vec![GivenFile { name: name.to_owned(), bytes: serde_bytes::ByteBuf::from(bytes) }];
    asked(ToReader::Open { ask: 1, log: 7, files })
}

/// A log opens, its graphs are read one at a time, and questions about the joint graph are answered; until it is closed.
pub fn reads_a_log() {
    aot_playground::logs::prepare();
    let overview = opened("a.log", LOG).unwrap();
    assert_eq!(overview["compilations"][0]["name"], "[0/0]");
    let of = OfLog { log: 7, ..OfLog::default() };
    let compilation = asked(ToReader::Compilation { ask: 2, of: of.clone() }).unwrap();
    assert_eq!(compilation["comparison"]["same"], true);
    let question = Question::Partition { query: PartitionQuery { budget: Some(0.0), ..PartitionQuery::default() } };
    let answer = asked(ToReader::Study { ask: 3, of: of.clone(), question }).unwrap();
    assert_eq!(answer["answer"], "partition");
    assert_eq!(asked(ToReader::Compare { ask: 4, first: of.clone(), second: of.clone() }).unwrap()["same"], true);
    assert!(handle(ToReader::Close { log: 7 }).is_none());
    assert_eq!(asked(ToReader::Compilation { ask: 5, of }), Err("the log is not open".to_owned()));
}

/// What is no log is refused in a sentence.
pub fn refuses_what_is_no_log() {
    let refused = opened("a.txt", b"hello").unwrap_err();
    assert_eq!(refused, "a.txt:1: this is no log, trace or graph that PyTorch writes; it begins with `hello`");
}
