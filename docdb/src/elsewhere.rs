//! What MongoDB has and this server has not, by name: a client that uses it is told so instead of that it misspelled something.

use crate::error::{Code, CommandError};

/// Names of one kind, and the code that MongoDB's clients know for what is not there.
#[derive(Debug)]
pub(crate) struct Names(Code, &'static [&'static str]);

/// Commands: drivers and shells ask for this code to learn what a server can.
pub(crate) const COMMANDS: Names = Names(
    Code::CommandNotFound,
    &[
        "abortTransaction",
        "analyze",
        "applyOps",
        "authenticate",
        "autoCompact",
        "balancerStatus",
        "bulkWrite",
        "checkShardingIndex",
        "cleanupOrphaned",
        "cloneCollectionAsCapped",
        "commitTransaction",
        "compact",
        "connPoolStats",
        "convertToCapped",
        "createRole",
        "createSearchIndexes",
        "dbHash",
        "driverOIDTest",
        "dropAllRolesFromDatabase",
        "dropAllUsersFromDatabase",
        "dropConnections",
        "dropRole",
        "dropSearchIndex",
        "enableSharding",
        "filemd5",
        "flushRouterConfig",
        "fsync",
        "fsyncUnlock",
        "getAuditConfig",
        "getDefaultRWConcern",
        "getShardMap",
        "grantPrivilegesToRole",
        "grantRolesToRole",
        "grantRolesToUser",
        "invalidateUserCache",
        "isdbgrid",
        "killAllSessions",
        "killAllSessionsByPattern",
        "listShards",
        "lockInfo",
        "logRotate",
        "mapReduce",
        "netstat",
        "planCacheClear",
        "planCacheClearFilters",
        "planCacheListFilters",
        "planCacheSetFilter",
        "profile",
        "reIndex",
        "replSetGetConfig",
        "replSetGetStatus",
        "replSetInitiate",
        "replSetReconfig",
        "replSetStepDown",
        "revokePrivilegesFromRole",
        "revokeRolesFromRole",
        "revokeRolesFromUser",
        "rolesInfo",
        "rotateCertificates",
        "setAuditConfig",
        "setDefaultRWConcern",
        "setFeatureCompatibilityVersion",
        "setIndexCommitQuorum",
        "setParameter",
        "setUserWriteBlockMode",
        "shardCollection",
        "shardingState",
        "shutdown",
        "startSession",
        "top",
        "updateRole",
        "updateSearchIndex",
        "validateDBMetadata",
    ],
);

/// Stages of pipelines.
pub(crate) const STAGES: Names = Names(
    Code::CommandNotSupported,
    &[
        "$bucketAuto",
        "$changeStream",
        "$changeStreamSplitLargeEvent",
        "$collStats",
        "$currentOp",
        "$densify",
        "$documents",
        "$fill",
        "$geoNear",
        "$graphLookup",
        "$indexStats",
        "$listLocalSessions",
        "$listSampledQueries",
        "$listSearchIndexes",
        "$listSessions",
        "$merge",
        "$out",
        "$planCacheStats",
        "$rankFusion",
        "$redact",
        "$search",
        "$searchMeta",
        "$setWindowFields",
        "$shardedDataDistribution",
        "$vectorSearch",
    ],
);

/// Operators of expressions.
pub(crate) const EXPRESSIONS: Names = Names(
    Code::CommandNotSupported,
    &[
        "$accumulator",
        "$acos",
        "$acosh",
        "$asin",
        "$asinh",
        "$atan",
        "$atan2",
        "$atanh",
        "$bitAnd",
        "$bitNot",
        "$bitOr",
        "$bitXor",
        "$cos",
        "$cosh",
        "$covariancePop",
        "$covarianceSamp",
        "$dateFromParts",
        "$dateToParts",
        "$degreesToRadians",
        "$denseRank",
        "$derivative",
        "$documentNumber",
        "$expMovingAvg",
        "$firstN",
        "$function",
        "$integral",
        "$lastN",
        "$linearFill",
        "$locf",
        "$maxN",
        "$median",
        "$meta",
        "$minN",
        "$percentile",
        "$radiansToDegrees",
        "$rank",
        "$sampleRate",
        "$shift",
        "$sin",
        "$sinh",
        "$stdDevPop",
        "$stdDevSamp",
        "$tan",
        "$tanh",
        "$toHashedIndexKey",
        "$tsIncrement",
        "$tsSecond",
    ],
);

/// Accumulators of `$group`.
pub(crate) const ACCUMULATORS: Names = Names(
    Code::CommandNotSupported,
    &[
        "$accumulator",
        "$bottom",
        "$bottomN",
        "$concatArrays",
        "$median",
        "$percentile",
        "$setUnion",
        "$top",
        "$topN",
    ],
);

/// Operators of filters.
pub(crate) const FILTERS: Names = Names(
    Code::QueryFeatureNotAllowed,
    &[
        "$jsonSchema",
        "$maxDistance",
        "$minDistance",
        "$sampleRate",
        "$text",
        "$uniqueDocs",
        "$where",
    ],
);

impl Names {
    /// The error for `name` if it is one of them.
    pub(crate) fn refusal(&self, name: &str) -> Option<CommandError> {
        let known = self.1.contains(&name);
        known.then(|| self.0.error(format!("{name} is not supported here")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_in_order_and_hold_nothing_that_is_here() {
        for Names(_, list) in [COMMANDS, STAGES, EXPRESSIONS, ACCUMULATORS, FILTERS] {
            assert!(list.is_sorted(), "{list:?}");
        }
        for command in crate::server::listed() {
            assert!(COMMANDS.refusal(command.name).is_none(), "{}", command.name);
        }
        for stage in crate::aggregate::STAGES {
            assert!(STAGES.refusal(stage).is_none(), "{stage}");
        }
    }
}
