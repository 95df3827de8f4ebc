//! Workflows that call, wait, branch and start over.

use std::time::Duration;

use durable_workflow::{
    json, ActivityOptions, ActivityRetryPolicy, ChildWorkflowOptions, Error, ParallelOperation,
    ParallelResult, Result, SearchAttributeUpdate, Value, Worker, WorkflowContext,
};

use crate::arguments::{nothing, number, text};
use crate::{hear, say};

pub fn register(worker: &mut Worker) {
    worker.register_workflow("rust.hello", hello);
    worker.register_workflow("rust.retries", retries);
    worker.register_workflow("rust.survives", survives);
    worker.register_workflow("rust.calls", calls);
    worker.register_workflow("rust.sleeper", sleeper);
    worker.register_workflow("rust.squares", squares);
    worker.register_workflow("rust.mixed", mixed);
    worker.register_workflow("rust.relay", relay);
    worker.register_workflow("rust.both", both);
    worker.register_workflow("rust.recorder", recorder);
    worker.register_workflow("rust.memo", memo);
    worker.register_workflow("rust.countdown", countdown);
    worker.register_workflow("rust.thinker", thinker);
}

async fn hello(ctx: WorkflowContext, input: Value) -> Result<Value> {
    let greeting = ctx.activity("rust.greet", json!([text(&input, 0)])).await?;
    Ok(json!({"text": greeting}))
}

async fn retries(ctx: WorkflowContext, input: Value) -> Result<Value> {
    let tries = number(&input, 0);
    let at_once = ActivityRetryPolicy::new(tries as u32).backoff_intervals([Duration::ZERO]);
    let options = ActivityOptions::new().retry_policy(at_once);
    ctx.activity_with_options("rust.flaky", options, json!([tries]))
        .await
}

async fn survives(ctx: WorkflowContext, input: Value) -> Result<Value> {
    match ctx.activity("rust.refuse", input).await {
        Err(Error::ActivityFailed(failure)) => Ok(json!({"gave_up": failure.message})),
        outcome => outcome,
    }
}

/// Any activity, wherever it runs: [type, queue, arguments].
async fn calls(ctx: WorkflowContext, input: Value) -> Result<Value> {
    let queue = input[1].as_str();
    ctx.activity_on_queue(text(&input, 0), queue, input[2].clone())
        .await
}

async fn sleeper(ctx: WorkflowContext, input: Value) -> Result<Value> {
    ctx.sleep(Duration::from_secs(number(&input, 0))).await?;
    Ok(json!("awake"))
}

async fn squares(ctx: WorkflowContext, input: Value) -> Result<Value> {
    let numbers = input[0].as_array().expect("a list");
    let square = |number| ParallelOperation::activity("rust.square", json!([number]));
    let results = ctx.parallel(numbers.iter().map(square).collect()).await?;
    Ok(results.into_iter().map(shown).collect())
}

/// [queue]: an activity, a timer, and a group of a child and an activity.
async fn mixed(ctx: WorkflowContext, input: Value) -> Result<Value> {
    let queue = ChildWorkflowOptions::new(text(&input, 0));
    let results = ctx
        .join(vec![
            ParallelOperation::activity("rust.square", json!([3])),
            ParallelOperation::timer(Duration::from_secs(1)),
            ParallelOperation::group(vec![
                ParallelOperation::child_workflow("rust.hello", queue, json!(["ada"])),
                ParallelOperation::activity("rust.square", json!([4])),
            ]),
        ])
        .await?;
    Ok(results.into_iter().map(shown).collect())
}

fn shown(result: ParallelResult) -> Value {
    match result {
        ParallelResult::Activity(value) => value,
        ParallelResult::ChildWorkflow(child) => child.result,
        ParallelResult::Group(results) => results.into_iter().map(shown).collect(),
        other => json!(format!("{other:?}")),
    }
}

/// Any workflow as a child, wherever it runs: [type, queue, arguments].
async fn relay(ctx: WorkflowContext, input: Value) -> Result<Value> {
    let options = ChildWorkflowOptions::new(text(&input, 1));
    match ctx
        .start_child_workflow(text(&input, 0), options, input[2].clone())
        .await
    {
        Ok(child) => Ok(json!({"answer": child.result})),
        Err(Error::ChildWorkflowFailed(failure)) => Ok(json!({"trouble": failure.message})),
        Err(error) => Err(error),
    }
}

/// Two waits that are no group: when the first ends there is nothing new to ask for.
async fn both(ctx: WorkflowContext, input: Value) -> Result<Value> {
    let (greeting, sign) = tokio::join!(ctx.activity("rust.greet", input), ctx.wait_signal("go"));
    Ok(json!([greeting?, sign?]))
}

/// Newer code knows newer versions.
fn newest() -> i32 {
    std::env::var("NEWEST").map_or(1, |version| version.parse().expect("a number"))
}

async fn recorder(ctx: WorkflowContext, _: Value) -> Result<Value> {
    let author: u32 = ctx.side_effect(std::process::id)?;
    let version = ctx.get_version("rewrite", 1, newest())?;
    ctx.upsert_search_attributes(SearchAttributeUpdate::new().keyword("Stage", "late")?)?;
    ctx.wait_signal("go").await?;
    let finished_by = ctx.side_effect(std::process::id)?;
    Ok(json!({"author": author, "finished_by": finished_by, "version": version}))
}

async fn memo(ctx: WorkflowContext, input: Value) -> Result<Value> {
    ctx.upsert_memo(json!({"stage": "late"}))?;
    ctx.activity("rust.greet", input).await
}

async fn countdown(ctx: WorkflowContext, input: Value) -> Result<Value> {
    let (left, mut seen) = (
        number(&input, 0),
        input[1].as_array().expect("a list").clone(),
    );
    if left == 0 {
        return Ok(json!(seen));
    }
    ctx.activity("rust.square", json!([left])).await?;
    seen.push(json!(left));
    ctx.continue_as_new(json!([left - 1, seen]))
}

/// Holds its task for as long as the story wants it to.
async fn thinker(ctx: WorkflowContext, _: Value) -> Result<Value> {
    let thought: String = ctx.side_effect(|| {
        say("thinking");
        hear()
    })?;
    ctx.activity("rust.greet", nothing()).await?;
    Ok(json!(thought))
}
