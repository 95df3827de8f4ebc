//! What handlers are called with: always a list.

use durable_workflow::{json, Error, Value};

pub fn text(input: &Value, index: usize) -> String {
    input[index].as_str().expect("a string").to_string()
}

pub fn number(input: &Value, index: usize) -> u64 {
    input[index].as_u64().expect("a whole number")
}

/// What the code behind a handler has to say against it; the crate knows no error for that.
pub fn trouble(message: String) -> Error {
    Error::WorkerLoop(message)
}

pub fn nothing() -> Value {
    json!([])
}
