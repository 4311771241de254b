//! The programs of `examples/exchange/` as processes: several clients against one server that is
//! killed in between, with good requests and bad ones; limits; files; and the parts of the server
//! alone.
//!
//! The parameters are those of `toy-insecure`, which protect nothing and are cheap: what is tested
//! is the exchange. The test builds the programs that it starts.

#[path = "../examples/exchange/board.rs"]
#[allow(dead_code, reason = "the server uses all of it")]
mod board;
#[path = "../examples/exchange/cache.rs"]
#[allow(dead_code, reason = "the server uses all of it")]
mod cache;
#[path = "../examples/exchange/cost.rs"]
#[allow(dead_code, reason = "the server uses all of it")]
mod cost;
#[path = "exchange/crowd.rs"]
mod crowd;
#[path = "exchange/files.rs"]
mod files;
#[path = "exchange/hostile.rs"]
mod hostile;
#[path = "../examples/exchange/job.rs"]
#[allow(dead_code, reason = "the server uses all of it")]
mod job;
#[path = "exchange/limited.rs"]
mod limited;
#[path = "../examples/exchange/limits.rs"]
#[allow(dead_code, reason = "the server uses all of it")]
mod limits;
#[path = "exchange/parts.rs"]
mod parts;
#[path = "exchange/processes.rs"]
mod processes;
#[path = "../examples/exchange/protocol.rs"]
mod protocol;
#[path = "exchange/requests.rs"]
mod requests;
#[path = "../examples/exchange/store.rs"]
#[allow(dead_code, reason = "the server uses all of it")]
mod store;
#[path = "../examples/exchange/stream.rs"]
mod stream;
#[path = "../examples/exchange/tell.rs"]
mod tell;
