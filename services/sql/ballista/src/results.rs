//! The results of a query: each partition once.
//!
//! The scheduler of Ballista 55.0.0 notes the place of a result when a task of the last stage ends,
//! and keeps it when that task runs again because an executor died. The client would read both
//! places: rows twice, or a place on the dead executor. This service answers for the scheduler, and
//! names the last place of each partition alone.
//!
//! No last place is on an executor that the scheduler lost before the query ended: such an
//! executor's tasks of a running stage run again, and their results are noted behind it. The last
//! stage has one file for each partition.
//!
//! The service takes logical plans alone, whose files the scheduler checks: physical ones would
//! list and read files before it sees them.

use std::{collections::HashSet, pin::Pin};

use ballista_core::serde::protobuf::{
    CancelJobParams, CancelJobResult, CleanJobDataParams, CleanJobDataResult,
    CreateUpdateSessionParams, CreateUpdateSessionResult, ExecuteQueryParams, ExecuteQueryResult,
    ExecutorStoppedParams, ExecutorStoppedResult, GetJobMetricsParams, GetJobMetricsResult,
    GetJobStatusParams, GetJobStatusResult, HeartBeatParams, HeartBeatResult, PartitionLocation,
    PollWorkParams, PollWorkResult, RegisterExecutorParams, RegisterExecutorResult,
    RemoveSessionParams, RemoveSessionResult, UpdateTaskStatusParams, UpdateTaskStatusResult,
    execute_query_params::Query, job_status, scheduler_grpc_server::SchedulerGrpc,
};
use futures::{Stream, StreamExt};
use tonic::{Request, Response, Status};

/// A scheduler whose clients get every partition of a result once.
pub(crate) struct EachOnce<S>(pub(crate) S);

/// The last location of every partition, in the order of these.
fn each_once(locations: &mut Vec<PartitionLocation>) {
    let mut found = HashSet::new();
    locations.reverse();
    // What has no partition cannot repeat one.
    locations.retain(|location| match &location.partition_id {
        Some(partition) => found.insert(partition.clone()),
        None => true,
    });
    locations.reverse();
}

/// The status of a job with every partition of its result once.
fn corrected(mut result: GetJobStatusResult) -> GetJobStatusResult {
    let status = result.status.as_mut().and_then(|status| status.status.as_mut());
    if let Some(job_status::Status::Successful(job)) = status {
        each_once(&mut job.partition_location);
    }
    result
}

/// Refuses queries in another form than [`connect`](crate::connect) sends.
fn check_query(request: &Request<ExecuteQueryParams>) -> Result<(), Status> {
    match request.get_ref().query {
        Some(Query::LogicalPlan(_)) => Ok(()),
        _ => Err(Status::permission_denied("need a logical plan, as `connect()` sends it")),
    }
}

/// The service: the listed requests as the scheduler answers them, and those about the status of a
/// job with their results corrected.
macro_rules! service {
    ($($request:ident: $Params:ty => $Answer:ty;)*) => {
        #[tonic::async_trait]
        impl<S: SchedulerGrpc> SchedulerGrpc for EachOnce<S> {
            $(async fn $request(
                &self,
                request: Request<$Params>,
            ) -> Result<Response<$Answer>, Status> {
                self.0.$request(request).await
            })*

            type ExecuteQueryPushStream =
                Pin<Box<dyn Stream<Item = Result<GetJobStatusResult, Status>> + Send>>;

            async fn execute_query_push(
                &self,
                request: Request<ExecuteQueryParams>,
            ) -> Result<Response<Self::ExecuteQueryPushStream>, Status> {
                check_query(&request)?;
                let answer = self.0.execute_query_push(request).await?;
                Ok(answer.map(|stream| -> Self::ExecuteQueryPushStream {
                    stream.map(|status| status.map(corrected)).boxed()
                }))
            }

            async fn execute_query(
                &self,
                request: Request<ExecuteQueryParams>,
            ) -> Result<Response<ExecuteQueryResult>, Status> {
                check_query(&request)?;
                self.0.execute_query(request).await
            }

            async fn get_job_status(
                &self,
                request: Request<GetJobStatusParams>,
            ) -> Result<Response<GetJobStatusResult>, Status> {
                Ok(self.0.get_job_status(request).await?.map(corrected))
            }
        }
    };
}

service! {
    poll_work: PollWorkParams => PollWorkResult;
    register_executor: RegisterExecutorParams => RegisterExecutorResult;
    heart_beat_from_executor: HeartBeatParams => HeartBeatResult;
    update_task_status: UpdateTaskStatusParams => UpdateTaskStatusResult;
    create_update_session: CreateUpdateSessionParams => CreateUpdateSessionResult;
    remove_session: RemoveSessionParams => RemoveSessionResult;
    get_job_metrics: GetJobMetricsParams => GetJobMetricsResult;
    executor_stopped: ExecutorStoppedParams => ExecutorStoppedResult;
    cancel_job: CancelJobParams => CancelJobResult;
    clean_job_data: CleanJobDataParams => CleanJobDataResult;
}

#[cfg(test)]
mod tests {
    use ballista_core::serde::protobuf::{JobStatus, PartitionId, SuccessfulJob};

    use super::*;

    #[test]
    fn queries_are_logical_plans() {
        let request = |query| {
            let params = ExecuteQueryParams { query, ..Default::default() };
            check_query(&Request::new(params))
        };
        request(Some(Query::LogicalPlan(vec![]))).unwrap();
        request(Some(Query::PhysicalPlan(vec![]))).unwrap_err();
        request(Some(Query::SubstraitPlan(vec![]))).unwrap_err();
        request(None).unwrap_err();
    }

    /// A location of a partition of the last stage, by the attempt that wrote it.
    fn location(partition: u32, attempt: u64) -> PartitionLocation {
        let partition_id =
            Some(PartitionId { job_id: "job".into(), stage_id: 2, partition_id: partition });
        PartitionLocation { partition_id, file_id: Some(attempt), ..Default::default() }
    }

    /// Partitions 0 and 2 were written before an executor died, and all of them again.
    #[test]
    fn a_partition_that_was_computed_again_is_named_once() {
        let partition_location = [(0, 1), (2, 1), (2, 2), (1, 2), (0, 2)]
            .map(|(partition, attempt)| location(partition, attempt))
            .to_vec();
        let job = SuccessfulJob { partition_location, ..Default::default() };
        let status = Some(job_status::Status::Successful(job));
        let status = Some(JobStatus { status, ..Default::default() });
        let result = corrected(GetJobStatusResult { status, ..Default::default() });
        let Some(job_status::Status::Successful(job)) = result.status.unwrap().status else {
            panic!("the job stays successful")
        };
        let expected = [location(2, 2), location(1, 2), location(0, 2)];
        assert_eq!(job.partition_location, expected);
    }
}
