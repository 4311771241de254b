//! The planner of maps: it chooses the engine for a function on a vector and predicts its cost and
//! error.
//!
//! | item | contents |
//! | --- | --- |
//! | [`MapFunction`], [`Accuracy`], [`MapRequest`] | the function and its requirements |
//! | [`MapPlan`] | the predicted cost and error of every engine, and the chosen engine |
//! | [`CostModel`] | the prices of counted work: a deterministic default, or calibrated |
//! | [`PlanSubject`], [`MapServer`] | a parameter set, and the keys of a server |
//! | [`Planner`] | planning and evaluation |
//! | [`check_promises`] | what a parameter set promises, tried on the simulator |
//!
//! For each engine the planner prepares the polynomial, series or tables, runs them on the
//! simulator ([`Simulator`](bellerophon_ckks::simulator::Simulator)), and prices the counted work.
//! No plan depends on a plaintext: the same request, parameters and model give the same plan on
//! every machine. The default model for the vector of a server is measured on its machine, once for
//! each process ([`MapPlan::prices`]).

mod calibrate;
mod choice;
mod cost_model;
mod function;
mod goal;
mod look_up;
mod many;
mod plan;
mod predict;
mod prepared;
mod promises;
mod request;
mod run;
mod subject;
mod table_plan;
mod vector;

pub use bellerophon_circuits::approx::Accuracy;
pub use cost_model::CostModel;
pub use function::MapFunction;
pub use plan::{EngineRow, FasterEngine, MapPlan, Prediction, PriceOrigin};
pub use predict::Planner;
pub use promises::check_promises;
pub use request::MapRequest;
pub use subject::{MapServer, PlanSubject};
