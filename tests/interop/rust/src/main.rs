//! The published crate in three roles: a worker, a client, and a hand that reports twice. The
//! stories in rust_worker_test.py and polyglot_test.py start it and talk to it line by line.
//!
//!   dw-interop worker|client|by-hand URL QUEUE NAME

mod activities;
mod arguments;
mod by_hand;
mod client;
mod conversations;
mod workflows;

use std::process::ExitCode;
use std::sync::Once;
use std::time::Duration;

use durable_workflow::{Client, Result, Worker, WorkerRetryPolicy};
use tokio::signal::unix::{signal, SignalKind};

/// One line to whoever started us.
pub fn say(line: &str) {
    println!("{line}");
}

/// The next line from whoever started us; blocks until it is there.
pub fn hear() -> String {
    let mut line = String::new();
    std::io::stdin()
        .read_line(&mut line)
        .expect("a line on the standard input");
    line.trim_end().to_string()
}

async fn work(url: &str, queue: &str, name: &str) -> Result<()> {
    let at_work = Once::new();
    // Short polls: a worker that is told to stop waits for those that are open. Many tries: on a busy
    // machine a server takes its time to come back.
    let mut worker = Worker::new(Client::new(url)?, queue)
        .worker_id(name)
        .poll_timeout(Duration::from_secs(1))
        .retry_policy(WorkerRetryPolicy {
            max_retries: 100,
            initial_backoff: Duration::from_millis(20),
            max_backoff: Duration::from_millis(200),
        })
        .on_worker_heartbeat(move |_| at_work.call_once(|| say("at work")));
    activities::register(&mut worker);
    workflows::register(&mut worker);
    conversations::register(&mut worker);
    let mut told_to_stop = signal(SignalKind::terminate()).expect("a handler for SIGTERM");
    worker
        .run_until(async move {
            told_to_stop.recv().await;
        })
        .await
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words[..] {
        ["worker", url, queue, name] => work(url, queue, name).await,
        ["client", url, queue, _] => client::run(url, queue).await,
        ["by-hand", url, queue, name] => by_hand::run(url, queue, name).await,
        _ => {
            eprintln!("usage: dw-interop worker|client|by-hand URL QUEUE NAME");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("ended by: {error}"));
            ExitCode::FAILURE
        }
    }
}
