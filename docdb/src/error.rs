//! What a command can fail with: MongoDB's own codes, so that drivers act as they would with MongoDB.

use std::borrow::Cow;

use bson::{Document, RawDocumentBuf, doc};

use crate::store::StoreError;

/// What a command, or a part of one, comes to.
pub(crate) type Result<T, E = CommandError> = std::result::Result<T, E>;

macro_rules! codes {
    ($($name:ident = $number:literal,)*) => {
        /// An error code of MongoDB (the public list of error codes of 7.0).
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Code {
            $($name,)*
            /// Of one place in MongoDB's source, without a name: `Location` and the number.
            Location(i32),
        }

        impl Code {
            /// The number that goes into `code`.
            pub const fn number(self) -> i32 {
                match self {
                    $(Self::$name => $number,)*
                    Self::Location(number) => number,
                }
            }

            /// The name that goes into `codeName`.
            pub fn name(self) -> Cow<'static, str> {
                match self {
                    $(Self::$name => stringify!($name).into(),)*
                    Self::Location(number) => format!("Location{number}").into(),
                }
            }
        }
    };
}

codes! {
    InternalError = 1,
    BadValue = 2,
    FailedToParse = 9,
    Unauthorized = 13,
    TypeMismatch = 14,
    Overflow = 15,
    InvalidLength = 16,
    ProtocolError = 17,
    AuthenticationFailed = 18,
    SSLHandshakeFailed = 141,
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
    CommandNotFound = 59,
    ImmutableField = 66,
    InvalidOptions = 72,
    InvalidNamespace = 73,
    IndexOptionsConflict = 85,
    IndexKeySpecsConflict = 86,
    ConversionFailure = 241,
    CommandNotSupported = 115,
    InvalidPipelineOperator = 168,
    QueryFeatureNotAllowed = 224,
    QueryExceededMemoryLimitNoDiskUseAllowed = 292,
    UserNotFound = 11,
    InvalidIndexSpecificationOption = 197,
    InterruptedAtShutdown = 11600,
    Interrupted = 11601,
    DuplicateKey = 11000,
    OutOfDiskSpace = 14031,
    BSONObjectTooLarge = 10334,
    InvalidBSON = 22,
    IngressRequestRateLimitExceeded = 462,
    NotAReplicaSet = 123,
    ExceededMemoryLimit = 146,
    CannotIndexParallelArrays = 171,
    QueryPlanKilled = 175,
    AmbiguousIndexKeyPattern = 181,
    DatabaseDifferCase = 13297,
    KeyTooLong = 17280,
    MechanismUnavailable = 334,
    RoleNotFound = 31,
    ClientDisconnect = 279,
    OperationFailed = 96,
    MaxSubPipelineDepthExceeded = 232,
    CursorKilled = 237,
}

/// A command, or one write of it, that failed: what goes into `errmsg`, `code` and beside them.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct CommandError {
    pub code: Code,
    pub message: String,
    /// Fields beside the message, as `keyPattern` and `keyValue` of a duplicate key.
    pub(crate) details: Option<Box<Document>>,
    /// What a driver may do about it, as `RetryableWriteError`.
    pub(crate) labels: &'static [&'static str],
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
    pub(crate) fn with_details(mut self, details: Document) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    /// The reply to a command that failed as a whole.
    pub fn reply(&self) -> RawDocumentBuf {
        let mut reply = doc! { "ok": 0.0, "errmsg": &self.message, "code": self.code.number(), "codeName": &*self.code.name() };
        if let Some(details) = &self.details {
            reply.extend(details.as_ref().clone());
        }
        if !self.labels.is_empty() {
            reply.insert("errorLabels", self.labels.to_vec());
        }
        RawDocumentBuf::try_from(&reply).expect("names and texts of ours are valid BSON")
    }

    #[must_use]
    pub(crate) fn with_labels(mut self, labels: &'static [&'static str]) -> Self {
        self.labels = labels;
        self
    }
}

impl Code {
    /// An error with this code.
    pub fn error(self, message: impl Into<String>) -> CommandError {
        CommandError::new(self, message)
    }
}

/// Bytes that are no BSON, or values that BSON cannot hold.
impl From<bson::error::Error> for CommandError {
    fn from(error: bson::error::Error) -> Self {
        Code::InvalidBSON.error(error.to_string())
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        let code = match error {
            StoreError::OutOfSpace { .. } => Code::OutOfDiskSpace,
            _ => Code::InternalError,
        };
        code.error(error.to_string())
    }
}
