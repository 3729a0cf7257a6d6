//! What MongoDB has and this server has not, by name: a client that uses it is told so instead of that it misspelled something.

use crate::error::{Code, CommandError};

/// Names of one kind, and the code that MongoDB's clients know for what is not there.
#[derive(Debug)]
pub(crate) struct Names(Code, &'static [&'static str]);

/// Commands: drivers and shells ask for this code to learn what a server can.
pub(crate) const COMMANDS: Names = Names(
    Code::CommandNotFound,
    &[
        "abortReshardCollection",
        "abortTransaction",
        "addShard",
        "addShardToZone",
        "analyze",
        "analyzeShardKey",
        "appendOplogNote",
        "applyOps",
        "authenticate",
        "autoCompact",
        "balancerCollectionStatus",
        "balancerStart",
        "balancerStatus",
        "balancerStop",
        "bulkWrite",
        "checkMetadataConsistency",
        "checkShardingIndex",
        "cleanupOrphaned",
        "cleanupReshardCollection",
        "cleanupStructuredEncryptionData",
        "clearJumboFlag",
        "clearLog",
        "cloneCollectionAsCapped",
        "commitReshardCollection",
        "commitTransaction",
        "compact",
        "compactStructuredEncryptionData",
        "configureCollectionBalancing",
        "configureFailPoint",
        "configureQueryAnalyzer",
        "connPoolStats",
        "convertToCapped",
        "coordinateCommitTransaction",
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
        "features",
        "filemd5",
        "flushRouterConfig",
        "fsync",
        "fsyncUnlock",
        "getAuditConfig",
        "getChangeStreamState",
        "getClusterParameter",
        "getDatabaseVersion",
        "getDefaultRWConcern",
        "getDiagnosticData",
        "getQueryableEncryptionCountInfo",
        "getShardMap",
        "getShardVersion",
        "grantPrivilegesToRole",
        "grantRolesToRole",
        "grantRolesToUser",
        "internalRenameIfOptionsAndIndexesMatch",
        "invalidateUserCache",
        "isdbgrid",
        "killAllSessions",
        "killAllSessionsByPattern",
        "listDatabasesForAllTenants",
        "listShards",
        "lockInfo",
        "logMessage",
        "logRotate",
        "mapReduce",
        "mergeAllChunksOnShard",
        "mergeChunks",
        "moveChunk",
        "moveCollection",
        "movePrimary",
        "moveRange",
        "netstat",
        "oidcListKeys",
        "oidcRefreshKeys",
        "planCacheClear",
        "planCacheClearFilters",
        "planCacheListFilters",
        "planCacheSetFilter",
        "prepareTransaction",
        "profile",
        "reIndex",
        "reapLogicalSessionCacheNow",
        "refineCollectionShardKey",
        "refreshLogicalSessionCacheNow",
        "removeQuerySettings",
        "removeShard",
        "removeShardFromZone",
        "replSetAbortPrimaryCatchUp",
        "replSetFreeze",
        "replSetGetConfig",
        "replSetGetRBID",
        "replSetGetStatus",
        "replSetHeartbeat",
        "replSetInitiate",
        "replSetMaintenance",
        "replSetReconfig",
        "replSetRequestVotes",
        "replSetResizeOplog",
        "replSetStepDown",
        "replSetStepUp",
        "replSetSyncFrom",
        "replSetUpdatePosition",
        "reshardCollection",
        "revokePrivilegesFromRole",
        "revokeRolesFromRole",
        "revokeRolesFromUser",
        "rolesInfo",
        "rotateCertificates",
        "setAllowMigrations",
        "setAuditConfig",
        "setChangeStreamState",
        "setClusterParameter",
        "setDefaultRWConcern",
        "setFeatureCompatibilityVersion",
        "setFreeMonitoring",
        "setIndexCommitQuorum",
        "setParameter",
        "setProfilingFilterGlobally",
        "setQuerySettings",
        "setShardVersion",
        "setUserWriteBlockMode",
        "shardCollection",
        "shardingState",
        "shutdown",
        "split",
        "splitChunk",
        "splitVector",
        "startRecordingTraffic",
        "startSession",
        "stopRecordingTraffic",
        "top",
        "transitionFromDedicatedConfigServer",
        "transitionToDedicatedConfigServer",
        "unshardCollection",
        "updateRole",
        "updateSearchIndex",
        "updateZoneKeyRange",
        "validateDBMetadata",
        "voteCommitIndexBuild",
        "waitForFailPoint",
        "whatsmysni",
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
        "$listCatalog",
        "$listClusterCatalog",
        "$listLocalSessions",
        "$listSampledQueries",
        "$listSearchIndexes",
        "$listSessions",
        "$merge",
        "$out",
        "$planCacheStats",
        "$querySettings",
        "$queryStats",
        "$rankFusion",
        "$redact",
        "$score",
        "$scoreFusion",
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

/// Options of indexes.
pub(crate) const INDEX_OPTIONS: Names = Names(
    Code::InvalidIndexSpecificationOption,
    &[
        "2dsphereIndexVersion",
        "bits",
        "bucketSize",
        "clustered",
        "coarsestIndexedLevel",
        "collation",
        "columnstoreProjection",
        "default_language",
        "finestIndexedLevel",
        "hidden",
        "language_override",
        "max",
        "min",
        "prepareUnique",
        "storageEngine",
        "textIndexVersion",
        "weights",
        "wildcardProjection",
    ],
);

/// Regions of the time zones' database, which this server has not: what begins with one is the name of a zone.
const REGIONS: [&str; 16] = [
    "Africa",
    "America",
    "Antarctica",
    "Arctic",
    "Asia",
    "Atlantic",
    "Australia",
    "Brazil",
    "Canada",
    "Chile",
    "Etc",
    "Europe",
    "Indian",
    "Mexico",
    "Pacific",
    "US",
];
/// Its zones without a region.
const ZONES: [&str; 37] = [
    "CET",
    "CST6CDT",
    "Cuba",
    "EET",
    "EST",
    "EST5EDT",
    "Egypt",
    "Eire",
    "GB",
    "GB-Eire",
    "GMT+0",
    "GMT-0",
    "GMT0",
    "Greenwich",
    "HST",
    "Hongkong",
    "Iceland",
    "Iran",
    "Israel",
    "Jamaica",
    "Japan",
    "Kwajalein",
    "Libya",
    "MET",
    "MST",
    "MST7MDT",
    "NZ",
    "NZ-CHAT",
    "Navajo",
    "PRC",
    "PST8PDT",
    "Poland",
    "Portugal",
    "Singapore",
    "Turkey",
    "W-SU",
    "WET",
];

/// Whether this is the name of a time zone, as `Europe/Berlin`.
pub(crate) fn is_time_zone(name: &str) -> bool {
    let of_region = name
        .split_once('/')
        .is_some_and(|(region, place)| REGIONS.contains(&region) && !place.is_empty());
    of_region || ZONES.contains(&name)
}

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
        let all = [
            COMMANDS,
            STAGES,
            EXPRESSIONS,
            ACCUMULATORS,
            FILTERS,
            INDEX_OPTIONS,
        ];
        for Names(_, list) in all {
            assert!(list.is_sorted(), "{list:?}");
        }
        assert!(REGIONS.is_sorted() && ZONES.is_sorted());
        for command in crate::server::listed() {
            assert!(COMMANDS.refusal(command.name).is_none(), "{}", command.name);
        }
        for stage in crate::aggregate::STAGES {
            assert!(STAGES.refusal(stage).is_none(), "{stage}");
        }
    }

    #[test]
    fn the_commands_of_clusters_and_replica_sets_are_known_by_name() {
        for name in [
            "addShard",
            "moveChunk",
            "getClusterParameter",
            "replSetFreeze",
            "reshardCollection",
            "analyzeShardKey",
        ] {
            let error = crate::command::not_found(name);
            assert_eq!(error.code, Code::CommandNotFound);
            assert!(
                error.message.ends_with("is not supported here"),
                "{}",
                error.message
            );
        }
        assert_eq!(
            crate::command::not_found("adShard").message,
            "no such command: 'adShard'"
        );
    }
}
