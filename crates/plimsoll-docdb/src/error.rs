//! What a command can fail with: MongoDB's own codes, so that drivers act as they would with MongoDB.

use bson::{Document, RawDocumentBuf, doc};

macro_rules! codes {
    ($($name:ident = $number:literal,)*) => {
        /// An error code of MongoDB and its name (the public list of error codes of 7.0).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code { $($name = $number,)* }

        impl Code {
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name that goes into `codeName`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }
        }
    };
}

codes! {
    InternalError = 1,
    BadValue = 2,
    NoSuchKey = 4,
    GraphContainsCycle = 5,
    HostUnreachable = 6,
    FailedToParse = 9,
    Unauthorized = 13,
    TypeMismatch = 14,
    Overflow = 15,
    InvalidLength = 16,
    ProtocolError = 17,
    AuthenticationFailed = 18,
    IllegalOperation = 20,
    NamespaceNotFound = 26,
    IndexNotFound = 27,
    PathNotViable = 28,
    CannotBackfillArray = 34,
    CannotCreateIndex = 67,
    ConflictingUpdateOperators = 40,
    CursorNotFound = 43,
    NamespaceExists = 48,
    MaxTimeMSExpired = 50,
    DollarPrefixedFieldName = 52,
    InvalidIdField = 53,
    NotSingleValueField = 54,
    EmptyFieldName = 56,
    DottedFieldName = 57,
    CommandNotFound = 59,
    ShardKeyNotFound = 61,
    WriteConcernFailed = 64,
    MultipleErrorsOccurred = 65,
    ImmutableField = 66,
    InvalidOptions = 72,
    InvalidNamespace = 73,
    IndexOptionsConflict = 85,
    IndexKeySpecsConflict = 86,
    ExceededTimeLimit = 262,
    ConversionFailure = 241,
    OperationNotSupportedInTransaction = 263,
    CommandNotSupported = 115,
    DocumentValidationFailure = 121,
    CommandNotSupportedOnView = 166,
    InvalidUUID = 207,
    InvalidPipelineOperator = 168,
    QueryFeatureNotAllowed = 224,
    QueryExceededMemoryLimitNoDiskUseAllowed = 292,
    NoSuchTransaction = 251,
    UserNotFound = 11,
    InvalidIndexSpecificationOption = 197,
    InterruptedAtShutdown = 11600,
    Interrupted = 11601,
    DuplicateKey = 11000,
    OutOfDiskSpace = 14031,
    BSONObjectTooLarge = 10334,
    InvalidBSON = 22,
    IngressRequestRateLimitExceeded = 462,
    ReadConcernMajorityNotEnabled = 148,
    InvalidReplicaSetConfig = 93,
    ClientMetadataMissingField = 183,
    UnsupportedOpQueryCommand = 352,
    NotAReplicaSet = 123,
    ExceededMemoryLimit = 146,
    CannotIndexParallelArrays = 171,
    QueryPlanKilled = 175,
    AmbiguousIndexKeyPattern = 181,
    DatabaseDifferCase = 13297,
    KeyTooLong = 17280,
    Location16746 = 16746,
    Location17217 = 17217,
    Location40414 = 40414,
    Location50736 = 50736,
    Location50737 = 50737,
    Location50738 = 50738,
    Location51024 = 51024,
    MechanismUnavailable = 334,
    RoleNotFound = 31,
    OperationFailed = 96,
    Location51003 = 51003,
    Location16410 = 16410,
    Location31249 = 31249,
    Location31250 = 31250,
    Location31253 = 31253,
    Location31254 = 31254,
    Location40324 = 40324,
    Location40323 = 40323,
    Location40352 = 40352,
    Location40353 = 40353,
    Location40415 = 40415,
    Location51270 = 51270,
    Location51272 = 51272,
    Location17276 = 17276,
    Location16872 = 16872,
    Location15998 = 15998,
    Location15952 = 15952,
    Location15957 = 15957,
    Location15958 = 15958,
    Location15955 = 15955,
    Location15959 = 15959,
    Location15972 = 15972,
    Location15973 = 15973,
    Location15974 = 15974,
    Location15975 = 15975,
    Location15976 = 15976,
    Location28745 = 28745,
    Location28746 = 28746,
    Location28747 = 28747,
    Location28812 = 28812,
    Location28818 = 28818,
    Location28667 = 28667,
    Location31252 = 31252,
    Location31256 = 31256,
    Location31274 = 31274,
    Location31275 = 31275,
    Location31276 = 31276,
    Location31394 = 31394,
    Location31395 = 31395,
    Location40218 = 40218,
    Location51075 = 51075,
    Location51091 = 51091,
    Location51108 = 51108,
    Location51246 = 51246,
}

/// A command, or one write of it, that failed: what goes into `errmsg`, `code` and beside them.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct CommandError {
    pub code: Code,
    pub message: String,
    /// Fields beside the message, as `keyPattern` and `keyValue` of a duplicate key.
    pub details: Option<Box<Document>>,
    /// What a driver may do about it, as `RetryableWriteError`.
    pub labels: &'static [&'static str],
}

impl CommandError {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            details: None,
            labels: &[],
        }
    }

    #[must_use]
    pub fn with_details(mut self, details: Document) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    /// The reply to a command that failed as a whole.
    pub fn reply(&self) -> RawDocumentBuf {
        let mut reply = doc! { "ok": 0.0, "errmsg": &self.message, "code": self.code.number(), "codeName": self.code.name() };
        if let Some(details) = &self.details {
            reply.extend(details.as_ref().clone());
        }
        if !self.labels.is_empty() {
            reply.insert("errorLabels", self.labels.to_vec());
        }
        RawDocumentBuf::try_from(&reply).expect("names and texts of ours are valid BSON")
    }

    #[must_use]
    pub fn with_labels(mut self, labels: &'static [&'static str]) -> Self {
        self.labels = labels;
        self
    }
}

impl Code {
    /// The number that goes into `code`.
    pub const fn number(self) -> i32 {
        self as i32
    }

    /// An error with this code.
    pub fn error(self, message: impl Into<String>) -> CommandError {
        CommandError::new(self, message)
    }
}
