//! The crate's low-level client: every report is made twice, and what the server did in between is
//! the story's business.

use std::future::Future;
use std::time::Duration;

use durable_workflow::{json, Client, PayloadEnvelope, Result, Value, DEFAULT_CODEC};

use crate::{hear, say};

const TYPE: &str = "rust.by_hand";
const PATIENCE: Duration = Duration::from_secs(20);

pub async fn run(url: &str, queue: &str, name: &str) -> Result<()> {
    let client = Client::new(url)?;
    let types = || vec![TYPE.to_string()];
    client
        .register_worker(name, queue, types(), types(), 1, 1)
        .await?;
    say("at work");

    let ask = json!({"type": "schedule_activity", "activity_type": TYPE, "queue": queue,
                     "arguments": PayloadEnvelope::avro(&json!([]))?});
    complete_twice(&client, queue, name, ask).await?;
    let work = client
        .poll_activity_task(name, queue, PATIENCE)
        .await?
        .expect("the activity");
    let attempt = work.activity_attempt_id.expect("an attempt");
    twice(|| {
        client.complete_activity_task(&work.task_id, &attempt, name, json!(42), DEFAULT_CODEC)
    })
    .await?;
    let end =
        json!({"type": "complete_workflow", "result": PayloadEnvelope::avro(&json!("done"))?});
    complete_twice(&client, queue, name, end).await
}

async fn complete_twice(client: &Client, queue: &str, name: &str, command: Value) -> Result<()> {
    let task = client
        .poll_workflow_task(name, queue, PATIENCE)
        .await?
        .expect("a task");
    let (id, attempt) = (&task.task_id, task.workflow_task_attempt);
    twice(|| client.complete_workflow_task(id, name, attempt, vec![command.clone()])).await
}

async fn twice<Answer: Future<Output = Result<Value>>>(report: impl Fn() -> Answer) -> Result<()> {
    say(&report().await?.to_string());
    hear();
    say(&report().await?.to_string());
    hear();
    Ok(())
}
