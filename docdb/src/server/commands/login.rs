//! Who is at the other end of a connection: a login by SCRAM-SHA-256 in two steps, and who it was.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bson::spec::BinarySubtype;
use bson::{Binary, Bson, Document, RawDocument, doc};

use crate::auth::{Conversation, Credentials};
use crate::error::{Code, Result};
use crate::server::session::Session;
use crate::server::shared::Shared;
use crate::wire::Request;

const MECHANISM: &str = "SCRAM-SHA-256";
/// One login at a time is under way on a connection.
const CONVERSATION: i32 = 1;

/// `saslStart`.
pub(crate) fn start(shared: &Shared, session: &mut Session, request: &Request) -> Result<Document> {
    begin(shared, session, request.body(), request.database())
}

/// `saslStart` inside `hello`.
pub(crate) fn speculate(
    shared: &Shared,
    session: &mut Session,
    start: &RawDocument,
) -> Result<Document> {
    begin(
        shared,
        session,
        start,
        start.get_str("db").unwrap_or("admin"),
    )
}

fn begin(
    shared: &Shared,
    session: &mut Session,
    start: &RawDocument,
    database: &str,
) -> Result<Document> {
    let mechanism = start.get_str("mechanism").unwrap_or_default();
    if mechanism != MECHANISM {
        let text = format!("Unsupported mechanism '{mechanism}'; this server has {MECHANISM}");
        return Err(Code::MechanismUnavailable.error(text));
    }
    let (name, bare) = Conversation::parse_first(payload(start)?)?;
    let known = shared
        .users()
        .get(database, &name)
        .map(|user| user.credentials.clone());
    let credentials = known.unwrap_or_else(|| Credentials::decoy(&name, &shared.secret));
    let (conversation, first) = Conversation::begin(&name, database, &bare, credentials)?;
    session.conversation = Some(conversation);
    Ok(answer(&first, false))
}

/// `saslContinue`: the proof, and from some drivers an empty message after it.
pub(crate) fn go_on(shared: &Shared, session: &mut Session, request: &Request) -> Result<Document> {
    let sent = payload(request.body())?;
    let Some(conversation) = session.conversation.take() else {
        if sent.is_empty() && session.user.is_some() {
            return Ok(answer("", true));
        }
        return Err(Code::ProtocolError.error("No SASL session state found"));
    };
    let signature = conversation.finish(sent)?;
    let Conversation {
        user: name,
        database,
        ..
    } = conversation;
    let user = shared.users().get(&database, &name).cloned();
    let user = user.ok_or_else(|| Code::AuthenticationFailed.error("Authentication failed."))?;
    session.users_version = shared.users_version.load(Ordering::Acquire);
    session.user = Some((database, name, Arc::new(user)));
    Ok(answer(&signature, true))
}

fn payload(from: &RawDocument) -> Result<&[u8]> {
    let binary = from.get_binary("payload");
    binary
        .map(|binary| binary.bytes)
        .map_err(|_| Code::BadValue.error("payload is missing, or is not binary"))
}

fn answer(payload: &str, done: bool) -> Document {
    let payload = Binary {
        subtype: BinarySubtype::Generic,
        bytes: payload.as_bytes().to_vec(),
    };
    doc! { "conversationId": CONVERSATION, "done": done, "payload": payload }
}

/// `logout`: the connection is nobody's again.
pub(crate) fn logout(_: &Shared, session: &mut Session, _: &Request) -> Result<Document> {
    session.user = None;
    session.conversation = None;
    Ok(Document::new())
}

/// `connectionStatus`: who is logged in here, and with which roles.
pub(crate) fn connection_status(
    _: &Shared,
    session: &mut Session,
    _: &Request,
) -> Result<Document> {
    let (mut users, mut roles) = (Vec::new(), Vec::new());
    if let Some((database, name, user)) = &session.user {
        users.push(Bson::from(doc! { "user": name, "db": database }));
        roles = user.listed_roles();
    }
    Ok(doc! { "authInfo": { "authenticatedUsers": users, "authenticatedUserRoles": roles } })
}

/// `whatsmyuri`: the client's address as the server sees it.
pub(crate) fn whats_my_uri(_: &Shared, session: &mut Session, _: &Request) -> Result<Document> {
    Ok(doc! { "you": &session.peer })
}
