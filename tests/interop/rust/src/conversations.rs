//! Workflows that are talked to: signals, conditions, queries and updates.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use durable_workflow::{
    json, wait_condition, QueryContext, Result, Value, Worker, WorkflowContext, WorkflowInstance,
};

use crate::arguments::{number, trouble};

type Letters = Vec<Value>;

pub fn register(worker: &mut Worker) {
    worker.register_replayed_workflow("rust.letters", Letters::new, letters);
    worker.register_replayed_query("rust.letters", "read", read);
    worker.register_query("rust.letters", "received", received);
    worker.register_workflow("rust.votes", votes);
    worker.register_workflow("rust.impatient", impatient);
    worker.register_workflow("rust.desk", desk);
    worker.register_update("rust.desk", "double", double);
    worker.register_workflow("rust.quorum", quorum);
    worker.register_update("rust.quorum", "join", join);
}

async fn letters(
    ctx: WorkflowContext,
    input: Value,
    seen: WorkflowInstance<Letters>,
) -> Result<Value> {
    for _ in 0..number(&input, 0) {
        let letter = ctx.wait_signal("letter").await?;
        seen.update(|all| all.push(json!(letter)))?;
    }
    seen.read(|all| json!(all))
}

/// What the code has come to see, by running it once more.
async fn read(_: QueryContext, seen: Arc<Letters>, _: Value) -> Result<Value> {
    Ok(json!(seen.len()))
}

/// What the history holds. A signal stands there when it came and again when it was waited for.
async fn received(ctx: QueryContext, _: Value) -> Result<Value> {
    let ids: HashSet<_> = ctx
        .signal_events()
        .iter()
        .map(|signal| signal.id.clone())
        .collect();
    Ok(json!(ids.len()))
}

async fn votes(ctx: WorkflowContext, input: Value) -> Result<Value> {
    let (wanted, looking) = (number(&input, 0) as usize, ctx.clone());
    let outcome = wait_condition!(
        ctx,
        "votes",
        timeout: Duration::from_secs(600),
        move || Ok(looking.signals("vote")?.len() >= wanted),
    )
    .await?;
    Ok(json!({"enough": outcome.is_satisfied(), "votes": ctx.signals("vote")?}))
}

async fn impatient(ctx: WorkflowContext, _: Value) -> Result<Value> {
    let never = || Ok(false);
    let outcome = wait_condition!(ctx, "never", timeout: Duration::from_secs(1), never).await?;
    Ok(json!(outcome.is_timed_out()))
}

async fn desk(ctx: WorkflowContext, _: Value) -> Result<Value> {
    ctx.wait_signal("close").await?;
    Ok(json!(ctx.updates("double")?))
}

async fn double(_: QueryContext, input: Value) -> Result<Value> {
    match input[0].as_u64() {
        Some(number) => Ok(json!(2 * number)),
        None => Err(trouble(format!("cannot double {}", input[0]))),
    }
}

async fn quorum(ctx: WorkflowContext, input: Value) -> Result<Value> {
    let (wanted, looking) = (number(&input, 0) as usize, ctx.clone());
    wait_condition!(ctx, "members", move || Ok(
        looking.updates("join")?.len() >= wanted
    ))
    .await?;
    Ok(json!(ctx.updates("join")?))
}

async fn join(ctx: QueryContext, _: Value) -> Result<Value> {
    Ok(json!(ctx.run_status))
}
