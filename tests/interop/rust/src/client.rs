//! Everything a program without workers does, and what it was told, as one line of JSON.

use std::time::Duration;

use durable_workflow::{
    json, Client, Error, Result, Value, WorkflowCommandOptions, WorkflowHandle,
    WorkflowResultOptions,
};

use crate::arguments::nothing;
use crate::say;

fn patiently() -> WorkflowResultOptions {
    WorkflowResultOptions {
        poll_interval: Duration::from_millis(20),
        timeout: Duration::from_secs(30),
    }
}

pub async fn run(url: &str, queue: &str) -> Result<()> {
    let client = Client::new(url)?;
    let start = |workflow: &'static str, id: &'static str, input: Value| {
        let client = &client;
        async move { client.start_workflow(workflow, queue, id, input).await }
    };
    client.health().await?;
    let hello = start("rust.hello", "hello", json!(["ada"])).await?;
    let told = json!({
        "protocol": client.cluster_info().await?["worker_protocol"]["version"],
        "hello": hello.result(patiently()).await?,
        "again": refusal(start("rust.hello", "hello", json!(["ada"])).await),
        "letters": letters(start("rust.letters", "letters", json!([2])).await?).await?,
        "desk": desk(start("rust.desk", "desk", nothing()).await?).await?,
        "failed": ending(&start("rust.calls", "calls", json!(["rust.refuse", queue, ["tea"]])).await?).await,
        // Last: the SDK's worker gives up when the run it has a task of is gone.
        "cancelled": cancelled(start("rust.sleeper", "sleeper", json!([600])).await?).await?,
    });
    say(&told.to_string());
    Ok(())
}

fn refusal(outcome: Result<WorkflowHandle>) -> Value {
    match outcome {
        Err(Error::Http { status, .. }) => json!(status.as_u16()),
        other => json!(format!("{other:?}")),
    }
}

async fn letters(workflow: WorkflowHandle) -> Result<Value> {
    workflow.signal("letter", json!(["one"])).await?;
    let received = workflow.query("received", nothing()).await?;
    workflow.signal("letter", json!(["two"])).await?;
    Ok(json!({"received": received, "all": workflow.result(patiently()).await?}))
}

async fn desk(workflow: WorkflowHandle) -> Result<Value> {
    let doubled = workflow.update("double", json!([21]), Some("once")).await?;
    let repeated = workflow.update("double", json!([21]), Some("once")).await?;
    workflow.signal("close", nothing()).await?;
    Ok(json!({"doubled": [doubled, repeated], "all": workflow.result(patiently()).await?}))
}

async fn cancelled(workflow: WorkflowHandle) -> Result<Value> {
    let told = workflow
        .cancel(WorkflowCommandOptions::new().reason("enough"))
        .await?;
    Ok(json!([told.outcome, ending(&workflow).await]))
}

async fn ending(workflow: &WorkflowHandle) -> Value {
    match workflow.result(patiently()).await {
        Err(Error::WorkflowFailed(end)) => json!(["failed", end.message]),
        Err(Error::WorkflowCancelled(end)) => json!(["cancelled", end.reason]),
        other => json!(format!("{other:?}")),
    }
}
