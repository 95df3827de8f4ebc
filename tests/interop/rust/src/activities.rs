//! Activities: ordinary code that is tried again, beats, and can be told to stop.

use durable_workflow::{json, Result, Value, Worker};

use crate::arguments::{number, text, trouble};
use crate::{hear, say};

pub fn register(worker: &mut Worker) {
    worker.register_activity("rust.greet", |_, input| async move {
        Ok(json!(format!("hello {}", text(&input, 0))))
    });
    worker.register_activity("rust.square", |_, input| async move {
        Ok(json!(number(&input, 0) * number(&input, 0)))
    });
    worker.register_activity("rust.echo", |_, input| async move { Ok(input[0].clone()) });
    worker.register_activity("rust.flaky", |attempt, input| async move {
        let now = attempt.attempt_number;
        if now < number(&input, 0) {
            return Err(trouble(format!("attempt {now} is too early")));
        }
        Ok(json!(now))
    });
    worker.register_activity("rust.refuse", |_, input| async move {
        Result::<Value>::Err(trouble(format!("no {} today", text(&input, 0))))
    });
    // Takes as long as the story wants it to.
    worker.register_activity("rust.ask", |_, input| async move {
        say(&format!("asked for {}", text(&input, 0)));
        let answer = tokio::task::spawn_blocking(hear).await;
        Ok(json!(answer.map_err(|error| trouble(error.to_string()))?))
    });
    worker.register_activity("rust.beat", |attempt, _| async move {
        loop {
            let heard = attempt.heartbeat(json!({"alive": true})).await?;
            if heard.should_stop() {
                say("told to stop");
                return Result::<Value>::Err(trouble("stopped".to_string()));
            }
        }
    });
}
