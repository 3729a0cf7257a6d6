//! Messages as drivers send them, and what hostile ones do.

#![expect(clippy::cast_possible_wrap, reason = "messages of some bytes")]

use bson::{RawDocumentBuf, rawdoc};
use proptest::prelude::*;

use super::*;

/// Header, flags and sections.
fn op_msg(flags: u32, sections: &[Vec<u8>]) -> Vec<u8> {
    let mut body = flags.to_le_bytes().to_vec();
    for section in sections {
        body.extend_from_slice(section);
    }
    framed(2013, &body)
}

fn framed(operation: i32, body: &[u8]) -> Vec<u8> {
    let mut message = Vec::new();
    for field in [16 + body.len() as i32, 77, 0, operation] {
        message.extend_from_slice(&field.to_le_bytes());
    }
    message.extend_from_slice(body);
    message
}

fn body(document: &RawDocumentBuf) -> Vec<u8> {
    let mut section = vec![0];
    section.extend_from_slice(document.as_bytes());
    section
}

fn sequence(name: &str, documents: &[RawDocumentBuf]) -> Vec<u8> {
    let mut inside = name.as_bytes().to_vec();
    inside.push(0);
    for document in documents {
        inside.extend_from_slice(document.as_bytes());
    }
    let mut section = vec![1];
    section.extend_from_slice(&(inside.len() as u32 + 4).to_le_bytes());
    section.extend_from_slice(&inside);
    section
}

fn insert() -> RawDocumentBuf {
    rawdoc! { "insert": "cart", "$db": "shop" }
}

fn whole() -> Vec<u8> {
    let documents = [
        rawdoc! { "_id": 1 },
        rawdoc! { "_id": 2, "a": { "b": [1, "x"] } },
    ];
    op_msg(0, &[body(&insert()), sequence("documents", &documents)])
}

fn with_checksum(mut message: Vec<u8>) -> Vec<u8> {
    message[16] |= 1;
    let length = message.len() as u32 + 4;
    message[..4].copy_from_slice(&length.to_le_bytes());
    let sum = crc32c::crc32c(&message);
    message.extend_from_slice(&sum.to_le_bytes());
    message
}

#[test]
fn a_body_and_a_document_sequence_are_one_request() {
    let Frame { origin, request } = read(&whole()).unwrap();
    assert_eq!(
        (origin.request_id, origin.legacy, origin.compressor),
        (77, false, None)
    );
    assert_eq!(
        (request.name(), request.database(), request.wants_reply),
        ("insert", "shop", true)
    );
    let documents = request.documents("documents").unwrap().unwrap();
    assert_eq!(documents[1].get_i32("_id").unwrap(), 2);
    assert!(request.documents("updates").unwrap().is_none());
}

#[test]
fn documents_may_come_as_an_array_and_nothing_else() {
    let array = rawdoc! { "insert": "cart", "documents": [{ "_id": 1 }] };
    let request = read(&op_msg(0, &[body(&array)])).unwrap().request;
    assert_eq!(request.documents("documents").unwrap().unwrap().len(), 1);
    for wrong in [
        rawdoc! { "insert": "cart", "documents": 1 },
        rawdoc! { "insert": "cart", "documents": [1] },
    ] {
        let request = read(&op_msg(0, &[body(&wrong)])).unwrap().request;
        assert_eq!(
            request.documents("documents").unwrap_err().code,
            crate::error::Code::TypeMismatch
        );
    }
}

#[test]
fn more_to_come_wants_no_reply_and_unknown_required_bits_are_refused() {
    assert!(
        !read(&op_msg(2, &[body(&insert())]))
            .unwrap()
            .request
            .wants_reply
    );
    assert!(read(&op_msg(1 << 16, &[body(&insert())])).is_ok());
    assert_eq!(
        read(&op_msg(4, &[body(&insert())])).unwrap_err(),
        WireError::Flags(4)
    );
}

#[test]
fn a_checksum_is_checked() {
    let good = with_checksum(whole());
    assert!(read(&good).is_ok());
    let mut bad = good;
    let at = bad.len() - 30;
    bad[at] ^= 1;
    assert!(read(&bad).is_err());
}

#[test]
fn two_bodies_none_or_an_unknown_section_are_refused() {
    let two = op_msg(0, &[body(&insert()), body(&insert())]);
    assert_eq!(read(&two).unwrap_err(), WireError::Bodies(2));
    assert_eq!(read(&op_msg(0, &[])).unwrap_err(), WireError::Bodies(0));
    assert_eq!(
        read(&op_msg(0, &[vec![7]])).unwrap_err(),
        WireError::Section(7)
    );
}

#[test]
fn more_documents_than_a_write_may_have_are_refused_and_not_noted() {
    let most = vec![rawdoc! {}; DOCUMENTS_MAX];
    let whole = op_msg(0, &[body(&insert()), sequence("documents", &most)]);
    assert_eq!(
        read(&whole)
            .unwrap()
            .request
            .places("documents")
            .unwrap()
            .unwrap()
            .len(),
        DOCUMENTS_MAX
    );
    let three_more = [rawdoc! {}, rawdoc! {}, rawdoc! {}];
    let more = op_msg(
        0,
        &[
            body(&insert()),
            sequence("documents", &most),
            sequence("more", &three_more),
        ],
    );
    assert_eq!(
        read(&more).unwrap_err(),
        WireError::TooMany(DOCUMENTS_MAX + 3)
    );
    let empty = vec![sequence("", &[]); DOCUMENTS_MAX];
    let sections = [
        vec![body(&insert())],
        empty,
        vec![sequence("documents", &three_more)],
    ]
    .concat();
    assert_eq!(
        read(&op_msg(0, &sections)).unwrap_err(),
        WireError::TooMany(DOCUMENTS_MAX + 3)
    );
}

#[test]
fn lengths_and_operations_that_cannot_be_are_refused() {
    for length in [-1, 0, 15, 48_000_001, i32::MAX] {
        let mut message = whole();
        message[..4].copy_from_slice(&length.to_le_bytes());
        assert_eq!(read(&message).unwrap_err(), WireError::Length(length));
    }
    assert_eq!(
        read(&framed(2001, b"")).unwrap_err(),
        WireError::Operation(2001)
    );
}

#[test]
fn a_message_that_ends_anywhere_is_an_error() {
    let message = whole();
    for end in 0..message.len() {
        assert!(read(&message[..end]).is_err(), "{end}");
        // Also where the header agrees with the end.
        let mut cut = message[..end].to_vec();
        if end >= 16 {
            cut[..4].copy_from_slice(&(end as u32).to_le_bytes());
            let complete = read(&cut).is_ok();
            assert_eq!(complete, end == 16 + 4 + body(&insert()).len(), "{end}");
        }
    }
}

#[test]
fn a_reply_answers_its_request_in_the_same_form() {
    let document = rawdoc! { "ok": 1.0 };
    for compressor in [
        None,
        Some(Compressor::None),
        Some(Compressor::Snappy),
        Some(Compressor::Zlib),
    ] {
        let origin = Origin {
            request_id: 9,
            legacy: false,
            compressor,
        };
        let mut out = Vec::new();
        reply(origin, 5, &document, &mut out);
        let header = Header::read(&out).unwrap().unwrap();
        assert_eq!(
            (header.length, header.request_id, header.response_to),
            (out.len(), 5, 9)
        );
        let back = read(&out).unwrap();
        assert_eq!(
            (back.request.body(), back.origin.compressor),
            (document.as_ref(), compressor)
        );
    }
}

#[test]
fn a_legacy_handshake_gets_a_legacy_reply() {
    let mut query = vec![0; 4];
    query.extend_from_slice(b"admin.$cmd\0");
    query.extend_from_slice(&[0; 4]);
    query.extend_from_slice(&(-1_i32).to_le_bytes());
    query.extend_from_slice(rawdoc! { "isMaster": 1 }.as_bytes());
    let frame = read(&framed(2004, &query)).unwrap();
    assert!(frame.origin.legacy);
    assert_eq!(
        (frame.request.name(), frame.request.database()),
        ("isMaster", "admin")
    );
    let mut out = Vec::new();
    reply(frame.origin, 1, &rawdoc! { "ok": 1.0 }, &mut out);
    assert_eq!(Header::read(&out).unwrap().unwrap().operation, 1);
    assert_eq!(out[32..36], 1_i32.to_le_bytes());
}

#[test]
fn a_packed_message_must_unpack_to_what_it_states() {
    let packed = |kind: u8, stated: i32, bytes: &[u8]| {
        let mut body = 2013_i32.to_le_bytes().to_vec();
        body.extend_from_slice(&stated.to_le_bytes());
        body.push(kind);
        body.extend_from_slice(bytes);
        framed(2012, &body)
    };
    let inner = whole()[16..].to_vec();
    let snappy = snap::raw::Encoder::new().compress_vec(&inner).unwrap();
    assert!(read(&packed(1, inner.len() as i32, &snappy)).is_ok());
    for stated in [0, -5, inner.len() as i32 + 1, 47_999_000, i32::MAX] {
        assert_eq!(
            read(&packed(1, stated, &snappy)).unwrap_err(),
            WireError::Compressed(stated)
        );
    }
    assert!(matches!(
        read(&packed(2, 100, b"rubbish")),
        Err(WireError::Compressed(100))
    ));
    assert_eq!(
        read(&packed(3, 10, b"zstd")).unwrap_err(),
        WireError::Compressor(3)
    );
}

proptest! {
    #[test]
    fn damaged_messages_never_panic(at in 0_usize..200, value: u8, cut in 0_usize..200) {
        let mut message = whole();
        let at = at % message.len();
        message[at] = value;
        let _any = read(&message);
        message.truncate(cut.min(message.len()));
        let _any = read(&message);
    }
}

/// MongoDB's limit for a command; documents beside it may be more together.
#[test]
fn a_body_has_the_bytes_of_a_document_at_most_and_sequences_have_more() {
    let padded = |bytes: usize| rawdoc! { "ping": 1, "padding": "x".repeat(bytes) };
    let limit = (16 << 20) + (16 << 10);
    let around = padded(0).as_bytes().len();
    assert!(read(&op_msg(0, &[body(&padded(limit - around))])).is_ok());
    assert_eq!(
        read(&op_msg(0, &[body(&padded(limit - around + 1))])).unwrap_err(),
        WireError::TooLarge(limit + 1)
    );
    let documents = [padded(15 << 20), padded(15 << 20)];
    let message = op_msg(0, &[body(&insert()), sequence("documents", &documents)]);
    assert_eq!(
        read(&message).unwrap().request.longest(),
        (15 << 20) + around
    );
}
